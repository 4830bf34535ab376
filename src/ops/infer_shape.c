/* Shapes of the shape ops, the views they give, and their gradients. */
#include <string.h>

#include "ops/functions.h"
#include "ops/view.h"

Status infer_same(const OpCall *c, TensorType *out) {
    *out = *c->in[0];
    return OK;
}

/* ---- cast, contiguous */

Status infer_cast(const OpCall *c, TensorType *out) {
    *out = *c->in[0];
    out->dtype = (uint8_t)((const attrs_cast *)c->attrs)->dtype;
    return OK;
}

void grad_cast(GradCtx *c) {
    if (c->xtypes[0]->dtype != DT_bool) c->dx[0] = b_cast(c->b, c->g[0], c->xtypes[0]->dtype);
}

void grad_contiguous(GradCtx *c) { c->dx[0] = c->g[0]; }

/* ---- reshape */

Status infer_reshape(const OpCall *c, TensorType *out) {
    const IntList *shape = &((const attrs_reshape *)c->attrs)->shape;
    int64_t n = type_count(c->in[0]), known = 1;
    int free_axis = -1;
    *out = (TensorType){.dtype = c->in[0]->dtype, .rank = (uint8_t)max_i64(shape->n, 0)};
    for (int i = 0; i < out->rank; i++) {
        out->dims[i] = shape->v[i];
        if (shape->v[i] == -1 && free_axis < 0)
            free_axis = i;
        else if (shape->v[i] < 0)
            return FAIL(VALUE, "reshape: size %d of shape is %lld; sizes are 0 or more, and one -1",
                        i, (long long)shape->v[i]);
        else if (__builtin_mul_overflow(known, shape->v[i], &known))
            return FAIL(VALUE, "reshape: the product of the sizes is beyond 2^63");
    }
    if (free_axis >= 0) {
        out->dims[free_axis] = known ? n / known : 0;
        known *= out->dims[free_axis];
    }
    if (known != n) {
        char from[200], to[200];
        return FAIL(VALUE, "reshape: %s has %lld elements, the new shape %s has %lld",
                    type_text(c->in[0], from, sizeof from), (long long)n,
                    type_text(out, to, sizeof to), (long long)known);
    }
    return OK;
}

/* The axes of size > 1 from `from` on, up to *to, that hold as many elements as the new axes
 * `at` .. *end: matched one group after the other. */
typedef struct Group {
    int from, to; /* old axes */
    int at, end;  /* new axes */
} Group;

static Group next_group(const TensorType *x, const TensorType *out, int from, int at) {
    Group g = {from, from + 1, at, at + 1};
    int64_t have = x->dims[from], want = out->dims[at];
    while (have != want) {
        if (have < want)
            have *= x->dims[g.to++];
        else
            want *= out->dims[g.end++];
    }
    return g;
}

/* Splits and joins axes: a group of old axes can be joined when each steps over the next evenly. */
bool shape_view(const TensorType *x, const TensorType *out, const int64_t *xs, int64_t *s) {
    type_strides(out, s);
    if (type_strides_dense(x, xs) || type_count(x) == 0) return true;
    TensorType old = {.rank = 0};
    int64_t steps[MAX_RANK];
    for (int i = 0; i < x->rank; i++) {
        if (x->dims[i] == 1) continue;
        steps[old.rank] = xs[i];
        old.dims[old.rank++] = x->dims[i];
    }
    int at = 0;
    for (int from = 0; from < old.rank;) {
        Group g = next_group(&old, out, from, at);
        for (int i = g.from; i < g.to - 1; i++)
            if (steps[i] != steps[i + 1] * old.dims[i + 1]) return false;
        int64_t step = steps[g.to - 1];
        for (int i = g.end - 1; i >= g.at; i--) {
            s[i] = step;
            step *= out->dims[i];
        }
        from = g.to;
        at = g.end;
    }
    return true;
}

bool view_reshape(const OpCall *c, int k, const TensorType *out, const int64_t *xs, int64_t *s,
                  int64_t *offset) {
    (void)k;
    *offset = 0;
    return shape_view(c->in[0], out, xs, s);
}

void grad_reshape(GradCtx *c) {
    c->dx[0] = b_reshape(c->b, c->g[0], c->xtypes[0]->rank, c->xtypes[0]->dims);
}

/* ---- broadcast_to */

Status infer_broadcast_to(const OpCall *c, TensorType *out) {
    const IntList *shape = &((const attrs_broadcast_to *)c->attrs)->shape;
    const TensorType *x = c->in[0];
    *out = (TensorType){.dtype = x->dtype, .rank = (uint8_t)max_i64(shape->n, 0)};
    for (int i = 0; i < out->rank; i++) {
        int at = i - (out->rank - x->rank);
        int64_t have = at >= 0 ? x->dims[at] : 1, want = shape->v[i];
        if (want == -1 && at >= 0) want = have;
        out->dims[i] = want;
        if (want < 0 || (have != want && have != 1))
            return FAIL(VALUE,
                        "broadcast_to: size %d of shape is %lld, the input has %lld there; only "
                        "axes of size 1 can grow",
                        i, (long long)shape->v[i], (long long)have);
    }
    if (out->rank < x->rank)
        return FAIL(VALUE, "broadcast_to: shape has %d axes, fewer than the input's %d", out->rank,
                    x->rank);
    return OK;
}

bool view_broadcast_to(const OpCall *c, int k, const TensorType *out, const int64_t *xs, int64_t *s,
                       int64_t *offset) {
    (void)k;
    const TensorType *x = c->in[0];
    *offset = 0;
    for (int i = 0; i < out->rank; i++) {
        int at = i - (out->rank - x->rank);
        s[i] = at >= 0 && x->dims[at] == out->dims[i] ? xs[at] : 0;
    }
    return true;
}

void grad_broadcast_to(GradCtx *c) {
    c->dx[0] = b_sum_to(c->b, c->g[0], c->xtypes[0]->rank, c->xtypes[0]->dims);
}

/* ---- transpose */

/* perm[i] = the input axis that becomes axis i. */
static Status read_perm(const OpCall *c, int *perm) {
    const IntList *list = &((const attrs_transpose *)c->attrs)->input_perm;
    int rank = c->in[0]->rank;
    unsigned seen = 0;
    if (list->n >= 0 && list->n != rank)
        return FAIL(VALUE, "transpose: input_perm has %lld entries, the input has %d axes",
                    (long long)list->n, rank);
    for (int i = 0; i < rank; i++) {
        perm[i] = rank - 1 - i;
        if (list->n >= 0) TRY(type_axis("transpose", list->v[i], rank, &perm[i]));
        if (seen >> perm[i] & 1)
            return FAIL(VALUE, "transpose: input_perm names axis %d twice", perm[i]);
        seen |= 1u << perm[i];
    }
    return OK;
}

Status infer_transpose(const OpCall *c, TensorType *out) {
    int perm[MAX_RANK];
    TRY(read_perm(c, perm));
    *out = *c->in[0];
    for (int i = 0; i < out->rank; i++) out->dims[i] = c->in[0]->dims[perm[i]];
    return OK;
}

bool view_transpose(const OpCall *c, int k, const TensorType *out, const int64_t *xs, int64_t *s,
                    int64_t *offset) {
    (void)k;
    int perm[MAX_RANK];
    *offset = 0;
    if (read_perm(c, perm) != OK) return false;
    for (int i = 0; i < out->rank; i++) s[i] = xs[perm[i]];
    return true;
}

void grad_transpose(GradCtx *c) {
    const IntList *list = &((const attrs_transpose *)c->attrs)->input_perm;
    int rank = c->xtypes[0]->rank;
    int64_t back[MAX_RANK];
    for (int i = 0; i < rank; i++)
        if (list->n < 0)
            back[i] = rank - 1 - i;
        else
            back[list->v[i] < 0 ? list->v[i] + rank : list->v[i]] = i;
    c->dx[0] = b_transpose(c->b, c->g[0], back);
}
