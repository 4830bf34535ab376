/* The norms as one: how rows of each are laid out. */
#ifndef DIP_NORM_H
#define DIP_NORM_H

#include "ops/op.h"

/* The attributes of norm_rows that do what this norm does (weight NULL: none). */
attrs_norm_rows norm_rows_of(const Op *op, const void *attrs, const TensorType *x,
                             const TensorType *weight);

#endif
