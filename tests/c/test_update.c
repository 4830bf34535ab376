/* Optimiser steps against the formulas in double, over dtypes and sizes, and their refusals. */
#include "test.h"

enum { N = 40007, MAX_ARRAYS = 5 };

static uint32_t random_bits = 12345;
static double uniform(void) {
    random_bits = random_bits * 1664525u + 1013904223u;
    return (random_bits >> 8) / 16777216.0;
}

static dip_Tensor *number(double v) {
    dip_Tensor *t = NULL;
    CHECK_OK(dip_tensor(DIP_F64, 0, NULL, &v, &t));
    return t;
}

static dip_Tensor *array(dip_DType dtype, int64_t n, double low, double high) {
    double *v = malloc((size_t)(n + 1) * sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i] = low + (high - low) * uniform();
    dip_Tensor *wide = NULL, *t = NULL;
    CHECK_OK(dip_tensor(DIP_F64, 1, &n, v, &wide));
    char attrs[40];
    snprintf(attrs, sizeof attrs, "dtype=%s", dip_dtype_name(dtype));
    CHECK_OK(dip_call("cast", 1, &wide, attrs, 1, &t));
    dip_unref(wide);
    free(v);
    return t;
}

static double *values(dip_Tensor *t) {
    dip_Tensor *wide = NULL;
    CHECK_OK(dip_call("cast", 1, &t, "dtype=float64", 1, &wide));
    double *v = malloc(dip_nbytes(wide) + 8);
    CHECK_OK(dip_copy_out(wide, v, dip_nbytes(wide)));
    dip_unref(wide);
    return v;
}

/* ---- the formulas, one element: x[] is parameter, states, gradient; results into x */

static double l2(const double *x, int grad, double decay, double scale) {
    return x[grad] * scale + decay * x[0];
}

static void want_sgd(double *x, const double *k) { x[0] -= k[0] * l2(x, 1, k[1], k[2]); }

static void want_momentum(double *x, const double *k) {
    double g = l2(x, 2, k[3], k[4]);
    x[1] = k[1] * x[1] + (1 - k[2]) * g;
    x[0] -= k[0] * x[1];
}

static void want_nesterov(double *x, const double *k) {
    double g = l2(x, 2, k[3], k[4]);
    x[1] = k[1] * x[1] + (1 - k[2]) * g;
    x[0] -= k[0] * (g + k[1] * x[1]);
}

static void moments(double *x, double g, double beta1, double beta2) {
    x[1] = beta1 * x[1] + (1 - beta1) * g;
    x[2] = beta2 * x[2] + (1 - beta2) * g * g;
}

static double adam_rate(const double *k) {
    return k[0] * sqrt(1 - pow(k[3], k[1])) / (1 - pow(k[2], k[1]));
}

static void want_adam(double *x, const double *k) {
    moments(x, l2(x, 3, k[5], k[6]), k[2], k[3]);
    x[0] -= adam_rate(k) * x[1] / (sqrt(x[2]) + k[4]);
}

static void want_nadam(double *x, const double *k) {
    double g = l2(x, 3, k[5], k[6]);
    moments(x, g, k[2], k[3]);
    x[0] -= adam_rate(k) * (k[2] * x[1] + (1 - k[2]) * g) / (sqrt(x[2]) + k[4]);
}

static void want_amsgrad(double *x, const double *k) {
    moments(x, l2(x, 4, k[5], k[6]), k[2], k[3]);
    x[3] = fmax(x[3], x[2]);
    x[0] -= adam_rate(k) * x[1] / (sqrt(x[3]) + k[4]);
}

static void want_adamw(double *x, const double *k) {
    moments(x, x[3] * k[6], k[2], k[3]);
    double mean = x[1] / (1 - pow(k[2], k[1])), square = x[2] / (1 - pow(k[3], k[1]));
    x[0] = x[0] - k[0] * k[5] * x[0] - k[0] * mean / (sqrt(square) + k[4]);
}

static void want_adam_weight_decay(double *x, const double *k) {
    moments(x, x[3] * k[5], k[1], k[2]);
    x[0] -= k[0] * (x[1] / (sqrt(x[2]) + k[3]) + k[4] * x[0]);
}

static void want_rmsprop(double *x, const double *k) {
    double g = l2(x, 3, k[4], k[5]);
    x[1] = k[1] * x[1] + (1 - k[1]) * g * g;
    x[2] = k[2] * x[2] + k[0] * g / sqrt(x[1] + k[3]);
    x[0] -= x[2];
}

static void want_rmsprop_centered(double *x, const double *k) {
    double g = l2(x, 4, k[4], k[5]);
    x[1] = k[1] * x[1] + (1 - k[1]) * g * g;
    x[2] = k[1] * x[2] + (1 - k[1]) * g;
    x[3] = k[2] * x[3] + k[0] * g / sqrt(x[1] - x[2] * x[2] + k[3]);
    x[0] -= x[3];
}

static void want_adagrad(double *x, const double *k) {
    double g = l2(x, 2, k[2], k[3]);
    x[1] += g * g;
    x[0] -= k[0] * g / (sqrt(x[1]) + k[1]);
}

static void want_adagrad_kept(double *x, const double *k) {
    x[0] -= k[0] * l2(x, 2, k[2], k[3]) / (sqrt(x[1]) + k[1]);
}

static void want_adadelta(double *x, const double *k) {
    double g = l2(x, 3, k[3], k[4]);
    x[1] = k[1] * x[1] + (1 - k[1]) * g * g;
    double delta = sqrt(x[2] + k[2]) / sqrt(x[1] + k[2]) * g;
    x[2] = k[1] * x[2] + (1 - k[1]) * delta * delta;
    x[0] -= k[0] * delta;
}

static void want_adamax(double *x, const double *k) {
    double g = l2(x, 3, k[5], k[6]);
    x[1] = k[2] * x[1] + (1 - k[2]) * g;
    x[2] = fmax(k[3] * x[2], fabs(g));
    x[0] -= k[0] / (1 - pow(k[2], k[1])) * x[1] / (x[2] + k[4]);
}

static double mu(double t, const double *k) { return k[2] * (1 - 0.5 * pow(0.96, t * k[5])); }

static void want_true_nadam(double *x, const double *k) {
    double g = l2(x, 3, k[6], k[7]), product = 1;
    for (int t = 1; t <= (int)k[1]; t++) product *= mu(t, k);
    moments(x, g, k[2], k[3]);
    double now = (1 - mu(k[1], k)) / (1 - product), next = mu(k[1] + 1, k);
    x[0] -= k[0] * (now * g + next / (1 - product * next) * x[1]) /
            (sqrt(x[2] / (1 - pow(k[3], k[1]))) + k[4]);
}

static void want_ftrl(double *x, const double *k) {
    double g = l2(x, 3, k[4], k[5]), a = x[1] + g * g;
    double before = pow(x[1], -k[3]), after = pow(a, -k[3]);
    x[2] += g - (after - before) / k[0] * x[0];
    x[1] = a;
    double beyond = fabs(x[2]) > k[1] ? copysign(k[1], x[2]) - x[2] : 0;
    x[0] = beyond / (after / k[0] + 2 * k[2]);
}

static void want_rprop(double *x, const double *k) {
    double g = l2(x, 3, k[6], k[7]), turn = g * x[1], size = k[1] == 1 ? k[0] : x[2];
    size *= turn > 0 ? k[3] : turn < 0 ? k[2] : 1;
    x[2] = fmin(fmax(size, k[4]), k[5]);
    x[1] = turn < 0 ? 0 : g;
    x[0] -= x[1] > 0 ? x[2] : x[1] < 0 ? -x[2] : 0;
}

static void want_asgd(double *x, const double *k) {
    double g = l2(x, 2, k[5], k[6]), eta = k[0] / pow(1 + k[2] * k[0] * (k[1] - 1), k[3]);
    x[0] = x[0] * (1 - k[2] * eta) - eta * g;
    x[1] += (x[0] - x[1]) / fmax(1, k[1] - 1 - k[4]);
}

typedef struct Rule {
    const char *op, *attrs;
    void (*want)(double *x, const double *k);
    int nout, nnumbers;
    double low[MAX_ARRAYS], high[MAX_ARRAYS]; /* ranges of the arrays */
    double k[8];
} Rule;

static const Rule rules[] = {
    {"sgd", NULL, want_sgd, 1, 3, {-1, -1}, {1, 1}, {0.1, 0.01, 0.5}},
    {"momentum", NULL, want_momentum, 2, 5, {-1, -1, -1}, {1, 1, 1}, {0.1, 0.9, 0.2, 0.01, 0.5}},
    {"momentum",
     "use_nesterov=True",
     want_nesterov,
     2,
     5,
     {-1, -1, -1},
     {1, 1, 1},
     {0.1, 0.9, 0, 0.01, 0.5}},
    {"adam",
     NULL,
     want_adam,
     3,
     7,
     {-1, -1, 0, -1},
     {1, 1, 1, 1},
     {0.01, 3, 0.9, 0.99, 1e-4, 0.01, 0.5}},
    {"adam",
     "use_nesterov=True",
     want_nadam,
     3,
     7,
     {-1, -1, 0, -1},
     {1, 1, 1, 1},
     {0.01, 1, 0.9, 0.99, 1e-4, 0.01, 0.5}},
    {"adam_amsgrad",
     NULL,
     want_amsgrad,
     4,
     7,
     {-1, -1, 0, 0, -1},
     {1, 1, 1, 1, 1},
     {0.01, 3, 0.9, 0.99, 1e-4, 0.01, 0.5}},
    {"adamw",
     NULL,
     want_adamw,
     3,
     7,
     {-1, -1, 0, -1},
     {1, 1, 1, 1},
     {0.01, 7, 0.9, 0.99, 1e-4, 0.1, 0.5}},
    {"adam_weight_decay",
     NULL,
     want_adam_weight_decay,
     3,
     6,
     {-1, -1, 0, -1},
     {1, 1, 1, 1},
     {0.01, 0.9, 0.99, 1e-4, 0.1, 0.5}},
    {"rmsprop",
     NULL,
     want_rmsprop,
     3,
     6,
     {-1, 0, -1, -1},
     {1, 1, 1, 1},
     {0.01, 0.9, 0.5, 1e-4, 0.01, 0.5}},
    {"rmsprop_centered",
     NULL,
     want_rmsprop_centered,
     4,
     6,
     {-1, 2, -1, -1, -1},
     {1, 3, 1, 1, 1},
     {0.01, 0.9, 0.5, 1e-4, 0.01, 0.5}},
    {"adagrad", NULL, want_adagrad, 2, 4, {-1, 0.1, -1}, {1, 1, 1}, {0.1, 1e-4, 0.01, 0.5}},
    {"adagrad",
     "update_slots=False",
     want_adagrad_kept,
     2,
     4,
     {-1, 0.1, -1},
     {1, 1, 1},
     {0.1, 1e-4, 0.01, 0.5}},
    {"adadelta",
     NULL,
     want_adadelta,
     3,
     5,
     {-1, 0, 0, -1},
     {1, 1, 1, 1},
     {0.5, 0.9, 1e-3, 0.01, 0.5}},
    {"adamax",
     NULL,
     want_adamax,
     3,
     7,
     {-1, -1, 0.1, -1},
     {1, 1, 1, 1},
     {0.01, 3, 0.9, 0.99, 1e-4, 0.01, 0.5}},
    {"nadam",
     NULL,
     want_true_nadam,
     3,
     8,
     {-1, -1, 0, -1},
     {1, 1, 1, 1},
     {0.01, 3, 0.9, 0.99, 1e-4, 0.004, 0.01, 0.5}},
    {"ftrl",
     NULL,
     want_ftrl,
     3,
     6,
     {-1, 0.1, -1, -1},
     {1, 1, 1, 1},
     {0.5, 0.1, 0.2, -0.5, 0.01, 0.5}},
    {"ftrl",
     NULL,
     want_ftrl,
     3,
     6,
     {-1, 0.1, -1, -1},
     {1, 1, 1, 1},
     {0.5, 0.1, 0.2, -0.75, 0.01, 0.5}},
    {"asgd", NULL, want_asgd, 2, 7, {-1, -1, -1}, {1, 1, 1}, {0.1, 5, 0.01, 0.75, 1, 0.01, 0.5}},
    {"asgd", NULL, want_asgd, 2, 7, {-1, -1, -1}, {1, 1, 1}, {0.1, 1, 0.01, 0.75, 10, 0.01, 0.5}},
};
enum { NRULES = sizeof rules / sizeof *rules };

static void check_rule(const Rule *rule, dip_DType dtype, int64_t n, double tolerance) {
    dip_Tensor *in[16], *out[MAX_ARRAYS];
    double *x[MAX_ARRAYS], *got[MAX_ARRAYS];
    int arrays = rule->nout + 1, nin = arrays + rule->nnumbers;
    for (int i = 0; i < arrays; i++) {
        in[i] = array(dtype, n, rule->low[i], rule->high[i]);
        x[i] = values(in[i]);
    }
    for (int i = arrays; i < nin; i++) in[i] = number(rule->k[i - arrays]);
    if (!CHECK_OK(dip_call(rule->op, nin, in, rule->attrs, rule->nout, out))) return;
    for (int i = 0; i < rule->nout; i++) {
        got[i] = values(out[i]);
        CHECK(dip_dtype(out[i]) == dtype);
    }
    double worst = 0;
    for (int64_t e = 0; e < n; e++) {
        double one[MAX_ARRAYS];
        for (int i = 0; i < arrays; i++) one[i] = x[i][e];
        rule->want(one, rule->k);
        for (int i = 0; i < rule->nout; i++)
            worst = fmax(worst, fabs(one[i] - got[i][e]) / fmax(1, fabs(one[i])));
    }
    if (!CHECK_NEAR(worst, 0, tolerance)) fprintf(stderr, "  in %s\n", rule->op);
    for (int i = 0; i < nin; i++) dip_unref(in[i]);
    for (int i = 0; i < arrays; i++) free(x[i]);
    for (int i = 0; i < rule->nout; i++) {
        dip_unref(out[i]);
        free(got[i]);
    }
}

static void test_float32(void) {
    for (int i = 0; i < NRULES; i++) check_rule(&rules[i], DIP_F32, N, 1e-6);
}
static void test_float64(void) {
    for (int i = 0; i < NRULES; i++) check_rule(&rules[i], DIP_F64, N, 1e-14);
}
static void test_half(void) {
    for (int i = 0; i < NRULES; i++) check_rule(&rules[i], DIP_F16, 1500, 1e-3);
    for (int i = 0; i < NRULES; i++) check_rule(&rules[i], DIP_BF16, 1500, 8e-3);
}
static void test_sizes(void) {
    for (int64_t n = 0; n < 40; n++) check_rule(&rules[3], DIP_F32, n, 1e-6);
}

/* Signs turn where rounding says so: no half-precision weights here. */
static void test_rprop(void) {
    Rule rule = {"rprop",
                 NULL,
                 want_rprop,
                 3,
                 8,
                 {-1, -1, 0.1, -1},
                 {1, 1, 1, 1},
                 {0.5, 2, 0.5, 1.2, 0.15, 0.9, 0, 0.5}};
    for (int step = 1; step <= 2; step++) {
        rule.k[1] = step;
        check_rule(&rule, DIP_F32, N, 1e-6);
        check_rule(&rule, DIP_F64, N, 1e-14);
    }
}

/* The norms are those of the whole arrays: a formula over all elements at once. */
static void check_lamb(dip_DType dtype, int64_t n, double low, double tolerance) {
    const double k[] = {0.01, 3, 0.9, 0.99, 1e-4, 0.1, 0.5};
    dip_Tensor *in[11], *out[3];
    double *x[4];
    for (int i = 0; i < 4; i++)
        x[i] = values(in[i] = array(dtype, n, i == 2 ? 0 : low, i ? 1 : -low));
    for (int i = 0; i < 7; i++) in[4 + i] = number(k[i]);
    if (!CHECK_OK(dip_call("lamb", 11, in, NULL, 3, out))) return;
    double params = 0, steps = 0, worst = 0, *got = values(out[0]);
    for (int64_t e = 0; e < n; e++) {
        double one[] = {x[0][e], x[1][e], x[2][e]};
        moments(one, x[3][e] * k[6], k[2], k[3]);
        double u = one[1] / (1 - pow(k[2], k[1])) / (sqrt(one[2] / (1 - pow(k[3], k[1]))) + k[4]);
        x[1][e] = u + k[5] * one[0];
        params += one[0] * one[0];
        steps += x[1][e] * x[1][e];
    }
    double trust = params > 0 && steps > 0 ? sqrt(params / steps) : 1;
    for (int64_t e = 0; e < n; e++)
        worst = fmax(worst, fabs(x[0][e] - k[0] * trust * x[1][e] - got[e]));
    CHECK_NEAR(worst, 0, tolerance);
    for (int i = 0; i < 11; i++) dip_unref(in[i]);
    for (int i = 0; i < 3; i++) dip_unref(out[i]);
    for (int i = 0; i < 4; i++) free(x[i]);
    free(got);
}

static void test_lamb(void) {
    check_lamb(DIP_F32, N, -1, 1e-6);
    check_lamb(DIP_F64, N, -1, 1e-13);
    check_lamb(DIP_BF16, 3000, -1, 8e-3);
    for (int64_t n = 0; n < 40; n++) check_lamb(DIP_F32, n, -1, 1e-6);
    check_lamb(DIP_F32, 10, 0, 1e-6); /* weights 0: the quotient is 1 */
}

/* bf16 weights with f32 states and f32 gradients: each result keeps the dtype of its input. */
static void test_mixed_dtypes(void) {
    dip_Tensor *in[11], *out[3];
    in[0] = array(DIP_BF16, 10, -1, 1);
    in[1] = array(DIP_F32, 10, -1, 1);
    in[2] = array(DIP_F32, 10, 0, 1);
    in[3] = array(DIP_F64, 10, -1, 1);
    for (int i = 0; i < 7; i++) in[4 + i] = number(rules[3].k[i]);
    if (!CHECK_OK(dip_call("adam", 11, in, NULL, 3, out))) return;
    CHECK(dip_dtype(out[0]) == DIP_BF16 && dip_dtype(out[1]) == DIP_F32);
    double *m = values(in[1]), *g = values(in[3]), *p = values(in[0]), *got = values(out[1]);
    for (int i = 0; i < 10; i++)
        CHECK_NEAR(got[i], 0.9 * m[i] + 0.1 * (0.5 * g[i] + 0.01 * p[i]), 1e-6);
    free(m), free(g), free(p), free(got);
    for (int i = 0; i < 11; i++) dip_unref(in[i]);
    for (int i = 0; i < 3; i++) dip_unref(out[i]);
}

/* Inputs that the caller still holds are never written. */
static void test_inputs_stay(void) {
    dip_Tensor *in[5] = {array(DIP_F32, 100, -1, 1), array(DIP_F32, 100, -1, 1), number(0.1),
                         number(0), number(1)};
    dip_Tensor *out;
    double *before = values(in[0]);
    CHECK_OK(dip_call("sgd", 5, in, NULL, 1, &out));
    double *after = values(in[0]);
    CHECK(!memcmp(before, after, 100 * sizeof *before));
    free(before), free(after);
    for (int i = 0; i < 5; i++) dip_unref(in[i]);
    dip_unref(out);
}

/* Any number of threads gives the same bits. */
static void test_threads(void) {
    dip_Tensor *in[11], *one[3], *many[3];
    for (int i = 0; i < 4; i++) in[i] = array(DIP_F32, 3 * N, 0, 1);
    for (int i = 0; i < 7; i++) in[4 + i] = number(rules[3].k[i]);
    CHECK_OK(dip_set_threads(1));
    CHECK_OK(dip_call("adam", 11, in, NULL, 3, one));
    for (int threads = 2; threads <= 3; threads++) {
        CHECK_OK(dip_set_threads(threads));
        CHECK_OK(dip_call("adam", 11, in, NULL, 3, many));
        for (int i = 0; i < 3; i++) {
            CHECK(!memcmp(dip_data_peek(one[i]), dip_data_peek(many[i]), dip_nbytes(one[i])));
            dip_unref(many[i]);
        }
    }
    CHECK_OK(dip_set_threads(0));
    for (int i = 0; i < 11; i++) dip_unref(in[i]);
    for (int i = 0; i < 3; i++) dip_unref(one[i]);
}

static void test_refusals(void) {
    dip_Tensor *in[11], *out[3];
    for (int i = 0; i < 4; i++) in[i] = array(DIP_F32, 6, 0, 1);
    for (int i = 0; i < 7; i++) in[4 + i] = number(rules[3].k[i]);
    dip_Tensor *whole = array(DIP_I32, 6, 0, 1), *shorter = array(DIP_F32, 5, 0, 1),
               *zero = number(0);
    dip_Tensor *kept = in[0];
    in[0] = whole;
    CHECK_FAILS(dip_call("adam", 11, in, NULL, 3, out), VALUE, "adam: param is int32[6]");
    in[0] = kept, kept = in[3], in[3] = shorter;
    CHECK_FAILS(dip_call("adam", 11, in, NULL, 3, out), VALUE, "same sizes as param, float32[6]");
    in[3] = kept, kept = in[4], in[4] = shorter;
    CHECK_FAILS(dip_call("adam", 11, in, NULL, 3, out), VALUE, "lr is float32[5]");
    in[4] = kept, kept = in[5], in[5] = zero;
    CHECK_FAILS(dip_call("adam", 11, in, NULL, 3, out), VALUE, "step is 0");
    in[5] = kept;
    CHECK_OK(dip_call("adam", 11, in, NULL, 3, out));
    for (int i = 0; i < 11; i++) dip_unref(in[i]);
    for (int i = 0; i < 3; i++) dip_unref(out[i]);
    dip_unref(whole), dip_unref(shorter), dip_unref(zero);
}

int main(void) {
    RUN(test_float32);
    RUN(test_float64);
    RUN(test_half);
    RUN(test_sizes);
    RUN(test_rprop);
    RUN(test_lamb);
    RUN(test_mixed_dtypes);
    RUN(test_inputs_stay);
    RUN(test_threads);
    RUN(test_refusals);
    return test_done("update");
}
