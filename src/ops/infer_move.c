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

/* ---- pad */

/* Elements before and after each axis. */
static Status read_pads(const OpCall *c, int64_t *before, int64_t *after) {
    const IntList *list = &((const attrs_pad *)c->attrs)->padding;
    const TensorType *x = c->in[0];
    if (list->n < 0 || list->n % 2 || list->n / 2 > x->rank)
        return FAIL(VALUE, "pad: padding has %lld entries for %d axes; it needs two an axis",
                    (long long)max_i64(list->n, 0), x->rank);
    memset(before, 0, x->rank * sizeof *before);
    memset(after, 0, x->rank * sizeof *after);
    for (int i = 0; i < list->n / 2; i++) {
        before[x->rank - 1 - i] = list->v[2 * i];
        after[x->rank - 1 - i] = list->v[2 * i + 1];
    }
    return OK;
}

static Status check_pad(const char *mode, int axis, int64_t n, int64_t pad) {
    int64_t most = !strcmp(mode, "reflect") ? n - 1 : n;
    bool constant = !strcmp(mode, "constant"), replicate = !strcmp(mode, "replicate");
    if (constant || pad == 0 || (replicate && n > 0 && pad > 0)) return OK;
    if (!replicate && pad > 0 && pad <= most) return OK;
    return FAIL(VALUE, "pad: %lld elements at axis %d of size %lld in mode '%s'; legal: 0 to %lld",
                (long long)pad, axis, (long long)n, mode,
                (long long)(replicate ? (n ? INT64_MAX : 0) : max_i64(most, 0)));
}

static bool is_pad_mode(const char *mode) {
    static const char *const modes[] = {"constant", "reflect", "symmetric", "replicate",
                                        "circular"};
    for (size_t i = 0; i < COUNT_OF(modes); i++)
        if (!strcmp(mode, modes[i])) return true;
    return false;
}

Status infer_pad(const OpCall *c, TensorType *out) {
    const attrs_pad *a = c->attrs;
    const TensorType *x = c->in[0];
    int64_t before[MAX_RANK], after[MAX_RANK];
    if (!is_pad_mode(a->mode))
        return FAIL(VALUE,
                    "pad: mode is '%s'; legal: constant, reflect, symmetric, replicate, circular",
                    a->mode);
    TRY(read_pads(c, before, after));
    *out = *x;
    for (int i = 0; i < x->rank; i++) {
        TRY(check_pad(a->mode, i, x->dims[i], before[i]));
        TRY(check_pad(a->mode, i, x->dims[i], after[i]));
        int64_t n = x->dims[i];
        if (__builtin_add_overflow(n, before[i], &n) || __builtin_add_overflow(n, after[i], &n) ||
            before[i] < -x->dims[i] || after[i] < -x->dims[i] - min_i64(before[i], 0))
            return FAIL(VALUE, "pad: axis %d of size %lld cannot take %lld before and %lld after",
                        i, (long long)x->dims[i], (long long)before[i], (long long)after[i]);
        out->dims[i] = n;
    }
    return OK;
}

/* A constant border has no gradient: it is cut off again. The other modes repeat elements. */
void grad_pad(GradCtx *c) {
    const attrs_pad *a = c->attrs;
    OpCall call = {c->op, c->attrs, c->nin, c->nout, c->xtypes};
    int64_t before[MAX_RANK], after[MAX_RANK];
    if (!strcmp(a->mode, "constant")) {
        attrs_pad back = {.padding = a->padding, .mode = "constant"};
        for (int i = 0; i < back.padding.n; i++) back.padding.v[i] = -back.padding.v[i];
        c->dx[0] = b_op1(c->b, OP_pad, &back, c->g[0]);
        return;
    }
    if (read_pads(&call, before, after) != OK) return;
    Ref g = c->g[0];
    for (int i = 0; i < c->xtypes[0]->rank; i++) {
        if (before[i] == 0 && after[i] == 0) continue;
        attrs_pad_grad back = {.axis = i, .before = before[i], .after = after[i]};
        strcpy(back.mode, a->mode);
        g = b_op1(c->b, OP_pad_grad, &back, g);
    }
    c->dx[0] = g;
}

Status infer_pad_grad(const OpCall *c, TensorType *out) {
    const attrs_pad_grad *a = c->attrs;
    int axis;
    TRY(type_axis("pad_grad", a->axis, c->in[0]->rank, &axis));
    *out = *c->in[0];
    int64_t n = out->rank ? out->dims[axis] : 0;
    if (out->rank == 0 || a->before < 0 || a->after < 0 || a->before > n ||
        a->after > n - a->before)
        return FAIL(VALUE, "pad_grad: axis %d of size %lld has no %lld and %lld elements", axis,
                    (long long)n, (long long)a->before, (long long)a->after);
    if (!strcmp(a->mode, "constant") || !is_pad_mode(a->mode))
        return FAIL(VALUE, "pad_grad: mode is '%s'; it must be one that repeats elements", a->mode);
    out->dims[axis] = n - a->before - a->after;
    TRY(check_pad(a->mode, axis, out->dims[axis], a->before));
    return check_pad(a->mode, axis, out->dims[axis], a->after);
}

/* Its gradient pads that axis again. */
void grad_pad_grad(GradCtx *c) {
    const attrs_pad_grad *a = c->attrs;
    int rank = c->xtypes[0]->rank, axis = (int)a->axis + (a->axis < 0 ? rank : 0);
    int64_t perm[MAX_RANK];
    for (int i = 0; i < rank; i++) perm[i] = i;
    perm[axis] = rank - 1;
    perm[rank - 1] = axis;
    attrs_pad pad = {.padding = INTLIST2(a->before, a->after)};
    strcpy(pad.mode, a->mode);
    Ref g = b_op1(c->b, OP_pad, &pad, b_transpose(c->b, c->g[0], perm));
    c->dx[0] = b_transpose(c->b, g, perm);
}

/* ---- tril, triu */

Status infer_triangle(const OpCall *c, TensorType *out) {
    if (c->in[0]->rank < 2)
        return FAIL(VALUE, "%s: the input has %d axes; it needs 2 or more", c->op->name,
                    c->in[0]->rank);
    *out = *c->in[0];
    return OK;
}

void grad_triangle(GradCtx *c) { c->dx[0] = b_op1(c->b, c->op->id, c->attrs, c->g[0]); }
