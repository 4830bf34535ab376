/* Shapes, gradients and expansions of cross entropy and nll_loss. */
#include <string.h>

#include "ops/functions.h"
#include "ops/loss.h"

Status read_reduction(const char *op, const char *text, Reduction *out) {
    static const char *const names[] = {"none", "mean", "sum"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(text, names[i])) {
            *out = (Reduction)i;
            return OK;
        }
    return FAIL(VALUE, "%s: reduction is '%s'; legal: 'none', 'mean', 'sum'", op, text);
}

LossShape loss_shape(const TensorType *x, const TensorType *target) {
    LossShape s = {.axis = x->rank > 1, .outer = 1, .classes = 1, .inner = 1};
    for (int i = 0; i < x->rank; i++)
        *(i < s.axis ? &s.outer : i == s.axis ? &s.classes : &s.inner) *= x->dims[i];
    s.dense_target = dtype_is_float(target->dtype);
    return s;
}

LossAttrs loss_attrs(const Op *op, const void *attrs) {
    const attrs_cross_entropy *at = attrs;
    LossAttrs a = {.ignore_index = at->ignore_index, .label_smoothing = at->label_smoothing};
    if (read_reduction(op->name, at->reduction, &a.reduction) != OK) a.reduction = REDUCE_MEAN;
    a.log_probs = op->id == OP_nll_loss;
    if (op->id == OP_cross_entropy_core || op->id == OP_cross_entropy_grad)
        a.log_probs = ((const attrs_cross_entropy_core *)attrs)->log_probs;
    return a;
}

/* The sizes of x without the class axis. */
static TensorType positions(const TensorType *x, int axis) {
    TensorType t = {.dtype = x->dtype};
    for (int i = 0; i < x->rank; i++)
        if (i != axis) t.dims[t.rank++] = x->dims[i];
    return t;
}

static Status check_target(const OpCall *c, const TensorType *x, const TensorType *y) {
    LossShape s = loss_shape(x, y);
    TensorType want = s.dense_target ? *x : positions(x, s.axis);
    char a[200], b[200];
    if (y->dtype == DT_bool || (s.dense_target && y->dtype != x->dtype))
        return FAIL(TYPE,
                    "%s: target is %s; legal: integers, or probabilities of the type of input %s",
                    c->op->name, dtype_name(y->dtype), dtype_name(x->dtype));
    if (!type_same_dims(y, &want)) {
        want.dtype = y->dtype;
        return FAIL(VALUE, "%s: target is %s; for this input it must be %s", c->op->name,
                    type_text(y, a, sizeof a), type_text(&want, b, sizeof b));
    }
    return OK;
}

static Status check_loss(const OpCall *c, int first) {
    const TensorType *x = c->in[first], *y = c->in[first + 1];
    const TensorType *w = c->nin > first + 2 ? c->in[first + 2] : NULL;
    const attrs_cross_entropy *at = c->attrs;
    Reduction reduction;
    char text[200];
    if (!dtype_is_float(x->dtype) || x->rank < 1)
        return FAIL(TYPE, "%s: input is %s; it must be floats of 1 axis or more", c->op->name,
                    type_text(x, text, sizeof text));
    TRY(check_target(c, x, y));
    int64_t classes = loss_shape(x, y).classes;
    if (w && w->dtype != x->dtype)
        return FAIL(TYPE, "%s: weight is %s, input %s; they must have one dtype", c->op->name,
                    dtype_name(w->dtype), dtype_name(x->dtype));
    if (w && (w->rank != 1 || w->dims[0] != classes))
        return FAIL(VALUE, "%s: weight is %s; it must be %s[%lld], one number a class", c->op->name,
                    type_text(w, text, sizeof text), dtype_name(x->dtype), (long long)classes);
    if (!(at->label_smoothing >= 0 && at->label_smoothing <= 1))
        return FAIL(VALUE, "%s: label_smoothing is %g; legal: 0 to 1", c->op->name,
                    at->label_smoothing);
    return read_reduction(c->op->name, at->reduction, &reduction);
}

Status infer_cross_entropy(const OpCall *c, TensorType *out) {
    TRY(check_loss(c, 0));
    LossAttrs at = loss_attrs(c->op, c->attrs);
    TensorType rows = positions(c->in[0], c->in[0]->rank > 1), one = {.dtype = rows.dtype};
    out[0] = at.reduction == REDUCE_NONE ? rows : one;
    if (c->nout == 4) out[1] = out[2] = rows, out[3] = one;
    return OK;
}

Status infer_cross_entropy_grad(const OpCall *c, TensorType *out) {
    if (c->nin < 7 || !c->in[4] || !c->in[5] || !c->in[6])
        return FAIL(VALUE, "cross_entropy_grad: it takes (%s)", c->op->sig);
    TRY(check_loss(c, 1));
    TensorType rows = positions(c->in[1], c->in[1]->rank > 1), one = {.dtype = rows.dtype};
    bool none = loss_attrs(c->op, c->attrs).reduction == REDUCE_NONE;
    if (!type_equal(c->in[0], none ? &rows : &one) || !type_equal(c->in[4], &rows) ||
        !type_equal(c->in[5], &rows) || !type_equal(c->in[6], &one))
        return FAIL(VALUE, "cross_entropy_grad: g, top, lse or total do not fit input");
    *out = *c->in[1];
    return OK;
}

/* ---- expansion: the core also gives what the gradient needs */

void expand_cross_entropy(ExpandCtx *c) {
    const attrs_cross_entropy *a = c->attrs;
    attrs_cross_entropy_core at = {.ignore_index = a->ignore_index,
                                   .label_smoothing = a->label_smoothing,
                                   .log_probs = c->op->id == OP_nll_loss};
    memcpy(at.reduction, a->reduction, sizeof at.reduction);
    Ref in[3] = {c->x[0], c->x[1], c->nin > 2 ? c->x[2] : 0}, out[4];
    c->b->call(c->b, op_get(OP_cross_entropy_core), &at, 3, in, 4, out);
    c->r[0] = out[0];
}

/* A tensor over positions, or one number, as it meets x. */
static Ref at_classes(Builder *b, Ref r, const TensorType *x, int axis) {
    if (b->status != OK || b_type(b, r)->rank == 0) return r;
    TensorType t = *x;
    t.dims[axis] = 1;
    return b_reshape(b, r, t.rank, t.dims);
}

/* One number a class, as it meets x. */
static Ref per_class(Builder *b, Ref w, const TensorType *x, int axis) {
    int64_t dims[MAX_RANK];
    for (int i = 0; i < x->rank; i++) dims[i] = i == axis ? x->dims[i] : 1;
    return b_reshape(b, w, x->rank, dims);
}

/* Gradient of probabilities as target: weight (1 - s) times minus the log-probability. */
static Ref target_gradient(GradCtx *c, Ref g) {
    Builder *b = c->b;
    LossAttrs at = loss_attrs(c->op, c->attrs);
    const TensorType *x = c->xtypes[0];
    int axis = x->rank > 1;
    Ref logs = c->x[0];
    if (!at.log_probs) logs = b_op1(b, OP_log_softmax, &(attrs_log_softmax){.axis = axis}, logs);
    if (c->x[2]) logs = b_mul(b, logs, per_class(b, c->x[2], x, axis));
    logs = b_mul(b, logs, b_num(b, logs, at.label_smoothing - 1));
    return b_mul(b, logs, g);
}

/* 1 at the label of each position (nowhere for an ignored one), or the probabilities. */
static Ref target_weights(Builder *b, Ref y, const TensorType *x, const LossAttrs *at, int axis) {
    if (b->status != OK || dtype_is_float(b_type(b, y)->dtype)) return y;
    int64_t n = x->dims[axis];
    attrs_arange range = {.end = (double)n, .step = 1, .dtype = DT_i64};
    Ref classes = b_call(b, OP_arange, &range, 0, NULL);
    y = at_classes(b, b_cast(b, y, DT_i64), x, axis);
    Ref hit = b_op2(b, OP_equal, NULL, y, per_class(b, classes, x, axis));
    Ref live = b_op2(b, OP_not_equal, NULL, y, b_num(b, y, (double)at->ignore_index));
    return b_cast(b, b_op2(b, OP_logical_and, NULL, hit, live), x->dtype);
}

/* m v, and 0 where m is 0 whatever v is. */
static Ref times(Builder *b, Ref m, Ref v) {
    Ref zero = b_num(b, m, 0);
    return b_op3(b, OP_where, NULL, b_op2(b, OP_equal, NULL, m, zero), zero, b_mul(b, m, v));
}

static Ref sum_to_classes(Builder *b, Ref v, const TensorType *x, int axis) {
    IntList others = {0};
    for (int i = 0; i < x->rank; i++)
        if (i != axis) others.v[others.n++] = i;
    return others.n ? b_sum(b, v, others, false) : v;
}

/* Gradient of the class weights. The loss is the sum of w_c m_c times minus the log-probability,
 * m_c = (1 - s) q_c + s / C, over the total; of labels the total holds the weights, too. */
static Ref weight_gradient(GradCtx *c) {
    Builder *b = c->b;
    LossAttrs at = loss_attrs(c->op, c->attrs);
    const TensorType *x = c->xtypes[0];
    int axis = x->rank > 1;
    bool labels = !dtype_is_float(c->xtypes[1]->dtype);
    double s = at.label_smoothing;
    Ref q = target_weights(b, c->x[1], x, &at, axis), m = q, dw = 0;
    if (s != 0) {
        Ref share = b_num(b, q, s / (double)x->dims[axis]);
        if (labels) share = b_mul(b, share, b_sum(b, q, INTLIST1(axis), true));
        m = b_add(b, b_mul(b, q, b_num(b, q, 1 - s)), share);
    }
    if (c->g[0]) {
        Ref logs = c->x[0], g = at_classes(b, b_div(b, c->g[0], c->r[3]), x, axis);
        if (!at.log_probs)
            logs = b_op1(b, OP_log_softmax, &(attrs_log_softmax){.axis = axis}, logs);
        dw = sum_to_classes(b, times(b, m, b_mul(b, b_neg(b, g), logs)), x, axis);
    }
    if (!labels || at.reduction != REDUCE_MEAN) return dw;
    Ref slope = c->g[3];
    if (c->g[0]) {
        Ref through = b_div(b, b_mul(b, b_neg(b, c->g[0]), c->r[0]), c->r[3]);
        slope = slope ? b_add(b, slope, through) : through;
    }
    if (!slope) return dw;
    slope = times(b, sum_to_classes(b, q, x, axis), slope);
    return dw ? b_add(b, dw, slope) : slope;
}

void grad_cross_entropy_core(GradCtx *c) {
    Builder *b = c->b;
    if (c->nin > 2 && c->want[2]) c->dx[2] = weight_gradient(c);
    if (!c->g[0]) return;
    Ref in[7] = {c->g[0], c->x[0], c->x[1], c->nin > 2 ? c->x[2] : 0, c->r[1], c->r[2], c->r[3]};
    if (c->want[0]) c->dx[0] = b_call(b, OP_cross_entropy_grad, c->attrs, 7, in);
    if (c->want[1] && dtype_is_float(c->xtypes[1]->dtype)) {
        Ref g = b_div(b, c->g[0], c->r[3]);
        c->dx[1] = target_gradient(c, at_classes(b, g, c->xtypes[0], c->xtypes[0]->rank > 1));
    }
}

/* g (sum(t) softmax(x) - t), t as in kernels/loss.c. */
void expand_cross_entropy_grad(ExpandCtx *c) {
    Builder *b = c->b;
    if (b->status != OK) return;
    LossAttrs at = loss_attrs(c->op, c->attrs);
    TensorType x = *b_type(b, c->x[1]);
    int axis = x.rank > 1;
    Ref t = target_weights(b, c->x[2], &x, &at, axis);
    Ref live = b_sum(b, t, INTLIST1(axis), true); /* 0 where ignored */
    bool labels = !dtype_is_float(b_type(b, c->x[2])->dtype);
    Ref w = c->x[3] ? per_class(b, c->x[3], &x, axis) : b_num(b, t, 1);
    if (labels && c->x[3]) t = b_mul(b, t, w);
    double s = at.label_smoothing;
    if (s != 0) {
        Ref share = b_mul(b, w, b_num(b, t, s / (double)x.dims[axis]));
        if (labels) share = b_mul(b, share, live);
        Ref most = b_mul(b, t, b_num(b, t, 1 - s));
        if (!labels && c->x[3]) most = b_mul(b, most, w);
        t = b_add(b, most, share);
    } else if (!labels && c->x[3]) {
        t = b_mul(b, t, w);
    }
    Ref g = at_classes(b, b_div(b, c->x[0], c->x[6]), &x, axis);
    Ref slope = b_neg(b, t);
    if (!at.log_probs) {
        Ref p = b_op1(b, OP_softmax, &(attrs_softmax){.axis = axis}, c->x[1]);
        slope = b_sub(b, b_mul(b, p, b_sum(b, t, INTLIST1(axis), true)), t);
    }
    c->r[0] = b_mul(b, g, slope);
}
