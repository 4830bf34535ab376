/* Short forms over a Builder: the calls that gradients and expansions are made of. */
#include "ops/build.h"

#include <string.h>

enum { MAX_ATTRS = 1024 };

Ref b_call(Builder *b, OpId id, const void *attrs, int nin, const Ref *in) {
    const Op *op = op_get(id);
    int64_t preset[MAX_ATTRS / sizeof(int64_t)];
    if (!attrs) {
        attrs_init(op, preset);
        attrs = preset;
    }
    Ref r = 0;
    if (b->status == OK) b->call(b, op, attrs, nin, in, 1, &r);
    return r;
}

Ref b_op1(Builder *b, OpId op, const void *attrs, Ref x) { return b_call(b, op, attrs, 1, &x); }
Ref b_op2(Builder *b, OpId op, const void *attrs, Ref x, Ref y) {
    return b_call(b, op, attrs, 2, (Ref[]){x, y});
}
Ref b_op3(Builder *b, OpId op, const void *attrs, Ref x, Ref y, Ref z) {
    return b_call(b, op, attrs, 3, (Ref[]){x, y, z});
}

Ref b_num(Builder *b, Ref like, double value) {
    if (b->status != OK) return 0;
    return b->fill(b, &(TensorType){.dtype = b_type(b, like)->dtype}, value);
}
Ref b_zeros_like(Builder *b, const TensorType *type) {
    return b->status == OK ? b->fill(b, type, 0) : 0;
}

Ref b_add(Builder *b, Ref x, Ref y) { return b_op2(b, OP_add, NULL, x, y); }
Ref b_sub(Builder *b, Ref x, Ref y) { return b_op2(b, OP_sub, NULL, x, y); }
Ref b_mul(Builder *b, Ref x, Ref y) { return b_op2(b, OP_mul, NULL, x, y); }
Ref b_div(Builder *b, Ref x, Ref y) { return b_op2(b, OP_div, NULL, x, y); }
Ref b_neg(Builder *b, Ref x) { return b_op1(b, OP_neg, NULL, x); }

Ref b_cast(Builder *b, Ref x, DType dtype) {
    if (b->status != OK || b_type(b, x)->dtype == dtype) return x;
    return b_op1(b, OP_cast, &(attrs_cast){.dtype = dtype}, x);
}

static IntList list_of(int n, const int64_t *v) {
    IntList list = {.n = n};
    memcpy(list.v, v, (size_t)n * sizeof *v);
    return list;
}

static bool has_dims(Builder *b, Ref x, int rank, const int64_t *dims) {
    const TensorType *t = b_type(b, x);
    return t->rank == rank && !memcmp(t->dims, dims, (size_t)rank * sizeof *dims);
}

Ref b_reshape(Builder *b, Ref x, int rank, const int64_t *dims) {
    if (b->status != OK || has_dims(b, x, rank, dims)) return x;
    return b_op1(b, OP_reshape, &(attrs_reshape){.shape = list_of(rank, dims)}, x);
}

Ref b_broadcast(Builder *b, Ref x, int rank, const int64_t *dims) {
    if (b->status != OK || has_dims(b, x, rank, dims)) return x;
    return b_op1(b, OP_broadcast_to, &(attrs_broadcast_to){.shape = list_of(rank, dims)}, x);
}

Ref b_transpose(Builder *b, Ref x, const int64_t *perm) {
    if (b->status != OK) return 0;
    int rank = b_type(b, x)->rank;
    return b_op1(b, OP_transpose, &(attrs_transpose){.input_perm = list_of(rank, perm)}, x);
}

Ref b_swap(Builder *b, Ref x, int axis_a, int axis_b) {
    if (b->status != OK) return 0;
    int rank = b_type(b, x)->rank;
    int64_t perm[MAX_RANK];
    for (int i = 0; i < rank; i++) perm[i] = i;
    axis_a += axis_a < 0 ? rank : 0;
    axis_b += axis_b < 0 ? rank : 0;
    perm[axis_a] = axis_b;
    perm[axis_b] = axis_a;
    return b_transpose(b, x, perm);
}

Ref b_sum(Builder *b, Ref x, IntList axis, bool keep_dims) {
    return b_op1(b, OP_sum, &(attrs_sum){.axis = axis, .keep_dims = keep_dims, .dtype = DT_NONE},
                 x);
}

Ref b_sum_to(Builder *b, Ref x, int rank, const int64_t *dims) {
    if (b->status != OK || has_dims(b, x, rank, dims)) return x;
    TensorType t = *b_type(b, x);
    IntList axes = {0};
    int extra = t.rank - rank;
    for (int i = 0; i < t.rank; i++)
        if (i < extra || (dims[i - extra] == 1 && t.dims[i] != 1)) axes.v[axes.n++] = i;
    if (axes.n) x = b_sum(b, x, axes, true);
    return b_reshape(b, x, rank, dims);
}

Ref b_keep_dims(Builder *b, Ref r, const TensorType *x, const IntList *axis, bool keep_dims) {
    if (keep_dims || b->status != OK) return r;
    int64_t dims[MAX_RANK];
    for (int i = 0; i < x->rank; i++) dims[i] = axis->n <= 0 ? 1 : x->dims[i];
    for (int i = 0; i < axis->n && x->rank; i++)
        dims[axis->v[i] + (axis->v[i] < 0 ? x->rank : 0)] = 1;
    return b_reshape(b, r, x->rank, dims);
}
