/* A block of points at a time: their places in the input, then for each of the elements around them
 * (the corners) its offset and weight, then for every channel the weighted sums. Each step is a
 * loop over the points without branches. Compiled once an instruction set (-DISA=base|avx2|avx512):
 * the oldest rounds by calls. */
#include <math.h>
#include <string.h>

#include "kernels/grid.h"

enum { BLOCK = 128, CORNERS = 4 };

typedef struct Block {
    int64_t n;
    int64_t input[BLOCK], out[BLOCK]; /* where the point's first channel begins, where it goes */
    double y[BLOCK], x[BLOCK];
    int64_t offset[CORNERS][BLOCK]; /* in the input */
    double weight[CORNERS][BLOCK];  /* 0 outside */
    int64_t mask[CORNERS][BLOCK];   /* all bits; none where the weight is 0 */
} Block;

/* ---- places */

static inline double limit(double v, double low, double high) {
    v = v > low ? v : low;
    return v < high ? v : high;
}

/* The period is a whole number: what the multiple of it leaves is exact. */
static void reflect(const Grid *g, int64_t size, int64_t n, double *v) {
    double low = g->align ? 0 : -0.5, period = 2 * (double)(g->align ? size - 1 : size);
    for (int64_t i = 0; i < n && period == 0; i++) v[i] = 0;
    for (int64_t i = 0; i < n && period > 0; i++) {
        double t = fabs(v[i] - low);
        t -= period * floor(t / period);
        t += t < 0 ? period : 0; /* the quotient was rounded up */
        v[i] = (t < period - t ? t : period - t) + low;
    }
}

/* Coordinates of [-1, 1] as elements of an axis of `size`; NaN stands outside. */
static void places(const Grid *g, int64_t size, int64_t n, const double *points, double *v) {
    double last = (double)(size - 1), scale = g->align ? last : (double)size;
    double shift = g->align ? 0 : 0.5;
    for (int64_t i = 0; i < n; i++) v[i] = (points[i] + 1) * 0.5 * scale - shift;
    if (g->reflection) reflect(g, size, n, v);
    double low = g->zeros ? -2 : 0, high = g->zeros ? last + 2 : last;
    for (int64_t i = 0; i < n; i++) /* far outside is all the same */
        v[i] = points[i] != points[i] ? -2 : limit(v[i], low, high);
}

/* ---- corners */

/* A whole number of 0 .. 2^52 - 1: an addition brings it to the low bits. */
static inline int64_t whole(double v) {
    int64_t bits;
    v += 0x1p52;
    memcpy(&bits, &v, sizeof v);
    return bits & 0xfffffffffffff;
}

static inline void put_corner(const Grid *g, Block *b, int k, int64_t i, double y, double x,
                              double weight) {
    double h = (double)g->x->dims[2], w = (double)g->x->dims[3];
    int inside = (y >= 0) & (x >= 0) & (y < h) & (x < w);
    b->offset[k][i] = b->input[i] + whole(inside ? y * w + x : 0);
    weight = inside ? weight : 0;
    b->weight[k][i] = weight;
    b->mask[k][i] = -(int64_t)(weight != 0);
}

static void find_corners(const Grid *g, Block *b) {
    if (g->nearest) {
        for (int64_t i = 0; i < b->n; i++) put_corner(g, b, 0, i, rint(b->y[i]), rint(b->x[i]), 1);
        return;
    }
    for (int64_t i = 0; i < b->n; i++) {
        double y = floor(b->y[i]), x = floor(b->x[i]), fy = b->y[i] - y, fx = b->x[i] - x;
        put_corner(g, b, 0, i, y, x, (1 - fy) * (1 - fx));
        put_corner(g, b, 1, i, y, x + 1, (1 - fy) * fx);
        put_corner(g, b, 2, i, y + 1, x, fy * (1 - fx));
        put_corner(g, b, 3, i, y + 1, x + 1, fy * fx);
    }
}

/* Points from `at` on: images follow each other. */
static void start_block(const Grid *g, Block *b, int64_t at, int64_t n) {
    int64_t points = g->r->dims[2] * g->r->dims[3], channels = g->x->dims[1];
    int64_t image = channels * g->x->dims[2] * g->x->dims[3];
    int64_t in = at / points * image, left = points - at % points;
    int64_t out = at / points * channels * points + at % points;
    b->n = n;
    for (int64_t i = 0; i < n; i++) {
        b->input[i] = in;
        b->out[i] = out++;
        if (--left) continue;
        in += image;
        out += (channels - 1) * points;
        left = points;
    }
}

/* ---- sums */

/* A weight of 0 hides what it stands beside, infinities too. */
static inline double kept(double v, int64_t mask) {
    int64_t bits;
    memcpy(&bits, &v, sizeof v);
    bits &= mask;
    memcpy(&v, &bits, sizeof v);
    return v;
}

#define SAMPLE(T)                                                                                  \
    static void add_corner_##T(const Block *b, int k, const T *x, double *restrict sums) {         \
        const int64_t *offset = b->offset[k], *mask = b->mask[k];                                  \
        const double *weight = b->weight[k];                                                       \
        double v[BLOCK];                                                                           \
        for (int64_t i = 0; i < b->n; i++) v[i] = (double)x[offset[i]];                            \
        for (int64_t i = 0; i < b->n; i++) sums[i] += kept(v[i] * weight[i], mask[i]);             \
    }                                                                                              \
                                                                                                   \
    static void sum_channels_##T(const Grid *g, const Block *b) {                                  \
        int64_t plane = g->x->dims[2] * g->x->dims[3], points = g->r->dims[2] * g->r->dims[3];     \
        bool together = b->out[b->n - 1] - b->out[0] == b->n - 1;                                  \
        for (int64_t c = 0; c < g->x->dims[1]; c++) {                                              \
            const T *x = (const T *)g->input + c * plane;                                          \
            T *r = (T *)g->out + c * points;                                                       \
            double sums[BLOCK] = {0};                                                              \
            for (int k = 0; k < (g->nearest ? 1 : CORNERS); k++) add_corner_##T(b, k, x, sums);    \
            if (together)                                                                          \
                for (int64_t i = 0; i < b->n; i++) r[b->out[0] + i] = (T)sums[i];                  \
            else                                                                                   \
                for (int64_t i = 0; i < b->n; i++) r[b->out[i]] = (T)sums[i];                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void sample_##T(void *ctx, int64_t begin, int64_t end) {                                \
        const Grid *g = ctx;                                                                       \
        Block b;                                                                                   \
        double y[BLOCK], x[BLOCK];                                                                 \
        for (int64_t n; begin < end; begin += n) {                                                 \
            n = end - begin < BLOCK ? end - begin : BLOCK;                                         \
            const T *at = (const T *)g->points + 2 * begin;                                        \
            for (int64_t i = 0; i < n; i++) {                                                      \
                x[i] = (double)at[2 * i];                                                          \
                y[i] = (double)at[2 * i + 1];                                                      \
            }                                                                                      \
            start_block(g, &b, begin, n);                                                          \
            places(g, g->x->dims[2], n, y, b.y);                                                   \
            places(g, g->x->dims[3], n, x, b.x);                                                   \
            find_corners(g, &b);                                                                   \
            sum_channels_##T(g, &b);                                                               \
        }                                                                                          \
    }
SAMPLE(float)
SAMPLE(double)

#define TABLE_NAME2(isa) grid_loops_##isa
#define TABLE_NAME1(isa) TABLE_NAME2(isa)
extern const GridLoops TABLE_NAME1(ISA);
const GridLoops TABLE_NAME1(ISA) = {sample_float, sample_double};
