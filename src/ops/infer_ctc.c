/* Sizes, gradient and expansion of ctc_loss. */
#include <string.h>

#include "ops/functions.h"
#include "ops/loss.h"

static Status refuse(const TensorType *t, const char *name, const char *need) {
    char text[200];
    return FAIL(VALUE, "ctc_loss: %s is %s; it must be %s", name, type_text(t, text, sizeof text),
                need);
}

static bool is_integer(const TensorType *t) {
    return !dtype_is_float(t->dtype) && t->dtype != DT_bool;
}

/* log_probs, targets, input_lengths, target_lengths from input `first` on. */
static Status check_inputs(const OpCall *c, int first, int64_t blank) {
    const TensorType *x = c->in[first], *y = c->in[first + 1];
    static const char *const lengths[] = {"input_lengths", "target_lengths"};
    if (!dtype_is_float(x->dtype) || x->rank != 3)
        return refuse(x, "log_probs", "floats of sizes (steps, batch, classes)");
    if (!is_integer(y) || y->rank != 2 || y->dims[0] != x->dims[1])
        return refuse(y, "targets", "integers of sizes (batch, longest target)");
    for (int i = 0; i < 2; i++) {
        const TensorType *n = c->in[first + 2 + i];
        if (!is_integer(n) || n->rank != 1 || n->dims[0] != x->dims[1])
            return refuse(n, lengths[i], "integers, one a sample of the batch");
    }
    if (blank < 0 || blank >= x->dims[2])
        return FAIL(VALUE, "ctc_loss: blank is %lld; legal: 0 to %lld", (long long)blank,
                    (long long)x->dims[2] - 1);
    return OK;
}

static void core_types(const OpCall *c, TensorType *out) {
    const TensorType *x = c->in[0], *y = c->in[1];
    out[0] = (TensorType){.dtype = x->dtype, .rank = 1, .dims = {x->dims[1]}};
    out[1] = (TensorType){
        .dtype = x->dtype, .rank = 3, .dims = {x->dims[1], x->dims[0], 2 * y->dims[1] + 1}};
}

Status infer_ctc_loss(const OpCall *c, TensorType *out) {
    const attrs_ctc_loss *a = c->attrs;
    Reduction reduction;
    TRY(check_inputs(c, 0, a->blank));
    TRY(read_reduction("ctc_loss", a->reduction, &reduction));
    core_types(c, out);
    if (reduction != REDUCE_NONE) out[0].rank = 0;
    return OK;
}

Status infer_ctc_loss_core(const OpCall *c, TensorType *out) {
    TRY(check_inputs(c, 0, ((const attrs_ctc_loss_core *)c->attrs)->blank));
    core_types(c, out);
    return OK;
}

Status infer_ctc_loss_grad(const OpCall *c, TensorType *out) {
    const TensorType *x = c->in[1];
    TRY(check_inputs(c, 1, ((const attrs_ctc_loss_grad *)c->attrs)->blank));
    TensorType want = {.dtype = x->dtype, .rank = 1, .dims = {x->dims[1]}};
    if (!type_equal(c->in[0], &want)) return refuse(c->in[0], "g", "one number a sample");
    *out = *x;
    return OK;
}

/* The forward sums are no part of the function: they have no gradient. */
void grad_ctc_loss_core(GradCtx *c) {
    Ref in[5] = {c->g[0], c->x[0], c->x[1], c->x[2], c->x[3]};
    if (c->want[0] && c->g[0]) c->dx[0] = b_call(c->b, OP_ctc_loss_grad, c->attrs, 5, in);
}

/* Mean: each loss over the length of its target (at least 1), then over the batch. */
void expand_ctc_loss(ExpandCtx *c) {
    const attrs_ctc_loss *a = c->attrs;
    Builder *b = c->b;
    attrs_ctc_loss_core core = {.blank = a->blank, .zero_infinity = a->zero_infinity};
    Reduction reduction = REDUCE_NONE;
    if (b->status == OK) b->status = read_reduction("ctc_loss", a->reduction, &reduction);
    if (b->status != OK) return;
    b->call(b, op_get(OP_ctc_loss_core), &core, 4, c->x, 2, c->r);
    if (b->status != OK || reduction == REDUCE_NONE) return;
    if (reduction == REDUCE_SUM) {
        c->r[0] = b_sum(b, c->r[0], INTLIST_NONE, false);
        return;
    }
    Ref length = b_cast(b, c->x[3], (DType)b_type(b, c->r[0])->dtype);
    length = b_op2(b, OP_maximum, NULL, length, b_num(b, length, 1));
    c->r[0] = b_op1(b, OP_mean, NULL, b_div(b, c->r[0], length));
}
