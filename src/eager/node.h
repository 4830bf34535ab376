/* The inside of a tape node, shared by recording (tape.c) and walking back (backward.c). */
#ifndef DIP_NODE_H
#define DIP_NODE_H

#include "eager/tape.h"

typedef struct Edge {
    GradLink *link; /* owned; NULL: constant */
    int output;
} Edge;

typedef struct HookEntry {
    struct HookEntry *next;
    int64_t id;
    int output;
    GradHook hook;
} HookEntry;

struct GradLink {
    atomic_int refs;
    uint16_t nin, nout;
    bool is_leaf, emptied;
    uint64_t order;    /* later calls have larger numbers */
    const Op *op;      /* NULL: leaf or custom */
    const char *name;  /* for messages */
    CustomGrad custom; /* of what is neither leaf nor op */
    HookEntry *hooks;
    void *owner; /* of a leaf: its Param, borrowed */
    GradLink *next_freed;
    size_t nbytes; /* of this whole block */
    /* The arrays below live behind the struct in the same block. */
    Edge *edges;       /* nin */
    TensorType *types; /* nin, then nout */
    Tensor **saved; /* nin, then nout; NULL where not kept; results are kept without their link */
    void *attrs;
};

/* Whether one of two gradients is there (GradFlow): a or b; NULL where one always is. */
Status gradient_present(Tensor *a, Tensor *b, Tensor **out);
/* The same of all of g[n] that are not NULL. */
Status gradient_any_present(int n, Tensor *const *g, Tensor *const *present, Tensor **out);

#endif
