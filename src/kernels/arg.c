/* argmax, argmin, and largest or smallest with its index. Dense compute types; others arrive
 * through them. One long row is searched in parts. */
#include "kernels/arg.h"

#include <string.h>

#include "base/parallel.h"
#include "kernels/kernel.h"
#include "kernels/through.h"
#include "ops/reduce.h"

enum { GRAIN = 32768, PARTS = 64 };

extern const ArgTable arg_table_base, arg_table_avx2, arg_table_avx512;
static const ArgTable *const tables[NISAS] = {
    &arg_table_base,
#if defined(__x86_64__)
    &arg_table_avx2,
    &arg_table_avx512,
#endif
};

typedef struct Arg {
    const ArgLoops *loops;
    const char *x;
    int64_t size, n, inner, tiles, part;
    bool smallest;
    int64_t *index; /* all results, or the parts of one row */
} Arg;

static void row_range(void *ctx, int64_t begin, int64_t end) {
    const Arg *s = ctx;
    for (int64_t i = begin; i < end; i++)
        s->index[i] = s->loops->row(s->n, s->smallest, s->x + i * s->n * s->size);
}

static void part_range(void *ctx, int64_t begin, int64_t end) {
    const Arg *s = ctx;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i * s->part, n = min_i64(s->part, s->n - at);
        s->index[i] = at + s->loops->row(n, s->smallest, s->x + at * s->size);
    }
}

static void column_range(void *ctx, int64_t begin, int64_t end) {
    const Arg *s = ctx;
    for (int64_t i = begin; i < end; i++) {
        int64_t j = i % s->tiles * ARG_COLUMNS, outer = i / s->tiles;
        s->loops->columns(s->n, s->inner, (int)min_i64(ARG_COLUMNS, s->inner - j), s->smallest,
                          s->x + (outer * s->n * s->inner + j) * s->size,
                          s->index + outer * s->inner + j);
    }
}

static void long_row(Arg *s) {
    int64_t found[PARTS], *result = s->index;
    s->part = (s->n + PARTS - 1) / PARTS;
    int64_t parts = (s->n + s->part - 1) / s->part;
    s->index = found;
    parallel_for(parts, max_i64(GRAIN / s->part, 1), part_range, s);
    int64_t best = found[0];
    for (int64_t i = 1; i < parts; i++)
        if (s->loops->beats(s->x, found[i], best, s->smallest)) best = found[i];
    *result = best;
}

static void find(const KernelArgs *a, Arg *s, int64_t *index) {
    const TensorType *t = a->in[0].type;
    int64_t axis_attr = *(const int64_t *)a->attrs, total = type_count(t);
    int axis = 0;
    *s = (Arg){.x = a->in[0].data, .size = dtype_size(t->dtype), .n = total, .inner = 1};
    s->loops = &tables[isa_level()]->by_type[t->dtype];
    s->smallest = a->op->id == OP_argmin || a->op->id == OP_min_with_index;
    s->index = index;
    if (total == 0) return;
    if (axis_attr != ATTR_NONE && t->rank) {
        if (type_axis(a->op->name, axis_attr, t->rank, &axis) != OK) return;
        s->n = t->dims[axis];
        for (int i = axis + 1; i < t->rank; i++) s->inner *= t->dims[i];
    }
    int64_t outer = total / s->n / s->inner;
    s->tiles = (s->inner + ARG_COLUMNS - 1) / ARG_COLUMNS;
    if (s->inner > 1)
        parallel_for(outer * s->tiles, max_i64(GRAIN / (s->n * min_i64(s->inner, ARG_COLUMNS)), 1),
                     column_range, s);
    else if (outer == 1 && s->n > GRAIN)
        long_row(s);
    else
        parallel_for(outer, max_i64(GRAIN / s->n, 1), row_range, s);
}

void run_arg_plain(const KernelArgs *a) {
    Arg s;
    find(a, &s, (int64_t *)a->out[0].data);
}
void run_arg_any(const KernelArgs *a) { through_run(a, run_arg_plain); }

/* Result 0 the values, 1 the indices. */
void run_with_index_plain(const KernelArgs *a) {
    Arg s;
    int64_t *index = (int64_t *)a->out[1].data, n = type_count(a->out[1].type);
    find(a, &s, index);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = (i / s.inner * s.n + index[i]) * s.inner + i % s.inner;
        memcpy(a->out[0].data + i * s.size, s.x + at * s.size, (size_t)s.size);
    }
}
void run_with_index_any(const KernelArgs *a) { through_run(a, run_with_index_plain); }

const char *can_compute_type(const KernelArgs *a) {
    DType d = (DType)a->in[0].type->dtype;
    return dtype_info[d].compute == d ? NULL : "only types that are computed in";
}
