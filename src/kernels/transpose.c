/* Turning tiles by the best instruction set of this machine (transpose_loops.c). */
#include "kernels/transpose.h"

#include "kernels/loops.h"

TransposeTile transpose_base, transpose_avx2, transpose_avx512;
static TransposeTile *const variants[NISAS] = {
    transpose_base,
#if defined(__x86_64__)
    transpose_avx2,
    transpose_avx512,
#endif
};

void transpose_tile(int64_t size, int64_t rows, int64_t cols, void *dst, int64_t to,
                    const void *src, int64_t from) {
    variants[isa_level()](size, rows, cols, dst, to, src, from);
}
