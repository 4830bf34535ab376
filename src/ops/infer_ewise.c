/* Shapes and dtypes of elementwise rows and of their hidden gradient ops. */
#include <string.h>

#include "ops/functions.h"
#include "ops/op.h"

static DType promoted(const Op *op, int nin, const TensorType *const *in) {
    int first = op->ewclass == EW_WHERE ? 1 : 0;
    DType d = in[first]->dtype;
    for (int i = first + 1; i < nin; i++) d = dtype_promote(d, in[i]->dtype);
    return op->ewclass == EW_FLT ? dtype_to_float(d) : d;
}

DType ewise_compute_type(const Op *op, int nin, const TensorType *const *in) {
    if (op->ewclass == EW_LOG) return DT_bool;
    return dtype_info[promoted(op, nin, in)].compute;
}

static Status check_class(const Op *op, DType d) {
    if (op->ewclass == EW_NUM && d == DT_bool)
        return FAIL(TYPE, "%s: inputs are bool; it takes numbers (cast first, or use logical_%s)",
                    op->name, op->id == OP_neg ? "not" : "xor");
    if (op->ewclass == EW_INT && dtype_is_float(d))
        return FAIL(TYPE, "%s: input dtype is %s; it takes integers and bool", op->name,
                    dtype_name(d));
    return OK;
}

Status infer_ewise(const OpCall *c, TensorType *out) {
    const Op *op = c->op;
    DType d = promoted(op, c->nin, c->in);
    TRY(check_class(op, d));
    TensorType shape = *c->in[0];
    for (int i = 1; i < c->nin; i++)
        if (!type_same_dims(&shape, c->in[i]))
            TRY(type_broadcast(op->name, &shape, c->in[i], &shape));
    *out = shape;
    out->dtype = (uint8_t)(op->is_predicate || op->ewclass == EW_LOG ? DT_bool : d);
    return OK;
}

Status infer_sums_core(const OpCall *c, TensorType *out) {
    if (c->nin < 2 || c->nin > 64)
        return FAIL(VALUE, "sums_core: %d terms; it takes 2 to 64", c->nin);
    *out = *c->in[0];
    DType d = (DType)out->dtype;
    if (d >= NREAL || d == DT_bool || dtype_info[d].compute != d)
        return FAIL(TYPE,
                    "sums_core: terms are %s; it takes types that are computed in as they are",
                    dtype_name(d));
    for (int i = 1; i < c->nin; i++) {
        char a[200], b[200];
        if (!type_equal(c->in[i], out))
            return FAIL(VALUE, "sums_core: term %d is %s, the first is %s; they must be alike", i,
                        type_text(c->in[i], a, sizeof a), type_text(out, b, sizeof b));
    }
    return OK;
}

/* Graphs with loops run again node by node where a gradient is taken. */
void grad_sums_core(GradCtx *c) {
    for (int i = 0; i < c->nin; i++)
        if (c->want[i]) c->dx[i] = c->g[0];
}

/* Inputs g, x, y, z, r, absent where the row does not need them: all broadcast to g's shape. */
Status infer_ewgrad(const OpCall *c, TensorType *out) {
    TensorType shape = *c->in[0];
    for (int i = 1; i < c->nin; i++)
        if (c->in[i] && !type_same_dims(&shape, c->in[i]))
            TRY(type_broadcast(c->op->name, &shape, c->in[i], &shape));
    *out = shape;
    return OK;
}
