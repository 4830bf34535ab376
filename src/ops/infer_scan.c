/* Shapes and gradients of running sums, products and extremes. */
#include "ops/functions.h"
#include "ops/scan.h"
#include "ops/sort.h"

static Status same_along(const OpCall *c, TensorType *out) {
    int axis;
    TRY(type_axis(c->op->name, *(const int64_t *)c->attrs, c->in[0]->rank, &axis));
    *out = *c->in[0];
    return OK;
}

/* The dtypes of sum. */
Status infer_cumsum(const OpCall *c, TensorType *out) {
    const attrs_cumsum *a = c->attrs;
    TRY(same_along(c, out));
    if (a->dtype != DT_NONE && a->dtype != ATTR_NONE)
        out->dtype = (uint8_t)a->dtype;
    else if (out->dtype == DT_bool || (dtype_is_int(out->dtype) && out->dtype != DT_u64))
        out->dtype = DT_i64;
    return OK;
}

Status infer_cumextreme(const OpCall *c, TensorType *out) {
    TRY(same_along(c, &out[0]));
    out[1] = out[0];
    out[1].dtype = DT_i64;
    return OK;
}

Status infer_logcumsumexp(const OpCall *c, TensorType *out) { return same_along(c, out); }

static Ref scan(Builder *b, OpId op, Ref x, ScanAttrs s) {
    attrs_cumsum a = {
        .axis = s.axis, .exclusive = s.exclusive, .reverse = s.reverse, .dtype = DT_NONE};
    return b_op1(b, op, &a, x);
}

/* Element i went into all results from i on. */
void grad_cumsum(GradCtx *c) {
    const attrs_cumsum *a = c->attrs;
    DType d = c->xtypes[0]->dtype;
    if (!dtype_is_float(d)) return;
    ScanAttrs back = {a->axis, a->exclusive, !a->reverse};
    c->dx[0] = b_cast(c->b, scan(c->b, OP_cumsum, c->g[0], back), d);
}

/* Where x is not 0: the sum of g y from i on, over x. At the first 0 of a line: the same with that
 * 0 taken out of the products. At later ones: 0. */
void grad_cumprod(GradCtx *c) {
    const attrs_cumprod *a = c->attrs;
    Builder *b = c->b;
    DType d = c->xtypes[0]->dtype;
    if (!dtype_is_float(d) || b->status != OK) return;
    Ref x = c->x[0], g = b_cast(b, c->g[0], d), none = b_num(b, x, 0), one = b_num(b, x, 1);
    ScanAttrs forth = {a->dim, a->exclusive, a->reverse}, along = {a->dim, 0, a->reverse};
    ScanAttrs back = {a->dim, a->exclusive, !a->reverse};
    Ref zero = b_op2(b, OP_equal, NULL, x, none);
    Ref seen = scan(b, OP_cumsum, b_cast(b, zero, d), along);
    Ref first = b_op2(b, OP_logical_and, NULL, zero, b_op2(b, OP_equal, NULL, seen, one));
    Ref filled = b_op3(b, OP_where, NULL, first, one, x);
    Ref safe = b_op3(b, OP_where, NULL, zero, one, x);
    Ref y = scan(b, OP_cumprod, x, forth), others = scan(b, OP_cumprod, filled, forth);
    Ref usual = b_div(b, scan(b, OP_cumsum, b_mul(b, g, y), back), safe);
    Ref special = scan(b, OP_cumsum, b_mul(b, g, others), back);
    c->dx[0] = b_op3(b, OP_where, NULL, first, special, usual);
}

void grad_cumextreme(GradCtx *c) {
    if (c->g[0]) c->dx[0] = scatter_back(c, c->r[1], c->g[0], *(const int64_t *)c->attrs);
}

/* exp(x_i) times the sum of g exp(-y) from i on, both scaled by the largest x of the line. */
void grad_logcumsumexp(GradCtx *c) {
    Builder *b = c->b;
    int64_t axis = ((const attrs_logcumsumexp *)c->attrs)->axis;
    if (type_count(c->xtypes[0]) == 0) {
        c->dx[0] = c->g[0];
        return;
    }
    if (type_count(c->xtypes[0]) == 0) { /* amax of no elements does not exist */
        c->dx[0] = c->g[0];
        return;
    }
    attrs_amax most = {.axis = INTLIST1(axis), .keep_dims = true};
    Ref x = c->x[0], top = b_op1(b, OP_amax, &most, x);
    Ref fall = b_op1(b, OP_exp, NULL, b_sub(b, top, c->r[0]));
    Ref sum = scan(b, OP_cumsum, b_mul(b, c->g[0], fall), (ScanAttrs){axis, 0, 1});
    c->dx[0] = b_mul(b, b_op1(b, OP_exp, NULL, b_sub(b, x, top)), sum);
}
