/* The elements around each point and their weights are found once, and read from every channel.
 * Compiled once an instruction set (-DISA=base|avx2|avx512): the older ones round by calls. */
#include <math.h>
#include <string.h>

#include "kernels/grid.h"

static double reflect(double v, double low, double high) {
    if (high <= low) return 0;
    double period = 2 * (high - low), t = fabs(v - low);
    if (!(t < period)) t = fmod(t, period);
    return (t < period - t ? t : period - t) + low;
}

static inline double limit(double v, double low, double high) {
    v = v > low ? v : low;
    return v < high ? v : high;
}

/* A coordinate of [-1, 1] in elements of an axis of n; NaN stands outside. */
static inline double place_of(const Grid *g, double v, int64_t n) {
    double last = (double)(n - 1);
    if (isnan(v)) return -2;
    v = g->align ? (v + 1) * 0.5 * last : (v + 1) * 0.5 * (double)n - 0.5;
    if (g->reflection) v = g->align ? reflect(v, 0, last) : reflect(v, -0.5, last + 0.5);
    if (!g->zeros) v = limit(v, 0, last);
    return limit(v, -2, last + 2); /* far outside is all the same */
}

typedef struct Corner {
    int64_t offset; /* in the plane; weight 0 outside */
    double weight;
    int64_t keep; /* all bits; none where the weight is 0, which hides infinities */
} Corner;

/* Points are random to the branch predictor: no branches here. */
static inline Corner corner_of(const Grid *g, double y, double x, double weight) {
    int64_t h = g->x->dims[2], w = g->x->dims[3];
    int inside = (y >= 0) & (x >= 0) & (y <= (double)(h - 1)) & (x <= (double)(w - 1));
    int64_t offset = (int64_t)y * w + (int64_t)x;
    weight *= inside;
    return (Corner){offset & -(int64_t)inside, weight, -(int64_t)(weight != 0)};
}

static inline double weighed(const Corner *c, double v) {
    int64_t bits;
    v *= c->weight;
    memcpy(&bits, &v, sizeof v);
    bits &= c->keep;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline int corners_of(const Grid *g, double py, double px, Corner *out) {
    double y = place_of(g, py, g->x->dims[2]), x = place_of(g, px, g->x->dims[3]);
    if (g->nearest) {
        out[0] = corner_of(g, rint(y), rint(x), 1);
        return 1;
    }
    double y0 = floor(y), x0 = floor(x), fy = y - y0, fx = x - x0;
    out[0] = corner_of(g, y0, x0, (1 - fy) * (1 - fx));
    out[1] = corner_of(g, y0, x0 + 1, (1 - fy) * fx);
    out[2] = corner_of(g, y0 + 1, x0, fy * (1 - fx));
    out[3] = corner_of(g, y0 + 1, x0 + 1, fy * fx);
    return 4;
}

#define SAMPLE(T)                                                                                  \
    static void sample_##T(void *ctx, int64_t begin, int64_t end) {                                \
        const Grid *g = ctx;                                                                       \
        int64_t plane = g->x->dims[2] * g->x->dims[3], channels = g->x->dims[1];                   \
        int64_t points = g->r->dims[2] * g->r->dims[3];                                            \
        for (int64_t p = begin; p < end; p++) {                                                    \
            const T *at = (const T *)g->points + 2 * p;                                            \
            const T *x = (const T *)g->input + p / points * channels * plane;                      \
            T *r = (T *)g->out + p / points * channels * points + p % points;                      \
            Corner corners[4];                                                                     \
            int n = corners_of(g, (double)at[1], (double)at[0], corners);                          \
            for (int64_t c = 0; c < channels; c++, x += plane, r += points) {                      \
                double sum = 0;                                                                    \
                for (int k = 0; k < n; k++)                                                        \
                    sum += weighed(&corners[k], (double)x[corners[k].offset]);                     \
                *r = (T)sum;                                                                       \
            }                                                                                      \
        }                                                                                          \
    }
SAMPLE(float)
SAMPLE(double)

#define TABLE_NAME2(isa) grid_loops_##isa
#define TABLE_NAME1(isa) TABLE_NAME2(isa)
extern const GridLoops TABLE_NAME1(ISA);
const GridLoops TABLE_NAME1(ISA) = {sample_float, sample_double};
