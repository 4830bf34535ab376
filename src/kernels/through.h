/* Running a call through the compute type: a kernel written for f32 and f64 (and i32, i64, u64)
 * serves every dtype. Operands are converted to scratch, the kernel runs on them, results are
 * converted back. */
#ifndef DIP_THROUGH_H
#define DIP_THROUGH_H

#include "kernels/kernel.h"

enum { THROUGH_MAX = 16 }; /* inputs, and results */

/* Bytes of scratch for the converted operands. */
int64_t through_size(const KernelArgs *a);
/* Inputs and results are row-major. The kernel finds its own scratch behind ours. */
void through_run(const KernelArgs *a, void (*run)(const KernelArgs *a));

static inline int64_t align64(int64_t nbytes) { return (nbytes + 63) / 64 * 64; }

#endif
