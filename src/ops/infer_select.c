/* Reading and writing by a mask; positions of what is not 0. Sizes that depend on values are 0 here
 * and measured before the run. */
#include <string.h>

#include "ops/functions.h"

static Status check_mask(const OpCall *c, const TensorType *mask) {
    if (mask->dtype == DT_bool) return OK;
    return FAIL(TYPE, "%s: mask is %s; it must be bool", c->op->name, dtype_name(mask->dtype));
}

static Ref sum_back(Builder *b, Ref g, const TensorType *x) {
    return b_sum_to(b, g, x->rank, x->dims);
}

/* ---- masked_fill */

Status infer_masked_fill(const OpCall *c, TensorType *out) {
    TRY(check_mask(c, c->in[1]));
    if (c->in[2]->rank)
        return FAIL(VALUE, "masked_fill: value has %d axes; it must be one number", c->in[2]->rank);
    out->dtype = c->in[0]->dtype;
    return type_broadcast("masked_fill", c->in[0], c->in[1], out);
}

void expand_masked_fill(ExpandCtx *c) {
    Builder *b = c->b;
    DType d = b->status == OK ? (DType)b_type(b, c->x[0])->dtype : DT_f32;
    c->r[0] = b_op3(b, OP_where, NULL, c->x[1], b_cast(b, c->x[2], d), c->x[0]);
}

/* ---- masked_select, masked_scatter: each is the other's gradient */

Status infer_masked_select(const OpCall *c, TensorType *out) {
    TensorType both;
    TRY(check_mask(c, c->in[1]));
    TRY(type_broadcast("masked_select", c->in[0], c->in[1], &both));
    *out = (TensorType){.dtype = c->in[0]->dtype, .rank = 1};
    return OK;
}

void grad_masked_select(GradCtx *c) {
    TensorType both = *c->xtypes[0];
    Builder *b = c->b;
    if (!c->want[0]) return;
    Status status = type_broadcast("masked_select", c->xtypes[0], c->xtypes[1], &both);
    if (status != OK) b->status = status;
    Ref g = b_op3(b, OP_masked_scatter, NULL, b_zeros_like(b, &both), c->x[1], c->g[0]);
    c->dx[0] = sum_back(b, g, c->xtypes[0]);
}

Status infer_masked_scatter(const OpCall *c, TensorType *out) {
    const TensorType *x = c->in[0], *mask = c->in[1], *source = c->in[2];
    TensorType both;
    TRY(check_mask(c, mask));
    TRY(type_broadcast("masked_scatter", x, mask, &both));
    if (!type_same_dims(&both, x) || source->dtype != x->dtype) {
        char a[200], b[200], s[200];
        return FAIL(VALUE,
                    "masked_scatter: input is %s, mask %s, source %s; mask must broadcast to "
                    "input, source have its dtype",
                    type_text(x, a, sizeof a), type_text(mask, b, sizeof b),
                    type_text(source, s, sizeof s));
    }
    *out = *x;
    return OK;
}

/* Elements of source beyond those used have a gradient of 0. */
void grad_masked_scatter(GradCtx *c) {
    Builder *b = c->b;
    const TensorType *source = c->xtypes[2];
    if (c->want[0]) c->dx[0] = b_op3(b, OP_where, NULL, c->x[1], b_num(b, c->g[0], 0), c->g[0]);
    if (!c->want[2]) return;
    Ref mask = b_broadcast(b, c->x[1], c->xtypes[0]->rank, c->xtypes[0]->dims);
    Ref used = b_op2(b, OP_masked_select, NULL, c->g[0], mask);
    if (b->status != OK) return;
    int64_t left = type_count(source) - b_type(b, used)->dims[0];
    if (left > 0)
        used =
            b_op1(b, OP_pad, &(attrs_pad){.padding = INTLIST2(0, left), .mode = "constant"}, used);
    c->dx[2] = b_reshape(b, used, source->rank, source->dims);
}

/* ---- nonzero */

Status infer_nonzero(const OpCall *c, TensorType *out) {
    *out = (TensorType){.dtype = DT_i64, .rank = 2, .dims = {0, c->in[0]->rank}};
    return OK;
}
