/* The rows of tests/cases.def for C programs: parsing, making their inputs, and calling.
 *
 * Inputs are a pure function of the op's name, the row and the input's position. They are drawn in
 * double and rounded to the row's dtype, so a run in a wider type sees the same values. */
#ifndef DIP_CASES_H
#define DIP_CASES_H

#include "eager/dispatch.h"
#include "eager/tape.h"
#include "tensor/random.h"

typedef struct Case {
    const char *op, *inputs, *attrs;
    double tolerance;
} Case;
extern const Case cases[];
extern const int ncases;
/* Which row of its op this is, counted from 0. */
int case_index(const Case *c);
/* "add | f32[2,3] f32[3] | axis=1", in a static buffer. */
const char *case_text(const Case *c);

enum { CASE_INPUTS = 32, CASE_OUTPUTS = 32, CASE_ATTR_WORDS = 128 };

/* One token of the row. */
typedef struct CaseInput {
    TensorType type;
    double lo, hi; /* lo == hi: the default range */
    bool is_absent, is_number, is_distinct, is_reversed;
} CaseInput;

/* A row made ready: attributes read, weak numbers of the signature appended as inputs. */
typedef struct CasePlan {
    const Case *row;
    const Op *op;
    int nin;
    CaseInput in[CASE_INPUTS];
    double *values[CASE_INPUTS]; /* row-major; NULL for absent ones */
    int64_t attrs[CASE_ATTR_WORDS];
} CasePlan;

/* False, with a message on stderr, when the row cannot be read. case_done in any case. */
bool case_plan(const Case *c, CasePlan *out);
/* Draws the values again: after types were changed. */
void case_draw(CasePlan *p);
void case_done(CasePlan *p);
/* All sizes equal to `from` in any input become `to`. */
void case_resize(CasePlan *p, int64_t from, int64_t to);

/* How a tensor lies in memory. */
typedef enum Layout { DENSE, AS_ROW, REVERSED, FLIPPED, SPREAD, NLAYOUTS } Layout;
extern const char *const layout_names[NLAYOUTS];
/* `values` row-major as a tensor of this type. Holes hold NaN or 77. */
Tensor *tensor_of(const TensorType *type, const double *values, Layout layout);
/* The elements row-major in double; freed by the caller. */
double *values_of(const Tensor *t);

/* A run: owned inputs and results. */
typedef struct CaseRun {
    int nin, nout;
    Tensor *in[CASE_INPUTS], *out[CASE_OUTPUTS];
    GradLink *leaf[CASE_INPUTS]; /* NULL where no gradient is asked for */
    Status status;
} CaseRun;

/* Float inputs become `floats` (DT_NONE: the row's own types). */
DType case_dtype(const CaseInput *in, DType floats);
/* Bit i of `leaves`: input i, if a float tensor, is a variable. Random ops start from the same
 * seed. */
void case_run(const CasePlan *p, DType floats, Layout layout, uint32_t leaves, CaseRun *out);
enum { NO_LEAVES = 0 };
#define ALL_LEAVES 0xffffffffu
void run_free(CaseRun *r);

/* A result that only carries what the gradient needs: nothing flows back through it. */
bool case_is_byproduct(const Op *op, int output);

/* The kernel that a call takes, "" for views. */
const char *case_kernel(const CasePlan *p, const CaseRun *r);

/* A deterministic stream of numbers. */
uint64_t case_random(uint64_t *state);
double case_uniform(uint64_t *state, double lo, double hi);

/* Closes what was counted since test_bad_checks was 0 as one test of this name. */
#define CLOSE(name)                                                                                \
    do {                                                                                           \
        *(test_bad_checks ? &test_failed : &test_passed) += 1;                                     \
        if (test_bad_checks) fprintf(stderr, "FAILED %s (%d checks)\n", name, test_bad_checks);    \
        test_bad_checks = 0;                                                                       \
    } while (0)

#endif
