/* Conversions between every dtype and the compute type of this translation unit (loops.c).
 *
 * Floats to integers truncate and saturate at the integer's range, NaN gives 0. Integers to
 * narrower integers wrap. Everything to f16 and bf16 is rounded once, to nearest even. Anything to
 * bool asks whether it is not 0. */
#ifndef DIP_CONVERT_H
#define DIP_CONVERT_H

#include <stdint.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "kernels/half.h"
#include "ops/words_c.h"

/* v rounded to odd: towards 0, and then the last bit says whether anything was lost. Rounding that
 * again, to fewer bits, gives what rounding v at once would (Boldo and Melquiond 2008). */
static inline float f64_to_odd_f32(double v) {
    float near = (float)v;
    bool inexact = (double)near != v && v == v;
    bool away = __builtin_fabs((double)near) > __builtin_fabs(v);
    return bits_float((float_bits(near) - away) | inexact);
}
/* 64-bit integers as doubles that round to f16 and bf16 as the integers do: of the bits that a
 * double does not hold, one says whether they are 0. */
static inline double i64_to_sticky_f64(int64_t v) {
    int64_t sticky = (v & ~(int64_t)2047) | ((v & 2047) != 0 ? 1024 : 0);
    return (double)(v >> 53 == v >> 63 ? v : sticky);
}
static inline double u64_to_sticky_f64(uint64_t v) {
    uint64_t sticky = (v & ~(uint64_t)4095) | ((v & 4095) != 0 ? 2048 : 0);
    return (double)(v >> 53 ? sticky : v);
}

/* Float to integer without undefined behaviour; `top` is the first float beyond the range. */
#define SATURATE(type, v, lowest, highest, top)                                                    \
    ((v) != (v) ? 0 : (v) >= (top) ? (highest) : (v) <= (double)(lowest) ? (lowest) : (type)(v))

/* ---- to and from V: FROM_<dtype>(e) -> V, TO_<dtype>(v) -> storage */

#if defined(CT_f32) || defined(CT_f64)
#define FROM_f16(e)  ((V)f16_to_f32(e))
#define FROM_bf16(e) ((V)bf16_to_f32(e))
#define FROM_ANY(e)  ((V)(e))
#if defined(CT_f64)
#define SINGLE(v) f64_to_odd_f32(v)
#else
#define SINGLE(v) (v)
#endif
#define TO_f16(v)  f32_to_f16(SINGLE(v))
#define TO_bf16(v) f32_to_bf16(SINGLE(v))
#define TO_f32(v)  ((float)(v))
#define TO_f64(v)  ((double)(v))
/* Up to 32 bits the limits are compared as V and the conversion is one of vector instructions. */
#define TO_SHORT(type, v, lowest, highest)                                                         \
    ((type)(int32_t)((v) != (v)            ? 0                                                     \
                     : (v) >= (V)(highest) ? (highest)                                             \
                     : (v) <= (V)(lowest)  ? (lowest)                                              \
                                           : (int32_t)(v)))
#define TO_u8(v)  TO_SHORT(uint8_t, v, 0, UINT8_MAX)
#define TO_u16(v) TO_SHORT(uint16_t, v, 0, UINT16_MAX)
#define TO_i8(v)  TO_SHORT(int8_t, v, INT8_MIN, INT8_MAX)
#define TO_i16(v) TO_SHORT(int16_t, v, INT16_MIN, INT16_MAX)
#define TO_i32(v) ((int32_t)SATURATE(int32_t, v, INT32_MIN, INT32_MAX, (V)2147483648.0))
#define TO_u32(v) ((uint32_t)SATURATE(int64_t, v, 0, UINT32_MAX, (V)4294967296.0))
#define TO_i64(v) ((int64_t)SATURATE(int64_t, v, INT64_MIN, INT64_MAX, (V)9223372036854775808.0))
#define TO_u64(v) ((uint64_t)SATURATE(uint64_t, v, 0, UINT64_MAX, (V)18446744073709551616.0))
#elif defined(CT_bool)
#define FROM_f16(e)  ((V)(((e)&0x7fff) != 0))
#define FROM_bf16(e) ((V)(((e)&0x7fff) != 0))
#define FROM_ANY(e)  ((V)((e) != 0))
#define TO_f16(v)    ((uint16_t)((v) ? 0x3c00 : 0))
#define TO_bf16(v)   ((uint16_t)((v) ? 0x3f80 : 0))
#define TO_f32(v)    ((float)(v))
#define TO_f64(v)    ((double)(v))
#define TO_u8(v)     ((uint8_t)(v))
#define TO_u16(v)    ((uint16_t)(v))
#define TO_i8(v)     ((int8_t)(v))
#define TO_i16(v)    ((int16_t)(v))
#define TO_i32(v)    ((int32_t)(v))
#define TO_u32(v)    ((uint32_t)(v))
#define TO_i64(v)    ((int64_t)(v))
#define TO_u64(v)    ((uint64_t)(v))
#else
#if defined(CT_i32)
#define FROM_FLOAT(e) SATURATE(int32_t, e, INT32_MIN, INT32_MAX, 2147483648.0)
#define TO_STICKY(v)  ((double)(v))
#elif defined(CT_i64)
#define FROM_FLOAT(e) SATURATE(int64_t, e, INT64_MIN, INT64_MAX, 9223372036854775808.0)
#define TO_STICKY(v)  i64_to_sticky_f64(v)
#else
#define FROM_FLOAT(e) SATURATE(uint64_t, e, 0, UINT64_MAX, 18446744073709551616.0)
#define TO_STICKY(v)  u64_to_sticky_f64(v)
#endif
#define FROM_f16(e)  ((V)FROM_FLOAT(f16_to_f32(e)))
#define FROM_bf16(e) ((V)FROM_FLOAT(bf16_to_f32(e)))
#define FROM_f32(e)  ((V)FROM_FLOAT(e))
#define FROM_f64(e)  ((V)FROM_FLOAT(e))
#define FROM_ANY(e)  ((V)(e))
#define TO_f16(v)    f32_to_f16(f64_to_odd_f32(TO_STICKY(v)))
#define TO_bf16(v)   f32_to_bf16(f64_to_odd_f32(TO_STICKY(v)))
#define TO_f32(v)    ((float)(v))
#define TO_f64(v)    ((double)(v))
#define TO_u8(v)     ((uint8_t)(v))
#define TO_u16(v)    ((uint16_t)(v))
#define TO_i8(v)     ((int8_t)(v))
#define TO_i16(v)    ((int16_t)(v))
#define TO_i32(v)    ((int32_t)(v))
#define TO_u32(v)    ((uint32_t)(v))
#define TO_i64(v)    ((int64_t)(v))
#define TO_u64(v)    ((uint64_t)(v))
#endif
#ifndef FROM_f32
#define FROM_f32(e) FROM_ANY(e)
#define FROM_f64(e) FROM_ANY(e)
#endif
#define FROM_bool(e) FROM_ANY(e)
#define FROM_u8(e)   FROM_ANY(e)
#define FROM_u16(e)  FROM_ANY(e)
#define FROM_u32(e)  FROM_ANY(e)
#define FROM_u64(e)  FROM_ANY(e)
#define FROM_i8(e)   FROM_ANY(e)
#define FROM_i16(e)  FROM_ANY(e)
#define FROM_i32(e)  FROM_ANY(e)
#define FROM_i64(e)  FROM_ANY(e)
#define TO_bool(v)   ((uint8_t)((v) != 0))

#if defined(__clang__)
#define CONVERT_EACH _Pragma("clang loop vectorize(assume_safety)") for (int64_t i = 0; i < n; i++)
#else
#define CONVERT_EACH _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++)
#endif
#if defined(__F16C__) && defined(CT_f32)
#define load_f16  load_f16_rest
#define store_f16 store_f16_rest
#endif
#define DTYPE(token, ctype, nbytes, kind, compute, name)                                           \
    static void load_##token(int64_t n, void *dst, const void *src) {                              \
        V *d = dst;                                                                                \
        const ctype *s = src;                                                                      \
        CONVERT_EACH { d[i] = FROM_##token(s[i]); }                                                \
    }                                                                                              \
    static void store_##token(int64_t n, void *dst, const void *src) {                             \
        ctype *d = dst;                                                                            \
        const V *s = src;                                                                          \
        CONVERT_EACH { d[i] = TO_##token(s[i]); }                                                  \
    }
#include "tensor/dtype.def"
#undef DTYPE

#if defined(__F16C__) && defined(CT_f32)
#undef load_f16
#undef store_f16
/* By the machine's own conversions, which give the same bits. */
enum { HALVES = 8 };
static void load_f16(int64_t n, void *dst, const void *src) {
    const uint16_t *s = src;
    float *d = dst;
    for (; n >= HALVES; n -= HALVES, s += HALVES, d += HALVES)
        _mm256_storeu_ps(d, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)s)));
    load_f16_rest(n, d, s);
}
static void store_f16(int64_t n, void *dst, const void *src) {
    const float *s = src;
    uint16_t *d = dst;
    for (; n >= HALVES; n -= HALVES, s += HALVES, d += HALVES)
        _mm_storeu_si128((__m128i *)d,
                         _mm256_cvtps_ph(_mm256_loadu_ps(s), _MM_FROUND_TO_NEAREST_INT));
    store_f16_rest(n, d, s);
}
#endif

/* [DT_x] = load_x, ... for every dtype. */
#define CONVERT_TABLE(f)                                                                           \
    [DT_bool] = f##_bool, [DT_u8] = f##_u8, [DT_u16] = f##_u16, [DT_u32] = f##_u32,                \
    [DT_u64] = f##_u64, [DT_i8] = f##_i8, [DT_i16] = f##_i16, [DT_i32] = f##_i32,                  \
    [DT_i64] = f##_i64, [DT_f16] = f##_f16, [DT_bf16] = f##_bf16, [DT_f32] = f##_f32,              \
    [DT_f64] = f##_f64

#endif
