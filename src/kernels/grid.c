/* grid_sample in one pass over the points: the elements around each and their weights are found
 * once, and read from every channel. Its gradient is that of the expansion in ops/infer_image.c. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "kernels/kernel.h"
#include "kernels/loops.h"

enum { GRAIN = 4096 };

typedef struct Grid {
    const TensorType *x, *r;
    const char *input, *points;
    char *out;
    bool align, nearest, zeros, reflection;
} Grid;

static double reflect(double v, double low, double high) {
    if (high <= low) return 0;
    double period = 2 * (high - low), t = fmod(fabs(v - low), period);
    return fmin(t, period - t) + low;
}

/* A coordinate of [-1, 1] in elements of an axis of n; NaN stands outside. */
static double place_of(const Grid *g, double v, int64_t n) {
    double last = (double)(n - 1);
    if (isnan(v)) return -2;
    v = g->align ? (v + 1) * 0.5 * last : (v + 1) * 0.5 * (double)n - 0.5;
    if (g->reflection) v = g->align ? reflect(v, 0, last) : reflect(v, -0.5, last + 0.5);
    if (!g->zeros) v = fmin(fmax(v, 0), last);
    return fmin(fmax(v, -2), last + 2); /* far outside is all the same */
}

typedef struct Corner {
    int64_t offset; /* in the plane; weight 0 outside */
    double weight;
} Corner;

static Corner corner_of(const Grid *g, double y, double x, double weight) {
    int64_t h = g->x->dims[2], w = g->x->dims[3];
    if (y < 0 || x < 0 || y > (double)(h - 1) || x > (double)(w - 1)) return (Corner){0, 0};
    return (Corner){(int64_t)y * w + (int64_t)x, weight};
}

static int corners_of(const Grid *g, double py, double px, Corner *out) {
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

/* Points begin .. end - 1 of (n, oh, ow). */
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
                    if (corners[k].weight != 0)                                                    \
                        sum += (double)x[corners[k].offset] * corners[k].weight;                   \
                *r = (T)sum;                                                                       \
            }                                                                                      \
        }                                                                                          \
    }
SAMPLE(float)
SAMPLE(double)

const char *can_grid_sample(const KernelArgs *a) {
    int d = a->in[0].type->dtype;
    return d == DT_f32 || d == DT_f64 ? NULL : "only float32 and float64";
}

static void sample(const KernelArgs *a, const char *input, const char *points, char *out,
                   bool is_double) {
    const attrs_grid_sample *at = a->attrs;
    const TensorType *r = a->out[0].type;
    Grid g = {.x = a->in[0].type,
              .r = r,
              .input = input,
              .points = points,
              .out = out,
              .align = at->align_corners == 1,
              .nearest = !strcmp(at->mode, "nearest"),
              .zeros = !strcmp(at->padding_mode, "zeros"),
              .reflection = !strcmp(at->padding_mode, "reflection")};
    int64_t n = r->dims[0] * r->dims[2] * r->dims[3];
    parallel_for(n, max_i64(GRAIN / max_i64(r->dims[1], 1), 1),
                 is_double ? sample_double : sample_float, &g);
}

void run_grid_sample(const KernelArgs *a) {
    sample(a, a->in[0].data, a->in[1].data, a->out[0].data, a->out[0].type->dtype == DT_f64);
}

/* Other floats through float32 copies of everything. */
Status prepare_grid_sample_any(const KernelArgs *a, void **state, size_t *scratch) {
    int64_t n = type_count(a->in[0].type) + type_count(a->in[1].type) + type_count(a->out[0].type);
    *state = NULL;
    *scratch = (size_t)n * sizeof(float) + sizeof(float);
    return OK;
}
void release_grid_sample_any(void *state) { (void)state; }

void run_grid_sample_any(const KernelArgs *a) {
    const CtLoops *l = loops(DT_f32);
    DType d = (DType)a->in[0].type->dtype;
    int64_t n = type_count(a->in[0].type), points = type_count(a->in[1].type);
    float *x = a->scratch, *grid = x + n, *out = grid + points;
    l->load[d](n, x, a->in[0].data);
    l->load[d](points, grid, a->in[1].data);
    sample(a, (char *)x, (char *)grid, (char *)out, false);
    l->store[d](type_count(a->out[0].type), a->out[0].data, out);
}
