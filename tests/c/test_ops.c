/* Every row of cases.def: the op runs, and its results in the row's dtypes and in the half-width
 * floats are those of its run in f64, up to rounding. (What is right is the business of the NumPy
 * references in tests/python; here, that all dtypes compute the same.) */
#include "cases.h"
#include "kernels/kernel.h"
#include "oracle.h"
#include "test.h"

/* Ops that refuse the half-width floats, and why. */
static const struct {
    const char *op, *why;
} no_halves[] = {
    {"resize_axis", "a step of interpolate, which converts"},
    {"resize_axis_grad", "a step of interpolate, which converts"},
};

static bool refuses_halves(const char *op) {
    for (size_t i = 0; i < COUNT_OF(no_halves); i++)
        if (!strcmp(no_halves[i].op, op)) return true;
    return false;
}

static bool has_floats(const CasePlan *p) {
    for (int i = 0; i < p->nin; i++)
        if (!p->in[i].is_absent && dtype_is_float(p->in[i].type.dtype)) return true;
    return false;
}

static const char *describe(DType d) { return d == DT_NONE ? "the row's types" : dtype_name(d); }

/* Roundings to a half-width float on the way to a result. */
static double roundings(const Op *op) { return !strcmp(op->name, "einsum") ? 8 : 3; }

static double tolerance_in(const Op *op, DType d, double row) {
    switch (d) {
    case DT_f16: return fmax(row, roundings(op) * 0x1p-11);
    case DT_bf16: return fmax(row, roundings(op) * 0x1p-8);
    default: return row;
    }
}

static void compare(const CasePlan *p, DType floats, int i, const Tensor *got, const Tensor *want) {
    if (!CHECK(type_same_dims(&got->type, &want->type))) {
        fprintf(stderr, "  %s in %s: result %d has another shape\n", case_text(p->row),
                describe(floats), i);
        return;
    }
    double *a = values_of(got), *b = values_of(want);
    double tolerance = tolerance_in(p->op, got->type.dtype, p->row->tolerance);
    if (!dtype_is_float(got->type.dtype)) tolerance = 0;
    for (int64_t k = 0; k < tensor_count(got); k++) {
        bool same = a[k] == b[k] || (isnan(a[k]) && isnan(b[k])) ||
                    fabs(a[k] - b[k]) <= tolerance * fmax(1, fabs(b[k]));
        if (same) continue;
        CHECK(!"equal to the run in f64");
        fprintf(stderr, "  %s in %s, result %d[%lld]: %.9g, in f64 %.9g\n", case_text(p->row),
                describe(floats), i, (long long)k, a[k], b[k]);
        break;
    }
    free(a), free(b);
}

/* The row's run in `floats` against f64, on values that both hold. */
static void test_dtype(const CasePlan *p, DType floats) {
    CaseRun base, run;
    for (int i = 0; i < p->nin; i++) {
        DType d = case_dtype(&p->in[i], floats);
        for (int64_t k = 0; p->values[i] && k < type_count(&p->in[i].type); k++)
            if (dtype_is_float(d) && !p->in[i].is_number)
                p->values[i][k] = oracle_round(d, p->values[i][k]);
    }
    case_run(p, DT_f64, AS_ROW, NO_LEAVES, &base);
    if (!CHECK_OK(base.status)) fprintf(stderr, "  %s in f64\n", case_text(p->row));
    case_run(p, floats, AS_ROW, NO_LEAVES, &run);
    if (!CHECK_OK(run.status)) fprintf(stderr, "  %s in %s\n", case_text(p->row), describe(floats));
    if (base.status == OK && run.status == OK && CHECK(base.nout == run.nout))
        for (int i = 0; i < run.nout; i++)
            if (p->op->kind != K_RANDOM) compare(p, floats, i, run.out[i], base.out[i]);
    run_free(&base), run_free(&run);
}

static void test_case(const Case *c) {
    CasePlan p;
    if (CHECK(case_plan(c, &p))) {
        test_dtype(&p, DT_NONE);
        if (has_floats(&p)) {
            test_dtype(&p, DT_f32);
            if (!refuses_halves(c->op)) test_dtype(&p, DT_f16), test_dtype(&p, DT_bf16);
        }
    }
    case_done(&p);
}

/* Rows of one op count as one test, wherever they stand. */
int main(void) {
    for (int i = 0; i < ncases; i++) {
        if (case_index(&cases[i])) continue;
        for (int k = i; k < ncases; k++)
            if (!strcmp(cases[k].op, cases[i].op)) test_case(&cases[k]);
        CLOSE(cases[i].op);
    }
    return test_done("cases");
}
