/* Linear recurrences along an axis, in double: what gradients of running products are made of. */
#include "base/parallel.h"
#include "kernels/kernel.h"

enum { COLUMNS = 64, GRAIN = 8192 };

typedef struct Recurrence {
    const double *factor, *term;
    double *out;
    int64_t n, inner, tiles;
    bool reverse;
} Recurrence;

/* w lines side by side, elements `inner` apart, from `at` on. */
static void run_lines(const Recurrence *r, int64_t at, int64_t w) {
    for (int64_t k = 0; k < r->n; k++) {
        int64_t i = at + (r->reverse ? r->n - 1 - k : k) * r->inner;
        int64_t before = r->reverse ? i + r->inner : i - r->inner;
        const double *factor = r->factor + (r->reverse ? before : i);
        for (int64_t j = 0; j < w; j++)
            r->out[i + j] = r->term[i + j] + (k ? factor[j] * r->out[before + j] : 0);
    }
}

static void run_range(void *ctx, int64_t begin, int64_t end) {
    const Recurrence *r = ctx;
    for (int64_t i = begin; i < end; i++) {
        int64_t j = i % r->tiles * COLUMNS;
        run_lines(r, i / r->tiles * r->n * r->inner + j, min_i64(COLUMNS, r->inner - j));
    }
}

void run_recurrence_core(const KernelArgs *a) {
    const attrs_recurrence_core *at = a->attrs;
    const TensorType *t = a->in[0].type;
    int64_t total = type_count(t);
    int axis;
    if (total == 0 || type_axis("recurrence", at->axis, t->rank, &axis) != OK) return;
    Recurrence r = {(const double *)a->in[0].data,
                    (const double *)a->in[1].data,
                    (double *)a->out[0].data,
                    t->rank ? t->dims[axis] : 1,
                    .inner = 1,
                    .reverse = at->reverse};
    for (int i = axis + 1; i < t->rank; i++) r.inner *= t->dims[i];
    r.tiles = (r.inner + COLUMNS - 1) / COLUMNS;
    int64_t each = r.n * min_i64(r.inner, COLUMNS);
    parallel_for(total / r.n / r.inner * r.tiles, max_i64(GRAIN / each, 1), run_range, &r);
}
