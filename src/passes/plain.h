/* Which values surely lie row-major in memory.
 *
 * Library kernels choose their loops by the strides of their inputs, so a pass that gives them the
 * same numbers in another layout may change the last bit. Where both values are plain it cannot. */
#ifndef DIP_PLAIN_H
#define DIP_PLAIN_H

#include "passes/edit.h"

typedef struct Plain {
    bool *is; /* by value */
    uint32_t cap;
} Plain;

void plain_done(Plain *p);
/* Notes the results of a node; to be called for each node in the order of running. */
void plain_see(Plain *p, const Edit *e, NodeId n);
/* ... and for an If after its regions. */
void plain_see_if(Plain *p, const Edit *e, NodeId n);
static inline bool plain_is(const Plain *p, Value v) { return v < p->cap && p->is[v]; }

/* One number repeated without being stored more than once. */
bool plain_is_repeated(const Tensor *t);

#endif
