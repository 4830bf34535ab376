/* Uniform and normal numbers in groups, compiled once an instruction set and float type: -DISA,
 * -DCT, -DCT_f32 or -DCT_f64. Gives the table random_<ISA>_<CT>.
 *
 * A group is 16 Philox counters side by side, so that each step of the generator is one vector
 * operation. Counter j gives the words w0 .. w3. f32: element 16 p + j of the group is made of word
 * p; f64: element 16 p + j of words 2 p and 2 p + 1. Normal numbers come in pairs by Box and Muller
 * (1958): planes 0 and 1 (f32: and 2 and 3) from the two uniform numbers at the same place. */
#include <stdint.h>

#include "kernels/random.h"
#include "ops/words_c.h"

enum { LANES = RANDOM_LANES };

#ifdef CT_f32
enum { PLANES = 4 };
#else
enum { PLANES = 2 };
#endif

#if defined(__clang__)
#define EACH_LANE _Pragma("clang loop vectorize(assume_safety)") for (int j = 0; j < LANES; j++)
#else
#define EACH_LANE _Pragma("GCC ivdep") for (int j = 0; j < LANES; j++)
#endif

/* philox() of tensor/random.c for LANES counters. */
static inline void draw(uint64_t key, uint64_t counter, uint32_t w[4][LANES]) {
    EACH_LANE {
        uint64_t at = counter + (uint64_t)j;
        uint32_t c0 = (uint32_t)at, c1 = (uint32_t)(at >> 32), c2 = 0, c3 = 0;
        uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
#pragma GCC unroll 10
        for (int round = 0; round < 10; round++) {
            uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
            uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
            c1 = (uint32_t)p1;
            c3 = (uint32_t)p0;
            c0 = n0;
            c2 = n2;
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        w[0][j] = c0;
        w[1][j] = c1;
        w[2][j] = c2;
        w[3][j] = c3;
    }
}

/* Words as numbers in [0, 1), multiples of 2^-24 or 2^-53. */
static inline void uniform_plane(uint32_t w[4][LANES], int plane, V *dst) {
#ifdef CT_f32
    EACH_LANE dst[j] = (float)(int32_t)(w[plane][j] >> 8) * 0x1p-24f;
#else
    EACH_LANE {
        double high = (double)(int32_t)(w[2 * plane][j] >> 1) * 0x1p-31;
        uint32_t low = w[2 * plane][j] << 21 | w[2 * plane + 1][j] >> 11;
        dst[j] = high + (double)(int32_t)(low & 0x3fffff) * 0x1p-53;
    }
#endif
}

/* Words as numbers in (0, 1], down to 2^-33 (f64: 2^-54), for logarithms. */
static inline void open_plane(uint32_t w[4][LANES], int plane, V *dst) {
#ifdef CT_f32
    EACH_LANE dst[j] = (float)(int32_t)(w[plane][j] >> 1) * 0x1p-31f + 0x1p-33f;
#else
    uniform_plane(w, plane, dst);
    EACH_LANE dst[j] = dst[j] + 0x1p-54;
#endif
}

static void uniform(uint64_t key, uint64_t counter, int64_t ngroups, void *out) {
    V *dst = out;
    uint32_t w[4][LANES];
    for (int64_t g = 0; g < ngroups; g++, dst += PLANES * LANES) {
        draw(key, counter + (uint64_t)g * LANES, w);
        for (int p = 0; p < PLANES; p++) uniform_plane(w, p, dst + p * LANES);
    }
}

/* The sine and cosine of 2 pi u for u in [0, 1): a quarter turn is taken off exactly; the rest, at
 * most pi / 4, by Taylor's series (f32: error below 2^-24) or by the words (f64). */
static inline void turn(V u, V *sine, V *cosine) {
    V quarter = vround(vmul(u, vnum(4)));
    V x = vmul(vsub(u, vmul(quarter, vnum(0.25))), vnum(6.28318530717958647693));
#ifdef CT_f32
    V z = vmul(x, x);
    V s = vfma(z, vnum(1.0 / 362880), vnum(-1.0 / 5040));
    s = vfma(z, vfma(z, s, vnum(1.0 / 120)), vnum(-1.0 / 6));
    s = vfma(vmul(z, x), s, x);
    V c = vfma(z, vnum(-1.0 / 3628800), vnum(1.0 / 40320));
    c = vfma(z, vfma(z, c, vnum(-1.0 / 720)), vnum(1.0 / 24));
    c = vfma(vmul(z, z), c, vfma(z, vnum(-0.5), vnum(1)));
#else
    V s = vsin(x), c = vcos(x);
#endif
    B swap = bor(veq(quarter, vnum(1)), veq(quarter, vnum(3)));
    B back = bor(veq(quarter, vnum(2)), veq(quarter, vnum(3)));
    B left = bor(veq(quarter, vnum(1)), veq(quarter, vnum(2)));
    V a = vsel(swap, c, s), b = vsel(swap, s, c);
    *sine = vsel(back, vneg(a), a);
    *cosine = vsel(left, vneg(b), b);
}

static inline void normal_pair(uint32_t w[4][LANES], int plane, V *dst) {
    V radius[LANES], angle[LANES];
    open_plane(w, plane, radius);
    uniform_plane(w, plane + 1, angle);
    EACH_LANE {
        V r = vsqrt(vmul(vnum(-2), vlog(radius[j]))), s, c;
        turn(angle[j], &s, &c);
        dst[j] = vmul(r, c);
        dst[j + LANES] = vmul(r, s);
    }
}

static void normal(uint64_t key, uint64_t counter, int64_t ngroups, void *out) {
    V *dst = out;
    uint32_t w[4][LANES];
    for (int64_t g = 0; g < ngroups; g++, dst += PLANES * LANES) {
        draw(key, counter + (uint64_t)g * LANES, w);
        for (int p = 0; p < PLANES; p += 2) normal_pair(w, p, dst + p * LANES);
    }
}

#ifdef CT_f32
/* 64-bit words, or for a range of at most 2^32 the high half of their product with it. */
static void integers(uint64_t key, uint64_t counter, int64_t ngroups, uint64_t range,
                     uint64_t *dst) {
    uint32_t w[4][LANES];
    for (int64_t g = 0; g < ngroups; g++, dst += 2 * LANES) {
        draw(key, counter + (uint64_t)g * LANES, w);
        for (int p = 0; p < 2; p++) {
            const uint32_t *high = w[2 * p], *low = w[2 * p + 1];
            uint64_t *to = dst + p * LANES;
            if (range && range >> 32 == 0)
                EACH_LANE to[j] = (high[j] * range + (low[j] * range >> 32)) >> 32;
            else
                EACH_LANE to[j] = random_below((uint64_t)high[j] << 32 | low[j], range);
        }
    }
}
#else
#define integers NULL
#endif

#define TABLE_NAME2(isa, ct) random_##isa##_##ct
#define TABLE_NAME1(isa, ct) TABLE_NAME2(isa, ct)
extern const RandomLoops TABLE_NAME1(ISA, CT);
const RandomLoops TABLE_NAME1(ISA, CT) = {PLANES * LANES, uniform, normal, integers};
