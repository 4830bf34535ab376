/* Shapes and gradients of sorting and searching. */
#include "ops/sort.h"

#include <math.h>
#include <string.h>

#include "ops/functions.h"

Ref scatter_back(GradCtx *c, Ref index, Ref g, int64_t axis) {
    const TensorType *x = c->xtypes[0];
    if (x->dtype == DT_bool) return 0;
    if (x->rank == 0) return g;
    attrs_tensor_scatter_elements a = {.axis = axis, .reduction = "add"};
    Ref zeros = b_op1(c->b, OP_contiguous, NULL, b_zeros_like(c->b, x));
    return b_op3(c->b, OP_tensor_scatter_elements, &a, zeros, index, g);
}

static Status pick_shape(const OpCall *c, int64_t axis, int64_t n, TensorType *values,
                         TensorType *indices) {
    int at;
    TRY(type_axis(c->op->name, axis, c->in[0]->rank, &at));
    TensorType t = *c->in[0];
    if (n >= 0 && t.rank) t.dims[at] = n;
    if (values) *values = t;
    t.dtype = DT_i64;
    *indices = t;
    return OK;
}

Status infer_sort(const OpCall *c, TensorType *out) {
    return pick_shape(c, ((const attrs_sort *)c->attrs)->axis, -1, &out[0], &out[1]);
}
Status infer_argsort(const OpCall *c, TensorType *out) {
    return pick_shape(c, ((const attrs_argsort *)c->attrs)->axis, -1, NULL, &out[0]);
}
void grad_sort(GradCtx *c) {
    if (c->g[0]) c->dx[0] = scatter_back(c, c->r[1], c->g[0], ((const attrs_sort *)c->attrs)->axis);
}

Status infer_topk(const OpCall *c, TensorType *out) {
    const attrs_topk *a = c->attrs;
    const TensorType *x = c->in[0];
    int at;
    TRY(type_axis("topk", a->dim, x->rank, &at));
    int64_t n = x->rank ? x->dims[at] : 1;
    if (a->k < 0 || a->k > n)
        return FAIL(VALUE, "topk: k is %lld; legal: 0 to %lld, the size of axis %d",
                    (long long)a->k, (long long)n, at);
    if (x->rank == 0 && a->k == 0)
        return FAIL(VALUE, "topk: k is 0; it must be 1 for an input of one number");
    return pick_shape(c, a->dim, a->k, &out[0], &out[1]);
}
void grad_topk(GradCtx *c) {
    if (c->g[0]) c->dx[0] = scatter_back(c, c->r[1], c->g[0], ((const attrs_topk *)c->attrs)->dim);
}

Status infer_median(const OpCall *c, TensorType *out) {
    const attrs_median *a = c->attrs;
    const TensorType *x = c->in[0];
    int at;
    TRY(type_axis("median", a->axis, x->rank, &at));
    TensorType t = {.dtype = x->dtype};
    for (int i = 0; i < x->rank; i++)
        if (i != at)
            t.dims[t.rank++] = x->dims[i];
        else if (a->keep_dims)
            t.dims[t.rank++] = 1;
    if (type_count(&t) && type_count(x) == 0)
        return FAIL(VALUE, "median: axis %d of input has no elements; it needs at least 1", at);
    out[0] = out[1] = t;
    out[1].dtype = DT_i64;
    return OK;
}
void grad_median(GradCtx *c) {
    const attrs_median *a = c->attrs;
    const TensorType *x = c->xtypes[0];
    if (!c->g[0]) return;
    IntList axis = INTLIST1(a->axis);
    Ref index = c->r[1], g = c->g[0];
    if (x->rank) {
        index = b_keep_dims(c->b, index, x, &axis, a->keep_dims);
        g = b_keep_dims(c->b, g, x, &axis, a->keep_dims);
    }
    c->dx[0] = scatter_back(c, index, g, a->axis);
}

Status infer_searchsorted(const OpCall *c, TensorType *out) {
    const TensorType *s = c->in[0], *v = c->in[1];
    bool fits = s->rank == 1;
    if (s->rank > 1 && s->rank == v->rank)
        fits = !memcmp(s->dims, v->dims, (size_t)(s->rank - 1) * sizeof *s->dims);
    if (!fits) {
        char a[200], b[200];
        return FAIL(VALUE,
                    "searchsorted: sorted_sequence is %s, values %s; the first must have one axis, "
                    "or all sizes but the last in common",
                    type_text(s, a, sizeof a), type_text(v, b, sizeof b));
    }
    *out = *v;
    out->dtype = DT_i64;
    return OK;
}

/* The number of different values is measured when the values are there. */
Status infer_unique(const OpCall *c, TensorType *out) {
    out[0] = (TensorType){.dtype = c->in[0]->dtype, .rank = 1};
    out[1] = *c->in[0];
    out[1].dtype = DT_i64;
    out[2] = (TensorType){.dtype = DT_i64, .rank = 1};
    return OK;
}

Status infer_bincount(const OpCall *c, TensorType *out) {
    const attrs_bincount *a = c->attrs;
    const TensorType *x = c->in[0];
    char text[200];
    if (dtype_is_float(x->dtype) || x->dtype == DT_bool || x->rank != 1)
        return FAIL(VALUE, "bincount: input is %s; it must be integers of 1 axis",
                    type_text(x, text, sizeof text));
    if (a->minlength < 0)
        return FAIL(VALUE, "bincount: minlength is %lld; it must be 0 or more",
                    (long long)a->minlength);
    *out = (TensorType){.dtype = DT_i64, .rank = 1};
    return OK;
}

Status infer_histc(const OpCall *c, TensorType *out) {
    const attrs_histc *a = c->attrs;
    if (c->in[0]->dtype == DT_bool) return FAIL(TYPE, "histc: input is bool; it must be numbers");
    if (a->bins < 1)
        return FAIL(VALUE, "histc: bins is %lld; it must be 1 or more", (long long)a->bins);
    if (!(a->min <= a->max && isfinite(a->min) && isfinite(a->max)))
        return FAIL(VALUE, "histc: min is %g, max %g; they must be finite, min not above max",
                    a->min, a->max);
    *out = (TensorType){.dtype = DT_i32, .rank = 1, .dims = {a->bins}};
    return OK;
}
