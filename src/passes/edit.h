/* What passes share: a walk in the order of running that keeps uses up to date, and small edits.
 *
 * A pass that finds another value for one says so with edit_replace when it sees the definition;
 * the walk writes it into all uses that come after. Nothing recurses over nodes or regions. */
#ifndef DIP_EDIT_H
#define DIP_EDIT_H

#include "graph/graph.h"

typedef struct Edit {
    Graph *g;
    Value *to; /* what stands for a value; 0: it itself */
    uint32_t cap;
    uint32_t rewritten; /* uses that were replaced */
    uint32_t changes;   /* what the pass counts */
    NodeId next;        /* where the walk goes on; the visitor may set it */
} Edit;

void edit_init(Edit *e, Graph *g);
void edit_done(Edit *e);

/* Visitors: any may be NULL. */
typedef struct Visitor {
    /* Before its regions; its inputs are up to date. It may drop the node or add some before it. */
    void (*node)(Edit *e, NodeId n, void *ctx);
    void (*enter)(Edit *e, RegionId r, void *ctx);
    void (*leave)(Edit *e, RegionId r, void *ctx); /* its results are up to date */
    void (*close)(Edit *e, NodeId n, void *ctx);   /* an If or While, after its regions */
    void *ctx;
} Visitor;
void edit_walk(Edit *e, const Visitor *v);

Value edit_now(const Edit *e, Value v);
/* `by` (of the same type, in sight of the uses) stands for `v` in all uses still to come; 0: v
 * itself again. */
void edit_replace(Edit *e, Value v, Value by);

/* The node that defines v; 0: a parameter or an input. */
static inline NodeId edit_def(const Edit *e, Value v) { return v ? e->g->values[v].node : 0; }
/* The call that makes v as its only result; NULL: something else does. */
const Node *edit_call_of(const Edit *e, Value v);
static inline bool edit_is_call(const Edit *e, Value v, OpId op) {
    const Node *n = edit_call_of(e, v);
    return n && n->op->id == op;
}
/* The constant that v is; NULL: it is none. */
Tensor *edit_const(const Edit *e, Value v);

/* v is a constant all of whose elements are *x. */
bool edit_number(const Edit *e, Value v, double *x);

/* A copy of node n (one without regions) before node `at`, over the inputs in[n->nin]; the number
 * of the copy. */
NodeId edit_copy(Edit *e, NodeId n, const Value *in, NodeId at);
/* New nodes before `at`, with its line; the first result. */
Value edit_add_const(Edit *e, NodeId at, Tensor *t);
Value edit_add_call(Edit *e, NodeId at, OpId op, const void *attrs, int nin, const Value *in);
/* Makes the node, a call with one result, another call of the same type. */
void edit_become(Edit *e, NodeId n, OpId op, const void *attrs, int nin, const Value *in);
/* All results of node n, of equal number and types, are those of node `by`, which stands for the
 * line of n, too; n is dropped. */
void edit_merge(Edit *e, NodeId n, NodeId by);

/* Whether the call may be left out, run more often or at another time: it has no effect beyond its
 * results and no values make it fail. */
bool edit_is_free(const Node *n);
/* Which node of the region where v was made node `id` is, or stands in. 0: there is none, v comes
 * from the condition of a loop and is used in its body. */
NodeId edit_user(const Graph *g, Value v, NodeId id);
/* What v is a view of, directly or through other views; v itself where it is none. Very long chains
 * are followed a part of the way only. */
Value edit_viewed(const Graph *g, Value v);
/* A step of an optimiser: result i is the new value of input i. */
bool edit_is_update(const Node *n);

#endif
