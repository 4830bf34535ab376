/* The functions of math.def as plain loops, one table an instruction set: math_loops.c is compiled
 * once for each with MATH_ISA naming it. Shared by test_math.c and the exhaustive program. */
#ifndef DIP_MATH_LOOPS_H
#define DIP_MATH_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Functions of one argument, then of two: name, largest error allowed in ULP. Last the "near"
 * variants, which give the bits of the function without the suffix for |x| < NEAR. */
/* clang-format off */
#define MATH_UNARY(X) \
    X(exp, 1.5)       \
    X(exp2, 1.5)      \
    X(expm1, 1.5)     \
    X(log, 1.5)       \
    X(log2, 1.5)      \
    X(log10, 1.5)     \
    X(log1p, 1.5)     \
    X(tanh, 1.5)      \
    X(sigmoid, 1.5)   \
    X(erf, 1.5)       \
    X(erfc, 2)        \
    X(sin, 1.5)       \
    X(cos, 1.5)       \
    X(tan, 1.5)       \
    X(asin, 1.5)      \
    X(acos, 1.5)      \
    X(atan, 1.5)      \
    X(sinh, 1.5)      \
    X(cosh, 1.5)      \
    X(asinh, 1.5)     \
    X(acosh, 1.5)     \
    X(atanh, 1.5)     \
    X(cbrt, 1.5)      \
    X(erfinv, 2)      \
    X(lgamma, 8)      \
    X(digamma, 8)     \
    X(trigamma, 8)    
#define MATH_BINARY(X) \
    X(pow, 1.5)       \
    X(atan2, 1.5)     
#define MATH_NEAR(X)   \
    X(sin_near, 1.5)   \
    X(cos_near, 1.5)   \
    X(tan_near, 1.5)
/* clang-format on */

typedef struct MathLoop {
    const char *name;
    int arity; /* 3: a near variant, of one argument */
    void (*f32)(size_t n, float *restrict dst, const float *restrict x, const float *restrict y);
    void (*f64)(size_t n, double *restrict dst, const double *restrict x, const double *restrict y);
} MathLoop;

extern const MathLoop math_loops_base[], math_loops_avx2[], math_loops_avx512[];

/* The table for "base", "avx2" or "avx512", ended by a NULL name; NULL: this machine cannot. */
static inline const MathLoop *math_loops(const char *isa) {
#ifdef __x86_64__
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
    if (strcmp(isa, "avx2") == 0) return avx2 ? math_loops_avx2 : NULL;
    if (strcmp(isa, "avx512") == 0) return avx512 ? math_loops_avx512 : NULL;
#endif
    return strcmp(isa, "base") == 0 ? math_loops_base : NULL;
}

#endif
