/* References for math.def: f32 against double libm, f64 against long double libm (x87), and the
 * error in units of the last place. */
#ifndef DIP_MATH_REF_H
#define DIP_MATH_REF_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "math_loops.h"

typedef struct MathRef {
    const char *name;
    double bound; /* largest error allowed, in ULP */
    double (*f64)(double, double);
    long double (*f80)(long double, long double);
} MathRef;

static inline long double sigmoidl(long double x) { return 1 / (1 + expl(-x)); }
static inline double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* Newton on erf or erfc from a rough start: forty steps are plenty. */
static inline long double erfinvl(long double x) {
    long double a = fabsl(x);
    if (a >= 1) return a == 1 ? x * INFINITY : NAN;
    long double y = a < 0.5L ? a : sqrtl(-logl(1 - a));
    for (int i = 0; i < 40; i++) {
        long double miss = a < 0.5L ? erfl(y) - a : (1 - a) - erfcl(y);
        y -= miss * 0.88622692545275801365L * expl(y * y);
    }
    return copysignl(y, x);
}
static inline double erfinv(double x) { return (double)erfinvl(x); }

/* Up by recurrence, then the asymptotic series; reflection for negative x. */
#define MATH_DIGAMMA(name, T, log, tan, round, upto)                                               \
    static inline T name(T x) {                                                                    \
        if (x == 0) return copysign(INFINITY, -x);                                                 \
        if (x < 0) {                                                                               \
            T turn = x - round(x), pi = 3.14159265358979323846L;                                   \
            return turn == 0 || isinf(x) ? NAN : name(1 - x) - pi / tan(pi * turn);                \
        }                                                                                          \
        T sum = 0;                                                                                 \
        for (; x < upto; x++) sum += 1 / x;                                                        \
        T z = 1 / (x * x), tail = 691 / 32760.L - z * (1 / 12.L - z * 3617 / 8160);                \
        tail = 1 / 120.L - z * (1 / 252.L - z * (1 / 240.L - z * (1 / 132.L - z * tail)));         \
        return log(x) - 0.5L / x - z * (1 / 12.L - z * tail) - sum;                                \
    }
MATH_DIGAMMA(digamma, double, log, tan, round, 10)
MATH_DIGAMMA(digammal, long double, logl, tanl, roundl, 20)

#define MATH_TRIGAMMA(name, T, sin, round, upto)                                                   \
    static inline T name(T x) {                                                                    \
        if (x <= 0) {                                                                              \
            T ratio = 3.14159265358979323846L / sin(3.14159265358979323846L * (x - round(x)));     \
            return ratio * ratio - name(1 - x);                                                    \
        }                                                                                          \
        T sum = 0;                                                                                 \
        for (; x < upto; x++) sum += 1 / (x * x);                                                  \
        T z = 1 / (x * x), tail = 5 / 66.L - z * (691 / 2730.L - z * (7 / 6.L - z * 3617 / 510));  \
        tail = 1 / 6.L - z * (1 / 30.L - z * (1 / 42.L - z * (1 / 30.L - z * tail)));              \
        return sum + (1 + 0.5L / x + z * tail) / x;                                                \
    }
MATH_TRIGAMMA(trigamma, double, sin, round, 12)
MATH_TRIGAMMA(trigammal, long double, sinl, roundl, 25)

#define MATH_REF1(name, bound)                                                                     \
    static double ref_##name(double x, double y) { return (void)y, name(x); }                      \
    static long double ref_##name##l(long double x, long double y) { return (void)y, name##l(x); }
#define MATH_REF2(name, bound)                                                                     \
    static double ref_##name(double x, double y) { return name(x, y); }                            \
    static long double ref_##name##l(long double x, long double y) { return name##l(x, y); }
MATH_UNARY(MATH_REF1)
MATH_BINARY(MATH_REF2)
#define MATH_REF_ROW(name, bound) {#name, bound, ref_##name, ref_##name##l},
static const MathRef math_refs[] = {MATH_UNARY(MATH_REF_ROW) MATH_BINARY(MATH_REF_ROW)};

static inline const MathRef *math_ref(const char *name) {
    const MathRef *r = math_refs;
    while (strcmp(r->name, name) != 0) r++;
    return r;
}

/* |got - want| in ULP at `want`, or at 2^least where that is larger; 1e30 for a wrong class, or a
 * wrong sign of zero where nothing but the sign is left of `want`. An overflow counts by how far
 * `want` is from the largest number. */
static inline double math_ulp(double got, long double want, int digits, int least,
                              long double largest) {
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : 1e30;
    int e;
    frexpl(want, &e);
    long double ulp = ldexpl(1, (e < least ? least : e) - digits);
    if (isinf(got) || isinf(want)) {
        if (!signbit(got) != !signbit(want)) return 1e30;
        if (isinf(got) && isinf(want)) return 0;
        long double short_of = isinf(got) ? largest - fabsl(want) : HUGE_VALL;
        return short_of <= 0 ? 0 : short_of < 4 * ulp ? (double)(short_of / ulp) : 1e30;
    }
    bool is_sign = got == 0 && fabsl(want) < 0x1p-120L;
    if (is_sign && !signbit(got) != !signbit(want)) return 1e30;
    return (double)(fabsl(got - want) / ulp);
}

/* Where lgamma and digamma cross zero between the poles of negative x, the error counts in ULP of
 * the terms that cancel: lgamma|x| or log|x|. The f80 reference of digamma loses digits at its
 * root 1.46.
 */
static inline int math_least(const MathRef *r, double x, int least, bool f64) {
    if (isinf(x)) return least;
    if (strcmp(r->name, "lgamma") == 0 && x < 0) return ilogb(1 + fabs(lgamma(-x))) + 1;
    if (strcmp(r->name, "digamma") != 0) return least;
    if (x < 0) return ilogb(2 + log(1 - x)) + 1;
    return f64 && x > 1.4 && x < 1.5 ? -8 : least;
}

static inline double math_err32(const MathRef *r, float got, float x, float y) {
    return math_ulp(got, r->f64(x, y), 24, math_least(r, x, FLT_MIN_EXP, false), FLT_MAX);
}

static inline double math_err64(const MathRef *r, double got, double x, double y) {
    return math_ulp(got, r->f80(x, y), 53, math_least(r, x, DBL_MIN_EXP, true), DBL_MAX);
}

#endif
