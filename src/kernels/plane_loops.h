/* Inner loops of pooling and batch norm over contiguous elements, compiled once an instruction set
 * for f32 and f64 (plane_loops.c). "Columns": rows of channels, `step` elements apart; the loop
 * runs over n channels of each row. "Row": n elements of one plane. */
#ifndef DIP_PLANE_LOOPS_H
#define DIP_PLANE_LOOPS_H

#include "tensor/type.h"

typedef struct PlaneLoops {
    /* Where x is larger (or NaN), y takes it and at takes `place`; with `first` always. */
    void (*max_step)(int64_t n, const void *x, int32_t place, bool first, void *y, int32_t *at);
    void (*add_step)(int64_t n, const void *x, double scale, void *y); /* y += scale * x */

    /* sum[c] = sum of x; square[c] = sum of (x - mean[c])^2 */
    void (*columns_sum)(int64_t rows, int64_t step, int64_t n, const void *x, void *sum);
    void (*columns_square)(int64_t rows, int64_t step, int64_t n, const void *x, const void *mean,
                           void *square);
    /* sums[c] = sum of g; sums[step + c] = sum of g (x - mean[c]) */
    void (*columns_dot)(int64_t rows, int64_t step, int64_t n, const void *g, const void *x,
                        const void *mean, void *sums);
    /* y = a[c] (x - mean[c]) + b[c]; coef: mean, a, b, each of `step` numbers */
    void (*columns_scale)(int64_t rows, int64_t step, int64_t n, const void *x, const void *coef,
                          void *y);
    /* y = a[c] g + b[c] (x - mean[c]) + d[c]; coef: mean, a, b, d, each of `step` numbers */
    void (*columns_blend)(int64_t rows, int64_t step, int64_t n, const void *g, const void *x,
                          const void *coef, void *y);

    double (*row_sum)(int64_t n, const void *x);
    double (*row_square)(int64_t n, const void *x, double mean);
    void (*row_dot)(int64_t n, const void *g, const void *x, double mean, double *sum, double *dot);
    void (*row_scale)(int64_t n, const void *x, double mean, double a, double b, void *y);
    void (*row_blend)(int64_t n, const void *g, const void *x, const double coef[4], void *y);
} PlaneLoops;

const PlaneLoops *plane_loops(DType dtype); /* f32 or f64 */

#endif
