/* Inner loops of recurrent cells and attention, compiled once an instruction set for f32 and f64
 * (sequence_loops.c). They use the words of math.def, as elementwise ops do. */
#ifndef DIP_SEQUENCE_LOOPS_H
#define DIP_SEQUENCE_LOOPS_H

#include "tensor/type.h"

/* A block of `n` units of `rows` sequences. Gates of one row stand `h` elements apart (unit u of
 * gate k: [k * h + u]), rows of gates `step` apart; rows of all other arrays are `h` apart. */
typedef struct CellBlock {
    int64_t rows, n, h, step;
    void *gates; /* forward: sums in, activations out; backward: activations */
    const void
        *extra; /* gru: what the state adds to the gates, (rows, 3 h), rows `extra_step` apart */
    int64_t extra_step;
    void *hidden;       /* gru: the state's part of the new gate, saved for the gradient */
    const void *before; /* state (lstm: cell state) before the step */
    void *cell;         /* lstm: cell state after the step */
    void *state;        /* state after the step */
    /* backward */
    const void *dstate; /* gradient of the state after the step */
    void *carry;        /* in and out: lstm: gradient of the cell state; gru: of the state before */
    void *dgates;       /* out: of the sums from the input */
    void *dhidden;      /* gru: of the sums from the state, laid out as dgates */
} CellBlock;

typedef struct SequenceLoops {
    void (*lstm)(const CellBlock *b);
    void (*lstm_grad)(const CellBlock *b);
    void (*gru)(const CellBlock *b);
    void (*gru_grad)(const CellBlock *b);
    void (*tanh)(const CellBlock *b); /* plain cells: gates in, state out */
    void (*relu)(const CellBlock *b);
    void (*tanh_grad)(const CellBlock *b); /* from state and dstate */
    void (*relu_grad)(const CellBlock *b);

    /* s = scale * s (+ mask where given); the largest of s and `top`. */
    double (*scores)(int64_t n, void *s, double scale, const void *mask, double top);
    double (*exp_sum)(int64_t n, void *s, double top); /* s = exp(s - top); their sum */
    void (*rescale)(int64_t n, void *x, double by);
    double (*dot)(int64_t n, const void *x, const void *y);
    /* ds = p (dp - delta) scale */
    void (*score_grad)(int64_t n, const void *p, void *dp, double delta, double scale);
} SequenceLoops;

const SequenceLoops *sequence_loops(DType dtype); /* f32 or f64 */

#endif
