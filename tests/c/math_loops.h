/* The functions of math.def as plain loops, one table an instruction set: math_loops.c is compiled
 * once for each with MATH_ISA naming it. Shared by test_math.c and the exhaustive program. */
#ifndef DIP_MATH_LOOPS_H
#define DIP_MATH_LOOPS_H

#include <stddef.h>

/* Functions of one argument, then of two. Columns: name, largest error allowed in ULP for f32 and
 * f64. */
/* clang-format off */
#define MATH_UNARY(X) \
    X(exp, 2, 2)      \
    X(expm1, 2, 2)    \
    X(log, 2, 2)      \
    X(log1p, 2, 2)    \
    X(tanh, 2, 2)     \
    X(sigmoid, 2, 2)  \
    X(erf, 2, 2)      \
    X(sin, 2, 2)      \
    X(cos, 2, 2)
#define MATH_BINARY(X) \
    X(pow, 2, 2)
/* clang-format on */

typedef struct MathLoop {
    const char *name;
    int arity;
    void (*f32)(size_t n, float *restrict dst, const float *restrict x, const float *restrict y);
    void (*f64)(size_t n, double *restrict dst, const double *restrict x, const double *restrict y);
} MathLoop;

extern const MathLoop math_loops_base[], math_loops_avx2[], math_loops_avx512[];

/* Ends with a NULL name. The table for "base", "avx2" or "avx512"; NULL: this machine cannot. */
static inline const MathLoop *math_loops(const char *isa) {
#ifdef __x86_64__
    if (isa[0] == 'b') return math_loops_base;
    if (isa[3] == '2')
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? math_loops_avx2
                                                                                : NULL;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
               ? math_loops_avx512
               : NULL;
#else
    return isa[0] == 'b' ? math_loops_base : NULL;
#endif
}

#endif
