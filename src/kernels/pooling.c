/* Pooling and its gradients, in f32 and f64 (other dtypes arrive through them). Channels-last
 * tensors go pixel by pixel with all channels at once, row-major ones plane by plane. */
#include "ops/pooling.h"

#include <string.h>

#include "base/parallel.h"
#include "kernels/layout.h"
#include "kernels/loops.h"
#include "kernels/plane_loops.h"
#include "kernels/through.h"

#define DECLARE(isa) extern const PlaneLoops plane_loops_##isa##_f32, plane_loops_##isa##_f64;
#define TABLE(isa)                                                                                 \
    { &plane_loops_##isa##_f32, &plane_loops_##isa##_f64 }
DECLARE(base)
#if defined(__x86_64__)
DECLARE(avx2)
DECLARE(avx512)
#endif
static const PlaneLoops *const tables[NISAS][2] = {
    TABLE(base),
#if defined(__x86_64__)
    TABLE(avx2),
    TABLE(avx512),
#endif
};
const PlaneLoops *plane_loops(DType d) { return tables[isa_level()][d == DT_f64]; }

/* A tensor (n, c, spatial) as items (images, or planes) of pixels, each `wide` contiguous elements:
 * the channels when they stand last, one element otherwise. */
typedef struct Planes {
    char *data;
    int64_t item;              /* elements from item to item */
    int64_t step[MAX_SPATIAL]; /* and along the spatial axes */
} Planes;

typedef struct Pool {
    Pooling p;
    DType d;
    int64_t size, items, wide;
    const PlaneLoops *loops;
    Planes big, small; /* the input side and the output side of the pooling */
    int32_t *at;       /* of max pooling, laid out as `small` */
} Pool;

static Planes planes_of(char *data, const int64_t *sizes, int64_t wide) {
    Planes s = {data, window_count(sizes) * wide, {0, 0, wide}};
    s.step[1] = sizes[2] * wide;
    s.step[0] = sizes[1] * s.step[1];
    return s;
}

static void read_pool(const KernelArgs *a, const Buf *big, const Buf *small, Pool *p) {
    const TensorType *types[] = {a->in[0].type};
    OpCall c = {a->op, a->attrs, 1, a->nout, types};
    memset(p, 0, sizeof *p);
    if (pooling_read(&c, &p->p) != OK) return; /* infer has accepted it */
    p->d = a->in[0].type->dtype;
    p->size = dtype_size(p->d);
    p->loops = plane_loops(p->d);
    bool last = !a->in[0].dense;
    p->wide = last ? p->p.c : 1;
    p->items = last ? p->p.n : p->p.n * p->p.c;
    p->big = planes_of(big->data, p->p.w.in, p->wide);
    p->small = planes_of(small->data, p->p.w.out, p->wide);
}

/* Row-major or channels-last; TAKES_STRIDES kernels refuse anything else. */
const char *can_pool(const KernelArgs *a) {
    DType d = a->in[0].type->dtype;
    if (d != DT_f32 && d != DT_f64) return "it computes in float32 and float64";
    if (a->in[0].dense || layout_is_last(a->in[0].type, a->in[0].strides)) return NULL;
    return "the input is neither row-major nor channels-last";
}

const char *can_pool_dense(const KernelArgs *a) {
    DType d = a->in[0].type->dtype;
    return d == DT_f32 || d == DT_f64 ? NULL : "it computes in float32 and float64";
}

/* One output pixel: its regions, and what a mean over them divides by. */
typedef struct Pixel {
    Region r[MAX_SPATIAL];
    int64_t x;      /* its place along the last axis */
    int64_t base;   /* where its item begins in `big` */
    int64_t offset; /* in `small` */
    int64_t count;
    double scale;
} Pixel;

static void set_scale(const Pool *p, Pixel *px) {
    int64_t count = px->r[0].size * px->r[1].size * px->r[2].size;
    if (count == px->count) return;
    px->count = count;
    px->scale = 1.0 / (double)(p->p.divisor ? p->p.divisor : max_i64(count, 1));
}

static void pixel_at(const Pool *p, int64_t index, Pixel *px) {
    const int64_t *out = p->p.w.out;
    int64_t o[MAX_SPATIAL];
    for (int i = MAX_SPATIAL - 1; i >= 0; i--) {
        o[i] = index % out[i];
        index /= out[i];
    }
    px->x = o[2];
    px->base = index * p->big.item;
    px->offset = index * p->small.item;
    for (int i = 0; i < MAX_SPATIAL; i++) {
        px->r[i] = pooling_region(&p->p, i, o[i]);
        px->offset += o[i] * p->small.step[i];
    }
    px->count = -1;
    set_scale(p, px);
}

/* Moves on to pixel `index`, the next one. */
static void pixel_next(const Pool *p, int64_t index, Pixel *px) {
    if (++px->x == p->p.w.out[2]) {
        pixel_at(p, index, px);
        return;
    }
    px->r[2] = pooling_region(&p->p, 2, px->x);
    px->offset += p->small.step[2];
    set_scale(p, px);
}

/* Runs over pixels begin .. end - 1 as px. */
#define EACH_PIXEL(begin, end)                                                                     \
    Pixel pixel, *px = &pixel;                                                                     \
    if ((begin) < (end)) pixel_at(p, begin, px);                                                   \
    for (int64_t i = (begin); i < (end); ++i < (end) ? pixel_next(p, i, px) : (void)0)

/* Calls `body` for each input pixel of the region: `from` is its offset in `big`. */
#define EACH_TAP(body)                                                                             \
    for (int64_t z = px->r[0].begin; z < px->r[0].end; z += px->r[0].step)                         \
        for (int64_t y = px->r[1].begin; y < px->r[1].end; y += px->r[1].step)                     \
            for (int64_t x = px->r[2].begin; x < px->r[2].end; x += px->r[2].step) {               \
                int64_t from =                                                                     \
                    px->base + z * p->big.step[0] + y * p->big.step[1] + x * p->big.step[2];       \
                body                                                                               \
            }

static int32_t place_of(const Pool *p, int64_t z, int64_t y, int64_t x) {
    return (int32_t)((z * p->p.w.in[1] + y) * p->p.w.in[2] + x);
}

/* A window of padding only. */
static void fill_empty(const Pool *p, int64_t offset) {
    for (int64_t c = 0; c < p->wide; c++) {
        if (p->d == DT_f32)
            ((float *)p->small.data)[offset + c] = -__builtin_inff();
        else
            ((double *)p->small.data)[offset + c] = -__builtin_inf();
        p->at[offset + c] = -1;
    }
}

#define MAX_PIXEL(T, name)                                                                         \
    static void max_pixel_##name(const Pool *p, const Pixel *px) {                                 \
        const T *in = (const T *)p->big.data;                                                      \
        T best = 0;                                                                                \
        int32_t at = -1;                                                                           \
        EACH_TAP({                                                                                 \
            T v = in[from];                                                                        \
            if (at < 0 || v > best || v != v) {                                                    \
                best = v;                                                                          \
                at = place_of(p, z, y, x);                                                         \
            }                                                                                      \
        })                                                                                         \
        ((T *)p->small.data)[px->offset] = best;                                                   \
        p->at[px->offset] = at;                                                                    \
        if (at < 0) fill_empty(p, px->offset);                                                     \
    }
MAX_PIXEL(float, f32)
MAX_PIXEL(double, f64)
#undef MAX_PIXEL

static void max_wide(const Pool *p, const Pixel *px) {
    char *to = p->small.data + px->offset * p->size;
    bool first = true;
    EACH_TAP({
        p->loops->max_step(p->wide, p->big.data + from * p->size, place_of(p, z, y, x), first, to,
                           p->at + px->offset);
        first = false;
    })
    if (first) fill_empty(p, px->offset);
}

static void max_range(void *ctx, int64_t begin, int64_t end) {
    const Pool *p = ctx;
    EACH_PIXEL(begin, end) {
        if (p->wide > 1)
            max_wide(p, px);
        else if (p->d == DT_f32)
            max_pixel_f32(p, px);
        else
            max_pixel_f64(p, px);
    }
}

static int64_t grain_of(const Pool *p) {
    int64_t taps = p->p.adaptive ? window_count(p->p.w.in) / max_i64(1, window_count(p->p.w.out))
                                 : window_count(p->p.w.kernel);
    return max_i64(1, 16384 / max_i64(1, taps * p->wide));
}

void run_max_pool(const KernelArgs *a) {
    Pool p;
    read_pool(a, &a->in[0], &a->out[0], &p);
    p.at = (int32_t *)a->out[1].data;
    parallel_for(p.items * window_count(p.p.w.out), grain_of(&p), max_range, &p);
}

static void mean_range(void *ctx, int64_t begin, int64_t end) {
    const Pool *p = ctx;
    EACH_PIXEL(begin, end) {
        char *to = p->small.data + px->offset * p->size;
        if (p->wide > 1) {
            memset(to, 0, (size_t)(p->wide * p->size));
            EACH_TAP(p->loops->add_step(p->wide, p->big.data + from * p->size, px->scale, to);)
            continue;
        }
        double sum = 0;
        if (p->d == DT_f32) {
            EACH_TAP(sum += (double)((const float *)p->big.data)[from];)
            *(float *)to = (float)(sum * px->scale);
        } else {
            EACH_TAP(sum += ((const double *)p->big.data)[from];)
            *(double *)to = sum * px->scale;
        }
    }
}

void run_avg_pool(const KernelArgs *a) {
    Pool p;
    read_pool(a, &a->in[0], &a->out[0], &p);
    parallel_for(p.items * window_count(p.p.w.out), grain_of(&p), mean_range, &p);
}

/* Items one by one: no two threads add to one image or plane. */
static void spread_items(void *ctx, int64_t begin, int64_t end) {
    const Pool *p = ctx;
    int64_t plane = window_count(p->p.w.out);
    memset(p->big.data + begin * p->big.item * p->size, 0,
           (size_t)((end - begin) * p->big.item * p->size));
    EACH_PIXEL(begin * plane, end * plane) {
        const char *g = p->small.data + px->offset * p->size;
        if (p->wide > 1) {
            EACH_TAP(p->loops->add_step(p->wide, g, px->scale, p->big.data + from * p->size);)
        } else if (p->d == DT_f32) {
            float v = (float)((double)*(const float *)g * px->scale);
            EACH_TAP(((float *)p->big.data)[from] += v;)
        } else {
            double v = *(const double *)g * px->scale;
            EACH_TAP(((double *)p->big.data)[from] += v;)
        }
    }
}

void run_avg_pool_grad(const KernelArgs *a) {
    Pool p;
    read_pool(a, &a->out[0], &a->in[0], &p);
    parallel_for(p.items, max_i64(1, 16384 / max_i64(1, p.big.item)), spread_items, &p);
}

/* ---- by indices */

typedef struct Indexed {
    char *big, *small;
    const int32_t *at;
    int64_t size, pixels, outputs, wide;
    bool scatters;
} Indexed;

#define MOVE(T)                                                                                    \
    for (int64_t k = 0; k < s->outputs * s->wide; k++) {                                           \
        int64_t c = k % s->wide, place = at[k];                                                    \
        T *cell = (T *)big + place * s->wide + c, *other = (T *)small + k;                         \
        if (place < 0 || place >= s->pixels) {                                                     \
            if (!s->scatters) *other = 0;                                                          \
        } else if (s->scatters) {                                                                  \
            *cell += *other;                                                                       \
        } else {                                                                                   \
            *other = *cell;                                                                        \
        }                                                                                          \
    }

static void indexed_items(void *ctx, int64_t begin, int64_t end) {
    const Indexed *s = ctx;
    for (int64_t i = begin; i < end; i++) {
        char *big = s->big + i * s->pixels * s->wide * s->size;
        char *small = s->small + i * s->outputs * s->wide * s->size;
        const int32_t *at = s->at + i * s->outputs * s->wide;
        if (s->scatters) memset(big, 0, (size_t)(s->pixels * s->wide * s->size));
        if (s->size == 4) {
            MOVE(float)
        } else {
            MOVE(double)
        }
    }
}

static void run_indexed(const KernelArgs *a, const Buf *big, const Buf *small, bool scatters) {
    int64_t sizes[MAX_SPATIAL];
    const TensorType *t = big->type;
    bool last = !a->in[0].dense || !a->in[1].dense;
    Indexed s = {.big = big->data, .small = small->data, .scatters = scatters};
    s.at = (const int32_t *)a->in[1].data;
    s.size = dtype_size(t->dtype);
    window_sizes(t, sizes);
    s.pixels = window_count(sizes);
    window_sizes(small->type, sizes);
    s.outputs = window_count(sizes);
    s.wide = last ? t->dims[1] : 1;
    int64_t items = last ? t->dims[0] : t->dims[0] * t->dims[1];
    parallel_for(items, max_i64(1, 16384 / max_i64(1, s.pixels * s.wide)), indexed_items, &s);
}

void run_max_pool_grad(const KernelArgs *a) { run_indexed(a, &a->out[0], &a->in[0], true); }
void run_max_pool_gather_grad(const KernelArgs *a) { run_indexed(a, &a->in[0], &a->out[0], false); }

const char *can_pool_indexed(const KernelArgs *a) {
    const Buf *x = &a->in[0], *at = &a->in[1];
    if (x->dense && at->dense) return can_pool_dense(a);
    if (layout_is_last(x->type, x->strides) && layout_is_last(at->type, at->strides))
        return can_pool_dense(a);
    return "the inputs are not both row-major or both channels-last";
}

/* ---- other dtypes */

void run_max_pool_any(const KernelArgs *a) { through_run(a, run_max_pool); }
void run_avg_pool_any(const KernelArgs *a) { through_run(a, run_avg_pool); }
void run_avg_pool_grad_any(const KernelArgs *a) { through_run(a, run_avg_pool_grad); }
void run_max_pool_grad_any(const KernelArgs *a) { through_run(a, run_max_pool_grad); }
void run_max_pool_gather_grad_any(const KernelArgs *a) { through_run(a, run_max_pool_gather_grad); }
