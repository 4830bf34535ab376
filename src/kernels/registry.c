/* The candidates of kernels.def, by op, and choosing among them. */
#include <stdio.h>
#include <string.h>

#include "kernels/ewise.h"
#include "kernels/kernel.h"
#include "kernels/reduce.h"
#include "kernels/walk.h"

#define NO_CAN
#define NO_PREPARE
#define CAN(f)     .can = can_##f,
#define PREPARE(f) .prepare = prepare_##f, .release = release_##f,
typedef struct Row {
    OpId op;
    Kernel kernel;
} Row;
static const Row rows[] = {
#define KERNEL(op, fn, takes, can_fn, prepare_fn, text)                                            \
    {OP_##op, {can_fn prepare_fn.name = #fn, .doc = text, .flags = takes, .run = run_##fn}},
#define CHECK(op, fn)
#define MEASURE(op, fn)
#include "kernels/kernels.def"
};

static const CheckFn checks[NOPS] = {
#define KERNEL(op, fn, takes, can_fn, prepare_fn, text)
#define CHECK(op, fn) [OP_##op] = check_##fn,
#define MEASURE(op, fn)
#include "kernels/kernels.def"
};
static const MeasureFn measures[NOPS] = {
#define KERNEL(op, fn, takes, can_fn, prepare_fn, text)
#define CHECK(op, fn)
#define MEASURE(op, fn) [OP_##op] = measure_##fn,
#include "kernels/kernels.def"
};

CheckFn kernel_check(OpId op) { return checks[op]; }
MeasureFn kernel_measure(OpId op) { return measures[op]; }

/* 1 + the index of the first row of an op and of the next row of the same op; 0 = none. */
static uint16_t first_row[NOPS], next_row[COUNT_OF(rows)];

__attribute__((constructor)) static void index_rows(void) {
    for (int i = (int)COUNT_OF(rows) - 1; i >= 0; i--) {
        next_row[i] = first_row[rows[i].op];
        first_row[rows[i].op] = (uint16_t)(i + 1);
    }
}

bool kernel_exists(OpId op) { return first_row[op] || op_get(op)->ew_index >= 0; }

bool kernel_is_row_major(OpId op) {
    for (size_t i = first_row[op]; i; i = next_row[i - 1])
        if (rows[i - 1].kernel.flags & (CHANNELS_LAST | KEEPS_LAYOUT)) return false;
    return first_row[op] != 0;
}

static const Kernel ewise_kernel = {.name = "loop",
                                    .doc = "one loop an instruction set, made from ewise.def",
                                    .flags = TAKES_STRIDES | KEEPS_LAYOUT,
                                    .run = run_ewise};

static Status refuse(const KernelArgs *a, const char *reasons) {
    char types[400] = "";
    size_t at = 0;
    for (int i = 0; i < a->nin && at < sizeof types - 210; i++) {
        if (!a->in[i].type) continue;
        char one[200];
        at += (size_t)snprintf(types + at, sizeof types - at, at ? ", %s" : "%s",
                               type_text(a->in[i].type, one, sizeof one));
    }
    return FAIL(UNSUPPORTED, "%s: no kernel for inputs %s:%s", a->op->name, types, reasons);
}

Status kernel_choose(const KernelArgs *a, const Kernel **out) {
    OpId id = a->op->id;
    if (a->op->ew_index >= 0) {
        *out = &ewise_kernel;
        return OK;
    }
    char reasons[600] = "";
    size_t at = 0;
    for (size_t i = first_row[id]; i; i = next_row[i - 1]) {
        const Kernel *k = &rows[i - 1].kernel;
        const char *why = k->can ? k->can(a) : NULL;
        if (!why) {
            *out = k;
            return OK;
        }
        if (at < sizeof reasons)
            at += (size_t)snprintf(reasons + at, sizeof reasons - at, " %s: %s;", k->name, why);
    }
    return refuse(a, reasons);
}

/* Contiguous along another axis than the innermost one. */
static bool is_turned(const Buf *b) {
    Walk w;
    walk_init(&w, b->type, 1, &b->type, &b->strides);
    return walk_turned_axis(&w, 0) >= 0;
}

bool kernel_takes(const Kernel *k, const KernelArgs *a, int i) {
    enum { LARGE = 16384, TIMES = 8 };
    const Buf *b = &a->in[i];
    if (!b->data || b->dense) return true;
    if (k->flags & FIRST_STRIDES) return i == 0;
    if (k->flags & READS_PART) return type_count(b->type) / TIMES > type_count(a->out[0].type);
    if (!(k->flags & TAKES_STRIDES)) return false;
    if (!(k->flags & PREFERS_ROWS) || type_count(b->type) < LARGE || !is_turned(b)) return true;
    return reduce_reads_turned(a);
}

int64_t kernel_cost(const KernelArgs *a) {
    int64_t n = 0;
    for (int i = 0; i < a->nin; i++)
        if (a->in[i].type) n = max_i64(n, type_count(a->in[i].type));
    for (int i = 0; i < a->nout; i++) n = max_i64(n, type_count(a->out[i].type));
    return a->op->kind == K_HERO ? n * 16 : n;
}
