/* Random numbers that need a varying number of words each: categories by weight, gamma, Poisson.
 * Value i takes counter i of the draw and as many streams of it as it needs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "kernels/kernel.h"
#include "kernels/loops.h"
#include "kernels/random.h"
#include "tensor/random.h"

enum { BLOCK = 256 };

/* (0, 1), 53 bits. */
static double unit(uint32_t high, uint32_t low) {
    return ((double)(high >> 1) * 0x1p-31 + (double)((high & 1) << 21 | low >> 11) * 0x1p-53) +
           0x1p-54;
}

/* The parameter of each element as double: results repeat the parameter's elements. */
static Status check_parameter(const KernelArgs *a, const char *name, bool may_be_zero) {
    const Buf *b = &a->in[0];
    DType d = (DType)b->type->dtype;
    int64_t n = type_count(b->type);
    double v[BLOCK];
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = min_i64(n - i, BLOCK);
        loops(DT_f64)->load[d](m, v, b->data + i * dtype_size(d));
        for (int64_t k = 0; k < m; k++)
            if (!(v[k] > 0 || (may_be_zero && v[k] == 0)) || v[k] > 1e15)
                return FAIL(VALUE, "%s: %s at element %lld is %g; legal: %s 0, up to 1e15",
                            a->op->name, name, (long long)(i + k), v[k],
                            may_be_zero ? "from" : "above");
    }
    return OK;
}

typedef double OneDraw(RandomPlace place, uint64_t counter, double parameter);
typedef struct Draws {
    RandomPlace place;
    const Buf *in, *out;
    OneDraw *one;
} Draws;

static void draw_range(void *ctx, int64_t begin, int64_t end) {
    const Draws *s = ctx;
    DType from = (DType)s->in->type->dtype, to = (DType)s->out->type->dtype;
    int64_t period = type_count(s->in->type);
    double v[BLOCK];
    while (begin < end) {
        int64_t at = begin % period, n = min_i64(min_i64(end - begin, BLOCK), period - at);
        loops(DT_f64)->load[from](n, v, s->in->data + at * dtype_size(from));
        for (int64_t i = 0; i < n; i++)
            v[i] = s->one(s->place, s->place.counter + (uint64_t)(begin + i), v[i]);
        loops(DT_f64)->store[to](n, s->out->data + begin * dtype_size(to), v);
        begin += n;
    }
}

static void draw_each(const KernelArgs *a, int64_t key, int64_t counter, OneDraw *one) {
    Draws s = {{(uint64_t)key, (uint64_t)counter}, &a->in[0], &a->out[0], one};
    parallel_for(type_count(a->out[0].type), 256, draw_range, &s);
}

/* ---- gamma: Marsaglia and Tsang, ACM TOMS 26 (2000) */

static double gamma_one(RandomPlace place, uint64_t counter, double alpha) {
    uint32_t w[4];
    double boost = 1, d = (alpha < 1 ? alpha + 1 : alpha) - 1.0 / 3, c = 1 / sqrt(9 * d);
    if (alpha < 1) {
        philox_stream(place.key, counter, 0, w);
        boost = pow(unit(w[0], w[1]), 1 / alpha);
    }
    for (uint64_t stream = 1;; stream++) {
        philox_stream(place.key, counter, stream, w);
        double u = unit(w[0], w[1]);
        double x = sqrt(-2 * log(((double)w[2] + 0.5) * 0x1p-32)) *
                   cos(6.283185307179586 * ((double)w[3] * 0x1p-32));
        double v = 1 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        if (log(u) < 0.5 * x * x + d - d * v + d * log(v)) return d * v * boost;
    }
}

Status check_random_gamma(const KernelArgs *a) { return check_parameter(a, "alpha", false); }

void run_random_gamma(const KernelArgs *a) {
    const attrs_random_gamma *at = a->attrs;
    draw_each(a, at->key, at->counter, gamma_one);
}

/* ---- Poisson: products of uniform numbers (Knuth) below 10, Hörmann's PTRS (1993) from there */

static double poisson_small(RandomPlace place, uint64_t counter, double rate) {
    double limit = exp(-rate), product = 1, count = 0;
    uint32_t w[4];
    for (uint64_t stream = 0;; stream++) {
        philox_stream(place.key, counter, stream, w);
        for (int k = 0; k < 4; k += 2) {
            product *= unit(w[k], w[k + 1]);
            if (product <= limit) return count;
            count++;
        }
    }
}

static double poisson_one(RandomPlace place, uint64_t counter, double rate) {
    if (rate < 10) return poisson_small(place, counter, rate);
    double b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
    uint32_t w[4];
    for (uint64_t stream = 0;; stream++) {
        philox_stream(place.key, counter, stream, w);
        double u = unit(w[0], w[1]) - 0.5, v = unit(w[2], w[3]), us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + rate + 0.43);
        if (us >= 0.07 && v <= v_r) return k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        int sign; /* lgamma would write it to a global variable, from every thread */
        if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <=
            k * log(rate) - rate - lgamma_r(k + 1, &sign))
            return k;
    }
}

Status check_random_poisson(const KernelArgs *a) { return check_parameter(a, "rate", true); }

void run_random_poisson(const KernelArgs *a) {
    const attrs_random_poisson *at = a->attrs;
    draw_each(a, at->key, at->counter, poisson_one);
}

/* ---- categories */

static void row_weights(const Buf *x, int64_t row, double *out) {
    DType d = (DType)x->type->dtype;
    int64_t n = x->type->dims[x->type->rank - 1];
    loops(DT_f64)->load[d](n, out, x->data + row * n * dtype_size(d));
}

/* Weights of a row: every one finite and not negative, `need` of them positive. */
static Status check_weights(const Buf *x, int64_t row, int64_t n, int64_t need) {
    DType d = (DType)x->type->dtype;
    double w[512];
    int64_t positive = 0;
    for (int64_t at = 0; at < n; at += (int64_t)COUNT_OF(w)) {
        int64_t m = min_i64(n - at, (int64_t)COUNT_OF(w));
        loops(DT_f64)->load[d](m, w, x->data + (row * n + at) * dtype_size(d));
        for (int64_t i = 0; i < m; i++) {
            if (!(w[i] >= 0) || isinf(w[i]))
                return FAIL(VALUE,
                            "multinomial: weight %lld of row %lld is %g; it must be finite and "
                            "not negative",
                            (long long)(at + i), (long long)row, w[i]);
            positive += w[i] > 0;
        }
    }
    if (positive >= need) return OK;
    return FAIL(VALUE, "multinomial: row %lld has %lld positive weights; %lld are needed",
                (long long)row, (long long)positive, (long long)need);
}

Status check_multinomial(const KernelArgs *a) {
    const attrs_multinomial *at = a->attrs;
    const Buf *x = &a->in[0];
    int64_t n = x->type->dims[x->type->rank - 1], total = type_count(x->type);
    int64_t need = at->replacement ? min_i64(at->num_samples, 1) : at->num_samples;
    if (n == 0 && at->num_samples > 0 && type_count(a->out[0].type) > 0)
        return FAIL(VALUE, "multinomial: input has no categories");
    for (int64_t row = 0; row < (n ? total / n : 0); row++) TRY(check_weights(x, row, n, need));
    return OK;
}

typedef struct Keyed {
    double key;
    int64_t index;
} Keyed;

typedef struct Categories {
    RandomPlace place;
    const Buf *x, *out;
    int64_t n, samples;
    bool replacement;
    char *scratch; /* a row: n doubles, or n Keyed and n doubles */
} Categories;

static void with_replacement(const Categories *c, int64_t row, double *sums, int64_t *out) {
    double total = 0;
    row_weights(c->x, row, sums);
    for (int64_t i = 0; i < c->n; i++) sums[i] = total += sums[i];
    for (int64_t s = 0; s < c->samples; s++) {
        uint32_t w[4];
        philox(c->place.key, c->place.counter + (uint64_t)(row * c->samples + s), w);
        double u = fmin(unit(w[0], w[1]) * total, nextafter(total, 0));
        int64_t low = 0, high = c->n - 1; /* the first category whose sum is above u */
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (sums[middle] > u)
                high = middle;
            else
                low = middle + 1;
        }
        out[s] = low;
    }
}

static int by_key(const void *a, const void *b) {
    const Keyed *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* keys[0 .. have - 1] is in order and has room for one more, or for the last one to leave. */
static void insert_key(Keyed *keys, int64_t have, int64_t room, Keyed k) {
    int64_t i = have < room ? have : room - 1;
    if (have == room && by_key(&keys[i], &k) < 0) return;
    for (; i > 0 && by_key(&k, &keys[i - 1]) < 0; i--) keys[i] = keys[i - 1];
    keys[i] = k;
}

/* Exponential clocks of these rates: the first to ring are the sample (Efraimidis and Spirakis
 * 2006). Few of them are kept in order while they come, of many all are sorted. */
static void without_replacement(const Categories *c, int64_t row, Keyed *keys, int64_t *out) {
    enum { FEW = 32 };
    double *weights = (double *)(keys + c->n);
    bool few = c->samples <= FEW;
    row_weights(c->x, row, weights);
    for (int64_t i = 0; i < c->n; i++) {
        uint32_t w[4];
        philox_stream(c->place.key, c->place.counter + (uint64_t)(row * c->samples),
                      (uint64_t)i + 1, w);
        Keyed k = {weights[i] > 0 ? -log(unit(w[0], w[1])) / weights[i] : INFINITY, i};
        if (few)
            insert_key(keys, min_i64(i, c->samples), c->samples, k);
        else
            keys[i] = k;
    }
    if (!few) qsort(keys, (size_t)c->n, sizeof *keys, by_key);
    for (int64_t s = 0; s < c->samples; s++) out[s] = keys[s].index;
}

static void category_rows(void *ctx, int64_t begin, int64_t end) {
    const Categories *c = ctx;
    size_t row_bytes =
        (size_t)c->n * (c->replacement ? sizeof(double) : sizeof(double) + sizeof(Keyed));
    for (int64_t row = begin; row < end; row++) {
        int64_t *out = (int64_t *)c->out->data + row * c->samples;
        void *scratch = c->scratch + (size_t)row * row_bytes;
        if (c->replacement)
            with_replacement(c, row, scratch, out);
        else
            without_replacement(c, row, scratch, out);
    }
}

/* Scratch for all rows. */
Status prepare_multinomial(const KernelArgs *a, void **state, size_t *scratch) {
    bool replacement = ((const attrs_multinomial *)a->attrs)->replacement;
    *state = NULL;
    *scratch = (size_t)type_count(a->in[0].type) *
               (replacement ? sizeof(double) : sizeof(double) + sizeof(Keyed));
    return OK;
}
void release_multinomial(void *state) { (void)state; }

void run_multinomial(const KernelArgs *a) {
    const attrs_multinomial *at = a->attrs;
    const TensorType *x = a->in[0].type;
    Categories c = {{(uint64_t)at->key, (uint64_t)at->counter},
                    &a->in[0],
                    &a->out[0],
                    x->dims[x->rank - 1],
                    at->num_samples,
                    at->replacement,
                    a->scratch};
    if (type_count(a->out[0].type) == 0) return;
    parallel_for(type_count(x) / c.n, max_i64(4096 / c.n, 1), category_rows, &c);
}
