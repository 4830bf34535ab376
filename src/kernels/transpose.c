/* Tiles are turned in square blocks of 16-byte vectors, what is left element by element.
 *
 * A block of N vectors of N elements is turned by log2 N rounds of perfect shuffles: vector i and
 * vector i + N / 2 are zipped into vectors 2 i and 2 i + 1. */
#include "kernels/transpose.h"

#include <string.h>

#include "kernels/walk.h"

#define ZIP_LOW_2      0, 2
#define ZIP_HIGH_2     1, 3
#define ZIP_LOW_4      0, 4, 1, 5
#define ZIP_HIGH_4     2, 6, 3, 7
#define ZIP_LOW_8      0, 8, 1, 9, 2, 10, 3, 11
#define ZIP_HIGH_8     4, 12, 5, 13, 6, 14, 7, 15
#define ZIP_LOW_16     0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define ZIP_HIGH_16    8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define ZIP(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

#define TURN(T, N, LOW, HIGH)                                                                      \
    typedef T Vec##N __attribute__((vector_size(16)));                                             \
    static inline void turn_block_##N(T *dst, int64_t to, const T *src, int64_t from) {            \
        Vec##N x[N], y[N];                                                                         \
        for (int i = 0; i < N; i++) memcpy(&x[i], src + i * from, sizeof x[i]);                    \
        for (int round = 1; round < N; round *= 2) {                                               \
            for (int i = 0; i < N / 2; i++) {                                                      \
                y[2 * i] = ZIP(x[i], x[i + N / 2], LOW);                                           \
                y[2 * i + 1] = ZIP(x[i], x[i + N / 2], HIGH);                                      \
            }                                                                                      \
            memcpy(x, y, sizeof x);                                                                \
        }                                                                                          \
        for (int i = 0; i < N; i++) memcpy(dst + i * to, &x[i], sizeof x[i]);                      \
    }                                                                                              \
    static void turn_##N(int64_t rows, int64_t cols, T *dst, int64_t to, const T *src,             \
                         int64_t from) {                                                           \
        int64_t whole = rows / N * N, j = 0;                                                       \
        for (; j + N <= cols; j += N) {                                                            \
            for (int64_t i = 0; i < whole; i += N)                                                 \
                turn_block_##N(dst + i * to + j, to, src + j * from + i, from);                    \
            for (int64_t i = whole; i < rows; i++)                                                 \
                for (int64_t k = j; k < j + N; k++) dst[i * to + k] = src[k * from + i];           \
        }                                                                                          \
        for (; j < cols; j++)                                                                      \
            for (int64_t i = 0; i < rows; i++) dst[i * to + j] = src[j * from + i];                \
    }
TURN(uint8_t, 16, ZIP_LOW_16, ZIP_HIGH_16)
TURN(uint16_t, 8, ZIP_LOW_8, ZIP_HIGH_8)
TURN(uint32_t, 4, ZIP_LOW_4, ZIP_HIGH_4)
TURN(uint64_t, 2, ZIP_LOW_2, ZIP_HIGH_2)

static void turn_pairs(int64_t rows, int64_t cols, Pair *dst, int64_t to, const Pair *src,
                       int64_t from) {
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++) dst[i * to + j] = src[j * from + i];
}

void transpose_tile(int64_t size, int64_t rows, int64_t cols, void *dst, int64_t to,
                    const void *src, int64_t from) {
    switch (size) {
    case 1: turn_16(rows, cols, dst, to, src, from); break;
    case 2: turn_8(rows, cols, dst, to, src, from); break;
    case 4: turn_4(rows, cols, dst, to, src, from); break;
    case 16: turn_pairs(rows, cols, dst, to, src, from); break;
    default: turn_2(rows, cols, dst, to, src, from);
    }
}
