/* Shapes and dtypes of reductions. */
#include "ops/functions.h"
#include "ops/reduce.h"

Status reduce_axes(const char *op, const IntList *axis, int rank, uint32_t *mask) {
    *mask = 0;
    if (axis->n <= 0) {
        *mask = (1u << rank) - 1;
        return OK;
    }
    for (int i = 0; i < axis->n; i++) {
        int a;
        TRY(type_axis(op, axis->v[i], rank, &a));
        if (*mask >> a & 1) return FAIL(VALUE, "%s: axis %d is named twice", op, a);
        *mask |= 1u << a;
    }
    if (rank == 0) *mask = 0;
    return OK;
}

Status reduce_shape(const char *op, const TensorType *x, const IntList *axis, bool keep_dims,
                    TensorType *out) {
    uint32_t mask;
    TRY(reduce_axes(op, axis, x->rank, &mask));
    TensorType t = {.dtype = x->dtype};
    for (int i = 0; i < x->rank; i++)
        if (!(mask >> i & 1))
            t.dims[t.rank++] = x->dims[i];
        else if (keep_dims)
            t.dims[t.rank++] = 1;
    *out = t;
    return OK;
}

int64_t reduce_count(const TensorType *x, const IntList *axis) {
    if (axis->n <= 0) return type_count(x);
    int64_t n = 1;
    for (int i = 0; i < axis->n && x->rank; i++)
        n *= x->dims[axis->v[i] + (axis->v[i] < 0 ? x->rank : 0)];
    return n;
}

Status infer_reduce(const OpCall *c, TensorType *out) {
    const ReduceAttrs *a = c->attrs;
    return reduce_shape(c->op->name, c->in[0], &a->axis, a->keep_dims, out);
}

/* A largest element of none does not exist. */
Status infer_reduce_some(const OpCall *c, TensorType *out) {
    const ReduceAttrs *a = c->attrs;
    TRY(infer_reduce(c, out));
    if (type_count(out) && reduce_count(c->in[0], &a->axis) == 0) {
        char text[200];
        return FAIL(VALUE, "%s: input %s has no elements along axis; it needs at least 1",
                    c->op->name, type_text(c->in[0], text, sizeof text));
    }
    return OK;
}

Status infer_reduce_bool(const OpCall *c, TensorType *out) {
    TRY(infer_reduce(c, out));
    out->dtype = DT_bool;
    return OK;
}

Status infer_reduce_index(const OpCall *c, TensorType *out) {
    TRY(infer_reduce(c, out));
    out->dtype = DT_i64;
    return OK;
}

Status infer_sum(const OpCall *c, TensorType *out) {
    const attrs_sum *a = c->attrs;
    TRY(infer_reduce(c, out));
    if (a->dtype != DT_NONE)
        out->dtype = (uint8_t)a->dtype;
    else if (out->dtype == DT_bool || (dtype_is_int(out->dtype) && out->dtype != DT_u64))
        out->dtype = DT_i64;
    return OK;
}

Status infer_norm(const OpCall *c, TensorType *out) {
    double p = ((const attrs_norm *)c->attrs)->p;
    if (p != p) return FAIL(VALUE, "norm: p is NaN; it must be a number, inf or -inf");
    return p < 0 ? infer_reduce_some(c, out) : infer_reduce(c, out);
}
