/* Shapes of argmax and its relatives; the gradient goes to the place that was found. */
#include "ops/functions.h"

typedef struct ArgAttrs {
    int64_t axis, keep_dims;
} ArgAttrs;

Status infer_arg(const OpCall *c, TensorType *out) {
    const ArgAttrs *a = c->attrs;
    const TensorType *x = c->in[0];
    bool all = a->axis == ATTR_NONE;
    int axis = 0;
    if (!all) TRY(type_axis(c->op->name, a->axis, x->rank, &axis));
    TensorType t = {.dtype = DT_i64};
    for (int i = 0; i < x->rank; i++)
        if (!all && i != axis)
            t.dims[t.rank++] = x->dims[i];
        else if (a->keep_dims)
            t.dims[t.rank++] = 1;
    if (type_count(&t) && type_count(x) == 0) {
        char text[200];
        return FAIL(VALUE, "%s: input %s has no elements along axis; it needs at least 1",
                    c->op->name, type_text(x, text, sizeof text));
    }
    *out = t;
    return OK;
}

Status infer_with_index(const OpCall *c, TensorType *out) {
    TRY(infer_arg(c, &out[1]));
    out[0] = out[1];
    out[0].dtype = c->in[0]->dtype;
    return OK;
}

/* g where the position along the axis (or in the flat input) is the index, else 0. */
void grad_with_index(GradCtx *c) {
    const ArgAttrs *a = c->attrs;
    Builder *b = c->b;
    TensorType x = *c->xtypes[0], t = x;
    if (!c->g[0] || x.dtype == DT_bool) return;
    int64_t n = type_count(&x), axis = 0;
    if (a->axis == ATTR_NONE || x.rank == 0) {
        t = (TensorType){.dtype = x.dtype, .rank = 1, .dims = {n}};
    } else {
        axis = a->axis + (a->axis < 0 ? x.rank : 0);
        n = x.dims[axis];
    }
    int64_t along[MAX_RANK], one[MAX_RANK];
    for (int i = 0; i < t.rank; i++) {
        along[i] = i == axis ? n : 1;
        one[i] = i == axis ? 1 : t.dims[i];
    }
    attrs_arange range = {.end = (double)n, .step = 1, .dtype = DT_i64};
    Ref place = b_reshape(b, b_call(b, OP_arange, &range, 0, NULL), t.rank, along);
    Ref hit = b_op2(b, OP_equal, NULL, place, b_reshape(b, c->r[1], t.rank, one));
    Ref g = b_reshape(b, c->g[0], t.rank, one);
    Ref dx = b_op3(b, OP_where, NULL, hit, g, b_num(b, g, 0));
    c->dx[0] = b_reshape(b, dx, x.rank, x.dims);
}
