/* The loops of math_loops.h for one instruction set, made from the tables there. */
#include "math_loops.h"

#define UNARY(name, b32, b64)                                                                      \
    static void WORD_NAME(run_##name, CT_NAME)(size_t n, V *restrict dst, const V *restrict x,     \
                                               const V *restrict y) {                              \
        (void)y;                                                                                   \
        for (size_t i = 0; i < n; i++) dst[i] = v##name(x[i]);                                     \
    }
#define BINARY(name, b32, b64)                                                                     \
    static void WORD_NAME(run_##name, CT_NAME)(size_t n, V *restrict dst, const V *restrict x,     \
                                               const V *restrict y) {                              \
        for (size_t i = 0; i < n; i++) dst[i] = v##name(x[i], y[i]);                               \
    }

#define CT_f32
#include "ops/words_c.h"
MATH_UNARY(UNARY)
MATH_BINARY(BINARY)
#include "ops/words_undef.h"
#define CT_f64
#include "ops/words_c.h"
MATH_UNARY(UNARY)
MATH_BINARY(BINARY)
#include "ops/words_undef.h"

#define ROW1(name, b32, b64) {#name, 1, run_##name##_f32, run_##name##_f64},
#define ROW2(name, b32, b64) {#name, 2, run_##name##_f32, run_##name##_f64},
#define TABLE(isa)           WORD_PASTE(math_loops, isa)
const MathLoop TABLE(MATH_ISA)[] = {MATH_UNARY(ROW1) MATH_BINARY(ROW2){NULL, 0, NULL, NULL}};
