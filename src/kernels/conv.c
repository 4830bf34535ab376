/* Convolution without a library: windows are laid out as columns (im2col), so that each image is a
 * matrix product; its two gradients likewise. Tensors are row-major, in f32 or f64. */
#include "ops/conv.h"

#include <string.h>

#include "base/parallel.h"
#include "kernels/product.h"
#include "kernels/through.h"

typedef struct Conv {
    ConvShape s;
    DType d;
    int64_t size;            /* bytes of an element */
    int64_t inputs, outputs; /* elements of a plane */
    int64_t taps;            /* elements of a kernel */
    int64_t gi, go;          /* channels of a group */
    char *columns;           /* (gi * taps, outputs) */
    char *image;             /* gi planes of one image and group */
} Conv;

static void read_conv(const KernelArgs *a, Conv *v) {
    const TensorType *types[3] = {0};
    for (int i = 0; i < a->nin; i++) types[i] = a->in[i].type;
    *v = (Conv){.d = a->out[0].type->dtype};
    OpCall c = {a->op, a->attrs, a->nin, a->nout, types};
    if (conv_shape(&c, &v->s) != OK) return; /* infer has accepted it */
    v->size = dtype_size(v->d);
    v->inputs = window_count(v->s.w.in);
    v->outputs = window_count(v->s.w.out);
    v->taps = window_count(v->s.w.kernel);
    v->gi = v->s.ci / v->s.groups;
    v->go = v->s.co / v->s.groups;
    v->columns = a->scratch;
}

/* The tap `tap` of each window: for every output row, the range of outputs whose input exists. */
typedef struct Tap {
    int64_t at[MAX_SPATIAL];
} Tap;

static Tap tap_place(const Window *w, int64_t tap) {
    Tap t;
    for (int i = MAX_SPATIAL - 1; i >= 0; i--) {
        t.at[i] = tap % w->kernel[i] * w->dilation[i] - w->begin[i];
        tap /= w->kernel[i];
    }
    return t;
}

static bool inside(int64_t at, int64_t size) { return at >= 0 && at < size; }

/* Outputs [*begin, *end) of the last axis read inputs at[2] + o * stride inside the row. */
static void row_range(const Window *w, int64_t at, int64_t *begin, int64_t *end) {
    int64_t s = w->stride[2];
    *begin = min_i64(w->out[2], at >= 0 ? 0 : (-at + s - 1) / s);
    int64_t last = w->in[2] - 1 - at;
    *end = max_i64(*begin, last < 0 ? 0 : min_i64(w->out[2], last / s + 1));
}

#define ROWS(T, name)                                                                              \
    static void read_row_##name(const void *image, int64_t stride, int64_t n, void *row) {         \
        for (int64_t i = 0; i < n; i++) ((T *)row)[i] = ((const T *)image)[i * stride];            \
    }                                                                                              \
    static void add_row_##name(void *image, int64_t stride, int64_t n, const void *row) {          \
        for (int64_t i = 0; i < n; i++) ((T *)image)[i * stride] += ((const T *)row)[i];           \
    }
ROWS(float, f32)
ROWS(double, f64)
#undef ROWS

/* One row of columns: a channel and a tap. Reads the image, or adds to it. */
static void walk_rows(const Conv *v, int64_t r, bool adds) {
    const Window *w = &v->s.w;
    Tap t = tap_place(w, r % v->taps);
    char *plane = v->image + r / v->taps * v->inputs * v->size;
    char *row = v->columns + r * v->outputs * v->size;
    int64_t begin, end, line = w->out[2] * v->size;
    row_range(w, t.at[2], &begin, &end);
    for (int64_t z = 0; z < w->out[0]; z++)
        for (int64_t y = 0; y < w->out[1]; y++, row += line) {
            int64_t iz = z * w->stride[0] + t.at[0], iy = y * w->stride[1] + t.at[1];
            bool exists = inside(iz, w->in[0]) && inside(iy, w->in[1]) && end > begin;
            if (!adds) memset(row, 0, (size_t)line);
            if (!exists) continue;
            int64_t from = (iz * w->in[1] + iy) * w->in[2] + t.at[2] + begin * w->stride[2];
            char *pixels = plane + from * v->size, *cells = row + begin * v->size;
            if (v->d == DT_f32 && adds)
                add_row_f32(pixels, w->stride[2], end - begin, cells);
            else if (v->d == DT_f32)
                read_row_f32(pixels, w->stride[2], end - begin, cells);
            else if (adds)
                add_row_f64(pixels, w->stride[2], end - begin, cells);
            else
                read_row_f64(pixels, w->stride[2], end - begin, cells);
        }
}

static void read_rows(void *ctx, int64_t begin, int64_t end) {
    const Conv *v = ctx;
    for (int64_t r = begin; r < end; r++) walk_rows(v, r, false);
}

/* Whole channels, so that no two threads add to one plane. */
static void add_channels(void *ctx, int64_t begin, int64_t end) {
    const Conv *v = ctx;
    memset(v->image + begin * v->inputs * v->size, 0,
           (size_t)((end - begin) * v->inputs * v->size));
    for (int64_t r = begin * v->taps; r < end * v->taps; r++) walk_rows(v, r, true);
}

static int64_t grain(int64_t work) { return max_i64(1, 32768 / max_i64(1, work)); }

static void image_to_columns(Conv *v, const char *image) {
    v->image = (char *)image;
    parallel_for(v->gi * v->taps, grain(v->outputs), read_rows, v);
}

static void columns_to_image(Conv *v, char *image) {
    v->image = image;
    parallel_for(v->gi, grain(v->outputs * v->taps), add_channels, v);
}

static const char *part(const Buf *b, int64_t elements, const Conv *v) {
    return b->data + elements * v->size;
}

void run_conv_gemm(const KernelArgs *a) {
    Conv v;
    read_conv(a, &v);
    const ConvShape *s = &v.s;
    int64_t k = v.gi * v.taps, np = v.outputs;
    for (int64_t i = 0; i < s->n * s->groups; i++) {
        int64_t group = i % s->groups;
        image_to_columns(&v, part(&a->in[0], i * v.gi * v.inputs, &v));
        Product p = {.m = v.go, .n = np, .k = k, .xm = k, .xk = 1, .yk = np, .yn = 1, .batches = 1};
        p.x = part(&a->in[1], group * v.go * k, &v);
        p.y = v.columns;
        p.out = (char *)part(&a->out[0], i * v.go * np, &v);
        if (a->nin > 2 && a->in[2].data) p.row_bias = part(&a->in[2], group * v.go, &v);
        product_run(&p, v.d);
    }
}

void run_conv_input_grad_gemm(const KernelArgs *a) {
    Conv v;
    read_conv(a, &v);
    const ConvShape *s = &v.s;
    int64_t k = v.gi * v.taps, np = v.outputs;
    for (int64_t i = 0; i < s->n * s->groups; i++) {
        Product p = {.m = k, .n = np, .k = v.go, .xm = 1, .xk = k, .yk = np, .yn = 1, .batches = 1};
        p.x = part(&a->in[1], i % s->groups * v.go * k, &v);
        p.y = part(&a->in[0], i * v.go * np, &v);
        p.out = v.columns;
        product_run(&p, v.d);
        columns_to_image(&v, (char *)part(&a->out[0], i * v.gi * v.inputs, &v));
    }
}

void run_conv_weight_grad_gemm(const KernelArgs *a) {
    Conv v;
    read_conv(a, &v);
    const ConvShape *s = &v.s;
    int64_t k = v.gi * v.taps, np = v.outputs;
    memset(a->out[0].data, 0, (size_t)(s->co * k * v.size));
    for (int64_t i = 0; i < s->n * s->groups; i++) {
        image_to_columns(&v, part(&a->in[0], i * v.gi * v.inputs, &v));
        Product p = {
            .m = v.go, .n = k, .k = np, .xm = np, .xk = 1, .yk = 1, .yn = np, .batches = 1};
        p.x = part(&a->in[1], i * v.go * np, &v);
        p.y = v.columns;
        p.out = (char *)part(&a->out[0], i % s->groups * v.go * k, &v);
        p.adds = true;
        product_run(&p, v.d);
    }
}

static int64_t columns_size(const KernelArgs *a) {
    Conv v;
    read_conv(a, &v);
    return v.gi * v.taps * v.outputs * dtype_size(dtype_info[v.d].compute);
}

Status prepare_conv_gemm(const KernelArgs *a, void **state, size_t *scratch) {
    (void)state;
    *scratch = (size_t)columns_size(a);
    return OK;
}
void release_conv_gemm(void *state) { (void)state; }

Status prepare_conv_any(const KernelArgs *a, void **state, size_t *scratch) {
    (void)state;
    *scratch = (size_t)(through_size(a) + columns_size(a));
    return OK;
}
void release_conv_any(void *state) { (void)state; }

void run_conv_any(const KernelArgs *a) { through_run(a, run_conv_gemm); }
void run_conv_input_grad_any(const KernelArgs *a) { through_run(a, run_conv_input_grad_gemm); }
void run_conv_weight_grad_any(const KernelArgs *a) { through_run(a, run_conv_weight_grad_gemm); }
