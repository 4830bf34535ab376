/* Sizes and parameters of random draws. */
#include <math.h>
#include <string.h>

#include "ops/functions.h"

static Status sized(const OpCall *c, const IntList *shape, int64_t dtype, TensorType *out) {
    if (shape->n < 0) return FAIL(VALUE, "%s: the shape is missing", c->op->name);
    if (dtype == DT_NONE) return FAIL(TYPE, "%s: dtype is missing", c->op->name);
    *out = (TensorType){.dtype = (uint8_t)dtype, .rank = (uint8_t)shape->n};
    memcpy(out->dims, shape->v, out->rank * sizeof *shape->v);
    return type_check(out, c->op->name);
}

static Status float_sized(const OpCall *c, const IntList *shape, int64_t dtype, TensorType *out) {
    TRY(sized(c, shape, dtype, out));
    if (dtype_is_float(out->dtype)) return OK;
    return FAIL(TYPE, "%s: dtype is %s; it must be a float type", c->op->name,
                dtype_name(out->dtype));
}

static Status check_number(const OpCall *c, const char *name, double v, double low) {
    if (isfinite(v) && v >= low) return OK;
    if (low > -INFINITY)
        return FAIL(VALUE, "%s: %s is %g; it must be finite and at least %g", c->op->name, name, v,
                    low);
    return FAIL(VALUE, "%s: %s is %g; it must be finite", c->op->name, name, v);
}

Status infer_standard_normal(const OpCall *c, TensorType *out) {
    const attrs_standard_normal *a = c->attrs;
    return float_sized(c, &a->shape, a->dtype, out);
}

Status infer_normal(const OpCall *c, TensorType *out) {
    const attrs_normal *a = c->attrs;
    TRY(check_number(c, "mean", a->mean, -INFINITY));
    TRY(check_number(c, "stddev", a->stddev, 0));
    return float_sized(c, &a->shape, a->dtype, out);
}

Status infer_uniform(const OpCall *c, TensorType *out) {
    const attrs_uniform *a = c->attrs;
    TRY(check_number(c, "minval", a->minval, -INFINITY));
    TRY(check_number(c, "maxval", a->maxval, a->minval));
    return float_sized(c, &a->shape, a->dtype, out);
}

Status infer_exponential(const OpCall *c, TensorType *out) {
    const attrs_exponential *a = c->attrs;
    if (!(a->lambd > 0))
        return FAIL(VALUE, "exponential: lambd is %g; it must be positive", a->lambd);
    return float_sized(c, &a->shape, a->dtype, out);
}

Status infer_truncated_normal(const OpCall *c, TensorType *out) {
    const attrs_truncated_normal *a = c->attrs;
    TRY(check_number(c, "mean", a->mean, -INFINITY));
    TRY(check_number(c, "stddev", a->stddev, 0));
    if (!(a->low < a->high))
        return FAIL(VALUE, "truncated_normal: low is %g, high %g; low must be smaller", a->low,
                    a->high);
    return float_sized(c, &a->shape, a->dtype, out);
}

/* The largest value a dtype holds exactly with all below it. */
static int64_t top_of(DType d) {
    static const int64_t float_tops[] = {[2] = 1 << 8, [4] = 1 << 24, [8] = (int64_t)1 << 53};
    if (dtype_is_float(d)) return d == DT_f16 ? 1 << 11 : float_tops[dtype_size(d)];
    if (d == DT_bool) return 1;
    int bits = 8 * (int)dtype_size(d) - (dtype_info[d].kind == KIND_INT);
    return bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
}

Status infer_randint(const OpCall *c, TensorType *out) {
    const attrs_randint *a = c->attrs;
    TRY(sized(c, &a->size, a->dtype, out));
    if (a->low >= a->high)
        return FAIL(VALUE, "randint: low is %lld, high %lld; low must be smaller",
                    (long long)a->low, (long long)a->high);
    int64_t top = top_of(out->dtype),
            bottom =
                dtype_info[out->dtype].kind == KIND_UINT || out->dtype == DT_bool ? 0 : -top - 1;
    if (a->low < bottom || a->high - 1 > top)
        return FAIL(VALUE, "randint: [%lld, %lld) does not fit %s; legal: [%lld, %lld]",
                    (long long)a->low, (long long)a->high, dtype_name(out->dtype),
                    (long long)bottom, (long long)top);
    return OK;
}

Status infer_randperm(const OpCall *c, TensorType *out) {
    const attrs_randperm *a = c->attrs;
    if (a->n < 0)
        return FAIL(VALUE, "randperm: n is %lld; it must not be negative", (long long)a->n);
    TRY(sized(c, &INTLIST1(a->n), a->dtype, out));
    if (a->n - 1 > top_of(out->dtype))
        return FAIL(VALUE, "randperm: n is %lld; %s holds numbers up to %lld", (long long)a->n,
                    dtype_name(out->dtype), (long long)top_of(out->dtype));
    return OK;
}

Status infer_bernoulli(const OpCall *c, TensorType *out) {
    const TensorType *x = c->in[0], *p = c->in[1];
    char a[200], b[200];
    if (!dtype_is_float(p->dtype))
        return FAIL(TYPE, "bernoulli: p is %s; it must be a float tensor",
                    type_text(p, a, sizeof a));
    if (p->rank && !type_same_dims(x, p))
        return FAIL(VALUE, "bernoulli: p is %s, input %s; p is one number or has input's sizes",
                    type_text(p, a, sizeof a), type_text(x, b, sizeof b));
    *out = *x;
    return OK;
}

Status infer_multinomial(const OpCall *c, TensorType *out) {
    const attrs_multinomial *a = c->attrs;
    const TensorType *x = c->in[0];
    char text[200];
    if (!dtype_is_float(x->dtype) || x->rank < 1 || x->rank > 2)
        return FAIL(VALUE, "multinomial: input is %s; it must be a float tensor of 1 or 2 axes",
                    type_text(x, text, sizeof text));
    int64_t n = x->dims[x->rank - 1];
    if (a->num_samples < 0 || (!a->replacement && a->num_samples > n))
        return FAIL(VALUE, "multinomial: num_samples is %lld; legal: 0 to %lld",
                    (long long)a->num_samples, (long long)(a->replacement ? INT64_MAX : n));
    *out = *x;
    out->dtype = DT_i64;
    out->dims[x->rank - 1] = a->num_samples;
    return OK;
}

/* shape followed by the parameter's sizes. */
static Status around(const OpCall *c, const IntList *shape, int64_t dtype, TensorType *out) {
    const TensorType *x = c->in[0];
    TensorType t = {.dtype = (uint8_t)dtype};
    char text[200];
    if (!dtype_is_float(x->dtype))
        return FAIL(TYPE, "%s: the parameter is %s; it must be a float tensor", c->op->name,
                    type_text(x, text, sizeof text));
    if (shape->n < 0 || shape->n + x->rank > MAX_RANK)
        return FAIL(VALUE, "%s: shape has %lld axes, the parameter %d; together at most %d",
                    c->op->name, (long long)shape->n, x->rank, MAX_RANK);
    for (int i = 0; i < shape->n; i++) t.dims[t.rank++] = shape->v[i];
    for (int i = 0; i < x->rank; i++) t.dims[t.rank++] = x->dims[i];
    *out = t;
    return type_check(out, c->op->name);
}

Status infer_random_gamma(const OpCall *c, TensorType *out) {
    return around(c, &((const attrs_random_gamma *)c->attrs)->shape, c->in[0]->dtype, out);
}

Status infer_random_poisson(const OpCall *c, TensorType *out) {
    const attrs_random_poisson *a = c->attrs;
    if (a->dtype == DT_NONE) return FAIL(TYPE, "random_poisson: dtype is missing");
    return around(c, &a->shape, a->dtype, out);
}
