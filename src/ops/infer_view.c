/* Views by slices and diagonals: begin, size and step lists, and what is made of them. The result
 * of a slice is a view; its gradient puts g into zeros at the same place. */
#include <string.h>

#include "ops/functions.h"
#include "ops/view.h"

/* ---- slices */

static int64_t entry(const IntList *list, int i, int64_t preset) {
    return i < list->n ? list->v[i] : preset;
}

/* Elements that are left from `begin` on in steps of `step`. */
static int64_t left_from(int64_t n, int64_t begin, int64_t step) {
    if (begin >= n) return 0;
    uint64_t pace = step > 0 ? (uint64_t)step : -(uint64_t)step;
    return (int64_t)((uint64_t)(step > 0 ? n - begin - 1 : begin) / pace) + 1;
}

static int64_t size_of(const TensorType *x, const SliceAttrs *a, int i) {
    int64_t size = entry(a->size, i, -1);
    return size >= 0 ? size : left_from(x->dims[i], entry(a->begin, i, 0), entry(a->step, i, 1));
}

static Status check_slice_axis(const char *op, const TensorType *x, const SliceAttrs *a, int i) {
    int64_t n = x->dims[i], begin = entry(a->begin, i, 0), step = entry(a->step, i, 1);
    if (begin < 0 || begin > n)
        return FAIL(INDEX, "%s: begin[%d] is %lld; axis %d has size %lld, legal: [0, %lld]", op, i,
                    (long long)begin, i, (long long)n, (long long)n);
    if (step == 0) return FAIL(VALUE, "%s: step[%d] is 0; it must not be", op, i);
    int64_t size = entry(a->size, i, -1), most = left_from(n, begin, step);
    if (size < -1 || size > most)
        return FAIL(INDEX,
                    "%s: size[%d] is %lld; from %lld in steps of %lld axis %d of size %lld has "
                    "%lld elements, legal: [-1, %lld]",
                    op, i, (long long)size, (long long)begin, (long long)step, i, (long long)n,
                    (long long)most, (long long)most);
    return OK;
}

static Status read_drop(const char *op, const TensorType *x, const SliceAttrs *a, uint32_t *mask) {
    *mask = 0;
    for (int i = 0; i < a->drop->n; i++) {
        int axis;
        TRY(type_axis(op, a->drop->v[i], x->rank, &axis));
        if (x->rank == 0 || size_of(x, a, axis) != 1)
            return FAIL(VALUE, "%s: axis %d in drop has not one element", op, axis);
        *mask |= 1u << axis;
    }
    return OK;
}

Status slice_type(const char *op, const TensorType *x, const SliceAttrs *a, TensorType *out) {
    const IntList *lists[] = {a->begin, a->size, a->step};
    static const char *const names[] = {"begin", "size", "step"};
    for (int k = 0; k < 3; k++)
        if (lists[k]->n > x->rank)
            return FAIL(VALUE, "%s: %s has %lld entries, the input has %d axes", op, names[k],
                        (long long)lists[k]->n, x->rank);
    for (int i = 0; i < x->rank; i++) TRY(check_slice_axis(op, x, a, i));
    uint32_t drop;
    TRY(read_drop(op, x, a, &drop));
    TensorType t = {.dtype = x->dtype};
    for (int i = 0; i < x->rank; i++)
        if (!(drop >> i & 1)) t.dims[t.rank++] = size_of(x, a, i);
    *out = t;
    return OK;
}

void slice_view(const TensorType *x, const SliceAttrs *a, const int64_t *xs, int64_t *s,
                int64_t *offset) {
    uint32_t drop = 0;
    for (int i = 0; i < a->drop->n; i++)
        drop |= 1u << (a->drop->v[i] + (a->drop->v[i] < 0 ? x->rank : 0));
    bool empty = false;
    *offset = 0;
    for (int i = 0, at = 0; i < x->rank; i++) {
        *offset += entry(a->begin, i, 0) * xs[i];
        int64_t size = size_of(x, a, i);
        if (size == 0) empty = true;
        if (!(drop >> i & 1)) s[at++] = size > 1 ? xs[i] * entry(a->step, i, 1) : xs[i];
    }
    if (empty) *offset = 0; /* an address that stays inside the storage */
}

#define SLICE_OF(a) (&(SliceAttrs){&(a)->begin, &(a)->size, &(a)->step, &(a)->drop})

Status infer_slice(const OpCall *c, TensorType *out) {
    const attrs_slice *a = c->attrs;
    return slice_type("slice", c->in[0], SLICE_OF(a), out);
}

bool view_slice(const OpCall *c, int k, const TensorType *out, const int64_t *xs, int64_t *s,
                int64_t *offset) {
    (void)k, (void)out;
    const attrs_slice *a = c->attrs;
    slice_view(c->in[0], SLICE_OF(a), xs, s, offset);
    return true;
}

static IntList dims_of(const TensorType *t) {
    IntList list = {.n = t->rank};
    memcpy(list.v, t->dims, t->rank * sizeof *t->dims);
    return list;
}

static Ref slice_gradient(GradCtx *c, const SliceAttrs *a) {
    attrs_slice_grad back = {dims_of(c->xtypes[0]), *a->begin, *a->size, *a->step, *a->drop, 0};
    return b_op1(c->b, OP_slice_grad, &back, c->g[0]);
}

void grad_slice(GradCtx *c) {
    const attrs_slice *a = c->attrs;
    c->dx[0] = slice_gradient(c, SLICE_OF(a));
}

static Status shape_type(const char *op, const IntList *shape, const TensorType *g,
                         TensorType *out) {
    *out = (TensorType){.dtype = g->dtype, .rank = (uint8_t)max_i64(shape->n, 0)};
    memcpy(out->dims, shape->v, out->rank * sizeof *shape->v);
    return type_check(out, op);
}

static Status check_same(const char *op, const TensorType *want, const TensorType *got) {
    char a[200], b[200];
    if (type_same_dims(want, got)) return OK;
    return FAIL(VALUE, "%s: g is %s; it must have the sizes of %s", op, type_text(got, a, sizeof a),
                type_text(want, b, sizeof b));
}

Status infer_slice_grad(const OpCall *c, TensorType *out) {
    const attrs_slice_grad *a = c->attrs;
    TensorType part;
    TRY(shape_type("slice_grad", &a->shape, c->in[0], out));
    TRY(slice_type("slice_grad", out, SLICE_OF(a), &part));
    return check_same("slice_grad", &part, c->in[0]);
}

void grad_slice_grad(GradCtx *c) {
    const attrs_slice_grad *a = c->attrs;
    c->dx[0] =
        b_op1(c->b, OP_slice, &(attrs_slice){a->begin, a->size, a->step, a->drop, 0}, c->g[0]);
}

Status infer_slice_set(const OpCall *c, TensorType *out) {
    const attrs_slice_set *a = c->attrs;
    TensorType part, both;
    TRY(slice_type("slice_set", c->in[0], SLICE_OF(a), &part));
    TRY(type_broadcast("slice_set", &part, c->in[1], &both));
    if (!type_same_dims(&both, &part)) {
        char want[200], got[200];
        return FAIL(VALUE, "slice_set: value is %s; it must broadcast to the slice, %s",
                    type_text(c->in[1], got, sizeof got), type_text(&part, want, sizeof want));
    }
    *out = *c->in[0];
    return OK;
}

void grad_slice_set(GradCtx *c) {
    const attrs_slice_set *a = c->attrs;
    const TensorType *value = c->xtypes[1];
    if (c->want[0]) c->dx[0] = b_op2(c->b, OP_slice_set, a, c->g[0], b_num(c->b, c->g[0], 0));
    if (!c->want[1]) return;
    Ref part =
        b_op1(c->b, OP_slice, &(attrs_slice){a->begin, a->size, a->step, a->drop, 0}, c->g[0]);
    c->dx[1] = b_cast(c->b, b_sum_to(c->b, part, value->rank, value->dims), value->dtype);
}

/* ---- strided_slice, narrow: a slice by other words */

/* One bound by Python's rules: negative counts from the end, then limited to [low, high]. */
static int64_t python_bound(int64_t v, int64_t n, int64_t low, int64_t high) {
    if (v < 0) v += n;
    return v < low ? low : v > high ? high : v;
}

static Status read_strided(const OpCall *c, attrs_slice *out) {
    const attrs_strided_slice *a = c->attrs;
    const TensorType *x = c->in[0];
    if (a->begin.n < 0 || a->begin.n > x->rank || a->end.n != a->begin.n ||
        (a->strides.n >= 0 && a->strides.n != a->begin.n))
        return FAIL(VALUE,
                    "strided_slice: begin, end and strides have %lld, %lld and %lld entries; they "
                    "must have equally many, at most %d",
                    (long long)a->begin.n, (long long)a->end.n, (long long)a->strides.n, x->rank);
    *out = (attrs_slice){
        .begin = {.n = a->begin.n}, .size = {.n = a->begin.n}, .step = {.n = a->begin.n}};
    for (int i = 0; i < a->begin.n; i++) {
        int64_t n = x->dims[i], step = entry(&a->strides, i, 1), low = step < 0 ? -1 : 0;
        if (step == 0) return FAIL(VALUE, "strided_slice: strides[%d] is 0; it must not be", i);
        int64_t high = step < 0 ? n - 1 : n;
        int64_t begin = a->begin_mask >> i & 1 ? (step < 0 ? high : 0)
                                               : python_bound(a->begin.v[i], n, low, high);
        int64_t end =
            a->end_mask >> i & 1 ? (step < 0 ? -1 : n) : python_bound(a->end.v[i], n, low, high);
        int64_t span = step > 0 ? end - begin : begin - end;
        uint64_t pace = step > 0 ? (uint64_t)step : -(uint64_t)step;
        out->step.v[i] = step;
        out->begin.v[i] = max_i64(begin, 0);
        out->size.v[i] = span > 0 ? (int64_t)((uint64_t)(span - 1) / pace) + 1 : 0;
    }
    return OK;
}

Status infer_strided_slice(const OpCall *c, TensorType *out) {
    attrs_slice a;
    TRY(read_strided(c, &a));
    return slice_type("strided_slice", c->in[0], SLICE_OF(&a), out);
}

bool view_strided_slice(const OpCall *c, int k, const TensorType *out, const int64_t *xs,
                        int64_t *s, int64_t *offset) {
    (void)k, (void)out;
    attrs_slice a;
    if (read_strided(c, &a) != OK) return false;
    slice_view(c->in[0], SLICE_OF(&a), xs, s, offset);
    return true;
}

/* The call as infer saw it, for readers of attributes. */
static OpCall as_call(const GradCtx *c) {
    return (OpCall){c->op, c->attrs, c->nin, c->nout, c->xtypes};
}

void grad_strided_slice(GradCtx *c) {
    attrs_slice a;
    OpCall call = as_call(c);
    if (read_strided(&call, &a) == OK) c->dx[0] = slice_gradient(c, SLICE_OF(&a));
}

static Status read_narrow(const OpCall *c, attrs_slice *out) {
    const attrs_narrow *a = c->attrs;
    const TensorType *x = c->in[0];
    int axis;
    if (x->rank == 0) return FAIL(VALUE, "narrow: the input has no axis");
    TRY(type_axis("narrow", a->axis, x->rank, &axis));
    int64_t n = x->dims[axis], start = a->start < 0 ? a->start + n : a->start;
    if (start < 0 || start > n)
        return FAIL(INDEX, "narrow: start is %lld; axis %d has size %lld, legal: [%lld, %lld]",
                    (long long)a->start, axis, (long long)n, -(long long)n, (long long)n);
    if (a->length < 0 || a->length > n - start)
        return FAIL(INDEX, "narrow: length is %lld; %lld elements are left, legal: [0, %lld]",
                    (long long)a->length, (long long)(n - start), (long long)(n - start));
    *out = (attrs_slice){.begin = {.n = axis + 1}, .size = {.n = axis + 1}, .step = {.n = -1}};
    for (int i = 0; i < axis; i++) out->size.v[i] = -1;
    out->begin.v[axis] = start;
    out->size.v[axis] = a->length;
    return OK;
}

Status infer_narrow(const OpCall *c, TensorType *out) {
    attrs_slice a;
    TRY(read_narrow(c, &a));
    return slice_type("narrow", c->in[0], SLICE_OF(&a), out);
}

bool view_narrow(const OpCall *c, int k, const TensorType *out, const int64_t *xs, int64_t *s,
                 int64_t *offset) {
    (void)k, (void)out;
    attrs_slice a;
    if (read_narrow(c, &a) != OK) return false;
    slice_view(c->in[0], SLICE_OF(&a), xs, s, offset);
    return true;
}

void grad_narrow(GradCtx *c) {
    attrs_slice a;
    OpCall call = as_call(c);
    if (read_narrow(&call, &a) == OK) c->dx[0] = slice_gradient(c, SLICE_OF(&a));
}

/* ---- diagonals */

static int64_t diagonal_length(const TensorType *x, int64_t offset, int d1, int d2) {
    int64_t rows = x->dims[d1] - (offset < 0 ? -offset : 0);
    int64_t cols = x->dims[d2] - (offset > 0 ? offset : 0);
    return max_i64(min_i64(rows, cols), 0);
}

Status diagonal_type(const char *op, const TensorType *x, int64_t offset, int64_t dim1,
                     int64_t dim2, TensorType *out) {
    int d1, d2;
    if (x->rank < 2) return FAIL(VALUE, "%s: the input has %d axes; it needs 2", op, x->rank);
    TRY(type_axis(op, dim1, x->rank, &d1));
    TRY(type_axis(op, dim2, x->rank, &d2));
    if (d1 == d2) return FAIL(VALUE, "%s: dim1 and dim2 are both axis %d", op, d1);
    int64_t most = max_i64(x->dims[d1], x->dims[d2]);
    if (offset > most || offset < -most) offset = offset > 0 ? most : -most;
    TensorType t = {.dtype = x->dtype};
    for (int i = 0; i < x->rank; i++)
        if (i != d1 && i != d2) t.dims[t.rank++] = x->dims[i];
    t.dims[t.rank++] = diagonal_length(x, offset, d1, d2);
    *out = t;
    return OK;
}

void diagonal_view(const TensorType *x, int64_t shift, int64_t dim1, int64_t dim2,
                   const int64_t *xs, int64_t *s, int64_t *offset) {
    int64_t d1 = dim1 + (dim1 < 0 ? x->rank : 0), d2 = dim2 + (dim2 < 0 ? x->rank : 0);
    int at = 0;
    for (int i = 0; i < x->rank; i++)
        if (i != d1 && i != d2) s[at++] = xs[i];
    s[at] = xs[d1] + xs[d2];
    *offset = 0;
    if (shift > 0 && shift < x->dims[d2]) *offset = shift * xs[d2];
    if (shift < 0 && shift > -x->dims[d1]) *offset = -shift * xs[d1];
}

Status infer_diagonal(const OpCall *c, TensorType *out) {
    const attrs_diagonal *a = c->attrs;
    return diagonal_type("diagonal", c->in[0], a->offset, a->dim1, a->dim2, out);
}

bool view_diagonal(const OpCall *c, int k, const TensorType *out, const int64_t *xs, int64_t *s,
                   int64_t *offset) {
    (void)k, (void)out;
    const attrs_diagonal *a = c->attrs;
    diagonal_view(c->in[0], a->offset, a->dim1, a->dim2, xs, s, offset);
    return true;
}

void grad_diagonal(GradCtx *c) {
    const attrs_diagonal *a = c->attrs;
    attrs_diagonal_grad back = {dims_of(c->xtypes[0]), a->offset, a->dim1, a->dim2, 0};
    c->dx[0] = b_op1(c->b, OP_diagonal_grad, &back, c->g[0]);
}

Status infer_diagonal_grad(const OpCall *c, TensorType *out) {
    const attrs_diagonal_grad *a = c->attrs;
    TensorType part;
    TRY(shape_type("diagonal_grad", &a->shape, c->in[0], out));
    TRY(diagonal_type("diagonal_grad", out, a->offset, a->dim1, a->dim2, &part));
    return check_same("diagonal_grad", &part, c->in[0]);
}

void grad_diagonal_grad(GradCtx *c) {
    const attrs_diagonal_grad *a = c->attrs;
    c->dx[0] = b_op1(c->b, OP_diagonal, &(attrs_diagonal){a->offset, a->dim1, a->dim2, 0}, c->g[0]);
}
