/* Gradients, parameters and optimisers as a C program uses them: against hand-made formulas, two
 * ways of stepping against each other, and memory that stays flat. */
#include "test.h"

#include <unistd.h>

#include "diptych_ops.h"

static dip_Tensor *floats(int64_t n, const float *v) {
    dip_Tensor *t = NULL;
    CHECK_OK(dip_tensor(DIP_F32, 1, &n, v, &t));
    return t;
}

static dip_Tensor *matrix(int64_t rows, int64_t columns, uint32_t seed) {
    float *v = malloc((size_t)(rows * columns) * sizeof *v);
    for (int64_t i = 0; i < rows * columns; i++) {
        seed = seed * 1664525u + 1013904223u;
        v[i] = (float)(seed >> 8) / 8388608.0f - 1;
    }
    dip_Tensor *t = NULL;
    CHECK_OK(dip_tensor(DIP_F32, 2, (int64_t[]){rows, columns}, v, &t));
    free(v);
    return t;
}

static float at(const dip_Tensor *t, int64_t i) {
    float v[64];
    if (!CHECK(t && dip_nbytes(t) <= sizeof v) || !CHECK_OK(dip_copy_out(t, v, sizeof v)))
        return NAN;
    return v[i];
}

static bool same_bits(const dip_Tensor *a, const dip_Tensor *b) {
    const void *x = dip_data_peek(a), *y = dip_data_peek(b);
    return x && y && dip_nbytes(a) == dip_nbytes(b) && !memcmp(x, y, dip_nbytes(a));
}

/* sum(x * x * x) */
static dip_Tensor *cubes(dip_Tensor *x) {
    dip_Tensor *square = NULL, *cube = NULL, *total = NULL;
    CHECK_OK(dip_mul(x, x, &square));
    CHECK_OK(dip_mul(square, x, &cube));
    CHECK_OK(dip_call("sum", 1, &cube, NULL, 1, &total));
    dip_unref(square);
    dip_unref(cube);
    return total;
}

/* ---- dip_grad */

static void test_grad(void) {
    dip_Tensor *c = floats(3, (float[]){1, 2, 3}), *x = NULL, *g = NULL;
    CHECK_OK(dip_variable(c, &x));
    dip_Tensor *y = cubes(x);
    CHECK_OK(
        dip_grad(&(dip_GradArgs){.noutputs = 1, .outputs = &y, .ninputs = 1, .inputs = &x}, &g));
    for (int i = 0; i < 3; i++) CHECK_NEAR(at(g, i), 3.0 * (i + 1) * (i + 1), 1e-5);
    dip_unref(g);
    CHECK_FAILS(
        dip_grad(&(dip_GradArgs){.noutputs = 1, .outputs = &y, .ninputs = 1, .inputs = &x}, &g),
        RUNTIME, "empty");
    dip_Tensor *all[] = {c, x, y};
    for (int i = 0; i < 3; i++) dip_unref(all[i]);
}

static void test_grad_of_grad(void) {
    dip_Tensor *c = floats(3, (float[]){1, 2, 3}), *x = NULL, *g = NULL, *h = NULL;
    CHECK_OK(dip_variable(c, &x));
    dip_Tensor *y = cubes(x);
    dip_GradArgs a = {.noutputs = 1, .outputs = &y, .ninputs = 1, .inputs = &x};
    a.flags = DIP_RECORD_GRADIENT;
    CHECK_OK(dip_grad(&a, &g));
    a.outputs = &g;
    a.flags = 0;
    CHECK_OK(dip_grad(&a, &h));
    for (int i = 0; i < 3; i++) CHECK_NEAR(at(h, i), 6.0 * (i + 1), 1e-5);
    dip_Tensor *all[] = {c, x, y, g, h};
    for (int i = 0; i < 5; i++) dip_unref(all[i]);
}

static void test_grad_seeds_and_keep(void) {
    dip_Tensor *c = floats(2, (float[]){2, 3}), *x = NULL, *z = NULL, *y = NULL, *g[2] = {0};
    dip_Tensor *seed = floats(2, (float[]){10, 1}), *wrong = floats(3, (float[]){1, 1, 1});
    CHECK_OK(dip_variable(c, &x));
    CHECK_OK(dip_variable(c, &z));
    CHECK_OK(dip_square(x, &y));
    dip_Tensor *inputs[2] = {x, z};
    dip_GradArgs a = {1, &y, &wrong, 2, inputs, DIP_KEEP_RECORD};
    CHECK_FAILS(dip_grad(&a, g), VALUE, "seed 0 is float32[3]");
    a.seeds = &seed;
    CHECK_OK(dip_grad(&a, g));
    CHECK(at(g[0], 0) == 40 && at(g[0], 1) == 6 && !g[1]);
    dip_unref(g[0]);
    CHECK_OK(dip_grad(&a, g)); /* the record was kept */
    CHECK(at(g[0], 1) == 6);
    dip_Tensor *all[] = {c, x, z, y, seed, wrong, g[0]};
    for (int i = 0; i < 7; i++) dip_unref(all[i]);
}

static void test_recording(void) {
    dip_Tensor *c = floats(1, (float[]){2}), *x = NULL, *y = NULL, *z = NULL, *g = NULL;
    CHECK_OK(dip_variable(c, &x));
    CHECK(dip_record(false));
    CHECK_OK(dip_square(x, &y));
    CHECK(!dip_record(true));
    dip_GradArgs a = {.noutputs = 1, .outputs = &y, .ninputs = 1, .inputs = &x};
    CHECK_FAILS(dip_grad(&a, &g), RUNTIME, "depends on");
    CHECK_OK(dip_detach(x, &z));
    a.outputs = &z;
    CHECK_FAILS(dip_grad(&a, &g), RUNTIME, "depends on");
    dip_Tensor *all[] = {c, x, y, z};
    for (int i = 0; i < 4; i++) dip_unref(all[i]);
}

static void test_grad_refusals(void) {
    int32_t two = 2;
    dip_Tensor *whole = NULL, *c = floats(1, (float[]){2}), *x = NULL, *y = NULL, *g = NULL;
    CHECK_OK(dip_tensor(DIP_I32, 0, NULL, &two, &whole));
    CHECK_FAILS(dip_variable(whole, &x), TYPE, "int32");
    CHECK_FAILS(dip_variable(NULL, &x), VALUE, "t is NULL");
    CHECK_FAILS(dip_variable(c, NULL), VALUE, "out is NULL");
    CHECK_FAILS(dip_detach(NULL, &x), VALUE, "t is NULL");
    CHECK_OK(dip_variable(c, &x));
    CHECK_OK(dip_square(x, &y));
    dip_GradArgs a = {.noutputs = 1, .outputs = &y, .ninputs = 1, .inputs = &y};
    CHECK_FAILS(dip_grad(&a, &g), VALUE, "result of a call");
    a.inputs = &c;
    CHECK_FAILS(dip_grad(&a, &g), VALUE, "a constant");
    a.inputs = NULL;
    CHECK_FAILS(dip_grad(&a, &g), VALUE, "input is NULL");
    a.ninputs = -1;
    CHECK_FAILS(dip_grad(&a, &g), VALUE, "-1");
    a.ninputs = 0, a.flags = 64;
    CHECK_FAILS(dip_grad(&a, &g), VALUE, "flags are 64");
    a.noutputs = 0, a.flags = 0;
    CHECK_FAILS(dip_grad(&a, &g), VALUE, "0 outputs");
    CHECK_FAILS(dip_grad(NULL, &g), VALUE, "args is NULL");
    CHECK_FAILS(dip_grad(&a, NULL), VALUE, "grads is NULL");
    CHECK_FAILS(dip_backward(NULL), VALUE, "loss is NULL");
    CHECK_FAILS(dip_backward(c), RUNTIME, "does not depend");
    dip_Tensor *all[] = {whole, c, x, y};
    for (int i = 0; i < 4; i++) dip_unref(all[i]);
}

/* ---- gradients the caller knows */

static int released;
static void count_release(void *ctx) {
    (void)ctx;
    released++;
}

/* Says that the gradient is 7 times what came. */
static dip_Status sevenfold(void *ctx, dip_Tensor *const *g, dip_Tensor **dx) {
    dip_Tensor *seven;
    (void)ctx;
    dip_Status s = dip_number(DIP_F32, 7, &seven);
    if (s == DIP_OK) s = dip_mul(g[0], seven, &dx[0]);
    if (s == DIP_OK) dip_unref(seven);
    return s;
}

static void test_custom_grad(void) {
    released = 0;
    dip_Tensor *c = floats(2, (float[]){1, 2}), *x = NULL, *y = NULL, *g = NULL;
    CHECK_OK(dip_variable(c, &x));
    dip_record(false);
    CHECK_OK(dip_exp(x, &y));
    dip_record(true);
    dip_CustomGrad custom = {sevenfold, count_release, NULL};
    CHECK_OK(dip_custom_grad(custom, 1, &x, 1, &y));
    CHECK_OK(
        dip_grad(&(dip_GradArgs){.noutputs = 1, .outputs = &y, .ninputs = 1, .inputs = &x}, &g));
    CHECK(at(g, 0) == 7 && at(g, 1) == 7);
    CHECK_FAILS(dip_custom_grad(custom, 1, &x, 1, &y), VALUE, "has a gradient already");
    CHECK_FAILS(dip_custom_grad(custom, 1, &x, 0, &y), VALUE, "0 results");
    CHECK_FAILS(dip_custom_grad((dip_CustomGrad){0}, 1, &x, 1, &y), VALUE, "backward is NULL");
    CHECK(released == 1); /* the walk has emptied the tape */
    dip_unref(y);
    CHECK(released == 1);
    dip_Tensor *all[] = {c, x, g};
    for (int i = 0; i < 3; i++) dip_unref(all[i]);
}

static dip_Status a_lonely_number(void *ctx, dip_Tensor *const *g, dip_Tensor **dx) {
    (void)ctx, (void)g;
    return dip_number(DIP_F32, 1, &dx[0]);
}

static void test_custom_grad_of_other_sizes(void) {
    dip_Tensor *c = floats(2, (float[]){1, 2}), *x = NULL, *y = NULL, *g = NULL;
    CHECK_OK(dip_variable(c, &x));
    dip_record(false);
    CHECK_OK(dip_exp(x, &y));
    dip_record(true);
    CHECK_OK(dip_custom_grad((dip_CustomGrad){a_lonely_number, NULL, NULL}, 1, &x, 1, &y));
    dip_GradArgs args = {.noutputs = 1, .outputs = &y, .ninputs = 1, .inputs = &x};
    CHECK_FAILS(dip_grad(&args, &g), VALUE, "the gradient of input 0 is float32[]");
    dip_Tensor *all[] = {c, x, y};
    for (int i = 0; i < 3; i++) dip_unref(all[i]);
}

/* ---- parameters */

static dip_Param *parameter(const char *name, dip_Tensor *take) {
    dip_Param *p = NULL;
    CHECK_OK(dip_param(name, take, &p));
    dip_unref(take);
    return p;
}

static void test_param(void) {
    dip_Param *p = parameter("w", floats(2, (float[]){1, 2}));
    CHECK(!strcmp(dip_param_name(p), "w") && !dip_param_grad_peek(p));
    for (int time = 1; time <= 2; time++) { /* gradients add up */
        dip_Tensor *y = cubes(dip_param_peek(p));
        CHECK_OK(dip_backward(y));
        dip_unref(y);
        CHECK_NEAR(at(dip_param_grad_peek(p), 1), 12 * time, 1e-4);
    }
    CHECK_OK(dip_zero_grad(1, &p));
    CHECK(!dip_param_grad_peek(p));
    CHECK_OK(dip_param_require_grad(p, false));
    dip_Tensor *y = cubes(dip_param_peek(p));
    CHECK_FAILS(dip_backward(y), RUNTIME, "does not depend");
    dip_unref(y);
    CHECK(dip_param_ref(p) == p);
    dip_param_unref(p);
    dip_param_unref(p);
    dip_param_unref(NULL);
}

static void test_param_refusals(void) {
    dip_Param *p = parameter("w", floats(2, (float[]){1, 2})), *nothing = NULL;
    dip_Tensor *longer = floats(3, (float[]){1, 2, 3});
    int64_t five = 5;
    dip_Tensor *whole = NULL;
    CHECK_OK(dip_tensor(DIP_I64, 0, NULL, &five, &whole));
    dip_Param *count = parameter("count", whole);
    CHECK_FAILS(dip_param(NULL, longer, &p), VALUE, "name is NULL");
    CHECK_FAILS(dip_param("x", NULL, &p), VALUE, "value is NULL");
    CHECK_FAILS(dip_param("x", longer, NULL), VALUE, "out is NULL");
    CHECK_FAILS(dip_param_assign(p, longer), VALUE, "parameter 'w' is float32[2]");
    CHECK_FAILS(dip_param_assign(p, NULL), VALUE, "value is NULL");
    CHECK_FAILS(dip_param_assign(NULL, longer), VALUE, "p is NULL");
    CHECK_FAILS(dip_param_require_grad(count, true), TYPE, "int64");
    CHECK_FAILS(dip_zero_grad(1, &nothing), VALUE, "parameter 0 is NULL");
    CHECK_FAILS(dip_zero_grad(1, NULL), VALUE, "params NULL");
    CHECK(!dip_param_name(NULL) && !dip_param_peek(NULL) && !dip_param_grad_peek(NULL));
    dip_param_unref(p);
    dip_param_unref(count);
    dip_unref(longer);
}

/* A reference on the value is a snapshot: steps and assignments leave it alone. */
static void test_param_snapshot(void) {
    dip_Param *p = parameter("w", floats(2, (float[]){1, 2}));
    dip_Tensor *snapshot = dip_ref(dip_param_peek(p)), *g = floats(2, (float[]){1, 1});
    dip_Optimizer *o = NULL;
    CHECK_OK(dip_optimizer("sgd", "lr=1", 1, &p, &o));
    CHECK_OK(dip_optimizer_apply(o, &g));
    CHECK(at(snapshot, 0) == 1 && at(dip_param_peek(p), 0) == 0);
    const void *place = dip_data_peek(dip_param_peek(p));
    CHECK_OK(dip_optimizer_apply(o, &g)); /* nobody else holds it now: the same bytes */
    CHECK(dip_data_peek(dip_param_peek(p)) == place && at(dip_param_peek(p), 0) == -1);
    dip_optimizer_free(o);
    dip_unref(snapshot);
    dip_unref(g);
    dip_param_unref(p);
}

/* ---- a small network: mean((relu(x w1 + b1) w2 - t)^2) */

typedef struct Net {
    dip_Param *params[3];
} Net;

static Net net_new(void) {
    Net n = {{parameter("w1", matrix(5, 7, 1)), parameter("b1", floats(7, (float[7]){0})),
              parameter("w2", matrix(7, 2, 3))}};
    return n;
}

static void net_free(Net *n) {
    for (int i = 0; i < 3; i++) dip_param_unref(n->params[i]);
}

static dip_Tensor *net_loss(const Net *n, dip_Tensor *x, dip_Tensor *target) {
    dip_Tensor *t[7] = {0};
    CHECK_OK(dip_matmul(x, dip_param_peek(n->params[0]), false, false, &t[0]));
    CHECK_OK(dip_add(t[0], dip_param_peek(n->params[1]), &t[1]));
    CHECK_OK(dip_relu(t[1], &t[2]));
    CHECK_OK(dip_matmul(t[2], dip_param_peek(n->params[2]), false, false, &t[3]));
    CHECK_OK(dip_sub(t[3], target, &t[4]));
    CHECK_OK(dip_square(t[4], &t[5]));
    CHECK_OK(dip_call("mean", 1, &t[5], NULL, 1, &t[6]));
    for (int i = 0; i < 6; i++) dip_unref(t[i]);
    return t[6];
}

/* Two ways to train: backward and step, or gradients and apply. Equal bit for bit. */
static void compare_ways(const char *rule, const char *settings) {
    Net a = net_new(), b = net_new();
    dip_Tensor *x = matrix(16, 5, 11), *target = matrix(16, 2, 12);
    dip_Optimizer *oa = NULL, *ob = NULL;
    if (!CHECK_OK(dip_optimizer(rule, settings, 3, a.params, &oa))) return;
    CHECK_OK(dip_optimizer(rule, settings, 3, b.params, &ob));
    double first = 0, last = 0;
    for (int step = 0; step < 20; step++) {
        dip_Tensor *la = net_loss(&a, x, target), *lb = net_loss(&b, x, target), *g[3], *leaves[3];
        CHECK_OK(dip_item(la, step ? &last : &first));
        CHECK_OK(dip_backward(la));
        CHECK_OK(dip_optimizer_step(oa));
        for (int i = 0; i < 3; i++) leaves[i] = dip_param_peek(b.params[i]);
        CHECK_OK(dip_grad(
            &(dip_GradArgs){.noutputs = 1, .outputs = &lb, .ninputs = 3, .inputs = leaves}, g));
        CHECK_OK(dip_optimizer_apply(ob, g));
        for (int i = 0; i < 3; i++) {
            CHECK(same_bits(dip_param_peek(a.params[i]), dip_param_peek(b.params[i])));
            CHECK(!dip_param_grad_peek(a.params[i]));
            dip_unref(g[i]);
        }
        dip_unref(la);
        dip_unref(lb);
    }
    if (!CHECK(last < first)) fprintf(stderr, "%s: loss %g to %g\n", rule, first, last);
    dip_optimizer_free(oa);
    dip_optimizer_free(ob);
    net_free(&a);
    net_free(&b);
    dip_unref(x);
    dip_unref(target);
}

static void test_steps_equal_functional(void) {
    compare_ways("sgd", "lr=0.05");
    compare_ways("momentum", "lr=0.02 momentum=0.8 use_nesterov=True");
    compare_ways("adam", NULL);
    compare_ways("adam_amsgrad", "lr=0.01");
    compare_ways("adamw", "lr=0.01 weight_decay=0.1");
    compare_ways("adam_weight_decay", "lr=0.01");
    compare_ways("rmsprop", "lr=0.001");
    compare_ways("rmsprop_centered", "lr=0.001");
    compare_ways("adagrad", "lr=0.01 eps=1e-7");
}

/* 1,000 training steps leave exactly as much memory as 10. */
static void test_memory_is_flat(void) {
    Net n = net_new();
    dip_Tensor *x = matrix(16, 5, 11), *target = matrix(16, 2, 12);
    dip_Optimizer *o = NULL;
    CHECK_OK(dip_optimizer("adam", NULL, 3, n.params, &o));
    dip_Memory early = {0};
    for (int step = 0; step < 1010; step++) {
        dip_Tensor *loss = net_loss(&n, x, target);
        CHECK_OK(dip_backward(loss));
        CHECK_OK(dip_optimizer_step(o));
        dip_unref(loss);
        if (step == 9) early = dip_memory();
    }
    dip_Memory late = dip_memory();
    CHECK(late.allocated == early.allocated && late.peak == early.peak);
    CHECK(late.reserved == early.reserved);
    dip_optimizer_free(o);
    net_free(&n);
    dip_unref(x);
    dip_unref(target);
}

/* ---- optimisers */

/* Two large parameters, their gradients and an Adam over them, after one step. */
typedef struct Pair {
    dip_Param *p[2];
    dip_Tensor *g[2];
    dip_Optimizer *o;
} Pair;

static Pair pair_new(void) {
    enum { SIDE = 300 };
    Pair s = {{parameter("w1", matrix(SIDE, SIDE, 1)), parameter("w2", matrix(SIDE, SIDE, 2))},
              {matrix(SIDE, SIDE, 3), matrix(SIDE, SIDE, 4)},
              NULL};
    CHECK_OK(dip_optimizer("adam", NULL, 2, s.p, &s.o));
    CHECK_OK(dip_optimizer_apply(s.o, s.g));
    return s;
}

static void pair_free(Pair *s) {
    dip_optimizer_free(s->o);
    for (int i = 0; i < 2; i++) dip_param_unref(s->p[i]), dip_unref(s->g[i]);
}

/* The second value is held, so that its step needs new memory. When there is none the first
 * parameter, the states and the step number stay as they are too. */
static void test_step_is_all_or_nothing(void) {
    Pair a = pair_new(), b = pair_new();
    dip_Tensor *held = dip_ref(dip_param_peek(a.p[1]));
    CHECK_OK(dip_memory_limit(dip_memory().allocated + 1000));
    CHECK_FAILS(dip_optimizer_apply(a.o, a.g), NOMEM, "parameter 'w2': adam: out of memory");
    CHECK_OK(dip_memory_limit(0));
    for (int i = 0; i < 2; i++) CHECK(same_bits(dip_param_peek(a.p[i]), dip_param_peek(b.p[i])));
    CHECK_OK(dip_optimizer_apply(a.o, a.g));
    CHECK(same_bits(held, dip_param_peek(b.p[1])));
    CHECK_OK(dip_optimizer_apply(b.o, b.g));
    for (int i = 0; i < 2; i++) CHECK(same_bits(dip_param_peek(a.p[i]), dip_param_peek(b.p[i])));
    dip_unref(held);
    pair_free(&a);
    pair_free(&b);
}

static void test_optimizer_numbers(void) {
    dip_Param *p = parameter("w", floats(1, (float[]){1}));
    dip_Tensor *g = floats(1, (float[]){1});
    dip_Optimizer *o = NULL;
    double v = 0;
    CHECK_OK(dip_optimizer("adam", "lr=0.25 beta1=0.5", 1, &p, &o));
    CHECK_OK(dip_optimizer_get(o, "lr", &v));
    CHECK(v == 0.25);
    CHECK_OK(dip_optimizer_get(o, "step", &v));
    CHECK(v == 1);
    CHECK_OK(dip_optimizer_apply(o, &g));
    CHECK_OK(dip_optimizer_get(o, "step", &v));
    CHECK(v == 2);
    CHECK_NEAR(at(dip_param_peek(p), 0), 0.75, 1e-6); /* the first step of Adam is lr */
    CHECK_OK(dip_optimizer_set(o, "lr", 0));
    CHECK_OK(dip_optimizer_apply(o, &g));
    CHECK_NEAR(at(dip_param_peek(p), 0), 0.75, 1e-6);
    CHECK_FAILS(dip_optimizer_set(o, "rate", 1), VALUE, "no number 'rate'; it has lr, step, beta1");
    CHECK_FAILS(dip_optimizer_set(o, "step", 0), VALUE, "at least 1");
    CHECK_FAILS(dip_optimizer_set(o, "lr", NAN), VALUE, "NaN");
    CHECK_FAILS(dip_optimizer_set(o, NULL, 1), VALUE, "number is NULL");
    CHECK_FAILS(dip_optimizer_get(o, "rate", &v), VALUE, "no number 'rate'");
    CHECK_FAILS(dip_optimizer_get(o, "lr", NULL), VALUE, "out is NULL");
    CHECK_FAILS(dip_optimizer_set(NULL, "lr", 1), VALUE, "o is NULL");
    dip_optimizer_free(o);
    dip_optimizer_free(NULL);
    dip_param_unref(p);
    dip_unref(g);
}

static void test_optimizer_refusals(void) {
    dip_Param *p = parameter("w", floats(2, (float[]){1, 2})), *twice[2] = {p, p};
    dip_Optimizer *o = NULL;
    CHECK_FAILS(dip_optimizer("adma", NULL, 1, &p, &o), VALUE, "no op 'adma'");
    CHECK_FAILS(dip_optimizer("add", NULL, 1, &p, &o), VALUE, "no update rule");
    CHECK_FAILS(dip_optimizer("sgd", "lr", 1, &p, &o), VALUE, "name=value");
    CHECK_FAILS(dip_optimizer("sgd", "lr=fast", 1, &p, &o), VALUE, "must be a number");
    CHECK_FAILS(dip_optimizer("sgd", "rate=1", 1, &p, &o), VALUE, "no number 'rate'");
    CHECK_FAILS(dip_optimizer("momentum", "use_nesterov=7", 1, &p, &o), VALUE, "True or False");
    CHECK_FAILS(dip_optimizer("sgd", NULL, 2, twice, &o), VALUE, "twice");
    CHECK_FAILS(dip_optimizer("sgd", NULL, 1, NULL, &o), VALUE, "params NULL");
    CHECK_FAILS(dip_optimizer("sgd", NULL, 1, &p, NULL), VALUE, "out is NULL");
    CHECK_OK(dip_optimizer("sgd", NULL, 1, &p, &o));
    dip_Tensor *g = floats(3, (float[]){1, 1, 1});
    CHECK_FAILS(dip_optimizer_apply(o, &g), VALUE,
                "parameter 'w' is float32[2], its gradient float32[3]");
    CHECK_FAILS(dip_optimizer_apply(o, NULL), VALUE, "grads is NULL");
    CHECK_FAILS(dip_optimizer_step(o), RUNTIME, "no parameter has a gradient");
    CHECK_FAILS(dip_optimizer_step(NULL), VALUE, "o is NULL");
    CHECK(at(dip_param_peek(p), 0) == 1);
    dip_optimizer_free(o);
    dip_param_unref(p);
    dip_unref(g);
}

/* Weights and states come back: training goes on as if it had not stopped. */
static void test_save_and_load(void) {
    char path[] = "/tmp/diptych-grad-XXXXXX", states[64];
    int fd = mkstemp(path);
    if (!CHECK(fd >= 0)) return;
    close(fd);
    snprintf(states, sizeof states, "%s.states", path);
    Net a = net_new(), b = net_new();
    dip_Tensor *x = matrix(16, 5, 11), *target = matrix(16, 2, 12);
    dip_Optimizer *oa = NULL, *ob = NULL;
    CHECK_OK(dip_optimizer("adam", NULL, 3, a.params, &oa));
    CHECK_OK(dip_optimizer("adam", NULL, 3, b.params, &ob));
    for (int step = 0; step < 6; step++) {
        if (step == 3) {
            CHECK_OK(dip_params_save(path, 3, a.params));
            CHECK_OK(dip_optimizer_save(oa, states));
            CHECK_OK(dip_params_load(path, 3, b.params));
            CHECK_OK(dip_optimizer_load(ob, states));
        }
        dip_Tensor *la = net_loss(&a, x, target);
        CHECK_OK(dip_backward(la));
        CHECK_OK(dip_optimizer_step(oa));
        dip_unref(la);
        if (step < 3) continue;
        dip_Tensor *lb = net_loss(&b, x, target);
        CHECK_OK(dip_backward(lb));
        CHECK_OK(dip_optimizer_step(ob));
        dip_unref(lb);
    }
    for (int i = 0; i < 3; i++)
        CHECK(same_bits(dip_param_peek(a.params[i]), dip_param_peek(b.params[i])));
    CHECK_FAILS(dip_params_load(states, 3, b.params), VALUE, "no tensor 'w1'");
    CHECK_FAILS(dip_optimizer_load(ob, path), VALUE, "no tensor 'w1.m'");
    CHECK_FAILS(dip_params_load("/nowhere/at all", 3, b.params), IO, "/nowhere");
    dip_Param *other = parameter("w1", floats(2, (float[]){1, 2}));
    CHECK_FAILS(dip_params_load(path, 1, &other), VALUE, "'w1' is float32[5, 7]");
    CHECK_FAILS(dip_params_save(NULL, 1, &other), VALUE, "path is NULL");
    CHECK_FAILS(dip_optimizer_save(ob, NULL), VALUE, "path is NULL");
    dip_param_unref(other);
    remove(path);
    remove(states);
    dip_optimizer_free(oa);
    dip_optimizer_free(ob);
    net_free(&a);
    net_free(&b);
    dip_unref(x);
    dip_unref(target);
}

int main(void) {
    RUN(test_grad);
    RUN(test_grad_of_grad);
    RUN(test_grad_seeds_and_keep);
    RUN(test_recording);
    RUN(test_grad_refusals);
    RUN(test_custom_grad);
    RUN(test_custom_grad_of_other_sizes);
    RUN(test_param);
    RUN(test_param_refusals);
    RUN(test_param_snapshot);
    RUN(test_steps_equal_functional);
    RUN(test_memory_is_flat);
    RUN(test_step_is_all_or_nothing);
    RUN(test_optimizer_numbers);
    RUN(test_optimizer_refusals);
    RUN(test_save_and_load);
    return test_done("grad");
}
