/* Turning small tiles: rows become columns. */
#ifndef DIP_TRANSPOSE_H
#define DIP_TRANSPOSE_H

#include <stdint.h>

/* dst[i * to + j] = src[j * from + i] for i < rows, j < cols: elements of `size` bytes (1, 2, 4, 8
 * or 16), `to` and `from` in elements. */
typedef void TransposeTile(int64_t size, int64_t rows, int64_t cols, void *dst, int64_t to,
                           const void *src, int64_t from);
TransposeTile transpose_tile;

#endif
