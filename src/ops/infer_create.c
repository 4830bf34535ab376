/* Sizes and dtypes of tensors made from numbers. */
#include <math.h>
#include <string.h>

#include "ops/functions.h"

static Status sized(const OpCall *c, const IntList *size, int64_t dtype, TensorType *out) {
    if (dtype == DT_NONE) return FAIL(TYPE, "%s: dtype is missing", c->op->name);
    if (size->n < 0) return FAIL(VALUE, "%s: size is missing", c->op->name);
    *out = (TensorType){.dtype = (uint8_t)dtype, .rank = (uint8_t)size->n};
    memcpy(out->dims, size->v, out->rank * sizeof *size->v);
    return type_check(out, c->op->name);
}

#define INFER_SIZED(name)                                                                          \
    Status infer_##name(const OpCall *c, TensorType *out) {                                        \
        const attrs_##name *a = c->attrs;                                                          \
        return sized(c, &a->size, a->dtype, out);                                                  \
    }
INFER_SIZED(full)
INFER_SIZED(zeros)
INFER_SIZED(ones)

#define INFER_LIKE(name)                                                                           \
    Status infer_##name(const OpCall *c, TensorType *out) {                                        \
        int64_t dtype = ((const attrs_##name *)c->attrs)->dtype;                                   \
        *out = *c->in[0];                                                                          \
        if (dtype != DT_NONE) out->dtype = (uint8_t)dtype;                                         \
        return OK;                                                                                 \
    }
INFER_LIKE(full_like)
INFER_LIKE(zeros_like)
INFER_LIKE(ones_like)

Status infer_arange(const OpCall *c, TensorType *out) {
    const attrs_arange *a = c->attrs;
    if (!isfinite(a->start) || !isfinite(a->end) || !isfinite(a->step) || a->step == 0)
        return FAIL(VALUE, "arange: start %g, end %g, step %g; they must be finite, step not 0",
                    a->start, a->end, a->step);
    double n = ceil((a->end - a->start) / a->step);
    if (n >= 0x1p62)
        return FAIL(VALUE, "arange: start %g, end %g, step %g give %g numbers", a->start, a->end,
                    a->step, n);
    bool whole = a->start == rint(a->start) && a->end == rint(a->end) && a->step == rint(a->step);
    int64_t dtype = a->dtype != DT_NONE ? a->dtype : whole ? DT_i64 : DT_f32;
    *out = (TensorType){.dtype = (uint8_t)dtype, .rank = 1, .dims = {n > 0 ? (int64_t)n : 0}};
    return type_check(out, "arange");
}

static Status steps_type(const OpCall *c, int64_t steps, int64_t dtype, TensorType *out) {
    if (steps < 0)
        return FAIL(VALUE, "%s: steps is %lld; it must be 0 or more", c->op->name,
                    (long long)steps);
    return sized(c, &INTLIST1(steps), dtype, out);
}

Status infer_linspace(const OpCall *c, TensorType *out) {
    const attrs_linspace *a = c->attrs;
    return steps_type(c, a->steps, a->dtype, out);
}

Status infer_logspace(const OpCall *c, TensorType *out) {
    const attrs_logspace *a = c->attrs;
    return steps_type(c, a->steps, a->dtype, out);
}

static Status matrix(const OpCall *c, int64_t n, int64_t m, int64_t dtype, TensorType *out) {
    return sized(c, &INTLIST2(n, m == ATTR_NONE ? n : m), dtype, out);
}

Status infer_eye(const OpCall *c, TensorType *out) {
    const attrs_eye *a = c->attrs;
    return matrix(c, a->n, a->m, a->dtype, out);
}

Status infer_tri(const OpCall *c, TensorType *out) {
    const attrs_tri *a = c->attrs;
    return matrix(c, a->n, a->m, a->dtype, out);
}
