/* Losses made of elementwise ops, and dropout's gradient. */
#include <string.h>

#include "ops/functions.h"
#include "ops/loss.h"

/* ---- dropout is linear: its gradient is the same selection again */

Status infer_dropout(const OpCall *c, TensorType *out) {
    double p = ((const attrs_dropout *)c->attrs)->p;
    if (!(p >= 0 && p <= 1)) return FAIL(VALUE, "%s: p is %g; legal: 0 to 1", c->op->name, p);
    if (!dtype_is_float(c->in[0]->dtype))
        return FAIL(TYPE, "%s: input is %s; it must be a float type", c->op->name,
                    dtype_name(c->in[0]->dtype));
    *out = *c->in[0];
    return OK;
}

void grad_dropout(GradCtx *c) { c->dx[0] = b_op1(c->b, OP_dropout_grad, c->attrs, c->g[0]); }

/* ---- losses: all inputs broadcast, the last attribute but parameters is reduction */

static Status infer_loss(const OpCall *c, const char *reduction, TensorType *out) {
    Reduction r;
    TRY(read_reduction(c->op->name, reduction, &r));
    TensorType t = *c->in[0];
    for (int i = 1; i < c->nin; i++)
        if (c->in[i]) TRY(type_broadcast(c->op->name, &t, c->in[i], &t));
    if (r != REDUCE_NONE) t.rank = 0;
    *out = t;
    return OK;
}

#define INFER_LOSS(name)                                                                           \
    Status infer_##name(const OpCall *c, TensorType *out) {                                        \
        return infer_loss(c, ((const attrs_##name *)c->attrs)->reduction, out);                    \
    }
INFER_LOSS(mse_loss)
INFER_LOSS(l1_loss)
INFER_LOSS(smooth_l1_loss)
INFER_LOSS(huber_loss)
INFER_LOSS(binary_cross_entropy)
INFER_LOSS(binary_cross_entropy_with_logits)

Status infer_kl_div(const OpCall *c, TensorType *out) {
    const attrs_kl_div *a = c->attrs;
    bool batch = !strcmp(a->reduction, "batchmean");
    if (batch && c->in[0]->rank == 0)
        return FAIL(VALUE, "kl_div: 'batchmean' needs an input of 1 axis or more");
    return infer_loss(c, batch ? "sum" : a->reduction, out);
}

static void reduce(ExpandCtx *c, const char *reduction, Ref loss) {
    Reduction r;
    if (c->b->status == OK) c->b->status = read_reduction(c->op->name, reduction, &r);
    if (c->b->status != OK) return;
    c->r[0] = loss;
    if (r == REDUCE_MEAN) c->r[0] = b_op1(c->b, OP_mean, NULL, loss);
    if (r == REDUCE_SUM) c->r[0] = b_sum(c->b, loss, INTLIST_NONE, false);
}

static Ref number(ExpandCtx *c, double v) { return b_num(c->b, c->x[0], v); }
static Ref distance(ExpandCtx *c) {
    return b_op1(c->b, OP_abs, NULL, b_sub(c->b, c->x[0], c->x[1]));
}

void expand_mse_loss(ExpandCtx *c) {
    Ref loss = b_op2(c->b, OP_mse_core, NULL, c->x[0], c->x[1]);
    reduce(c, ((const attrs_mse_loss *)c->attrs)->reduction, loss);
}

void expand_l1_loss(ExpandCtx *c) {
    reduce(c, ((const attrs_l1_loss *)c->attrs)->reduction, distance(c));
}

static Ref bent(ExpandCtx *c, double bend) {
    return b_op3(c->b, OP_huber_core, NULL, c->x[0], c->x[1], number(c, bend));
}

void expand_huber_loss(ExpandCtx *c) {
    const attrs_huber_loss *a = c->attrs;
    reduce(c, a->reduction, bent(c, a->delta));
}

void expand_smooth_l1_loss(ExpandCtx *c) {
    const attrs_smooth_l1_loss *a = c->attrs;
    bool bends = a->beta > 0;
    reduce(c, a->reduction, bends ? bent(c, a->beta) : distance(c));
    if (bends && a->beta != 1) c->r[0] = b_div(c->b, c->r[0], number(c, a->beta));
}

static Ref weighted(ExpandCtx *c, Ref loss, int i) {
    return i < c->nin && c->x[i] ? b_mul(c->b, loss, c->x[i]) : loss;
}

/* Logarithms are kept above -100, so that a certain and wrong answer costs 100. */
void expand_binary_cross_entropy(ExpandCtx *c) {
    Ref loss = b_op2(c->b, OP_bce_of_core, NULL, c->x[0], c->x[1]);
    reduce(c, ((const attrs_binary_cross_entropy *)c->attrs)->reduction, weighted(c, loss, 2));
}

void expand_binary_cross_entropy_with_logits(ExpandCtx *c) {
    Ref pos_weight = c->nin > 3 && c->x[3] ? c->x[3] : number(c, 1);
    Ref loss = b_op3(c->b, OP_bce_core, NULL, c->x[0], c->x[1], pos_weight);
    reduce(c, ((const attrs_binary_cross_entropy_with_logits *)c->attrs)->reduction,
           weighted(c, loss, 2));
}

/* y (log y - x); 0 where y is 0. log_target: y holds logarithms. */
void expand_kl_div(ExpandCtx *c) {
    const attrs_kl_div *a = c->attrs;
    Builder *b = c->b;
    Ref x = c->x[0], y = c->x[1], loss;
    if (a->log_target)
        loss = b_mul(b, b_op1(b, OP_exp, NULL, y), b_sub(b, y, x));
    else
        loss = b_sub(b, b_op2(b, OP_xlogy, NULL, y, y), b_mul(b, y, x));
    if (strcmp(a->reduction, "batchmean")) {
        reduce(c, a->reduction, loss);
        return;
    }
    reduce(c, "sum", loss);
    if (b->status == OK) c->r[0] = b_div(b, c->r[0], number(c, (double)b_type(b, x)->dims[0]));
}
