/* grid_sample over points begin .. end - 1 of (n, oh, ow), compiled once an instruction set. */
#ifndef DIP_KERNELS_GRID_H
#define DIP_KERNELS_GRID_H

#include "base/parallel.h"
#include "kernels/kernel.h"

typedef struct Grid {
    const TensorType *x, *r;
    const char *input, *points;
    char *out;
    bool align, nearest, zeros, reflection;
} Grid;

typedef struct GridLoops {
    ParallelBody sample_f32, sample_f64; /* the context is a Grid */
} GridLoops;

#endif
