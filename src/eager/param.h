/* Parameters: named values that learn. A Param holds the present value, its gradient leaf and the
 * gradient gathered so far.
 *
 * The value is one handle that carries the leaf's link, so a computation that uses it is recorded,
 * and nothing else holds its bytes: an optimiser step overwrites them in place. When somebody else
 * does hold the value (a tape still alive, a reader), the step makes new bytes and they keep
 * theirs. A Param belongs to one thread at a time. */
#ifndef DIP_PARAM_H
#define DIP_PARAM_H

#include "eager/tape.h"

typedef struct dip_Param Param;
struct dip_Param {
    atomic_int refs;
    bool requires_grad;
    char *name;     /* owned copy */
    Tensor *value;  /* with the leaf's link while requires_grad */
    Tensor *grad;   /* NULL: none so far */
    GradLink *leaf; /* the same for the whole life of the Param */
    void *handle;   /* the Python object over it, borrowed; NULL: none */
};

/* Over value's bytes without copying. Requires a gradient when the dtype is a float. */
Param *param_new(const char *name, const Tensor *value);
Param *param_ref(Param *p);
void param_unref(Param *p); /* NULL is fine */

/* Borrowed; valid until the next assignment or step. */
static inline Tensor *param_value_peek(const Param *p) { return p->value; }
static inline Tensor *param_grad_peek(const Param *p) { return p->grad; }

/* Fails when the dtype is no float. Values handed out before keep their old links. */
Status param_require_grad(Param *p, bool on);
void param_rename(Param *p, const char *name);
/* The value is `value` from now on; same dtype and sizes. */
Status param_assign(Param *p, const Tensor *value);
/* Takes over `value`, a handle that nobody else has, of the same dtype and sizes. */
void param_take(Param *p, Tensor *value);
/* Any dtype and sizes; the gradient is dropped. */
void param_replace(Param *p, const Tensor *value);

/* grad += g; same sizes as the value. */
Status param_add_grad(Param *p, Tensor *g);
/* grad = g (NULL: none). */
Status param_set_grad(Param *p, Tensor *g);

/* An optimiser's rule: op(value, states, gradient, numbers) gives the new value and states. */
enum { PARAM_STATES_MAX = 4, PARAM_NUMBERS_MAX = 11 };
typedef struct UpdateRule {
    const Op *op;
    const void *attrs;
    int nstate, nnumbers;
} UpdateRule;
typedef struct ParamUpdate {
    Param *param;
    Tensor *grad;
    Param *state[PARAM_STATES_MAX]; /* [nstate], each another Param */
    Tensor *const *numbers;         /* [nnumbers], one element each; groups have their own */
} ParamUpdate;
/* One step of n parameters. On failure, out of memory included, every value and state is as
 * before. */
Status params_update(const UpdateRule *rule, int n, const ParamUpdate *updates);

/* The gradients of `root`, seeded with `seed` (NULL: ones), added to the grad of every Param that
 * it depends on and that requires one. `keep`: the tape may be walked again. */
Status param_backward(Tensor *root, Tensor *seed, bool create_graph, bool keep);

#endif
