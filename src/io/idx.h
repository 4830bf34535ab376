/* IDX, the format of MNIST and its successors: two zero bytes, a type, a rank, big-endian sizes,
 * and the elements. Files may be gzip-compressed (as Debian's dataset packages ship them) when the
 * library was built with zlib. */
#ifndef DIP_IDX_H
#define DIP_IDX_H

#include "tensor/tensor.h"

Status idx_read(const char *path, Tensor **out);

#endif
