/* Running sums, products, extremes and logsumexp along an axis. Each line is scanned by one thread
 * from its start: f32 sums and products run in double. Lines side by side go through blocks of
 * columns; dtypes are converted block by block. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "kernels/kernel.h"
#include "kernels/loops.h"
#include "ops/scan.h"

enum { COLUMNS = 64, GRAIN = 8192 };

typedef enum ScanKind { SCAN_SUM, SCAN_PROD, SCAN_MAX, SCAN_MIN, SCAN_LOGSUMEXP } ScanKind;

typedef struct Scan {
    ScanKind kind;
    const Buf *in;
    Buf *out, *index; /* index NULL: not wanted */
    DType ct;
    int64_t n, inner, tiles;
    bool reverse, exclusive;
} Scan;

/* What is carried along up to COLUMNS lines. */
typedef struct Carry {
    union {
        double f[COLUMNS];
        int64_t i[COLUMNS];
        uint64_t u[COLUMNS];
    } value;
    double top[COLUMNS]; /* logsumexp: the largest so far; value is the sum beside it */
    int64_t at[COLUMNS];
    bool started;
} Carry;

/* A block of m elements of w lines, m x w in memory; x and y hold values of the compute type. */
typedef struct Block {
    int m, w;
    int64_t first; /* index of the block's first element along the axis */
    const void *x;
    void *y;
    int64_t *index; /* NULL: not wanted */
} Block;

/* Element k of line j, k counted in the direction of the scan. */
#define EACH_LINE for (int j = 0; j < b->w; j++)
#define EACH_STEP for (int k = 0; k < b->m; k++)
#define PLACE     ((s->reverse ? b->m - 1 - k : k) * b->w + j)

#define RUNNING(T, C, carried, op, start)                                                          \
    {                                                                                              \
        const T *x = b->x;                                                                         \
        T *y = b->y;                                                                               \
        EACH_LINE {                                                                                \
            C v = c->started ? c->value.carried[j] : start;                                        \
            EACH_STEP {                                                                            \
                int i = PLACE;                                                                     \
                C next = v op x[i];                                                                \
                y[i] = (T)(s->exclusive ? v : next);                                               \
                v = next;                                                                          \
            }                                                                                      \
            c->value.carried[j] = v;                                                               \
        }                                                                                          \
        return;                                                                                    \
    }
static void scan_sum(const Scan *s, Carry *c, const Block *b) {
    switch (s->ct) {
    case DT_f32: RUNNING(float, double, f, +, 0)
    case DT_f64: RUNNING(double, double, f, +, 0)
    default: RUNNING(uint64_t, uint64_t, u, +, 0) /* wraps around, signed or not */
    }
}
static void scan_prod(const Scan *s, Carry *c, const Block *b) {
    switch (s->ct) {
    case DT_f32: RUNNING(float, double, f, *, 1)
    case DT_f64: RUNNING(double, double, f, *, 1)
    default: RUNNING(uint64_t, uint64_t, u, *, 1)
    }
}

/* The later of equal ones; NaN stays. */
#define EXTREME(T, carried, at_least)                                                              \
    {                                                                                              \
        const T *x = b->x;                                                                         \
        T *y = b->y;                                                                               \
        EACH_LINE {                                                                                \
            T best = c->started ? (T)c->value.carried[j] : x[j];                                   \
            int64_t at = c->started ? c->at[j] : 0;                                                \
            EACH_STEP {                                                                            \
                int i = PLACE;                                                                     \
                bool taken = (x[i] != x[i]) | (x[i] at_least best);                                \
                best = taken ? x[i] : best;                                                        \
                at = taken ? b->first + k : at;                                                    \
                y[i] = best;                                                                       \
                b->index[i] = at;                                                                  \
            }                                                                                      \
            c->value.carried[j] = best;                                                            \
            c->at[j] = at;                                                                         \
        }                                                                                          \
        return;                                                                                    \
    }
static void scan_max(const Scan *s, Carry *c, const Block *b) {
    switch (s->ct) {
    case DT_f32: EXTREME(float, f, >=)
    case DT_f64: EXTREME(double, f, >=)
    case DT_i64: EXTREME(int64_t, i, >=)
    default: EXTREME(uint64_t, u, >=)
    }
}
static void scan_min(const Scan *s, Carry *c, const Block *b) {
    switch (s->ct) {
    case DT_f32: EXTREME(float, f, <=)
    case DT_f64: EXTREME(double, f, <=)
    case DT_i64: EXTREME(int64_t, i, <=)
    default: EXTREME(uint64_t, u, <=)
    }
}

static double logsumexp_step(double *top, double *sum, double x) {
    if (x > *top) {
        *sum = *sum * exp(*top - x) + 1;
        *top = x;
    } else if (x != -INFINITY) {
        *sum += x == *top ? 1 : exp(x - *top);
    }
    return *top + log(*sum);
}
static void scan_logsumexp(const Scan *s, Carry *c, const Block *b) {
    EACH_LINE {
        if (!c->started) c->top[j] = -INFINITY, c->value.f[j] = 0;
        EACH_STEP {
            int i = PLACE;
            bool single = s->ct == DT_f32;
            double x = single ? (double)((const float *)b->x)[i] : ((const double *)b->x)[i];
            double y = logsumexp_step(&c->top[j], &c->value.f[j], x);
            if (single)
                ((float *)b->y)[i] = (float)y;
            else
                ((double *)b->y)[i] = y;
        }
    }
}

static void scan_block(const Scan *s, Carry *c, const Block *b) {
    switch (s->kind) {
    case SCAN_SUM: scan_sum(s, c, b); break;
    case SCAN_PROD: scan_prod(s, c, b); break;
    case SCAN_MAX: scan_max(s, c, b); break;
    case SCAN_MIN: scan_min(s, c, b); break;
    case SCAN_LOGSUMEXP: scan_logsumexp(s, c, b); break;
    }
    c->started = true;
}

/* w lines side by side (one: dense) from element `at` on, converted block by block. */
static void scan_lines(const Scan *s, int64_t at, int w) {
    enum { BLOCK = 1024 };
    DType from = (DType)s->in->type->dtype, to = (DType)s->out->type->dtype;
    int64_t size = dtype_size(s->ct), step = BLOCK / w;
    uint64_t x[BLOCK], y[BLOCK];
    int64_t index[BLOCK];
    Carry c = {.started = false};
    bool dense = s->inner == 1;
    for (int64_t done = 0; done < s->n; done += step) {
        int m = (int)min_i64(step, s->n - done), rows = dense ? 1 : m, wide = dense ? m : w;
        int64_t place = at + (s->reverse ? s->n - done - m : done) * s->inner;
        for (int k = 0; k < rows; k++)
            loops(s->ct)->load[from](wide, (char *)x + k * wide * size,
                                     s->in->data + (place + k * s->inner) * dtype_size(from));
        scan_block(s, &c, &(Block){m, w, done, x, y, index});
        for (int k = 0; k < rows; k++) {
            int64_t row = place + k * s->inner;
            loops(s->ct)->store[to](wide, s->out->data + row * dtype_size(to),
                                    (char *)y + k * wide * size);
            if (s->index)
                memcpy(s->index->data + row * 8, index + k * wide, (size_t)wide * sizeof *index);
        }
    }
}

/* Sums in f32 and f64 along dense lines, the usual case. */
static void scan_plain(const Scan *s, int64_t at) {
    double sum = 0;
    if (s->ct == DT_f32) {
        const float *x = (const float *)s->in->data + at;
        float *y = (float *)s->out->data + at;
        for (int64_t i = 0; i < s->n; i++) y[i] = (float)(sum += x[i]);
        return;
    }
    const double *x = (const double *)s->in->data + at;
    double *y = (double *)s->out->data + at;
    for (int64_t i = 0; i < s->n; i++) y[i] = sum += x[i];
}

static void scan_range(void *ctx, int64_t begin, int64_t end) {
    const Scan *s = ctx;
    bool same = s->in->type->dtype == s->ct && s->out->type->dtype == s->ct;
    bool plain = s->kind == SCAN_SUM && same && !s->reverse && !s->exclusive &&
                 (s->ct == DT_f32 || s->ct == DT_f64);
    for (int64_t i = begin; i < end; i++) {
        int64_t j = i % s->tiles * COLUMNS, at = i / s->tiles * s->n * s->inner + j;
        if (plain && s->inner == 1)
            scan_plain(s, at);
        else
            scan_lines(s, at, (int)min_i64(COLUMNS, s->inner - j));
    }
}

/* Integers are carried in 64 bits. */
static DType carried(DType d) {
    if (dtype_is_float(d)) return dtype_info[d].compute;
    return d == DT_u64 ? DT_u64 : DT_i64;
}

static void run(const KernelArgs *a, Scan *s) {
    const TensorType *t = a->in[0].type;
    int64_t total = type_count(t);
    int axis;
    if (total == 0 || type_axis(a->op->name, *(const int64_t *)a->attrs, t->rank, &axis) != OK)
        return;
    s->in = &a->in[0];
    s->out = &a->out[0];
    s->n = t->rank ? t->dims[axis] : 1;
    s->inner = 1;
    for (int i = axis + 1; i < t->rank; i++) s->inner *= t->dims[i];
    s->tiles = (s->inner + COLUMNS - 1) / COLUMNS;
    int64_t each = s->n * min_i64(s->inner, COLUMNS);
    parallel_for(total / s->n / s->inner * s->tiles, max_i64(GRAIN / each, 1), scan_range, s);
}

void run_scan_sum(const KernelArgs *a) {
    const ScanAttrs *at = a->attrs;
    run(a, &(Scan){.kind = a->op->id == OP_cumprod ? SCAN_PROD : SCAN_SUM,
                   .ct = carried(a->out[0].type->dtype),
                   .reverse = at->reverse,
                   .exclusive = at->exclusive});
}

void run_scan_extreme(const KernelArgs *a) {
    run(a, &(Scan){.kind = a->op->id == OP_cummax ? SCAN_MAX : SCAN_MIN,
                   .ct = carried(a->in[0].type->dtype),
                   .index = &a->out[1]});
}

void run_scan_logsumexp(const KernelArgs *a) {
    run(a, &(Scan){.kind = SCAN_LOGSUMEXP, .ct = carried(a->in[0].type->dtype)});
}
