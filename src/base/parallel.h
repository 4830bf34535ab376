/* The compute threads: OpenMP (libgomp) is the only pool, and one parallel region runs at a time;
 * a second thread that asks meanwhile does its work alone. The team size never changes between
 * regions. Work split over threads must not depend on their number: bodies get index ranges and
 * what they write at index i depends on i only. */
#ifndef DIP_PARALLEL_H
#define DIP_PARALLEL_H

#include "base/base.h"

typedef void (*ParallelBody)(void *ctx, int64_t begin, int64_t end);

/* Runs body over [0, n), in ranges of at least `grain` indices. Serial when n <= grain. */
void parallel_for(int64_t n, int64_t grain, ParallelBody body, void *ctx);

/* Claims the pool for a library that opens regions of its own (oneDNN). False: run serially. */
bool parallel_enter(void);
void parallel_leave(void);

int parallel_threads(void);
void parallel_set_threads(int n); /* 1..1024; 0 returns to the default (the CPUs of this process) */

#endif
