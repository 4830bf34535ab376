/* Elementwise calls: rows of ewise.def and their slopes over any dtypes and strides. */
#ifndef DIP_EWISE_H
#define DIP_EWISE_H

#include "kernels/kernel.h"

void run_ewise(const KernelArgs *a);

#endif
