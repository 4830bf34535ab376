/* Connectionist temporal classification: minus the log of the summed probability of all paths that
 * spell the target, blanks and repetitions dropped, and its gradient (Graves et al., ICML 2006).
 *
 * States 0 .. 2 L of a sample stand for blank, label 0, blank, label 1 ... blank. alpha(t, s) is
 * the log of the sum over the beginnings of paths that are in state s at step t, emissions
 * included; beta(t, s) over their ends, the emission at t not included. Everything in double. */
#include <math.h>

#include "base/parallel.h"
#include "kernels/kernel.h"
#include "kernels/loops.h"

enum { SLOTS = 16, GRAIN = 2000 };

typedef struct Ctc {
    const Buf *logs, *targets, *input_lengths, *target_lengths;
    int64_t steps, batch, classes, longest, width; /* width: 2 longest + 1 states */
    int64_t blank, slots;
    bool zero_infinity;
    const Buf *g;            /* backward only */
    Buf *losses, *sums, *dx; /* forward; backward */
    double *scratch;
    int64_t slot_size;
} Ctc;

/* What one sample works on. */
typedef struct Sample {
    int64_t n, steps, length, *labels;
    double *alpha; /* steps of the call x width */
    double *beta, *before, *emission, *row;
} Sample;

static int64_t int_at(const Buf *b, int64_t i) {
    DType d = (DType)b->type->dtype;
    int64_t v;
    loops(DT_i64)->load[d](1, &v, b->data + i * dtype_size(d));
    return v;
}

static int64_t slot_size(const Ctc *c) {
    return (c->steps + 3) * c->width + c->classes + c->longest;
}

static void ctc_init(Ctc *c, const KernelArgs *a, int first) {
    const attrs_ctc_loss_core *at = a->attrs;
    *c = (Ctc){.logs = &a->in[first], .targets = &a->in[first + 1], .blank = at->blank};
    c->input_lengths = &a->in[first + 2];
    c->target_lengths = &a->in[first + 3];
    c->zero_infinity = at->zero_infinity;
    c->steps = c->logs->type->dims[0];
    c->batch = c->logs->type->dims[1];
    c->classes = c->logs->type->dims[2];
    c->longest = c->targets->type->dims[1];
    c->width = 2 * c->longest + 1;
    c->slots = min_i64(c->batch, SLOTS);
    c->slot_size = slot_size(c);
    c->scratch = a->scratch;
}

static void sample_init(const Ctc *c, int64_t n, int64_t slot, Sample *s) {
    DType d = (DType)c->targets->type->dtype;
    double *at = c->scratch + slot * c->slot_size;
    *s = (Sample){.n = n, .alpha = at};
    s->steps = int_at(c->input_lengths, n);
    s->length = int_at(c->target_lengths, n);
    s->beta = at += c->steps * c->width;
    s->before = at += c->width;
    s->emission = at += c->width;
    s->row = at += c->width;
    s->labels = (int64_t *)(at + c->classes);
    loops(DT_i64)->load[d](s->length, s->labels, c->targets->data + n * c->longest * dtype_size(d));
}

static int64_t states(const Sample *s) { return 2 * s->length + 1; }

/* Whether a path may step from state k - 2 to k: over a blank between two different labels. */
static bool may_skip(const Sample *s, int64_t k) {
    return k % 2 && k >= 2 && s->labels[k / 2] != s->labels[k / 2 - 1];
}

static double log_sum(double a, double b, double c) {
    double top = a > b ? a : b;
    top = top > c ? top : c;
    if (!(top > -INFINITY)) return a + b + c;
    return top + log(exp(a - top) + exp(b - top) + exp(c - top));
}

/* The log-probabilities of the states at step t. */
static void emit(const Ctc *c, const Sample *s, int64_t t) {
    DType d = (DType)c->logs->type->dtype;
    ConvertLoop *load = loops(DT_f64)->load[d];
    const char *x = c->logs->data + (t * c->batch + s->n) * c->classes * dtype_size(d);
    load(1, &s->emission[0], x + c->blank * dtype_size(d));
    for (int64_t i = 0; i < s->length; i++) {
        load(1, &s->emission[2 * i + 1], x + s->labels[i] * dtype_size(d));
        s->emission[2 * i + 2] = s->emission[0];
    }
}

/* Fills alpha, -inf where no path goes; gives the loss. */
static double forward(const Ctc *c, const Sample *s) {
    for (int64_t i = 0; i < c->steps * c->width; i++) s->alpha[i] = -INFINITY;
    for (int64_t t = 0; t < s->steps; t++) {
        double *now = s->alpha + t * c->width, *old = now - c->width;
        emit(c, s, t);
        for (int64_t k = 0; k < (t ? states(s) : min_i64(2, states(s))); k++) {
            double one = t && k > 0 ? old[k - 1] : -INFINITY;
            double two = t && may_skip(s, k) ? old[k - 2] : -INFINITY;
            now[k] = (t ? log_sum(old[k], one, two) : 0) + s->emission[k];
        }
    }
    if (s->steps == 0) return s->length ? INFINITY : 0;
    const double *end = s->alpha + (s->steps - 1) * c->width + states(s) - 1;
    return -log_sum(end[0], s->length ? end[-1] : -INFINITY, -INFINITY);
}

static void forward_slots(void *ctx, int64_t begin, int64_t end) {
    const Ctc *c = ctx;
    DType d = (DType)c->logs->type->dtype;
    ConvertLoop *store = loops(DT_f64)->store[d];
    Sample s;
    for (int64_t slot = begin; slot < end; slot++)
        for (int64_t n = slot; n < c->batch; n += c->slots) {
            sample_init(c, n, slot, &s);
            double loss = forward(c, &s);
            if (c->zero_infinity && loss == INFINITY) loss = 0;
            store(1, c->losses->data + n * dtype_size(d), &loss);
            int64_t sums = c->steps * c->width;
            store(sums, c->sums->data + n * sums * dtype_size(d), s.alpha);
        }
}

/* beta one step earlier; `emission` holds step t, beta(t) goes in and beta(t - 1) comes out. */
static void step_back(Sample *s) {
    int64_t n = states(s);
    for (int64_t k = 0; k < n; k++) s->beta[k] += s->emission[k];
    for (int64_t k = 0; k < n; k++) {
        double one = k + 1 < n ? s->beta[k + 1] : -INFINITY;
        double two = k + 2 < n && may_skip(s, k + 2) ? s->beta[k + 2] : -INFINITY;
        s->before[k] = log_sum(s->beta[k], one, two);
    }
    double *swap = s->beta;
    s->beta = s->before;
    s->before = swap;
}

/* The slope at (t, class) is minus the probability that a path is there, given the target. */
static void backward(const Ctc *c, Sample *s) {
    DType d = (DType)c->logs->type->dtype;
    double g, loss = forward(c, s);
    loops(DT_f64)->load[d](1, &g, c->g->data + s->n * dtype_size(d));
    bool impossible = loss == INFINITY;
    for (int64_t k = 0; k < states(s); k++) s->beta[k] = k + 2 < states(s) ? -INFINITY : 0;
    for (int64_t t = c->steps - 1; t >= 0; t--) {
        for (int64_t i = 0; i < c->classes; i++) s->row[i] = 0;
        if (t < s->steps && !impossible) {
            const double *alpha = s->alpha + t * c->width;
            for (int64_t k = 0; k < states(s); k++) {
                int64_t class = k % 2 ? s->labels[k / 2] : c->blank;
                s->row[class] -= g * exp(alpha[k] + s->beta[k] + loss);
            }
            emit(c, s, t);
            step_back(s);
        }
        char *to = c->dx->data + (t * c->batch + s->n) * c->classes * dtype_size(d);
        loops(DT_f64)->store[d](c->classes, to, s->row);
    }
}

static void backward_slots(void *ctx, int64_t begin, int64_t end) {
    const Ctc *c = ctx;
    Sample s;
    for (int64_t slot = begin; slot < end; slot++)
        for (int64_t n = slot; n < c->batch; n += c->slots) {
            sample_init(c, n, slot, &s);
            backward(c, &s);
        }
}

/* ---- the ops */

static Status check_sample(const Ctc *c, int64_t n) {
    int64_t steps = int_at(c->input_lengths, n), length = int_at(c->target_lengths, n);
    if (steps < 0 || steps > c->steps)
        return FAIL(VALUE, "ctc_loss: input_lengths[%lld] is %lld; legal: 0 to %lld", (long long)n,
                    (long long)steps, (long long)c->steps);
    if (length < 0 || length > c->longest)
        return FAIL(VALUE, "ctc_loss: target_lengths[%lld] is %lld; legal: 0 to %lld", (long long)n,
                    (long long)length, (long long)c->longest);
    for (int64_t i = 0; i < length; i++) {
        int64_t y = int_at(c->targets, n * c->longest + i);
        if (y >= 0 && y < c->classes && y != c->blank) continue;
        return FAIL(INDEX, "ctc_loss: targets[%lld, %lld] is %lld; legal: 0 to %lld, but not blank",
                    (long long)n, (long long)i, (long long)y, (long long)c->classes - 1);
    }
    return OK;
}

Status check_ctc(const KernelArgs *a) {
    Ctc c;
    ctc_init(&c, a, a->op->id == OP_ctc_loss_grad);
    for (int64_t n = 0; n < c.batch; n++) TRY(check_sample(&c, n));
    return OK;
}

Status prepare_ctc(const KernelArgs *a, void **state, size_t *scratch) {
    Ctc c;
    (void)state;
    ctc_init(&c, a, a->op->id == OP_ctc_loss_grad);
    *scratch = (size_t)(c.slots * c.slot_size) * sizeof(double);
    return OK;
}
void release_ctc(void *state) { (void)state; }

static void run(Ctc *c, ParallelBody body) {
    if (c->batch == 0) return;
    int64_t cost = (c->steps * c->width + 1) * (c->batch / c->slots);
    parallel_for(c->slots, max_i64(GRAIN / cost, 1), body, c);
}

void run_ctc_loss_core(const KernelArgs *a) {
    Ctc c;
    ctc_init(&c, a, 0);
    c.losses = &a->out[0];
    c.sums = &a->out[1];
    run(&c, forward_slots);
}

void run_ctc_loss_grad(const KernelArgs *a) {
    Ctc c;
    ctc_init(&c, a, 1);
    c.g = &a->in[0];
    c.dx = &a->out[0];
    run(&c, backward_slots);
}
