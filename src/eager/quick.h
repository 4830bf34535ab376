/* The short way for small elementwise calls. */
#ifndef DIP_QUICK_H
#define DIP_QUICK_H

#include "eager/dispatch.h"
#include "kernels/loops.h"

/* Runs the call and sets *out when it is an elementwise row over small dense operands of one dtype
 * that the row computes in, all of one shape or 0-d. False: go the general way (which also finds
 * and words every error). Nothing is recorded here. */
bool quick_ewise(const Op *op, int nin, Tensor *const *in, Tensor **out);
/* For plans: the loop of such a call whose operands are all of one shape; NULL: not such a call. */
EwLoop *quick_loop(const Op *op, int nin, const Buf *in);

#endif
