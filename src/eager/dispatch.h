/* Eager mode: an op call runs now. */
#ifndef DIP_DISPATCH_H
#define DIP_DISPATCH_H

#include "kernels/kernel.h"
#include "tensor/tensor.h"

/* Runs one op. in[i] may be NULL for an optional tensor; out gets op_nout() new references.
 * Converts inputs by the row's dtype rule, records on the tape if a gradient is wanted. */
Status dispatch(const Op *op, const void *attrs, int nin, Tensor *const *in, Tensor **out);

/* Like dispatch, for a node of a captured graph: random ops read their place in the stream from
 * their attributes. */
Status dispatch_drawn(const Op *op, const void *attrs, int nin, Tensor *const *in, Tensor **out);

/* Calls of an update op, all or none: whatever can fail is done for all of them before the first
 * kernel runs. An input to which the caller has the only reference gives its bytes to the result
 * that takes its place. Nothing is recorded. */
typedef struct UpdateCalls {
    const Op *op;
    const void *attrs;
    int n, nin;        /* calls; inputs of each */
    Tensor *const *in; /* n x nin, borrowed */
    Tensor **out;      /* n x op->nout new references */
    int failed;        /* set on failure: the call that could not be made */
} UpdateCalls;
Status dispatch_updates(UpdateCalls *u);

/* Number of results that dispatch will write for these inputs. */
int dispatch_nout(const Op *op, const void *attrs, int nin, Tensor *const *in);

/* One-result calls by id; attrs NULL = defaults. */
Status dispatch1(OpId id, const void *attrs, Tensor *x, Tensor **out);
Status dispatch2(OpId id, const void *attrs, Tensor *x, Tensor *y, Tensor **out);

/* A dense tensor of one number repeated. */
Status tensor_fill(const TensorType *type, double value, Tensor **out);

/* Called around runs that take long (tens of microseconds and more), so that the Python layer can
 * release its lock, and at each turn of a graph's loop, so that Ctrl-C can end it: what is not OK
 * does. NULL: nothing. */
typedef struct LongRunHooks {
    void *(*begin)(void);
    void (*end)(void *state);
    Status (*turn)(void);
} LongRunHooks;
extern LongRunHooks long_run;
/* Element operations (kernel_cost) from which that is worth it: about 10 us. */
enum { LONG_RUN = 30000 };

#endif
