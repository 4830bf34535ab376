/* Compiled many times: -DISA=base|avx2|avx512 with the matching machine options, -DCT=f32|f64.
 *
 * Sums run in vector lanes over at most a few hundred rows or a few thousand elements; the callers
 * add such partial sums up in double and in a fixed order. */
#include "kernels/plane_loops.h"

#include "base/base.h"

/* Lanes of one width everywhere: sums have the same bits on every set with fused multiply-add. */
enum { VBYTES = 64 };
#if defined(CT_f32)
typedef float T;
#else
typedef double T;
#endif
typedef T V __attribute__((vector_size(VBYTES)));
typedef T U __attribute__((vector_size(VBYTES), aligned(sizeof(T)), may_alias));
enum { VL = VBYTES / sizeof(T), WIDE = 4 * VL, ROW_BLOCK = 4096 };

static inline V load(const T *p) { return *(const U *)p; }
static inline void store(T *p, V v) { *(U *)p = v; }
static inline V splat(T x) { return x - (V){0}; }
/* Chains of single sums say where they fuse: the compiler would vectorise the products alone. */
static inline T madd(T a, T b, T sum) {
#if defined(__FMA__) && defined(CT_f32)
    return __builtin_fmaf(a, b, sum);
#elif defined(__FMA__)
    return __builtin_fma(a, b, sum);
#else
    return sum + a * b;
#endif
}

#if defined(__clang__)
#define EACH(n) _Pragma("clang loop vectorize(assume_safety)") for (int64_t i = 0; i < (n); i++)
#else
#define EACH(n) _Pragma("GCC ivdep") for (int64_t i = 0; i < (n); i++)
#endif

static void max_step(int64_t n, const void *src, int32_t place, bool first, void *dst,
                     int32_t *at) {
    const T *x = src;
    T *y = dst;
    if (first) {
        EACH(n) {
            y[i] = x[i];
            at[i] = place;
        }
        return;
    }
    EACH(n) {
        bool take = x[i] > y[i] || x[i] != x[i];
        y[i] = take ? x[i] : y[i];
        at[i] = take ? place : at[i];
    }
}

static void add_step(int64_t n, const void *src, double scale, void *dst) {
    const T *x = src;
    T *y = dst, s = (T)scale;
    EACH(n) y[i] += s * x[i];
}

/* ---- columns: four vectors of channels at a time stay in registers over the rows */

static void columns_sum(int64_t rows, int64_t step, int64_t n, const void *src, void *sum) {
    const T *x = src;
    T *s = sum;
    int64_t c = 0;
    for (; c + WIDE <= n; c += WIDE) {
        V a[4] = {{0}};
        for (int64_t r = 0; r < rows; r++)
            for (int q = 0; q < 4; q++) a[q] += load(x + r * step + c + q * VL);
        for (int q = 0; q < 4; q++) store(s + c + q * VL, a[q]);
    }
    for (; c < n; c++) {
        T a = 0;
        for (int64_t r = 0; r < rows; r++) a += x[r * step + c];
        s[c] = a;
    }
}

static void columns_square(int64_t rows, int64_t step, int64_t n, const void *src, const void *mean,
                           void *square) {
    const T *x = src, *m = mean;
    T *s = square;
    int64_t c = 0;
    for (; c + WIDE <= n; c += WIDE) {
        V a[4] = {{0}}, u[4];
        for (int q = 0; q < 4; q++) u[q] = load(m + c + q * VL);
        for (int64_t r = 0; r < rows; r++)
            for (int q = 0; q < 4; q++) {
                V d = load(x + r * step + c + q * VL) - u[q];
                a[q] += d * d;
            }
        for (int q = 0; q < 4; q++) store(s + c + q * VL, a[q]);
    }
    for (; c < n; c++) {
        T a = 0;
        for (int64_t r = 0; r < rows; r++) {
            T d = x[r * step + c] - m[c];
            a = madd(d, d, a);
        }
        s[c] = a;
    }
}

static void columns_dot(int64_t rows, int64_t step, int64_t n, const void *grad, const void *src,
                        const void *mean, void *sums) {
    const T *g = grad, *x = src, *m = mean;
    T *s = sums, *d = s + step;
    int64_t c = 0;
    for (; c + WIDE <= n; c += WIDE) {
        V a[4] = {{0}}, b[4] = {{0}}, u[4];
        for (int q = 0; q < 4; q++) u[q] = load(m + c + q * VL);
        for (int64_t r = 0; r < rows; r++)
            for (int q = 0; q < 4; q++) {
                V v = load(g + r * step + c + q * VL);
                a[q] += v;
                b[q] += v * (load(x + r * step + c + q * VL) - u[q]);
            }
        for (int q = 0; q < 4; q++) {
            store(s + c + q * VL, a[q]);
            store(d + c + q * VL, b[q]);
        }
    }
    for (; c < n; c++) {
        T a = 0, b = 0;
        for (int64_t r = 0; r < rows; r++) {
            a += g[r * step + c];
            b = madd(g[r * step + c], x[r * step + c] - m[c], b);
        }
        s[c] = a;
        d[c] = b;
    }
}

static void columns_scale(int64_t rows, int64_t step, int64_t n, const void *src, const void *coef,
                          void *dst) {
    const T *m = coef, *a = m + step, *b = a + step;
    for (int64_t r = 0; r < rows; r++) {
        const T *x = (const T *)src + r * step;
        T *y = (T *)dst + r * step;
        EACH(n) y[i] = a[i] * (x[i] - m[i]) + b[i];
    }
}

static void columns_blend(int64_t rows, int64_t step, int64_t n, const void *grad, const void *src,
                          const void *coef, void *dst) {
    const T *m = coef, *a = m + step, *b = a + step, *d = b + step;
    for (int64_t r = 0; r < rows; r++) {
        const T *g = (const T *)grad + r * step, *x = (const T *)src + r * step;
        T *y = (T *)dst + r * step;
        EACH(n) y[i] = a[i] * g[i] + (b[i] * (x[i] - m[i]) + d[i]);
    }
}

/* ---- rows */

static double lanes(V v) {
    double s = 0;
    for (int i = 0; i < VL; i++) s += (double)v[i];
    return s;
}

/* Sums the vector `term` (and the scalar one for what is left) over blocks of the row. */
#define ROW_SUM(term, scalar)                                                                      \
    double total = 0;                                                                              \
    for (int64_t at = 0; at < n; at += ROW_BLOCK) {                                                \
        int64_t end = min_i64(n, at + ROW_BLOCK), p = at;                                          \
        V s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};                                                  \
        for (; p + WIDE <= end; p += WIDE) {                                                       \
            s0 += term(p);                                                                         \
            s1 += term(p + VL);                                                                    \
            s2 += term(p + 2 * VL);                                                                \
            s3 += term(p + 3 * VL);                                                                \
        }                                                                                          \
        for (; p + VL <= end; p += VL) s0 += term(p);                                              \
        total += lanes((s0 + s1) + (s2 + s3));                                                     \
        for (; p < end; p++) total += (double)(scalar);                                            \
    }                                                                                              \
    return total

static double row_sum(int64_t n, const void *src) {
    const T *x = src;
#define TERM(p) load(x + (p))
    ROW_SUM(TERM, x[p]);
#undef TERM
}

static inline V squared(V v) { return v * v; }

static double row_square(int64_t n, const void *src, double mean) {
    const T *x = src, m = (T)mean;
    V u = splat(m);
#define TERM(p) squared(load(x + (p)) - u)
    ROW_SUM(TERM, (x[p] - m) * (x[p] - m));
#undef TERM
}

static double centred_dot(int64_t n, const T *g, const T *x, T m) {
    V u = splat(m);
#define TERM(p) (load(g + (p)) * (load(x + (p)) - u))
    ROW_SUM(TERM, g[p] * (x[p] - m));
#undef TERM
}

static void row_dot(int64_t n, const void *g, const void *x, double mean, double *sum,
                    double *dot) {
    *sum = row_sum(n, g);
    *dot = centred_dot(n, g, x, (T)mean);
}

static void row_scale(int64_t n, const void *src, double mean, double scale, double shift,
                      void *dst) {
    const T *x = src;
    T *y = dst, m = (T)mean, a = (T)scale, b = (T)shift;
    EACH(n) y[i] = a * (x[i] - m) + b;
}

static void row_blend(int64_t n, const void *grad, const void *src, const double coef[4],
                      void *dst) {
    const T *g = grad, *x = src;
    T *y = dst, m = (T)coef[0], a = (T)coef[1], b = (T)coef[2], d = (T)coef[3];
    EACH(n) y[i] = a * g[i] + (b * (x[i] - m) + d);
}

#define NAME2(isa, ct) plane_loops_##isa##_##ct
#define NAME1(isa, ct) NAME2(isa, ct)
extern const PlaneLoops NAME1(ISA, CT);
const PlaneLoops NAME1(ISA, CT) = {max_step,    add_step,      columns_sum,   columns_square,
                                   columns_dot, columns_scale, columns_blend, row_sum,
                                   row_square,  row_dot,       row_scale,     row_blend};
