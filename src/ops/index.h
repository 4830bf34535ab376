/* What an indexing call means, for infer and kernels alike. */
#ifndef DIP_OPS_INDEX_H
#define DIP_OPS_INDEX_H

#include "ops/op.h"

/* Which axes of the target the index tensors stand at, and how the result lies:
 * [outer axes] [index sizes] [rest axes] if they are adjacent, else [index sizes] [rest axes]. */
typedef struct IndexPlan {
    int n;
    int axis[MAX_RANK]; /* increasing */
    bool adjacent;      /* outer axes: those before axis[0] */
    TensorType tuples;  /* what the index tensors broadcast to */
    int nrest;          /* the other axes of the target, without the outer ones */
    int rest[MAX_RANK];
} IndexPlan;

/* axes None: 0, 1, 2 ... as many as there are index tensors. */
Status index_plan(const char *op, const TensorType *x, const IntList *axes, int n,
                  const TensorType *const *indices, IndexPlan *out);
/* gather_nd and its kin: the last axis of `indices` has one entry for each of the first axes. */
Status index_plan_nd(const char *op, const TensorType *x, const TensorType *indices,
                     IndexPlan *out);
/* The type that reading x gives. */
Status index_result(const char *op, const TensorType *x, const IndexPlan *p, TensorType *out);
/* Refuses all but integers. */
Status index_check_dtype(const char *op, const char *name, const TensorType *t);

#endif
