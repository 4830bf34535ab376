/* Batch norm in f32 and f64. Channels-last tensors are rows of channels, taken in chunks of a fixed
 * number of rows: each chunk gives a mean and a sum of squares (two passes within the cache), which
 * are merged in order by Chan's formula. Row-major tensors go channel by channel. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "kernels/kernel.h"
#include "kernels/layout.h"
#include "kernels/plane_loops.h"
#include "kernels/through.h"

typedef struct Norm {
    DType d;
    int64_t size, c, rows; /* rows: elements of a channel */
    int64_t n, plane;      /* rows = n x plane */
    int64_t chunk, nchunks;
    const PlaneLoops *loops;
    double epsilon;
    const char *x, *g, *weight, *bias; /* weight and bias may be NULL */
    char *mean, *variance, *y, *dweight, *dbias;
    char *parts; /* scratch: two rows of c numbers a chunk */
    char *coef;  /* scratch: mean, a, b, d */
} Norm;

static double get(const Norm *v, const char *p, int64_t i) {
    return v->d == DT_f32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}
static void put(const Norm *v, char *p, int64_t i, double x) {
    if (v->d == DT_f32)
        ((float *)p)[i] = (float)x;
    else
        ((double *)p)[i] = x;
}

static void sizes_of(const TensorType *x, Norm *v) {
    *v = (Norm){.d = x->dtype, .c = x->dims[1], .n = x->dims[0], .plane = 1};
    v->size = dtype_size(v->d);
    for (int i = 2; i < x->rank; i++) v->plane *= x->dims[i];
    v->rows = v->n * v->plane;
    /* A chunk of about 128 KB stays in the cache between the two passes. */
    v->chunk = min_i64(512, max_i64(16, 131072 / max_i64(1, v->c * v->size)));
    v->nchunks = (v->rows + v->chunk - 1) / v->chunk;
    v->loops = plane_loops(v->d);
}

static const char *data_of(const KernelArgs *a, int i) { return i < a->nin ? a->in[i].data : NULL; }

static Norm read_train(const KernelArgs *a) {
    Norm v;
    sizes_of(a->in[0].type, &v);
    v.epsilon = ((const attrs_batch_norm_train *)a->attrs)->epsilon;
    v.x = a->in[0].data, v.weight = data_of(a, 1), v.bias = data_of(a, 2);
    v.y = a->out[0].data, v.mean = a->out[1].data, v.variance = a->out[2].data;
    v.coef = a->scratch;
    v.parts = v.coef ? v.coef + 4 * v.c * v.size : NULL;
    return v;
}

static Norm read_grad(const KernelArgs *a) {
    Norm v;
    sizes_of(a->in[1].type, &v);
    v.epsilon = ((const attrs_batch_norm_train_grad *)a->attrs)->epsilon;
    v.g = a->in[0].data, v.x = a->in[1].data, v.weight = data_of(a, 4);
    v.mean = a->in[2].data, v.variance = a->in[3].data;
    v.y = a->out[0].data, v.dweight = a->out[1].data, v.dbias = a->out[2].data;
    v.coef = a->scratch;
    v.parts = v.coef ? v.coef + 4 * v.c * v.size : NULL;
    return v;
}

static Norm read_infer(const KernelArgs *a) {
    Norm v;
    sizes_of(a->in[0].type, &v);
    v.epsilon = ((const attrs_batch_norm_infer *)a->attrs)->epsilon;
    v.x = a->in[0].data, v.mean = a->in[1].data, v.variance = a->in[2].data;
    v.weight = data_of(a, 3), v.bias = data_of(a, 4);
    v.y = a->out[0].data;
    v.coef = a->scratch;
    return v;
}

/* ---- candidates */

static const char *check_types(const KernelArgs *a) {
    for (int i = 0; i < a->nin; i++) {
        const TensorType *t = a->in[i].type;
        if (t && (t->dtype != a->in[0].type->dtype || (t->dtype != DT_f32 && t->dtype != DT_f64)))
            return "it computes in one of float32 and float64";
    }
    return NULL;
}

const char *can_batch_norm(const KernelArgs *a) { return check_types(a); }

/* g and input of the gradient, or the one input. */
const char *can_batch_norm_last(const KernelArgs *a) {
    int n = a->op->id == OP_batch_norm_train_grad ? 2 : 1;
    for (int i = 0; i < a->nin; i++) {
        const Buf *b = &a->in[i];
        if (!b->type) continue;
        if (i < n ? !layout_is_last(b->type, b->strides) : !b->dense)
            return "an input is not channels-last";
    }
    return check_types(a);
}

/* Where the channels of an image take fewer elements, images are taken together. */
enum { SHORT_IMAGE = 256 };

static size_t scratch_of(const TensorType *x) {
    Norm v;
    sizes_of(x, &v);
    return (size_t)(max_i64((4 + 2 * v.nchunks) * v.c, 3 * 2 * SHORT_IMAGE) * v.size);
}

#define PREPARE_ROWS(op, input)                                                                    \
    Status prepare_##op(const KernelArgs *a, void **state, size_t *scratch) {                      \
        (void)state;                                                                               \
        *scratch = scratch_of(a->in[input].type);                                                  \
        return OK;                                                                                 \
    }                                                                                              \
    void release_##op(void *state) { (void)state; }
PREPARE_ROWS(batch_norm_train, 0)
PREPARE_ROWS(batch_norm_train_grad, 1)
PREPARE_ROWS(batch_norm_infer, 0)
#undef PREPARE_ROWS

/* ---- channels-last */

static char *part(const Norm *v, int64_t chunk, int which) {
    return v->parts + (2 * chunk + which) * v->c * v->size;
}
static char *coef(const Norm *v, int which) { return v->coef + which * v->c * v->size; }
static int64_t rows_in(const Norm *v, int64_t chunk) {
    return min_i64(v->chunk, v->rows - chunk * v->chunk);
}
static int64_t offset(const Norm *v, int64_t chunk) { return chunk * v->chunk * v->c * v->size; }

static void moments_range(void *ctx, int64_t begin, int64_t end) {
    const Norm *v = ctx;
    for (int64_t k = begin; k < end; k++) {
        int64_t rows = rows_in(v, k);
        const char *x = v->x + offset(v, k);
        char *mean = part(v, k, 0);
        v->loops->columns_sum(rows, v->c, v->c, x, mean);
        for (int64_t c = 0; c < v->c; c++) put(v, mean, c, get(v, mean, c) / (double)rows);
        v->loops->columns_square(rows, v->c, v->c, x, mean, part(v, k, 1));
    }
}

/* How channel c is scaled, at column `at` of `width`. */
static void set_scale(const Norm *v, int64_t c, double mean, double variance, int64_t at,
                      int64_t width) {
    double w = v->weight ? get(v, v->weight, c) : 1;
    put(v, v->coef, at, mean);
    put(v, v->coef, width + at, w / sqrt(variance + v->epsilon));
    put(v, v->coef, 2 * width + at, v->bias ? get(v, v->bias, c) : 0);
}

static void merge_moments(void *ctx, int64_t begin, int64_t end) {
    const Norm *v = ctx;
    for (int64_t c = begin; c < end; c++) {
        double mean = 0, square = 0, n = 0;
        for (int64_t k = 0; k < v->nchunks; k++) {
            double rows = (double)rows_in(v, k), d = get(v, part(v, k, 0), c) - mean;
            mean += d * rows / (n + rows);
            square += get(v, part(v, k, 1), c) + d * d * n * rows / (n + rows);
            n += rows;
        }
        put(v, v->mean, c, mean);
        put(v, v->variance, c, square / n);
        set_scale(v, c, mean, square / n, c, v->c);
    }
}

static void scale_range(void *ctx, int64_t begin, int64_t end) {
    const Norm *v = ctx;
    for (int64_t k = begin; k < end; k++)
        v->loops->columns_scale(rows_in(v, k), v->c, v->c, v->x + offset(v, k), v->coef,
                                v->y + offset(v, k));
}

/* Chunks a thread should take at least, and channels. */
static int64_t chunk_grain(const Norm *v) {
    return max_i64(1, 16384 / max_i64(1, v->chunk * v->c));
}
static int64_t channel_grain(const Norm *v) { return max_i64(1, 8192 / max_i64(1, v->nchunks)); }

void run_batch_norm_train_last(const KernelArgs *a) {
    Norm v = read_train(a);
    parallel_for(v.nchunks, chunk_grain(&v), moments_range, &v);
    parallel_for(v.c, channel_grain(&v), merge_moments, &v);
    parallel_for(v.nchunks, chunk_grain(&v), scale_range, &v);
}

/* Inference over images of few elements: a row of `width` elements, several images, is scaled by as
 * many means, factors and biases. `plane`: neighbours of one channel. */
static bool scale_short(Norm *v, int64_t plane) {
    int64_t image = v->c * plane, all = v->rows * v->c;
    if (image >= SHORT_IMAGE || image == 0) return false;
    int64_t width = (SHORT_IMAGE + image - 1) / image * image;
    for (int64_t i = 0; i < width; i++) {
        int64_t c = i % image / plane;
        set_scale(v, c, get(v, v->mean, c), get(v, v->variance, c), i, width);
    }
    Norm wide = *v;
    wide.c = width;
    wide.rows = all / width;
    wide.chunk = 16384 / width;
    wide.nchunks = (wide.rows + wide.chunk - 1) / wide.chunk;
    parallel_for(wide.nchunks, 1, scale_range, &wide);
    int64_t done = wide.rows * width;
    v->loops->columns_scale(1, width, all - done, v->x + done * v->size, v->coef,
                            v->y + done * v->size);
    return true;
}

void run_batch_norm_infer_last(const KernelArgs *a) {
    Norm v = read_infer(a);
    if (scale_short(&v, 1)) return;
    for (int64_t c = 0; c < v.c; c++)
        set_scale(&v, c, get(&v, v.mean, c), get(&v, v.variance, c), c, v.c);
    parallel_for(v.nchunks, chunk_grain(&v), scale_range, &v);
}

static void dots_range(void *ctx, int64_t begin, int64_t end) {
    const Norm *v = ctx;
    for (int64_t k = begin; k < end; k++)
        v->loops->columns_dot(rows_in(v, k), v->c, v->c, v->g + offset(v, k), v->x + offset(v, k),
                              v->mean, part(v, k, 0));
}

/* dx = a g + b (x - mean) + d, from sum(g) and sum(g (x - mean)); also dweight and dbias. */
static void grad_coefficients(const Norm *v, int64_t c, double sum, double dot, double out[4]) {
    double rstd = 1 / sqrt(get(v, v->variance, c) + v->epsilon);
    double w = v->weight ? get(v, v->weight, c) : 1, n = (double)v->rows;
    put(v, v->dweight, c, dot * rstd);
    put(v, v->dbias, c, sum);
    out[0] = get(v, v->mean, c);
    out[1] = w * rstd;
    out[2] = -w * rstd * rstd * rstd * dot / n;
    out[3] = -w * rstd * sum / n;
}

static void merge_dots(void *ctx, int64_t begin, int64_t end) {
    const Norm *v = ctx;
    for (int64_t c = begin; c < end; c++) {
        double sum = 0, dot = 0, out[4];
        for (int64_t k = 0; k < v->nchunks; k++) {
            sum += get(v, part(v, k, 0), c);
            dot += get(v, part(v, k, 1), c);
        }
        grad_coefficients(v, c, sum, dot, out);
        for (int i = 0; i < 4; i++) put(v, coef(v, i), c, out[i]);
    }
}

static void blend_range(void *ctx, int64_t begin, int64_t end) {
    const Norm *v = ctx;
    for (int64_t k = begin; k < end; k++)
        v->loops->columns_blend(rows_in(v, k), v->c, v->c, v->g + offset(v, k), v->x + offset(v, k),
                                v->coef, v->y + offset(v, k));
}

void run_batch_norm_train_grad_last(const KernelArgs *a) {
    Norm v = read_grad(a);
    parallel_for(v.nchunks, chunk_grain(&v), dots_range, &v);
    parallel_for(v.c, channel_grain(&v), merge_dots, &v);
    parallel_for(v.nchunks, chunk_grain(&v), blend_range, &v);
}

/* ---- row-major */

static int64_t plane_at(const Norm *v, int64_t image, int64_t c) {
    return (image * v->c + c) * v->plane * v->size;
}

static void train_channels(void *ctx, int64_t begin, int64_t end) {
    const Norm *v = ctx;
    for (int64_t c = begin; c < end; c++) {
        double sum = 0, square = 0, w = v->weight ? get(v, v->weight, c) : 1;
        for (int64_t i = 0; i < v->n; i++)
            sum += v->loops->row_sum(v->plane, v->x + plane_at(v, i, c));
        double mean = sum / (double)v->rows;
        for (int64_t i = 0; i < v->n; i++)
            square += v->loops->row_square(v->plane, v->x + plane_at(v, i, c), mean);
        double variance = square / (double)v->rows;
        put(v, v->mean, c, mean);
        put(v, v->variance, c, variance);
        for (int64_t i = 0; i < v->n; i++)
            v->loops->row_scale(v->plane, v->x + plane_at(v, i, c), mean,
                                w / sqrt(variance + v->epsilon), v->bias ? get(v, v->bias, c) : 0,
                                v->y + plane_at(v, i, c));
    }
}

static void infer_channels(void *ctx, int64_t begin, int64_t end) {
    const Norm *v = ctx;
    for (int64_t c = begin; c < end; c++) {
        double w = v->weight ? get(v, v->weight, c) : 1;
        double scale = w / sqrt(get(v, v->variance, c) + v->epsilon);
        for (int64_t i = 0; i < v->n; i++)
            v->loops->row_scale(v->plane, v->x + plane_at(v, i, c), get(v, v->mean, c), scale,
                                v->bias ? get(v, v->bias, c) : 0, v->y + plane_at(v, i, c));
    }
}

static void grad_channels(void *ctx, int64_t begin, int64_t end) {
    const Norm *v = ctx;
    for (int64_t c = begin; c < end; c++) {
        double sum = 0, dot = 0, mean = get(v, v->mean, c), out[4];
        for (int64_t i = 0; i < v->n; i++) {
            double s, d;
            v->loops->row_dot(v->plane, v->g + plane_at(v, i, c), v->x + plane_at(v, i, c), mean,
                              &s, &d);
            sum += s;
            dot += d;
        }
        grad_coefficients(v, c, sum, dot, out);
        for (int64_t i = 0; i < v->n; i++)
            v->loops->row_blend(v->plane, v->g + plane_at(v, i, c), v->x + plane_at(v, i, c), out,
                                v->y + plane_at(v, i, c));
    }
}

static void each_channel(Norm *v, ParallelBody body) {
    parallel_for(v->c, max_i64(1, 16384 / max_i64(1, v->rows)), body, v);
}

void run_batch_norm_train_planes(const KernelArgs *a) {
    Norm v = read_train(a);
    each_channel(&v, train_channels);
}
void run_batch_norm_infer_planes(const KernelArgs *a) {
    Norm v = read_infer(a);
    if (!scale_short(&v, v.plane)) each_channel(&v, infer_channels);
}
void run_batch_norm_train_grad_planes(const KernelArgs *a) {
    Norm v = read_grad(a);
    each_channel(&v, grad_channels);
}

void run_batch_norm_train_any(const KernelArgs *a) { through_run(a, run_batch_norm_train_planes); }
/* Without scratch of its own. */
static void infer_each_channel(const KernelArgs *a) {
    Norm v = read_infer(a);
    each_channel(&v, infer_channels);
}
void run_batch_norm_infer_any(const KernelArgs *a) { through_run(a, infer_each_channel); }
void run_batch_norm_train_grad_any(const KernelArgs *a) {
    through_run(a, run_batch_norm_train_grad_planes);
}
