/* What the blocks of docs/c-api.md stand on: the names that they use without declaring them. */
#ifndef DIP_DOC_CONTEXT_H
#define DIP_DOC_CONTEXT_H

#include "diptych_ops.h"
#include "test.h"

typedef struct Context {
    dip_Tensor *a, *b, *labels, *initial, *x;
} Context;

/* Declares the names of a block; x only where the block has none of its own. */
#define CONTEXT(s)                                                                                 \
    dip_Tensor *a = (s).a, *b = (s).b, *labels = (s).labels, *initial = (s).initial, *x = (s).x;   \
    dip_Tensor *c = NULL, *hot = NULL;                                                             \
    (void)a, (void)b, (void)labels, (void)initial, (void)x, (void)c, (void)hot;

static inline dip_Tensor *doc_matrix(void) {
    static const float data[] = {1, 2, 3, 4};
    dip_Tensor *t = NULL;
    CHECK_OK(dip_tensor(DIP_F32, 2, (int64_t[]){2, 2}, data, &t));
    return t;
}

/* sum(w * w) */
static inline dip_Tensor *compute_loss(dip_Tensor *w) {
    dip_Tensor *square = NULL, *loss = NULL;
    CHECK_OK(dip_square(w, &square));
    CHECK_OK(dip_sum(square, DIP_INTS_NONE, false, -1, &loss));
    dip_unref(square);
    return loss;
}

/* in[0] -> its loss */
static inline dip_Status train_step(void *ctx, int nin, dip_Tensor *const *in, int nout,
                                    dip_Tensor **out) {
    (void)ctx, (void)nin, (void)nout;
    out[0] = compute_loss(in[0]);
    return DIP_OK;
}

/* What blocks leave behind is not given back: the program runs without a leak check. */
static inline void run_block(int (*block)(Context), const char *name) {
    static const int64_t classes[] = {3, 1, 4};
    Context s = {doc_matrix(), doc_matrix(), NULL, doc_matrix(), doc_matrix()};
    test_bad_checks = 0;
    CHECK_OK(dip_tensor(DIP_I64, 1, (int64_t[]){3}, classes, &s.labels));
    CHECK(block(s) == 0);
    CHECK(*dip_error_message() == 0);
    if (test_bad_checks) fprintf(stderr, "FAILED %s: %s\n", name, dip_error_message());
    *(test_bad_checks ? &test_failed : &test_passed) += 1;
}

#endif
