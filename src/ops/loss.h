/* Cross entropy and its relatives: what infer, kernels and gradients share. */
#ifndef DIP_LOSS_H
#define DIP_LOSS_H

#include "ops/op.h"

typedef enum Reduction { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM } Reduction;
/* "none", "mean", "sum". */
Status read_reduction(const char *op, const char *text, Reduction *out);

typedef struct LossShape {
    int axis; /* of the classes */
    int64_t outer, classes, inner;
    bool dense_target; /* probabilities, not labels */
} LossShape;
LossShape loss_shape(const TensorType *x, const TensorType *target);
/* Where the classes of position r begin; they are `inner` elements apart. */
static inline int64_t loss_start(const LossShape *s, int64_t r) {
    return r / s->inner * s->classes * s->inner + r % s->inner;
}

/* The attributes of cross_entropy, nll_loss and the hidden ops behind them. */
typedef struct LossAttrs {
    int64_t ignore_index;
    double label_smoothing;
    Reduction reduction;
    bool log_probs;
} LossAttrs;
LossAttrs loss_attrs(const Op *op, const void *attrs);

#endif
