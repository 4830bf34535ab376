/* Several threads of the caller at once: each trains a network of its own on tensors that all
 * share, fails, draws random numbers, reads the figures; the results have the bits of a run alone.
 * Under the thread sanitizer this is the test of everything that the library shares between
 * threads. */
#include <pthread.h>
#include <stdatomic.h>

#include "diptych_ops.h"
#include "test.h"

enum { THREADS = 4, STEPS = 12, ROWS = 64, WIDE = 700, HIDDEN = 33, MANY = 200000 };

static dip_Tensor *shared_x, *shared_long;
static atomic_int bad; /* failed checks; CHECK itself counts without a lock */

static bool good(dip_Status s) {
    if (s != DIP_OK) atomic_fetch_add(&bad, 1);
    return s == DIP_OK;
}
static void expect(bool condition) {
    if (!condition) atomic_fetch_add(&bad, 1);
}

static dip_Tensor *ramp(int rank, const int64_t *dims, float step) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= dims[i];
    float *v = malloc((size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i] = (float)(i % 19 - 9) * step;
    dip_Tensor *t = NULL;
    good(dip_tensor(DIP_F32, rank, dims, v, &t));
    free(v);
    return t;
}

static dip_Param *parameter(const char *name, int64_t rows, int64_t columns) {
    dip_Tensor *value = ramp(2, (int64_t[]){rows, columns}, 0.01f);
    dip_Param *p = NULL;
    good(dip_param(name, value, &p));
    dip_unref(value);
    return p;
}

/* mean(softmax(tanh(x w1) w2)^2): matrix products, tables of prepared kernels, the tape.
 */
static double train_step(dip_Param *const *p, dip_Optimizer *o) {
    dip_Tensor *t[6] = {0};
    double loss = 0;
    good(dip_matmul(shared_x, dip_param_peek(p[0]), false, false, &t[0]));
    good(dip_tanh(t[0], &t[1]));
    good(dip_matmul(t[1], dip_param_peek(p[1]), false, false, &t[2]));
    good(dip_call("softmax", 1, &t[2], NULL, 1, &t[3]));
    good(dip_square(t[3], &t[4]));
    good(dip_call("mean", 1, &t[4], NULL, 1, &t[5]));
    good(dip_backward(t[5]));
    good(dip_optimizer_step(o));
    good(dip_item(t[5], &loss));
    for (int i = 0; i < 6; i++) dip_unref(t[i]);
    return loss;
}

/* Long enough for the pool of threads, which serves one caller at a time. */
static double long_sum(void) {
    dip_Tensor *y = NULL, *total = NULL;
    double sum = 0;
    if (good(dip_exp(shared_long, &y)) && good(dip_call("sum", 1, &y, NULL, 1, &total)))
        good(dip_item(total, &sum));
    dip_unref(y);
    dip_unref(total);
    return sum;
}

static void fail_and_draw(void) {
    dip_Tensor *out = NULL;
    expect(dip_matmul(shared_x, shared_x, false, false, &out) == DIP_E_VALUE);
    expect(strstr(dip_error_message(), "matmul") != NULL);
    good(dip_call("standard_normal", 0, NULL, "shape=(1000)", 1, &out));
    dip_unref(out);
    dip_Memory m = dip_memory();
    expect(m.allocated >= 0 && m.reserved >= 0);
}

typedef struct Work {
    double losses[STEPS], sum;
} Work;

static void *work(void *out) {
    Work *w = out;
    dip_Param *p[2] = {parameter("w1", WIDE, HIDDEN), parameter("w2", HIDDEN, 10)};
    dip_Optimizer *o = NULL;
    good(dip_optimizer("adam", "lr=0.01", 2, p, &o));
    for (int i = 0; i < STEPS; i++) {
        w->losses[i] = train_step(p, o);
        w->sum = long_sum();
        fail_and_draw();
    }
    dip_optimizer_free(o);
    for (int i = 0; i < 2; i++) dip_param_unref(p[i]);
    return NULL;
}

static void test_threads_do_not_disturb(void) {
    Work alone, many[THREADS];
    pthread_t threads[THREADS];
    work(&alone);
    CHECK(alone.losses[STEPS - 1] > 0 && alone.losses[STEPS - 1] != alone.losses[0]);
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, work, &many[i]));
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) CHECK(!memcmp(&many[i], &alone, sizeof alone));
    CHECK(bad == 0);
}

/* The last reference may go on any thread. */
static void *drop(void *t) {
    dip_unref(t);
    return NULL;
}

static void test_results_move_between_threads(void) {
    int64_t before = dip_memory().allocated;
    for (int i = 0; i < 50; i++) {
        dip_Tensor *y = NULL;
        pthread_t thread;
        if (!CHECK_OK(dip_exp(shared_x, &y))) return;
        dip_Tensor *again = dip_ref(y);
        pthread_create(&thread, NULL, drop, again);
        dip_unref(y);
        pthread_join(thread, NULL);
    }
    CHECK(dip_memory().allocated == before);
}

int main(void) {
    shared_x = ramp(2, (int64_t[]){ROWS, WIDE}, 0.1f);
    shared_long = ramp(1, (int64_t[]){MANY}, 0.05f);
    if (CHECK(shared_x && shared_long)) {
        RUN(test_threads_do_not_disturb);
        RUN(test_results_move_between_threads);
    }
    dip_unref(shared_x);
    dip_unref(shared_long);
    return test_done("threads");
}
