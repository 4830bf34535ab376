/* Which ops take complex tensors, and how. */
#ifndef DIP_COMPLEX_H
#define DIP_COMPLEX_H

#include "ops/op.h"

/* The op on complex tensors as calls on their parts; NULL: there is none. */
ExpandFn complex_expansion(const Op *op);
/* TYPE where a type is complex and the op does more than move bytes. */
Status complex_check(const Op *op, int n, const TensorType *const *types);

#endif
