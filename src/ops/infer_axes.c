/* Views that add, drop, join, exchange, reverse or divide whole axes. */
#include <string.h>

#include "ops/functions.h"
#include "ops/view.h"
#include "tensor/pool.h"

static bool reshaped(const OpCall *c, const TensorType *out, const int64_t *xs, int64_t *s,
                     int64_t *offset) {
    *offset = 0;
    return shape_view(c->in[0], out, xs, s);
}

/* The same value under the input's strides but for the axes that are changed. */
static void same_strides(const TensorType *x, const int64_t *xs, int64_t *s, int64_t *offset) {
    *offset = 0;
    memcpy(s, xs, x->rank * sizeof *s);
}

/* An axis that exists: 0-d tensors have none. */
static Status real_axis(const char *op, int64_t axis, const TensorType *x, int *out) {
    if (x->rank == 0) return FAIL(INDEX, "%s: the input is 0-d and has no axis", op);
    return type_axis(op, axis, x->rank, out);
}

/* ---- flatten, expand_dims, squeeze: gradients are reshapes */

Status infer_flatten(const OpCall *c, TensorType *out) {
    const attrs_flatten *a = c->attrs;
    const TensorType *x = c->in[0];
    int start, end;
    if (x->rank <= 1) {
        TRY(type_axis("flatten", a->start_dim == 1 ? 0 : a->start_dim, x->rank, &start));
        TRY(type_axis("flatten", a->end_dim, x->rank, &end));
        *out = (TensorType){.dtype = x->dtype, .rank = 1, .dims = {type_count(x)}};
        return OK;
    }
    TRY(type_axis("flatten", a->start_dim, x->rank, &start));
    TRY(type_axis("flatten", a->end_dim, x->rank, &end));
    if (start > end) return FAIL(VALUE, "flatten: start_dim %d lies behind end_dim %d", start, end);
    TensorType t = {.dtype = x->dtype};
    for (int i = 0; i < x->rank; i++)
        if (i > start && i <= end)
            t.dims[start] *= x->dims[i];
        else
            t.dims[t.rank++] = x->dims[i];
    *out = t;
    return OK;
}

bool view_flatten(const OpCall *c, int k, const TensorType *out, const int64_t *xs, int64_t *s,
                  int64_t *offset) {
    (void)k;
    return reshaped(c, out, xs, s, offset);
}

/* Where a new axis goes in a result that is one axis longer. */
static Status new_axis(const char *op, int64_t axis, const TensorType *x, int *out) {
    if (x->rank == MAX_RANK)
        return FAIL(VALUE, "%s: the input has %d axes, the most there can be", op, MAX_RANK);
    return type_axis(op, axis, x->rank + 1, out);
}

static void insert_axis(const TensorType *x, int at, int64_t size, TensorType *out) {
    TensorType t = {.dtype = x->dtype, .rank = (uint8_t)(x->rank + 1)};
    for (int i = 0; i < t.rank; i++)
        t.dims[i] = i < at ? x->dims[i] : i == at ? size : x->dims[i - 1];
    *out = t;
}

Status infer_expand_dims(const OpCall *c, TensorType *out) {
    int at;
    TRY(new_axis("expand_dims", ((const attrs_expand_dims *)c->attrs)->axis, c->in[0], &at));
    insert_axis(c->in[0], at, 1, out);
    return OK;
}

bool view_expand_dims(const OpCall *c, int k, const TensorType *out, const int64_t *xs, int64_t *s,
                      int64_t *offset) {
    (void)k;
    int64_t axis = ((const attrs_expand_dims *)c->attrs)->axis;
    int at = (int)(axis < 0 ? axis + out->rank : axis);
    *offset = 0;
    for (int i = 0; i < out->rank; i++) s[i] = i < at ? xs[i] : i == at ? 0 : xs[i - 1];
    return true;
}

Status infer_squeeze(const OpCall *c, TensorType *out) {
    const IntList *list = &((const attrs_squeeze *)c->attrs)->axis;
    const TensorType *x = c->in[0];
    uint32_t drop = 0;
    for (int i = 0; i < list->n; i++) {
        int axis;
        TRY(type_axis("squeeze", list->v[i], x->rank, &axis));
        if (x->rank && x->dims[axis] != 1)
            return FAIL(VALUE, "squeeze: axis %d has size %lld; only axes of size 1 can go", axis,
                        (long long)x->dims[axis]);
        drop |= 1u << axis;
    }
    TensorType t = {.dtype = x->dtype};
    for (int i = 0; i < x->rank; i++)
        if (list->n < 0 ? x->dims[i] != 1 : !(drop >> i & 1)) t.dims[t.rank++] = x->dims[i];
    *out = t;
    return OK;
}

bool view_squeeze(const OpCall *c, int k, const TensorType *out, const int64_t *xs, int64_t *s,
                  int64_t *offset) {
    (void)k;
    return reshaped(c, out, xs, s, offset);
}

/* ---- swapaxes, flip: their gradients are themselves */

Status infer_swapaxes(const OpCall *c, TensorType *out) {
    const attrs_swapaxes *a = c->attrs;
    int i, j;
    TRY(real_axis("swapaxes", a->axis0, c->in[0], &i));
    TRY(real_axis("swapaxes", a->axis1, c->in[0], &j));
    *out = *c->in[0];
    out->dims[i] = c->in[0]->dims[j];
    out->dims[j] = c->in[0]->dims[i];
    return OK;
}

bool view_swapaxes(const OpCall *c, int k, const TensorType *out, const int64_t *xs, int64_t *s,
                   int64_t *offset) {
    (void)k;
    const attrs_swapaxes *a = c->attrs;
    int64_t i = a->axis0 + (a->axis0 < 0 ? out->rank : 0);
    int64_t j = a->axis1 + (a->axis1 < 0 ? out->rank : 0);
    same_strides(c->in[0], xs, s, offset);
    s[i] = xs[j];
    s[j] = xs[i];
    return true;
}

void grad_swapaxes(GradCtx *c) { c->dx[0] = b_op1(c->b, OP_swapaxes, c->attrs, c->g[0]); }

Status infer_flip(const OpCall *c, TensorType *out) {
    const IntList *dims = &((const attrs_flip *)c->attrs)->dims;
    uint32_t seen = 0;
    for (int i = 0; i < dims->n; i++) {
        int axis;
        TRY(type_axis("flip", dims->v[i], c->in[0]->rank, &axis));
        if (seen >> axis & 1) return FAIL(VALUE, "flip: axis %d is named twice", axis);
        seen |= 1u << axis;
    }
    *out = *c->in[0];
    return OK;
}

bool view_flip(const OpCall *c, int k, const TensorType *out, const int64_t *xs, int64_t *s,
               int64_t *offset) {
    (void)k;
    const IntList *dims = &((const attrs_flip *)c->attrs)->dims;
    same_strides(c->in[0], xs, s, offset);
    if (type_count(out) == 0) return true;
    for (int i = 0; i < dims->n && out->rank; i++) {
        int64_t axis = dims->v[i] + (dims->v[i] < 0 ? out->rank : 0);
        *offset += (out->dims[axis] - 1) * xs[axis];
        s[axis] = -xs[axis];
    }
    return true;
}

void grad_flip(GradCtx *c) { c->dx[0] = b_op1(c->b, OP_flip, c->attrs, c->g[0]); }

/* ---- split, chunk, unstack: several views along one axis */

/* Where piece k starts, in elements of the axis: the pieces before it, all of one size or listed.
 */
static bool view_piece(const OpCall *c, int64_t axis, int64_t start, const int64_t *xs, int64_t *s,
                       int64_t *offset) {
    const TensorType *x = c->in[0];
    same_strides(x, xs, s, offset);
    axis += axis < 0 ? x->rank : 0;
    if (type_count(x) && start < x->dims[axis]) *offset = start * xs[axis];
    return true;
}

/* Size of the axis that a piece count depends on; 0 for calls that infer will refuse. */
static int64_t axis_size(const TensorType *x, int64_t axis) {
    axis += axis < 0 && x ? x->rank : 0;
    return x && axis >= 0 && axis < x->rank ? x->dims[axis] : 0;
}

enum { MAX_PIECES = 1 << 20 };

static int count_pieces(int64_t n, int64_t size) {
    if (size <= 0 || n <= 0) return 1;
    return (int)min_i64((n - 1) / size + 1, MAX_PIECES);
}

static Status check_pieces(const char *op, int64_t n, int64_t size) {
    if (size > 0 && n / size < MAX_PIECES) return OK;
    return FAIL(VALUE, "%s: %lld elements in pieces of %lld; legal: 1 to %d pieces", op,
                (long long)n, (long long)size, MAX_PIECES);
}

static void piece_types(const OpCall *c, int axis, int64_t size, TensorType *out) {
    int64_t n = c->in[0]->dims[axis];
    for (int k = 0; k < c->nout; k++) {
        out[k] = *c->in[0];
        out[k].dims[axis] = min_i64(size, n - k * size);
    }
}

int count_split(const OpCall *c) {
    const attrs_split *a = c->attrs;
    const IntList *list = &a->split_size_or_sections;
    if (list->n != 1) return (int)max_i64(list->n, 1);
    return count_pieces(axis_size(c->in[0], a->axis), list->v[0]);
}

Status infer_split(const OpCall *c, TensorType *out) {
    const attrs_split *a = c->attrs;
    const IntList *list = &a->split_size_or_sections;
    int axis;
    TRY(real_axis("split", a->axis, c->in[0], &axis));
    if (list->n <= 0) return FAIL(VALUE, "split: split_size_or_sections is empty");
    int64_t n = c->in[0]->dims[axis], total = 0;
    if (list->n == 1) {
        TRY(check_pieces("split", n, list->v[0]));
        piece_types(c, axis, list->v[0], out);
        return OK;
    }
    for (int k = 0; k < list->n; k++) {
        if (list->v[k] < 0 || list->v[k] > n)
            return FAIL(VALUE, "split: section %d is %lld; axis %d has size %lld, legal: [0, %lld]",
                        k, (long long)list->v[k], axis, (long long)n, (long long)n);
        out[k] = *c->in[0];
        out[k].dims[axis] = list->v[k];
        total += list->v[k];
    }
    if (total != n)
        return FAIL(VALUE, "split: the sections add up to %lld; axis %d has size %lld",
                    (long long)total, axis, (long long)n);
    return OK;
}

bool view_split(const OpCall *c, int k, const TensorType *out, const int64_t *xs, int64_t *s,
                int64_t *offset) {
    (void)out;
    const attrs_split *a = c->attrs;
    const IntList *list = &a->split_size_or_sections;
    int64_t start = list->n == 1 ? k * list->v[0] : 0;
    for (int i = 0; i < k && list->n != 1; i++) start += list->v[i];
    return view_piece(c, a->axis, start, xs, s, offset);
}

/* The gradients of the pieces put together again; pieces without one count as zeros. */
static void join_pieces(GradCtx *c, OpId op, const void *attrs) {
    size_t nbytes = (size_t)c->nout * sizeof(Ref);
    Ref *pieces = pool_small(nbytes);
    for (int k = 0; k < c->nout; k++)
        pieces[k] = c->g[k] ? c->g[k] : b_zeros_like(c->b, c->rtypes[k]);
    c->dx[0] = b_call(c->b, op, attrs, c->nout, pieces);
    pool_small_free(pieces, nbytes);
}

void grad_split(GradCtx *c) {
    join_pieces(c, OP_concat, &(attrs_concat){.axis = ((const attrs_split *)c->attrs)->axis});
}

/* Pieces of ceil(n / chunks), as many as it takes. */
static int64_t chunk_size(int64_t n, int64_t chunks) {
    return chunks > 0 ? max_i64((n - 1) / chunks + 1, 1) : 1;
}

int count_chunk(const OpCall *c) {
    const attrs_chunk *a = c->attrs;
    int64_t n = axis_size(c->in[0], a->axis);
    return a->chunks > 0 ? count_pieces(n, chunk_size(n, a->chunks)) : 1;
}

Status infer_chunk(const OpCall *c, TensorType *out) {
    const attrs_chunk *a = c->attrs;
    int axis;
    TRY(real_axis("chunk", a->axis, c->in[0], &axis));
    if (a->chunks <= 0)
        return FAIL(VALUE, "chunk: chunks is %lld; it must be 1 or more", (long long)a->chunks);
    int64_t n = c->in[0]->dims[axis], size = chunk_size(n, a->chunks);
    TRY(check_pieces("chunk", n, size));
    piece_types(c, axis, size, out);
    return OK;
}

bool view_chunk(const OpCall *c, int k, const TensorType *out, const int64_t *xs, int64_t *s,
                int64_t *offset) {
    (void)out;
    const attrs_chunk *a = c->attrs;
    int64_t size = chunk_size(axis_size(c->in[0], a->axis), a->chunks);
    return view_piece(c, a->axis, k * size, xs, s, offset);
}

void grad_chunk(GradCtx *c) {
    join_pieces(c, OP_concat, &(attrs_concat){.axis = ((const attrs_chunk *)c->attrs)->axis});
}

int count_unstack(const OpCall *c) {
    return (int)min_i64(axis_size(c->in[0], ((const attrs_unstack *)c->attrs)->axis), MAX_PIECES);
}

Status infer_unstack(const OpCall *c, TensorType *out) {
    int axis;
    TRY(real_axis("unstack", ((const attrs_unstack *)c->attrs)->axis, c->in[0], &axis));
    TRY(check_pieces("unstack", c->in[0]->dims[axis], 1));
    TensorType t = {.dtype = c->in[0]->dtype};
    for (int i = 0; i < c->in[0]->rank; i++)
        if (i != axis) t.dims[t.rank++] = c->in[0]->dims[i];
    for (int k = 0; k < c->nout; k++) out[k] = t;
    return OK;
}

bool view_unstack(const OpCall *c, int k, const TensorType *out, const int64_t *xs, int64_t *s,
                  int64_t *offset) {
    const TensorType *x = c->in[0];
    int64_t axis = ((const attrs_unstack *)c->attrs)->axis;
    axis += axis < 0 ? x->rank : 0;
    for (int i = 0; i < out->rank; i++) s[i] = xs[i < axis ? i : i + 1];
    *offset = type_count(out) ? k * xs[axis] : 0;
    return true;
}

void grad_unstack(GradCtx *c) {
    join_pieces(c, OP_stack, &(attrs_stack){.axis = ((const attrs_unstack *)c->attrs)->axis});
}

/* ---- stack */

Status infer_stack(const OpCall *c, TensorType *out) {
    int at;
    if (c->nin == 0) return FAIL(VALUE, "stack: no tensors; it takes one or more");
    for (int i = 1; i < c->nin; i++)
        if (!type_same_dims(c->in[0], c->in[i])) {
            char a[200], b[200];
            return FAIL(VALUE, "stack: tensor %d is %s, the first is %s; sizes must be equal", i,
                        type_text(c->in[i], a, sizeof a), type_text(c->in[0], b, sizeof b));
        }
    TRY(new_axis("stack", ((const attrs_stack *)c->attrs)->axis, c->in[0], &at));
    insert_axis(c->in[0], at, c->nin, out);
    return OK;
}

/* Slice i of g for each input i that wants it. */
void grad_stack(GradCtx *c) {
    int64_t axis = ((const attrs_stack *)c->attrs)->axis;
    int rank = c->xtypes[0]->rank + 1;
    axis += axis < 0 ? rank : 0;
    attrs_slice part = {.begin = {.n = axis + 1},
                        .size = {.n = axis + 1},
                        .step = INTLIST_NONE,
                        .drop = INTLIST1(axis)};
    for (int i = 0; i <= axis; i++) part.size.v[i] = i < axis ? -1 : 1;
    for (int i = 0; i < c->nin; i++) {
        part.begin.v[axis] = i;
        if (c->want[i]) c->dx[i] = b_op1(c->b, OP_slice, &part, c->g[0]);
    }
}
