/* References for math.def: f32 against double libm, f64 against long double libm (x87), and the
 * error in units of the last place. */
#ifndef DIP_MATH_REF_H
#define DIP_MATH_REF_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "math_loops.h"

typedef struct MathRef {
    const char *name;
    double (*f64)(double, double);
    long double (*f80)(long double, long double);
} MathRef;

static inline long double sigmoidl(long double x) { return 1 / (1 + expl(-x)); }
static inline double sigmoid(double x) { return 1 / (1 + exp(-x)); }

#define MATH_REF1(name, b32, b64)                                                                  \
    static double ref_##name(double x, double y) { return (void)y, name(x); }                      \
    static long double ref_##name##l(long double x, long double y) { return (void)y, name##l(x); }
#define MATH_REF2(name, b32, b64)                                                                  \
    static double ref_##name(double x, double y) { return name(x, y); }                            \
    static long double ref_##name##l(long double x, long double y) { return name##l(x, y); }
MATH_UNARY(MATH_REF1)
MATH_BINARY(MATH_REF2)
#define MATH_REF_ROW(name, b32, b64) {#name, ref_##name, ref_##name##l},
static const MathRef math_refs[] = {MATH_UNARY(MATH_REF_ROW) MATH_BINARY(MATH_REF_ROW)};

static inline const MathRef *math_ref(const char *name) {
    const MathRef *r = math_refs;
    while (strcmp(r->name, name) != 0) r++;
    return r;
}

/* |got - want| in ULP of the type with this precision and least exponent; 1e30 for a wrong class
 * or a wrong sign of zero. */
static inline double math_ulp(long double got, long double want, int digits, int least,
                              long double largest) {
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : 1e30;
    int e;
    frexpl(want, &e);
    long double ulp = ldexpl(1, (e < least ? least : e) - digits);
    if (fabsl(want) >= largest + ulp / 2 || isinf(got)) {
        if (isinf(got) && fabsl(want) >= largest - 2 * ulp && signbit(got) == signbit(want))
            return isinf(want) || fabsl(want) > largest ? 0 : (double)((largest - fabsl(want)) / ulp);
        if (isinf(want) || isinf(got)) return 1e30;
        return (double)(fabsl(got - want) / ulp);
    }
    if (got == 0 && signbit(got) != signbit(want)) return 1e30;
    return (double)(fabsl(got - want) / ulp);
}

static inline double math_err32(const MathRef *r, float got, float x, float y) {
    return math_ulp(got, r->f64(x, y), 24, FLT_MIN_EXP, FLT_MAX);
}

static inline double math_err64(const MathRef *r, double got, double x, double y) {
    return math_ulp(got, r->f80(x, y), 53, DBL_MIN_EXP, DBL_MAX);
}

#endif
