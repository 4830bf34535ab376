/* The loops of rows.h for the compute type that CT_<type> names. Sums over a row follow the written
 * order of lanes.h; sums down a column go element after element. */
#include "ops/words_c.h"

#include "kernels/lanes.h"

#define F(name) FN(name, any)

/* Lanes of products: the order of a leaf, however long the row. */
LANES_INLINE V F(lanes_dot)(int64_t n, const V *x, const V *y) {
    V t[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) EACH(l, LANES) {
            t[l] = vadd(t[l], x[i + l] * y[i + l]);
        }
    EACH(l, n - i) { t[l] = vadd(t[l], x[i + l] * y[i + l]); }
    return FN(join, sum)(t, LANES);
}

/* ---- softmax */

static void F(softmax)(int64_t n, bool is_log, void *to, const void *from) {
    V *y = to;
    const V *x = from;
    V top = FN(row, max)(n, x, 0);
    if (is_log) {
        V lse = vlog(FN(row, sumexp)(n, x, top));
        EACH(i, n) { y[i] = x[i] - top - lse; }
        return;
    }
    EACH(i, n) { y[i] = vexp(x[i] - top); }
    V scale = 1 / FN(row, sum)(n, y, 0);
    EACH(i, n) { y[i] *= scale; }
}

static void F(softmax_grad)(int64_t n, bool is_log, void *to, const void *from, const void *out) {
    V *dx = to;
    const V *g = from, *y = out;
    if (is_log) {
        V total = FN(row, sum)(n, g, 0);
        EACH(i, n) { dx[i] = g[i] - vexp(y[i]) * total; }
        return;
    }
    V dot = F(lanes_dot)(n, g, y);
    EACH(i, n) { dx[i] = (g[i] - dot) * y[i]; }
}

/* The largest of each column, and the sum of exp(x - largest). */
static void F(sumexp_columns)(int64_t n, int64_t stride, int w, const V *from, V *top, V *sum) {
    for (int j = 0; j < w; j++) top[j] = LOWEST, sum[j] = 0;
    for (int64_t i = 0; i < n; i++) {
        const V *x = from + i * stride;
        EACH(j, w) { top[j] = ((top[j] > x[j]) | (top[j] != top[j])) ? top[j] : x[j]; }
    }
    for (int64_t i = 0; i < n; i++) {
        const V *x = from + i * stride;
        EACH(j, w) { sum[j] += vexp(x[j] - top[j]); }
    }
}

static void F(softmax_columns)(int64_t n, int64_t stride, int w, bool is_log, void *to,
                               const void *from) {
    V top[COLUMNS], sum[COLUMNS];
    F(sumexp_columns)(n, stride, w, from, top, sum);
    EACH(j, w) { sum[j] = is_log ? vlog(sum[j]) : 1 / sum[j]; }
    for (int64_t i = 0; i < n; i++) {
        const V *x = (const V *)from + i * stride;
        V *y = (V *)to + i * stride;
        if (is_log) EACH(j, w) {
                y[j] = x[j] - top[j] - sum[j];
            }
        else
            EACH(j, w) { y[j] = vexp(x[j] - top[j]) * sum[j]; }
    }
}

static void F(softmax_grad_columns)(int64_t n, int64_t stride, int w, bool is_log, void *to,
                                    const void *from, const void *out) {
    V sum[COLUMNS] = {0};
    for (int64_t i = 0; i < n; i++) {
        const V *g = (const V *)from + i * stride, *y = (const V *)out + i * stride;
        if (is_log) EACH(j, w) {
                sum[j] += g[j];
            }
        else
            EACH(j, w) { sum[j] += g[j] * y[j]; }
    }
    for (int64_t i = 0; i < n; i++) {
        const V *g = (const V *)from + i * stride, *y = (const V *)out + i * stride;
        V *dx = (V *)to + i * stride;
        if (is_log) EACH(j, w) {
                dx[j] = g[j] - vexp(y[j]) * sum[j];
            }
        else
            EACH(j, w) { dx[j] = (g[j] - sum[j]) * y[j]; }
    }
}

/* ---- cross entropy */

/* A row of -inf alone has the largest element 0: its sum is 0, not NaN. */
static double F(logsumexp)(int64_t n, const void *x, double *largest) {
    V top = FN(row, max)(n, x, 0);
    if (isinf(top) && top < 0) top = 0;
    *largest = top;
    return vlog(FN(row, sumexp)(n, x, top));
}
static void F(exp_scaled)(int64_t n, double top, double lse, double scale, void *to,
                          const void *from) {
    V *y = to, t = (V)top, l = (V)lse, s = (V)scale;
    const V *x = from;
    EACH(i, n) { y[i] = s * vexp(x[i] - t - l); }
}
/* Down w columns; numbers as double, one a column. */
static void F(logsumexp_columns)(int64_t n, int64_t stride, int w, const void *x, double *top,
                                 double *lse) {
    V most[COLUMNS], sum[COLUMNS];
    F(sumexp_columns)(n, stride, w, x, most, sum);
    for (int j = 0; j < w; j++) {
        bool none = isinf(most[j]) && most[j] < 0;
        top[j] = none ? 0 : most[j];
        lse[j] = none ? -INFINITY : vlog(sum[j]);
    }
}
static void F(exp_scaled_columns)(int64_t n, int64_t stride, int w, const double *top,
                                  const double *lse, const double *scale, void *to,
                                  const void *from) {
    V t[COLUMNS], l[COLUMNS], s[COLUMNS];
    for (int j = 0; j < w; j++) t[j] = (V)top[j], l[j] = (V)lse[j], s[j] = (V)scale[j];
    for (int64_t i = 0; i < n; i++) {
        const V *x = (const V *)from + i * stride;
        V *y = (V *)to + i * stride;
        EACH(j, w) { y[j] = s[j] == 0 ? 0 : s[j] * vexp(x[j] - t[j] - l[j]); }
    }
}
static void F(axpy)(int64_t n, double scale, const void *from, void *to) {
    V *y = to, s = (V)scale;
    const V *x = from;
    EACH(i, n) { y[i] += s * x[i]; }
}
static double F(dot)(int64_t n, const void *x, const void *y) { return F(lanes_dot)(n, x, y); }
static double F(sum)(int64_t n, const void *x) { return FN(row, sum)(n, x, 0); }

/* ---- normalisation */

static void F(moments)(int64_t n, bool centered, double eps, const void *x, double *mean,
                       double *rstd) {
    V m = centered ? FN(row, sum)(n, x, 0) / (V)n : 0;
    V v = FN(row, sqdev)(n, x, m) / (V)n;
    *mean = m;
    *rstd = 1 / vsqrt(v + (V)eps);
}

static void F(normalize)(int64_t n, double mean, double rstd, const void *weight, const void *bias,
                         void *to, const void *from) {
    V *y = to, m = (V)mean, r = (V)rstd;
    const V *x = from, *w = weight, *b = bias;
    if (w && b) EACH(i, n) {
            y[i] = (x[i] - m) * r * w[i] + b[i];
        }
    else if (w)
        EACH(i, n) { y[i] = (x[i] - m) * r * w[i]; }
    else if (b)
        EACH(i, n) { y[i] = (x[i] - m) * r + b[i]; }
    else
        EACH(i, n) { y[i] = (x[i] - m) * r; }
}

static void F(affine)(int64_t n, double scale, double shift, void *to, const void *from) {
    V *y = to, s = (V)scale, b = (V)shift;
    const V *x = from;
    EACH(i, n) { y[i] = x[i] * s + b; }
}

static void F(norm_sums)(int64_t n, double mean, double rstd, const void *grad, const void *weight,
                         const void *from, double *sum, double *sum_xh) {
    V t[LANES] = {0}, u[LANES] = {0}, m = (V)mean;
    const V *g = grad, *x = from, *w = weight;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) EACH(l, LANES) {
            V gw = w ? g[i + l] * w[i + l] : g[i + l];
            t[l] += gw;
            u[l] += gw * (x[i + l] - m);
        }
    EACH(l, n - i) {
        V gw = w ? g[i + l] * w[i + l] : g[i + l];
        t[l] += gw;
        u[l] += gw * (x[i + l] - m);
    }
    *sum = FN(join, sum)(t, LANES);
    *sum_xh = FN(join, sum)(u, LANES) * (V)rstd;
}

/* numbers: mean, rstd, a, b */
static void F(norm_grad)(int64_t n, const double *numbers, const void *grad, const void *weight,
                         const void *from, void *to, void *to_w, void *to_b) {
    V m = (V)numbers[0], r = (V)numbers[1], a = (V)numbers[2], b = (V)numbers[3];
    const V *g = grad, *x = from, *w = weight;
    V *dx = to, *dw = to_w, *db = to_b;
    if (w) EACH(i, n) {
            dx[i] = r * (g[i] * w[i] - a - (x[i] - m) * r * b);
        }
    else
        EACH(i, n) { dx[i] = r * (g[i] - a - (x[i] - m) * r * b); }
    if (dw) EACH(i, n) {
            dw[i] += g[i] * ((x[i] - m) * r);
        }
    if (db) EACH(i, n) {
            db[i] += g[i];
        }
}

static void F(affine_grad)(int64_t n, double on_g, double on_x, double rest, const void *grad,
                           const void *from, void *to) {
    V p = (V)on_g, q = (V)on_x, r = (V)rest, *dx = to;
    const V *g = grad, *x = from;
    EACH(i, n) { dx[i] = g[i] * p + x[i] * q + r; }
}

static double F(load)(const void *x, int64_t i) { return (double)((const V *)x)[i]; }
static void F(store)(void *x, int64_t i, double v) { ((V *)x)[i] = (V)v; }

#undef F
#include "ops/words_undef.h"
