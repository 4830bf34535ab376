/* Optimiser steps: the numbers of a call worked out in double, then one of the loops of
 * update_loops.c over all elements. Arrays of other float dtypes pass through stack blocks. */
#include <math.h>

#include "base/parallel.h"
#include "base/subnormal.h"
#include "kernels/kernel.h"
#include "kernels/loops.h"
#include "kernels/update.h"

enum { BLOCK = 512, CHUNK = 8192, GRAIN = 32768 };

#define DECLARE(isa) extern const UpdateLoops update_##isa##_f32, update_##isa##_f64;
DECLARE(base)
#if defined(__x86_64__)
DECLARE(avx2)
DECLARE(avx512)
#endif
/* f32, f64 */
static const UpdateLoops *const tables[NISAS][2] = {
    [ISA_BASE] = {&update_base_f32, &update_base_f64},
#if defined(__x86_64__)
    [ISA_AVX2] = {&update_avx2_f32, &update_avx2_f64},
    [ISA_AVX512] = {&update_avx512_f32, &update_avx512_f64},
#endif
};

typedef struct Step {
    const KernelArgs *a;
    UpdateLoop *loop;
    const double *k;
    DType ct;
    bool plain; /* all arrays are of the compute type */
} Step;

/* Not around conversions: those of float16 pass through subnormal numbers. */
static void run_loop(const Step *s, int64_t n, void *const *out, const void *const *in) {
    FloatMode mode = float_flush();
    s->loop(n, out, in, s->k);
    float_set_mode(mode);
}

static void plain_range(const Step *s, int64_t begin, int64_t end) {
    int64_t skip = begin * dtype_size(s->ct);
    const void *in[UPDATE_ARRAYS];
    void *out[UPDATE_ARRAYS];
    for (int i = 0; i <= s->a->nout; i++) in[i] = s->a->in[i].data + skip;
    for (int i = 0; i < s->a->nout; i++) out[i] = s->a->out[i].data + skip;
    run_loop(s, end - begin, out, in);
}

static void block_range(const Step *s, int64_t begin, int64_t end) {
    const CtLoops *convert = loops(s->ct);
    int64_t blocks[UPDATE_ARRAYS][BLOCK];
    const void *in[UPDATE_ARRAYS];
    void *out[UPDATE_ARRAYS];
    for (int i = 0; i < UPDATE_ARRAYS; i++) in[i] = out[i] = blocks[i];
    for (int64_t at = begin, n; at < end; at += n) {
        n = min_i64(end - at, BLOCK);
        for (int i = 0; i <= s->a->nout; i++) {
            const Buf *b = &s->a->in[i];
            convert->load[b->type->dtype](n, blocks[i], b->data + at * dtype_size(b->type->dtype));
        }
        run_loop(s, n, out, in);
        for (int i = 0; i < s->a->nout; i++) {
            const Buf *b = &s->a->out[i];
            convert->store[b->type->dtype](n, b->data + at * dtype_size(b->type->dtype), blocks[i]);
        }
    }
}

static void step_range(void *ctx, int64_t begin, int64_t end) {
    const Step *s = ctx;
    (s->plain ? plain_range : block_range)(s, begin, end);
}

static Step step_of(const KernelArgs *a, UpdateRule rule, const double *k) {
    Step s = {.a = a, .k = k, .ct = dtype_info[a->in[0].type->dtype].compute, .plain = true};
    s.loop = tables[isa_level()][s.ct == DT_f64]->rule[rule];
    for (int i = 0; i <= a->nout; i++) s.plain = s.plain && a->in[i].type->dtype == s.ct;
    return s;
}

static void run_rule(const KernelArgs *a, UpdateRule rule, const double *k) {
    Step s = step_of(a, rule, k);
    int64_t n = type_count(a->in[0].type);
    if (n) parallel_for(n, GRAIN, step_range, &s);
}

/* The number i places behind the gradient. */
static double number(const KernelArgs *a, int i) {
    const Buf *b = &a->in[a->nout + 1 + i];
    double value;
    loops(DT_f64)->load[b->type->dtype](1, &value, b->data);
    return value;
}

/* Bias corrections divide by 1 - beta^step; sizes and averages start at step 1. */
Status check_step(const KernelArgs *a) {
    double step = number(a, 1);
    if (step >= 1) return OK;
    return FAIL(VALUE, "%s: step is %g; it must be at least 1: the first step is number 1",
                a->op->name, step);
}

void run_sgd(const KernelArgs *a) {
    double k[] = {[N_LR] = number(a, 0), [N_DECAY] = number(a, 1), [N_SCALE] = number(a, 2)};
    run_rule(a, UPDATE_SGD, k);
}

void run_momentum(const KernelArgs *a) {
    const attrs_momentum *attrs = a->attrs;
    double k[] = {[N_LR] = number(a, 0),
                  [N_MOMENTUM] = number(a, 1),
                  [N_UNDAMPED] = 1 - number(a, 2),
                  [N_DECAY] = number(a, 3),
                  [N_SCALE] = number(a, 4)};
    run_rule(a, attrs->use_nesterov ? UPDATE_NESTEROV : UPDATE_MOMENTUM, k);
}

/* Numbers: lr, step, beta1, beta2, eps, weight_decay, grad_scale. */
static void run_adam_l2(const KernelArgs *a, UpdateRule rule) {
    double step = number(a, 1), beta1 = number(a, 2), beta2 = number(a, 3);
    double lr = number(a, 0) * sqrt(1 - pow(beta2, step)) / (1 - pow(beta1, step));
    double k[] = {[N_LR] = lr,
                  [N_BETA1] = beta1,
                  [N_BETA2] = beta2,
                  [N_SHRINK] = 1,
                  [N_ROOT] = 1,
                  [N_EPS] = number(a, 4),
                  [N_DECAY] = number(a, 5),
                  [N_SCALE] = number(a, 6),
                  [N_AHEAD] = beta1,
                  [N_NOW] = 1 - beta1};
    run_rule(a, rule, k);
}

void run_adam(const KernelArgs *a) {
    const attrs_adam *attrs = a->attrs;
    run_adam_l2(a, attrs->use_nesterov ? UPDATE_ADAM_AHEAD : UPDATE_ADAM);
}

void run_adam_amsgrad(const KernelArgs *a) { run_adam_l2(a, UPDATE_AMSGRAD); }

void run_adamw(const KernelArgs *a) {
    double lr = number(a, 0), step = number(a, 1), beta1 = number(a, 2), beta2 = number(a, 3);
    double k[] = {[N_LR] = lr / (1 - pow(beta1, step)),
                  [N_BETA1] = beta1,
                  [N_BETA2] = beta2,
                  [N_SHRINK] = 1 - lr * number(a, 5),
                  [N_ROOT] = 1 / sqrt(1 - pow(beta2, step)),
                  [N_EPS] = number(a, 4),
                  [N_SCALE] = number(a, 6)};
    run_rule(a, UPDATE_ADAM, k);
}

void run_adam_weight_decay(const KernelArgs *a) {
    double lr = number(a, 0);
    double k[] = {[N_LR] = lr,
                  [N_BETA1] = number(a, 1),
                  [N_BETA2] = number(a, 2),
                  [N_ROOT] = 1,
                  [N_SHRINK] = 1 - lr * number(a, 4),
                  [N_EPS] = number(a, 3),
                  [N_SCALE] = number(a, 5)};
    run_rule(a, UPDATE_ADAM, k);
}

/* Numbers: lr, decay, momentum, eps, weight_decay, grad_scale. */
static void run_rms(const KernelArgs *a, UpdateRule rule) {
    double k[] = {[N_LR] = number(a, 0),   [N_RHO] = number(a, 1),   [N_MOMENT] = number(a, 2),
                  [N_EPS2] = number(a, 3), [N_DECAY] = number(a, 4), [N_SCALE] = number(a, 5)};
    run_rule(a, rule, k);
}

void run_rmsprop(const KernelArgs *a) { run_rms(a, UPDATE_RMSPROP); }
void run_rmsprop_centered(const KernelArgs *a) { run_rms(a, UPDATE_RMSPROP_CENTERED); }

void run_adagrad(const KernelArgs *a) {
    const attrs_adagrad *attrs = a->attrs;
    double k[] = {[N_LR] = number(a, 0),
                  [N_EPS3] = number(a, 1),
                  [N_DECAY] = number(a, 2),
                  [N_SCALE] = number(a, 3),
                  [N_ADDS] = attrs->update_slots};
    run_rule(a, UPDATE_ADAGRAD, k);
}

void run_adadelta(const KernelArgs *a) {
    double k[] = {[N_LR] = number(a, 0),   [N_RHO] = number(a, 1),   [N_MOMENT] = 0,
                  [N_EPS2] = number(a, 2), [N_DECAY] = number(a, 3), [N_SCALE] = number(a, 4)};
    run_rule(a, UPDATE_ADADELTA, k);
}

void run_adamax(const KernelArgs *a) {
    double step = number(a, 1), beta1 = number(a, 2);
    double k[] = {[N_LR] = number(a, 0) / (1 - pow(beta1, step)),
                  [N_BETA1] = beta1,
                  [N_BETA2] = number(a, 3),
                  [N_EPS] = number(a, 4),
                  [N_DECAY] = number(a, 5),
                  [N_SCALE] = number(a, 6)};
    run_rule(a, UPDATE_ADAMAX, k);
}

/* mu(step), mu(step + 1) and the product of mu(1) to mu(step), which soon is as good as 0. */
static void nadam_schedule(double step, double beta1, double decay, double *mu, double *product) {
    double base = pow(0.96, decay), fade = 1;
    *product = 1;
    for (double t = 1; t <= step && *product > 1e-20; t++) {
        fade *= base;
        *product *= beta1 * (1 - 0.5 * fade);
    }
    if (*product <= 1e-20) *product = 0;
    mu[0] = beta1 * (1 - 0.5 * pow(base, step));
    mu[1] = beta1 * (1 - 0.5 * pow(base, step + 1));
}

void run_nadam(const KernelArgs *a) {
    double step = number(a, 1), beta1 = number(a, 2), beta2 = number(a, 3), mu[2], product;
    nadam_schedule(step, beta1, number(a, 5), mu, &product);
    double k[] = {[N_LR] = number(a, 0),
                  [N_BETA1] = beta1,
                  [N_BETA2] = beta2,
                  [N_SHRINK] = 1,
                  [N_ROOT] = 1 / sqrt(1 - pow(beta2, step)),
                  [N_EPS] = number(a, 4),
                  [N_AHEAD] = mu[1] / (1 - product * mu[1]),
                  [N_NOW] = (1 - mu[0]) / (1 - product),
                  [N_DECAY] = number(a, 6),
                  [N_SCALE] = number(a, 7)};
    run_rule(a, UPDATE_ADAM_AHEAD, k);
}

Status check_ftrl(const KernelArgs *a) {
    double lr = number(a, 0), power = number(a, 3);
    if (!(lr > 0)) return FAIL(VALUE, "ftrl: lr is %g; it must be above 0: it divides", lr);
    if (power <= 0) return OK;
    return FAIL(VALUE, "ftrl: lr_power is %g; it must be at most 0", power);
}

void run_ftrl(const KernelArgs *a) {
    double k[] = {[N_LR] = number(a, 0),     [N_L1] = number(a, 1),    [N_L2] = number(a, 2),
                  [N_POWER] = -number(a, 3), [N_DECAY] = number(a, 4), [N_SCALE] = number(a, 5)};
    run_rule(a, UPDATE_FTRL, k);
}

void run_rprop(const KernelArgs *a) {
    double k[] = {
        [N_LR] = number(a, 0),       [N_IS_FIRST] = number(a, 1) == 1, [N_ETA_MINUS] = number(a, 2),
        [N_ETA_PLUS] = number(a, 3), [N_SIZE_MIN] = number(a, 4),      [N_SIZE_MAX] = number(a, 5),
        [N_DECAY] = number(a, 6),    [N_SCALE] = number(a, 7)};
    run_rule(a, UPDATE_RPROP, k);
}

/* Numbers: lr, step, lambd, alpha, t0, weight_decay, grad_scale. */
void run_asgd(const KernelArgs *a) {
    double lr = number(a, 0), before = number(a, 1) - 1, lambd = number(a, 2);
    double eta = lr / pow(1 + lambd * lr * before, number(a, 3));
    double k[] = {[N_LR] = eta,
                  [N_KEEP] = 1 - lambd * eta,
                  [N_MU] = 1 / fmax(1, before - number(a, 4)),
                  [N_DECAY] = number(a, 5),
                  [N_SCALE] = number(a, 6)};
    run_rule(a, UPDATE_ASGD, k);
}

/* ---- lamb: moments and norms chunk by chunk, then the weights */

enum { LAMB_CHUNKS = 64 }; /* at most: their sums stand on the stack */

typedef struct Lamb {
    Step step;
    int64_t n, chunk; /* elements, of a chunk too */
    NormLanes sums[LAMB_CHUNKS];
} Lamb;

static void add_norms(const Step *s, int64_t begin, int64_t end, NormLanes *lanes) {
    const CtLoops *convert = loops(s->ct);
    const UpdateLoops *table = tables[isa_level()][s->ct == DT_f64];
    int64_t blocks[3][BLOCK];
    const Buf *from[3] = {&s->a->in[0], &s->a->out[1], &s->a->out[2]};
    for (int64_t at = begin, n; at < end; at += n) {
        const void *in[3];
        n = min_i64(end - at, BLOCK);
        for (int i = 0; i < 3; i++) {
            DType dtype = from[i]->type->dtype;
            const char *data = from[i]->data + at * dtype_size(dtype);
            if (dtype != s->ct) convert->load[dtype](n, blocks[i], data);
            in[i] = dtype == s->ct ? (const void *)data : blocks[i];
        }
        table->lamb_norms(n, in, s->k, lanes);
    }
}

static void lamb_range(void *ctx, int64_t begin, int64_t end) {
    Lamb *l = ctx;
    for (int64_t c = begin; c < end; c++) {
        int64_t first = c * l->chunk, last = min_i64(first + l->chunk, l->n);
        step_range(&l->step, first, last);
        add_norms(&l->step, first, last, &l->sums[c]);
    }
}

/* |param| / |u|. */
static double lamb_trust(const Lamb *l) {
    double param = 0, step = 0;
    for (int c = 0; c < LAMB_CHUNKS; c++)
        for (int i = 0; i < NORM_LANES; i++) {
            param += l->sums[c].param[i];
            step += l->sums[c].step[i];
        }
    return param == 0 || step == 0 ? 1 : sqrt(param) / sqrt(step);
}

/* Numbers: lr, step, beta1, beta2, eps, weight_decay, grad_scale. */
void run_lamb(const KernelArgs *a) {
    double step = number(a, 1), beta1 = number(a, 2), beta2 = number(a, 3);
    double k[UPDATE_NUMBERS] = {[N_BETA1] = beta1,
                                [N_BETA2] = beta2,
                                [N_MEAN] = 1 / (1 - pow(beta1, step)),
                                [N_ROOT] = 1 / sqrt(1 - pow(beta2, step)),
                                [N_EPS] = number(a, 4),
                                [N_OWN_DECAY] = number(a, 5),
                                [N_SCALE] = number(a, 6)};
    int64_t n = type_count(a->in[0].type);
    int64_t chunk = max_i64(CHUNK, (n + LAMB_CHUNKS - 1) / LAMB_CHUNKS);
    Lamb l = {.step = step_of(a, UPDATE_LAMB_MOMENTS, k), .n = n, .chunk = chunk};
    parallel_for((n + chunk - 1) / chunk, GRAIN / CHUNK, lamb_range, &l);
    k[N_LR] = number(a, 0) * lamb_trust(&l);
    Buf in[] = {a->in[0], a->out[1], a->out[2], a->in[3]};
    KernelArgs weights = *a;
    weights.in = in;
    run_rule(&weights, UPDATE_LAMB, k);
}
