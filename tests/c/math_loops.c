/* The loops of math_loops.h for one instruction set, made from the tables there. */
#include "math_loops.h"

#define UNARY(name, bound)                                                                         \
    static void WORD_NAME(run_##name, CT_NAME)(size_t n, V *restrict dst, const V *restrict x,     \
                                               const V *restrict y) {                              \
        (void)y;                                                                                   \
        for (size_t i = 0; i < n; i++) dst[i] = v##name(x[i]);                                     \
    }
#define BINARY(name, bound)                                                                        \
    static void WORD_NAME(run_##name, CT_NAME)(size_t n, V *restrict dst, const V *restrict x,     \
                                               const V *restrict y) {                              \
        for (size_t i = 0; i < n; i++) dst[i] = v##name(x[i], y[i]);                               \
    }

#define CT_f32
#include "ops/words_c.h"
MATH_UNARY(UNARY)
MATH_BINARY(BINARY)
MATH_NEAR(UNARY)
#include "ops/words_undef.h"
#define CT_f64
#include "ops/words_c.h"
MATH_UNARY(UNARY)
MATH_BINARY(BINARY)
MATH_NEAR(UNARY)
#include "ops/words_undef.h"

#define RUN(name, type)   WORD_NAME(run_##name, type)
#define ROW(name, arity)  {#name, arity, RUN(name, f32), RUN(name, f64)},
#define ROW1(name, bound) ROW(name, 1)
#define ROW2(name, bound) ROW(name, 2)
#define ROW3(name, bound) ROW(name, 3)
#define TABLE(isa)        WORD_PASTE(math_loops, isa)
const MathLoop TABLE(MATH_ISA)[] = {MATH_UNARY(ROW1) MATH_BINARY(ROW2)
                                        MATH_NEAR(ROW3){NULL, 0, NULL, NULL}};
