/* Recording a capture and doing it again for other sizes. */
#include "eager/dispatch.h"
#include "eager/gradients.h"
#include "eager/record.h"
#include "run/run.h"
#include "test.h"

/* What is captured: x is f32[n,3]; two results. */
typedef Status (*Function)(Tensor *x, Tensor **out);

static Tensor *rows(int64_t n) {
    Tensor *t;
    TensorType type = {.dtype = DT_f32, .rank = 2, .dims = {n, 3}};
    if (!CHECK_OK(tensor_new(&type, "test", &t))) exit(1);
    for (int64_t i = 0; i < 3 * n; i++) ((float *)(void *)t->data)[i] = (float)(i + 1);
    return t;
}

static void drop(int n, Tensor **t) {
    for (int i = 0; i < n; i++) tensor_unref(t[i]);
}

/* Captures f for n rows, which may be others later. NULL: it cannot be recorded. */
static Recording *recorded(Function f, int64_t n, const char **why) {
    Capture *c = capture_new();
    CHECK_OK(capture_begin(c));
    record_start(c);
    TensorType type = {.dtype = DT_f32, .rank = 2, .dims = {n, 3}};
    Tensor *x = capture_input(c, &type), *out[2] = {0};
    record_free_axes(1);
    Recording *r = NULL;
    if (CHECK_OK(f(x, out))) r = record_stop(c, 1, &x, 2, out, why);
    tensor_unref(x);
    drop(2, out);
    capture_free(c);
    return r;
}

/* The recorded function on n rows; the status of making its graph. */
static Status run_again(Recording *r, int64_t n, Tensor **out) {
    Capture *c = capture_new();
    Tensor *x = rows(n), *in = NULL, *results[2] = {0};
    Program *p = NULL;
    CHECK_OK(capture_begin(c));
    Status status = record_again(r, c, 1, &x, &in, results);
    if (status == OK) status = capture_finish(c, 2, results, &p);
    tensor_unref(in);
    drop(2, results);
    capture_free(c);
    if (status == OK) CHECK_OK(program_run(p, 1, &x, out));
    program_unref(p);
    tensor_unref(x);
    return status;
}

static float at(const Tensor *t, int64_t i) { return ((const float *)(const void *)t->data)[i]; }

/* ---- functions */

/* reshape to (3n, -1), and the mean of the rows by a division by n */
static Status by_size(Tensor *x, Tensor **out) {
    SizeId n = record_dim(x, 0), three = record_const(number_int(3));
    if (!CHECK(n && !record_dim(x, 1))) return DIP_E_INTERNAL;
    attrs_reshape wide = {.shape = {.n = 2, .v = {0, -1}}};
    uint32_t mark = record_mark();
    SizeId all = record_size(SIZE_MUL, n, three);
    record_attribute(&wide.shape.v[0], all, false);
    wide.shape.v[0] = record_value(all).i;
    Status status = dispatch1(OP_reshape, &wide, x, &out[0]);
    record_reset(mark);
    TRY(status);
    AUTO_TENSOR sum = NULL;
    AUTO_TENSOR count = NULL;
    attrs_sum down = {.axis = {.n = 1}, .dtype = DT_NONE};
    TRY(dispatch1(OP_sum, &down, x, &sum));
    TRY(record_size_tensor(n, DT_f32, &count));
    return dispatch2(OP_div, NULL, sum, count, &out[1]);
}

/* a decision: more than two rows */
static Status by_decision(Tensor *x, Tensor **out) {
    bool many = record_compare(SIZE_GT, record_dim(x, 0), record_const(number_int(2)));
    TRY(dispatch1(many ? OP_neg : OP_square, NULL, x, &out[0]));
    return dispatch1(OP_abs, NULL, x, &out[1]);
}

/* the gradient of sum(v * v), and a branch */
static Status by_tape(Tensor *x, Tensor **out) {
    AUTO_TENSOR v = NULL;
    AUTO_TENSOR square = NULL;
    AUTO_TENSOR loss = NULL;
    AUTO_TENSOR flag = NULL;
    AUTO_TENSOR twice = NULL;
    TRY(tape_variable(x, &v));
    TRY(dispatch2(OP_mul, NULL, v, v, &square));
    TRY(dispatch1(OP_sum, NULL, square, &loss));
    GradientsArgs a = {.nroots = 1, .roots = &loss, .nwrt = 1, .wrt = &v};
    TRY(tape_gradients(&a, &out[0]));
    TRY(dispatch2(OP_greater, NULL, loss, loss, &flag));
    Capture *c = capture_now;
    Side then = {capture_region(c, 0), &twice}, other = {capture_region(c, 0), &x};
    capture_enter(c, then.region);
    Status status = dispatch2(OP_add, NULL, x, x, &twice);
    capture_leave(c);
    return status == OK ? capture_if(c, flag, then, other, 1, &out[1]) : status;
}

static Status by_nobody(Tensor *x, Tensor **out) {
    record_break("nothing to see");
    return by_decision(x, out);
}

/* ---- tests */

static void test_sizes_are_carried(void) {
    const char *why = NULL;
    Recording *r = recorded(by_size, 4, &why);
    if (!CHECK(r)) return;
    for (int64_t n = 1; n < 9; n++) {
        Tensor *out[2];
        if (!CHECK_OK(run_again(r, n, out))) break;
        CHECK(out[0]->type.dims[0] == 3 * n && out[0]->type.dims[1] == 1);
        CHECK_NEAR(at(out[1], 0), (float)(3 * n - 1) / 2, 1e-6);
        drop(2, out);
    }
    recording_unref(r);
}

static void test_decisions_are_guards(void) {
    const char *why = NULL;
    Recording *r = recorded(by_decision, 5, &why);
    if (!CHECK(r)) return;
    Tensor *out[2];
    if (CHECK_OK(run_again(r, 3, out))) {
        CHECK(at(out[0], 0) == -1 && out[0]->type.dims[0] == 3);
        drop(2, out);
    }
    CHECK_FAILS(run_again(r, 2, out), VALUE, "a size of 2 > 2 is false now");
    recording_unref(r);
}

static void test_tape_and_branches(void) {
    const char *why = NULL;
    Recording *r = recorded(by_tape, 2, &why);
    if (!CHECK(r)) return;
    for (int64_t n = 1; n < 6; n++) {
        Tensor *out[2];
        if (!CHECK_OK(run_again(r, n, out))) break;
        CHECK(out[0]->type.dims[0] == n && at(out[0], 3 * n - 1) == (float)(6 * n));
        CHECK(out[1]->type.dims[0] == n && at(out[1], 0) == 1);
        drop(2, out);
    }
    recording_unref(r);
}

static void test_broken(void) {
    const char *why = NULL;
    CHECK(!recorded(by_nobody, 3, &why));
    CHECK(why && !strcmp(why, "nothing to see"));
}

static void test_size_arithmetic(void) {
    Capture *c = capture_new();
    CHECK_OK(capture_begin(c));
    record_start(c);
    SizeId minus7 = record_const(number_int(-7)), two = record_const(number_int(2));
    CHECK(record_value(record_size(SIZE_FLOORDIV, minus7, two)).i == -4);
    CHECK(record_value(record_size(SIZE_MOD, minus7, two)).i == 1);
    CHECK(record_value(record_size(SIZE_TRUEDIV, minus7, two)).d == -3.5);
    CHECK(!record_size(SIZE_MOD, two, record_const(number_int(0))));
    SizeId most = record_const(number_int(INT64_MAX));
    CHECK(!record_size(SIZE_ADD, most, two) && !record_size(SIZE_TRUEDIV, most, two));
    capture_free(c);
}

int main(void) {
    RUN(test_sizes_are_carried);
    RUN(test_decisions_are_guards);
    RUN(test_tape_and_branches);
    RUN(test_broken);
    RUN(test_size_arithmetic);
    return test_done("record");
}
