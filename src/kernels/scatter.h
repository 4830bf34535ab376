/* Writing by index, for the ops that do so. */
#ifndef DIP_SCATTER_H
#define DIP_SCATTER_H

#include "kernels/lookup.h"

typedef enum ScatterMode {
    SCATTER_SET,
    SCATTER_ADD,
    SCATTER_SUB,
    SCATTER_MUL,
    SCATTER_DIV,
    SCATTER_MAX,
    SCATTER_MIN
} ScatterMode;

typedef struct ScatterArgs {
    ScatterMode mode;
    const Buf *value, *out;
    int64_t skip_row; /* index whose row is left alone; -1: none */
} ScatterArgs;

void scatter(const IndexPlan *p, const Buf *indices, const ScatterArgs *a);
void scatter_nd_rows(const IndexPlan *p, const Buf *indices, const ScatterArgs *a);
/* n numbers, `step` apart, to offsets of dst one after the other: the same place may come twice.
 * SCATTER_SET or SCATTER_ADD. */
void scatter_numbers(ScatterMode mode, DType dtype, int64_t n, char *dst, const int64_t *offsets,
                     const char *src, int64_t step);
/* What is written over: a copy of x (nothing to do when they share memory), or zeros. */
void scatter_start(const Buf *x, const Buf *out);
void scatter_zeros(const Buf *out);

#endif
