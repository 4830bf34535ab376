/* Channels-last: the one layout besides row-major that results may have. Sizes stay (n, c,
 * spatial); strides say that the channels are innermost. Convolutions make such results, and
 * elementwise ops, pooling and batch norm keep them (docs/design/002-layouts.md). */
#ifndef DIP_LAYOUT_H
#define DIP_LAYOUT_H

#include "kernels/kernel.h"

/* Channels-last without holes (axes of size 1 do not count). Row-major may hold as well. */
bool layout_is_last(const TensorType *t, const int64_t *strides);
void layout_last_strides(const TensorType *t, int64_t *strides);
/* Whether result i of kernel k (NULL: an elementwise loop) is to be channels-last. */
bool layout_wants_last(const Kernel *k, const KernelArgs *a, int i);
/* Moves the channel axis behind the others: type and strides of a channels-last tensor become those
 * of a row-major one. `rank` >= 3 is that of the widest operand; smaller operands get sizes of 1 in
 * front; 0-d ones stay. */
void layout_rotate(int rank, const Buf *b, TensorType *type, int64_t *strides);

#endif
