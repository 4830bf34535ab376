/* Conversions between every dtype and the compute type of this translation unit (loops.c).
 *
 * Floats to integers truncate; values outside the range of the compute integer saturate, NaN gives
 * 0. Integers to narrower integers wrap. Floats to f16 and bf16 round to nearest even. Anything to
 * bool asks whether it is not 0. */
#ifndef DIP_CONVERT_H
#define DIP_CONVERT_H

#include <stdint.h>
#include <string.h>

#include "ops/words_c.h"

static inline uint32_t float_bits(float v) {
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}
static inline float bits_float(uint32_t u) {
    float v;
    memcpy(&v, &u, sizeof v);
    return v;
}

static inline float bf16_to_f32(uint16_t h) { return bits_float((uint32_t)h << 16); }
static inline uint16_t f32_to_bf16(float v) {
    uint32_t u = float_bits(v), even = u + 0x7fff + (u >> 16 & 1);
    return (uint16_t)(v != v ? (u >> 16 | 0x40) : even >> 16);
}

/* The exponent is moved by a multiplication, which also makes denormals right. */
static inline float f16_to_f32(uint16_t h) {
    uint32_t em = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t normal = float_bits(bits_float(em) * 0x1p112f);
    return bits_float((em >= 0x0f800000u ? em | 0x7f800000u : normal) | sign);
}
static inline uint16_t f32_to_f16(float v) {
    uint32_t u = float_bits(v), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
    /* Adding 0.5 lines a denormal result's last bit up with the float's last bit. */
    uint32_t tiny = float_bits(bits_float(a) + 0.5f) - 0x3f000000u;
    uint32_t normal = (a - 0x38000000u + 0xfff + (a >> 13 & 1)) >> 13;
    uint32_t h = a < 0x38800000u ? tiny : a >= 0x477ff000u ? 0x7c00u : normal;
    if (a > 0x7f800000u) h = 0x7e00u;
    return (uint16_t)(h | sign);
}

/* Float to integer without undefined behaviour; `top` is the first float beyond the range. */
#define SATURATE(type, v, lowest, highest, top)                                                    \
    ((v) != (v) ? 0 : (v) >= (top) ? (highest) : (v) <= (double)(lowest) ? (lowest) : (type)(v))

/* ---- to and from V: FROM_<dtype>(e) -> V, TO_<dtype>(v) -> storage */

#if defined(CT_f32) || defined(CT_f64)
#define FROM_f16(e)    ((V)f16_to_f32(e))
#define FROM_bf16(e)   ((V)bf16_to_f32(e))
#define FROM_ANY(e)    ((V)(e))
#define TO_f16(v)      f32_to_f16((float)(v))
#define TO_bf16(v)     f32_to_bf16((float)(v))
#define TO_f32(v)      ((float)(v))
#define TO_f64(v)      ((double)(v))
#define TO_SMALL(T, v) ((T)(int32_t)SATURATE(int32_t, v, INT32_MIN, INT32_MAX, (V)2147483648.0))
#define TO_i32(v)      ((int32_t)SATURATE(int32_t, v, INT32_MIN, INT32_MAX, (V)2147483648.0))
#define TO_u32(v)      ((uint32_t)TO_i64(v))
#define TO_i64(v)      ((int64_t)SATURATE(int64_t, v, INT64_MIN, INT64_MAX, (V)9223372036854775808.0))
#define TO_u64(v)      ((uint64_t)SATURATE(uint64_t, v, 0, UINT64_MAX, (V)18446744073709551616.0))
#elif defined(CT_bool)
#define FROM_f16(e)    ((V)(((e)&0x7fff) != 0))
#define FROM_bf16(e)   ((V)(((e)&0x7fff) != 0))
#define FROM_ANY(e)    ((V)((e) != 0))
#define TO_f16(v)      ((uint16_t)((v) ? 0x3c00 : 0))
#define TO_bf16(v)     ((uint16_t)((v) ? 0x3f80 : 0))
#define TO_f32(v)      ((float)(v))
#define TO_f64(v)      ((double)(v))
#define TO_SMALL(T, v) ((T)(v))
#define TO_i32(v)      ((int32_t)(v))
#define TO_u32(v)      ((uint32_t)(v))
#define TO_i64(v)      ((int64_t)(v))
#define TO_u64(v)      ((uint64_t)(v))
#else
#if defined(CT_i32)
#define FROM_FLOAT(e) SATURATE(int32_t, e, INT32_MIN, INT32_MAX, 2147483648.0)
#elif defined(CT_i64)
#define FROM_FLOAT(e) SATURATE(int64_t, e, INT64_MIN, INT64_MAX, 9223372036854775808.0)
#else
#define FROM_FLOAT(e) SATURATE(uint64_t, e, 0, UINT64_MAX, 18446744073709551616.0)
#endif
#define FROM_f16(e)    ((V)FROM_FLOAT(f16_to_f32(e)))
#define FROM_bf16(e)   ((V)FROM_FLOAT(bf16_to_f32(e)))
#define FROM_f32(e)    ((V)FROM_FLOAT(e))
#define FROM_f64(e)    ((V)FROM_FLOAT(e))
#define FROM_ANY(e)    ((V)(e))
#define TO_f16(v)      f32_to_f16((float)(v))
#define TO_bf16(v)     f32_to_bf16((float)(v))
#define TO_f32(v)      ((float)(v))
#define TO_f64(v)      ((double)(v))
#define TO_SMALL(T, v) ((T)(v))
#define TO_i32(v)      ((int32_t)(v))
#define TO_u32(v)      ((uint32_t)(v))
#define TO_i64(v)      ((int64_t)(v))
#define TO_u64(v)      ((uint64_t)(v))
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
#define TO_u8(v)     TO_SMALL(uint8_t, v)
#define TO_u16(v)    TO_SMALL(uint16_t, v)
#define TO_i8(v)     TO_SMALL(int8_t, v)
#define TO_i16(v)    TO_SMALL(int16_t, v)

#if defined(__clang__)
#define CONVERT_EACH _Pragma("clang loop vectorize(assume_safety)") for (int64_t i = 0; i < n; i++)
#else
#define CONVERT_EACH _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++)
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

/* [DT_x] = load_x, ... for every dtype. */
#define CONVERT_TABLE(f)                                                                           \
    [DT_bool] = f##_bool, [DT_u8] = f##_u8, [DT_u16] = f##_u16, [DT_u32] = f##_u32,                \
    [DT_u64] = f##_u64, [DT_i8] = f##_i8, [DT_i16] = f##_i16, [DT_i32] = f##_i32,                  \
    [DT_i64] = f##_i64, [DT_f16] = f##_f16, [DT_bf16] = f##_bf16, [DT_f32] = f##_f32,              \
    [DT_f64] = f##_f64

#endif
