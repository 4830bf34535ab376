/* The gradient of a recurrent layer as differentiable ops, for gradients of gradients: the forward
 * pass is computed again step by step, then the formulas of the cells are written backwards. */
#include <stdlib.h>

#include "ops/functions.h"
#include "ops/rnn.h"

enum { MAX_GATES = 4 };

/* One step: what the way back reads. Refs are 0 where the mode has no such thing. */
typedef struct StepRefs {
    Ref x, gates[MAX_GATES], hidden; /* activations; gru: the state's part of the new gate */
    Ref before, cell_before, cell;
    Ref alive, over; /* (n, 1): 1 and 0, or 0 and 1 once a sequence is over */
} StepRefs;

typedef struct Unrolled {
    Builder *b;
    RnnShape s;
    const Ref *in; /* in the order of RNN_X ... */
    int nin;
    StepRefs *steps;
    Ref h, c; /* the running state; later the running gradients */
} Unrolled;

static Ref given(const Unrolled *u, int i) { return i < u->nin ? u->in[i] : 0; }

static Ref row_of(Builder *b, Ref x, int64_t at) {
    if (b->status != OK) return 0;
    TensorType t = *b_type(b, x);
    Ref r = b_op1(b, OP_narrow, &(attrs_narrow){.start = at, .length = 1}, x);
    return b_reshape(b, r, t.rank - 1, t.dims + 1);
}

static Ref columns(const Unrolled *u, Ref x, int gate) {
    attrs_narrow a = {.axis = 1, .start = gate * u->s.h, .length = u->s.h};
    return b_op1(u->b, OP_narrow, &a, x);
}

static Ref complement(Builder *b, Ref x) { return b_sub(b, b_num(b, x, 1), x); }
static Ref sigmoid(Builder *b, Ref x) { return b_op1(b, OP_sigmoid, NULL, x); }
static Ref tanh_of(Builder *b, Ref x) { return b_op1(b, OP_tanh, NULL, x); }

static Ref product(Builder *b, Ref x, bool tx, Ref y, bool ty) {
    return b_op2(b, OP_matmul, &(attrs_matmul){.transpose_a = tx, .transpose_b = ty}, x, y);
}

static Ref sums(const Unrolled *u, Ref x, int weight, int bias) {
    Ref y = product(u->b, x, false, given(u, weight), true);
    return given(u, bias) ? b_add(u->b, y, given(u, bias)) : y;
}

/* ---- forward */

static Ref lstm_step(Unrolled *u, StepRefs *s, Ref sum) {
    Builder *b = u->b;
    for (int k = 0; k < 4; k++) {
        Ref part = columns(u, sum, k);
        s->gates[k] = k == 2 ? tanh_of(b, part) : sigmoid(b, part);
    }
    s->cell_before = u->c;
    s->cell = b_add(b, b_mul(b, s->gates[1], u->c), b_mul(b, s->gates[0], s->gates[2]));
    return b_mul(b, s->gates[3], tanh_of(b, s->cell));
}

static Ref gru_step(Unrolled *u, StepRefs *s, Ref of_x, Ref of_h) {
    Builder *b = u->b;
    s->hidden = columns(u, of_h, 2);
    for (int k = 0; k < 2; k++)
        s->gates[k] = sigmoid(b, b_add(b, columns(u, of_x, k), columns(u, of_h, k)));
    s->gates[2] = tanh_of(b, b_add(b, columns(u, of_x, 2), b_mul(b, s->gates[0], s->hidden)));
    Ref gap = b_sub(b, s->before, s->gates[2]);
    return b_add(b, s->gates[2], b_mul(b, s->gates[1], gap));
}

static Ref plain_step(Unrolled *u, StepRefs *s, Ref sum) {
    s->gates[0] = b_op1(u->b, u->s.mode == RNN_TANH ? OP_tanh : OP_relu, NULL, sum);
    return s->gates[0];
}

static Ref mix(Builder *b, const StepRefs *s, Ref alive, Ref over) {
    if (!s->alive) return alive;
    return b_add(b, b_mul(b, s->alive, alive), b_mul(b, s->over, over));
}

static void set_alive(Unrolled *u, StepRefs *s, int64_t t) {
    Builder *b = u->b;
    Ref length = given(u, RNN_LENGTH);
    if (!length) return;
    Ref is_alive = b_op2(b, OP_greater, NULL, length, b_num(b, length, (double)t));
    s->alive = b_cast(b, is_alive, b_type(b, given(u, RNN_X))->dtype);
    s->alive = b_reshape(b, s->alive, 2, (int64_t[]){u->s.n, 1});
    s->over = complement(b, s->alive);
}

static int64_t time_of(const Unrolled *u, int64_t step) {
    return u->s.reverse ? u->s.steps - 1 - step : step;
}

static void forward(Unrolled *u) {
    Builder *b = u->b;
    u->h = given(u, RNN_H0);
    u->c = given(u, RNN_C0);
    for (int64_t i = 0; i < u->s.steps; i++) {
        StepRefs *s = &u->steps[i];
        set_alive(u, s, time_of(u, i));
        s->x = row_of(b, given(u, RNN_X), time_of(u, i));
        s->before = u->h;
        Ref of_x = sums(u, s->x, RNN_W_IH, RNN_B_IH), of_h = sums(u, u->h, RNN_W_HH, RNN_B_HH);
        Ref h;
        if (u->s.mode == RNN_GRU)
            h = gru_step(u, s, of_x, of_h);
        else if (u->s.mode == RNN_LSTM)
            h = lstm_step(u, s, b_add(b, of_x, of_h));
        else
            h = plain_step(u, s, b_add(b, of_x, of_h));
        u->h = mix(b, s, h, u->h);
        if (s->cell) u->c = mix(b, s, s->cell, u->c);
    }
}

/* ---- backward: u->h and u->c now hold gradients of the state after the step */

static Ref sigmoid_grad(Builder *b, Ref g, Ref r) {
    return b_mul(b, g, b_mul(b, r, complement(b, r)));
}
static Ref tanh_grad(Builder *b, Ref g, Ref r) {
    return b_mul(b, g, complement(b, b_mul(b, r, r)));
}

static Ref join(Builder *b, int n, const Ref *parts) {
    return b_call(b, OP_concat, &(attrs_concat){.axis = 1}, n, parts);
}

/* Gradients of the sums; *carry: of the state (lstm: cell state) before, besides what goes by sums.
 */
static Ref lstm_grad(const Unrolled *u, const StepRefs *s, Ref dh, Ref dc, Ref *carry) {
    Builder *b = u->b;
    Ref t = tanh_of(b, s->cell);
    dc = b_add(b, dc, tanh_grad(b, b_mul(b, dh, s->gates[3]), t));
    *carry = b_mul(b, dc, s->gates[1]);
    Ref parts[] = {sigmoid_grad(b, b_mul(b, dc, s->gates[2]), s->gates[0]),
                   sigmoid_grad(b, b_mul(b, dc, s->cell_before), s->gates[1]),
                   tanh_grad(b, b_mul(b, dc, s->gates[0]), s->gates[2]),
                   sigmoid_grad(b, b_mul(b, dh, t), s->gates[3])};
    return join(b, 4, parts);
}

static Ref gru_grad(const Unrolled *u, const StepRefs *s, Ref dh, Ref *of_h, Ref *carry) {
    Builder *b = u->b;
    Ref dn = tanh_grad(b, b_mul(b, dh, complement(b, s->gates[1])), s->gates[2]);
    Ref dz = sigmoid_grad(b, b_mul(b, dh, b_sub(b, s->before, s->gates[2])), s->gates[1]);
    Ref dr = sigmoid_grad(b, b_mul(b, dn, s->hidden), s->gates[0]);
    *carry = b_mul(b, dh, s->gates[1]);
    *of_h = join(b, 3, (Ref[]){dr, dz, b_mul(b, dn, s->gates[0])});
    return join(b, 3, (Ref[]){dr, dz, dn});
}

static Ref plain_grad(const Unrolled *u, const StepRefs *s, Ref dh) {
    Builder *b = u->b;
    if (u->s.mode == RNN_TANH) return tanh_grad(b, dh, s->gates[0]);
    Ref positive = b_op2(b, OP_greater, NULL, s->gates[0], b_num(b, s->gates[0], 0));
    return b_mul(b, dh, b_cast(b, positive, b_type(b, dh)->dtype));
}

static void add_to(Builder *b, Ref *sum, Ref x) { *sum = *sum ? b_add(b, *sum, x) : x; }

typedef struct Totals {
    Ref w_ih, w_hh, b_ih, b_hh;
} Totals;

static Ref step_grad(Unrolled *u, const StepRefs *s, Ref gy, Totals *t) {
    Builder *b = u->b;
    Ref dh = b_add(b, u->h, s->alive ? b_mul(b, gy, s->alive) : gy);
    Ref passed = dh, live = s->alive ? b_mul(b, dh, s->alive) : dh, of_x, of_h = 0, carry = 0;
    if (u->s.mode == RNN_LSTM) {
        Ref dc = s->alive ? b_mul(b, u->c, s->alive) : u->c;
        of_x = lstm_grad(u, s, live, dc, &carry);
        u->c = mix(b, s, carry, u->c);
        carry = 0;
    } else if (u->s.mode == RNN_GRU) {
        of_x = gru_grad(u, s, live, &of_h, &carry);
    } else {
        of_x = plain_grad(u, s, live);
    }
    if (!of_h) of_h = of_x;
    u->h = product(b, of_h, false, given(u, RNN_W_HH), false);
    if (carry) u->h = b_add(b, u->h, carry);
    if (s->alive) u->h = b_add(b, u->h, b_mul(b, passed, s->over));
    add_to(b, &t->w_ih, product(b, of_x, true, s->x, false));
    add_to(b, &t->w_hh, product(b, of_h, true, s->before, false));
    add_to(b, &t->b_ih, b_sum(b, of_x, INTLIST1(0), false));
    add_to(b, &t->b_hh, b_sum(b, of_h, INTLIST1(0), false));
    return product(b, of_x, false, given(u, RNN_W_IH), false);
}

static Ref pair(Builder *b, Ref x, Ref y) {
    return b_call(b, OP_stack, &(attrs_stack){.axis = 0}, 2, (Ref[]){x, y});
}

static void zeros(ExpandCtx *c, const Unrolled *u) {
    Builder *b = c->b;
    TensorType t = *b_type(b, given(u, RNN_X));
    int64_t width = u->s.gates * u->s.h;
    t.rank = 2, t.dims[0] = width, t.dims[1] = u->s.in;
    c->r[0] = given(u, RNN_X);
    c->r[2] = b_zeros_like(b, &t);
    t.dims[1] = u->s.h;
    c->r[3] = b_zeros_like(b, &t);
    t.dims[0] = 2, t.dims[1] = width;
    c->r[4] = b_zeros_like(b, &t);
    c->r[1] =
        pair(b, c->x[1], u->s.mode == RNN_LSTM ? c->x[2] : b_mul(b, c->x[1], b_num(b, c->x[1], 0)));
}

static void backward(ExpandCtx *c, Unrolled *u, Ref *dx) {
    Builder *b = c->b;
    Totals t = {0};
    u->h = c->x[1];
    u->c = c->x[2];
    for (int64_t i = u->s.steps - 1; i >= 0; i--) {
        int64_t at = time_of(u, i);
        dx[at] = step_grad(u, &u->steps[i], row_of(b, c->x[0], at), &t);
    }
    c->r[0] = b_call(b, OP_stack, &(attrs_stack){.axis = 0}, (int)u->s.steps, dx);
    Ref none = b_mul(b, u->h, b_num(b, u->h, 0));
    c->r[1] = pair(b, u->h, u->s.mode == RNN_LSTM ? u->c : none);
    c->r[2] = t.w_ih;
    c->r[3] = t.w_hh;
    c->r[4] = pair(b, t.b_ih, t.b_hh);
}

void expand_rnn_layer_grad(ExpandCtx *c) {
    const attrs_rnn_layer_grad *a = c->attrs;
    Unrolled u = {.b = c->b, .in = c->x + RNN_GRAD_FIRST, .nin = c->nin - RNN_GRAD_FIRST};
    const TensorType *types[RNN_INPUTS] = {0};
    for (int i = 0; i < u.nin; i++) types[i] = u.in[i] ? b_type(c->b, u.in[i]) : NULL;
    c->b->status = rnn_shape(c->op->name, a->mode, a->reverse == 1, u.nin, types, &u.s);
    if (c->b->status != OK) return;
    if (u.s.steps == 0) {
        zeros(c, &u);
        return;
    }
    u.steps = calloc((size_t)u.s.steps, sizeof *u.steps);
    Ref *dx = calloc((size_t)u.s.steps, sizeof *dx);
    if (!u.steps || !dx) abort(); /* small bookkeeping, as in the pool */
    forward(&u);
    backward(c, &u, dx);
    free(u.steps);
    free(dx);
}
