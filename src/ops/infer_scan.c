/* Shapes and gradients of running sums, products and extremes. */
#include <math.h>

#include "ops/functions.h"
#include "ops/scan.h"
#include "ops/sort.h"

static Status same_along(const OpCall *c, TensorType *out) {
    int axis;
    TRY(type_axis(c->op->name, *(const int64_t *)c->attrs, c->in[0]->rank, &axis));
    *out = *c->in[0];
    return OK;
}

/* The dtypes of sum. */
Status infer_cumsum(const OpCall *c, TensorType *out) {
    const attrs_cumsum *a = c->attrs;
    TRY(same_along(c, out));
    if (a->dtype != DT_NONE && a->dtype != ATTR_NONE)
        out->dtype = (uint8_t)a->dtype;
    else if (out->dtype == DT_bool || (dtype_is_int(out->dtype) && out->dtype != DT_u64))
        out->dtype = DT_i64;
    return OK;
}

Status infer_cumextreme(const OpCall *c, TensorType *out) {
    TRY(same_along(c, &out[0]));
    out[1] = out[0];
    out[1].dtype = DT_i64;
    return OK;
}

Status infer_logcumsumexp(const OpCall *c, TensorType *out) { return same_along(c, out); }

static Ref scan(Builder *b, OpId op, Ref x, ScanAttrs s) {
    attrs_cumsum a = {
        .axis = s.axis, .exclusive = s.exclusive, .reverse = s.reverse, .dtype = DT_NONE};
    return b_op1(b, op, &a, x);
}

/* Element i went into all results from i on. */
void grad_cumsum(GradCtx *c) {
    const attrs_cumsum *a = c->attrs;
    DType d = c->xtypes[0]->dtype;
    if (d == DT_bool) return;
    ScanAttrs back = {a->axis, a->exclusive, !a->reverse};
    c->dx[0] = b_cast(c->b, scan(c->b, OP_cumsum, c->g[0], back), d);
}

/* ---- linear recurrences */

Status infer_recurrence_core(const OpCall *c, TensorType *out) {
    if (c->in[0]->dtype != DT_f64 || !type_equal(c->in[0], c->in[1])) {
        char a[200], b[200];
        return FAIL(VALUE, "recurrence: factor is %s, term %s; they must be float64 and alike",
                    type_text(c->in[0], a, sizeof a), type_text(c->in[1], b, sizeof b));
    }
    return same_along(c, out);
}

/* Moved on by one place along axis (by: 1), or back (-1); a 0 follows. Not for empty tensors. */
static Ref moved(Builder *b, Ref x, int64_t axis, int by) {
    if (b->status != OK) return 0;
    TensorType gap = *b_type(b, x);
    if (gap.rank == 0) return b_num(b, x, 0);
    axis += axis < 0 ? gap.rank : 0;
    attrs_narrow stay = {.axis = axis, .start = by < 0, .length = gap.dims[axis] - 1};
    gap.dims[axis] = 1;
    Ref rest = b_op1(b, OP_narrow, &stay, x), zero = b_zeros_like(b, &gap);
    Ref parts[2] = {by > 0 ? zero : rest, by > 0 ? rest : zero};
    return b_call(b, OP_concat, &(attrs_concat){.axis = axis}, 2, parts);
}

static Ref recur(Builder *b, Ref factor, Ref term, int64_t axis, bool reverse) {
    attrs_recurrence_core a = {.axis = axis, .reverse = reverse};
    return b_op2(b, OP_recurrence_core, &a, factor, term);
}

/* The adjoint runs the other way; a factor met the result before it. */
void grad_recurrence_core(GradCtx *c) {
    const attrs_recurrence_core *a = c->attrs;
    Builder *b = c->b;
    if (type_count(c->xtypes[0]) == 0) return;
    Ref t = recur(b, c->x[0], c->g[0], a->axis, !a->reverse), r = c->r[0];
    c->dx[1] = t;
    if (!c->want[0]) return;
    c->dx[0] =
        a->reverse ? b_mul(b, moved(b, t, a->axis, 1), r) : b_mul(b, t, moved(b, r, a->axis, 1));
}

/* The product before i, times s[i] = g[i] + x[i + 1] s[i + 1]: without a division, so that zeros
 * need no care. Exclusive: result i + 1 is the first that x[i] went into. In double. */
void grad_cumprod(GradCtx *c) {
    const attrs_cumprod *a = c->attrs;
    Builder *b = c->b;
    DType d = c->xtypes[0]->dtype;
    if (d == DT_bool || type_count(c->xtypes[0]) == 0) return;
    Ref x = b_cast(b, c->x[0], DT_f64), g = b_cast(b, c->g[0], DT_f64);
    attrs_flip turn = {.dims = INTLIST1(a->dim)};
    bool turned = a->reverse && c->xtypes[0]->rank;
    if (turned) x = b_op1(b, OP_flip, &turn, x), g = b_op1(b, OP_flip, &turn, g);
    if (a->exclusive) g = moved(b, g, a->dim, -1);
    Ref before = scan(b, OP_cumprod, x, (ScanAttrs){a->dim, 1, 0});
    Ref dx = b_mul(b, before, recur(b, x, g, a->dim, true));
    if (turned) dx = b_op1(b, OP_flip, &turn, dx);
    c->dx[0] = b_cast(b, dx, d);
}

/* exp(x[i] - y[i]) times s[i] = g[i] + exp(y[i] - y[i + 1]) s[i + 1], whose exponents are not above
 * 0; where y is -inf, 0. In double. */
void grad_logcumsumexp(GradCtx *c) {
    Builder *b = c->b;
    int64_t axis = ((const attrs_logcumsumexp *)c->attrs)->axis;
    if (type_count(c->xtypes[0]) == 0) return;
    Ref x = b_cast(b, c->x[0], DT_f64), y = b_cast(b, c->r[0], DT_f64);
    Ref none = b_num(b, y, 0), low = b_num(b, y, -INFINITY);
    Ref empty = b_op2(b, OP_equal, NULL, y, low);
    Ref safe = b_op3(b, OP_where, NULL, empty, none, y), old = moved(b, y, axis, 1);
    Ref grown = b_op1(b, OP_exp, NULL, b_sub(b, old, safe));
    Ref s = recur(b, grown, b_cast(b, c->g[0], DT_f64), axis, true);
    Ref share = b_op1(b, OP_exp, NULL, b_sub(b, x, safe));
    c->dx[0] = b_cast(b, b_mul(b, share, s), (DType)c->xtypes[0]->dtype);
}

void grad_cumextreme(GradCtx *c) {
    if (c->g[0]) c->dx[0] = scatter_back(c, c->r[1], c->g[0], *(const int64_t *)c->attrs);
}
