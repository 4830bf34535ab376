/* Copying between strided places: what cast, concat, slice_set, pad and their kin are made of. */
#ifndef DIP_COPY_H
#define DIP_COPY_H

#include "tensor/type.h"

/* Where the elements of a block lie: strides in elements, one an axis; 0 repeats, may be negative.
 */
typedef struct Place {
    DType dtype;
    char *data;
    const int64_t *strides;
} Place;

/* dims[rank] elements from src to dst, converted if the dtypes differ; runs on all threads when
 * large. The places do not overlap and dst names no element twice. */
void copy_strided(int rank, const int64_t *dims, Place dst, Place src);

/* n dense elements of `size` bytes to places `step` bytes apart. */
void spread_strided(int64_t n, int64_t size, char *dst, int64_t step, const void *src);

/* All bits zero: the number 0 of every dtype. On all threads when large. */
void clear_bytes(char *dst, int64_t nbytes);

#endif
