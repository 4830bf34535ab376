/* Optimiser steps: the numbers of a call worked out in double, then one of the loops of
 * update_loops.c over all elements. Arrays of other float dtypes pass through stack blocks. */
#include <math.h>

#include "base/parallel.h"
#include "kernels/kernel.h"
#include "kernels/loops.h"
#include "kernels/update.h"

enum { BLOCK = 512, GRAIN = 32768 };

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
} Step;

static void plain_range(void *ctx, int64_t begin, int64_t end) {
    const Step *s = ctx;
    int64_t skip = begin * dtype_size(s->ct);
    const void *in[UPDATE_ARRAYS];
    void *out[UPDATE_ARRAYS];
    for (int i = 0; i <= s->a->nout; i++) in[i] = s->a->in[i].data + skip;
    for (int i = 0; i < s->a->nout; i++) out[i] = s->a->out[i].data + skip;
    s->loop(end - begin, out, in, s->k);
}

static void block_range(void *ctx, int64_t begin, int64_t end) {
    const Step *s = ctx;
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
        s->loop(n, out, in, s->k);
        for (int i = 0; i < s->a->nout; i++) {
            const Buf *b = &s->a->out[i];
            convert->store[b->type->dtype](n, b->data + at * dtype_size(b->type->dtype), blocks[i]);
        }
    }
}

static void run_rule(const KernelArgs *a, UpdateRule rule, const double *k) {
    Step s = {.a = a, .k = k, .ct = dtype_info[a->in[0].type->dtype].compute};
    s.loop = tables[isa_level()][s.ct == DT_f64]->rule[rule];
    bool plain = true;
    for (int i = 0; i <= a->nout; i++) plain = plain && a->in[i].type->dtype == s.ct;
    int64_t n = type_count(a->in[0].type);
    if (n) parallel_for(n, GRAIN, plain ? plain_range : block_range, &s);
}

/* The number i places behind the gradient. */
static double number(const KernelArgs *a, int i) {
    const Buf *b = &a->in[a->nout + 1 + i];
    double value;
    loops(DT_f64)->load[b->type->dtype](1, &value, b->data);
    return value;
}

/* The bias corrections divide by 1 - beta^step. */
Status check_adam_step(const KernelArgs *a) {
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
    double k[] = {
        [N_LR] = lr,  [N_BETA1] = beta1,      [N_BETA2] = beta2,        [N_SHRINK] = 1,
        [N_ROOT] = 1, [N_EPS] = number(a, 4), [N_DECAY] = number(a, 5), [N_SCALE] = number(a, 6)};
    run_rule(a, rule, k);
}

void run_adam(const KernelArgs *a) {
    const attrs_adam *attrs = a->attrs;
    run_adam_l2(a, attrs->use_nesterov ? UPDATE_NADAM : UPDATE_ADAM);
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
    double k[] = {[N_LR] = number(a, 0),
                  [N_EPS3] = number(a, 1),
                  [N_DECAY] = number(a, 2),
                  [N_SCALE] = number(a, 3)};
    run_rule(a, UPDATE_ADAGRAD, k);
}
