/* The dense loops behind optimiser steps: update_loops.c, compiled once an instruction set and
 * compute type (f32, f64). */
#ifndef DIP_UPDATE_H
#define DIP_UPDATE_H

#include "tensor/type.h"

enum { UPDATE_ARRAYS = 5 };

/* n elements. in: parameter, states, gradient; out: parameter, states, out[i] may be in[i].
 * k: the rule's numbers, in the order its enum in update_loops.c names them. */
typedef void UpdateLoop(int64_t n, void *const *out, const void *const *in, const double *k);

typedef enum UpdateRule {
    UPDATE_SGD,
    UPDATE_MOMENTUM,
    UPDATE_NESTEROV,
    UPDATE_ADAM,
    UPDATE_NADAM,
    UPDATE_AMSGRAD,
    UPDATE_RMSPROP,
    UPDATE_RMSPROP_CENTERED,
    UPDATE_ADAGRAD,
    UPDATE_RULES
} UpdateRule;

/* Numbers of each rule. DECAY and SCALE make g = grad * SCALE + DECAY * param (L2). SHRINK
 * multiplies the parameter first (decoupled decay); ROOT multiplies the root of v. */
enum { N_SCALE, N_DECAY, N_LR, N_FIRST };
enum { N_MOMENTUM = N_FIRST, N_UNDAMPED };
enum { N_BETA1 = N_FIRST, N_BETA2, N_SHRINK, N_ROOT, N_EPS };
enum { N_RHO = N_FIRST, N_MOMENT, N_EPS2 };
enum { N_EPS3 = N_FIRST };

typedef struct UpdateLoops {
    UpdateLoop *rule[UPDATE_RULES];
} UpdateLoops;

#endif
