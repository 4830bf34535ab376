/* The matrix product of one thread: what matmul, convolution, recurrent nets and attention are made
 * of. gemm.c is compiled once an instruction set, for f32 and f64. */
#ifndef DIP_GEMM_H
#define DIP_GEMM_H

#include "tensor/type.h"

/* c(m, n) = a(m, k) b(k, n), or c += with `accumulate`, or with a bias of n numbers added to each
 * row. Strides count elements; rows of c are contiguous, a and b may have any strides, so
 * transposed operands need no copy. */
typedef struct Gemm {
    int64_t m, n, k;
    const void *a, *b;
    int64_t ars, acs, brs, bcs;
    void *c;
    int64_t crs;
    bool accumulate;
    const void *bias; /* NULL: none; not with `accumulate` */
} Gemm;

typedef struct GemmKernels {
    void (*run)(const Gemm *g);
    /* The same with b packed by `pack`: for products that use one b many times. */
    void (*run_packed)(const Gemm *g);
    /* dst: gemm_packed_size() elements, aligned to 64 bytes. */
    void (*pack)(int64_t k, int64_t n, const void *b, int64_t brs, int64_t bcs, void *dst);
    int64_t panel; /* columns in a packed panel */
} GemmKernels;

/* For DT_f32 and DT_f64, the best instruction set of this machine. */
const GemmKernels *gemm(DType dtype);

/* What another thread may have just written, into this one's cache: all lines at once, where a
 * product would wait for one after the other. */
static inline void gemm_fetch(const void *from, int64_t nbytes) {
    for (int64_t i = 0; i < nbytes; i += 64) __builtin_prefetch((const char *)from + i, 0, 2);
}

static inline int64_t gemm_packed_size(const GemmKernels *k, int64_t rows, int64_t n) {
    return (n + k->panel - 1) / k->panel * k->panel * rows;
}

#endif
