/* Dropout: elements whose random number is below p become 0, the others grow by 1 / (1 - p). The
 * gradient draws the same numbers again from key and counter. */
#include "base/parallel.h"
#include "kernels/copy.h"
#include "kernels/kernel.h"
#include "kernels/loops.h"
#include "kernels/random.h"

enum { BLOCK = 512, GRAIN = 8192 };

typedef struct Dropout {
    const KernelArgs *a;
    RandomPlace place;
    float p;
    double scale;
} Dropout;

#define APPLY(T)                                                                                   \
    {                                                                                              \
        const T *x = from;                                                                         \
        T *y = to, scale = (T)d->scale;                                                            \
        for (int64_t i = 0; i < n; i++) y[i] = u[i] < d->p ? 0 : x[i] * scale;                     \
        return;                                                                                    \
    }
static void apply(const Dropout *d, DType ct, int64_t n, const float *u, const void *from,
                  void *to) {
    if (ct == DT_f32) APPLY(float)
    APPLY(double)
}

static void range(void *ctx, int64_t begin, int64_t end) {
    const Dropout *d = ctx;
    DType t = (DType)d->a->in[0].type->dtype, ct = dtype_info[t].compute;
    int64_t size = dtype_size(t);
    float u[BLOCK];
    uint64_t x[BLOCK];
    for (int64_t i = begin; i < end; i += BLOCK) {
        int64_t n = min_i64(BLOCK, end - i);
        const char *from = d->a->in[0].data + i * size;
        char *to = d->a->out[0].data + i * size;
        random_uniform_f32(d->place, i, n, u);
        if (t == ct) {
            apply(d, ct, n, u, from, to);
            continue;
        }
        loops(ct)->load[t](n, x, from);
        apply(d, ct, n, u, x, x);
        loops(ct)->store[t](n, to, x);
    }
}

void run_dropout(const KernelArgs *a) {
    const attrs_dropout *at = a->attrs;
    Dropout d = {a, {(uint64_t)at->key, (uint64_t)at->counter}, (float)at->p, 0};
    if (at->p >= 1) { /* every number is below */
        clear_bytes(a->out[0].data, type_count(a->out[0].type) * dtype_size(a->out[0].type->dtype));
        return;
    }
    d.scale = 1 / (1 - at->p);
    parallel_for(type_count(a->in[0].type), GRAIN, range, &d);
}
