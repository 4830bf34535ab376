/* Capture: between begin and end, op calls of this thread on symbolic tensors become nodes of a
 * graph instead of running.
 *
 * A symbolic tensor is a tensor whose type is known and whose bytes are not: its `symbol` is a
 * value of the graph. Everything that only asks for types works on it unchanged: infer, promotion,
 * the gradient tape (so gradients of captured code are captured too), layers, optimisers. Calls on
 * concrete tensors still run at once: constant folding for nothing.
 *
 * A Param that a call reads becomes an input of the graph, and until the end its value is the
 * symbolic one that the captured code has given it; at the end the old value returns, and the new
 * one is a write of the graph. */
#ifndef DIP_CAPTURE_H
#define DIP_CAPTURE_H

#include "eager/param.h"
#include "graph/graph.h"

typedef struct Capture Capture;

/* The capture of this thread; NULL: calls run. */
extern _Thread_local Capture *capture_now;
static inline bool capture_is_on(void) { return DIP_UNLIKELY(capture_now != NULL); }

/* What a captured parameter was before and what the code made of it. */
typedef struct ParamTrace {
    Param *param;                 /* owned */
    Value value, grad;            /* inputs of the graph; grad 0: it had none */
    Value new_value, new_grad;    /* set at the end; 0: unchanged (grad: or none now) */
    bool drops_grad;              /* it had a gradient and has none now */
    bool requires_grad;           /* as it was captured */
    Tensor *old_value, *old_grad; /* during the capture: what to restore */
    Value maybe, present;         /* then, too: the gradient that is there where `present` says */
} ParamTrace;

enum { SOURCE_CALLER = -1 };

/* What a capture ends in. Inputs of the graph are those of capture_input in order, mixed with those
 * of parameters (params[i].value, .grad). */
typedef struct Program {
    int refs;
    Graph *graph;
    uint32_t nparams;
    ParamTrace *params;
    int32_t *sources;  /* of each input of the graph: SOURCE_CALLER, 2k: value, 2k + 1: gradient of
                          params[k] */
    uint32_t noutputs; /* results of the body that are outputs; new values and gradients follow */
    void *plan;        /* made by src/run at the first run */
    void (*plan_free)(void *plan);
    bool has_no_plan;
} Program;
Program *program_ref(Program *p);
void program_unref(Program *p); /* NULL is fine */

Capture *capture_new(void);
void capture_free(Capture *c);          /* restores what capture_finish has not */
Status capture_begin(Capture *c);       /* calls of this thread are captured from now on */
Status capture_end(Capture *c);         /* ... and run again; parameters have their old values */
Graph *capture_graph(const Capture *c); /* borrowed */

/* Integers are differentiated in this capture, so integers that loops carry are too. */
void capture_follow_integers(Capture *c);
bool capture_follows_integers(const Capture *c);

/* For gradients that are a graph of their own: values of the capture around `c`, which has begun
 * inside it, become inputs of c. lent(i) are those values, in the order of the inputs. */
void capture_borrow(Capture *c);
bool capture_borrows(const Capture *c);
uint32_t capture_nlent(const Capture *c);
Tensor *capture_lent(const Capture *c, uint32_t i);

/* A symbolic tensor for an input of this type. */
Tensor *capture_input(Capture *c, const TensorType *type);
/* The number of the value in the graph; an error when it belongs to another graph. */
Status capture_value(Capture *c, Tensor *t, Value *out);
/* Ends the capture (if it runs): `outputs` and the writes become the results of the body. */
Status capture_finish(Capture *c, int n, Tensor *const *outputs, Program **out);

/* Calls until capture_recomputed belong to a part of the function whose inner values gradients
 * compute again instead of keeping them (pass `recompute`). Returns its number; 0: inside another
 * part, to which they belong then. `outputs` are kept; ending a part twice adds outputs. */
uint32_t capture_recompute(Capture *c);
void capture_recomputed(Capture *c, uint32_t part, int n, Tensor *const *outputs);

/* ---- regions: nodes go into the innermost one entered */
RegionId capture_region(Capture *c, RegionId parent); /* parent 0: the present region */
void capture_enter(Capture *c, RegionId r);
void capture_leave(Capture *c);

typedef struct Side {
    RegionId region;
    Tensor *const *values; /* n of them, pairwise of the same type on both sides */
} Side;
/* An If in the present region; out gets n symbolic tensors, differentiable where a value is. */
Status capture_if(Capture *c, Tensor *condition, Side then, Side other, int n, Tensor **out);

typedef struct Branch {
    Status (*run)(void *ctx, Tensor **out); /* n new references */
    void *ctx;
} Branch;
/* capture_branch.c: an If over two functions; parameters that one changes keep their values where
 * the other is taken. */
Status capture_branches(Capture *c, Tensor *condition, Branch then, Branch other, int n,
                        Tensor **out);

typedef struct Loop {
    RegionId condition, body;
    int n;
    Value *first;    /* n, freed by loop_done */
    Tensor **init;   /* n, with their links */
    Tensor **params; /* n, leaves where differentiable */
} Loop;
/* A While whose carried values start at init[n]; params[n] stand for them in both regions. */
Status capture_loop(Capture *c, int n, Tensor *const *init, Loop *loop, Tensor **params);
Status capture_while(Capture *c, Loop *loop, Tensor *condition, Tensor *const *next, Tensor **out);
void loop_done(Loop *loop);

/* Calls a function outside when the graph runs; takes over `host`. */
Status capture_host(Capture *c, Host host, int nin, Tensor *const *in, int nout,
                    const TensorType *types, Tensor **out);

/* The user's position for the nodes that follow. */
void capture_line(Capture *c, const Line *line);

/* ---- for record.c */

struct Recording;
struct Recording *capture_recording(const Capture *c);
void capture_set_recording(Capture *c, struct Recording *r); /* takes over the reference */
/* Op calls are captured though all inputs are known: their results depend on sizes that vary. */
void capture_force(Capture *c, bool on);
bool capture_is_forced(void);
uint32_t capture_present_line(const Capture *c);
bool capture_owns(const Capture *c, const Tensor *t); /* t is symbolic and of this capture */
/* capture_host for a function that another graph calls, too. */
Status capture_host_again(Capture *c, Host *host, int nin, Tensor *const *in, int nout,
                          const TensorType *types, Tensor **out);

/* ---- for capture_flow.c */

/* A node of any kind in the present region, and its results as symbolic tensors. */
NodeId capture_node(Capture *c, NodeKind kind, int nin, const Value *in, int nout,
                    const TensorType *types, Tensor **out);
Tensor *capture_region_param(Capture *c, RegionId r, const TensorType *type);
Tensor *capture_symbol(Capture *c, Value v);
/* The tape's clock when the region was made: older links stand outside of it. */
uint64_t capture_region_since(const Capture *c, RegionId r);
/* A gradient of its own (a bprop, a hook) is recorded: what captures nodes again would miss it. */
void capture_note_custom(Capture *c);
bool capture_has_custom(const Capture *c, RegionId r); /* in it or deeper */
/* Inside of region r every node's handles are kept: a loop's body is captured again for its
 * gradient, with the links that its inputs had. */
void capture_region_loops(Capture *c, RegionId r);
void capture_keep(Capture *c, NodeId id, int n, Tensor *const *handles);
Tensor *const *capture_kept(const Capture *c, NodeId id);
int capture_nkept(const Capture *c, NodeId id);

/* ---- stacks: what the turns of one loop leave for those of another */

/* What was pushed in a turn. Gradients flow from who pops to who pushed: their two loops are nodes
 * of the tape, and the last result of the first stands for all that it pushed. */
typedef struct StackNote {
    GradLink *link; /* of the loop that pushes, once it is recorded; NULL: no gradient wants it */
    int n;
    Tensor **handles;
} StackNote;
int64_t capture_stack(Capture *c); /* a new one */
StackNote *capture_stack_note(const Capture *c, int64_t stack);
/* Pushes at the end of region r (0: the present one); once for a stack. */
Status capture_push(Capture *c, RegionId r, int64_t stack, int n, Tensor *const *handles);
/* In the present region; leaves stand for what had links. */
void capture_pop(Capture *c, int64_t stack, Tensor **out);
void capture_left(Capture *c, int64_t stack, Tensor **out);
bool capture_in_loop(const Capture *c); /* what is captured now stands in a loop */
/* Whether what is captured now runs once for each run of region r: a loop here takes off just what
 * one there has pushed. */
bool capture_in_step(const Capture *c, RegionId r);

/* ---- capture_again.c */

/* What stands for what while a region is captured again. */
typedef struct Mapping {
    Tensor **values; /* by value; NULL: itself */
    int64_t *stacks; /* by stack: 1 + the new one; 0: it has none */
    uint32_t nvalues;
} Mapping;
Mapping mapping_new(const Capture *c);
void mapping_free(Mapping *m);
/* The nodes of region r once more, in the present region, with the tape as it is; their results go
 * into the mapping. What r itself pushes and pops is left out: the mapping has what was popped. */
Status capture_again(Capture *c, RegionId r, Mapping *m);
/* What stands for t, without a link where t had none; t itself where nothing stands for it. New
 * reference. */
Tensor *capture_mapped(const Tensor *t, const Mapping *m);

/* A finished If, its tape node, and which part of the tape belongs to its sides. */
void capture_note_if(Capture *c, const Tensor *condition, uint64_t since, uint64_t until,
                     GradLink *node);
/* The innermost one over this condition that a link of this order belongs to, or NULL. */
GradLink *capture_if_around(const Capture *c, const Tensor *condition, uint64_t order);

/* capture_if_grad.c, capture_loop_grad.c: hang the tape node of an If, of a While on its results.
 */
Status capture_if_record(Capture *c, Tensor *condition, Side then, Side other, int n, Tensor **out);
Status capture_loop_record(Capture *c, NodeId id, const Loop *loop, Tensor *const *next,
                           Tensor **out);

/* ---- parameters: for undoing and joining branches */
uint32_t capture_nparams(const Capture *c);
Param *capture_param(const Capture *c, uint32_t i);
/* New symbolic handles on what it held before the capture wrote to it; *grad may be NULL. */
void capture_entry(Capture *c, uint32_t i, Tensor **value, Tensor **grad);
/* Makes p an input of the capture that runs, if it is not one yet. */
void capture_touch(Param *p);
/* Whether p's gradient, as it is now, is there when the graph runs (GradFlow): noted with it, asked
 * for by what uses it. A new reference; NULL: always. */
void capture_note_present(Param *p, Tensor *present);
Tensor *capture_present(const Param *p);
/* The Python object over p shows its present value. */
void capture_show(Param *p);
/* A new symbolic handle on t's value, in the capture that runs; a concrete one becomes a constant.
 */
Tensor *capture_symbolic(const Tensor *t);
/* Called when the value of a Param with a handle was replaced by the capture (the Python layer
 * shows it). NULL: nothing. */
extern void (*capture_shows)(Param *p);

/* ---- for dispatch */

/* Replaces parameters' values among in[] by the present ones (borrowed); true when one of them is
 * symbolic now. */
bool capture_inputs(int nin, Tensor *const *in, Tensor **mapped);
/* The call as a node. */
Status capture_call(const Op *op, const void *attrs, int nin, Tensor *const *in, int nout,
                    const TensorType *types, Tensor **out);

#endif
