/* resize_axis and its transpose: every mode of interpolation is a sparse matrix along one axis, a
 * few taps (source index, weight) for each result. The table is prepared once for sizes and mode.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "kernels/kernel.h"
#include "kernels/loops.h"
#include "tensor/pool.h"

enum { GRAIN = 16384, BLOCK = 512 };

typedef struct Tap {
    int64_t at;
    double weight;
} Tap;

/* Row i of the matrix: taps first[i] .. first[i + 1] - 1. */
typedef struct Taps {
    size_t nbytes;
    int64_t n;
    int64_t *first;
    Tap *taps;
} Taps;

/* ---- the table */

typedef struct Rule {
    int64_t from, to; /* sizes */
    const char *mode;
    bool align;
    double ratio; /* source elements a result element */
} Rule;

static int64_t limit(int64_t i, int64_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

static double place_of(const Rule *r, int64_t i) {
    if (r->align) return r->to > 1 ? (double)i * (double)(r->from - 1) / (double)(r->to - 1) : 0;
    return ((double)i + 0.5) * r->ratio - 0.5;
}

static int nearest_taps(const Rule *r, int64_t i, Tap *out) {
    double place = r->align                      ? floor(place_of(r, i) + 0.5)
                   : !strcmp(r->mode, "nearest") ? floor((double)i * r->ratio)
                                                 : floor(((double)i + 0.5) * r->ratio);
    out[0] = (Tap){place < (double)r->from ? limit((int64_t)place, r->from) : r->from - 1, 1};
    return 1;
}

static int linear_taps(const Rule *r, int64_t i, Tap *out) {
    double place = fmin(fmax(place_of(r, i), 0), (double)(r->from - 1));
    int64_t at = (int64_t)place;
    double part = place - (double)at;
    out[0] = (Tap){at, 1 - part};
    out[1] = (Tap){limit(at + 1, r->from), part};
    return part > 0 ? 2 : 1;
}

/* Keys' cubic convolution with a = -0.75. */
static double cubic(double d) {
    const double a = -0.75;
    d = fabs(d);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((d - 5) * d + 8) * d * a - 4 * a : 0;
}

static int cubic_taps(const Rule *r, int64_t i, Tap *out) {
    double place = fmin(fmax(place_of(r, i), -4), (double)r->from + 4), base = floor(place);
    for (int k = 0; k < 4; k++) {
        double at = base - 1 + k;
        out[k] = (Tap){limit((int64_t)at, r->from), cubic(place - at)};
    }
    return 4;
}

/* Bounds of the window that result i averages. */
static void area_window(const Rule *r, int64_t i, int64_t *begin, int64_t *end) {
    *begin = (int64_t)((__int128)i * r->from / r->to);
    *end = (int64_t)(((__int128)(i + 1) * r->from + r->to - 1) / r->to);
}

static int64_t count_taps(const Rule *r) {
    int64_t total = 0, begin, end;
    if (strcmp(r->mode, "area")) return r->to * 4;
    for (int64_t i = 0; i < r->to; i++) {
        area_window(r, i, &begin, &end);
        total += end - begin;
    }
    return total;
}

static int64_t row_taps(const Rule *r, int64_t i, Tap *out) {
    if (r->mode[0] == 'n') return nearest_taps(r, i, out);
    if (!strcmp(r->mode, "bicubic")) return cubic_taps(r, i, out);
    if (strcmp(r->mode, "area")) return linear_taps(r, i, out);
    int64_t begin, end;
    area_window(r, i, &begin, &end);
    for (int64_t k = begin; k < end; k++) out[k - begin] = (Tap){k, 1.0 / (double)(end - begin)};
    return end - begin;
}

static Taps *make_taps(const Rule *r) {
    size_t nbytes =
        sizeof(Taps) + (size_t)(r->to + 1) * sizeof(int64_t) + (size_t)count_taps(r) * sizeof(Tap);
    Taps *t = pool_small(nbytes);
    t->nbytes = nbytes;
    t->n = r->to;
    t->taps = (Tap *)(t + 1);
    t->first = (int64_t *)(t->taps + count_taps(r));
    int64_t at = 0;
    for (int64_t i = 0; i < r->to; i++) {
        t->first[i] = at;
        at += row_taps(r, i, t->taps + at);
    }
    t->first[r->to] = at;
    return t;
}

static Rule rule_of(int64_t from, int64_t to, const char *mode, int64_t align, double scale) {
    return (Rule){from, to, mode, align == 1 && strcmp(mode, "area"),
                  scale > 0 ? 1 / scale : (double)from / (double)to};
}

static void drop_taps(void *state) {
    Taps *t = state;
    pool_small_free(t, t->nbytes);
}

static bool is_half(const Buf *b) { return dtype_size((DType)b->type->dtype) < 4; }

/* float16 and bfloat16 pass through float32 copies. */
static size_t wide_bytes(const KernelArgs *a) {
    int64_t n = is_half(&a->in[0]) ? type_count(a->in[0].type) : 0;
    if (is_half(&a->out[0])) n += type_count(a->out[0].type);
    return n ? (size_t)n * sizeof(float) : 0;
}

static int64_t axis_of(const TensorType *x, int64_t axis) {
    return axis + (axis < 0 ? x->rank : 0);
}

static int64_t inner_of(const TensorType *x, int64_t axis) {
    int64_t n = 1;
    for (int64_t i = axis_of(x, axis) + 1; i < x->rank; i++) n *= x->dims[i];
    return n;
}

/* Long rows of halves are converted as they are read, those that taps name only. */
static bool reads_rows(const KernelArgs *a) {
    enum { LONG = 32 };
    int64_t axis = ((const attrs_resize_axis *)a->attrs)->axis;
    return is_half(&a->in[0]) && inner_of(a->in[0].type, axis) >= LONG;
}

Status prepare_resize_axis(const KernelArgs *a, void **state, size_t *scratch) {
    const attrs_resize_axis *at = a->attrs;
    int64_t from = a->in[0].type->dims[axis_of(a->in[0].type, at->axis)];
    Rule r = rule_of(from, at->size, at->mode, at->align_corners, at->scale);
    *state = make_taps(&r);
    *scratch = reads_rows(a) ? 0 : wide_bytes(a);
    return OK;
}
void release_resize_axis(void *state) { drop_taps(state); }

Status prepare_resize_axis_grad(const KernelArgs *a, void **state, size_t *scratch) {
    const attrs_resize_axis_grad *at = a->attrs;
    int64_t to = a->in[0].type->dims[axis_of(a->in[0].type, at->axis)];
    Rule r = rule_of(at->size, to, at->mode, at->align_corners, at->scale);
    *state = make_taps(&r);
    *scratch = wide_bytes(a);
    return OK;
}
void release_resize_axis_grad(void *state) { drop_taps(state); }

/* ---- applying it: x (outer, from, inner) to r (outer, to, inner), or back */

typedef struct Resize {
    const Taps *t;
    const char *src;
    char *dst;
    int64_t from, inner;
    DType dtype; /* of src */
} Resize;

/* Result rows begin .. end - 1 of (outer, to). The plane of taps is small; inner is the long axis
 * except at the last one, where each result is a short sum. */
#define APPLY(T)                                                                                   \
    static void apply_##T(void *ctx, int64_t begin, int64_t end) {                                 \
        const Resize *s = ctx;                                                                     \
        for (int64_t row = begin; row < end; row++) {                                              \
            int64_t i = row % s->t->n, n = s->inner;                                               \
            const T *x = (const T *)s->src + row / s->t->n * s->from * n;                          \
            T *r = (T *)s->dst + row * n;                                                          \
            const Tap *tap = s->t->taps + s->t->first[i], *last = s->t->taps + s->t->first[i + 1]; \
            if (n == 1) {                                                                          \
                T sum = x[tap->at] * (T)tap->weight;                                               \
                for (tap++; tap < last; tap++) sum += x[tap->at] * (T)tap->weight;                 \
                *r = sum;                                                                          \
                continue;                                                                          \
            }                                                                                      \
            for (int64_t k = 0; k < n; k++) r[k] = x[tap->at * n + k] * (T)tap->weight;            \
            for (tap++; tap < last; tap++)                                                         \
                for (int64_t k = 0; k < n; k++) r[k] += x[tap->at * n + k] * (T)tap->weight;       \
        }                                                                                          \
    }
APPLY(float)
APPLY(double)

/* The same from halves, converted block by block. */
static void apply_halves(void *ctx, int64_t begin, int64_t end) {
    const Resize *s = ctx;
    float block[BLOCK];
    int64_t n = s->inner, blocks = (n + BLOCK - 1) / BLOCK;
    for (int64_t part = begin * blocks; part < end * blocks; part++) {
        int64_t row = part / blocks, i = row % s->t->n, at = part % blocks * BLOCK;
        int64_t m = min_i64(n - at, BLOCK);
        const uint16_t *x = (const uint16_t *)s->src + row / s->t->n * s->from * n + at;
        float *r = (float *)s->dst + row * n + at;
        for (int64_t k = s->t->first[i]; k < s->t->first[i + 1]; k++) {
            float weight = (float)s->t->taps[k].weight;
            loops(DT_f32)->load[s->dtype](m, block, x + s->t->taps[k].at * n);
            if (k == s->t->first[i])
                for (int64_t j = 0; j < m; j++) r[j] = block[j] * weight;
            else
                for (int64_t j = 0; j < m; j++) r[j] += block[j] * weight;
        }
    }
}

/* Outer positions begin .. end - 1: g's rows are added where they came from, in order. */
#define APPLY_BACK(T)                                                                              \
    static void apply_back_##T(void *ctx, int64_t begin, int64_t end) {                            \
        const Resize *s = ctx;                                                                     \
        int64_t n = s->inner;                                                                      \
        for (int64_t o = begin; o < end; o++) {                                                    \
            const T *g = (const T *)s->src + o * s->t->n * n;                                      \
            T *r = (T *)s->dst + o * s->from * n;                                                  \
            memset(r, 0, (size_t)(s->from * n) * sizeof(T));                                       \
            for (int64_t i = 0; i < s->t->n; i++, g += n)                                          \
                for (int64_t at = s->t->first[i]; at < s->t->first[i + 1]; at++) {                 \
                    T weight = (T)s->t->taps[at].weight, *to = r + s->t->taps[at].at * n;          \
                    for (int64_t k = 0; k < n; k++) to[k] += g[k] * weight;                        \
                }                                                                                  \
        }                                                                                          \
    }
APPLY_BACK(float)
APPLY_BACK(double)

/* Input 0, or a copy of it in float32 if it needs one. */
static const char *widened(const KernelArgs *a, bool as_read) {
    const Buf *x = &a->in[0];
    if (!is_half(x) || as_read) return x->data;
    loops(DT_f32)->load[x->type->dtype](type_count(x->type), a->scratch, x->data);
    return a->scratch;
}

void run_resize_axis(const KernelArgs *a) {
    const TensorType *x = a->in[0].type;
    int64_t axis = ((const attrs_resize_axis *)a->attrs)->axis, total = type_count(a->out[0].type);
    bool rows = reads_rows(a);
    Resize s = {.t = a->state,
                .src = widened(a, rows),
                .dst = a->out[0].data,
                .from = x->dims[axis_of(x, axis)],
                .inner = inner_of(x, axis),
                .dtype = (DType)x->dtype};
    if (total == 0) return;
    ParallelBody body = rows ? apply_halves : x->dtype == DT_f64 ? apply_double : apply_float;
    parallel_for(total / s.inner, max_i64(GRAIN / s.inner, 1), body, &s);
}

void run_resize_axis_grad(const KernelArgs *a) {
    const TensorType *g = a->in[0].type, *r = a->out[0].type;
    int64_t axis = ((const attrs_resize_axis_grad *)a->attrs)->axis, total = type_count(r);
    bool half = is_half(&a->out[0]);
    Resize s = {.t = a->state,
                .src = widened(a, false),
                .dst = half ? (char *)((float *)a->scratch + type_count(g)) : a->out[0].data,
                .from = r->dims[axis_of(g, axis)],
                .inner = inner_of(g, axis)};
    if (total == 0) return;
    int64_t part = s.from * s.inner, work = max_i64(s.from, s.t->n) * s.inner;
    parallel_for(total / part, max_i64(GRAIN / work, 1),
                 r->dtype == DT_f64 ? apply_back_double : apply_back_float, &s);
    if (half) loops(DT_f32)->store[r->dtype](total, a->out[0].data, s.dst);
}
