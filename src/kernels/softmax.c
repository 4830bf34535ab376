/* Softmax, its logarithm, and their gradients: rows when the axis is innermost, else columns side
 * by side. Dense f32 and f64; other dtypes arrive through them. */
#include "base/parallel.h"
#include "kernels/rows.h"
#include "kernels/through.h"

enum { GRAIN = 8192 };

extern const RowLoops row_loops_base_f32, row_loops_base_f64;
extern const RowLoops row_loops_avx2_f32, row_loops_avx2_f64;
extern const RowLoops row_loops_avx512_f32, row_loops_avx512_f64;
static const RowLoops *const tables[NISAS][2] = {
    {&row_loops_base_f32, &row_loops_base_f64},
#if defined(__x86_64__)
    {&row_loops_avx2_f32, &row_loops_avx2_f64},
    {&row_loops_avx512_f32, &row_loops_avx512_f64},
#endif
};
const RowLoops *row_loops(DType ct) { return tables[isa_level()][ct == DT_f64]; }

const char *can_rows(const KernelArgs *a) {
    DType d = a->in[0].type->dtype;
    return d == DT_f32 || d == DT_f64 ? NULL : "only float32 and float64";
}

/* Attributes of all four ops: the axis. */
typedef struct Softmax {
    const KernelArgs *a;
    const RowLoops *loops;
    int64_t n, inner, tiles; /* along the axis; after it; tiles of columns in inner */
    bool is_log, is_grad;
} Softmax;

static void row_range(void *ctx, int64_t begin, int64_t end) {
    const Softmax *s = ctx;
    const KernelArgs *a = s->a;
    for (int64_t i = begin * s->n; i < end * s->n; i += s->n)
        if (s->is_grad)
            s->loops->softmax_grad(s->n, s->is_log, row_at(&a->out[0], i), row_at(&a->in[0], i),
                                   row_at(&a->in[1], i));
        else
            s->loops->softmax(s->n, s->is_log, row_at(&a->out[0], i), row_at(&a->in[0], i));
}

static void column_range(void *ctx, int64_t begin, int64_t end) {
    const Softmax *s = ctx;
    const KernelArgs *a = s->a;
    for (int64_t i = begin; i < end; i++) {
        int64_t j = i % s->tiles * COLUMNS, at = i / s->tiles * s->n * s->inner + j;
        int w = (int)min_i64(COLUMNS, s->inner - j);
        if (s->is_grad)
            s->loops->softmax_grad_columns(s->n, s->inner, w, s->is_log, row_at(&a->out[0], at),
                                           row_at(&a->in[0], at), row_at(&a->in[1], at));
        else
            s->loops->softmax_columns(s->n, s->inner, w, s->is_log, row_at(&a->out[0], at),
                                      row_at(&a->in[0], at));
    }
}

static void run(const KernelArgs *a, bool is_log, bool is_grad) {
    const TensorType *t = a->in[0].type;
    int64_t total = type_count(t);
    int axis;
    if (total == 0 || type_axis(a->op->name, *(const int64_t *)a->attrs, t->rank, &axis) != OK)
        return;
    Softmax s = {a, row_loops(t->dtype), .inner = 1, .is_log = is_log, .is_grad = is_grad};
    s.n = t->rank ? t->dims[axis] : 1;
    for (int i = axis + 1; i < t->rank; i++) s.inner *= t->dims[i];
    int64_t outer = total / s.n / s.inner;
    if (s.inner == 1) {
        parallel_for(outer, max_i64(GRAIN / s.n, 1), row_range, &s);
        return;
    }
    s.tiles = (s.inner + COLUMNS - 1) / COLUMNS;
    int64_t each = s.n * min_i64(s.inner, COLUMNS);
    parallel_for(outer * s.tiles, max_i64(GRAIN / each, 1), column_range, &s);
}

void run_softmax_rows(const KernelArgs *a) { run(a, false, false); }
void run_log_softmax_rows(const KernelArgs *a) { run(a, true, false); }
void run_softmax_grad_rows(const KernelArgs *a) { run(a, false, true); }
void run_log_softmax_grad_rows(const KernelArgs *a) { run(a, true, true); }
void run_softmax_any(const KernelArgs *a) { through_run(a, run_softmax_rows); }
void run_log_softmax_any(const KernelArgs *a) { through_run(a, run_log_softmax_rows); }
void run_softmax_grad_any(const KernelArgs *a) { through_run(a, run_softmax_grad_rows); }
void run_log_softmax_grad_any(const KernelArgs *a) { through_run(a, run_log_softmax_grad_rows); }
