/* Compiled functions through the public header: what eager calls give, a graph gives. */
#include "diptych_ops.h"
#include "test.h"

static dip_Tensor *vector(int n, const float *x) {
    dip_Tensor *t = NULL;
    int64_t dims[] = {n};
    CHECK_OK(dip_tensor(DIP_F32, 1, dims, x, &t));
    return t;
}

static double first(const dip_Tensor *t) {
    float x[16] = {0};
    CHECK_OK(dip_copy_out(t, x, sizeof x));
    return (double)x[0];
}

/* ---- plain functions */

static dip_Status twice_plus(void *ctx, int nin, dip_Tensor *const *in, int nout,
                             dip_Tensor **out) {
    (void)nin, (void)nout;
    dip_Tensor *sum = NULL;
    dip_Status s = dip_call("add", 2, (dip_Tensor *[]){in[0], in[0]}, NULL, 1, &sum);
    if (s == DIP_OK) s = dip_call("add", 2, (dip_Tensor *[]){sum, ctx}, NULL, 1, out);
    dip_unref(sum);
    return s;
}

static void test_a_function_is_compiled_once_and_run_often(void) {
    dip_Tensor *x = vector(2, (float[]){1, 2}), *shift = vector(2, (float[]){10, 20});
    dip_Tensor *y = NULL;
    dip_Graph *g = NULL;
    CHECK_OK(dip_compile((dip_Function){twice_plus, shift}, 1, &x, 1, &g));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(dip_graph_run(g, 1, &x, 1, &y));
        CHECK(first(y) == 12);
        dip_unref(y);
    }
    dip_GraphInfo info;
    CHECK_OK(dip_graph_info(g, &info));
    CHECK(info.steps == 1 && info.results == 8);
    char *text = dip_graph_text(g);
    CHECK(text && strstr(text, "sums_core(") && strstr(text, "return"));
    free(text);
    dip_graph_free(g);
    dip_unref(x);
    dip_unref(shift);
}

static void test_bad_calls_are_refused(void) {
    dip_Tensor *x = vector(2, (float[]){1, 2}), *long_one = vector(3, (float[]){1, 2, 3});
    dip_Tensor *y[2] = {0};
    dip_Graph *g = NULL;
    CHECK_FAILS(dip_compile((dip_Function){0}, 1, &x, 1, &g), VALUE, "NULL");
    CHECK_FAILS(dip_compile((dip_Function){twice_plus, x}, 1, &x, 1, NULL), VALUE, "out is NULL");
    CHECK_FAILS(dip_compile((dip_Function){twice_plus, long_one}, 1, &x, 1, &g), VALUE, "add");
    CHECK_OK(dip_compile((dip_Function){twice_plus, x}, 1, &x, 1, &g));
    CHECK_FAILS(dip_graph_run(g, 1, &long_one, 1, y), VALUE, "compiled for float32[2]");
    CHECK_FAILS(dip_graph_run(g, 1, &x, 2, y), VALUE, "room for 2 results");
    CHECK_FAILS(dip_graph_run(NULL, 1, &x, 1, y), VALUE, "g is NULL");
    dip_graph_free(g);
    dip_unref(x);
    dip_unref(long_one);
}

static dip_Status look(void *ctx, int nin, dip_Tensor *const *in, int nout, dip_Tensor **out) {
    (void)nin, (void)nout, (void)out;
    return dip_item(in[0], ctx);
}

static void test_values_cannot_be_looked_at_while_compiling(void) {
    dip_Tensor *x = vector(1, (float[]){1});
    dip_Graph *g = NULL;
    double value = 0;
    CHECK_FAILS(dip_compile((dip_Function){look, &value}, 1, &x, 1, &g), TYPE,
                "known only when the compiled function runs");
    dip_unref(x);
}

/* ---- branches and loops */

static dip_Status negated(void *ctx, int nin, dip_Tensor *const *in, int nout, dip_Tensor **out) {
    (void)ctx, (void)nin, (void)nout;
    return dip_call("neg", 1, in, NULL, 1, out);
}
static dip_Status squared(void *ctx, int nin, dip_Tensor *const *in, int nout, dip_Tensor **out) {
    (void)ctx, (void)nin, (void)nout;
    return dip_call("mul", 2, (dip_Tensor *[]){in[0], in[0]}, NULL, 1, out);
}
static dip_Status squared_sum(void *ctx, int nin, dip_Tensor *const *in, int nout,
                              dip_Tensor **out) {
    dip_Tensor *square = NULL;
    dip_Status s = squared(ctx, nin, in, 1, &square);
    if (s == DIP_OK) s = dip_call("sum", 1, &square, NULL, nout, out);
    dip_unref(square);
    return s;
}
static dip_Status small(void *ctx, int nin, dip_Tensor *const *in, int nout, dip_Tensor **out) {
    (void)nin, (void)nout;
    dip_Tensor *sum = NULL;
    dip_Status s = dip_call("sum", 1, in, NULL, 1, &sum);
    if (s == DIP_OK) s = dip_call("less", 2, (dip_Tensor *[]){sum, ctx}, NULL, 1, out);
    dip_unref(sum);
    return s;
}

static dip_Status branch(void *limit, int nin, dip_Tensor *const *in, int nout, dip_Tensor **out) {
    dip_Tensor *is_small = NULL;
    dip_Status s = small(limit, nin, in, 1, &is_small);
    dip_Function then = {negated, NULL}, otherwise = {squared, NULL};
    if (s == DIP_OK) s = dip_cond(is_small, then, otherwise, nin, in, nout, out);
    dip_unref(is_small);
    return s;
}

static dip_Status loop(void *limit, int nin, dip_Tensor *const *in, int nout, dip_Tensor **out) {
    (void)nin, (void)nout;
    return dip_while((dip_Function){small, limit}, (dip_Function){squared, NULL}, 1, in, out);
}

/* The same numbers from an eager call and from a graph. */
static void compare(dip_Function f, dip_Tensor *x, double want) {
    dip_Tensor *eager = NULL, *graph = NULL;
    dip_Graph *g = NULL;
    CHECK_OK(f.call(f.ctx, 1, &x, 1, &eager));
    CHECK_OK(dip_compile(f, 1, &x, 1, &g));
    CHECK_OK(dip_graph_run(g, 1, &x, 1, &graph));
    CHECK(first(eager) == want);
    CHECK(first(graph) == want);
    dip_unref(eager);
    dip_unref(graph);
    dip_graph_free(g);
}

static void test_branches_and_loops(void) {
    dip_Tensor *low = vector(2, (float[]){1.5f, 2}), *high = vector(2, (float[]){3, 20}),
               *limit = NULL;
    CHECK_OK(dip_number(DIP_F32, 10, &limit));
    compare((dip_Function){branch, limit}, low, -1.5);
    compare((dip_Function){branch, limit}, high, 9);
    compare((dip_Function){loop, limit}, low, 5.0625);
    compare((dip_Function){loop, limit}, high, 3);
    dip_unref(low);
    dip_unref(high);
    dip_unref(limit);
}

/* ---- gradients through both */

typedef struct Through {
    dip_Function f; /* one tensor to one */
} Through;

/* The gradient of sum(f(x)) for x. */
static dip_Status gradient(void *ctx, int nin, dip_Tensor *const *in, int nout, dip_Tensor **out) {
    (void)nin, (void)nout;
    const Through *t = ctx;
    dip_Tensor *x = NULL, *y = NULL, *sum = NULL;
    dip_Status s = dip_variable(in[0], &x);
    if (s == DIP_OK) s = t->f.call(t->f.ctx, 1, &x, 1, &y);
    if (s == DIP_OK) s = dip_call("sum", 1, &y, NULL, 1, &sum);
    dip_GradArgs args = {.noutputs = 1, .outputs = &sum, .ninputs = 1, .inputs = &x};
    if (s == DIP_OK) s = dip_grad(&args, out);
    dip_unref(x);
    dip_unref(y);
    dip_unref(sum);
    return s;
}

/* A loop around a branch. */
static dip_Status branch_in_loop(void *limit, int nin, dip_Tensor *const *in, int nout,
                                 dip_Tensor **out) {
    (void)nin, (void)nout;
    dip_Function test = {small, limit}, body = {branch, limit};
    return dip_while(test, body, 1, in, out);
}

static void test_gradients_of_branches_and_loops(void) {
    dip_Tensor *low = vector(2, (float[]){1.5f, 2}), *high = vector(2, (float[]){3, 20});
    dip_Tensor *negative = vector(2, (float[]){-6, -5}), *limit = NULL;
    CHECK_OK(dip_number(DIP_F32, 10, &limit));
    Through b = {{branch, limit}}, l = {{loop, limit}}, both = {{branch_in_loop, limit}};
    compare((dip_Function){gradient, &b}, low, -1);
    compare((dip_Function){gradient, &b}, high, 6);
    compare((dip_Function){gradient, &l}, low, 4 * 1.5 * 1.5 * 1.5); /* two turns: x^4 */
    compare((dip_Function){gradient, &l}, high, 1);                  /* none */
    compare((dip_Function){gradient, &both}, negative, -1);          /* negated once: 11 */
    dip_unref(low);
    dip_unref(high);
    dip_unref(negative);
    dip_unref(limit);
}

/* ---- training */

typedef struct Net {
    dip_Param *w;
    dip_Optimizer *adam;
} Net;

static Net net_new(void) {
    Net n = {0};
    dip_Tensor *w = vector(3, (float[]){1, -2, 3});
    CHECK_OK(dip_param("w", w, &n.w));
    CHECK_OK(dip_optimizer("adam", "lr=0.1", 1, &n.w, &n.adam));
    dip_unref(w);
    return n;
}
static void net_free(Net *n) {
    dip_optimizer_free(n->adam);
    dip_param_unref(n->w);
}

/* loss = sum((w * x)^2), then one step of Adam */
static dip_Status step(void *ctx, int nin, dip_Tensor *const *in, int nout, dip_Tensor **out) {
    (void)nin, (void)nout;
    Net *n = ctx;
    dip_Tensor *product = NULL, *square = NULL;
    dip_Status s =
        dip_call("mul", 2, (dip_Tensor *[]){dip_param_peek(n->w), in[0]}, NULL, 1, &product);
    if (s == DIP_OK) s = dip_call("mul", 2, (dip_Tensor *[]){product, product}, NULL, 1, &square);
    if (s == DIP_OK) s = dip_call("sum", 1, &square, NULL, 1, out);
    if (s == DIP_OK) s = dip_backward(out[0]);
    if (s == DIP_OK) s = dip_optimizer_step(n->adam);
    dip_unref(product);
    dip_unref(square);
    return s;
}

static void test_a_training_step_is_one_graph(void) {
    Net eager = net_new(), graph = net_new();
    dip_Tensor *x = vector(3, (float[]){1, 2, 0.5f}), *a = NULL, *b = NULL;
    dip_Graph *g = NULL;
    CHECK_OK(dip_compile((dip_Function){step, &graph}, 1, &x, 1, &g));
    CHECK(first(dip_param_peek(graph.w)) == 1);
    CHECK(dip_param_grad_peek(graph.w) == NULL);
    for (int i = 0; i < 5; i++) {
        if (i == 3) { /* no new graph for a new rate */
            CHECK_OK(dip_optimizer_set(eager.adam, "lr", 0.01));
            CHECK_OK(dip_optimizer_set(graph.adam, "lr", 0.01));
        }
        CHECK_OK(step(&eager, 1, &x, 1, &a));
        CHECK_OK(dip_graph_run(g, 1, &x, 1, &b));
        CHECK(first(a) == first(b));
        CHECK(first(dip_param_peek(eager.w)) == first(dip_param_peek(graph.w)));
        dip_unref(a);
        dip_unref(b);
    }
    double number = 0;
    CHECK_OK(dip_optimizer_get(graph.adam, "step", &number));
    CHECK(number == 6);
    dip_graph_free(g);
    net_free(&eager);
    net_free(&graph);
    dip_unref(x);
}

/* ---- a step that is taken or not */

typedef struct Guarded {
    Net net;
    dip_Tensor *limit;
} Guarded;

static dip_Status guarded_step(void *ctx, int nin, dip_Tensor *const *in, int nout,
                               dip_Tensor **out) {
    Guarded *g = ctx;
    dip_Tensor *is_small = NULL;
    dip_Status s = small(g->limit, nin, in, 1, &is_small);
    dip_Function then = {step, &g->net}, otherwise = {squared_sum, NULL};
    if (s == DIP_OK) s = dip_cond(is_small, then, otherwise, nin, in, nout, out);
    dip_unref(is_small);
    return s;
}

static void test_a_step_in_a_branch_changes_nothing_where_it_is_not_taken(void) {
    Guarded eager = {.net = net_new()}, graph = {.net = net_new()};
    CHECK_OK(dip_number(DIP_F32, 10, &eager.limit));
    graph.limit = dip_ref(eager.limit);
    dip_Tensor *x[] = {vector(3, (float[]){1, 2, 0.5f}), vector(3, (float[]){9, 9, 9})};
    dip_Graph *g = NULL;
    CHECK_OK(dip_compile((dip_Function){guarded_step, &graph}, 1, x, 1, &g));
    for (int i = 0; i < 6; i++) {
        dip_Tensor *a = NULL, *b = NULL;
        CHECK_OK(guarded_step(&eager, 1, &x[i % 3 == 0], 1, &a)); /* not taken in turns 0 and 3 */
        CHECK_OK(dip_graph_run(g, 1, &x[i % 3 == 0], 1, &b));
        CHECK(first(a) == first(b));
        CHECK(first(dip_param_peek(eager.net.w)) == first(dip_param_peek(graph.net.w)));
        if (i == 0) CHECK(first(dip_param_peek(graph.net.w)) == 1);
        dip_unref(a);
        dip_unref(b);
    }
    CHECK(first(dip_param_peek(graph.net.w)) != 1);
    double number = 0;
    CHECK_OK(dip_optimizer_get(graph.net.adam, "step", &number));
    CHECK(number == 5); /* the next one */
    dip_graph_free(g);
    net_free(&eager.net);
    net_free(&graph.net);
    dip_unref(eager.limit);
    dip_unref(graph.limit);
    dip_unref(x[0]);
    dip_unref(x[1]);
}

int main(void) {
    RUN(test_a_function_is_compiled_once_and_run_often);
    RUN(test_bad_calls_are_refused);
    RUN(test_values_cannot_be_looked_at_while_compiling);
    RUN(test_branches_and_loops);
    RUN(test_gradients_of_branches_and_loops);
    RUN(test_a_training_step_is_one_graph);
    RUN(test_a_step_in_a_branch_changes_nothing_where_it_is_not_taken);
    return test_done("compile");
}
