/* What a run keeps beside values: the stacks of loops, late calls to the outside, the random state
 * to go back to. */
#ifndef DIP_EFFECTS_H
#define DIP_EFFECTS_H

#include "graph/graph.h"
#include "tensor/random.h"

typedef struct Effects {
    struct Stack *stacks; /* g->nstacks */
    uint32_t nstacks;
    struct Late *late, **late_end;
    RandomState random;
} Effects;

void effects_init(Effects *e, const Graph *g);
/* Takes over n tensors; the array stays the caller's. */
void effects_push(Effects *e, int64_t stack, int n, Tensor *const *take);
/* The latest entry, as new references; zeros from an empty stack: of an N_POP. */
Status effects_pop(Effects *e, const Graph *g, const Node *pop, Tensor **out);
bool effects_left(const Effects *e, int64_t stack);
void effects_late(Effects *e, const Host *host, int n, Tensor *const *take);
/* The run has succeeded: late calls are made, in order. */
Status effects_commit(Effects *e);
/* The run has failed: random numbers go on where they were. */
void effects_undo(const Effects *e);
void effects_done(Effects *e);

#endif
