/* One matrix product as all its kernels see it: sizes, strides, batches; made from a call of matmul
 * or dense, and run over a fixed grid of tiles. */
#ifndef DIP_PRODUCT_H
#define DIP_PRODUCT_H

#include "kernels/kernel.h"

typedef struct Product {
    int64_t m, n, k;
    int64_t xm, xk, yk, yn; /* strides of x(m, k) and y(k, n), in elements */
    int nbatch;             /* batch axes, broadcast ones have stride 0 */
    int64_t batches;
    int64_t dims[MAX_RANK], xs[MAX_RANK], ys[MAX_RANK];
    const char *x, *y;
    char *out;        /* dense (batches, m, n) */
    const char *bias; /* n numbers added to each row; NULL: none */
    int64_t bias_step;
    const char *row_bias; /* m numbers, each added to a whole row; NULL: none */
    bool adds;            /* out += instead of = */
} Product;

void product_of_matmul(const KernelArgs *a, Product *p);
void product_of_dense(const KernelArgs *a, Product *p);
/* Operands of compute type `ct` (f32, f64, i32, i64, u64 or bool). */
void product_run(const Product *p, DType ct);
/* Offsets in elements of batch `i`. */
void product_batch(const Product *p, int64_t i, int64_t *x, int64_t *y);

#endif
