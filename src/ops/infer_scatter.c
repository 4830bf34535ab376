/* Writing by index: sizes and gradients of the scatter family, and what is composed of it. */
#include <string.h>

#include "ops/functions.h"
#include "ops/index.h"

static TensorType type_of(Builder *b, Ref x) {
    return b->status == OK ? *b_type(b, x) : (TensorType){0};
}

/* 0, 1, 2 ... in the shape of `type`, as int64. */
static Ref numbered(Builder *b, const TensorType *type) {
    attrs_arange a = {.end = (double)type_count(type), .step = 1, .dtype = DT_i64};
    return b_reshape(b, b_call(b, OP_arange, &a, 0, NULL), type->rank, type->dims);
}

/* ---- along an axis */

static Status check_beside(const OpCall *c, const TensorType *x, const TensorType *index,
                           int axis) {
    char a[200], b[200];
    bool fits = x->rank == index->rank;
    for (int i = 0; i < x->rank && fits; i++) fits = i == axis || index->dims[i] <= x->dims[i];
    if (fits) return OK;
    return FAIL(VALUE,
                "%s: the index is %s, the input %s; it has as many axes and is not larger "
                "but along axis %d",
                c->op->name, type_text(index, a, sizeof a), type_text(x, b, sizeof b), axis);
}

Status infer_gather_elements(const OpCall *c, TensorType *out) {
    int axis;
    TRY(index_check_dtype("gather_elements", "index", c->in[1]));
    TRY(type_axis("gather_elements", ((const attrs_gather_elements *)c->attrs)->dim, c->in[0]->rank,
                  &axis));
    TRY(check_beside(c, c->in[0], c->in[1], axis));
    *out = *c->in[1];
    out->dtype = c->in[0]->dtype;
    return OK;
}

void grad_gather_elements(GradCtx *c) {
    attrs_tensor_scatter_elements a = {.axis = ((const attrs_gather_elements *)c->attrs)->dim,
                                       .reduction = "add"};
    if (c->want[0])
        c->dx[0] = b_op3(c->b, OP_tensor_scatter_elements, &a, b_zeros_like(c->b, c->xtypes[0]),
                         c->x[1], c->g[0]);
}

static Status check_updates(const OpCall *c, const TensorType *want, const TensorType *updates) {
    char a[200], b[200];
    if (type_equal(want, updates)) return OK;
    return FAIL(VALUE, "%s: updates is %s; it must be %s", c->op->name,
                type_text(updates, a, sizeof a), type_text(want, b, sizeof b));
}

Status infer_tensor_scatter_elements(const OpCall *c, TensorType *out) {
    const attrs_tensor_scatter_elements *a = c->attrs;
    int axis;
    TRY(index_check_dtype("tensor_scatter_elements", "indices", c->in[1]));
    TRY(type_axis("tensor_scatter_elements", a->axis, c->in[0]->rank, &axis));
    TRY(check_beside(c, c->in[0], c->in[1], axis));
    TensorType want = *c->in[1];
    want.dtype = c->in[0]->dtype;
    TRY(check_updates(c, &want, c->in[2]));
    if (strcmp(a->reduction, "none") && strcmp(a->reduction, "add"))
        return FAIL(VALUE, "tensor_scatter_elements: reduction is '%s'; legal: 'none', 'add'",
                    a->reduction);
    *out = *c->in[0];
    return OK;
}

void grad_tensor_scatter_elements(GradCtx *c) {
    const attrs_tensor_scatter_elements *a = c->attrs;
    bool add = !strcmp(a->reduction, "add");
    Builder *b = c->b;
    attrs_gather_elements read = {.dim = a->axis};
    if (c->want[0])
        c->dx[0] = add ? c->g[0]
                       : b_op3(b, OP_tensor_scatter_elements, a, c->g[0], c->x[1],
                               b_zeros_like(b, c->xtypes[2]));
    if (!c->want[2]) return;
    Ref part = b_op2(b, OP_gather_elements, &read, c->g[0], c->x[1]);
    if (!add) { /* of equal places only the last one stayed */
        TensorType target = *c->xtypes[0];
        target.dtype = DT_i64;
        Ref number = numbered(b, c->xtypes[2]);
        Ref stayed =
            b_op3(b, OP_tensor_scatter_elements, a, b_zeros_like(b, &target), c->x[1], number);
        stayed = b_op2(b, OP_gather_elements, &read, stayed, c->x[1]);
        stayed = b_op2(b, OP_equal, NULL, stayed, number);
        part = b_mul(b, part, b_cast(b, stayed, (DType)c->xtypes[2]->dtype));
    }
    c->dx[2] = part;
}

Status infer_index_select(const OpCall *c, TensorType *out) {
    int axis;
    TRY(index_check_dtype("index_select", "index", c->in[1]));
    TRY(type_axis("index_select", ((const attrs_index_select *)c->attrs)->axis, c->in[0]->rank,
                  &axis));
    if (c->in[1]->rank > 1 || c->in[0]->rank == 0)
        return FAIL(VALUE,
                    "index_select: index has %d axes, input %d; index has at most 1, input "
                    "1 or more",
                    c->in[1]->rank, c->in[0]->rank);
    *out = *c->in[0];
    out->dims[axis] = type_count(c->in[1]);
    return OK;
}

void expand_index_select(ExpandCtx *c) {
    TensorType index = type_of(c->b, c->x[1]);
    int64_t n = type_count(&index);
    attrs_gather a = {.axis = ((const attrs_index_select *)c->attrs)->axis};
    c->r[0] = b_op2(c->b, OP_gather, &a, c->x[0], b_reshape(c->b, c->x[1], 1, &n));
}

Status infer_take(const OpCall *c, TensorType *out) {
    int64_t axis = ((const attrs_take *)c->attrs)->axis;
    const TensorType *x = c->in[0], *index = c->in[1];
    int at = 0;
    TRY(index_check_dtype("take", "indices", index));
    TensorType flat = {.dtype = x->dtype, .rank = 1, .dims = {type_count(x)}};
    if (axis == ATTR_NONE || x->rank == 0)
        x = &flat;
    else
        TRY(type_axis("take", axis, x->rank, &at));
    IndexPlan p;
    TRY(index_plan("take", x, &INTLIST1(at), 1, &index, &p));
    return index_result("take", x, &p, out);
}

void expand_take(ExpandCtx *c) {
    int64_t axis = ((const attrs_take *)c->attrs)->axis;
    TensorType x = type_of(c->b, c->x[0]);
    int64_t n = type_count(&x);
    bool flat = axis == ATTR_NONE || x.rank == 0;
    Ref v = flat ? b_reshape(c->b, c->x[0], 1, &n) : c->x[0];
    c->r[0] = b_op2(c->b, OP_gather, &(attrs_gather){.axis = flat ? 0 : axis}, v, c->x[1]);
}

Status infer_index_add(const OpCall *c, TensorType *out) {
    const TensorType *x = c->in[0], *index = c->in[1], *y = c->in[2];
    int64_t axis = ((const attrs_index_add *)c->attrs)->axis; /* index_fill has the same */
    int at;
    bool fill = c->op->id == OP_index_fill;
    TRY(index_check_dtype(c->op->name, "the index", index));
    if (x->rank == 0 || index->rank > 1)
        return FAIL(VALUE, "%s: x has %d axes, the index %d; x has 1 or more, the index at most 1",
                    c->op->name, x->rank, index->rank);
    TRY(type_axis(c->op->name, axis, x->rank, &at));
    TensorType want = fill ? (TensorType){.dtype = y->dtype} : *x;
    if (!fill) want.dims[at] = type_count(index);
    if (!type_same_dims(&want, y)) {
        char a[200], b[200];
        return FAIL(VALUE, "%s: %s is %s; it must have the sizes of %s", c->op->name,
                    fill ? "value" : "y", type_text(y, a, sizeof a), type_text(&want, b, sizeof b));
    }
    *out = *x;
    return OK;
}

static void expand_along(ExpandCtx *c, int64_t axis, const char *reduction) {
    TensorType index = type_of(c->b, c->x[1]);
    int64_t n = type_count(&index);
    attrs_index_set a = {.axes = INTLIST1(axis)};
    strcpy(a.reduction, reduction);
    c->r[0] = b_op3(c->b, OP_index_set, &a, c->x[0], c->x[2], b_reshape(c->b, c->x[1], 1, &n));
}

void expand_index_add(ExpandCtx *c) {
    expand_along(c, ((const attrs_index_add *)c->attrs)->axis, "add");
}
void expand_index_fill(ExpandCtx *c) {
    expand_along(c, ((const attrs_index_fill *)c->attrs)->axis, "none");
}

/* ---- at positions */

static Status check_nd(const OpCall *c, const TensorType *x, const TensorType *indices,
                       const TensorType *updates) {
    IndexPlan p;
    TensorType want;
    TRY(index_plan_nd(c->op->name, x, indices, &p));
    TRY(index_result(c->op->name, x, &p, &want));
    return check_updates(c, &want, updates);
}

Status infer_tensor_scatter(const OpCall *c, TensorType *out) {
    const TensorType *x = c->in[0];
    OpId id = c->op->id;
    bool divides = id == OP_tensor_scatter_div;
    if (divides ? !dtype_is_float(x->dtype) : id == OP_tensor_scatter_sub && x->dtype == DT_bool)
        return FAIL(TYPE, "%s: input_x is %s; it must be %s", c->op->name, dtype_name(x->dtype),
                    divides ? "a float tensor" : "numbers");
    TRY(check_nd(c, x, c->in[1], c->in[2]));
    *out = *x;
    return OK;
}

static Ref read_nd(GradCtx *c, Ref x) { return b_op2(c->b, OP_gather_nd, NULL, x, c->x[1]); }
static Ref again(GradCtx *c, Ref x, Ref updates) {
    return b_op3(c->b, c->op->id, NULL, x, c->x[1], updates);
}

void grad_tensor_scatter_update(GradCtx *c) {
    Builder *b = c->b;
    if (c->want[0]) c->dx[0] = again(c, c->g[0], b_zeros_like(b, c->xtypes[2]));
    if (!c->want[2]) return;
    TensorType target = *c->xtypes[0];
    target.dtype = DT_i64;
    Ref number = numbered(b, c->xtypes[2]);
    Ref stayed = read_nd(c, again(c, b_zeros_like(b, &target), number));
    stayed = b_cast(b, b_op2(b, OP_equal, NULL, stayed, number), (DType)c->xtypes[2]->dtype);
    c->dx[2] = b_mul(b, read_nd(c, c->g[0]), stayed);
}

void grad_tensor_scatter_add(GradCtx *c) {
    if (c->want[0]) c->dx[0] = c->g[0];
    if (c->want[2]) c->dx[2] = read_nd(c, c->g[0]);
}

void grad_tensor_scatter_sub(GradCtx *c) {
    if (c->want[0]) c->dx[0] = c->g[0];
    if (c->want[2]) c->dx[2] = b_neg(c->b, read_nd(c, c->g[0]));
}

/* The product of all other factors of a place is its result divided by the factor; where that is 0
 * (and the only factor of its place) it is input_x. */
void grad_tensor_scatter_mul(GradCtx *c) {
    Builder *b = c->b;
    Ref u = c->x[2];
    if (c->want[0]) c->dx[0] = again(c, c->g[0], u);
    if (!c->want[2]) return;
    Ref zero = b_op2(b, OP_equal, NULL, u, b_num(b, u, 0));
    Ref safe = b_op3(b, OP_where, NULL, zero, b_num(b, u, 1), u);
    Ref others = b_div(b, read_nd(c, b_mul(b, c->g[0], c->r[0])), safe);
    c->dx[2] = b_op3(b, OP_where, NULL, zero, read_nd(c, b_mul(b, c->g[0], c->x[0])), others);
}

void grad_tensor_scatter_div(GradCtx *c) {
    Builder *b = c->b;
    if (c->want[0]) c->dx[0] = again(c, c->g[0], c->x[2]);
    if (c->want[2]) c->dx[2] = b_neg(b, b_div(b, read_nd(c, b_mul(b, c->g[0], c->r[0])), c->x[2]));
}

/* max, min: to whatever equals the result. */
void grad_tensor_scatter_limit(GradCtx *c) {
    Builder *b = c->b;
    DType d = (DType)c->xtypes[0]->dtype;
    if (c->want[0])
        c->dx[0] = b_mul(b, c->g[0], b_cast(b, b_op2(b, OP_equal, NULL, c->x[0], c->r[0]), d));
    if (!c->want[2]) return;
    Ref won = b_op2(b, OP_equal, NULL, c->x[2], read_nd(c, c->r[0]));
    c->dx[2] = b_mul(b, read_nd(c, c->g[0]), b_cast(b, won, d));
}

static Status scatter_nd_type(const OpCall *c, TensorType *out) {
    const IntList *shape = &((const attrs_scatter_nd *)c->attrs)->shape;
    if (shape->n < 0) return FAIL(VALUE, "scatter_nd: shape is missing");
    *out = (TensorType){.dtype = c->in[1]->dtype, .rank = (uint8_t)shape->n};
    memcpy(out->dims, shape->v, out->rank * sizeof *shape->v);
    return type_check(out, "scatter_nd");
}

Status infer_scatter_nd(const OpCall *c, TensorType *out) {
    TRY(scatter_nd_type(c, out));
    return check_nd(c, out, c->in[0], c->in[1]);
}

void expand_scatter_nd(ExpandCtx *c) {
    const IntList *shape = &((const attrs_scatter_nd *)c->attrs)->shape;
    TensorType updates = type_of(c->b, c->x[1]);
    attrs_zeros a = {.size = *shape, .dtype = updates.dtype};
    Ref zeros = b_call(c->b, OP_zeros, &a, 0, NULL);
    c->r[0] = b_op3(c->b, OP_tensor_scatter_add, NULL, zeros, c->x[0], c->x[1]);
}
