/* Tensors made from numbers: one number repeated, numbers in a row, ones by position. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "kernels/copy.h"
#include "kernels/fill.h"
#include "kernels/kernel.h"
#include "kernels/loops.h"

enum { GRAIN = 32768, BLOCK = 512, PIECE = 4096 };

/* ---- one number */

void number_bytes(DType dtype, double value, void *element) {
    loops(DT_f64)->store[dtype](1, element, &value);
}

typedef struct Fill {
    char *dst;
    int64_t size, element;
} Fill;

static void fill_range(void *ctx, int64_t begin, int64_t end) {
    const Fill *f = ctx;
    char *dst = f->dst + begin * f->size;
    int64_t nbytes = (end - begin) * f->size, done = f->size;
    memcpy(dst, &f->element, (size_t)done);
    while (done < nbytes) { /* what is full is copied on, in pieces that stay in the cache */
        int64_t n = min_i64(min_i64(done, PIECE), nbytes - done);
        memcpy(dst + done, dst, (size_t)n);
        done += n;
    }
}

void fill_number(const Buf *out, double value) {
    DType d = (DType)out->type->dtype;
    int64_t n = type_count(out->type);
    Fill f = {.dst = out->data, .size = dtype_size(d)};
    number_bytes(d, value, &f.element);
    if (f.element == 0)
        clear_bytes(out->data, n * f.size);
    else
        parallel_for(n, GRAIN, fill_range, &f);
}

void run_full(const KernelArgs *a) {
    fill_number(&a->out[0], ((const attrs_full *)a->attrs)->fill_value);
}
void run_full_like(const KernelArgs *a) {
    fill_number(&a->out[0], ((const attrs_full_like *)a->attrs)->fill_value);
}
void run_zeros(const KernelArgs *a) { fill_number(&a->out[0], 0); }
void run_ones(const KernelArgs *a) { fill_number(&a->out[0], 1); }

/* ---- numbers in a row, in double */

typedef struct Series {
    const Buf *out;
    double start, step, end, base;
    int64_t n;
    bool exact_end, power;
} Series;

static void series_range(void *ctx, int64_t begin, int64_t end) {
    const Series *s = ctx;
    DType d = (DType)s->out->type->dtype;
    double block[BLOCK];
    for (; begin < end; begin += BLOCK) {
        int64_t m = min_i64(end - begin, BLOCK);
        for (int64_t i = 0; i < m; i++) block[i] = s->start + (double)(begin + i) * s->step;
        if (s->exact_end && begin + m == s->n && s->n > 1) block[m - 1] = s->end;
        for (int64_t i = 0; s->power && i < m; i++) block[i] = pow(s->base, block[i]);
        loops(DT_f64)->store[d](m, s->out->data + begin * dtype_size(d), block);
    }
}

void run_arange(const KernelArgs *a) {
    const attrs_arange *at = a->attrs;
    Series s = {.out = &a->out[0], .start = at->start, .step = at->step};
    s.n = a->out[0].type->dims[0];
    parallel_for(s.n, GRAIN, series_range, &s);
}

static void between(const KernelArgs *a, double start, double end, double base, bool power) {
    Series s = {.out = &a->out[0], .start = start, .end = end, .base = base, .power = power};
    s.n = a->out[0].type->dims[0];
    s.step = s.n > 1 ? (end - start) / (double)(s.n - 1) : 0;
    s.exact_end = true;
    parallel_for(s.n, GRAIN, series_range, &s);
}

void run_linspace(const KernelArgs *a) {
    const attrs_linspace *at = a->attrs;
    between(a, at->start, at->end, 0, false);
}
void run_logspace(const KernelArgs *a) {
    const attrs_logspace *at = a->attrs;
    between(a, at->start, at->end, at->base, true);
}

/* ---- by position */

/* Ones in the columns first(row) .. last(row) of each row. */
static void ones_between(const Buf *out, int64_t reach, bool only) {
    DType d = (DType)out->type->dtype;
    int64_t rows = out->type->dims[0], columns = out->type->dims[1], size = dtype_size(d), one = 0;
    number_bytes(d, 1, &one);
    clear_bytes(out->data, rows * columns * size);
    for (int64_t i = 0; i < rows; i++) {
        int64_t reached = reach >= columns - i ? columns - 1 : i + reach;
        int64_t first = only ? i + reach : 0;
        if (only && first >= columns) break;
        if (reached < 0 || first < 0) continue;
        gather_strided(reached - first + 1, size, out->data + (i * columns + first) * size,
                       (const char *)&one, 0);
    }
}

void run_eye(const KernelArgs *a) { ones_between(&a->out[0], 0, true); }
void run_tri(const KernelArgs *a) {
    ones_between(&a->out[0], ((const attrs_tri *)a->attrs)->k, false);
}
