/* Writing computations as op calls: gradients and expansions are written once, over a Builder.
 * Eager's builder runs each call at once; the graph's appends a node. Refs are sticky: after the
 * first failure every call returns 0 and does nothing, so expressions nest without checks. */
#ifndef DIP_BUILD_H
#define DIP_BUILD_H

#include "ops/op.h"

typedef uint32_t Ref; /* 0 = none: an absent optional tensor, or the result after a failure */

struct Builder {
    Status status;
    /* Fills out[nout]; all 0 after a failure. */
    void (*call)(Builder *b, const Op *op, const void *attrs, int nin, const Ref *in, int nout,
                 Ref *out);
    const TensorType *(*type)(Builder *b, Ref x);
    /* A tensor filled with one number. */
    Ref (*fill)(Builder *b, const TensorType *type, double value);
};

/* Gradient of one call. x, r, g: inputs, results, gradients of the results (0: no gradient came).
 * x[i] and r[i] are 0 where the row does not save them; their types are always there.
 * The function sets dx[i] for every want[i] that has a gradient (leaving 0 means zero). */
struct GradCtx {
    Builder *b;
    const Op *op;
    const void *attrs;
    int nin, nout;
    const Ref *x, *r, *g;
    const TensorType *const *xtypes, *const *rtypes;
    const bool *want;
    Ref *dx;
};

struct ExpandCtx {
    Builder *b;
    const Op *op;
    const void *attrs;
    int nin, nout;
    const Ref *x;
    Ref *r; /* to be set */
};

/* One-result calls; attrs NULL = the defaults. */
Ref b_call(Builder *b, OpId op, const void *attrs, int nin, const Ref *in);
Ref b_op1(Builder *b, OpId op, const void *attrs, Ref x);
Ref b_op2(Builder *b, OpId op, const void *attrs, Ref x, Ref y);
Ref b_op3(Builder *b, OpId op, const void *attrs, Ref x, Ref y, Ref z);

static inline const TensorType *b_type(Builder *b, Ref x) { return b->type(b, x); }
/* A 0-d number of x's dtype. */
Ref b_num(Builder *b, Ref like, double value);
Ref b_zeros_like(Builder *b, const TensorType *type);
Ref b_add(Builder *b, Ref x, Ref y);
Ref b_sub(Builder *b, Ref x, Ref y);
Ref b_mul(Builder *b, Ref x, Ref y);
Ref b_div(Builder *b, Ref x, Ref y);
Ref b_neg(Builder *b, Ref x);
Ref b_cast(Builder *b, Ref x, DType dtype);                        /* x itself if it is so */
Ref b_reshape(Builder *b, Ref x, int rank, const int64_t *dims);   /* likewise */
Ref b_broadcast(Builder *b, Ref x, int rank, const int64_t *dims); /* likewise */
Ref b_transpose(Builder *b, Ref x, const int64_t *perm);           /* rank entries */
Ref b_swap(Builder *b, Ref x, int axis_a, int axis_b);             /* may be negative */
Ref b_sum(Builder *b, Ref x, IntList axis, bool keep_dims);
/* Undoes broadcasting: sums x down to these sizes. */
Ref b_sum_to(Builder *b, Ref x, int rank, const int64_t *dims);
/* Puts back axes of size 1 that a reduction over `axis` dropped (no-op if keep_dims). */
Ref b_keep_dims(Builder *b, Ref r, const TensorType *x, const IntList *axis, bool keep_dims);

/* The expansion of an elementwise row or of its gradient, made of the row's own words. */
void expand_ewise_grad(ExpandCtx *c);

#endif
