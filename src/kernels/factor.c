/* Cholesky factors and triangular systems, matrix by matrix, in double. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "kernels/kernel.h"
#include "kernels/loops.h"

enum { GRAIN = 65536 }; /* multiplications worth a thread */

static int64_t rows_of(const TensorType *t) { return t->dims[t->rank - 2]; }
static int64_t columns_of(const TensorType *t) { return t->dims[t->rank - 1]; }

static void load(const Buf *b, int64_t at, int64_t n, double *to) {
    DType d = (DType)b->type->dtype;
    loops(DT_f64)->load[d](n, to, b->data + at * dtype_size(d));
}
static void store(const Buf *b, int64_t at, int64_t n, const double *from) {
    DType d = (DType)b->type->dtype;
    loops(DT_f64)->store[d](n, b->data + at * dtype_size(d), from);
}

static double dot(int64_t n, const double *x, const double *y) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += x[k] * y[k];
    return sum;
}

/* ---- a = l l^T in place, row by row; false: a is not positive definite */

static bool factor(int64_t n, double *l) {
    for (int64_t i = 0; i < n; i++) {
        double *row = l + i * n;
        for (int64_t j = 0; j < i; j++) {
            const double *other = l + j * n;
            row[j] = (row[j] - dot(j, row, other)) / other[j];
        }
        double square = row[i] - dot(i, row, row);
        if (!(square > 0)) return false;
        row[i] = sqrt(square);
        memset(row + i + 1, 0, (size_t)(n - 1 - i) * sizeof *row);
    }
    return true;
}

static void transpose(int64_t n, double *x) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            double v = x[i * n + j];
            x[i * n + j] = x[j * n + i];
            x[j * n + i] = v;
        }
}

static void cholesky_range(void *ctx, int64_t begin, int64_t end) {
    const KernelArgs *a = ctx;
    const attrs_cholesky *at = a->attrs;
    int64_t n = rows_of(a->in[0].type), size = n * n;
    for (int64_t m = begin; m < end; m++) {
        double *l = (double *)a->scratch + m * size;
        load(&a->in[0], m * size, size, l);
        bool is_good = factor(n, l);
        for (int64_t i = 0; !is_good && i < size; i++) l[i] = NAN;
        if (at->upper) transpose(n, l);
        store(&a->out[0], m * size, size, l);
    }
}

void run_cholesky(const KernelArgs *a) {
    int64_t n = rows_of(a->in[0].type), size = n * n;
    if (size == 0) return;
    parallel_for(type_count(a->in[0].type) / size, max_i64(GRAIN / (size * n), 1), cholesky_range,
                 (void *)a);
}

/* Each matrix in double. */
Status prepare_factor(const KernelArgs *a, void **state, size_t *scratch) {
    (void)state;
    int64_t count = 0;
    for (int i = 0; i < a->nin; i++) count += type_count(a->in[i].type);
    *scratch = (size_t)count * sizeof(double);
    return OK;
}
void release_factor(void *state) { (void)state; }

/* ---- a x = b in place of b (n x m) */

typedef struct System {
    int64_t n, m;
    const double *a; /* element (i, j) at a[i * down + j * across] */
    int64_t down, across;
    bool from_top, is_unit;
} System;

static void solve(const System *s, double *x) {
    for (int64_t step = 0; step < s->n; step++) {
        int64_t i = s->from_top ? step : s->n - 1 - step;
        double *row = x + i * s->m;
        for (int64_t before = 0; before < step; before++) {
            int64_t k = s->from_top ? before : s->n - 1 - before;
            double factor = s->a[i * s->down + k * s->across];
            const double *known = x + k * s->m;
            for (int64_t j = 0; j < s->m; j++) row[j] -= factor * known[j];
        }
        double divisor = s->is_unit ? 1 : s->a[i * (s->down + s->across)];
        for (int64_t j = 0; j < s->m; j++) row[j] /= divisor;
    }
}

static void solve_range(void *ctx, int64_t begin, int64_t end) {
    const KernelArgs *a = ctx;
    const attrs_solve_triangular *at = a->attrs;
    int64_t n = rows_of(a->in[1].type), m = columns_of(a->in[1].type);
    double *matrices = a->scratch, *rights = matrices + type_count(a->in[0].type);
    for (int64_t i = begin; i < end; i++) {
        double *matrix = matrices + i * n * n, *x = rights + i * n * m;
        load(&a->in[0], i * n * n, n * n, matrix);
        load(&a->in[1], i * n * m, n * m, x);
        System s = {n, m, matrix, n, 1, at->lower, at->unit_diagonal};
        if (at->trans) s.down = 1, s.across = n, s.from_top = !at->lower;
        solve(&s, x);
        store(&a->out[0], i * n * m, n * m, x);
    }
}

void run_solve_triangular(const KernelArgs *a) {
    int64_t n = rows_of(a->in[1].type), m = columns_of(a->in[1].type);
    if (n * m == 0) return;
    parallel_for(type_count(a->in[1].type) / (n * m), max_i64(GRAIN / (n * n * m), 1), solve_range,
                 (void *)a);
}
