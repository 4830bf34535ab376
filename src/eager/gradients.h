/* The bricks of gradient functions over the tape: variables, and gradients of some values with
 * respect to others. */
#ifndef DIP_GRADIENTS_H
#define DIP_GRADIENTS_H

#include "eager/tape.h"

/* A handle on t's value that is a variable of its own: a leaf, or, where t is recorded already, a
 * node that passes gradients on, so that an outer gradient still reaches t. */
Status tape_variable(Tensor *t, Tensor **out);

typedef struct GradientsArgs {
    int nroots, nwrt;
    Tensor *const *roots, *const *seeds, *const *wrt; /* seeds may be NULL: ones */
    bool create_graph, keep;
    bool partial; /* the walk ends at wrt: what lies behind one of them does not reach another */
} GradientsArgs;
/* out[i]: new reference, or NULL where no root depends on wrt[i]. */
Status tape_gradients(const GradientsArgs *a, Tensor **out);

#endif
