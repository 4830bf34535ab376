/* Shapes, dtypes and gradients of reductions. */
#include <string.h>

#include "ops/functions.h"
#include "ops/reduce.h"

Status reduce_axes(const char *op, const IntList *axis, int rank, uint32_t *mask) {
    *mask = 0;
    if (axis->n < 0 || axis->n == 0) {
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

Status infer_sum(const OpCall *c, TensorType *out) {
    const attrs_sum *a = c->attrs;
    TRY(reduce_shape(c->op->name, c->in[0], &a->axis, a->keep_dims, out));
    if (a->dtype != DT_NONE)
        out->dtype = (uint8_t)a->dtype;
    else if (out->dtype == DT_bool || (dtype_is_int(out->dtype) && out->dtype != DT_u64))
        out->dtype = DT_i64;
    return OK;
}

void grad_sum(GradCtx *c) {
    const attrs_sum *a = c->attrs;
    const TensorType *x = c->xtypes[0];
    Ref g = b_keep_dims(c->b, c->g[0], x, &a->axis, a->keep_dims);
    c->dx[0] = b_broadcast(c->b, g, x->rank, x->dims);
}
