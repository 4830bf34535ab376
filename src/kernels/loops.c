/* The scalar-C reading of ewise.def: one loop a row, vectorised by the compiler.
 *
 * Compiled many times: -DISA=base|avx2|avx512 with the matching machine options, and -DCT_f32
 * -DCT=f32 (and so on) for the compute type. Gives the table loops_<ISA>_<CT>. */
#include "kernels/loops.h"

#include <math.h>
#include <string.h>

#include "kernels/convert.h"
#include "ops/slopes.h"
#include "ops/words_c.h"

#if defined(__clang__)
#define EACH _Pragma("clang loop vectorize(assume_safety)") for (int64_t i = 0; i < n; i++)
#else
#define EACH _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++)
#endif

/* ---- values */

/* From elements of type S, as V, to elements of type T. */
#define LOOP1(function, S, T, v)                                                                   \
    static void function(int64_t n, void *dst, const void *const *src) {                           \
        T *d = dst;                                                                                \
        const S *px = src[0];                                                                      \
        EACH {                                                                                     \
            V x = px[i];                                                                           \
            d[i] = (T)(v);                                                                         \
        }                                                                                          \
    }
#define LOOP2(function, S, T, v)                                                                   \
    static void function(int64_t n, void *dst, const void *const *src) {                           \
        T *d = dst;                                                                                \
        const S *px = src[0], *py = src[1];                                                        \
        EACH {                                                                                     \
            V x = px[i], y = py[i];                                                                \
            d[i] = (T)(v);                                                                         \
        }                                                                                          \
    }
#define LOOP3(function, S, T, v)                                                                   \
    static void function(int64_t n, void *dst, const void *const *src) {                           \
        T *d = dst;                                                                                \
        const S *px = src[0], *py = src[1], *pz = src[2];                                          \
        EACH {                                                                                     \
            V x = px[i], y = py[i], z = pz[i];                                                     \
            d[i] = (T)(v);                                                                         \
        }                                                                                          \
    }

/* Which classes have loops in this compute type: YES_(loop) or nothing. */
#define NOTHING(...)
#define GIVE(...) __VA_ARGS__
#if defined(CT_f32) || defined(CT_f64)
#define IS_FLOAT_CT 1
#define IF_EW_ANY   GIVE
#define IF_EW_NUM   GIVE
#define IF_EW_FLT   GIVE
#define IF_EW_INT   NOTHING
#define IF_EW_LOG   NOTHING
#define IF_EW_WHERE GIVE
#elif defined(CT_bool)
#define IF_EW_ANY   GIVE
#define IF_EW_NUM   NOTHING
#define IF_EW_FLT   NOTHING
#define IF_EW_INT   GIVE
#define IF_EW_LOG   GIVE
#define IF_EW_WHERE GIVE
#else
#define IF_EW_ANY   GIVE
#define IF_EW_NUM   GIVE
#define IF_EW_FLT   NOTHING
#define IF_EW_INT   GIVE
#define IF_EW_LOG   NOTHING
#define IF_EW_WHERE GIVE
#endif

#ifdef IS_FLOAT_CT
#define value_sin       full_sin
#define value_cos       full_cos
#define value_tan       full_tan
#define value_remainder full_remainder
#define value_fmod      full_fmod
#define value_floor_div full_floor_div
#endif
#define EW1(n, p, c, s, v, gx, d)         IF_##c(LOOP1(value_##n, V, V, v))
#define EW2(n, p, c, s, v, gx, gy, d)     IF_##c(LOOP2(value_##n, V, V, v))
#define EW3(n, p, c, s, v, gx, gy, gz, d) IF_##c(LOOP3(value_##n, V, V, v))
#define PR1(n, p, c, s, v, d)             IF_##c(LOOP1(value_##n, V, uint8_t, v))
#define PR2(n, p, c, s, v, d)             IF_##c(LOOP2(value_##n, V, uint8_t, v))
#include "ops/ewise.def"

#ifdef IS_FLOAT_CT
#undef value_sin
#undef value_cos
#undef value_tan
#undef value_remainder
#undef value_fmod
#undef value_floor_div

/* sqrt as pow has it: -0 gives 0, minus infinity infinity. */
WORD V root(V x) { return vsel(veq(x, vnum(-INFINITY)), vnum(INFINITY), vsqrt(vadd(x, vnum(0)))); }
#define POWER(k, exponent, power) LOOP1(value_power_##k, V, V, power)
POWERS(POWER)

/* Most of the time of sin, cos and tan goes into huge arguments, and fmod of huge quotients is
 * libm's, number by number: a block without them is done by the variants for near arguments, which
 * give the same bits. */
enum { NEAR_BLOCK = 512 };
#define NEAR_BLOCKS(name, is_near, near, ...)                                                      \
    static void value_##name(int64_t n, void *dst, const void *const *src) {                       \
        for (int64_t at = 0, end = n; at < end; at += NEAR_BLOCK) {                                \
            n = end - at < NEAR_BLOCK ? end - at : NEAR_BLOCK;                                     \
            V *d = (V *)dst + at;                                                                  \
            const V *const p[] = {__VA_ARGS__};                                                    \
            I far = inum(0);                                                                       \
            EACH far = ior(far, isel(is_near, inum(0), inum(1)));                                  \
            if (far)                                                                               \
                full_##name(n, d, (const void *const *)p);                                         \
            else                                                                                   \
                EACH d[i] = near;                                                                  \
        }                                                                                          \
    }
#define NEAR_LOOP1(name, is_near, near)                                                            \
    NEAR_BLOCKS(name, is_near(p[0][i]), near(p[0][i]), (const V *)src[0] + at)
#define NEAR_LOOP2(name, is_near, near)                                                            \
    NEAR_BLOCKS(name, is_near(p[0][i], p[1][i]), near(p[0][i], p[1][i]), (const V *)src[0] + at,   \
                (const V *)src[1] + at)
NEAR_LOOP1(sin, vis_near, vsin_near)
NEAR_LOOP1(cos, vis_near, vcos_near)
NEAR_LOOP1(tan, vis_near, vtan_near)
NEAR_LOOP2(remainder, vis_mod_near, vfloormod_near)
NEAR_LOOP2(fmod, vis_mod_near, vtruncmod_near)
NEAR_LOOP2(floor_div, vis_mod_near, vfloordiv_near)
#endif

/* ---- values of narrower dtypes */

#if defined(CT_i32)
#define NARROW u8
#define S      uint8_t
#include "kernels/narrow_body.h"
#define NARROW i8
#define S      int8_t
#include "kernels/narrow_body.h"
#define NARROW u16
#define S      uint16_t
#include "kernels/narrow_body.h"
#define NARROW i16
#define S      int16_t
#include "kernels/narrow_body.h"
#elif defined(CT_i64)
#define NARROW u32
#define S      uint32_t
#include "kernels/narrow_body.h"
#endif

/* ---- slopes */

#ifdef IS_FLOAT_CT
/* Operands the row does not name are dead code: their pointers are never followed. */
#define SLOPE(function, e)                                                                         \
    static void function(int64_t n, void *dst, const void *const *src) {                           \
        V *d = dst;                                                                                \
        const V *pg = src[0], *px = src[1], *py = src[2], *pz = src[3], *pr = src[4];              \
        (void)pg, (void)px, (void)py, (void)pz, (void)pr;                                          \
        EACH { d[i] = e; }                                                                         \
    }
#define x                             px[i]
#define y                             py[i]
#define z                             pz[i]
#define r                             pr[i]
#define g                             pg[i]
#define G(e)                          (e)
#define NG                            vnum(0)
#define EW1(n, p, c, s, v, gx, d)     IF_##c(SLOPE(slope_##n##_0, gx))
#define EW2(n, p, c, s, v, gx, gy, d) IF_##c(SLOPE(slope_##n##_0, gx) SLOPE(slope_##n##_1, gy))
#define EW3(n, p, c, s, v, gx, gy, gz, d)                                                          \
    IF_##c(SLOPE(slope_##n##_0, gx) SLOPE(slope_##n##_1, gy) SLOPE(slope_##n##_2, gz))
#define PR1(n, p, c, s, v, d)
#define PR2(n, p, c, s, v, d)
#include "ops/ewise.def"
#define POWER_SLOPE(k, exponent, power)                                                            \
    SLOPE(slope_power_##k, vsel(veq(y, vnum(0)), vnum(0), vmul(g, vmul(y, power))))
POWERS(POWER_SLOPE)
#undef x
#undef y
#undef z
#undef r
#undef g
#define SLOPES1(n) {slope_##n##_0},
#define SLOPES2(n) {slope_##n##_0, slope_##n##_1},
#define SLOPES3(n) {slope_##n##_0, slope_##n##_1, slope_##n##_2},
#endif

/* ---- the table */

#define TABLE_NAME2(isa, ct) loops_##isa##_##ct
#define TABLE_NAME1(isa, ct) TABLE_NAME2(isa, ct)
extern const CtLoops TABLE_NAME1(ISA, CT);

const CtLoops TABLE_NAME1(ISA, CT) = {
    .value =
        {
#define EW1(n, p, c, s, v, gx, d)         IF_##c([EW_ROW_##n] = value_##n, )
#define EW2(n, p, c, s, v, gx, gy, d)     IF_##c([EW_ROW_##n] = value_##n, )
#define EW3(n, p, c, s, v, gx, gy, gz, d) IF_##c([EW_ROW_##n] = value_##n, )
#define PR1(n, p, c, s, v, d)             IF_##c([EW_ROW_##n] = value_##n, )
#define PR2(n, p, c, s, v, d)             IF_##c([EW_ROW_##n] = value_##n, )
#include "ops/ewise.def"
        },
#ifdef IS_FLOAT_CT
    .slope =
        {
#define EW1(n, p, c, s, v, gx, d)         IF_##c([EW_ROW_##n] = SLOPES1(n))
#define EW2(n, p, c, s, v, gx, gy, d)     IF_##c([EW_ROW_##n] = SLOPES2(n))
#define EW3(n, p, c, s, v, gx, gy, gz, d) IF_##c([EW_ROW_##n] = SLOPES3(n))
#define PR1(n, p, c, s, v, d)
#define PR2(n, p, c, s, v, d)
#include "ops/ewise.def"
        },
#define POWER_VALUE_ROW(k, exponent, power) [k] = value_power_##k,
#define POWER_SLOPE_ROW(k, exponent, power) [k] = slope_power_##k,
    .power = {POWERS(POWER_VALUE_ROW)},
    .power_slope = {POWERS(POWER_SLOPE_ROW)},
#endif
#if defined(CT_i32)
    .narrow = {[DT_u8] = u8_table, [DT_i8] = i8_table, [DT_u16] = u16_table, [DT_i16] = i16_table},
#elif defined(CT_i64)
    .narrow = {[DT_u32] = u32_table},
#endif
    .load = {CONVERT_TABLE(load)},
    .store = {CONVERT_TABLE(store)},
};
