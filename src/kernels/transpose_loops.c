/* Turning tiles; compiled once an instruction set (-DISA=base|avx2|avx512) and giving
 * transpose_<ISA>.
 *
 * Vectors have lanes of 16 bytes, N elements each. A block takes N of them: lane l of vector i is a
 * piece of column l N + i. log2 N rounds of perfect shuffles in all lanes at once (vectors i and
 * i + N / 2 are zipped into 2 i and 2 i + 1) make vector i row i of the block. What is left beside
 * is turned with one lane, and then element by element. */
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/transpose.h"
#include "kernels/walk.h"

#define UNROLL             _Pragma("GCC unroll 16")
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

/* Vectors of one lane and of as many as the registers have. The latter are loaded from pieces of a
 * lane, `step` bytes apart; ZIPS names what ZIP gives for each lane. */
typedef uint64_t One __attribute__((vector_size(16)));
static inline One load_One(const char *src, int64_t step) {
    One x;
    (void)step;
    memcpy(&x, src, sizeof x);
    return x;
}
#define ZIPS_One(ZIP, n) ZIP(0, n)
#if defined(__AVX2__)
static inline __m256i load_two(const char *src, int64_t step) {
    __m128i low = _mm_loadu_si128((const __m128i *)src);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low),
                                   _mm_loadu_si128((const __m128i *)(src + step)), 1);
}
#endif
#if defined(__AVX512F__)
typedef uint64_t All __attribute__((vector_size(64)));
static inline All load_All(const char *src, int64_t step) {
    return (All)_mm512_inserti64x4(_mm512_castsi256_si512(load_two(src, step)),
                                   load_two(src + 2 * step, step), 1);
}
#define ZIPS_All(ZIP, n) ZIP(0, 4 * n), ZIP(n, 4 * n), ZIP(2 * n, 4 * n), ZIP(3 * n, 4 * n)
#elif defined(__AVX2__)
typedef uint64_t All __attribute__((vector_size(32)));
static inline All load_All(const char *src, int64_t step) { return (All)load_two(src, step); }
#define ZIPS_All(ZIP, n) ZIP(0, 2 * n), ZIP(n, 2 * n)
#else
typedef One All;
#define load_All load_One
#define ZIPS_All ZIPS_One
#endif

/* Elements k .. of two vectors of w elements, alternately: half a lane of N from each. */
#define ZIP_1(k, w)   k, (k) + (w)
#define ZIP_2(k, w)   ZIP_1(k, w), ZIP_1((k) + 1, w)
#define ZIP_4(k, w)   ZIP_2(k, w), ZIP_2((k) + 2, w)
#define ZIP_8(k, w)   ZIP_4(k, w), ZIP_4((k) + 4, w)
#define LOW_2(k, w)   ZIP_1(k, w)
#define LOW_4(k, w)   ZIP_2(k, w)
#define LOW_8(k, w)   ZIP_4(k, w)
#define LOW_16(k, w)  ZIP_8(k, w)
#define HIGH_2(k, w)  ZIP_1((k) + 1, w)
#define HIGH_4(k, w)  ZIP_2((k) + 2, w)
#define HIGH_8(k, w)  ZIP_4((k) + 4, w)
#define HIGH_16(k, w) ZIP_8((k) + 8, w)

/* N rows of as many columns as `Lanes` has elements. */
#define BLOCK(T, N, Lanes)                                                                         \
    static inline __attribute__((always_inline)) void turn_##N##_##Lanes(                          \
        T *dst, int64_t to, const T *src, int64_t from) {                                          \
        typedef T Vec __attribute__((vector_size(sizeof(Lanes))));                                 \
        Vec x[N], y[N];                                                                            \
        UNROLL for (int i = 0; i < N; i++) x[i] =                                                  \
            (Vec)load_##Lanes((const char *)(src + i * from), N * from * (int64_t)sizeof(T));      \
        UNROLL for (int round = 1; round < N; round *= 2) {                                        \
            UNROLL for (int i = 0; i < N / 2; i++) {                                               \
                y[2 * i] = SHUFFLE(x[i], x[i + N / 2], ZIPS_##Lanes(LOW_##N, N));                  \
                y[2 * i + 1] = SHUFFLE(x[i], x[i + N / 2], ZIPS_##Lanes(HIGH_##N, N));             \
            }                                                                                      \
            memcpy(x, y, sizeof x);                                                                \
        }                                                                                          \
        UNROLL for (int i = 0; i < N; i++) memcpy(dst + i * to, &x[i], sizeof x[i]);               \
    }

/* The columns from j on as long as there are `Lanes` of them; gives where it stopped. */
#define COLUMNS(T, N, Lanes)                                                                       \
    for (const int64_t w = sizeof(Lanes) / sizeof(T); j + w <= cols; j += w) {                     \
        for (int64_t i = 0; i < whole; i += N)                                                     \
            turn_##N##_##Lanes(dst + i * to + j, to, src + j * from + i, from);                    \
        for (int64_t i = whole; i < rows; i++)                                                     \
            for (int64_t k = j; k < j + w; k++) dst[i * to + k] = src[k * from + i];               \
    }

#define TURN(T, N)                                                                                 \
    BLOCK(T, N, One)                                                                               \
    BLOCK(T, N, All)                                                                               \
    static void turn_##N(int64_t rows, int64_t cols, T *dst, int64_t to, const T *src,             \
                         int64_t from) {                                                           \
        int64_t whole = rows / N * N, j = 0;                                                       \
        COLUMNS(T, N, All)                                                                         \
        COLUMNS(T, N, One)                                                                         \
        for (; j < cols; j++)                                                                      \
            for (int64_t i = 0; i < rows; i++) dst[i * to + j] = src[j * from + i];                \
    }
TURN(uint8_t, 16)
TURN(uint16_t, 8)
TURN(uint32_t, 4)
TURN(uint64_t, 2)

static void turn_pairs(int64_t rows, int64_t cols, Pair *dst, int64_t to, const Pair *src,
                       int64_t from) {
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++) dst[i * to + j] = src[j * from + i];
}

#define NAME2(isa) transpose_##isa
#define NAME1(isa) NAME2(isa)
TransposeTile NAME1(ISA);
void NAME1(ISA)(int64_t size, int64_t rows, int64_t cols, void *dst, int64_t to, const void *src,
                int64_t from) {
    switch (size) {
    case 1: turn_16(rows, cols, dst, to, src, from); break;
    case 2: turn_8(rows, cols, dst, to, src, from); break;
    case 4: turn_4(rows, cols, dst, to, src, from); break;
    case 16: turn_pairs(rows, cols, dst, to, src, from); break;
    default: turn_2(rows, cols, dst, to, src, from);
    }
}
