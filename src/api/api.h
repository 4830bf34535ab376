/* What the public calls share. */
#ifndef DIP_API_H
#define DIP_API_H

#include "ops/attrs.h"
#include "ops/op.h"
#include "tensor/tensor.h"

/* Refuses NULL: NEED("item", t, "t"). */
#define NEED(call, pointer, name)                                                                  \
    do {                                                                                           \
        if (DIP_UNLIKELY(!(pointer))) return FAIL(VALUE, "%s: %s is NULL", call, name);            \
    } while (0)

/* A weak number beside `like` (may be NULL): it raises the category of like's dtype only. */
Status api_number(const Op *op, const Tensor *like, double value, Tensor **out);

/* Runs op. NULL or missing weak inputs take their defaults; nout must fit. */
Status api_run(const Op *op, const void *attrs, int nin, Tensor *const *in, int nout, Tensor **out);

/* ---- for the functions of diptych_ops.h */

/* The inputs of a generated call: tensors as given, numbers made on the way. */
typedef struct ApiCall {
    const Op *op;
    const void *attrs;
    int nin; /* without the list of api_run_list */
    Tensor **in;
    const double *numbers; /* of the weak inputs, which stand last in `in` */
    int nnumbers;
    int nout;
} ApiCall;
Status api_run_numbers(const ApiCall *c, Tensor **out);
/* n more inputs behind those of the call. */
Status api_run_list(const ApiCall *c, int n, Tensor *const *list, Tensor **out);
/* Copies a text attribute; refuses NULL and what is too long. */
Status api_text(const char *op, const char *attr, const char *text, char *into);
/* Refuses lists of a wrong length. */
Status api_ints(const char *op, const char *attr, const dip_Ints *list, IntList *into);

#endif
