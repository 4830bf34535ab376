/* Shapes and gradients of recurrent layers. */
#include "ops/rnn.h"

#include <string.h>

#include "ops/functions.h"

static Status read_mode(const char *op, const char *text, RnnMode *mode) {
    static const char *const names[] = {"lstm", "gru", "tanh", "relu"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(text, names[i])) {
            *mode = (RnnMode)i;
            return OK;
        }
    return FAIL(VALUE, "%s: mode is '%s'; it must be lstm, gru, tanh or relu", op, text);
}

static Status expect(const char *op, const char *name, const TensorType *t, DType d, int rank,
                     const int64_t *dims) {
    TensorType want = {.dtype = (uint8_t)d, .rank = (uint8_t)rank};
    memcpy(want.dims, dims, (size_t)rank * sizeof *dims);
    char got[200], text[200];
    if (!t || type_equal(t, &want)) return OK;
    return FAIL(VALUE, "%s: %s is %s; it must be %s", op, name, type_text(t, got, sizeof got),
                type_text(&want, text, sizeof text));
}

static Status check_lengths(const char *op, const TensorType *t, int64_t n) {
    char text[200];
    if (!t || ((t->dtype == DT_i32 || t->dtype == DT_i64) && t->rank == 1 && t->dims[0] == n))
        return OK;
    return FAIL(VALUE, "%s: seq_length is %s; it must be int32[%lld] or int64[%lld]", op,
                type_text(t, text, sizeof text), (long long)n, (long long)n);
}

Status rnn_shape(const char *op, const char *mode, bool reverse, int nin,
                 const TensorType *const *given, RnnShape *s) {
    static const int64_t gates[] = {4, 3, 1, 1};
    const TensorType *in[RNN_INPUTS] = {0};
    memcpy(in, given, (size_t)nin * sizeof *in);
    const TensorType *x = in[RNN_X], *h0 = in[RNN_H0];
    char text[200];
    *s = (RnnShape){.reverse = reverse};
    TRY(read_mode(op, mode, &s->mode));
    if (!dtype_is_float(x->dtype) || x->rank != 3)
        return FAIL(VALUE, "%s: input is %s; it must be floats (steps, n, in)", op,
                    type_text(x, text, sizeof text));
    if (h0->rank != 2)
        return FAIL(VALUE, "%s: h0 is %s; it must be (n, hidden)", op,
                    type_text(h0, text, sizeof text));
    s->steps = x->dims[0], s->n = x->dims[1], s->in = x->dims[2], s->h = h0->dims[1];
    s->gates = gates[s->mode];
    bool lstm = s->mode == RNN_LSTM;
    s->saved = s->gates + (lstm || s->mode == RNN_GRU) + (in[RNN_LENGTH] != NULL);
    DType d = x->dtype;
    int64_t g = s->gates * s->h;
    TRY(expect(op, "h0", h0, d, 2, (int64_t[]){s->n, s->h}));
    TRY(expect(op, "w_ih", in[RNN_W_IH], d, 2, (int64_t[]){g, s->in}));
    TRY(expect(op, "w_hh", in[RNN_W_HH], d, 2, (int64_t[]){g, s->h}));
    TRY(expect(op, "b_ih", in[RNN_B_IH], d, 1, &g));
    TRY(expect(op, "b_hh", in[RNN_B_HH], d, 1, &g));
    TRY(expect(op, "c0", in[RNN_C0], d, 2, (int64_t[]){s->n, s->h}));
    if (lstm != (in[RNN_C0] != NULL))
        return FAIL(VALUE, "%s: c0 must be given in mode lstm, and only there", op);
    return check_lengths(op, in[RNN_LENGTH], s->n);
}

static TensorType make(DType d, int rank, const int64_t *dims) {
    TensorType t = {.dtype = (uint8_t)d, .rank = (uint8_t)rank};
    memcpy(t.dims, dims, (size_t)rank * sizeof *dims);
    return t;
}

Status infer_rnn_layer(const OpCall *c, TensorType *out) {
    const attrs_rnn_layer *a = c->attrs;
    RnnShape s;
    TRY(rnn_shape(c->op->name, a->mode, a->reverse == 1, c->nin, c->in, &s));
    DType d = c->in[0]->dtype;
    out[0] = make(d, 3, (int64_t[]){s.steps, s.n, s.h});
    out[1] = make(d, 2, (int64_t[]){s.n, s.h});
    out[2] = make(d, 2, (int64_t[]){s.mode == RNN_LSTM ? s.n : 0, s.h});
    out[3] = make(d, 4, (int64_t[]){s.saved, s.steps, s.n, s.h});
    return OK;
}

Status infer_rnn_layer_grad(const OpCall *c, TensorType *out) {
    const attrs_rnn_layer_grad *a = c->attrs;
    const char *op = c->op->name;
    RnnShape s;
    TRY(rnn_shape(op, a->mode, a->reverse == 1, c->nin - RNN_GRAD_FIRST, c->in + RNN_GRAD_FIRST,
                  &s));
    DType d = c->in[RNN_GRAD_FIRST]->dtype;
    int64_t cells = s.mode == RNN_LSTM ? s.n : 0;
    TRY(expect(op, "gy", c->in[0], d, 3, (int64_t[]){s.steps, s.n, s.h}));
    TRY(expect(op, "gh", c->in[1], d, 2, (int64_t[]){s.n, s.h}));
    TRY(expect(op, "gc", c->in[2], d, 2, (int64_t[]){cells, s.h}));
    TRY(expect(op, "y", c->in[3], d, 3, (int64_t[]){s.steps, s.n, s.h}));
    TRY(expect(op, "saved", c->in[4], d, 4, (int64_t[]){s.saved, s.steps, s.n, s.h}));
    int64_t g = s.gates * s.h;
    out[0] = make(d, 3, (int64_t[]){s.steps, s.n, s.in});
    out[1] = make(d, 3, (int64_t[]){2, s.n, s.h});
    out[2] = make(d, 2, (int64_t[]){g, s.in});
    out[3] = make(d, 2, (int64_t[]){g, s.h});
    out[4] = make(d, 2, (int64_t[]){2, g});
    return OK;
}

/* Row i of a stacked pair. */
static Ref half(Builder *b, Ref pair, int i) {
    if (b->status != OK) return 0;
    const TensorType *t = b_type(b, pair);
    attrs_narrow a = {.start = i, .length = 1};
    TensorType type = *t;
    Ref row = b_op1(b, OP_narrow, &a, pair);
    return b_reshape(b, row, type.rank - 1, type.dims + 1);
}

void grad_rnn_layer(GradCtx *c) {
    const attrs_rnn_layer *a = c->attrs;
    Builder *b = c->b;
    attrs_rnn_layer_grad at = {.reverse = a->reverse};
    memcpy(at.mode, a->mode, sizeof at.mode);
    Ref in[RNN_GRAD_FIRST + RNN_INPUTS] = {0}, out[5];
    for (int i = 0; i < 3; i++) in[i] = c->g[i] ? c->g[i] : b_zeros_like(b, c->rtypes[i]);
    in[3] = c->r[0];
    in[4] = c->r[3];
    for (int i = 0; i < c->nin; i++) in[RNN_GRAD_FIRST + i] = c->x[i];
    if (b->status != OK) return;
    b->call(b, op_get(OP_rnn_layer_grad), &at, RNN_GRAD_FIRST + c->nin, in, 5, out);
    c->dx[RNN_X] = out[0];
    c->dx[RNN_W_IH] = out[2];
    c->dx[RNN_W_HH] = out[3];
    if (c->want[RNN_H0]) c->dx[RNN_H0] = half(b, out[1], 0);
    if (c->nin > RNN_C0 && c->want[RNN_C0]) c->dx[RNN_C0] = half(b, out[1], 1);
    if (c->nin > RNN_B_IH && c->want[RNN_B_IH]) c->dx[RNN_B_IH] = half(b, out[4], 0);
    if (c->nin > RNN_B_HH && c->want[RNN_B_HH]) c->dx[RNN_B_HH] = half(b, out[4], 1);
}
