/* Refs are positions in a growing array of tensors. */
#include "eager/builder.h"

#include <stdlib.h>
#include <string.h>

#include "eager/dispatch.h"
#include "tensor/pool.h"

static void grow(EagerBuilder *e) {
    Tensor **bigger = pool_small((size_t)e->capacity * 2 * sizeof *bigger);
    memcpy(bigger, e->values, (size_t)e->n * sizeof *bigger);
    if (e->values != e->few) pool_small_free(e->values, (size_t)e->capacity * sizeof *bigger);
    e->values = bigger;
    e->capacity *= 2;
}

static Ref take(EagerBuilder *e, Tensor *t) {
    if (e->n == e->capacity) grow(e);
    e->values[e->n++] = t;
    return (Ref)e->n;
}

Ref eager_put(EagerBuilder *e, Tensor *t) { return t ? take(e, tensor_ref(t)) : 0; }
Tensor *eager_peek(EagerBuilder *e, Ref r) { return r ? e->values[r - 1] : NULL; }

static void call(Builder *b, const Op *op, const void *attrs, int nin, const Ref *in, int nout,
                 Ref *out) {
    EagerBuilder *e = (EagerBuilder *)b;
    enum { FEW = 16 };
    Tensor *few[2 * FEW], **tensors = few;
    bool many = nin > FEW || nout > FEW;
    size_t size = (size_t)(nin + nout) * sizeof *tensors;
    memset(out, 0, (size_t)nout * sizeof *out);
    if (b->status != OK) return;
    if (many) tensors = pool_small(size);
    Tensor **results = tensors + nin;
    for (int i = 0; i < nin; i++) tensors[i] = eager_peek(e, in[i]);
    b->status = dispatch(op, attrs, nin, tensors, results);
    for (int i = 0; b->status == OK && i < nout; i++) out[i] = take(e, results[i]);
    if (many) pool_small_free(tensors, size);
}

static const TensorType *type(Builder *b, Ref x) {
    static const TensorType nothing = {.dtype = DT_f32};
    return x ? &eager_peek((EagerBuilder *)b, x)->type : &nothing;
}

static Ref fill(Builder *b, const TensorType *t, double value) {
    Tensor *made;
    b->status = tensor_fill(t, value, &made);
    return b->status == OK ? take((EagerBuilder *)b, made) : 0;
}

void eager_builder_init(EagerBuilder *e) {
    e->base = (Builder){.status = OK, .call = call, .type = type, .fill = fill};
    e->values = e->few;
    e->n = 0;
    e->capacity = (int)COUNT_OF(e->few);
}

void eager_builder_done(EagerBuilder *e) {
    for (int i = 0; i < e->n; i++) tensor_unref(e->values[i]);
    if (e->values != e->few) pool_small_free(e->values, (size_t)e->capacity * sizeof *e->values);
}
