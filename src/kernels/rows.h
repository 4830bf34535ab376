/* Loops over rows and columns for softmax, normalisation and cross entropy, in f32 and f64:
 * rows_loops.c is compiled once an instruction set. Pointers lead to values of the compute type,
 * dense; numbers pass as double. */
#ifndef DIP_ROWS_H
#define DIP_ROWS_H

#include "kernels/kernel.h"
#include "kernels/loops.h"

enum { COLUMNS = 64 }; /* worked on side by side */

typedef struct RowLoops {
    /* n values; is_log: the logarithm of softmax. y may be x. */
    void (*softmax)(int64_t n, bool is_log, void *y, const void *x);
    void (*softmax_grad)(int64_t n, bool is_log, void *dx, const void *g, const void *y);
    /* The same down w <= COLUMNS columns of n values, `stride` apart. */
    void (*softmax_columns)(int64_t n, int64_t stride, int w, bool is_log, void *y, const void *x);
    void (*softmax_grad_columns)(int64_t n, int64_t stride, int w, bool is_log, void *dx,
                                 const void *g, const void *y);

    /* The largest element, and log of the sum of exp(x - largest). */
    double (*logsumexp)(int64_t n, const void *x, double *largest);
    /* y = scale * exp(x - top - lse), y = scale * x + y, sum of x * y, sum of x. */
    void (*exp_scaled)(int64_t n, double top, double lse, double scale, void *y, const void *x);
    void (*logsumexp_columns)(int64_t n, int64_t stride, int w, const void *x, double *top,
                              double *lse);
    void (*exp_scaled_columns)(int64_t n, int64_t stride, int w, const double *top,
                               const double *lse, const double *scale, void *y, const void *x);
    void (*axpy)(int64_t n, double scale, const void *x, void *y);
    double (*dot)(int64_t n, const void *x, const void *y);
    double (*sum)(int64_t n, const void *x);

    /* Mean (0 if not centered) and 1 / sqrt(variance + eps) of a row. */
    void (*moments)(int64_t n, bool centered, double eps, const void *x, double *mean,
                    double *rstd);
    /* y = (x - mean) * rstd * w + b; w, b: n values each, or NULL. */
    void (*normalize)(int64_t n, double mean, double rstd, const void *w, const void *b, void *y,
                      const void *x);
    /* y = x * scale + shift */
    void (*affine)(int64_t n, double scale, double shift, void *y, const void *x);
    /* For xh = (x - mean) * rstd and gw = g * w: sums of gw and gw * xh. */
    void (*norm_sums)(int64_t n, double mean, double rstd, const void *g, const void *w,
                      const void *x, double *sum, double *sum_xh);
    /* dx = rstd * (gw - a - xh * b); dw += g * xh and db += g where not NULL. */
    void (*norm_grad)(int64_t n, const double *numbers, const void *g, const void *w, const void *x,
                      void *dx, void *dw, void *db);
    /* dx = g * p + x * q + r */
    void (*affine_grad)(int64_t n, double p, double q, double r, const void *g, const void *x,
                        void *dx);
    double (*load)(const void *x, int64_t i);
    void (*store)(void *x, int64_t i, double v);
} RowLoops;

/* ct: f32 or f64. */
const RowLoops *row_loops(DType ct);

static inline char *row_at(const Buf *b, int64_t i) {
    return b->data ? b->data + i * dtype_size(b->type->dtype) : NULL;
}

#endif
