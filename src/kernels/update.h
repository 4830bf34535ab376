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
    UPDATE_ADAM_AHEAD,
    UPDATE_AMSGRAD,
    UPDATE_RMSPROP,
    UPDATE_RMSPROP_CENTERED,
    UPDATE_ADAGRAD,
    UPDATE_ADADELTA,
    UPDATE_ADAMAX,
    UPDATE_LAMB_MOMENTS,
    UPDATE_LAMB,
    UPDATE_FTRL,
    UPDATE_RPROP,
    UPDATE_ASGD,
    UPDATE_RULES
} UpdateRule;

/* Numbers of each rule. DECAY and SCALE make g = grad * SCALE + DECAY * param (L2). SHRINK
 * multiplies the parameter first (decoupled decay); ROOT multiplies the root of v; AHEAD and NOW
 * weigh m and g of the next step's guess. */
enum { N_SCALE, N_DECAY, N_LR, N_FIRST };
enum { N_MOMENTUM = N_FIRST, N_UNDAMPED };
enum { N_BETA1 = N_FIRST, N_BETA2, N_SHRINK, N_ROOT, N_EPS, N_AHEAD, N_NOW };
/* Of lamb alone, whose decay is decoupled. */
enum { N_OWN_DECAY = N_SHRINK, N_MEAN = N_AHEAD };
enum { N_RHO = N_FIRST, N_MOMENT, N_EPS2 };
enum { N_EPS3 = N_FIRST, N_ADDS };
/* POWER is -lr_power. */
enum { N_L1 = N_FIRST, N_L2, N_POWER };
enum { N_ETA_MINUS = N_FIRST, N_ETA_PLUS, N_SIZE_MIN, N_SIZE_MAX, N_IS_FIRST };
enum { N_KEEP = N_FIRST, N_MU };
enum { UPDATE_NUMBERS = N_NOW + 1 };

/* Sums of squares of lamb's param and u, spread over lanes in a fixed order. in: param, m, v. */
enum { NORM_LANES = 16 };
typedef struct NormLanes {
    double param[NORM_LANES], step[NORM_LANES];
} NormLanes;
typedef void UpdateNorms(int64_t n, const void *const *in, const double *k, NormLanes *lanes);

typedef struct UpdateLoops {
    UpdateLoop *rule[UPDATE_RULES];
    UpdateNorms *lamb_norms;
} UpdateLoops;

#endif
