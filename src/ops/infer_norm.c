/* Shapes of softmax and the norms; their gradients and expansions. */
#include <string.h>

#include "ops/functions.h"
#include "ops/norm.h"

Status infer_along_axis(const OpCall *c, TensorType *out) {
    int axis;
    TRY(type_axis(c->op->name, *(const int64_t *)c->attrs, c->in[0]->rank, &axis));
    if (c->nin == 2 && !type_equal(c->in[0], c->in[1])) {
        char a[200], b[200];
        return FAIL(VALUE, "%s: g is %s, output is %s; they must be alike", c->op->name,
                    type_text(c->in[0], a, sizeof a), type_text(c->in[1], b, sizeof b));
    }
    *out = *c->in[0];
    return OK;
}

void grad_softmax(GradCtx *c) {
    OpId id = c->op->id == OP_softmax ? OP_softmax_grad : OP_log_softmax_grad;
    c->dx[0] = b_op2(c->b, id, c->attrs, c->g[0], c->r[0]);
}

void expand_softmax_grad(ExpandCtx *c) {
    Ref g = c->x[0], y = c->x[1], gy = b_mul(c->b, g, y);
    Ref sum = b_sum(c->b, gy, INTLIST1(((const attrs_softmax_grad *)c->attrs)->axis), true);
    c->r[0] = b_sub(c->b, gy, b_mul(c->b, sum, y));
}

void expand_log_softmax_grad(ExpandCtx *c) {
    Ref g = c->x[0], p = b_op1(c->b, OP_exp, NULL, c->x[1]);
    Ref sum = b_sum(c->b, g, INTLIST1(((const attrs_softmax_grad *)c->attrs)->axis), true);
    c->r[0] = b_sub(c->b, g, b_mul(c->b, p, sum));
}

/* ---- norms */

static Status check_weight(const OpCall *c, int i, int rank, const int64_t *dims) {
    static const char *const names[] = {"input", "weight", "bias"};
    const TensorType *t = i < c->nin ? c->in[i] : NULL;
    if (!t || (t->rank == rank && !memcmp(t->dims, dims, (size_t)rank * sizeof *dims))) return OK;
    TensorType want = {.dtype = t->dtype, .rank = (uint8_t)rank};
    memcpy(want.dims, dims, (size_t)rank * sizeof *dims);
    char a[200], b[200];
    return FAIL(VALUE, "%s: %s is %s; it must be %s", c->op->name, names[i],
                type_text(t, a, sizeof a), type_text(&want, b, sizeof b));
}

Status infer_layer_norm(const OpCall *c, TensorType *out) {
    const IntList *shape = &((const attrs_layer_norm *)c->attrs)->normalized_shape;
    const TensorType *x = c->in[0];
    int n = (int)shape->n, first = x->rank - n;
    if (n < 1 || n > x->rank)
        return FAIL(VALUE,
                    "layer_norm: normalized_shape has %d sizes; legal: 1 to %d, the rank of input",
                    n, x->rank);
    for (int i = 0; i < n; i++)
        if (shape->v[i] != x->dims[first + i])
            return FAIL(
                VALUE, "layer_norm: size %d of normalized_shape is %lld; axis %d of input has %lld",
                i, (long long)shape->v[i], first + i, (long long)x->dims[first + i]);
    TRY(check_weight(c, 1, n, shape->v));
    TRY(check_weight(c, 2, n, shape->v));
    *out = *x;
    return OK;
}

Status infer_rms_norm(const OpCall *c, TensorType *out) {
    const TensorType *x = c->in[0], *w = c->nin > 1 ? c->in[1] : NULL;
    int n = w ? w->rank : 1, first = x->rank - n;
    if (n < 1 || n > x->rank)
        return FAIL(VALUE, "rms_norm: weight has %d axes; legal: 1 to %d, the rank of input", n,
                    x->rank);
    TRY(check_weight(c, 1, n, x->dims + first));
    out[0] = out[1] = *x;
    for (int i = first; i < x->rank; i++) out[1].dims[i] = 1;
    return OK;
}

static Status check_channels(const OpCall *c, int64_t groups) {
    const TensorType *x = c->in[0];
    if (x->rank < 2)
        return FAIL(VALUE, "%s: input has %d axes; it needs at least 2, (N, C, ...)", c->op->name,
                    x->rank);
    int64_t channels = x->dims[1];
    if (groups < 1 || channels % groups)
        return FAIL(VALUE, "%s: num_groups is %lld; legal: divisors of the %lld channels",
                    c->op->name, (long long)groups, (long long)channels);
    TRY(check_weight(c, 1, 1, &channels));
    return check_weight(c, 2, 1, &channels);
}

Status infer_group_norm(const OpCall *c, TensorType *out) {
    TRY(check_channels(c, ((const attrs_group_norm *)c->attrs)->num_groups));
    *out = *c->in[0];
    return OK;
}

Status infer_instance_norm(const OpCall *c, TensorType *out) {
    TRY(check_channels(c, c->in[0]->rank > 1 ? max_i64(c->in[0]->dims[1], 1) : 1));
    *out = *c->in[0];
    return OK;
}

attrs_norm_rows norm_rows_of(const Op *op, const void *attrs, const TensorType *x,
                             const TensorType *weight) {
    attrs_norm_rows a = {.row = 1, .groups = 1, .centered = op->id != OP_rms_norm};
    int first = 2;
    switch (op->id) {
    case OP_layer_norm:
        first = x->rank - (int)((const attrs_layer_norm *)attrs)->normalized_shape.n;
        a.eps = ((const attrs_layer_norm *)attrs)->eps;
        break;
    case OP_rms_norm:
        first = x->rank - (weight ? weight->rank : 1);
        a.eps = ((const attrs_rms_norm *)attrs)->eps;
        break;
    case OP_group_norm:
        a.groups = ((const attrs_group_norm *)attrs)->num_groups;
        a.eps = ((const attrs_group_norm *)attrs)->eps;
        break;
    case OP_instance_norm:
        a.groups = max_i64(x->dims[1], 1);
        a.eps = ((const attrs_instance_norm *)attrs)->eps;
        break;
    default: return *(const attrs_norm_rows *)attrs;
    }
    for (int i = first; i < x->rank; i++) a.row *= x->dims[i];
    if (op->id == OP_group_norm || op->id == OP_instance_norm) {
        a.channels = x->dims[1] / a.groups;
        a.row *= a.channels;
    }
    return a;
}

/* Sizes of weight and bias. */
static int64_t weights_of(const attrs_norm_rows *a) {
    return a->channels ? a->channels * a->groups : a->row;
}

/* These two are called by our own expansions; the checks keep other callers out of bounds. */
static Status check_rows(const OpCall *c, const TensorType *x, const TensorType *weight) {
    const attrs_norm_rows *a = c->attrs;
    int64_t n = type_count(x), per = max_i64(a->channels, 1);
    bool fits = a->row >= 0 && a->channels >= 0 && a->groups >= 1 && (a->row || !n) &&
                (!n || (n % a->row == 0 && a->row % per == 0 && n / a->row % a->groups == 0));
    if (!fits || (weight && type_count(weight) != weights_of(a)))
        return FAIL(VALUE, "%s: rows of %lld in %lld groups of %lld channels do not fit the sizes",
                    c->op->name, (long long)a->row, (long long)a->groups, (long long)a->channels);
    return OK;
}

Status infer_norm_rows(const OpCall *c, TensorType *out) {
    const attrs_norm_rows *a = c->attrs;
    TRY(check_rows(c, c->in[0], c->nin > 1 ? c->in[1] : NULL));
    TRY(check_rows(c, c->in[0], c->nin > 2 ? c->in[2] : NULL));
    out[0] = *c->in[0];
    int64_t n = type_count(c->in[0]);
    out[1] = out[2] = (TensorType){.dtype = c->in[0]->dtype, .rank = 1};
    out[1].dims[0] = out[2].dims[0] = a->row > 0 ? n / a->row : 0;
    return OK;
}

Status infer_norm_rows_grad(const OpCall *c, TensorType *out) {
    const attrs_norm_rows *a = c->attrs;
    TRY(check_rows(c, c->in[1], c->nin > 2 ? c->in[2] : NULL));
    int64_t rows = a->row ? type_count(c->in[1]) / a->row : 0;
    for (int i = 0; i < 5; i++)
        if (i != 2 && (i >= c->nin || !c->in[i] || c->in[i]->dtype != c->in[1]->dtype ||
                       type_count(c->in[i]) != (i < 2 ? type_count(c->in[1]) : rows)))
            return FAIL(VALUE, "norm_rows_grad: input %d does not fit the others", i);
    out[0] = *c->in[1];
    out[1] = (TensorType){.dtype = out[0].dtype, .rank = 1};
    out[1].dims[0] = weights_of(c->attrs);
    out[2] = out[1];
    return OK;
}

static void expand_norm(ExpandCtx *c, int nout) {
    Ref in[3] = {c->x[0], c->nin > 1 ? c->x[1] : 0, c->nin > 2 ? c->x[2] : 0}, out[3] = {0};
    if (c->b->status != OK) return;
    const TensorType *x = b_type(c->b, in[0]);
    attrs_norm_rows a = norm_rows_of(c->op, c->attrs, x, in[1] ? b_type(c->b, in[1]) : NULL);
    TensorType stat = *x;
    for (int64_t i = x->rank - 1, n = 1; i >= 0 && n < a.row; i--) {
        n *= stat.dims[i];
        stat.dims[i] = 1;
    }
    c->b->call(c->b, op_get(OP_norm_rows), &a, 3, in, 3, out);
    c->r[0] = out[0];
    if (nout == 2) c->r[1] = b_reshape(c->b, out[2], stat.rank, stat.dims);
}
void expand_layer_norm(ExpandCtx *c) { expand_norm(c, 1); }
void expand_rms_norm(ExpandCtx *c) { expand_norm(c, 2); }
void expand_group_norm(ExpandCtx *c) { expand_norm(c, 1); }
void expand_instance_norm(ExpandCtx *c) { expand_norm(c, 1); }

/* Gradients of mean and rstd as results come only through rms_norm's second result: they are
 * written out with ordinary ops. */
static Ref from_statistics(GradCtx *c, Ref dx) {
    const attrs_norm_rows *a = c->attrs;
    const TensorType *t = c->xtypes[0];
    if (!c->g[1] && !c->g[2]) return dx;
    Builder *b = c->b;
    int64_t rows = c->rtypes[1]->dims[0], wide[2] = {rows, a->row}, tall[2] = {rows, 1};
    Ref x = b_reshape(b, c->x[0], 2, wide), mean = b_reshape(b, c->r[1], 2, tall);
    Ref rstd = b_reshape(b, c->r[2], 2, tall), sum = b_num(b, x, 0);
    Ref n = b_num(b, x, (double)a->row);
    if (c->g[1] && a->centered) sum = b_div(b, b_reshape(b, c->g[1], 2, tall), n);
    if (c->g[2]) {
        Ref cube = b_mul(b, rstd, b_mul(b, rstd, rstd));
        Ref slope = b_div(b, b_mul(b, b_reshape(b, c->g[2], 2, tall), cube), n);
        sum = b_sub(b, sum, b_mul(b, slope, b_sub(b, x, mean)));
    }
    sum = b_reshape(b, b_broadcast(b, sum, 2, wide), t->rank, t->dims);
    return dx ? b_add(b, dx, sum) : sum;
}

void grad_norm_rows(GradCtx *c) {
    Ref out[3] = {0};
    if (c->g[0]) {
        Ref in[5] = {c->g[0], c->x[0], c->x[1], c->r[1], c->r[2]};
        c->b->call(c->b, op_get(OP_norm_rows_grad), c->attrs, 5, in, 3, out);
    }
    c->dx[0] = from_statistics(c, out[0]);
    for (int i = 1; i < 3 && i < c->nin; i++)
        if (c->want[i] && out[i])
            c->dx[i] = b_reshape(c->b, out[i], c->xtypes[i]->rank, c->xtypes[i]->dims);
}

/* Weights as they meet rows folded to (samples, groups, channels, rest). */
static Ref fold_weight(Builder *b, const attrs_norm_rows *a, Ref w) {
    if (!a->channels) return b_reshape(b, w, 4, (int64_t[]){1, 1, 1, a->row});
    return b_reshape(b, w, 4, (int64_t[]){1, a->groups, a->channels, 1});
}

/* With xh = (x - mean) * rstd and gw = g * weight:
 * dx = rstd * (gw - mean(gw) - xh * mean(gw * xh)). mean and rstd are made again from x, so that
 * this can be differentiated. */
void expand_norm_rows_grad(ExpandCtx *c) {
    const attrs_norm_rows *a = c->attrs;
    Builder *b = c->b;
    if (b->status != OK) return;
    TensorType t = *b_type(b, c->x[1]);
    int64_t channels = max_i64(a->channels, 1), rest = a->row / channels;
    int64_t samples = a->row ? type_count(&t) / a->row / a->groups : 0;
    int64_t dims[4] = {samples, a->groups, channels, rest};
    IntList row = INTLIST2(2, 3);
    attrs_mean mean_of = {.axis = row, .keep_dims = true};
    Ref g = b_reshape(b, c->x[0], 4, dims), x = b_reshape(b, c->x[1], 4, dims);
    Ref gw = c->nin > 2 && c->x[2] ? b_mul(b, g, fold_weight(b, a, c->x[2])) : g;
    Ref off = a->centered ? b_sub(b, x, b_op1(b, OP_mean, &mean_of, x)) : x;
    Ref var = b_op1(b, OP_mean, &mean_of, b_mul(b, off, off));
    Ref rstd = b_op1(b, OP_rsqrt, NULL, b_add(b, var, b_num(b, x, a->eps)));
    Ref xh = b_mul(b, off, rstd);
    Ref slope = b_mul(b, xh, b_op1(b, OP_mean, &mean_of, b_mul(b, gw, xh)));
    Ref rest_of = a->centered ? b_sub(b, gw, b_op1(b, OP_mean, &mean_of, gw)) : gw;
    c->r[0] = b_reshape(b, b_mul(b, rstd, b_sub(b, rest_of, slope)), t.rank, t.dims);
    IntList others = a->channels ? INTLIST2(0, 3) : INTLIST3(0, 1, 2);
    int64_t n = weights_of(a);
    c->r[1] = b_reshape(b, b_sum(b, b_mul(b, g, xh), others, false), 1, &n);
    c->r[2] = b_reshape(b, b_sum(b, g, others, false), 1, &n);
}
