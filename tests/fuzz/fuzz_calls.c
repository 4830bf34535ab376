/* Random calls: rows of cases.def with dtypes, sizes, ranges, layouts and attributes changed at
 * random. Whatever comes out, a call ends in a result whose every byte can be read, or in an error
 * with a message; the same holds for its gradients of first and second order.
 *
 *     fuzz_calls [-s seed] [-t seconds] [-n calls] [-r call]
 *
 * -r runs one call again and prints it. A crash prints seed and number of the call. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"
#include "oracle.h"
#include "test.h"

enum { MOST_ELEMENTS = 4096, MOST_READ = 1 << 22, CALL_SECONDS = 60, MOST_MUTATIONS = 4 };
#define MEMORY_LIMIT ((int64_t)1 << 28)

typedef struct Fuzz {
    uint64_t seed, call, state;
    bool loud;
} Fuzz;

/* Asking the sanitizer for too much is out of memory as elsewhere, not the end. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

static long results, refusals;
static char present[64]; /* the present call as text, for the signal handler */

static uint64_t draw(Fuzz *f, uint64_t n) { return case_random(&f->state) % n; }
static bool one_in(Fuzz *f, uint64_t n) { return draw(f, n) == 0; }

static void report(int number) {
    static const char text[] = "fuzz_calls: crashed or hung in the call ";
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0 ||
        write(STDERR_FILENO, present, strlen(present)) < 0)
        _exit(2);
    signal(number, SIG_DFL);
    raise(number);
}

/* ---- changes */

static int64_t odd_int(Fuzz *f) {
    static const int64_t odd[] = {-1,  0,    1,    2,           3,         -2,         7,
                                  100, 4096, -100, (1LL << 31), INT64_MAX, -INT64_MAX, ATTR_NONE};
    return odd[draw(f, one_in(f, 3) ? COUNT_OF(odd) : 6)];
}

static int64_t small_size(Fuzz *f) {
    static const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 8, 17, 33};
    return sizes[draw(f, COUNT_OF(sizes))];
}

static bool fits(const TensorType *t) { return type_count(t) <= MOST_ELEMENTS; }

static void change_dims(Fuzz *f, TensorType *t) {
    TensorType old = *t;
    int64_t at = (int64_t)draw(f, (uint64_t)t->rank + 1);
    switch (draw(f, 4)) {
    case 0: /* one dim less */
        if (!t->rank) break;
        t->rank--;
        for (int i = (int)min_i64(at, t->rank); i < t->rank; i++) t->dims[i] = t->dims[i + 1];
        break;
    case 1: /* one dim more */
        if (t->rank == MAX_RANK) break;
        for (int i = t->rank; i > at; i--) t->dims[i] = t->dims[i - 1];
        t->dims[at] = small_size(f);
        t->rank++;
        break;
    default: /* another size */
        if (at < t->rank) t->dims[at] = small_size(f);
    }
    if (!fits(t)) *t = old;
}

static void change_input(Fuzz *f, CaseInput *in) {
    static const double odd[] = {0, 1, -1, 1e9, -1e9, 1e300, INFINITY, NAN, 0.5, -3};
    switch (draw(f, 6)) {
    case 0: in->type.dtype = (uint8_t)draw(f, NREAL); break;
    case 1: in->lo = odd[draw(f, COUNT_OF(odd))], in->hi = in->lo + 1; break;
    case 2: in->is_absent = !in->is_number && one_in(f, 4); break;
    default:
        if (!in->is_number) change_dims(f, &in->type);
    }
}

static void change_attr(Fuzz *f, const AttrSpec *spec, void *attrs) {
    static const char *const words[] = {"none", "mean",     "sum", "same",    "valid",
                                        "pad",  "max",      "",    "nearest", "linear",
                                        "tanh", "constant", "x"};
    static const double numbers[] = {0, 1, -1, 0.5, 1e-5, 1e30, NAN, INFINITY, 2, -0.0};
    void *at = (char *)attrs + spec->offset;
    IntList *list = at;
    switch (spec->kind) {
    case ATTR_INT: *(int64_t *)at = odd_int(f); break;
    case ATTR_BOOL: *(int64_t *)at = (int64_t)draw(f, 2); break;
    case ATTR_DTYPE: *(int64_t *)at = (int64_t)draw(f, NREAL); break;
    case ATTR_FLT: *(double *)at = numbers[draw(f, COUNT_OF(numbers))]; break;
    case ATTR_STR:
        memset(at, 0, sizeof(AttrStr));
        snprintf(at, sizeof(AttrStr), "%s", words[draw(f, COUNT_OF(words))]);
        break;
    case ATTR_INTS:
        if (one_in(f, 3)) {
            *list = (IntList){.n = (int64_t)draw(f, ATTR_LIST_MAX + 2) - 1};
            for (int64_t i = 0; i < list->n; i++) list->v[i] = odd_int(f);
        } else if (list->n > 0) {
            list->v[draw(f, (uint64_t)list->n)] = odd_int(f);
        }
    }
}

static void change(Fuzz *f, CasePlan *p) {
    bool attrs = p->op->nattrs && (one_in(f, 2) || !p->nin);
    if (attrs)
        change_attr(f, &p->op->attrs[draw(f, (uint64_t)p->op->nattrs)], p->attrs);
    else if (p->nin)
        change_input(f, &p->in[draw(f, (uint64_t)p->nin)]);
}

/* ---- one call */

static void print_call(const CasePlan *p) {
    char text[512];
    printf("%s(", p->op->name);
    for (int i = 0; i < p->nin; i++)
        printf("%s%s %g..%g", i ? ", " : "",
               p->in[i].is_absent ? "none" : type_text(&p->in[i].type, text, sizeof text),
               p->in[i].lo, p->in[i].hi);
    printf(") %s\n", attrs_text(p->op, p->attrs, text, sizeof text));
    fflush(stdout);
}

/* The part of a result that is worth reading: one of each element that is only repeated, and no
 * more than MOST_READ elements. */
static Tensor part_to_read(const Tensor *t) {
    Tensor part = *t;
    part.dense = false;
    for (int i = 0; i < t->type.rank; i++)
        if (!t->strides[i]) part.type.dims[i] = min_i64(part.type.dims[i], 1);
    for (int i = 0; i < t->type.rank && tensor_count(&part) > MOST_READ; i++) part.type.dims[i] = 1;
    return part;
}

/* Every byte is there and initialised; the sanitizers see the rest. */
static void read_all(const Tensor *t) {
    Tensor part = part_to_read(t);
    double *values = values_of(&part), sum = 0;
    for (int64_t i = 0; i < tensor_count(&part); i++) sum += values[i];
    CHECK(sum == sum || isnan(sum));
    free(values);
}

static void check_status(const CasePlan *p, Status s) {
    s == OK ? results++ : refusals++;
    if (s == OK) return;
    bool good = CHECK(*error_message()) && CHECK(s != DIP_E_INTERNAL);
    if (!good) fprintf(stderr, "%s: %s\n", p->op->name, error_message());
}

static void make_inputs(Fuzz *f, const CasePlan *p, CaseRun *r) {
    for (int i = 0; i < p->nin; i++) {
        const CaseInput *in = &p->in[i];
        if (in->is_absent) continue;
        Layout layout = in->is_number ? DENSE : (Layout)draw(f, NLAYOUTS);
        r->in[i] = tensor_of(&in->type, p->values[i], layout);
        if (in->is_number || !dtype_is_float(in->type.dtype) || one_in(f, 4)) continue;
        r->leaf[i] = tape_leaf();
        Tensor *t = tape_attach(r->in[i], r->leaf[i]);
        tensor_unref(r->in[i]);
        r->in[i] = t;
    }
}

/* Gradients of all results for all leaves; then of those gradients. Views of billions of elements
 * are left out: summing them takes minutes. */
static void walk_back(Fuzz *f, const CasePlan *p, const CaseRun *r) {
    Tensor *roots[CASE_INPUTS + CASE_OUTPUTS], *grads[CASE_INPUTS] = {0};
    GradLink *leaves[CASE_INPUTS];
    BackwardArgs a = {.roots = roots, .leaves = leaves, .create_graph = one_in(f, 2)};
    for (int i = 0; i < r->nout; i++)
        if (r->out[i]->link && tensor_count(r->out[i]) <= MOST_READ) roots[a.nroots++] = r->out[i];
    for (int i = 0; i < r->nin; i++)
        if (r->leaf[i]) leaves[a.nleaves++] = r->leaf[i];
    if (!a.nroots || !a.nleaves) return;
    Status s = tape_backward(&a, grads);
    check_status(p, s);
    BackwardArgs second = {.roots = roots, .leaves = leaves, .nleaves = a.nleaves};
    for (int i = 0; s == OK && i < a.nleaves; i++) {
        if (grads[i]) read_all(grads[i]);
        if (grads[i] && grads[i]->link) roots[second.nroots++] = grads[i];
    }
    Tensor *again[CASE_INPUTS] = {0};
    if (s == OK && second.nroots) check_status(p, s = tape_backward(&second, again));
    for (int i = 0; i < a.nleaves; i++) tensor_unref(grads[i]), tensor_unref(again[i]);
}

static void call(Fuzz *f, const CasePlan *p) {
    CaseRun r = {.nin = p->nin};
    make_inputs(f, p, &r);
    int n = dispatch_nout(p->op, p->attrs, p->nin, r.in);
    if (n <= CASE_OUTPUTS) {
        r.status = dispatch(p->op, p->attrs, p->nin, r.in, r.out);
        check_status(p, r.status);
        r.nout = r.status == OK ? n : 0;
    }
    for (int i = 0; i < r.nout; i++) read_all(r.out[i]);
    walk_back(f, p, &r);
    run_free(&r);
}

static void one_round(Fuzz *f) {
    CasePlan p;
    f->state = f->seed * 0x9E3779B97F4A7C15u ^ f->call;
    case_random(&f->state);
    snprintf(present, sizeof present, "-s %" PRIu64 " -r %" PRIu64 "\n", f->seed, f->call);
    alarm(CALL_SECONDS);
    test_bad_checks = 0;
    if (CHECK(case_plan(&cases[draw(f, (uint64_t)ncases)], &p))) {
        for (uint64_t n = draw(f, MOST_MUTATIONS); n--;) change(f, &p);
        case_draw(&p);
        if (f->loud) print_call(&p);
        call(f, &p);
    }
    case_done(&p);
    if (test_bad_checks) fprintf(stderr, "FAILED %s", present);
    *(test_bad_checks ? &test_failed : &test_passed) += 1;
}

static bool number(const char *text, uint64_t *out) {
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return !errno && end != text && !*end;
}

int main(int argc, char **argv) {
    Fuzz f = {.seed = 1};
    uint64_t seconds = 0, calls = 20000, only = UINT64_MAX, *target = NULL;
    for (int i = 1; i < argc; i += 2) {
        char c = argv[i][0] == '-' && argv[i][1] && !argv[i][2] ? argv[i][1] : 0;
        target = c == 's'   ? &f.seed
                 : c == 't' ? &seconds
                 : c == 'n' ? &calls
                 : c == 'r' ? &only
                            : NULL;
        if (!target || i + 1 == argc || !number(argv[i + 1], target)) {
            fprintf(stderr, "usage: fuzz_calls [-s seed] [-t seconds] [-n calls] [-r call]\n");
            return 2;
        }
    }
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    for (size_t i = 0; i < COUNT_OF(signals); i++) signal(signals[i], report);
    dip_memory_limit(MEMORY_LIMIT);
    time_t end = time(NULL) + (time_t)seconds;
    f.loud = only != UINT64_MAX;
    if (f.loud) f.call = only, calls = only + 1;
    for (; seconds ? time(NULL) < end : f.call < calls; f.call++) one_round(&f);
    printf("seed %" PRIu64 ": %" PRIu64 " calls, %ld results, %ld refusals\n", f.seed, f.call,
           results, refusals);
    return test_done("fuzz");
}
