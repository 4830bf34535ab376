/* Index maps that several ops share: where a view lies in its input, and reading axis lists. */
#ifndef DIP_OPS_VIEW_H
#define DIP_OPS_VIEW_H

#include "ops/op.h"

/* Strides of `out` (the elements of x with other sizes) over x's strides; false: they do not
 * exist. */
bool shape_view(const TensorType *x, const TensorType *out, const int64_t *xs, int64_t *s);

/* A slice: lists over the first axes, the other axes whole. begin[i] in [0, size of the axis],
 * size[i] elements (-1: all that are left), `step` apart (not 0); axes in `drop` have size 1 and
 * leave the result. */
typedef struct SliceAttrs {
    const IntList *begin, *size, *step, *drop;
} SliceAttrs;

/* The type of x's slice, and where it lies over dense or other strides xs of x. */
Status slice_type(const char *op, const TensorType *x, const SliceAttrs *a, TensorType *out);
void slice_view(const TensorType *x, const SliceAttrs *a, const int64_t *xs, int64_t *s,
                int64_t *offset);

/* The diagonal of the axes dim1, dim2, moved to the end. */
Status diagonal_type(const char *op, const TensorType *x, int64_t offset, int64_t dim1,
                     int64_t dim2, TensorType *out);
void diagonal_view(const TensorType *x, int64_t shift, int64_t dim1, int64_t dim2,
                   const int64_t *xs, int64_t *s, int64_t *offset);

#endif
