/* Recurrent layers in f32 and f64. The input's part of all gates is one product before the loop
 * over steps, the weights' gradients are products after it. A step is one parallel region: each
 * block of units takes its product with the state (weights packed once) and finishes its cells in
 * the cache. Blocks depend on sizes only, so every number of threads gives the same bits. */
#include <string.h>

#include "base/parallel.h"
#include "kernels/gemm.h"
#include "kernels/loops.h"
#include "kernels/plane_loops.h"
#include "kernels/product.h"
#include "kernels/sequence_loops.h"
#include "kernels/through.h"
#include "ops/rnn.h"

#define DECLARE(isa)                                                                               \
    extern const SequenceLoops sequence_loops_##isa##_f32, sequence_loops_##isa##_f64;
#define TABLE(isa)                                                                                 \
    { &sequence_loops_##isa##_f32, &sequence_loops_##isa##_f64 }
DECLARE(base)
#if defined(__x86_64__)
DECLARE(avx2)
DECLARE(avx512)
#endif
static const SequenceLoops *const tables[NISAS][2] = {
    TABLE(base),
#if defined(__x86_64__)
    TABLE(avx2),
    TABLE(avx512),
#endif
};
const SequenceLoops *sequence_loops(DType d) { return tables[isa_level()][d == DT_f64]; }

typedef struct Rnn {
    RnnShape s;
    DType d;
    int64_t size, width; /* bytes of a number; gates x h */
    const GemmKernels *gemm;
    const SequenceLoops *loops;
    const char *x, *h0, *c0, *w_ih, *w_hh, *b_ih, *b_hh, *length;
    DType length_type;
    char *y, *gates, *more, *states; /* more: cell states or hidden parts; states: y or a copy */
    char *packed;                    /* scratch: w_hh in blocks of units */
    char *extra;                     /* scratch, gru: the state's sums */
    char *bias;                      /* scratch: what starts the input's sums */
    /* backward */
    const char *gy, *gh, *gc;
    char *dgates, *dhidden, *dstate, *pass, *carry; /* scratch; dhidden is dgates except for gru */
    int64_t step;                                   /* the loop's place, in order of processing */
} Rnn;

static Rnn read_sizes(const KernelArgs *a, const char *mode, bool reverse, int first) {
    Rnn v = {.d = a->out[0].type->dtype};
    const TensorType *types[RNN_INPUTS] = {0};
    const char *data[RNN_INPUTS] = {0};
    for (int i = first; i < a->nin; i++) {
        types[i - first] = a->in[i].type;
        data[i - first] = a->in[i].data;
    }
    /* infer has accepted these shapes */
    if (rnn_shape("", mode, reverse, RNN_INPUTS, types, &v.s) != OK) return v;
    v.size = dtype_size(v.d);
    v.width = v.s.gates * v.s.h;
    if (v.d == DT_f32 || v.d == DT_f64) {
        v.gemm = gemm(v.d);
        v.loops = sequence_loops(v.d);
    }
    v.x = data[RNN_X], v.h0 = data[RNN_H0], v.c0 = data[RNN_C0];
    v.w_ih = data[RNN_W_IH], v.w_hh = data[RNN_W_HH];
    v.b_ih = data[RNN_B_IH], v.b_hh = data[RNN_B_HH], v.length = data[RNN_LENGTH];
    if (types[RNN_LENGTH]) v.length_type = types[RNN_LENGTH]->dtype;
    return v;
}

static int64_t cells(const Rnn *v) { return v->s.n * v->s.h; }

/* The blocks of `saved`. */
static void place_saved(Rnn *v, char *saved, char *y) {
    int64_t block = v->s.steps * cells(v) * v->size;
    v->y = y;
    v->gates = saved;
    v->more = saved + v->s.gates * block;
    v->states = v->length ? saved + (v->s.saved - 1) * block : y;
}

static int64_t blocks(const Rnn *v) { return (v->s.h + v->gemm->panel - 1) / v->gemm->panel; }

/* The moment of processing `step`, and the places it reads and writes. */
static int64_t time_of(const Rnn *v, int64_t step) {
    return v->s.reverse ? v->s.steps - 1 - step : step;
}
static char *slot(const Rnn *v, char *base, int64_t step, int64_t numbers) {
    return base + time_of(v, step) * numbers * v->size;
}
static const char *state_before(const Rnn *v, int64_t step) {
    return step ? slot(v, v->states, step - 1, cells(v)) : v->h0;
}
static const char *cell_before(const Rnn *v, int64_t step) {
    if (v->s.mode != RNN_LSTM) return state_before(v, step);
    return step ? slot(v, v->more, step - 1, cells(v)) : v->c0;
}
static bool is_alive(const Rnn *v, int64_t row) {
    if (!v->length) return true;
    int64_t n = v->length_type == DT_i32 ? ((const int32_t *)v->length)[row]
                                         : ((const int64_t *)v->length)[row];
    return time_of(v, v->step) < n;
}

/* ---- forward */

static void run_cells(const Rnn *v, const CellBlock *b) {
    switch (v->s.mode) {
    case RNN_LSTM: v->loops->lstm(b); break;
    case RNN_GRU: v->loops->gru(b); break;
    case RNN_TANH: v->loops->tanh(b); break;
    case RNN_RELU: v->loops->relu(b); break;
    }
}

static CellBlock cell_block(const Rnn *v, int64_t row, int64_t rows, int64_t u, int64_t n) {
    int64_t own = (row * v->s.h + u) * v->size, wide = (row * v->width + u) * v->size;
    CellBlock b = {.rows = rows, .n = n, .h = v->s.h, .step = v->width, .extra_step = v->width};
    b.gates = slot(v, v->gates, v->step, v->s.n * v->width) + wide;
    b.before = cell_before(v, v->step) + own;
    b.state = slot(v, v->states, v->step, cells(v)) + own;
    if (v->s.mode == RNN_LSTM) b.cell = slot(v, v->more, v->step, cells(v)) + own;
    if (v->s.mode == RNN_GRU) {
        b.hidden = slot(v, v->more, v->step, cells(v)) + own;
        b.extra = v->extra + wide;
    }
    return b;
}

/* A sequence that is over keeps its state and gives zeros. */
static void skip_row(const Rnn *v, int64_t row, int64_t u, int64_t n) {
    CellBlock b = cell_block(v, row, 1, u, n);
    size_t nbytes = (size_t)(n * v->size);
    memcpy(b.state, state_before(v, v->step) + (row * v->s.h + u) * v->size, nbytes);
    if (b.cell) memcpy(b.cell, b.before, nbytes);
    if (b.hidden) memset(b.hidden, 0, nbytes);
}

static void finish_block(const Rnn *v, int64_t u, int64_t n) {
    if (!v->length) {
        CellBlock b = cell_block(v, 0, v->s.n, u, n);
        run_cells(v, &b);
        return;
    }
    for (int64_t row = 0; row < v->s.n; row++) {
        char *y = slot(v, v->y, v->step, cells(v)) + (row * v->s.h + u) * v->size;
        CellBlock b = cell_block(v, row, 1, u, n);
        if (is_alive(v, row)) {
            run_cells(v, &b);
            memcpy(y, b.state, (size_t)(n * v->size));
        } else {
            skip_row(v, row, u, n);
            memset(y, 0, (size_t)(n * v->size));
        }
    }
}

/* b_hh starts the state's sums of a gru, which its new gate needs apart. */
static void start_extra(const Rnn *v, int64_t column, int64_t n) {
    for (int64_t row = 0; row < v->s.n; row++) {
        char *to = v->extra + (row * v->width + column) * v->size;
        if (v->b_hh)
            memcpy(to, v->b_hh + column * v->size, (size_t)(n * v->size));
        else
            memset(to, 0, (size_t)(n * v->size));
    }
}

static void step_blocks(void *ctx, int64_t begin, int64_t end) {
    const Rnn *v = ctx;
    gemm_fetch(state_before(v, v->step), cells(v) * v->size);
    int64_t panel = v->gemm->panel, h = v->s.h;
    bool gru = v->s.mode == RNN_GRU;
    char *sums = gru ? v->extra : slot(v, v->gates, v->step, v->s.n * v->width);
    for (int64_t k = begin; k < end; k++) {
        int64_t u = k * panel, n = min_i64(panel, h - u);
        for (int64_t gate = 0; gate < v->s.gates; gate++) {
            if (gru) start_extra(v, gate * h + u, n);
            Gemm g = {.m = v->s.n, .n = n, .k = h, .ars = h, .acs = 1, .accumulate = true};
            g.a = state_before(v, v->step);
            g.b = v->packed + (k * v->s.gates + gate) * panel * h * v->size;
            g.c = sums + (gate * h + u) * v->size;
            g.crs = v->width;
            v->gemm->run_packed(&g);
        }
        finish_block(v, u, n);
    }
}

/* For each block of units and each gate: w_hh^T (h, units). */
static void pack_gates(void *ctx, int64_t begin, int64_t end) {
    const Rnn *v = ctx;
    int64_t panel = v->gemm->panel, h = v->s.h;
    for (int64_t i = begin; i < end; i++) {
        int64_t u = i / v->s.gates * panel, gate = i % v->s.gates;
        v->gemm->pack(h, min_i64(panel, h - u), v->w_hh + (gate * h + u) * h * v->size, 1, h,
                      v->packed + i * panel * h * v->size);
    }
}

/* Of no step at least, of all steps at most. */
Status check_rnn_layer(const KernelArgs *a) {
    const Buf *length = a->nin > RNN_LENGTH ? &a->in[RNN_LENGTH] : NULL;
    if (!length || !length->data) return OK;
    int64_t steps = a->in[RNN_X].type->dims[0];
    for (int64_t i = 0; i < length->type->dims[0]; i++) {
        int64_t n;
        const char *at = length->data + i * length->strides[0] * dtype_size(length->type->dtype);
        loops(DT_i64)->load[length->type->dtype](1, &n, at);
        if (n < 0 || n > steps)
            return FAIL(VALUE, "%s: seq_length[%lld] is %lld; legal: 0 to %lld", a->op->name,
                        (long long)i, (long long)n, (long long)steps);
    }
    return OK;
}

static double number(const Rnn *v, const char *p, int64_t i) {
    if (!p) return 0;
    return v->d == DT_f32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}
static void set_number(const Rnn *v, char *p, int64_t i, double x) {
    if (v->d == DT_f32)
        ((float *)p)[i] = (float)x;
    else
        ((double *)p)[i] = x;
}

static void input_sums(const Rnn *v) {
    bool both = v->s.mode != RNN_GRU;
    for (int64_t i = 0; i < v->width; i++)
        set_number(v, v->bias, i, number(v, v->b_ih, i) + (both ? number(v, v->b_hh, i) : 0));
    Product p = {.m = v->s.steps * v->s.n, .n = v->width, .k = v->s.in, .batches = 1};
    p.x = v->x, p.xm = v->s.in, p.xk = 1;
    p.y = v->w_ih, p.yk = 1, p.yn = v->s.in;
    p.out = v->gates;
    p.bias = v->bias, p.bias_step = 1;
    product_run(&p, v->d);
}

static int64_t block_grain(const Rnn *v) {
    int64_t work = v->s.n * v->gemm->panel * v->s.gates * v->s.h;
    return max_i64(1, 65536 / max_i64(1, work));
}

void run_rnn_layer(const KernelArgs *a) {
    const attrs_rnn_layer *at = a->attrs;
    Rnn v = read_sizes(a, at->mode, at->reverse == 1, 0);
    place_saved(&v, a->out[3].data, a->out[0].data);
    v.bias = a->scratch;
    v.packed = v.bias + align64(v.width * v.size);
    v.extra = v.packed + align64(blocks(&v) * v.s.gates * v.gemm->panel * v.s.h * v.size);
    input_sums(&v);
    parallel_for(blocks(&v) * v.s.gates, 4, pack_gates, &v);
    for (v.step = 0; v.step < v.s.steps; v.step++)
        parallel_for(blocks(&v), block_grain(&v), step_blocks, &v);
    size_t nbytes = (size_t)(cells(&v) * v.size);
    memcpy(a->out[1].data, state_before(&v, v.s.steps), nbytes);
    if (v.s.mode == RNN_LSTM) memcpy(a->out[2].data, cell_before(&v, v.s.steps), nbytes);
}

/* ---- backward */

static void run_cell_grads(const Rnn *v, CellBlock *b) {
    switch (v->s.mode) {
    case RNN_LSTM: v->loops->lstm_grad(b); break;
    case RNN_GRU: v->loops->gru_grad(b); break;
    case RNN_TANH: v->loops->tanh_grad(b); break;
    case RNN_RELU: v->loops->relu_grad(b); break;
    }
}

static void add_numbers(const Rnn *v, char *to, const char *from, int64_t n) {
    if (v->d == DT_f32)
        for (int64_t i = 0; i < n; i++) ((float *)to)[i] += ((const float *)from)[i];
    else
        for (int64_t i = 0; i < n; i++) ((double *)to)[i] += ((const double *)from)[i];
}

/* dstate = gy + what passed the later step + its gates' gradients times w_hh. */
static void sum_dstate(const Rnn *v, int64_t k, int64_t u, int64_t n) {
    bool is_first = v->step < 0; /* before the first step: the gradient of h0 */
    const char *gy = is_first ? NULL : slot(v, (char *)v->gy, v->step, cells(v));
    for (int64_t row = 0; row < v->s.n; row++) {
        int64_t own = (row * v->s.h + u) * v->size;
        memcpy(v->dstate + own, v->pass + own, (size_t)(n * v->size));
        if (!gy || !is_alive(v, row)) continue;
        add_numbers(v, v->dstate + own, gy + own, n);
    }
    if (v->step + 1 >= v->s.steps) return;
    Gemm g = {.m = v->s.n, .n = n, .k = v->width, .ars = v->width, .acs = 1, .accumulate = true};
    g.a = slot(v, v->dhidden, v->step + 1, v->s.n * v->width);
    g.b = v->packed + k * v->gemm->panel * v->width * v->size;
    g.c = v->dstate + u * v->size;
    g.crs = v->s.h;
    v->gemm->run_packed(&g);
}

static void grad_rows(const Rnn *v, int64_t row, int64_t rows, int64_t u, int64_t n) {
    CellBlock b = cell_block(v, row, rows, u, n);
    int64_t own = (row * v->s.h + u) * v->size, wide = (row * v->width + u) * v->size;
    bool gru = v->s.mode == RNN_GRU;
    b.dstate = v->dstate + own;
    b.carry = (gru ? v->pass : v->carry) + own;
    b.dgates = slot(v, v->dgates, v->step, v->s.n * v->width) + wide;
    b.dhidden = slot(v, v->dhidden, v->step, v->s.n * v->width) + wide;
    run_cell_grads(v, &b);
    for (int64_t r = 0; r < rows && !gru; r++)
        memset(v->pass + own + r * v->s.h * v->size, 0, (size_t)(n * v->size));
}

/* A sequence that is over passes the gradient of its state on. */
static void skip_grad_row(const Rnn *v, int64_t row, int64_t u, int64_t n) {
    int64_t own = (row * v->s.h + u) * v->size;
    size_t nbytes = (size_t)(n * v->size);
    memcpy(v->pass + own, v->dstate + own, nbytes);
    for (int64_t gate = 0; gate < v->s.gates; gate++) {
        int64_t wide = (row * v->width + gate * v->s.h + u) * v->size;
        memset(slot(v, v->dgates, v->step, v->s.n * v->width) + wide, 0, nbytes);
        memset(slot(v, v->dhidden, v->step, v->s.n * v->width) + wide, 0, nbytes);
    }
}

/* The product reads all units of the later step, so dstate must be whole before cells finish: they
 * do not touch what other blocks read (pass and carry are read at the block's own units). */
static void grad_blocks(void *ctx, int64_t begin, int64_t end) {
    const Rnn *v = ctx;
    int64_t later = v->s.n * v->width;
    if (v->step + 1 < v->s.steps)
        gemm_fetch(slot(v, v->dhidden, v->step + 1, later), later * v->size);
    for (int64_t k = begin; k < end; k++) {
        int64_t u = k * v->gemm->panel, n = min_i64(v->gemm->panel, v->s.h - u);
        sum_dstate(v, k, u, n);
        if (v->step < 0) continue;
        if (!v->length) {
            grad_rows(v, 0, v->s.n, u, n);
            continue;
        }
        for (int64_t row = 0; row < v->s.n; row++)
            if (is_alive(v, row))
                grad_rows(v, row, 1, u, n);
            else
                skip_grad_row(v, row, u, n);
    }
}

/* For each block of units: w_hh (gates x h, units). */
static void pack_units(void *ctx, int64_t begin, int64_t end) {
    const Rnn *v = ctx;
    int64_t panel = v->gemm->panel, h = v->s.h;
    for (int64_t k = begin; k < end; k++)
        v->gemm->pack(v->width, min_i64(panel, h - k * panel), v->w_hh + k * panel * v->size, h, 1,
                      v->packed + k * panel * v->width * v->size);
}

/* out(width, n) (+)= g(rows, width)^T y(rows, n) */
static void weight_grad(const Rnn *v, int64_t rows, const char *g, const char *y, int64_t n,
                        char *out, bool adds) {
    Product p = {.m = v->width, .n = n, .k = rows, .batches = 1, .out = out, .adds = adds};
    p.x = g, p.xm = 1, p.xk = v->width;
    p.y = y, p.yk = n, p.yn = 1;
    product_run(&p, v->d);
}

static void hidden_weight_grad(const Rnn *v, char *out) {
    int64_t n = v->s.n, steps = v->s.steps, gap = n * v->width * v->size, own = cells(v) * v->size;
    bool back = v->s.reverse;
    weight_grad(v, steps ? n : 0, slot(v, v->dhidden, 0, n * v->width), v->h0, v->s.h, out, false);
    if (steps < 2) return;
    weight_grad(v, (steps - 1) * n, v->dhidden + (back ? 0 : gap), v->states + (back ? own : 0),
                v->s.h, out, true);
}

typedef struct Columns {
    const Rnn *v;
    const char *g;
    char *out;
} Columns;

/* Column sums in chunks of rows, added up in double. */
enum { SUM_COLUMNS = 64, SUM_ROWS = 256 };
static void sum_columns(void *ctx, int64_t begin, int64_t end) {
    const Columns *c = ctx;
    const Rnn *v = c->v;
    int64_t rows = v->s.steps * v->s.n;
    for (int64_t k = begin; k < end; k++) {
        int64_t at = k * SUM_COLUMNS, n = min_i64(SUM_COLUMNS, v->width - at);
        double part[SUM_COLUMNS], total[SUM_COLUMNS] = {0};
        for (int64_t r = 0; r < rows; r += SUM_ROWS) {
            plane_loops(v->d)->columns_sum(min_i64(SUM_ROWS, rows - r), v->width, n,
                                           c->g + (r * v->width + at) * v->size, part);
            for (int64_t i = 0; i < n; i++) total[i] += number(v, (const char *)part, i);
        }
        for (int64_t i = 0; i < n; i++) set_number(v, c->out, at + i, total[i]);
    }
}

static void bias_grad(const Rnn *v, const char *g, char *out) {
    Columns c = {v, g, out};
    parallel_for((v->width + SUM_COLUMNS - 1) / SUM_COLUMNS, 2, sum_columns, &c);
}

static void start_backward(Rnn *v, const KernelArgs *a) {
    place_saved(v, a->in[4].data, a->in[3].data);
    v->gy = a->in[0].data, v->gh = a->in[1].data, v->gc = a->in[2].data;
    char *at = a->scratch;
    int64_t wide = align64(v->s.steps * v->s.n * v->width * v->size);
    int64_t own = align64(cells(v) * v->size);
    v->dgates = v->dhidden = at, at += wide;
    if (v->s.mode == RNN_GRU) v->dhidden = at, at += wide;
    v->dstate = at, at += own;
    v->pass = at, at += own;
    v->carry = at, at += own;
    v->packed = at;
    memcpy(v->pass, v->gh, (size_t)(cells(v) * v->size));
    if (v->s.mode == RNN_LSTM) memcpy(v->carry, v->gc, (size_t)(cells(v) * v->size));
}

void run_rnn_layer_grad(const KernelArgs *a) {
    const attrs_rnn_layer_grad *at = a->attrs;
    Rnn v = read_sizes(a, at->mode, at->reverse == 1, RNN_GRAD_FIRST);
    start_backward(&v, a);
    parallel_for(blocks(&v), 1, pack_units, &v);
    for (v.step = v.s.steps - 1; v.step >= -1; v.step--)
        parallel_for(blocks(&v), block_grain(&v), grad_blocks, &v);
    int64_t own = cells(&v) * v.size;
    char *states = a->out[1].data;
    memcpy(states, v.dstate, (size_t)own);
    if (v.s.mode == RNN_LSTM)
        memcpy(states + own, v.carry, (size_t)own);
    else
        memset(states + own, 0, (size_t)own);
    int64_t rows = v.s.steps * v.s.n;
    Product dx = {.m = rows, .n = v.s.in, .k = v.width, .batches = 1, .out = a->out[0].data};
    dx.x = v.dgates, dx.xm = v.width, dx.xk = 1;
    dx.y = v.w_ih, dx.yk = v.s.in, dx.yn = 1;
    product_run(&dx, v.d);
    weight_grad(&v, rows, v.dgates, v.x, v.s.in, a->out[2].data, false);
    hidden_weight_grad(&v, a->out[3].data);
    bias_grad(&v, v.dgates, a->out[4].data);
    bias_grad(&v, v.dhidden, a->out[4].data + v.width * v.size);
}

/* ---- scratch */

static int64_t forward_scratch(const KernelArgs *a, DType ct) {
    const attrs_rnn_layer *at = a->attrs;
    Rnn v = read_sizes(a, at->mode, at->reverse == 1, 0);
    int64_t size = dtype_size(ct), panel = gemm(ct)->panel;
    int64_t packed = (v.s.h + panel - 1) / panel * v.s.gates * panel * v.s.h;
    return align64(v.width * size) + align64(packed * size) + align64(v.s.n * v.width * size);
}

static int64_t backward_scratch(const KernelArgs *a, DType ct) {
    const attrs_rnn_layer_grad *at = a->attrs;
    Rnn v = read_sizes(a, at->mode, at->reverse == 1, RNN_GRAD_FIRST);
    int64_t size = dtype_size(ct), panel = gemm(ct)->panel;
    int64_t packed = (v.s.h + panel - 1) / panel * panel * v.width;
    return 2 * align64(v.s.steps * v.s.n * v.width * size) + 3 * align64(cells(&v) * size) +
           align64(packed * size);
}

/* Both for the kernels in f32 and f64 and for those that go through them. */
Status prepare_rnn_layer(const KernelArgs *a, void **state, size_t *scratch) {
    (void)state;
    DType ct = dtype_info[a->out[0].type->dtype].compute;
    int64_t own = a->op->id == OP_rnn_layer ? forward_scratch(a, ct) : backward_scratch(a, ct);
    *scratch = (size_t)(through_size(a) + own);
    return OK;
}
void release_rnn_layer(void *state) { (void)state; }

void run_rnn_layer_any(const KernelArgs *a) { through_run(a, run_rnn_layer); }
void run_rnn_layer_grad_any(const KernelArgs *a) { through_run(a, run_rnn_layer_grad); }
