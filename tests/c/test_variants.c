/* The same call in other circumstances gives the same bits: strided inputs, 1, 2, 3 and 8 threads,
 * AVX2 against AVX-512; and empty tensors, wrong ranks, dtypes and attribute values give a result
 * or a status, never a crash. Rows of cases.def.
 *
 *     test_variants --hash    prints a hash of every row's results: this program runs itself so
 * under another DIPTYCH_ISA. */
#include "base/parallel.h"
#include "cases.h"
#include "kernels/loops.h"
#include "oracle.h"
#include "tensor/pool.h"
#include "test.h"

/* Elements of the larger version of a row, enough for several threads. */
enum { LARGE = 150000, LARGE_ROWS = 2 };

/* Kernels of other libraries: equal up to rounding only. */
static bool is_foreign(const CasePlan *p, const CaseRun *r) {
    return strstr(case_kernel(p, r), "dnn") != NULL;
}

/* Another layout may take another kernel, which adds up in another order; einsum and the products
 * choose inside. */
static bool is_same_kernel(const CasePlan *p, const CaseRun *a, const CaseRun *b) {
    bool chooses_inside = p->op->id == OP_einsum || p->op->id == OP_matmul;
    return !chooses_inside && !strcmp(case_kernel(p, a), case_kernel(p, b));
}

/* ---- comparing */

static bool same_values(const Tensor *a, const Tensor *b, double tolerance) {
    double *x = values_of(a), *y = values_of(b);
    bool same = true;
    for (int64_t k = 0; k < tensor_count(a) && same; k++) {
        double error = fabs(x[k] - y[k]);
        same = isnan(y[k]) ? isnan(x[k]) : x[k] == y[k] || error <= tolerance * fmax(1, fabs(y[k]));
    }
    free(x), free(y);
    return same;
}

static bool same_bits(const Tensor *a, const Tensor *b) {
    size_t n = (size_t)tensor_nbytes(a);
    char *x = malloc(n + 1), *y = malloc(n + 1);
    tensor_copy_dense(a, x);
    tensor_copy_dense(b, y);
    bool same = !memcmp(x, y, n);
    free(x), free(y);
    return same;
}

static void compare(const CasePlan *p, const CaseRun *got, const CaseRun *want, const char *what) {
    if (!CHECK_OK(got->status) || !CHECK_OK(want->status) || !CHECK(got->nout == want->nout)) {
        fprintf(stderr, "  %s, %s\n", case_text(p->row), what);
        return;
    }
    bool exact = !is_foreign(p, want) && is_same_kernel(p, got, want);
    double tolerance = exact ? 0 : fmax(1e-6, 4 * p->row->tolerance);
    for (int i = 0; i < got->nout; i++) {
        if (!CHECK(type_equal(&got->out[i]->type, &want->out[i]->type))) continue;
        bool same = tolerance > 0 ? same_values(got->out[i], want->out[i], tolerance)
                                  : same_bits(got->out[i], want->out[i]);
        if (!CHECK(same))
            fprintf(stderr, "  %s, %s: result %d differs\n", case_text(p->row), what, i);
    }
}

/* ---- strides */

static void test_layouts(const CasePlan *p) {
    CaseRun dense, run;
    case_run(p, DT_NONE, DENSE, NO_LEAVES, &dense);
    for (Layout l = AS_ROW; l < NLAYOUTS; l++) {
        case_run(p, DT_NONE, l, NO_LEAVES, &run);
        compare(p, &run, &dense, layout_names[l]);
        run_free(&run);
    }
    run_free(&dense);
}

/* ---- empty tensors: every size above 1 in turn becomes 0 */

static int64_t next_size(const CasePlan *p, int64_t after) {
    int64_t best = INT64_MAX;
    for (int i = 0; i < p->nin; i++)
        for (int k = 0; k < p->in[i].type.rank; k++) {
            int64_t d = p->in[i].type.dims[k];
            if (d > after && d < best) best = d;
        }
    return best == INT64_MAX ? -1 : best;
}

static void test_gradient_runs(const CaseRun *r) {
    Tensor *root[CASE_OUTPUTS], *g[CASE_INPUTS];
    GradLink *leaf[CASE_INPUTS];
    int nroots = 0, nleaves = 0;
    for (int i = 0; i < r->nout; i++)
        if (r->out[i]->link) root[nroots++] = r->out[i];
    for (int i = 0; i < r->nin; i++)
        if (r->leaf[i]) leaf[nleaves++] = r->leaf[i];
    BackwardArgs a = {.nroots = nroots, .roots = root, .nleaves = nleaves, .leaves = leaf};
    if (!nroots || !CHECK_OK(tape_backward(&a, g))) return;
    for (int i = 0; i < nleaves; i++) tensor_unref(g[i]);
}

/* Elementwise rows must take empty tensors; others may refuse with a message. */
static void test_empty(const Case *c) {
    CasePlan p;
    if (!case_plan(c, &p)) return;
    for (int64_t size = next_size(&p, 1); size > 0; size = next_size(&p, size)) {
        CasePlan empty;
        CaseRun r;
        if (!case_plan(c, &empty)) break;
        case_resize(&empty, size, 0);
        case_draw(&empty);
        case_run(&empty, DT_NONE, AS_ROW, ALL_LEAVES, &r);
        if (r.status == OK)
            test_gradient_runs(&r);
        else if (!CHECK(p.op->kind != K_EWISE && *error_message()))
            fprintf(stderr, "  %s with size %lld set to 0\n", case_text(c), (long long)size);
        run_free(&r);
        case_done(&empty);
    }
    case_done(&p);
}

/* ---- bad inputs: a status with the name of the op, or a result */

static void expect_no_crash(const CasePlan *p) {
    CaseRun r;
    case_run(p, DT_NONE, DENSE, NO_LEAVES, &r);
    if (r.status != OK && !CHECK(r.status != DIP_E_INTERNAL && *error_message()))
        fprintf(stderr, "  %s: %s\n", case_text(p->row), error_message());
    run_free(&r);
}

static void change_type(CasePlan *p, int i, int how) {
    TensorType *t = &p->in[i].type;
    if (how == 0) t->dtype = DT_bool;
    if (how == 1) t->dtype = DT_u64;
    if (how == 2) t->dtype = dtype_is_float(t->dtype) ? DT_i8 : DT_f32;
    if (how == 3) t->rank = 0;
    if (how == 4 && t->rank < MAX_RANK) t->dims[t->rank++] = 2;
    if (how == 5 && t->rank) t->rank--;
    if (how == 6 && t->rank) t->dims[0]++;
    if (how == 7 && t->rank) t->dims[t->rank - 1] += 3;
    if (how == 8) p->in[i].lo = -1000, p->in[i].hi = 1000;
    p->in[i].is_number = p->in[i].is_distinct = false;
}
enum { CHANGES = 9 };

static void test_bad_inputs(const Case *c) {
    CasePlan p;
    if (!case_plan(c, &p)) return;
    int nin = p.nin;
    case_done(&p);
    for (int i = 0; i < nin; i++)
        for (int how = 0; how < CHANGES; how++) {
            if (!case_plan(c, &p)) return;
            change_type(&p, i, how);
            case_draw(&p);
            expect_no_crash(&p);
            case_done(&p);
        }
    for (int drop = 0; drop <= nin; drop++) {
        if (!case_plan(c, &p)) return;
        if (drop < nin)
            p.in[drop].is_absent = true, case_draw(&p);
        else if (p.nin)
            free(p.values[--p.nin]), p.values[p.nin] = NULL;
        expect_no_crash(&p);
        case_done(&p);
    }
}

/* Values that are out of range for most attributes. */
static void change_attr(const AttrSpec *spec, char *field, int how) {
    static const int64_t odd[] = {-1, 0, 1, 7, -9, 1000003, INT64_MAX, INT64_MIN + 1, ATTR_NONE};
    static const double odd_floats[] = {-1, 0, 0.5, 2, 1e30, NAN, INFINITY, -INFINITY, -0.0};
    IntList list = {.n = how % (ATTR_LIST_MAX + 1)};
    for (int i = 0; i < list.n; i++) list.v[i] = odd[(how + i) % 8];
    switch (spec->kind) {
    case ATTR_FLT: memcpy(field, &odd_floats[how], sizeof(double)); break;
    case ATTR_INTS: memcpy(field, &list, sizeof list); break;
    case ATTR_STR: snprintf(field, ATTR_STR_MAX, "%s", how % 2 ? "" : "nonsense"); break;
    case ATTR_BOOL: *(int64_t *)(void *)field = how % 2; break;
    case ATTR_DTYPE: *(int64_t *)(void *)field = how % NREAL; break;
    case ATTR_INT: memcpy(field, &odd[how], sizeof(int64_t)); break;
    }
}
enum { ATTR_CHANGES = 9, MEMORY_LIMIT = 64 << 20 };

/* Sizes that legal attributes ask for end at the limit of the pool. */
static void test_bad_attrs(const Case *c) {
    CasePlan p;
    pool_set_limit(pool_stats().allocated + MEMORY_LIMIT);
    for (int at = 0; at < op_find(c->op)->nattrs; at++)
        for (int how = 0; how < ATTR_CHANGES; how++) {
            if (!case_plan(c, &p)) return;
            const AttrSpec *spec = &p.op->attrs[at];
            change_attr(spec, (char *)p.attrs + spec->offset, how);
            expect_no_crash(&p);
            case_done(&p);
        }
    pool_set_limit(0);
}

/* ---- threads and instruction sets, on a larger version of the row */

/* Scales the first size of the first input, wherever it leads an input, so that the largest input
 * has about `count` elements. */
static void enlarge(CasePlan *p, int64_t count) {
    int64_t n = 1, lead = 0;
    for (int i = 0; i < p->nin; i++) {
        n = max_i64(n, type_count(&p->in[i].type));
        if (!lead && p->in[i].type.rank) lead = p->in[i].type.dims[0];
    }
    for (int i = 0; i < p->nin && lead; i++)
        if (p->in[i].type.rank && p->in[i].type.dims[0] == lead)
            p->in[i].type.dims[0] = lead * (count / n) + 1;
    case_draw(p);
}

static void test_threads(const Case *c) {
    static const int threads[] = {2, 3, 8};
    CasePlan p;
    CaseRun one, run;
    if (case_index(c) >= LARGE_ROWS || !case_plan(c, &p)) return;
    enlarge(&p, LARGE);
    parallel_set_threads(1);
    case_run(&p, DT_NONE, AS_ROW, NO_LEAVES, &one);
    for (size_t i = 0; i < COUNT_OF(threads) && one.status == OK; i++) {
        char what[32];
        snprintf(what, sizeof what, "%d threads", threads[i]);
        parallel_set_threads(threads[i]);
        case_run(&p, DT_NONE, AS_ROW, NO_LEAVES, &run);
        compare(&p, &run, &one, what);
        run_free(&run);
    }
    parallel_set_threads(0);
    run_free(&one);
    case_done(&p);
}

static uint64_t hash_bytes(uint64_t h, const void *p, size_t n) {
    for (const uint8_t *at = p, *end = at + n; at < end; at++) h = (h ^ *at) * 1099511628211u;
    return h;
}

/* 0: a kernel of another library, or the row does not run at this size. */
static uint64_t hash_case(const Case *c, int64_t size) {
    CasePlan p;
    CaseRun r;
    if (!case_plan(c, &p)) return 0;
    if (size) enlarge(&p, size);
    case_run(&p, DT_NONE, AS_ROW, NO_LEAVES, &r);
    bool exact = r.status == OK && !is_foreign(&p, &r);
    uint64_t h = exact ? 14695981039346656037u : 0;
    for (int i = 0; i < r.nout && h; i++) {
        size_t n = (size_t)tensor_nbytes(r.out[i]);
        char *bytes = malloc(n + 1);
        tensor_copy_dense(r.out[i], bytes);
        h = hash_bytes(h, bytes, n);
        free(bytes);
    }
    run_free(&r);
    case_done(&p);
    return h;
}

enum { HASH_SIZE = 1000 };

static void print_hashes(void) {
    for (int i = 0; i < ncases; i++)
        printf("%llx %llx\n", (unsigned long long)hash_case(&cases[i], 0),
               (unsigned long long)hash_case(&cases[i], HASH_SIZE));
}

static char program[4096];

/* Both have fused multiply-add; the base set has not and promises its own bits only. */
static void test_isa(void) {
    if (strcmp(loops_isa(), "avx512") != 0) return;
    char command[4200];
    snprintf(command, sizeof command, "DIPTYCH_ISA=avx2 '%s' --hash", program);
    FILE *other = popen(command, "r");
    if (!CHECK(other)) return;
    for (int i = 0; i < ncases; i++) {
        unsigned long long small, large;
        if (!CHECK(fscanf(other, "%llx %llx", &small, &large) == 2)) break;
        if (!CHECK(small == hash_case(&cases[i], 0) && large == hash_case(&cases[i], HASH_SIZE)))
            fprintf(stderr, "  %s: AVX2 and AVX-512 differ\n", case_text(&cases[i]));
    }
    CHECK(pclose(other) == 0);
}

/* ---- all rows */

static void test_case(const Case *c) {
    CasePlan p;
    if (!CHECK(case_plan(c, &p))) return;
    test_layouts(&p);
    case_done(&p);
    test_empty(c);
    test_bad_inputs(c);
    test_bad_attrs(c);
    test_threads(c);
}

int main(int argc, char **argv) {
    snprintf(program, sizeof program, "%s", argv[0]);
    if (argc > 1 && !strcmp(argv[1], "--hash")) return print_hashes(), 0;
    for (int i = 0; i < ncases; i++) {
        if (case_index(&cases[i]) || (argc > 1 && strcmp(argv[1], cases[i].op) != 0)) continue;
        for (int k = i; k < ncases; k++)
            if (!strcmp(cases[k].op, cases[i].op)) test_case(&cases[k]);
        CLOSE(cases[i].op);
    }
    if (argc == 1) RUN(test_isa);
    return test_done("variants");
}
