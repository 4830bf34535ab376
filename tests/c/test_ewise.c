/* Every elementwise row against the oracle (oracle.h): all dtypes its class allows, at the values
 * of its cases and at special values. */
#include <float.h>

#include "cases.h"
#include "oracle.h"
#include "test.h"

enum { MANY = 4096, SHOWN = 5 };

/* ---- comparing */

static int shown;                 /* differences printed for the present op */
static double largest = INFINITY; /* finite values above are not compared */

static void differ(const char *what, DType d, const double *v, int n, double got, double want) {
    CHECK(!"the op and the oracle agree");
    if (shown++ >= SHOWN) return;
    fprintf(stderr, "  %s %s(", what, dtype_name(d));
    for (int i = 0; i < n; i++) fprintf(stderr, i ? ", %.9g" : "%.9g", v[i]);
    fprintf(stderr, ") = %.17g, the oracle says %.17g\n", got, want);
}

/* Error of one operation in this type, from the row's tolerance for f32. */
static double tolerance_in(DType d, double f32_tolerance) {
    switch (d) {
    case DT_f64: return f32_tolerance * 0x1p-29;
    case DT_f16: return fmax(f32_tolerance, 0x1.02p-11);
    case DT_bf16: return fmax(f32_tolerance, 0x1.02p-8);
    default: return f32_tolerance;
    }
}

static bool is_near(DType d, double got, double want, double tolerance) {
    if (isnan(want)) return isnan(got);
    if (isinf(oracle_round(d, want))) return got == oracle_round(d, want);
    if (want == 0 && got == 0) return true;
    return fabs(got - want) <= tolerance_in(d, tolerance) * fmax(1, fabs(want));
}

/* ---- one call over prepared values */

static Tensor *flat(DType d, int64_t n) {
    Tensor *t;
    if (tensor_new(&(TensorType){(uint8_t)d, 1, {n}}, "test", &t) != OK) abort();
    return t;
}

static const char *element(const Tensor *t, int64_t i) {
    return t->data + i * dtype_size(t->type.dtype);
}

static bool is_left_out(const double v[3]) {
    for (int k = 0; k < 3; k++)
        if (isfinite(v[k]) && fabs(v[k]) > largest) return true;
    return false;
}

static void compare_floats(const Op *op, DType d, int n, Tensor *const *in, const Tensor *out,
                           double tolerance) {
    double v[3] = {0};
    DType ct = dtype_info[d].compute;
    for (int64_t i = 0; i < tensor_count(out); i++) {
        for (int k = 0; k < n; k++)
            v[k] = oracle_round(ct, oracle_get(in[k]->type.dtype, element(in[k], i)));
        if (is_left_out(v)) continue;
        double want = oracle_float(op, ct, v);
        double got = oracle_get(out->type.dtype, element(out, i));
        if (!is_near(out->type.dtype, got, want, tolerance)) differ(op->name, d, v, n, got, want);
    }
}

static void compare_ints(const Op *op, DType d, int n, Tensor *const *in, const Tensor *out) {
    bool in_bool = d == DT_bool || op->ewclass == EW_LOG;
    for (int64_t i = 0; i < tensor_count(out); i++) {
        Wide w[3] = {0};
        double v[3] = {0};
        for (int k = 0; k < n; k++) {
            DType dk = in[k]->type.dtype;
            w[k] = oracle_get_int(dk, element(in[k], i));
            v[k] = (double)w[k];
            if (op->ewclass == EW_LOG) w[k] = w[k] != 0;
        }
        DType r = out->type.dtype;
        Wide want = oracle_wrap(r, oracle_int(op, w, in_bool));
        Wide got = oracle_get_int(r, element(out, i));
        if (got != want) differ(op->name, d, v, n, (double)got, (double)want);
    }
}

static void run_one(const Op *op, DType d, int n, Tensor *const *in, double tolerance) {
    Tensor *out;
    if (!CHECK_OK(dispatch(op, NULL, n, in, &out))) return;
    DType r = out->type.dtype;
    bool floats = op->ewclass == EW_FLT || dtype_is_float(d);
    DType want = op->is_predicate || op->ewclass == EW_LOG ? DT_bool
                 : op->ewclass == EW_FLT                   ? dtype_to_float(d)
                                                           : d;
    CHECK(r == want);
    if (floats && op->ewclass != EW_LOG)
        compare_floats(op, op->ewclass == EW_FLT ? dtype_to_float(d) : d, n, in, out, tolerance);
    else if (!floats)
        compare_ints(op, d, n, in, out);
    tensor_unref(out);
}

static bool takes(const Op *op, DType d) {
    if (dtype_is_float(d)) return op->ewclass != EW_INT && op->ewclass != EW_LOG;
    return op->ewclass != EW_NUM || d != DT_bool;
}

/* ---- the values of the cases */

static void fill_from_case(const CaseInput *in, DType d, Tensor *t, uint64_t *state) {
    double lo = in->lo, hi = in->hi;
    bool default_range = lo == hi && !in->is_number;
    if (default_range) lo = dtype_is_float(d) ? -2 : -100, hi = dtype_is_float(d) ? 2 : 100;
    if (!dtype_is_float(d)) lo = floor(lo), hi = ceil(hi);
    if (dtype_info[d].kind == KIND_UINT) lo = fmax(lo, 0), hi = fmax(hi, lo + 1);
    for (int64_t i = 0; i < tensor_count(t); i++) {
        double v = in->is_number ? in->lo : case_uniform(state, lo, hi);
        oracle_put(d, t->data + i * dtype_size(d), dtype_is_float(d) ? v : floor(v));
    }
}

static void test_case_values(const CasePlan *p, DType d, double tolerance) {
    uint64_t state = 1 + (uint64_t)d;
    Tensor *in[3];
    for (int i = 0; i < p->nin; i++) {
        in[i] = flat(p->op->ewclass == EW_WHERE && i == 0 ? DT_bool : d, MANY);
        fill_from_case(&p->in[i], in[i]->type.dtype, in[i], &state);
    }
    run_one(p->op, d, p->nin, in, tolerance);
    for (int i = 0; i < p->nin; i++) tensor_unref(in[i]);
}

/* ---- special values */

static const double special_floats[] = {
    0.0, -0.0, 1,       -1,      0.5,      -0.5,     1.5,       2.5,    -2.5,    2,      3,
    -3,  7.25, -100.5,  88.8,    -104,     1e-30,    -1e-30,    1e30,   -1e30,   1e-40,  NAN,
    1e4, -1e4, FLT_MIN, FLT_MAX, -FLT_MAX, INFINITY, -INFINITY, 0x1p24, -0x1p23, 0x1p-24};

/* Integers: the ends of the type and what lies around 0. */
static int special_ints(DType d, Wide *v) {
    static const int small[] = {0, 1, 2, 3, 7, 31, 32, 63, 64, 100, -1, -2, -7};
    int n = 0;
    int bits = 8 * dtype_info[d].nbytes;
    bool is_signed = dtype_info[d].kind == KIND_INT;
    for (size_t i = 0; i < COUNT_OF(small); i++)
        if (small[i] >= 0 || is_signed) v[n++] = small[i];
    Wide top = ((Wide)1 << (bits - is_signed)) - 1;
    v[n++] = top;
    v[n++] = top - 1;
    if (is_signed) v[n++] = -top - 1, v[n++] = -top;
    if (d == DT_bool) n = 2;
    return n;
}

static int put_special(DType d, int i, char *at) {
    if (dtype_is_float(d)) {
        if (at) oracle_put(d, at, special_floats[i]);
        return (int)COUNT_OF(special_floats);
    }
    Wide v[32];
    int n = special_ints(d, v);
    if (at) oracle_put_int(d, at, v[i]);
    return n;
}

/* All pairs, or for three inputs all triples. */
static void test_special(const Op *op, DType d, double tolerance) {
    Tensor *in[3];
    int64_t n[3] = {1, 1, 1}, count = 1;
    for (int k = 0; k < op->nin_min; k++) {
        DType dk = op->ewclass == EW_WHERE && k == 0 ? DT_bool : d;
        n[k] = put_special(dk, 0, NULL);
        count *= n[k];
    }
    for (int k = 0; k < op->nin_min; k++) {
        DType dk = op->ewclass == EW_WHERE && k == 0 ? DT_bool : d;
        in[k] = flat(dk, count);
        int64_t step = k == 0 ? 1 : k == 1 ? n[0] : n[0] * n[1];
        for (int64_t i = 0; i < count; i++)
            put_special(dk, (int)(i / step % n[k]), in[k]->data + i * dtype_size(dk));
    }
    run_one(op, d, op->nin_min, in, tolerance);
    for (int k = 0; k < op->nin_min; k++) tensor_unref(in[k]);
}

/* ---- all rows */

/* Rows that are not well conditioned at the ends of the range: there the tolerance is so many times
 * wider, and finite values above `largest` are left out. */
static const struct {
    const char *op;
    double times, largest;
    const char *why;
} at_the_ends[] = {
    {"celu", 100, INFINITY, "exp of a rounded quotient"},
    {"lerp", 1, 1e38, "the difference of the two ends overflows"},
};

static double special_factor(const Op *op) {
    largest = INFINITY;
    for (size_t i = 0; i < COUNT_OF(at_the_ends); i++)
        if (!strcmp(at_the_ends[i].op, op->name)) {
            largest = at_the_ends[i].largest;
            return at_the_ends[i].times;
        }
    return 1;
}

/* The widest tolerance of the op's rows: integer rows say 0. */
static double tolerance_of(const Op *op) {
    double t = 0;
    for (const Case *c = cases; c < cases + ncases; c++)
        if (!strcmp(c->op, op->name)) t = fmax(t, c->tolerance);
    return t;
}

static void test_op(const Op *op) {
    double tolerance = tolerance_of(op);
    bool has_case = false;
    shown = 0;
    for (const Case *c = cases; c < cases + ncases; c++) {
        if (strcmp(c->op, op->name) != 0) continue;
        CasePlan p;
        bool good = CHECK(case_plan(c, &p));
        for (DType d = 0; good && d < NREAL; d++)
            if (takes(op, d)) test_case_values(&p, d, tolerance);
        if (good) case_done(&p);
        has_case = true;
    }
    CHECK(has_case);
    for (DType d = 0; d < NREAL; d++)
        if (takes(op, d)) test_special(op, d, tolerance * special_factor(op));
    largest = INFINITY;
    CLOSE(op->name);
}

int main(void) {
    for (int id = 1; id < NOPS; id++)
        if (op_table[id].kind == K_EWISE && !op_table[id].hidden) test_op(op_get((OpId)id));
    return test_done("elementwise");
}
