/* Random tensors whose values are made group by group: uniform, normal and what follows from them
 * element by element; integers; permutations. */
#include "kernels/random.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "kernels/fill.h"
#include "kernels/loops.h"
#include "tensor/random.h"

enum { BLOCK = 512, GRAIN = 8192, INTEGERS = 2 * RANDOM_LANES };

/* ---- picking loops */

#define DECLARE(isa) extern const RandomLoops random_##isa##_f32, random_##isa##_f64;
DECLARE(base)
#if defined(__x86_64__)
DECLARE(avx2)
DECLARE(avx512)
#endif
static const RandomLoops *const tables[NISAS][2] = {
    {&random_base_f32, &random_base_f64},
#if defined(__x86_64__)
    {&random_avx2_f32, &random_avx2_f64},
    {&random_avx512_f32, &random_avx512_f64},
#endif
};

const RandomLoops *random_loops(DType float_type) {
    return tables[isa_level()][float_type == DT_f64];
}

/* ---- parts of a draw */

void random_uniform_f32(RandomPlace place, int64_t begin, int64_t n, float *out) {
    const RandomLoops *l = random_loops(DT_f32);
    float block[BLOCK];
    for (int64_t done = 0; done < n;) {
        int64_t group = (begin + done) / l->group, skip = (begin + done) % l->group;
        int64_t m = min_i64(BLOCK - skip, n - done);
        l->uniform(place.key, place.counter + (uint64_t)(group * RANDOM_LANES),
                   (skip + m + l->group - 1) / l->group, block);
        memcpy(out + done, block + skip, (size_t)m * sizeof *out);
        done += m;
    }
}

/* ---- draws of floats */

typedef enum Shape { AS_IS, AFFINE, BELOW, LOGARITHM, TRUNCATED } Shape;

typedef struct Draw {
    const RandomLoops *loops;
    RandomLoop *make;
    RandomPlace place;
    const Buf *out;
    DType ct;
    Shape shape;
    double scale, shift; /* value * scale + shift */
    double low, high;    /* limits of what comes out: BELOW excludes high, TRUNCATED keeps both */
    double from, width;  /* TRUNCATED: the part of [0, 1] that probabilities come from */
} Draw;

/* v[i] = v[i] * scale + shift in V, then limited. */
#define AFFINE_LOOP(T)                                                                             \
    {                                                                                              \
        T *v = block, scale = (T)s, shift = (T)t, lowest = (T)low, highest = (T)high;              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T x = v[i] * scale + shift;                                                            \
            v[i] = x < lowest ? lowest : x > highest ? highest : x;                                \
        }                                                                                          \
        return;                                                                                    \
    }
static void affine(DType ct, int64_t n, void *block, double s, double t, double low, double high) {
    if (ct == DT_f32) AFFINE_LOOP(float)
    AFFINE_LOOP(double)
}

/* The largest number below v of the type the result has. */
static double below(DType dtype, double v) {
    if (dtype == DT_f64) return nextafter(v, -INFINITY);
    if (dtype == DT_f32) return nextafterf((float)v, -INFINITY);
    double step = dtype == DT_f16 ? 0x1p-11 : 0x1p-8; /* of a number of size 1 */
    return v - fabs(v) * step * (v > 0 ? 1 : 2) - (v == 0 ? 1e-7 : 0);
}

static void finish(const Draw *d, int64_t n, void *block) {
    const CtLoops *l = loops(d->ct);
    switch (d->shape) {
    case AS_IS: return;
    case AFFINE: affine(d->ct, n, block, d->scale, d->shift, -INFINITY, INFINITY); return;
    case BELOW: affine(d->ct, n, block, d->scale, d->shift, d->low, d->high); return;
    case LOGARITHM: /* of 1 - u, which is never 0 */
        affine(d->ct, n, block, -1, 1, 0, 1);
        l->value[EW_ROW_log](n, block, (const void *[]){block});
        affine(d->ct, n, block, d->scale, 0, 0, INFINITY);
        return;
    case TRUNCATED: /* the inverse of the distribution function */
        affine(d->ct, n, block, 2 * d->width, 2 * d->from - 1, -INFINITY, INFINITY);
        l->value[EW_ROW_erfinv](n, block, (const void *[]){block});
        affine(d->ct, n, block, d->scale * sqrt(2.0), d->shift, d->low, d->high);
        return;
    }
}

static void draw_groups(void *ctx, int64_t begin, int64_t end) {
    const Draw *d = ctx;
    const Buf *out = d->out;
    DType to = (DType)out->type->dtype;
    int64_t total = type_count(out->type), group = d->loops->group, most = BLOCK / group;
    double block[BLOCK];
    while (begin < end) {
        int64_t ngroups = min_i64(end - begin, most), at = begin * group;
        int64_t n = min_i64(ngroups * group, total - at);
        char *dst = out->data + at * dtype_size(to);
        bool direct = to == d->ct && n == ngroups * group;
        void *made = direct ? (void *)dst : block;
        d->make(d->place.key, d->place.counter + (uint64_t)(begin * RANDOM_LANES), ngroups, made);
        finish(d, n, made);
        if (!direct) loops(d->ct)->store[to](n, dst, block);
        begin += ngroups;
    }
}

static void draw(Draw *d, const KernelArgs *a, int64_t key, int64_t counter, bool is_normal) {
    d->out = &a->out[0];
    d->ct = d->out->type->dtype == DT_f64 ? DT_f64 : DT_f32;
    d->loops = random_loops(d->ct);
    d->make = is_normal ? d->loops->normal : d->loops->uniform;
    d->place = (RandomPlace){(uint64_t)key, (uint64_t)counter};
    int64_t group = d->loops->group, n = type_count(d->out->type);
    parallel_for((n + group - 1) / group, GRAIN / group, draw_groups, d);
}

void run_standard_normal(const KernelArgs *a) {
    const attrs_standard_normal *at = a->attrs;
    draw(&(Draw){.shape = AS_IS}, a, at->key, at->counter, true);
}

void run_normal(const KernelArgs *a) {
    const attrs_normal *at = a->attrs;
    draw(&(Draw){.shape = AFFINE, .scale = at->stddev, .shift = at->mean}, a, at->key, at->counter,
         true);
}

void run_uniform(const KernelArgs *a) {
    const attrs_uniform *at = a->attrs;
    bool plain = at->minval == 0 && at->maxval == 1 && dtype_size(a->out[0].type->dtype) >= 4;
    Draw d = {.shape = plain ? AS_IS : BELOW,
              .scale = at->maxval - at->minval,
              .shift = at->minval,
              .low = at->minval,
              .high = fmax(at->minval, below((DType)a->out[0].type->dtype, at->maxval))};
    draw(&d, a, at->key, at->counter, false);
}

void run_exponential(const KernelArgs *a) {
    const attrs_exponential *at = a->attrs;
    draw(&(Draw){.shape = LOGARITHM, .scale = -1 / at->lambd}, a, at->key, at->counter, false);
}

void run_truncated_normal(const KernelArgs *a) {
    const attrs_truncated_normal *at = a->attrs;
    double from = 0.5 * erfc(-at->low / sqrt(2.0)), to = 0.5 * erfc(-at->high / sqrt(2.0));
    /* Half a step inwards, so that open limits do not give infinities. */
    Draw d = {.shape = TRUNCATED,
              .scale = at->stddev,
              .shift = at->mean,
              .low = at->mean + at->stddev * at->low,
              .high = at->mean + at->stddev * at->high,
              .from = from + (to - from) * 0x1p-25,
              .width = to - from};
    draw(&d, a, at->key, at->counter, false);
}

/* ---- integers */

typedef struct Integers {
    RandomPlace place;
    const Buf *out;
    uint64_t range; /* 0: all 2^64 */
    int64_t low;
} Integers;

static void integer_groups(void *ctx, int64_t begin, int64_t end) {
    const Integers *s = ctx;
    DType to = (DType)s->out->type->dtype;
    int64_t total = type_count(s->out->type);
    uint64_t words[BLOCK];
    while (begin < end) {
        int64_t ngroups = min_i64(end - begin, BLOCK / INTEGERS), at = begin * INTEGERS;
        int64_t n = min_i64(ngroups * INTEGERS, total - at);
        random_loops(DT_f32)->integers(s->place.key,
                                       s->place.counter + (uint64_t)(begin * RANDOM_LANES), ngroups,
                                       s->range, words);
        for (int64_t i = 0; i < n; i++) words[i] += (uint64_t)s->low;
        loops(DT_i64)->store[to](n, s->out->data + at * dtype_size(to), words);
        begin += ngroups;
    }
}

void run_randint(const KernelArgs *a) {
    const attrs_randint *at = a->attrs;
    Integers s = {{(uint64_t)at->key, (uint64_t)at->counter},
                  &a->out[0],
                  (uint64_t)at->high - (uint64_t)at->low,
                  at->low};
    parallel_for((type_count(a->out[0].type) + INTEGERS - 1) / INTEGERS, GRAIN / INTEGERS,
                 integer_groups, &s);
}

static void swap_elements(int64_t size, char *base, int64_t i, int64_t j) {
    switch (size) {
#define SWAP(T)                                                                                    \
    {                                                                                              \
        T *v = (T *)base, kept = v[i];                                                             \
        v[i] = v[j];                                                                               \
        v[j] = kept;                                                                               \
        return;                                                                                    \
    }
    case 1: SWAP(uint8_t)
    case 2: SWAP(uint16_t)
    case 4: SWAP(uint32_t)
    default: SWAP(uint64_t)
#undef SWAP
    }
}

/* Fisher and Yates: from the end on, each place takes one of those not yet placed. */
void run_randperm(const KernelArgs *a) {
    const attrs_randperm *at = a->attrs;
    const Buf *out = &a->out[0];
    DType to = (DType)out->type->dtype;
    int64_t size = dtype_size(to), block[BLOCK];
    for (int64_t i = 0; i < at->n; i += BLOCK) {
        int64_t m = min_i64(at->n - i, BLOCK);
        for (int64_t k = 0; k < m; k++) block[k] = i + k;
        loops(DT_i64)->store[to](m, out->data + i * size, block);
    }
    uint64_t words[BLOCK];
    for (int64_t i = at->n - 1; i > 0; i--) {
        int64_t step = at->n - 1 - i;
        if (step % BLOCK == 0)
            random_loops(DT_f32)->integers((uint64_t)at->key,
                                           (uint64_t)at->counter +
                                               (uint64_t)(step / INTEGERS * RANDOM_LANES),
                                           BLOCK / INTEGERS, 0, words);
        swap_elements(size, out->data, i,
                      (int64_t)random_below(words[step % BLOCK], (uint64_t)i + 1));
    }
}

/* ---- bernoulli */

typedef struct Coins {
    RandomPlace place;
    const Buf *out, *p;
    int64_t one; /* the number 1 as an element */
} Coins;

static void coin_range(void *ctx, int64_t begin, int64_t end) {
    const Coins *s = ctx;
    DType to = (DType)s->out->type->dtype, from = (DType)s->p->type->dtype;
    int64_t size = dtype_size(to);
    bool single = s->p->type->rank == 0;
    float u[BLOCK];
    double p[BLOCK];
    if (single) loops(DT_f64)->load[from](1, p, s->p->data);
    for (; begin < end; begin += BLOCK) {
        int64_t n = min_i64(end - begin, BLOCK);
        random_uniform_f32(s->place, begin, n, u);
        if (!single) loops(DT_f64)->load[from](n, p, s->p->data + begin * dtype_size(from));
        char *dst = s->out->data + begin * size;
        memset(dst, 0, (size_t)(n * size));
        for (int64_t i = 0; i < n; i++)
            if ((double)u[i] < p[single ? 0 : i]) memcpy(dst + i * size, &s->one, (size_t)size);
    }
}

Status check_bernoulli(const KernelArgs *a) {
    const Buf *b = &a->in[1];
    DType d = (DType)b->type->dtype;
    int64_t n = type_count(b->type);
    double p[BLOCK];
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = min_i64(n - i, BLOCK);
        loops(DT_f64)->load[d](m, p, b->data + i * dtype_size(d));
        for (int64_t k = 0; k < m; k++)
            if (!(p[k] >= 0 && p[k] <= 1))
                return FAIL(VALUE, "bernoulli: p at element %lld is %g; legal: [0, 1]",
                            (long long)(i + k), p[k]);
    }
    return OK;
}

void run_bernoulli(const KernelArgs *a) {
    const attrs_bernoulli *at = a->attrs;
    Coins s = {{(uint64_t)at->key, (uint64_t)at->counter}, &a->out[0], &a->in[1], 0};
    number_bytes((DType)a->out[0].type->dtype, 1, &s.one);
    parallel_for(type_count(a->out[0].type), GRAIN, coin_range, &s);
}
