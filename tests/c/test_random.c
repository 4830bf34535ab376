/* Random draws: the generator's known answers, the layout of counters, the state, independence of
 * threads, and moments of each distribution at fixed seeds. */
#include "base/parallel.h"
#include "eager/dispatch.h"
#include "tensor/random.h"
#include "test.h"

static Tensor *draw(const char *name, const char *attrs, Tensor *x, Tensor *y) {
    const Op *op = op_find(name);
    int64_t values[128];
    Tensor *out = NULL, *in[2] = {x, y};
    attrs_init(op, values);
    if (CHECK_OK(attrs_parse(op, attrs, values)))
        CHECK_OK(dispatch(op, values, (x != NULL) + (y != NULL), in, &out));
    return out;
}

static double *doubles(const Tensor *t) {
    double *v = malloc((size_t)(tensor_count(t) + 1) * sizeof *v);
    Tensor *wide = NULL;
    CHECK_OK(dispatch1(OP_cast, &(attrs_cast){.dtype = DT_f64}, (Tensor *)t, &wide));
    tensor_copy_dense(wide, v);
    tensor_unref(wide);
    return v;
}

static Tensor *number(double v) {
    Tensor *t = NULL;
    CHECK_OK(tensor_fill(&(TensorType){.dtype = DT_f64}, v, &t));
    return t;
}

/* The answers published with Random123 (Salmon et al.). */
static void test_philox_known_answers(void) {
    uint32_t w[4];
    philox(0, 0, w);
    CHECK(w[0] == 0x6627e8d5 && w[1] == 0xe169c58d && w[2] == 0xbc57ac4c && w[3] == 0x9b00dbd8);
    philox_stream(UINT64_MAX, UINT64_MAX, UINT64_MAX, w);
    CHECK(w[0] == 0x408f276d && w[1] == 0x41c83b0e && w[2] == 0xa20bc7c6 && w[3] == 0x6d5451fd);
    philox_stream(0x299f31d0a4093822u, 0x85a308d3243f6a88u, 0x0370734413198a2eu, w);
    CHECK(w[0] == 0xd16cfe09 && w[1] == 0x94fdcceb && w[2] == 0x5001e420 && w[3] == 0x24126ea1);
}

/* Element i of a uniform f32 draw is word (i % 64) / 16 of counter (i / 64) * 16 + i % 16. */
static void test_layout_of_counters(void) {
    random_seed(77);
    random_take(5, &(uint64_t){0}, &(uint64_t){0});
    Tensor *t = draw("uniform", "shape=(200)", NULL, NULL);
    double *v = doubles(t);
    for (int i = 0; i < 200; i++) {
        uint32_t w[4];
        philox(77, 5 + (uint64_t)(i / 64 * 16 + i % 16), w);
        CHECK(v[i] == (double)(w[i % 64 / 16] >> 8) * 0x1p-24);
    }
    CHECK(random_state().counter == 205);
    free(v);
    tensor_unref(t);
    t = draw("uniform", "shape=(70) dtype=float64", NULL, NULL);
    v = doubles(t);
    for (int i = 0; i < 70; i++) {
        uint32_t w[4];
        philox(77, 205 + (uint64_t)(i / 32 * 16 + i % 16), w);
        uint64_t both = (uint64_t)w[i % 32 / 16 * 2] << 32 | w[i % 32 / 16 * 2 + 1];
        CHECK(v[i] == (double)(both >> 11) * 0x1p-53);
    }
    free(v);
    tensor_unref(t);
}

static void test_state_is_saved_and_restored(void) {
    random_seed(3);
    tensor_unref(draw("normal", "shape=(10)", NULL, NULL));
    RandomState s = random_state();
    Tensor *a = draw("normal", "shape=(33)", NULL, NULL);
    Tensor *b = draw("normal", "shape=(33)", NULL, NULL);
    random_restore(s);
    Tensor *c = draw("normal", "shape=(33)", NULL, NULL);
    CHECK(memcmp(a->data, c->data, 33 * 4) == 0);
    CHECK(memcmp(a->data, b->data, 33 * 4) != 0);
    random_seed(4);
    Tensor *d = draw("normal", "shape=(33)", NULL, NULL);
    CHECK(memcmp(a->data, d->data, 33 * 4) != 0);
    tensor_unref(a), tensor_unref(b), tensor_unref(c), tensor_unref(d);
}

static const char *const draws[][2] = {
    {"standard_normal", "shape=(100003)"},
    {"uniform", "shape=(100003) dtype=float64"},
    {"normal", "shape=(100003) dtype=bfloat16"},
    {"exponential", "shape=(100003)"},
    {"truncated_normal", "shape=(100003)"},
    {"randint", "low=-5 high=17 size=(100003)"},
    {"randperm", "n=100003"},
};

static void test_any_number_of_threads_draws_the_same(void) {
    for (size_t i = 0; i < COUNT_OF(draws); i++) {
        Tensor *results[3];
        for (int k = 0; k < 3; k++) {
            parallel_set_threads((int[]){1, 2, 3}[k]);
            random_seed(9);
            results[k] = draw(draws[i][0], draws[i][1], NULL, NULL);
        }
        size_t n = (size_t)tensor_nbytes(results[0]);
        for (int k = 1; k < 3; k++) CHECK(!memcmp(results[0]->data, results[k]->data, n));
        for (int k = 0; k < 3; k++) tensor_unref(results[k]);
    }
    parallel_set_threads(0);
}

/* Mean and standard deviation within five standard errors. */
static void check_moments(Tensor *t, double mean, double stddev) {
    int64_t n = tensor_count(t);
    double *v = doubles(t), sum = 0, squares = 0, fourth = 0;
    for (int64_t i = 0; i < n; i++) sum += v[i];
    sum /= (double)n;
    for (int64_t i = 0; i < n; i++) squares += (v[i] - sum) * (v[i] - sum);
    squares /= (double)n;
    for (int64_t i = 0; i < n; i++) fourth += pow(v[i] - sum, 4);
    fourth /= (double)n;
    CHECK_NEAR(sum, mean, 5 * stddev / sqrt((double)n));
    CHECK_NEAR(squares, stddev * stddev,
               5 * sqrt((fourth - squares * squares) / (double)n) + 1e-12);
    free(v);
    tensor_unref(t);
}

static void test_moments(void) {
    random_seed(2024);
    check_moments(draw("standard_normal", "shape=(200000)", NULL, NULL), 0, 1);
    check_moments(draw("normal", "shape=(200000) mean=-3 stddev=0.5", NULL, NULL), -3, 0.5);
    check_moments(draw("uniform", "shape=(200000) minval=2 maxval=8", NULL, NULL), 5, sqrt(3));
    check_moments(draw("exponential", "shape=(200000) lambd=4", NULL, NULL), 0.25, 0.25);
    check_moments(draw("truncated_normal", "shape=(200000)", NULL, NULL), 0, 0.87962566103423978);
    check_moments(draw("randint", "low=0 high=10 size=(200000)", NULL, NULL), 4.5, sqrt(8.25));
    static const double alphas[] = {0.3, 1, 5, 100}, rates[] = {0.5, 9.5, 10.5, 1000};
    for (int i = 0; i < 4; i++) {
        Tensor *alpha = number(alphas[i]), *rate = number(rates[i]);
        check_moments(draw("random_gamma", "shape=(100000)", alpha, NULL), alphas[i],
                      sqrt(alphas[i]));
        check_moments(draw("random_poisson", "shape=(100000)", rate, NULL), rates[i],
                      sqrt(rates[i]));
        tensor_unref(alpha), tensor_unref(rate);
    }
}

/* Normal numbers fall into the intervals of the distribution function: chi-squared over 8 of them,
 * and neighbours in the draw are independent. */
static void test_normal_shape(void) {
    enum { N = 200000 };
    random_seed(11);
    Tensor *t = draw("standard_normal", "shape=(200000)", NULL, NULL);
    double *v = doubles(t), counts[8] = {0}, chi = 0, lag[65] = {0};
    static const double edges[] = {-1.5, -1, -0.5, 0, 0.5, 1, 1.5};
    for (int i = 0; i < N; i++) {
        int k = 0;
        while (k < 7 && v[i] >= edges[k]) k++;
        counts[k]++;
        for (int d = 1; d <= 64 && i >= d; d++) lag[d] += v[i] * v[i - d];
    }
    for (int k = 0; k < 8; k++) {
        double low = k ? 0.5 * erfc(-edges[k - 1] / sqrt(2)) : 0;
        double high = k < 7 ? 0.5 * erfc(-edges[k] / sqrt(2)) : 1, want = N * (high - low);
        chi += (counts[k] - want) * (counts[k] - want) / want;
    }
    CHECK(chi < 24.3); /* 7 degrees of freedom, 1 in 1000 */
    for (int d = 1; d <= 64; d++) CHECK(fabs(lag[d]) < 5 * sqrt(N));
    free(v);
    tensor_unref(t);
}

static void test_uniform_stays_inside(void) {
    static const char *const attrs[] = {"shape=(100000)", "shape=(100000) minval=-1 maxval=1",
                                        "shape=(100000) dtype=float16",
                                        "shape=(100000) dtype=bfloat16 minval=1 maxval=2"};
    static const double limits[][2] = {{0, 1}, {-1, 1}, {0, 1}, {1, 2}};
    random_seed(5);
    for (int k = 0; k < 4; k++) {
        Tensor *t = draw("uniform", attrs[k], NULL, NULL);
        double *v = doubles(t);
        int bad = 0;
        for (int i = 0; i < 100000; i++) bad += v[i] < limits[k][0] || v[i] >= limits[k][1];
        CHECK(bad == 0);
        free(v);
        tensor_unref(t);
    }
}

static void test_permutation(void) {
    random_seed(6);
    Tensor *t = draw("randperm", "n=1000", NULL, NULL);
    const int64_t *v = (const int64_t *)t->data;
    int seen[1000] = {0}, fixed = 0;
    for (int i = 0; i < 1000; i++) {
        seen[v[i]]++;
        fixed += v[i] == i;
    }
    for (int i = 0; i < 1000; i++) CHECK(seen[i] == 1);
    CHECK(fixed < 8);
    tensor_unref(t);
}

static void test_bernoulli_and_multinomial(void) {
    random_seed(8);
    Tensor *x = NULL, *p = number(0.3), *w = NULL;
    CHECK_OK(tensor_new(&(TensorType){.dtype = DT_f32, .rank = 1, .dims = {100000}}, "x", &x));
    check_moments(draw("bernoulli", "", x, p), 0.3, sqrt(0.21));
    CHECK_OK(tensor_new(&(TensorType){.dtype = DT_f64, .rank = 1, .dims = {4}}, "w", &w));
    memcpy(w->data, (double[]){1, 0, 3, 6}, 32);
    Tensor *t = draw("multinomial", "num_samples=100000", w, NULL);
    double counts[4] = {0};
    for (int i = 0; i < 100000; i++) counts[((const int64_t *)t->data)[i]]++;
    CHECK_NEAR(counts[0], 10000, 500);
    CHECK(counts[1] == 0);
    CHECK_NEAR(counts[2], 30000, 750);
    tensor_unref(t);
    for (int i = 0; i < 100; i++) {
        t = draw("multinomial", "num_samples=3 replacement=False", w, NULL);
        const int64_t *v = (const int64_t *)t->data;
        CHECK(v[0] != v[1] && v[1] != v[2] && v[0] != v[2] && v[0] != 1 && v[1] != 1 && v[2] != 1);
        tensor_unref(t);
    }
    tensor_unref(x), tensor_unref(p), tensor_unref(w);
}

static Status refused(const char *name, const char *attrs, Tensor *x, Tensor *y) {
    const Op *op = op_find(name);
    int64_t values[128];
    Tensor *out = NULL, *in[2] = {x, y};
    attrs_init(op, values);
    Status status = attrs_parse(op, attrs, values);
    if (status == OK) status = dispatch(op, values, (x != NULL) + (y != NULL), in, &out);
    if (status == OK) tensor_unref(out);
    return status;
}

static void test_refusals(void) {
    Tensor *two = number(2), *minus = number(-1), *nan = number(NAN);
    CHECK_FAILS(refused("bernoulli", "", two, two), VALUE, "bernoulli: p at element 0 is 2");
    CHECK_FAILS(refused("random_gamma", "", minus, NULL), VALUE, "alpha at element 0 is -1");
    CHECK_FAILS(refused("random_poisson", "", nan, NULL), VALUE, "rate at element 0 is nan");
    CHECK_FAILS(refused("multinomial", "num_samples=1", two, NULL), VALUE, "1 or 2 axes");
    CHECK_FAILS(refused("randint", "low=3 high=3 size=(2)", NULL, NULL), VALUE, "low is 3");
    CHECK_FAILS(refused("randint", "low=0 high=300 size=(2) dtype=uint8", NULL, NULL), VALUE,
                "does not fit uint8");
    CHECK_FAILS(refused("uniform", "shape=(2) minval=1 maxval=0", NULL, NULL), VALUE, "maxval");
    CHECK_FAILS(refused("normal", "shape=(2) dtype=int32", NULL, NULL), TYPE, "float type");
    tensor_unref(two), tensor_unref(minus), tensor_unref(nan);
}

int main(void) {
    RUN(test_philox_known_answers);
    RUN(test_layout_of_counters);
    RUN(test_state_is_saved_and_restored);
    RUN(test_any_number_of_threads_draws_the_same);
    RUN(test_moments);
    RUN(test_normal_shape);
    RUN(test_uniform_stays_inside);
    RUN(test_permutation);
    RUN(test_bernoulli_and_multinomial);
    RUN(test_refusals);
    return test_done("random");
}
