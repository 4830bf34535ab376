/* Shapes and gradients of ops that move elements into a new block. */
#include <string.h>

#include "ops/functions.h"

/* ---- concat */

static Status check_part(const OpCall *c, int i, int axis) {
    const TensorType *first = c->in[0], *t = c->in[i];
    bool fits = t->rank == first->rank;
    for (int d = 0; d < first->rank && fits; d++) fits = d == axis || t->dims[d] == first->dims[d];
    if (fits) return OK;
    char a[200], b[200];
    return FAIL(VALUE, "concat: tensor %d is %s, the first is %s; only axis %d may differ", i,
                type_text(t, a, sizeof a), type_text(first, b, sizeof b), axis);
}

Status infer_concat(const OpCall *c, TensorType *out) {
    int axis;
    if (c->nin == 0) return FAIL(VALUE, "concat: no tensors; it takes one or more");
    if (c->in[0]->rank == 0) return FAIL(VALUE, "concat: 0-d tensors have no axis; use stack");
    TRY(type_axis("concat", ((const attrs_concat *)c->attrs)->axis, c->in[0]->rank, &axis));
    *out = *c->in[0];
    for (int i = 1; i < c->nin; i++) {
        TRY(check_part(c, i, axis));
        if (__builtin_add_overflow(out->dims[axis], c->in[i]->dims[axis], &out->dims[axis]))
            return FAIL(VALUE, "concat: axis %d would be longer than 2^63", axis);
    }
    return OK;
}

void grad_concat(GradCtx *c) {
    int64_t axis = ((const attrs_concat *)c->attrs)->axis;
    axis += axis < 0 ? c->xtypes[0]->rank : 0;
    attrs_slice part = {.begin = {.n = axis + 1}, .size = {.n = axis + 1}, .step = INTLIST_NONE};
    for (int i = 0; i < axis; i++) part.size.v[i] = -1;
    for (int i = 0; i < c->nin; i++) {
        part.size.v[axis] = c->xtypes[i]->dims[axis];
        if (c->want[i]) c->dx[i] = b_op1(c->b, OP_slice, &part, c->g[0]);
        part.begin.v[axis] += c->xtypes[i]->dims[axis];
    }
}
