/* Compiled many times: -DISA=base|avx2|avx512 with the matching machine options, -DCT=f32|f64. */
#include "kernels/sequence_loops.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "ops/words_c.h"

/* Lanes of one width everywhere: sums have the same bits on every set with fused multiply-add. */
enum { VBYTES = 64 };
typedef V Lanes __attribute__((vector_size(VBYTES)));
typedef V Unaligned __attribute__((vector_size(VBYTES), aligned(sizeof(V)), may_alias));
enum { VL = VBYTES / sizeof(V) };

#if defined(__clang__)
#define EACH(n) _Pragma("clang loop vectorize(assume_safety)") for (int64_t i = 0; i < (n); i++)
#else
#define EACH(n) _Pragma("GCC ivdep") for (int64_t i = 0; i < (n); i++)
#endif
#define ROWS for (int64_t r = 0; r < b->rows; r++)

static inline V *at(const void *p, int64_t i) { return (V *)p + i; }

/* ---- cells; gates are named as in the formulas */

static void lstm(const CellBlock *b) {
    ROWS {
        V *gi = at(b->gates, r * b->step), *gf = gi + b->h, *gg = gf + b->h, *go = gg + b->h;
        const V *before = at(b->before, r * b->h);
        V *cell = at(b->cell, r * b->h), *state = at(b->state, r * b->h);
        EACH(b->n) {
            V in = vsigmoid(gi[i]), forget = vsigmoid(gf[i]), new = vtanh(gg[i]);
            V out = vsigmoid(go[i]), c = vfma(forget, before[i], in * new);
            gi[i] = in;
            gf[i] = forget;
            gg[i] = new;
            go[i] = out;
            cell[i] = c;
            state[i] = out * vtanh(c);
        }
    }
}

static void lstm_grad(const CellBlock *b) {
    ROWS {
        const V *gi = at(b->gates, r * b->step), *gf = gi + b->h, *gg = gf + b->h, *go = gg + b->h;
        const V *before = at(b->before, r * b->h), *cell = at(b->cell, r * b->h);
        const V *dh = at(b->dstate, r * b->h);
        V *carry = at(b->carry, r * b->h);
        V *di = at(b->dgates, r * b->step), *df = di + b->h, *dg = df + b->h, *dout = dg + b->h;
        EACH(b->n) {
            V t = vtanh(cell[i]);
            V dc = vfma(dh[i] * go[i], 1 - t * t, carry[i]);
            dout[i] = dh[i] * t * (go[i] * (1 - go[i]));
            di[i] = dc * gg[i] * (gi[i] * (1 - gi[i]));
            df[i] = dc * before[i] * (gf[i] * (1 - gf[i]));
            dg[i] = dc * gi[i] * (1 - gg[i] * gg[i]);
            carry[i] = dc * gf[i];
        }
    }
}

static void gru(const CellBlock *b) {
    ROWS {
        V *gr = at(b->gates, r * b->step), *gz = gr + b->h, *gn = gz + b->h;
        const V *hr = at(b->extra, r * b->extra_step), *hz = hr + b->h, *hn = hz + b->h;
        const V *before = at(b->before, r * b->h);
        V *state = at(b->state, r * b->h), *hidden = at(b->hidden, r * b->h);
        EACH(b->n) {
            V reset = vsigmoid(gr[i] + hr[i]), update = vsigmoid(gz[i] + hz[i]);
            V new = vtanh(vfma(reset, hn[i], gn[i]));
            hidden[i] = hn[i];
            gr[i] = reset;
            gz[i] = update;
            gn[i] = new;
            state[i] = vfma(update, before[i] - new, new);
        }
    }
}

static void gru_grad(const CellBlock *b) {
    ROWS {
        const V *gr = at(b->gates, r * b->step), *gz = gr + b->h, *gn = gz + b->h;
        const V *before = at(b->before, r * b->h), *hn = at(b->hidden, r * b->h);
        const V *dh = at(b->dstate, r * b->h);
        V *carry = at(b->carry, r * b->h);
        V *dr = at(b->dgates, r * b->step), *dz = dr + b->h, *dn = dz + b->h;
        V *er = at(b->dhidden, r * b->step), *ez = er + b->h, *en = ez + b->h;
        EACH(b->n) {
            V n = dh[i] * (1 - gz[i]) * (1 - gn[i] * gn[i]);
            V z = dh[i] * (before[i] - gn[i]) * (gz[i] * (1 - gz[i]));
            V reset = n * hn[i] * (gr[i] * (1 - gr[i]));
            dr[i] = er[i] = reset;
            dz[i] = ez[i] = z;
            dn[i] = n;
            en[i] = n * gr[i];
            carry[i] = dh[i] * gz[i];
        }
    }
}

static void plain_tanh(const CellBlock *b) {
    ROWS {
        const V *g = at(b->gates, r * b->step);
        V *state = at(b->state, r * b->h);
        EACH(b->n) state[i] = vtanh(g[i]);
    }
}

static void plain_relu(const CellBlock *b) {
    ROWS {
        const V *g = at(b->gates, r * b->step);
        V *state = at(b->state, r * b->h);
        EACH(b->n) state[i] = vmax(g[i], vnum(0));
    }
}

static void plain_tanh_grad(const CellBlock *b) {
    ROWS {
        const V *state = at(b->state, r * b->h), *dh = at(b->dstate, r * b->h);
        V *dg = at(b->dgates, r * b->step);
        EACH(b->n) dg[i] = dh[i] * (1 - state[i] * state[i]);
    }
}

static void plain_relu_grad(const CellBlock *b) {
    ROWS {
        const V *state = at(b->state, r * b->h), *dh = at(b->dstate, r * b->h);
        V *dg = at(b->dgates, r * b->step);
        EACH(b->n) dg[i] = vsel(vgt(state[i], vnum(0)), dh[i], vnum(0));
    }
}

/* ---- attention rows */

static double scores(int64_t n, void *scored, double scale, const void *mask, double top) {
    V *s = scored, k = (V)scale;
    const V *m = mask;
    if (m)
        EACH(n) s[i] = vfma(k, s[i], m[i]);
    else
        EACH(n) s[i] *= k;
    V best[VL];
    int64_t p = 0;
    for (int i = 0; i < VL; i++) best[i] = (V)top;
    for (; p + VL <= n; p += VL)
        for (int i = 0; i < VL; i++) best[i] = s[p + i] > best[i] ? s[p + i] : best[i];
    for (; p < n; p++) best[0] = s[p] > best[0] ? s[p] : best[0];
    for (int i = 0; i < VL; i++) top = (double)best[i] > top ? (double)best[i] : top;
    return top;
}

static double lanes_sum(int64_t n, const V *x) {
    Lanes sum = {0};
    int64_t p = 0;
    for (; p + VL <= n; p += VL) sum += *(const Unaligned *)(x + p);
    double total = 0;
    for (int i = 0; i < VL; i++) total += (double)sum[i];
    for (; p < n; p++) total += (double)x[p];
    return total;
}

static double exp_sum(int64_t n, void *scored, double top) {
    V *s = scored, t = (V)top;
    EACH(n) s[i] = vexp(s[i] - t);
    return lanes_sum(n, s);
}

static void rescale(int64_t n, void *values, double by) {
    V *x = values, k = (V)by;
    EACH(n) x[i] *= k;
}

static double dot(int64_t n, const void *first, const void *second) {
    const V *x = first, *y = second;
    Lanes sum = {0};
    int64_t p = 0;
    for (; p + VL <= n; p += VL) sum += *(const Unaligned *)(x + p) * *(const Unaligned *)(y + p);
    double total = 0;
    for (int i = 0; i < VL; i++) total += (double)sum[i];
    for (; p < n; p++) total += (double)x[p] * (double)y[p];
    return total;
}

static void score_grad(int64_t n, const void *weights, void *grad, double delta, double scale) {
    const V *p = weights;
    V *dp = grad, d = (V)delta, k = (V)scale;
    EACH(n) dp[i] = p[i] * (dp[i] - d) * k;
}

#define NAME2(isa, ct) sequence_loops_##isa##_##ct
#define NAME1(isa, ct) NAME2(isa, ct)
extern const SequenceLoops NAME1(ISA, CT);
const SequenceLoops NAME1(ISA, CT) = {
    lstm,   lstm_grad, gru,     gru_grad, plain_tanh, plain_relu, plain_tanh_grad, plain_relu_grad,
    scores, exp_sum,   rescale, dot,      score_grad};
