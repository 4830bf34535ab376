/* Optimisers: an update op, the parameters it steps, their states and the op's numbers.
 *
 * Everything comes from the op's row: results after the first are states, weak inputs ("lr=0.1")
 * are the numbers, one of which may be `step`, counted up here. States and numbers are Params, so
 * that a step can be captured: changing the learning rate needs no new graph. */
#ifndef DIP_OPTIMIZER_H
#define DIP_OPTIMIZER_H

#include "eager/param.h"

typedef struct dip_Optimizer Optimizer;
struct dip_Optimizer {
    const Op *op;
    int nparams, nstate, nnumbers;
    Param **params;                    /* owned references */
    Param **states;                    /* nparams x nstate, owned */
    SigInput inputs[16];               /* of the op's signature */
    Param *numbers[PARAM_NUMBERS_MAX]; /* 0-d float64, owned */
    int step;                          /* which number is the step; -1: none */
    void *attrs;
};

/* `settings` is text over the op's numbers and attributes, NULL: the defaults. */
Status optimizer_new(const Op *op, const char *settings, int n, Param *const *params,
                     Optimizer **out);
void optimizer_free(Optimizer *o);
/* Name of state k, as the row writes it: "m", "accum". */
static inline const char *optimizer_state_name(const Optimizer *o, int k) {
    return o->inputs[1 + k].name;
}

/* One step with grads[nparams]; NULL leaves that parameter. When it fails nothing has changed. */
Status optimizer_apply(Optimizer *o, Tensor *const *grads);
/* One step with the gradients that the parameters hold, which are then dropped. */
Status optimizer_step(Optimizer *o);

/* FAIL when the rule has no such number. */
Status optimizer_set(Optimizer *o, const char *number, double value);
Status optimizer_get(const Optimizer *o, const char *number, double *out);

#endif
