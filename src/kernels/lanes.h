/* The written order of reductions over a dense row, for the compute type that words_c.h opened: the
 * functions add_<pass>, join_<pass>, columns_<pass> and row_<pass>, made from reduce.def.
 *
 * A leaf is a run of at most LEAF elements. Element i of a leaf goes to lane i mod L; the lanes
 * meet as a tree, lane j with lane j + L/2, then L/4 ... Leaves meet as a binary counter: full
 * subtrees of 1, 2, 4 ... consecutive leaves, what is left at the end from the right to the left.
 * L is 64 for rows of WIDE_ROW elements and more, else 16. */
#ifndef DIP_LANES_H
#define DIP_LANES_H

#include "kernels/lanes_sizes.h"
#include "ops/words_c.h"

enum { MAX_LEVELS = 48 }; /* a tree over 2^48 leaves */

#if defined(__clang__)
#define EACH(i, n) _Pragma("clang loop vectorize(assume_safety)") for (int64_t i = 0; i < (n); i++)
#else
#define EACH(i, n) _Pragma("GCC ivdep") for (int64_t i = 0; i < (n); i++)
#endif

#define FN(f, pass)      FN2(f, pass, CT_NAME)
#define FN2(f, pass, ct) FN3(f, pass, ct)
#define FN3(f, pass, ct) f##_##pass##_##ct
#define LANES_UNUSED     __attribute__((unused))
#define LANES_INLINE     static inline __attribute__((always_inline, unused))
#define LANES_GIVE(...)  __VA_ARGS__
#define LANES_IGNORE(...)

/* Associative meetings: four elements of a lane meet on their own, so that the chain of meetings in
 * a lane, which is what takes the time, is four times shorter. */
#define IN_ORDER(...)
#define ANY_ORDER(L, element, meeting)                                                             \
    for (; i + 4 * L <= n; i += 4 * L) EACH(l, L) {                                                \
            V x = xs[i + l], a = element, b;                                                       \
            x = xs[i + L + l], b = element, a = meeting;                                           \
            x = xs[i + 2 * L + l], b = element, a = meeting;                                       \
            x = xs[i + 3 * L + l], b = element, b = meeting;                                       \
            a = t[l];                                                                              \
            t[l] = meeting;                                                                        \
        }

/* n elements into the L lanes t. c is one number for the whole row. */
#define MAKE_ADD(name, L, order, element, meeting)                                                 \
    LANES_UNUSED static void FN(add##L, name)(int64_t n, const V *xs, V c, V *lanes) {             \
        V t[L];                                                                                    \
        int64_t i = 0;                                                                             \
        (void)c;                                                                                   \
        for (int l = 0; l < L; l++) t[l] = lanes[l];                                               \
        order(L, element, meeting);                                                                \
        for (; i + L <= n; i += L) EACH(l, L) {                                                    \
                V x = xs[i + l], a = t[l], b = element;                                            \
                t[l] = meeting;                                                                    \
            }                                                                                      \
        for (int l = 0; l < L; l++) lanes[l] = t[l];                                               \
        EACH(l, n - i) {                                                                           \
            V x = xs[i + l], a = lanes[l], b = element;                                            \
            lanes[l] = meeting;                                                                    \
        }                                                                                          \
    }

#define MAKE_JOIN(name, meeting)                                                                   \
    LANES_INLINE V FN(join, name)(V * t, const int L) {                                            \
        for (int w = L / 2; w; w /= 2) EACH(l, w) {                                                \
                V a = t[l], b = t[l + w];                                                          \
                t[l] = meeting;                                                                    \
            }                                                                                      \
        return t[0];                                                                               \
    }

#define MAKE_LEAF(name, start)                                                                     \
    LANES_UNUSED static void FN(add, name)(int64_t n, const V *xs, V c, V *lanes, bool wide) {     \
        wide ? FN(add64, name)(n, xs, c, lanes) : FN(add16, name)(n, xs, c, lanes);                \
    }                                                                                              \
    LANES_UNUSED static V FN(finish, name)(V * lanes, bool wide) {                                 \
        return wide ? FN(join, name)(lanes, 64) : FN(join, name)(lanes, 16);                       \
    }                                                                                              \
    LANES_UNUSED static V FN(leaf, name)(int64_t n, const V *xs, V c, bool wide) {                 \
        V lanes[LANES];                                                                            \
        for (int l = 0; l < LANES; l++) lanes[l] = start;                                          \
        FN(add, name)(n, xs, c, lanes, wide);                                                      \
        return FN(finish, name)(lanes, wide);                                                      \
    }

/* A whole row. */
#define MAKE_ROW(name, meeting)                                                                    \
    LANES_UNUSED static V FN(row, name)(int64_t n, const V *xs, V c) {                             \
        bool wide = n >= WIDE_ROW;                                                                 \
        if (n <= LEAF) return FN(leaf, name)(n, xs, c, wide);                                      \
        V levels[MAX_LEVELS], b;                                                                   \
        int top = 0;                                                                               \
        for (int64_t i = 0, k = 0;; i += LEAF, k++) {                                              \
            b = FN(leaf, name)(n - i < LEAF ? n - i : LEAF, xs + i, c, wide);                      \
            if (n - i <= LEAF) break;                                                              \
            for (int64_t bits = k; bits & 1; bits >>= 1) {                                         \
                V a = levels[--top];                                                               \
                b = meeting;                                                                       \
            }                                                                                      \
            levels[top++] = b;                                                                     \
        }                                                                                          \
        while (top) {                                                                              \
            V a = levels[--top];                                                                   \
            b = meeting;                                                                           \
        }                                                                                          \
        return b;                                                                                  \
    }

/* n rows of w columns, one after the other, into acc; c has a number a column. */
#define MAKE_COLUMNS(name, element, meeting)                                                       \
    LANES_UNUSED static void FN(columns, name)(int n, int64_t w, const V *const *rows,             \
                                               const V *cs, V *acc) {                              \
        int k = 0;                                                                                 \
        for (; k + 4 <= n; k += 4) {                                                               \
            const V *r0 = rows[k], *r1 = rows[k + 1], *r2 = rows[k + 2], *r3 = rows[k + 3];        \
            EACH(j, w) {                                                                           \
                V x = r0[j], c = cs[j], a = acc[j], b = element;                                   \
                a = meeting;                                                                       \
                x = r1[j], b = element, a = meeting;                                               \
                x = r2[j], b = element, a = meeting;                                               \
                x = r3[j], b = element, a = meeting;                                               \
                (void)c;                                                                           \
                acc[j] = a;                                                                        \
            }                                                                                      \
        }                                                                                          \
        for (; k < n; k++) {                                                                       \
            const V *row = rows[k];                                                                \
            EACH(j, w) {                                                                           \
                V x = row[j], c = cs[j], a = acc[j], b = element;                                  \
                (void)c;                                                                           \
                acc[j] = meeting;                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

#define MAKE_MEET(name, meeting)                                                                   \
    LANES_UNUSED static void FN(meet, name)(int64_t n, const V *as, V *bs) {                       \
        EACH(i, n) {                                                                               \
            V a = as[i], b = bs[i];                                                                \
            bs[i] = meeting;                                                                       \
        }                                                                                          \
    }

#define MAKE_PASS(name, order, start, element, meeting)                                            \
    MAKE_ADD(name, 64, order, element, meeting)                                                    \
    MAKE_ADD(name, 16, order, element, meeting)                                                    \
    MAKE_JOIN(name, meeting)                                                                       \
    MAKE_LEAF(name, start)                                                                         \
    MAKE_ROW(name, meeting)                                                                        \
    MAKE_COLUMNS(name, element, meeting)                                                           \
    MAKE_MEET(name, meeting)
#endif

#undef IF_PASS_ANY
#undef IF_PASS_NUM
#undef IF_PASS_FLT
#undef IF_PASS_BOOL
#undef LOWEST
#undef HIGHEST
#define IF_PASS_ANY LANES_GIVE
#if defined(CT_f32) || defined(CT_f64)
#define IF_PASS_NUM  LANES_GIVE
#define IF_PASS_FLT  LANES_GIVE
#define IF_PASS_BOOL LANES_IGNORE
#define LOWEST       ((V)-INFINITY)
#define HIGHEST      ((V)INFINITY)
#elif defined(CT_bool)
#define IF_PASS_NUM  LANES_IGNORE
#define IF_PASS_FLT  LANES_IGNORE
#define IF_PASS_BOOL LANES_GIVE
#define LOWEST       ((V)0)
#define HIGHEST      ((V)1)
#else
#define IF_PASS_NUM  LANES_GIVE
#define IF_PASS_FLT  LANES_IGNORE
#define IF_PASS_BOOL LANES_IGNORE
#if defined(CT_i32)
#define LOWEST  INT32_MIN
#define HIGHEST INT32_MAX
#elif defined(CT_i64)
#define LOWEST  INT64_MIN
#define HIGHEST INT64_MAX
#else
#define LOWEST  ((V)0)
#define HIGHEST UINT64_MAX
#endif
#endif

#define PASS(name, class, order, start, element, meeting)                                          \
    IF_##class(MAKE_PASS(name, order, start, element, meeting))
#include "ops/reduce.def"
