/* The gradient of every differentiable op, from the rows of cases.def:
 * - in f64 against central finite differences of sum(w * results), w random;
 * - in f32 against f64; with strided inputs and seeds; for each input alone;
 * - written as op calls (create_graph) against the eager reading;
 * - the gradient of the gradient against finite differences of the gradient. */
#include "cases.h"
#include "oracle.h"
#include "test.h"

enum { FIRST_ORDER_ELEMENTS = 32, SECOND_ORDER_ELEMENTS = 6 };
static const double step = 1e-6, near = 1e-5;

/* Inputs that are constants for the gradient although the result depends on them; `attrs`: only in
 * rows whose attributes hold this text. */
static const struct {
    const char *op;
    int input;
    const char *attrs, *why;
} constants[] = {
    {"elu", 1, "", "a setting, not a weight"},
    {"celu", 1, "", "a setting, not a weight"},
    {"leaky_relu", 1, "", "a setting, not a weight"},
    {"softshrink", 1, "", "a setting, not a weight"},
    {"hardtanh", 1, "", "a setting, not a weight"},
    {"hardtanh", 2, "", "a setting, not a weight"},
    {"threshold", 2, "", "a setting, not a weight"},
    {"embedding", 1, "padding_idx", "the padding row does not learn"},
};

static bool is_constant(const CasePlan *p, int input) {
    for (size_t i = 0; i < COUNT_OF(constants); i++)
        if (constants[i].input == input && !strcmp(constants[i].op, p->op->name) &&
            strstr(p->row->attrs, constants[i].attrs))
            return true;
    return false;
}

/* Ops whose gradient cannot be differentiated again, and why. */
static const struct {
    const char *op, *why;
} first_order_only[] = {
    {"digamma", "its slope trigamma has no gradient"},
    {"ctc_loss", "the backward sums are a kernel of their own"},
    {"ctc_loss_core", "the backward sums are a kernel of their own"},
};

static bool is_first_order(const Op *op) {
    for (size_t i = 0; i < COUNT_OF(first_order_only); i++)
        if (!strcmp(first_order_only[i].op, op->name)) return true;
    return false;
}

static long checked; /* elements compared with finite differences, for the present op */

/* ---- weights and gradients as arrays of doubles */

typedef struct Grads {
    int n;
    double *g[CASE_INPUTS]; /* NULL: no gradient came, which means 0 */
} Grads;

static void grads_free(Grads *g) {
    for (int i = 0; i < g->n; i++) free(g->g[i]);
}

/* One weight for each element of each float result. */
static double *weights_of(const Tensor *t, int output) {
    double *w = calloc((size_t)tensor_count(t) + 1, sizeof *w);
    uint64_t state = 77 + (uint64_t)output;
    for (int64_t k = 0; k < tensor_count(t); k++)
        w[k] = oracle_round(DT_f32, case_uniform(&state, 0.5, 1.5));
    return w;
}

static double weighted(const Op *op, const CaseRun *r) {
    double sum = 0;
    for (int i = 0; i < r->nout; i++) {
        if (!dtype_is_float(r->out[i]->type.dtype) || case_is_byproduct(op, i)) continue;
        double *w = weights_of(r->out[i], i), *v = values_of(r->out[i]);
        for (int64_t k = 0; k < tensor_count(r->out[i]); k++) sum += w[k] * v[k];
        free(w), free(v);
    }
    return sum;
}

/* sum(w * results) at the plan's values. */
static double loss_at(const CasePlan *p) {
    CaseRun r;
    case_run(p, DT_f64, DENSE, NO_LEAVES, &r);
    double sum = CHECK_OK(r.status) ? weighted(p->op, &r) : NAN;
    run_free(&r);
    return sum;
}

/* Gradients of the run's results for its leaves, as tensors. */
static Status walk_back(const Op *op, const CaseRun *r, Layout seeds, bool create_graph,
                        Tensor **grads) {
    Tensor *root[CASE_OUTPUTS], *seed[CASE_OUTPUTS];
    GradLink *leaf[CASE_INPUTS];
    int nroots = 0, nleaves = 0, at[CASE_INPUTS];
    for (int i = 0; i < r->nout; i++) {
        if (!r->out[i]->link || case_is_byproduct(op, i)) continue;
        double *w = weights_of(r->out[i], i);
        seed[nroots] = tensor_of(&r->out[i]->type, w, seeds);
        root[nroots++] = r->out[i];
        free(w);
    }
    for (int i = 0; i < r->nin; i++)
        if (r->leaf[i]) at[nleaves] = i, leaf[nleaves++] = r->leaf[i];
    Tensor *found[CASE_INPUTS] = {0};
    BackwardArgs a = {.nroots = nroots, .roots = root, .seeds = seed, .create_graph = create_graph};
    a.nleaves = nleaves;
    a.leaves = leaf;
    Status status = tape_backward(&a, found);
    for (int i = 0; i < r->nin; i++) grads[i] = NULL;
    for (int i = 0; i < nleaves; i++) grads[at[i]] = found[i];
    for (int i = 0; i < nroots; i++) tensor_unref(seed[i]);
    return status;
}

static void check_type(const CasePlan *p, int i, const Tensor *g, const Tensor *x) {
    if (CHECK(type_equal(&g->type, &x->type))) return;
    char a[200], b[200];
    fprintf(stderr, "  %s: the gradient of input %d is %s, the input %s\n", case_text(p->row), i,
            type_text(&g->type, a, sizeof a), type_text(&x->type, b, sizeof b));
}

typedef struct How {
    DType floats;
    Layout inputs, seeds;
    uint32_t leaves;
    bool create_graph;
} How;

static bool gradients(const CasePlan *p, How how, Grads *out) {
    CaseRun r;
    Tensor *g[CASE_INPUTS];
    *out = (Grads){.n = p->nin};
    case_run(p, how.floats, how.inputs, how.leaves, &r);
    bool good =
        CHECK_OK(r.status) && CHECK_OK(walk_back(p->op, &r, how.seeds, how.create_graph, g));
    for (int i = 0; good && i < p->nin; i++) {
        if (!g[i]) continue;
        check_type(p, i, g[i], r.in[i]);
        out->g[i] = values_of(g[i]);
        tensor_unref(g[i]);
    }
    if (!good) fprintf(stderr, "  %s: its gradient\n", case_text(p->row));
    run_free(&r);
    return good;
}

/* ---- finite differences */

static bool is_float_input(const CasePlan *p, int i) {
    return !p->in[i].is_absent && !p->in[i].is_number && dtype_is_float(p->in[i].type.dtype);
}

/* Up to `most` of n elements, spread out. */
static int64_t stride_for(int64_t n, int64_t most) { return n <= most ? 1 : n / most; }

typedef double Measure(const CasePlan *p, void *ctx);

/* The slope of `measure` along one element. False at a kink: the sides differ. */
static bool slope_at(const CasePlan *p, double *x, Measure *measure, void *ctx, double *out) {
    double old = *x, h = step * fmax(1, fabs(old));
    double here = measure(p, ctx);
    *x = old + h;
    double up = measure(p, ctx);
    *x = old - h;
    double down = measure(p, ctx);
    *x = old;
    *out = (up - down) / (2 * h);
    double left = (here - down) / h, right = (up - here) / h;
    return fabs(left - right) <= 1e-3 * fmax(1, fabs(*out));
}

static void differ(const CasePlan *p, const char *what, int i, int64_t k, double got, double want) {
    CHECK(!"the gradients agree");
    fprintf(stderr, "  %s: %s of input %d[%lld]: %.12g, expected %.12g\n", case_text(p->row), what,
            i, (long long)k, got, want);
}

/* g against slopes of `measure`, for every float input. */
static void compare_slopes(const CasePlan *p, const char *what, const Grads *g, Measure *measure,
                           void *ctx, int64_t most) {
    for (int i = 0; i < p->nin; i++) {
        if (!is_float_input(p, i) || is_constant(p, i)) continue;
        if (p->op->kind == K_EWISE && !ewise_has_grad(p->op, i)) continue;
        int64_t n = type_count(&p->in[i].type), kinks = 0, seen = 0;
        for (int64_t k = 0; k < n; k += stride_for(n, most), seen++) {
            double want, got = g->g[i] ? g->g[i][k] : 0;
            if (!slope_at(p, &p->values[i][k], measure, ctx, &want)) {
                kinks++;
                continue;
            }
            checked++;
            if (fabs(got - want) <= near * fmax(1, fabs(want))) continue;
            differ(p, what, i, k, got, want);
            break;
        }
        if (!CHECK(kinks * 4 <= seen + 3))
            fprintf(stderr, "  %s: %lld of %lld elements of input %d lie at kinks\n",
                    case_text(p->row), (long long)kinks, (long long)seen, i);
    }
}

static double measure_loss(const CasePlan *p, void *ctx) { return (void)ctx, loss_at(p); }

/* ---- second order */

static double *second_weights(const CasePlan *p, int i) {
    double *w = calloc((size_t)type_count(&p->in[i].type) + 1, sizeof *w);
    uint64_t state = 991 + (uint64_t)i;
    for (int64_t k = 0; k < type_count(&p->in[i].type); k++) w[k] = case_uniform(&state, 0.5, 1.5);
    return w;
}

/* sum over inputs of (random weights * gradient) */
static double measure_gradient(const CasePlan *p, void *ctx) {
    (void)ctx;
    Grads g;
    double sum = 0;
    if (!gradients(p, (How){DT_f64, DENSE, DENSE, ALL_LEAVES, false}, &g)) return NAN;
    for (int i = 0; i < p->nin; i++) {
        if (!g.g[i]) continue;
        double *w = second_weights(p, i);
        for (int64_t k = 0; k < type_count(&p->in[i].type); k++) sum += w[k] * g.g[i][k];
        free(w);
    }
    grads_free(&g);
    return sum;
}

/* The gradient of measure_gradient by walking back twice. */
static bool second_gradients(const CasePlan *p, Grads *out) {
    CaseRun r;
    Tensor *g[CASE_INPUTS], *root[CASE_INPUTS], *seed[CASE_INPUTS], *found[CASE_INPUTS] = {0};
    GradLink *leaf[CASE_INPUTS];
    int nroots = 0, nleaves = 0, at[CASE_INPUTS];
    *out = (Grads){.n = p->nin};
    case_run(p, DT_f64, DENSE, ALL_LEAVES, &r);
    bool good = CHECK_OK(r.status) && CHECK_OK(walk_back(p->op, &r, DENSE, true, g));
    for (int i = 0; good && i < p->nin; i++) {
        if (!r.leaf[i]) continue;
        at[nleaves] = i, leaf[nleaves++] = r.leaf[i];
        if (!g[i]) continue;
        double *w = second_weights(p, i);
        root[nroots] = g[i];
        seed[nroots++] = tensor_of(&g[i]->type, w, DENSE);
        free(w);
    }
    BackwardArgs a = {.nroots = nroots, .roots = root, .seeds = seed};
    a.nleaves = nleaves;
    a.leaves = leaf;
    good = good && CHECK_OK(tape_backward(&a, found));
    for (int i = 0; i < nleaves; i++) {
        if (found[i]) out->g[at[i]] = values_of(found[i]);
        tensor_unref(found[i]);
    }
    for (int i = 0; i < nroots; i++) tensor_unref(root[i]), tensor_unref(seed[i]);
    if (!good) fprintf(stderr, "  %s: second order\n", case_text(p->row));
    run_free(&r);
    return good;
}

/* ---- other ways to the same gradient */

static void compare_grads(const CasePlan *p, const char *what, const Grads *got, const Grads *want,
                          uint32_t inputs, double tolerance) {
    for (int i = 0; i < p->nin; i++) {
        if (!is_float_input(p, i) || !(inputs >> i & 1)) continue;
        int64_t n = type_count(&p->in[i].type);
        double scale = 1;
        for (int64_t k = 0; want->g[i] && k < n; k++) scale = fmax(scale, fabs(want->g[i][k]));
        for (int64_t k = 0; k < n; k++) {
            double a = got->g[i] ? got->g[i][k] : 0, b = want->g[i] ? want->g[i][k] : 0;
            if (a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance * scale) continue;
            differ(p, what, i, k, a, b);
            break;
        }
    }
}

static void test_way(const CasePlan *p, const char *what, const Grads *want, How how,
                     double tolerance) {
    Grads g;
    if (gradients(p, how, &g)) compare_grads(p, what, &g, want, how.leaves, tolerance);
    grads_free(&g);
}

static void test_ways(const CasePlan *p, const Grads *want) {
    double f32 = fmax(1e-5, 20 * p->row->tolerance);
    test_way(p, "f32 gradient", want, (How){DT_f32, DENSE, DENSE, ALL_LEAVES, false}, f32);
    test_way(p, "f32 strided gradient", want, (How){DT_f32, REVERSED, REVERSED, ALL_LEAVES, false},
             f32);
    test_way(p, "strided gradient", want, (How){DT_f64, FLIPPED, SPREAD, ALL_LEAVES, false}, 1e-11);
    test_way(p, "create_graph gradient", want, (How){DT_f64, DENSE, DENSE, ALL_LEAVES, true},
             1e-11);
    for (int i = 0; i < p->nin && i < 8; i++)
        if (is_float_input(p, i))
            test_way(p, "lone gradient", want, (How){DT_f64, DENSE, DENSE, 1u << i, false}, 1e-11);
}

/* ---- all rows */

/* False when a float result is not f64 in a run over f64: the dtype is asked for by an attribute,
 * and rounding would hide the slope. */
static bool is_smooth(const CasePlan *p) {
    CaseRun r;
    case_run(p, DT_f64, DENSE, NO_LEAVES, &r);
    bool good = CHECK_OK(r.status), some = false;
    for (int i = 0; i < r.nout; i++) {
        DType d = r.out[i]->type.dtype;
        some |= d == DT_f64;
        good &= d == DT_f64 || !dtype_is_float(d);
    }
    run_free(&r);
    return good && some;
}

static void test_case(const Case *c) {
    CasePlan p;
    Grads g, second;
    if (!CHECK(case_plan(c, &p)) || !is_smooth(&p)) {
        case_done(&p);
        return;
    }
    if (gradients(&p, (How){DT_f64, DENSE, DENSE, ALL_LEAVES, false}, &g)) {
        compare_slopes(&p, "gradient", &g, measure_loss, NULL, FIRST_ORDER_ELEMENTS);
        test_ways(&p, &g);
    }
    grads_free(&g);
    if (!is_first_order(p.op) && second_gradients(&p, &second)) {
        compare_slopes(&p, "second gradient", &second, measure_gradient, NULL,
                       SECOND_ORDER_ELEMENTS);
        grads_free(&second);
    }
    case_done(&p);
}

int main(int argc, char **argv) {
    for (int id = 1; id < NOPS; id++) {
        const Op *op = op_get((OpId)id);
        if (op->hidden || !op_is_differentiable(op)) continue;
        if (argc > 1 && strcmp(argv[1], op->name) != 0) continue;
        checked = 0;
        for (const Case *c = cases; c < cases + ncases; c++)
            if (!strcmp(c->op, op->name)) test_case(c);
        if (!CHECK(checked > 0)) fprintf(stderr, "  %s: no row checks its gradient\n", op->name);
        CLOSE(op->name);
    }
    return test_done("gradients");
}
