/* The gradient tape: each recorded call is a node that points to the nodes of its inputs.
 *
 * Values are immutable, so a node may keep what its gradient needs without copies or version
 * counters. Nodes are counted; dropping the last result of a computation frees its tape. Whether
 * calls are recorded is a setting of the thread. */
#ifndef DIP_TAPE_H
#define DIP_TAPE_H

#include "ops/functions.h"
#include "tensor/tensor.h"

/* ---- recording */

bool tape_is_on(void);  /* of this thread; on at start */
bool tape_set(bool on); /* returns the old state */
/* Any of them is differentiable and recording is on. */
bool tape_wants(int n, Tensor *const *in);
/* Hangs a node for this call on its results. Floats get links, and integers where a linked input
 * is an integer. */
Status tape_record(const Op *op, const void *attrs, int nin, Tensor *const *in, int nout,
                   Tensor *const *out);

/* Gradients that are there or not when a graph runs: where a branch was not taken that reads a
 * tensor, the tensor has no gradient (as in eager mode), though the graph has a value for it. Such
 * a gradient has a bool[] of the graph beside it that says whether it is there; NULL: always. */
typedef struct GradFlow {
    int nout, nin;
    Tensor *const *g, *const *g_present; /* of the results; g: NULL where none came */
    Tensor **dx, **dx_present;           /* of the inputs: new references, or NULL */
    const bool *want;                    /* of the inputs: somebody will look at the gradient */
} GradFlow;

/* A call whose gradient somebody else computes (a Python bprop, a branch of a graph).
 * backward gets the gradients of the results (NULL where none came) and fills dx[nin] with new
 * references or NULL; flow, if set, stands for it and knows which of them are there. */
typedef struct CustomGrad {
    Status (*backward)(void *ctx, int nout, Tensor *const *g, int nin, Tensor **dx);
    void (*release)(void *ctx);
    void *ctx;
    Status (*flow)(void *ctx, const GradFlow *f);
} CustomGrad;
Status tape_record_custom(const char *name, CustomGrad custom, int nin, Tensor *const *in, int nout,
                          Tensor *const *out);

/* ---- leaves: what gradients are asked for */

/* A fresh leaf; hang it on a tensor with tape_attach. */
GradLink *tape_leaf(void);
GradLink *link_ref(GradLink *l);
void link_unref(GradLink *l);
/* Whose leaf it is (a Param; NULL: nobody's), borrowed: the owner takes itself away when it dies.
 */
void link_set_owner(GradLink *l, void *owner);
void *link_owner(const GradLink *l);
bool link_is_leaf(const GradLink *l);
/* Whether nothing behind root has been walked back and emptied. */
bool tape_is_whole(Tensor *root);
/* A new handle on t's value whose link is `leaf`. */
Tensor *tape_attach(const Tensor *t, GradLink *leaf);

/* A hook sees the gradient of one result of a node (or of a leaf) before it is used, and may give
 * another. Returns an id for tape_unhook; 0 when t is not recorded. */
typedef struct GradHook {
    Status (*call)(void *ctx, Tensor *grad, Tensor **out); /* *out: new reference, or NULL: keep */
    void (*release)(void *ctx);
    void *ctx;
} GradHook;
int64_t tape_hook(Tensor *t, GradHook hook);
void tape_unhook(Tensor *t, int64_t id);

/* ---- walking back */

typedef struct BackwardArgs {
    int nroots;
    Tensor *const *roots;
    Tensor *const *seeds; /* NULL, or per root NULL: ones */
    int nleaves;
    GradLink *const *leaves; /* whose gradients are wanted */
    bool create_graph;       /* record the gradient computation itself */
    bool keep;               /* the tape may be walked again; otherwise it is emptied as it goes */
    bool ends_at_leaves;     /* `leaves` may be other links: the walk ends there too */
    uint64_t since;          /* links older than this are ends, like leaves; 0: none are */
    Tensor *const *seeds_present; /* NULL, or per root as in GradFlow */
    Tensor **present; /* NULL, or gets a new reference or NULL per leaf, as in GradFlow */
} BackwardArgs;

/* grads[i]: new reference, or NULL when roots do not depend on leaf i. */
Status tape_backward(const BackwardArgs *a, Tensor **grads);

/* ---- parts of the tape: what was recorded since a moment */

uint64_t tape_clock(void);
/* A result of a link from before, that something recorded since reads. */
typedef struct TapeEdge {
    GradLink *link; /* owned */
    int output;
    TensorType type;
} TapeEdge;
/* A handle with the edge's type and link and no value, as an input of tape_record_custom. */
static inline Tensor tape_edge_handle(const TapeEdge *e) {
    return (Tensor){.type = e->type, .link = e->link, .output = (uint16_t)e->output};
}
/* The edges through which the roots reach back beyond `since`; freed by the caller with free(). */
TapeEdge *tape_edges(int nroots, Tensor *const *roots, uint64_t since, int *n);
/* tape_backward for edges instead of leaves; a->since says where the walk ends. */
Status tape_edges_backward(const BackwardArgs *a, int n, const TapeEdge *edges, Tensor **grads);

/* The leaves that `root` depends on, in the order of their making; NULL-terminated, freed by the
 * caller with free(); borrowed links. */
GradLink **tape_leaves(Tensor *root, int *n);

#endif
