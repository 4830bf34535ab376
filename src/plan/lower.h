/* Inside of lowering, shared by its files: what is known on the way from graph to plan. */
#ifndef DIP_LOWER_H
#define DIP_LOWER_H

#include "plan/plan.h"

typedef struct OpenLoop {
    NodeId node;
    int32_t begin; /* the step where its condition starts */
    uint32_t ntouched, cap_touched;
    BufferId *touched; /* made before it: alive until it ends */
} OpenLoop;

/* A step uses a buffer. */
typedef struct Touch {
    int32_t step;
    BufferId buffer;
    bool writes;
} Touch;

/* Updates of parameters that wait until nothing can fail any more. */
typedef struct Updates {
    NodeId *nodes; /* in the order of the body */
    uint32_t n, checked, reached, lowered;
    uint32_t failing; /* nodes still to come that may fail */
} Updates;

typedef struct Lower {
    Plan *plan;
    const Graph *g;
    uint32_t *uses; /* of each value, still to come */
    OpenLoop *loops;
    uint32_t nloops, cap_loops;
    bool *is_written; /* of each value: it is the new value or gradient of a parameter */
    BufferId *direct; /* of each value: the result of the If that it is handed out as lies there, so
                         it is made there; 0: anywhere */
    int32_t *jumps;   /* of each node: the step whose target is to be set */
    Updates updates;
    Touch *touches; /* in the order of the steps */
    uint32_t ntouches, cap_touches;
} Lower;

/* ---- steps.c: buffers, spots, steps, copies */

BufferId lower_buffer(Lower *l, Home home, uint32_t index, int64_t nbytes, RegionId region);
/* The buffer is used by the step that comes next; loops around keep what they find alive. */
void lower_touch(Lower *l, BufferId id);
void lower_write(Lower *l, BufferId id); /* the same: the step changes it */
int64_t lower_bytes(const TensorType *t);
/* A fresh buffer of this type, row-major. */
Spot lower_fresh(Lower *l, const TensorType *type, RegionId region);
/* Value v lies there. */
void lower_settle(Lower *l, Value v, const Spot *s);
void lower_settle_fresh(Lower *l, Value v, RegionId region);
/* Where a branch hands it out if it does, else fresh. */
void lower_settle_direct(Lower *l, Value v, RegionId region);
/* One use of v is done, by the step that comes next; lower_look: by no step, it was a view. */
void lower_use(Lower *l, Value v);
void lower_look(Lower *l, Value v);
Step *lower_step(Lower *l, StepKind kind, NodeId node);
/* A tensor as kernels see it; its address is written before the run. Until then it is not NULL,
 * which would mean an input left out. `spot` lives as long as the plan. */
Buf lower_buf_at(const TensorType *type, const Spot *spot);
Buf lower_buf(const Lower *l, Value v);
void lower_patch_spot(Lower *l, Buf *b, const Spot *s);
void lower_patch_value(Lower *l, Buf *b, Value v);
/* The arrays of a call with these numbers of inputs and results. */
KernelArgs lower_args(Lower *l, const Op *op, const void *attrs, int nin, int nout);
Step *lower_step_with(Lower *l, StepKind kind, NodeId node, const KernelArgs *a);
char **lower_cell(Lower *l, BufferId buffer, int64_t offset);
Status lower_add_kernel(Lower *l, NodeId node, const Kernel *k, const KernelArgs *a);
/* Copies a tensor of `type` that lies at `from`, any layout, to `to`. Both spots live on. */
Status lower_copy(Lower *l, NodeId node, const TensorType *type, const Spot *to, const Spot *from);
/* A jump, its target to be set, where the flag is false. */
Step *lower_unless(Lower *l, NodeId node, Value flag);
/* A dense copy of v; the spot is the plan's. */
Status lower_dense(Lower *l, NodeId node, Value v, Spot **out);

/* ---- call.c */

/* taken: the buffers the results must have; NULL: free choice. */
Status lower_kernel(Lower *l, NodeId id, const BufferId *taken, bool check);
/* A view is where its input lies, or a dense copy of it where this layout has no such view. */
Status lower_view(Lower *l, NodeId id);

/* ---- fork.c: which steps may run at once */

void forks_find(Lower *l);

/* ---- updates.c: steps that overwrite parameters */

void updates_find(Lower *l);
void updates_done(Lower *l);
/* The walk has come to a node: one that may fail is behind it then. */
void updates_pass(Lower *l, const Node *n);
/* Whether the node is such an update: updates_lower makes its step when it may run. */
bool updates_hold(Lower *l, NodeId id);
/* The steps of updates that may run now, before the next node of the body. */
Status updates_lower(Lower *l);
Status updates_end(Lower *l); /* all that are left */

#endif
