/* Gradients of reductions: results are spread back over the axes they came from. */
#include <math.h>

#include "ops/functions.h"
#include "ops/reduce.h"

/* A result, or its gradient, with the reduced axes as size 1. */
static Ref kept(GradCtx *c, Ref r) {
    const ReduceAttrs *a = c->attrs;
    return b_keep_dims(c->b, r, c->xtypes[0], &a->axis, a->keep_dims);
}
static Ref number(GradCtx *c, double v) { return b_num(c->b, c->g[0], v); }
static Ref over_input(GradCtx *c, Ref r) {
    return b_broadcast(c->b, r, c->xtypes[0]->rank, c->xtypes[0]->dims);
}
static double count(const GradCtx *c) {
    return (double)reduce_count(c->xtypes[0], &((const ReduceAttrs *)c->attrs)->axis);
}
static Ref sum_kept(GradCtx *c, Ref x) {
    return b_sum(c->b, x, ((const ReduceAttrs *)c->attrs)->axis, true);
}
static Ref choose(GradCtx *c, Ref mask, Ref yes, Ref no) {
    return b_op3(c->b, OP_where, NULL, mask, yes, no);
}
static Ref equal(GradCtx *c, Ref x, Ref y) { return b_op2(c->b, OP_equal, NULL, x, y); }

void grad_sum(GradCtx *c) {
    if (c->xtypes[0]->dtype == DT_bool) return;
    c->dx[0] = over_input(c, kept(c, b_cast(c->b, c->g[0], c->xtypes[0]->dtype)));
}

void grad_mean(GradCtx *c) {
    c->dx[0] = over_input(c, kept(c, b_div(c->b, c->g[0], number(c, count(c)))));
}

/* The reduced axes last and joined to one (`back` false), or the reverse. */
static Ref joined(GradCtx *c, Ref x, bool back) {
    const TensorType *t = c->xtypes[0];
    const IntList *axes = &((const ReduceAttrs *)c->attrs)->axis;
    bool reduced[MAX_RANK] = {0};
    int64_t order[MAX_RANK], inverse[MAX_RANK] = {0}, dims[MAX_RANK], kept_dims[MAX_RANK];
    int rank = 0, n = 0;
    for (int i = 0; i < axes->n && t->rank; i++)
        reduced[axes->v[i] + (axes->v[i] < 0 ? t->rank : 0)] = true;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < t->rank; i++)
            if ((reduced[i] || axes->n <= 0) == pass) order[rank++] = i;
    for (int i = 0; i < t->rank; i++) inverse[order[i]] = i, dims[i] = t->dims[order[i]];
    while (axes->n > 0 && n < t->rank && !reduced[order[n]]) kept_dims[n] = dims[n], n++;
    kept_dims[n++] = reduce_count(t, axes);
    if (back) return b_transpose(c->b, b_reshape(c->b, x, t->rank, dims), inverse);
    return b_reshape(c->b, b_transpose(c->b, x, order), n, kept_dims);
}

/* The product before each element times the product behind it, in double: right with any number of
 * zeros, and differentiable there. */
void grad_prod(GradCtx *c) {
    DType d = c->xtypes[0]->dtype;
    Builder *b = c->b;
    if (d == DT_bool || type_count(c->xtypes[0]) == 0) return;
    Ref x = joined(c, b_cast(b, c->x[0], DT_f64), false);
    attrs_cumprod before = {.dim = -1, .exclusive = 1, .dtype = DT_NONE}, behind = before;
    behind.reverse = 1;
    Ref slope = b_mul(b, b_op1(b, OP_cumprod, &before, x), b_op1(b, OP_cumprod, &behind, x));
    Ref g = kept(c, b_cast(b, c->g[0], DT_f64));
    c->dx[0] = b_cast(b, b_mul(b, g, joined(c, slope, true)), d);
}

/* The elements that made the result (all NaN when it is NaN) share its gradient. */
static Ref shared(GradCtx *c, Ref x, Ref r) {
    Ref hit = b_op2(c->b, OP_logical_or, NULL, equal(c, x, r), b_op1(c->b, OP_isnan, NULL, x));
    Ref share = b_cast(c->b, hit, c->xtypes[0]->dtype);
    return b_div(c->b, share, sum_kept(c, share));
}

void grad_amax(GradCtx *c) {
    if (c->xtypes[0]->dtype == DT_bool) return;
    c->dx[0] = b_mul(c->b, kept(c, c->g[0]), shared(c, c->x[0], kept(c, c->r[0])));
}

static Ref from_mean(GradCtx *c, Ref x) {
    const ReduceAttrs *a = c->attrs;
    attrs_mean at = {.axis = a->axis, .keep_dims = true};
    return b_sub(c->b, x, b_op1(c->b, OP_mean, &at, x));
}

void grad_var(GradCtx *c) {
    double n = count(c) - (double)((const attrs_var *)c->attrs)->ddof;
    Ref slope = b_mul(c->b, from_mean(c, c->x[0]), number(c, n > 0 ? 2 / n : NAN));
    c->dx[0] = b_mul(c->b, kept(c, c->g[0]), slope);
}

void grad_std(GradCtx *c) {
    double n = count(c) - (double)((const attrs_std *)c->attrs)->ddof;
    Ref r = c->r[0], none = number(c, 0), flat = equal(c, r, none);
    Ref g = b_div(c->b, c->g[0], b_mul(c->b, choose(c, flat, number(c, 1), r), number(c, n)));
    g = choose(c, flat, none, n > 0 ? g : number(c, NAN));
    c->dx[0] = b_mul(c->b, kept(c, g), from_mean(c, c->x[0]));
}

/* |x|^(p-1) sign(x) / r^(p-1), and 0 where r is 0. */
void grad_norm(GradCtx *c) {
    double p = ((const attrs_norm *)c->attrs)->p;
    Builder *b = c->b;
    Ref x = c->x[0], r = kept(c, c->r[0]), g = kept(c, c->g[0]), none = number(c, 0);
    if (p == 0) {
        c->dx[0] = b_zeros_like(b, c->xtypes[0]);
        return;
    }
    Ref sign = b_op1(b, OP_sign, NULL, x);
    if (p == 1) {
        c->dx[0] = b_mul(b, g, sign);
        return;
    }
    Ref flat = equal(c, r, none), safe = choose(c, flat, number(c, 1), r);
    Ref slope;
    if (isinf(p)) {
        slope = b_mul(b, sign, shared(c, b_op1(b, OP_abs, NULL, x), r));
    } else if (p == 2) {
        slope = b_div(b, x, safe);
    } else {
        Ref ratio = b_div(b, b_op1(b, OP_abs, NULL, x), safe);
        slope = b_mul(b, sign, b_op2(b, OP_pow, NULL, ratio, number(c, p - 1)));
        slope = choose(c, equal(c, x, none), none, slope);
    }
    c->dx[0] = b_mul(b, choose(c, flat, none, g), slope);
}

void grad_logsumexp(GradCtx *c) {
    Ref r = kept(c, c->r[0]), none = number(c, 0);
    Ref top = choose(c, equal(c, r, number(c, -INFINITY)), none, r); /* all elements -inf */
    Ref share = b_op1(c->b, OP_exp, NULL, b_sub(c->b, c->x[0], top));
    c->dx[0] = b_mul(c->b, kept(c, c->g[0]), share);
}
