/* The sizes of a recurrent layer, for shapes and kernels. */
#ifndef DIP_OPS_RNN_H
#define DIP_OPS_RNN_H

#include "ops/op.h"

typedef enum RnnMode { RNN_LSTM, RNN_GRU, RNN_TANH, RNN_RELU } RnnMode;

typedef struct RnnShape {
    RnnMode mode;
    bool reverse;
    int64_t steps, n, in, h;
    int64_t gates; /* 4, 3 or 1 */
    int64_t saved; /* blocks of (steps, n, h) kept for the gradient: gates, then what the mode adds
                      (cell states; the new gate's hidden part), then states if lengths differ */
} RnnShape;

/* Places of the inputs of rnn_layer; in rnn_layer_grad they stand RNN_GRAD_FIRST later. */
enum { RNN_X, RNN_H0, RNN_W_IH, RNN_W_HH, RNN_B_IH, RNN_B_HH, RNN_C0, RNN_LENGTH, RNN_INPUTS };
enum { RNN_GRAD_FIRST = 5 };

/* in: the inputs in the order above, nin of them. */
Status rnn_shape(const char *op, const char *mode, bool reverse, int nin,
                 const TensorType *const *in, RnnShape *s);

#endif
