/* The table itself: every row of ewise.def and ops.def as an Op record, and looking them up. */
#include "ops/op.h"

#include <stdlib.h>
#include <string.h>

#include "ops/functions.h"

/* ---- the attribute descriptions; offsets are filled in when the library is loaded */

#define INT(n, d)  {#n, ATTR_INT, 0, d},
#define FLT(n, d)  {#n, ATTR_FLT, 0, d},
#define BOOL(n, d) {#n, ATTR_BOOL, 0, d},
#define DTY(n, d)  {#n, ATTR_DTYPE, 0, d},
#define INTS(n, d) {#n, ATTR_INTS, 0, d},
#define STR(n, d)  {#n, ATTR_STR, 0, d},
#define OP(name, prim, kind, sig, nout, rule, infer, grad, saves, attrs, doc)                      \
    static AttrSpec specs_##name[] = {attrs{0}};
#include "ops/ops.def"
#undef OP
#undef INT
#undef FLT
#undef BOOL
#undef DTY
#undef INTS
#undef STR

/* ---- the records */

enum {
    EW_START = -1,
#define EW1(name, ...) ROW_##name,
#define EW2(name, ...) ROW_##name,
#define EW3(name, ...) ROW_##name,
#define PR1(name, ...) ROW_##name,
#define PR2(name, ...) ROW_##name,
#include "ops/ewise.def"
    NROWS
};

#define NOUT_0               0
#define NOUT_1               1
#define NOUT_2               2
#define NOUT_3               3
#define NOUT_4               4
#define NOUT_5               5
#define COUNT_0(name)        NULL
#define COUNT_1(name)        NULL
#define COUNT_2(name)        NULL
#define COUNT_3(name)        NULL
#define COUNT_4(name)        NULL
#define COUNT_5(name)        NULL
#define COUNT_BY_ATTRS(name) count_##name
#define VIEW_K_MAP(name)     view_##name
#define VIEW_K_REDUCE(name)  NULL
#define VIEW_K_GATHER(name)  NULL
#define VIEW_K_SCATTER(name) NULL
#define VIEW_K_HERO(name)    NULL
#define VIEW_K_RANDOM(name)  NULL
#define GRAD(f)              .grad = grad_##f,
#define EXPAND(f)            .expand = expand_##f,
#define NO_GRAD

#define EWISE_ROW(row, primitive, class, inputs, n, predicate, text)                               \
    [OP_##row] = {.name = #row,                                                                    \
                  .prim = primitive,                                                               \
                  .sig = inputs,                                                                   \
                  .doc = text,                                                                     \
                  .id = OP_##row,                                                                  \
                  .kind = K_EWISE,                                                                 \
                  .ewclass = class,                                                                \
                  .ew_index = ROW_##row,                                                           \
                  .is_predicate = predicate,                                                       \
                  .nin_min = n,                                                                    \
                  .nin_max = n,                                                                    \
                  .nout = 1,                                                                       \
                  .infer = infer_ewise},
#define EWISE_GRAD_ROW(row, class, k)                                                              \
    [OP_##row##_d##k] = {.name = #row "_d" #k,                                                     \
                         .sig = "g, x, y=None, z=None, r=None",                                    \
                         .doc = "Gradient of " #row " for input " #k ".",                          \
                         .id = OP_##row##_d##k,                                                    \
                         .kind = K_EWGRAD,                                                         \
                         .ewclass = class,                                                         \
                         .ew_index = ROW_##row,                                                    \
                         .ew_input = k,                                                            \
                         .hidden = true,                                                           \
                         .nin_min = 1,                                                             \
                         .nin_max = 5,                                                             \
                         .nout = 1,                                                                \
                         .infer = infer_ewgrad,                                                    \
                         .saves = SAVE_X_ALL,                                                      \
                         .expand = expand_ewise_grad},

#define EW1(n, p, c, s, v, gx, d) EWISE_ROW(n, p, c, s, 1, false, d) EWISE_GRAD_ROW(n, c, 0)
#define EW2(n, p, c, s, v, gx, gy, d)                                                              \
    EWISE_ROW(n, p, c, s, 2, false, d) EWISE_GRAD_ROW(n, c, 0) EWISE_GRAD_ROW(n, c, 1)
#define EW3(n, p, c, s, v, gx, gy, gz, d)                                                          \
    EWISE_ROW(n, p, c, s, 3, false, d)                                                             \
    EWISE_GRAD_ROW(n, c, 0) EWISE_GRAD_ROW(n, c, 1) EWISE_GRAD_ROW(n, c, 2)
#define PR1(n, p, c, s, v, d) EWISE_ROW(n, p, c, s, 1, true, d)
#define PR2(n, p, c, s, v, d) EWISE_ROW(n, p, c, s, 2, true, d)

#define NOUT_BY_ATTRS (-1)

Op op_table[NOPS] = {
#include "ops/ewise.def"
#define OP(row, primitive, k, inputs, results, r, infer_name, gradient, s, attributes, text)       \
    [OP_##row] = {.name = #row,                                                                    \
                  .prim = primitive,                                                               \
                  .sig = inputs,                                                                   \
                  .doc = text,                                                                     \
                  .id = OP_##row,                                                                  \
                  .kind = k,                                                                       \
                  .rule = r,                                                                       \
                  .ew_index = -1,                                                                  \
                  .nout = NOUT_##results,                                                          \
                  .saves = s,                                                                      \
                  .attrs = specs_##row,                                                            \
                  .nattrs = (int)COUNT_OF(specs_##row) - 1,                                        \
                  .attrs_size = sizeof(attrs_##row),                                               \
                  .infer = infer_##infer_name,                                                     \
                  .view = VIEW_##k(row),                                                           \
                  .count = COUNT_##results(row),                                                   \
                  gradient},
#include "ops/ops.def"
#undef OP
};

/* ---- what the rows imply */

static const size_t attr_sizes[] = {
    [ATTR_INT] = sizeof(int64_t),   [ATTR_FLT] = sizeof(double),   [ATTR_BOOL] = sizeof(int64_t),
    [ATTR_DTYPE] = sizeof(int64_t), [ATTR_INTS] = sizeof(IntList), [ATTR_STR] = sizeof(AttrStr),
};

/* Fields follow each other without padding: all are multiples of 8 bytes. */
static void place_attrs(AttrSpec *specs, int n) {
    uint32_t at = 0;
    for (int i = 0; i < n; i++) {
        specs[i].offset = at;
        at += (uint32_t)attr_sizes[specs[i].kind];
    }
}

static void count_inputs(Op *op) {
    SigInput in[16];
    int n = op_signature(op, in);
    op->nin_min = op->nin_max = 0;
    for (int i = 0; i < n; i++) {
        if (in[i].is_variadic) {
            op->nin_max = NIN_ANY;
            continue;
        }
        op->takes_numbers |= in[i].is_weak;
        if (!in[i].is_optional) op->nin_min++;
        if (op->nin_max != NIN_ANY) op->nin_max++;
    }
}

static const Op *by_name[NOPS], *public_ops[NOPS];
static int nnamed, npublic;

/* Helpers: gradients, and the kernels behind composite ops. Rows of ops.def are marked by their
 * name. */
static bool is_helper(const Op *op) {
    static const char *const endings[] = {"_grad", "_core", "_rows"};
    size_t n = strlen(op->name);
    for (size_t i = 0; i < COUNT_OF(endings); i++)
        if (n > 5 && !strcmp(op->name + n - 5, endings[i])) return true;
    return op->hidden;
}

static int compare_names(const void *a, const void *b) {
    return strcmp((*(const Op *const *)a)->name, (*(const Op *const *)b)->name);
}

__attribute__((constructor)) static void table_init(void) {
#define OP(row, ...) place_attrs(specs_##row, (int)COUNT_OF(specs_##row) - 1);
#include "ops/ops.def"
#undef OP
    for (int id = 1; id < NOPS; id++) {
        if (op_table[id].kind != K_EWGRAD) count_inputs(&op_table[id]);
        op_table[id].hidden = is_helper(&op_table[id]);
        by_name[nnamed++] = &op_table[id];
    }
    qsort(by_name, (size_t)nnamed, sizeof *by_name, compare_names);
    for (int i = 0; i < nnamed; i++)
        if (!by_name[i]->hidden) public_ops[npublic++] = by_name[i];
}

int op_public_count(void) { return npublic; }
const Op *op_public(int64_t i) { return i >= 0 && i < npublic ? public_ops[i] : NULL; }

const Op *op_find(const char *name) {
    Op wanted = {.name = name};
    const Op *key = &wanted, *const *hit = bsearch(&key, by_name, (size_t)nnamed, sizeof *by_name,
                                                   compare_names);
    return hit ? *hit : NULL;
}

bool op_is_update(const Op *op) { return strncmp(op->sig, "param", 5) == 0; }

/* One piece of the signature, "*tensors", "bias=None" or "alpha=1.0". */
static void read_input(const char *text, size_t n, SigInput *in) {
    *in = (SigInput){.is_variadic = n && *text == '*'};
    if (in->is_variadic) text++, n--;
    const char *eq = memchr(text, '=', n);
    size_t length = eq ? (size_t)(eq - text) : n;
    if (length >= sizeof in->name) length = sizeof in->name - 1;
    memcpy(in->name, text, length);
    if (!eq) return;
    in->is_optional = !strncmp(eq + 1, "None", 4);
    in->is_weak = !in->is_optional;
    if (in->is_weak) in->weak_default = strtod(eq + 1, NULL);
}

int op_signature(const Op *op, SigInput *out) {
    int n = 0;
    for (const char *at = op->sig; *at && n < 16;) {
        size_t length = strcspn(at, ",");
        read_input(at, length, &out[n++]);
        at += length;
        at += strspn(at, ", ");
    }
    return n;
}

/* ---- needs: the rows read as sets of operands */

#include "ops/slopes.h"
#include "ops/words_needs.h"
#define x                                 1u
#define y                                 2u
#define z                                 4u
#define r                                 8u
#define g                                 16u
#define G(e)                              (e)
#define NG                                0u
#define EW1(n, p, c, s, v, gx, d)         {gx, 0, 0},
#define EW2(n, p, c, s, v, gx, gy, d)     {gx, gy, 0},
#define EW3(n, p, c, s, v, gx, gy, gz, d) {gx, gy, gz},
#define PR1(n, p, c, s, v, d)             {0, 0, 0},
#define PR2(n, p, c, s, v, d)             {0, 0, 0},
static const uint8_t row_needs[NROWS][3] = {
#include "ops/ewise.def"
};
#undef G
#undef NG
#define G(e)                              1
#define NG                                0
#define EW1(n, p, c, s, v, gx, d)         {gx, 0, 0},
#define EW2(n, p, c, s, v, gx, gy, d)     {gx, gy, 0},
#define EW3(n, p, c, s, v, gx, gy, gz, d) {gx, gy, gz},
#define PR1(n, p, c, s, v, d)             {0, 0, 0},
#define PR2(n, p, c, s, v, d)             {0, 0, 0},
static const uint8_t row_has_grad[NROWS][3] = {
#include "ops/ewise.def"
};
#undef x
#undef y
#undef z
#undef r
#undef g

uint32_t ewise_needs(const Op *op, int k) { return row_needs[op->ew_index][k]; }
bool ewise_has_grad(const Op *op, int k) { return row_has_grad[op->ew_index][k]; }

bool op_is_differentiable(const Op *op) {
    if (op->grad || op->expand) return true;
    if (op->kind != K_EWISE) return false;
    return row_has_grad[op->ew_index][0] || row_has_grad[op->ew_index][1] ||
           row_has_grad[op->ew_index][2];
}
