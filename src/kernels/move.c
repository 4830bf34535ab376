/* Movement by copies into views of the result: concat, stack, and values put into a slice or onto a
 * diagonal. */
#include <string.h>

#include "kernels/copy.h"
#include "kernels/kernel.h"
#include "ops/view.h"

static Place place_of(const Buf *b) { return (Place){(DType)b->type->dtype, b->data, b->strides}; }

/* The result at an element offset, under its own dense strides or those of a view. */
static Place place_in(const Buf *out, const int64_t *strides, int64_t offset) {
    DType d = out->type->dtype;
    return (Place){d, out->data + offset * dtype_size(d), strides};
}

/* ---- concat, stack */

void run_concat(const KernelArgs *a) {
    const Buf *r = &a->out[0];
    int64_t axis = ((const attrs_concat *)a->attrs)->axis, strides[MAX_RANK], offset = 0;
    axis += axis < 0 ? r->type->rank : 0;
    type_strides(r->type, strides);
    for (int i = 0; i < a->nin; i++) {
        const TensorType *x = a->in[i].type;
        copy_strided(x->rank, x->dims, place_in(r, strides, offset), place_of(&a->in[i]));
        offset += x->dims[axis] * strides[axis];
    }
}

void run_stack(const KernelArgs *a) {
    const Buf *r = &a->out[0];
    int64_t axis = ((const attrs_stack *)a->attrs)->axis, strides[MAX_RANK];
    axis += axis < 0 ? r->type->rank : 0;
    type_strides(r->type, strides);
    int64_t step = strides[axis];
    for (int i = (int)axis; i + 1 < r->type->rank; i++) strides[i] = strides[i + 1];
    for (int i = 0; i < a->nin; i++) {
        const TensorType *x = a->in[i].type;
        copy_strided(x->rank, x->dims, place_in(r, strides, i * step), place_of(&a->in[i]));
    }
}

/* ---- into a part of the result */

static int64_t nbytes_of(const Buf *b) {
    return type_count(b->type) * dtype_size((DType)b->type->dtype);
}

/* dims are the part's; x broadcasts to them. */
static void put_part(const Buf *r, const TensorType *part, const int64_t *strides, int64_t offset,
                     const Buf *x) {
    int64_t steps[MAX_RANK];
    for (int i = 0; i < part->rank; i++) {
        int at = i - (part->rank - x->type->rank);
        steps[i] = at >= 0 && x->type->dims[at] != 1 ? x->strides[at] : 0;
    }
    copy_strided(part->rank, part->dims, place_in(r, strides, offset),
                 (Place){(DType)x->type->dtype, x->data, steps});
}

static void put_slice(const Buf *r, const SliceAttrs *s, const Buf *x) {
    TensorType part;
    int64_t dense[MAX_RANK], strides[MAX_RANK], offset;
    if (slice_type("slice", r->type, s, &part) != OK) return; /* infer has seen it */
    type_strides(r->type, dense);
    slice_view(r->type, s, dense, strides, &offset);
    put_part(r, &part, strides, offset, x);
}

void run_slice_grad(const KernelArgs *a) {
    const attrs_slice_grad *s = a->attrs;
    if (type_count(a->in[0].type) < type_count(a->out[0].type))
        clear_bytes(a->out[0].data, nbytes_of(&a->out[0]));
    put_slice(&a->out[0], &(SliceAttrs){&s->begin, &s->size, &s->step, &s->drop}, &a->in[0]);
}

void run_slice_set(const KernelArgs *a) {
    const attrs_slice_set *s = a->attrs;
    const Buf *x = &a->in[0], *r = &a->out[0];
    int64_t strides[MAX_RANK];
    type_strides(r->type, strides);
    if (r->data != x->data)
        copy_strided(r->type->rank, r->type->dims, place_in(r, strides, 0), place_of(x));
    put_slice(r, &(SliceAttrs){&s->begin, &s->size, &s->step, &s->drop}, &a->in[1]);
}

void run_diagonal_grad(const KernelArgs *a) {
    const attrs_diagonal_grad *s = a->attrs;
    const Buf *r = &a->out[0];
    int64_t dense[MAX_RANK], strides[MAX_RANK], offset;
    clear_bytes(r->data, nbytes_of(r));
    type_strides(r->type, dense);
    diagonal_view(r->type, s->offset, s->dim1, s->dim2, dense, strides, &offset);
    put_part(r, a->in[0].type, strides, offset, &a->in[0]);
}
