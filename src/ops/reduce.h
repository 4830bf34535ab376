/* What reductions share: which axes, what shape is left. */
#ifndef DIP_REDUCE_H
#define DIP_REDUCE_H

#include "ops/op.h"

/* How the attributes of every reduction over an axis list begin. */
typedef struct ReduceAttrs {
    IntList axis;
    int64_t keep_dims;
} ReduceAttrs;

/* None and () mean all axes; bit i of mask = axis i is reduced. */
Status reduce_axes(const char *op, const IntList *axis, int rank, uint32_t *mask);
/* out->dtype = x->dtype. */
Status reduce_shape(const char *op, const TensorType *x, const IntList *axis, bool keep_dims,
                    TensorType *out);
/* Elements of x that go into one result. axis is legal already. */
int64_t reduce_count(const TensorType *x, const IntList *axis);

#endif
