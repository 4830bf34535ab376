/* Shapes and gradients of reading by index. */
#include "ops/index.h"

#include <string.h>

#include "ops/functions.h"

Status index_check_dtype(const char *op, const char *name, const TensorType *t) {
    if (dtype_is_int(t->dtype)) return OK;
    char text[200];
    return FAIL(TYPE, "%s: %s is %s; indices must be integers", op, name,
                type_text(t, text, sizeof text));
}

/* ---- plans */

static Status place_axes(const char *op, const TensorType *x, const IntList *axes, IndexPlan *p) {
    if (p->n == 0 || p->n > x->rank)
        return FAIL(VALUE, "%s: got %d index tensors; the input has %d axes, legal: 1 to %d", op,
                    p->n, x->rank, x->rank);
    if (axes->n >= 0 && axes->n != p->n)
        return FAIL(VALUE, "%s: axes has %lld entries for %d index tensors", op, (long long)axes->n,
                    p->n);
    for (int i = 0; i < p->n; i++) {
        p->axis[i] = i;
        if (axes->n >= 0) TRY(type_axis(op, axes->v[i], x->rank, &p->axis[i]));
        if (i && p->axis[i] <= p->axis[i - 1])
            return FAIL(VALUE, "%s: axes must increase; entry %d is axis %d after axis %d", op, i,
                        p->axis[i], p->axis[i - 1]);
    }
    return OK;
}

static void place_rest(const TensorType *x, IndexPlan *p) {
    p->adjacent = p->axis[p->n - 1] - p->axis[0] == p->n - 1;
    p->nrest = 0;
    for (int i = p->adjacent ? p->axis[0] : 0; i < x->rank; i++) {
        bool indexed = false;
        for (int k = 0; k < p->n; k++) indexed |= p->axis[k] == i;
        if (!indexed) p->rest[p->nrest++] = i;
    }
}

Status index_plan(const char *op, const TensorType *x, const IntList *axes, int n,
                  const TensorType *const *indices, IndexPlan *out) {
    *out = (IndexPlan){.n = n, .tuples.dtype = n ? indices[0]->dtype : DT_i64};
    TRY(place_axes(op, x, axes, out));
    for (int i = 0; i < n; i++) {
        TRY(index_check_dtype(op, "an index tensor", indices[i]));
        TRY(type_broadcast(op, &out->tuples, indices[i], &out->tuples));
    }
    place_rest(x, out);
    return OK;
}

Status index_plan_nd(const char *op, const TensorType *x, const TensorType *indices,
                     IndexPlan *out) {
    TRY(index_check_dtype(op, "indices", indices));
    int64_t n = indices->rank ? indices->dims[indices->rank - 1] : 0;
    if (n < 1 || n > x->rank) {
        char text[200];
        return FAIL(VALUE,
                    "%s: indices is %s; its last axis spells a position in %d axes, legal sizes: "
                    "1 to %d",
                    op, type_text(indices, text, sizeof text), x->rank, x->rank);
    }
    *out = (IndexPlan){.n = (int)n, .tuples = *indices};
    out->tuples.rank--;
    for (int i = 0; i < n; i++) out->axis[i] = i;
    place_rest(x, out);
    return OK;
}

Status index_result(const char *op, const TensorType *x, const IndexPlan *p, TensorType *out) {
    int outer = p->adjacent ? p->axis[0] : 0;
    if (outer + p->tuples.rank + p->nrest > MAX_RANK)
        return FAIL(VALUE, "%s: the result would have %d axes; at most %d are legal", op,
                    outer + p->tuples.rank + p->nrest, MAX_RANK);
    TensorType t = {.dtype = x->dtype};
    for (int i = 0; i < outer; i++) t.dims[t.rank++] = x->dims[i];
    for (int i = 0; i < p->tuples.rank; i++) t.dims[t.rank++] = p->tuples.dims[i];
    for (int i = 0; i < p->nrest; i++) t.dims[t.rank++] = x->dims[p->rest[i]];
    *out = t;
    return OK;
}

/* ---- index_get, gather_nd */

Status infer_index_get(const OpCall *c, TensorType *out) {
    IndexPlan p;
    TRY(index_plan("index_get", c->in[0], &((const attrs_index_get *)c->attrs)->axes, c->nin - 1,
                   c->in + 1, &p));
    return index_result("index_get", c->in[0], &p, out);
}

/* index_set(zeros, g, indices) with addition: what reading by index has as gradient. */
static Ref add_back(GradCtx *c, Ref g, const IntList *axes, int n, const Ref *indices) {
    Ref in[2 + MAX_RANK] = {b_zeros_like(c->b, c->xtypes[0]), g};
    memcpy(in + 2, indices, (size_t)n * sizeof *in);
    attrs_index_set add = {.axes = *axes, .reduction = "add"};
    return b_call(c->b, OP_index_set, &add, 2 + n, in);
}

void grad_index_get(GradCtx *c) {
    const IntList *axes = &((const attrs_index_get *)c->attrs)->axes;
    if (c->want[0]) c->dx[0] = add_back(c, c->g[0], axes, c->nin - 1, c->x + 1);
}

Status infer_gather_nd(const OpCall *c, TensorType *out) {
    IndexPlan p;
    TRY(index_plan_nd("gather_nd", c->in[0], c->in[1], &p));
    return index_result("gather_nd", c->in[0], &p, out);
}

/* The last axis of `indices` as one tensor an axis. */
static int unstack_indices(Builder *b, Ref indices, const TensorType *t, Ref *out) {
    int n = (int)t->dims[t->rank - 1];
    memset(out, 0, (size_t)n * sizeof *out);
    if (b->status == OK)
        b->call(b, op_get(OP_unstack), &(attrs_unstack){.axis = -1}, 1, &indices, n, out);
    return n;
}

void grad_gather_nd(GradCtx *c) {
    Ref indices[MAX_RANK];
    if (!c->want[0]) return;
    int n = unstack_indices(c->b, c->x[1], c->xtypes[1], indices);
    c->dx[0] = add_back(c, c->g[0], &INTLIST_NONE, n, indices);
}

/* ---- gather */

static Status read_gather(const OpCall *c, int *axis, int *batch) {
    const attrs_gather *a = c->attrs;
    const TensorType *x = c->in[0], *indices = c->in[1];
    TRY(index_check_dtype("gather", "input_indices", indices));
    if (x->rank == 0) return FAIL(VALUE, "gather: input_params is 0-d and has no axis");
    TRY(type_axis("gather", a->axis, x->rank, axis));
    int64_t b = a->batch_dims + (a->batch_dims < 0 ? indices->rank : 0);
    if (b < 0 || b > indices->rank || b > *axis)
        return FAIL(VALUE, "gather: batch_dims is %lld; legal: 0 to %lld (axis and index rank)",
                    (long long)a->batch_dims, (long long)min_i64(indices->rank, *axis));
    for (int i = 0; i < b; i++)
        if (x->dims[i] != indices->dims[i])
            return FAIL(VALUE,
                        "gather: batch axis %d has size %lld in input_params, %lld in "
                        "input_indices",
                        i, (long long)x->dims[i], (long long)indices->dims[i]);
    *batch = (int)b;
    return OK;
}

Status infer_gather(const OpCall *c, TensorType *out) {
    int axis, batch;
    TRY(read_gather(c, &axis, &batch));
    const TensorType *x = c->in[0], *indices = c->in[1];
    int rank = x->rank - 1 + indices->rank - batch;
    if (rank > MAX_RANK)
        return FAIL(VALUE, "gather: the result would have %d axes; at most %d are legal", rank,
                    MAX_RANK);
    TensorType t = {.dtype = x->dtype};
    for (int i = 0; i < axis; i++) t.dims[t.rank++] = x->dims[i];
    for (int i = batch; i < indices->rank; i++) t.dims[t.rank++] = indices->dims[i];
    for (int i = axis + 1; i < x->rank; i++) t.dims[t.rank++] = x->dims[i];
    *out = t;
    return OK;
}

/* 0, 1, 2 ... along one axis of a tensor of `rank` axes. */
static Ref count_along(Builder *b, int64_t n, int axis, int rank) {
    Ref r =
        b_call(b, OP_arange,
               &(attrs_arange){.start = 0, .end = (double)n, .step = 1, .dtype = DT_i64}, 0, NULL);
    int64_t dims[MAX_RANK];
    for (int i = 0; i < rank; i++) dims[i] = i == axis ? n : 1;
    return b_reshape(b, r, rank, dims);
}

/* Batch axes become index tensors of their own; g's axes between the batch and `axis` go behind the
 * indices, where index_set has them unless the indexed axes are adjacent. */
static void grad_gather_batched(GradCtx *c, int axis, int batch) {
    const TensorType *indices = c->xtypes[1], *r = c->rtypes[0];
    Ref in[MAX_RANK], g = c->g[0];
    IntList axes = {.n = batch + 1};
    for (int i = 0; i < batch; i++) {
        in[i] = count_along(c->b, indices->dims[i], i, indices->rank);
        axes.v[i] = i;
    }
    in[batch] = c->x[1];
    axes.v[batch] = axis;
    int between = axis - batch, own = indices->rank - batch;
    if (between) {
        int64_t perm[MAX_RANK];
        for (int i = 0; i < r->rank; i++) perm[i] = i;
        for (int i = 0; i < own; i++) perm[batch + i] = axis + i;
        for (int i = 0; i < between; i++) perm[batch + own + i] = batch + i;
        g = b_transpose(c->b, g, perm);
    }
    c->dx[0] = add_back(c, g, &axes, batch + 1, in);
}

void grad_gather(GradCtx *c) {
    OpCall call = {c->op, c->attrs, c->nin, c->nout, c->xtypes};
    int axis, batch;
    if (!c->want[0] || read_gather(&call, &axis, &batch) != OK) return;
    if (batch)
        grad_gather_batched(c, axis, batch);
    else
        c->dx[0] = add_back(c, c->g[0], &INTLIST1(axis), 1, &c->x[1]);
}

/* ---- embedding */

Status infer_embedding(const OpCall *c, TensorType *out) {
    const TensorType *weight = c->in[1], *indices = c->in[0];
    int64_t pad = ((const attrs_embedding *)c->attrs)->padding_idx;
    TRY(index_check_dtype("embedding", "input", indices));
    if (weight->rank != 2 || indices->rank == MAX_RANK) {
        char a[200], b[200];
        return FAIL(VALUE, "embedding: weight is %s, input %s; weight has 2 axes, input at most %d",
                    type_text(weight, a, sizeof a), type_text(indices, b, sizeof b), MAX_RANK - 1);
    }
    if (pad != ATTR_NONE && (pad < -weight->dims[0] || pad >= weight->dims[0]))
        return FAIL(INDEX, "embedding: padding_idx is %lld; weight has %lld rows", (long long)pad,
                    (long long)weight->dims[0]);
    *out = *indices;
    out->dtype = weight->dtype;
    out->dims[out->rank++] = weight->dims[1];
    return OK;
}

void grad_embedding(GradCtx *c) {
    int64_t pad = ((const attrs_embedding *)c->attrs)->padding_idx, rows = c->xtypes[1]->dims[0];
    if (!c->want[1]) return;
    attrs_embedding_grad a = {.rows = rows, .padding_idx = pad};
    c->dx[1] = b_op2(c->b, OP_embedding_grad, &a, c->g[0], c->x[0]);
}

Status infer_embedding_grad(const OpCall *c, TensorType *out) {
    const TensorType *g = c->in[0];
    const attrs_embedding_grad *a = c->attrs;
    int64_t rows = a->rows, pad = a->padding_idx;
    TRY(index_check_dtype("embedding_grad", "input", c->in[1]));
    bool fits = g->rank == c->in[1]->rank + 1 && rows >= 0 && rows <= INT32_MAX * (int64_t)1024;
    for (int i = 0; i < c->in[1]->rank && fits; i++) fits = g->dims[i] == c->in[1]->dims[i];
    if (!fits || (pad != ATTR_NONE && (pad < -rows || pad >= rows)))
        return FAIL(VALUE,
                    "embedding_grad: g has %d axes, input %d; rows %lld, padding_idx %lld; g has "
                    "input's sizes and one axis more",
                    g->rank, c->in[1]->rank, (long long)rows, (long long)pad);
    *out = (TensorType){.dtype = g->dtype, .rank = 2, .dims = {rows, g->dims[g->rank - 1]}};
    return OK;
}

/* Rows read back; those of the padding index are zero. */
void grad_embedding_grad(GradCtx *c) {
    const attrs_embedding_grad *a = c->attrs;
    Builder *b = c->b;
    if (!c->want[0]) return;
    attrs_embedding read = {.padding_idx = ATTR_NONE};
    Ref r = b_op2(b, OP_embedding, &read, c->x[1], c->g[0]);
    if (a->padding_idx != ATTR_NONE) {
        int64_t pad = a->padding_idx + (a->padding_idx < 0 ? a->rows : 0);
        Ref at = b_op2(b, OP_remainder, NULL, c->x[1], b_num(b, c->x[1], (double)a->rows));
        Ref real = b_op2(b, OP_not_equal, NULL, at, b_num(b, c->x[1], (double)pad));
        real = b_op1(b, OP_expand_dims, &(attrs_expand_dims){.axis = -1}, real);
        r = b_mul(b, r, b_cast(b, real, c->xtypes[0]->dtype));
    }
    c->dx[0] = r;
}

/* ---- one_hot */

Status infer_one_hot(const OpCall *c, TensorType *out) {
    const attrs_one_hot *a = c->attrs;
    const TensorType *x = c->in[0];
    int axis;
    TRY(index_check_dtype("one_hot", "indices", x));
    if (x->rank == MAX_RANK)
        return FAIL(VALUE, "one_hot: indices has %d axes, the most there can be", MAX_RANK);
    TRY(type_axis("one_hot", a->axis, x->rank + 1, &axis));
    if (a->depth < 0)
        return FAIL(VALUE, "one_hot: depth is %lld; it must be 0 or more", (long long)a->depth);
    if (a->dtype == DT_NONE) return FAIL(TYPE, "one_hot: dtype is missing");
    *out = (TensorType){.dtype = (uint8_t)a->dtype, .rank = (uint8_t)(x->rank + 1)};
    for (int i = 0; i < out->rank; i++)
        out->dims[i] = i < axis ? x->dims[i] : i == axis ? a->depth : x->dims[i - 1];
    return OK;
}

/* ---- index_set */

Status infer_index_set(const OpCall *c, TensorType *out) {
    const attrs_index_set *a = c->attrs;
    IndexPlan p;
    TensorType part, both;
    TRY(index_plan("index_set", c->in[0], &a->axes, c->nin - 2, c->in + 2, &p));
    TRY(index_result("index_set", c->in[0], &p, &part));
    TRY(type_broadcast("index_set", &part, c->in[1], &both));
    if (!type_same_dims(&both, &part)) {
        char want[200], got[200];
        return FAIL(VALUE, "index_set: value is %s; it must broadcast to the indexed part, %s",
                    type_text(c->in[1], got, sizeof got), type_text(&part, want, sizeof want));
    }
    if (strcmp(a->reduction, "none") && strcmp(a->reduction, "add"))
        return FAIL(VALUE, "index_set: reduction is '%s'; legal: 'none', 'add'", a->reduction);
    *out = *c->in[0];
    return OK;
}

/* 1 where this element of the value is the one that stayed: each writes its number, and those that
 * read their own number back have won. */
static Ref index_winners(GradCtx *c, Ref part) {
    Builder *b = c->b;
    int n = c->nin - 2;
    if (b->status != OK) return 0;
    TensorType type = *b_type(b, part), target = *c->xtypes[0];
    target.dtype = DT_i64;
    Ref number = count_along(b, type_count(&type), 0, 1);
    number = b_reshape(b, number, type.rank, type.dims);
    Ref in[2 + MAX_RANK] = {b_zeros_like(b, &target), number};
    memcpy(in + 2, c->x + 2, (size_t)n * sizeof *in);
    in[1] = b_call(b, OP_index_set, c->attrs, 2 + n, in);
    attrs_index_get read = {.axes = ((const attrs_index_set *)c->attrs)->axes};
    Ref stayed = b_call(b, OP_index_get, &read, 1 + n, in + 1);
    return b_cast(b, b_op2(b, OP_equal, NULL, stayed, number), type.dtype);
}

/* The gradient at written places belongs to the value that stayed: to each of equal places with
 * addition; without, the value that was overwritten by another gets none. */
void grad_index_set(GradCtx *c) {
    const attrs_index_set *a = c->attrs;
    const TensorType *value = c->xtypes[1];
    int n = c->nin - 2;
    bool add = !strcmp(a->reduction, "add");
    Builder *b = c->b;
    if (c->want[0]) {
        Ref in[2 + MAX_RANK] = {c->g[0], b_num(b, c->g[0], 0)};
        memcpy(in + 2, c->x + 2, (size_t)n * sizeof *in);
        c->dx[0] = add ? c->g[0] : b_call(b, OP_index_set, a, 2 + n, in);
    }
    if (!c->want[1]) return;
    Ref in[1 + MAX_RANK] = {c->g[0]};
    memcpy(in + 1, c->x + 2, (size_t)n * sizeof *in);
    Ref part = b_call(b, OP_index_get, &(attrs_index_get){.axes = a->axes}, 1 + n, in);
    if (!add) part = b_mul(b, part, index_winners(c, part));
    c->dx[1] = b_cast(b, b_sum_to(b, part, value->rank, value->dims), value->dtype);
}
