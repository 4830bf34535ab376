/* words_c.h: the scalar-C reading of the neutral words, for one compute type at a time.
 *
 * In: exactly one of CT_f32 CT_f64 CT_i32 CT_i64 CT_u64 CT_bool, defined by the includer.
 * Out: V (value), B (mask), I (integer as wide as V; float types only) and every word of
 * words_names.h for that type. Include words_undef.h, then define the next CT_ and include again;
 * the functions behind the words are made once a translation unit.
 *
 *     #define CT_f32
 *     #include "ops/words_c.h"
 *     void relu_f32(V *dst, const V *x, long n) { for (...) dst[i] = vmax(x[i], vnum(0)); }
 *     #include "ops/words_undef.h"
 *
 * The loops vectorise with -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math. What a word
 * means, special values included, is said once in words_names.h and holds for every reading.
 * Include system headers first: V, B and I are macros.
 */
#ifndef DIP_WORDS_C_COMMON
#define DIP_WORDS_C_COMMON
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WORD                   static inline __attribute__((always_inline))
#define WORD_PASTE(word, type) word##_##type
#define WORD_NAME(word, type)  WORD_PASTE(word, type)

/* A real fused multiply-add, or multiply then add: one choice an instruction-set class. */
#if defined(__FMA__) || defined(__aarch64__)
#define WORDS_FUSED 1
#else
#define WORDS_FUSED 0
#endif

/* Rounding to integral values in one instruction. */
#if defined(__SSE4_1__) || defined(__aarch64__)
#define WORDS_ROUND 1
#else
#define WORDS_ROUND 0
#endif
#endif /* DIP_WORDS_C_COMMON */

#include "words_names.h"

#define B bool

#if defined(CT_f32)
#define CT_NAME f32
#define V       float
#define I       int32_t
#define U       uint32_t
#define vnum(c) ((float)(c))
#ifndef DIP_WORDS_C_f32
#define DIP_WORDS_C_f32
#define WORD_LIBM(name) name##f
#include "words_float.h"
/* then, in its words: */
#include "math.def"
#undef WORD_LIBM
#endif

#elif defined(CT_f64)
#define CT_NAME f64
#define V       double
#define I       int64_t
#define U       uint64_t
#define vnum(c) ((double)(c))
#ifndef DIP_WORDS_C_f64
#define DIP_WORDS_C_f64
#define WORD_LIBM(name) name
#include "words_float.h"
/* then, in its words: */
#include "math.def"
#undef WORD_LIBM
#endif

#elif defined(CT_i32)
#define CT_NAME i32
#define V       int32_t
#define U       uint32_t
#define vnum(c) ((int32_t)(c))
#ifndef DIP_WORDS_C_i32
#define DIP_WORDS_C_i32
#define WORD_SIGNED 1
#include "words_int.h"
#undef WORD_SIGNED
#endif

#elif defined(CT_i64)
#define CT_NAME i64
#define V       int64_t
#define U       uint64_t
#define vnum(c) ((int64_t)(c))
#ifndef DIP_WORDS_C_i64
#define DIP_WORDS_C_i64
#define WORD_SIGNED 1
#include "words_int.h"
#undef WORD_SIGNED
#endif

#elif defined(CT_u64)
#define CT_NAME u64
#define V       uint64_t
#define U       uint64_t
#define vnum(c) ((uint64_t)(c))
#ifndef DIP_WORDS_C_u64
#define DIP_WORDS_C_u64
#define WORD_SIGNED 0
#include "words_int.h"
#undef WORD_SIGNED
#endif

#elif defined(CT_bool)
#define CT_NAME b8
#define V       uint8_t
#define vnum(c) ((uint8_t)((c) != 0))
#ifndef DIP_WORDS_C_b8
#define DIP_WORDS_C_b8
#include "words_bool.h"
#endif

#else
#error "define one of CT_f32 CT_f64 CT_i32 CT_i64 CT_u64 CT_bool before including words_c.h"
#endif
