/* Shapes and gradients of batch norm. Statistics are in the compute type: float32 beside a
 * half-precision input. */
#include <string.h>

#include "ops/functions.h"

static Status check_input(const OpCall *c, const TensorType *x) {
    char text[200];
    if (!dtype_is_float(x->dtype))
        return FAIL(TYPE, "%s: input is %s; it must be a float", c->op->name, dtype_name(x->dtype));
    if (x->rank < 2 || x->rank > 5)
        return FAIL(VALUE, "%s: input is %s; it must be (n, channels) and up to 3 more sizes",
                    c->op->name, type_text(x, text, sizeof text));
    return OK;
}

static Status check_channels(const OpCall *c, int i, const char *name, const TensorType *x) {
    const TensorType *t = i < c->nin ? c->in[i] : NULL;
    char text[200];
    if (!t) return OK;
    DType ct = dtype_info[x->dtype].compute;
    if (t->rank != 1 || t->dims[0] != x->dims[1] || (t->dtype != ct && t->dtype != x->dtype))
        return FAIL(VALUE, "%s: %s is %s; it must be %s[%lld] for this input", c->op->name, name,
                    type_text(t, text, sizeof text), dtype_name(ct), (long long)x->dims[1]);
    return OK;
}

static TensorType channels(const TensorType *x) {
    TensorType t = {.dtype = dtype_info[x->dtype].compute, .rank = 1};
    t.dims[0] = x->dims[1];
    return t;
}

Status infer_batch_norm_train(const OpCall *c, TensorType *out) {
    const TensorType *x = c->in[0];
    TRY(check_input(c, x));
    TRY(check_channels(c, 1, "weight", x));
    TRY(check_channels(c, 2, "bias", x));
    if (type_count(x) == 0 && x->dims[1] > 0)
        return FAIL(VALUE, "batch_norm_train: input has no elements to take a mean of");
    out[0] = *x;
    out[1] = out[2] = channels(x);
    return OK;
}

Status infer_batch_norm_train_grad(const OpCall *c, TensorType *out) {
    const TensorType *g = c->in[0], *x = c->in[1];
    char tg[200], tx[200];
    TRY(check_input(c, x));
    if (!type_equal(g, x))
        return FAIL(VALUE, "%s: g is %s and input %s; they must be equal", c->op->name,
                    type_text(g, tg, sizeof tg), type_text(x, tx, sizeof tx));
    TRY(check_channels(c, 2, "mean", x));
    TRY(check_channels(c, 3, "variance", x));
    TRY(check_channels(c, 4, "weight", x));
    out[0] = *x;
    out[1] = out[2] = channels(x);
    return OK;
}

Status infer_batch_norm_infer(const OpCall *c, TensorType *out) {
    const TensorType *x = c->in[0];
    TRY(check_input(c, x));
    TRY(check_channels(c, 1, "mean", x));
    TRY(check_channels(c, 2, "variance", x));
    TRY(check_channels(c, 3, "weight", x));
    TRY(check_channels(c, 4, "bias", x));
    *out = *x;
    return OK;
}

/* ---- gradients */

/* A channel vector in the compute type, shaped to broadcast over x. */
static Ref over(Builder *b, Ref v, const TensorType *x) {
    int64_t dims[MAX_RANK] = {x->dims[1], 1, 1, 1};
    v = b_cast(b, v, dtype_info[x->dtype].compute);
    return b_reshape(b, v, x->rank - 1, dims);
}

static Ref channel_sum(Builder *b, Ref x) {
    IntList axes = {.n = b_type(b, x)->rank - 1, .v = {0, 2, 3, 4}};
    return b_sum(b, x, axes, false);
}

static double per_channel(const TensorType *x) {
    return x->dims[1] ? (double)(type_count(x) / x->dims[1]) : 1;
}

static Ref inverse_std(Builder *b, Ref variance, double epsilon) {
    return b_op1(b, OP_rsqrt, NULL, b_add(b, variance, b_num(b, variance, epsilon)));
}

/* What the results mean and variance pass back to the input. */
static Ref grad_statistics(GradCtx *c, Ref dx) {
    Builder *b = c->b;
    const TensorType *x = c->xtypes[0];
    double n = per_channel(x);
    Ref extra = 0;
    if (c->g[1]) extra = b_mul(b, c->g[1], b_num(b, c->g[1], 1 / n));
    if (extra) extra = over(b, extra, x);
    if (c->g[2]) {
        Ref centred =
            b_sub(b, b_cast(b, c->x[0], dtype_info[x->dtype].compute), over(b, c->r[1], x));
        Ref part = b_mul(b, centred, over(b, b_mul(b, c->g[2], b_num(b, c->g[2], 2 / n)), x));
        extra = extra ? b_add(b, extra, part) : part;
    }
    if (!extra) return dx;
    extra = b_cast(b, b_broadcast(b, extra, x->rank, x->dims), x->dtype);
    return dx ? b_add(b, dx, extra) : extra;
}

void grad_batch_norm_train(GradCtx *c) {
    Builder *b = c->b;
    const attrs_batch_norm_train *a = c->attrs;
    attrs_batch_norm_train_grad at = {.epsilon = a->epsilon};
    Ref weight = c->nin > 1 ? c->x[1] : 0, out[3] = {0};
    Ref in[] = {c->g[0], c->x[0], c->r[1], c->r[2], weight};
    if (c->g[0] && b->status == OK)
        b->call(b, op_get(OP_batch_norm_train_grad), &at, 5, in, 3, out);
    if (c->want[0]) c->dx[0] = grad_statistics(c, out[0]);
    for (int i = 1; i < c->nin; i++)
        if (c->want[i] && out[i]) c->dx[i] = b_cast(b, out[i], c->xtypes[i]->dtype);
}

/* With h = (x - mean) / std: dx = w / std (g - mean(g) - h mean(g h)), dw = sum(g h), db = sum(g).
 */
void expand_batch_norm_train_grad(ExpandCtx *c) {
    Builder *b = c->b;
    const attrs_batch_norm_train_grad *a = c->attrs;
    TensorType x = *b_type(b, c->x[1]);
    DType ct = dtype_info[x.dtype].compute;
    Ref g = b_cast(b, c->x[0], ct), rstd = inverse_std(b, b_cast(b, c->x[3], ct), a->epsilon);
    Ref centred = b_sub(b, b_cast(b, c->x[1], ct), over(b, c->x[2], &x));
    Ref h = b_mul(b, centred, over(b, rstd, &x));
    c->r[1] = channel_sum(b, b_mul(b, g, h));
    c->r[2] = channel_sum(b, g);
    Ref n = b_num(b, rstd, 1 / per_channel(&x));
    Ref inner = b_sub(b, g, over(b, b_mul(b, c->r[2], n), &x));
    inner = b_sub(b, inner, b_mul(b, h, over(b, b_mul(b, c->r[1], n), &x)));
    Ref scale = c->nin > 4 && c->x[4] ? b_mul(b, rstd, b_cast(b, c->x[4], ct)) : rstd;
    c->r[0] = b_cast(b, b_mul(b, inner, over(b, scale, &x)), x.dtype);
}

void expand_batch_norm_infer(ExpandCtx *c) {
    Builder *b = c->b;
    const attrs_batch_norm_infer *a = c->attrs;
    TensorType x = *b_type(b, c->x[0]);
    DType ct = dtype_info[x.dtype].compute;
    Ref scale = inverse_std(b, b_cast(b, c->x[2], ct), a->epsilon);
    if (c->nin > 3 && c->x[3]) scale = b_mul(b, scale, b_cast(b, c->x[3], ct));
    Ref y = b_sub(b, b_cast(b, c->x[0], ct), over(b, c->x[1], &x));
    y = b_mul(b, y, over(b, scale, &x));
    if (c->nin > 4 && c->x[4]) y = b_add(b, y, over(b, c->x[4], &x));
    c->r[0] = b_cast(b, y, x.dtype);
}
