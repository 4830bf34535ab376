/* Shapes and gradients of convolutions. The three ops conv, conv_input_grad and conv_weight_grad
 * are the three sides of one trilinear form: each is the gradient of the others. */
#include <string.h>

#include "ops/conv.h"
#include "ops/functions.h"

Status window_list(const char *op, const char *what, const IntList *list, int nd, int64_t low,
                   int64_t fill, int64_t *out) {
    if (list->n != 1 && list->n != nd)
        return FAIL(VALUE, "%s: %s has %lld numbers; it must have 1 or %d", op, what,
                    (long long)list->n, nd);
    for (int i = 0; i < MAX_SPATIAL; i++) {
        int axis = i - (MAX_SPATIAL - nd);
        out[i] = axis < 0 ? fill : list->v[list->n == 1 ? 0 : axis];
        if (out[i] < low || out[i] > INT32_MAX)
            return FAIL(VALUE, "%s: %s is %lld at axis %d; it must be at least %lld and below 2^31",
                        op, what, (long long)out[i], axis, (long long)low);
    }
    return OK;
}

Status window_padding(const char *op, const IntList *list, int nd, int64_t *begin, int64_t *end) {
    if (list->n != 2 * nd || list->n == 1) {
        TRY(window_list(op, "padding", list, nd, 0, 0, begin));
        memcpy(end, begin, MAX_SPATIAL * sizeof *end);
        return OK;
    }
    IntList begins = {.n = nd}, ends = {.n = nd};
    for (int i = 0; i < nd; i++) {
        begins.v[i] = list->v[2 * i];
        ends.v[i] = list->v[2 * i + 1];
    }
    TRY(window_list(op, "padding", &begins, nd, 0, 0, begin));
    return window_list(op, "padding", &ends, nd, 0, 0, end);
}

void window_sizes(const TensorType *t, int64_t *out) {
    int nd = t->rank - 2;
    for (int i = 0; i < MAX_SPATIAL; i++) {
        int axis = i - (MAX_SPATIAL - nd);
        out[i] = axis < 0 ? 1 : t->dims[2 + axis];
    }
}

Status window_outputs(const char *op, Window *w) {
    for (int i = 0; i < MAX_SPATIAL; i++) {
        if (w->kernel[i] < 1 || w->in[i] < 1)
            return FAIL(VALUE,
                        "%s: at spatial axis %d the kernel has size %lld and the input %lld; both "
                        "must be at least 1",
                        op, i - (MAX_SPATIAL - w->nd), (long long)w->kernel[i],
                        (long long)w->in[i]);
        int64_t reach = w->dilation[i] * (w->kernel[i] - 1) + 1;
        int64_t room = w->in[i] + w->begin[i] + w->end[i] - reach;
        if (room < 0)
            return FAIL(VALUE,
                        "%s: the kernel reaches over %lld elements of spatial axis %d, the padded "
                        "input has %lld",
                        op, (long long)reach, i - (MAX_SPATIAL - w->nd), (long long)(room + reach));
        w->out[i] = room / w->stride[i] + 1;
    }
    return OK;
}

static Status check_rank(const char *op, const char *what, const TensorType *t) {
    char text[200];
    if (t->rank < 3 || t->rank > 5)
        return FAIL(VALUE, "%s: %s is %s; it must be (n, channels, 1 to 3 spatial sizes)", op, what,
                    type_text(t, text, sizeof text));
    return OK;
}

/* The attributes that all convolutions have. */
typedef struct ConvAttrs {
    const IntList *stride, *padding, *dilation, *extra;
    int64_t groups;
} ConvAttrs;

static ConvAttrs read_attrs(const OpCall *c) {
#define READ(name, last)                                                                           \
    const attrs_##name *a = c->attrs;                                                              \
    return (ConvAttrs) { &a->stride, &a->padding, &a->dilation, last, a->groups }
    switch (c->op->id) {
    case OP_conv_input_grad: {
        READ(conv_input_grad, &a->input_size);
    }
    case OP_conv_weight_grad: {
        READ(conv_weight_grad, &a->kernel_size);
    }
    case OP_conv_transpose: {
        READ(conv_transpose, &a->output_padding);
    }
    default: {
        READ(conv, NULL);
    }
    }
#undef READ
}

static Status read_window(const char *op, const ConvAttrs *a, Window *w) {
    TRY(window_list(op, "stride", a->stride, w->nd, 1, 1, w->stride));
    TRY(window_list(op, "dilation", a->dilation, w->nd, 1, 1, w->dilation));
    return window_padding(op, a->padding, w->nd, w->begin, w->end);
}

/* Channels of all groups; 0, which check_channels refuses, when there can be no such groups. */
static int64_t all_channels(int64_t of_one, int64_t groups) {
    int64_t n;
    return groups > 0 && !__builtin_mul_overflow(of_one, groups, &n) ? n : 0;
}

static Status check_channels(const char *op, const ConvShape *s, int64_t weight_out,
                             int64_t weight_in) {
    if (s->groups < 1 || s->ci < 1 || s->co < 1 || s->ci % s->groups || s->co % s->groups)
        return FAIL(VALUE,
                    "%s: groups is %lld; it must be positive and divide the %lld input and %lld "
                    "output channels, which must be positive",
                    op, (long long)s->groups, (long long)s->ci, (long long)s->co);
    if (weight_out != s->co || weight_in != s->ci / s->groups)
        return FAIL(
            VALUE,
            "%s: weight has (%lld, %lld) channels; it must have (%lld, %lld) for %lld input "
            "channels and groups %lld",
            op, (long long)weight_out, (long long)weight_in, (long long)s->co,
            (long long)(s->ci / s->groups), (long long)s->ci, (long long)s->groups);
    return OK;
}

static Status check_grad_sizes(const char *op, const Window *w, const TensorType *g) {
    int64_t sizes[MAX_SPATIAL];
    window_sizes(g, sizes);
    if (!memcmp(sizes, w->out, sizeof sizes)) return OK;
    char text[200];
    return FAIL(VALUE, "%s: g is %s; its spatial sizes must be (%lld, %lld, %lld)", op,
                type_text(g, text, sizeof text), (long long)w->out[0], (long long)w->out[1],
                (long long)w->out[2]);
}

/* x: what has the spatial axes of the call: input, or g. */
static Status start(const OpCall *c, const TensorType *x, const TensorType *y, const ConvAttrs *a,
                    ConvShape *s) {
    const char *op = c->op->name;
    TRY(check_rank(op, c->op->id == OP_conv_input_grad ? "g" : "input", x));
    if (y->rank != x->rank) {
        char tx[200], ty[200];
        return FAIL(VALUE, "%s: inputs 0 and 1 are %s and %s; their ranks must be equal", op,
                    type_text(x, tx, sizeof tx), type_text(y, ty, sizeof ty));
    }
    *s = (ConvShape){.w.nd = x->rank - 2, .n = x->dims[0], .groups = a->groups};
    return read_window(op, a, &s->w);
}

static Status shape_conv(const OpCall *c, const ConvAttrs *a, ConvShape *s) {
    const TensorType *x = c->in[0], *w = c->in[1];
    TRY(start(c, x, w, a, s));
    s->ci = x->dims[1];
    s->co = w->dims[0];
    TRY(check_channels(c->op->name, s, w->dims[0], w->dims[1]));
    window_sizes(x, s->w.in);
    window_sizes(w, s->w.kernel);
    return window_outputs(c->op->name, &s->w);
}

static Status shape_input_grad(const OpCall *c, const ConvAttrs *a, ConvShape *s) {
    const TensorType *g = c->in[0], *w = c->in[1];
    TRY(start(c, g, w, a, s));
    s->co = g->dims[1];
    s->ci = all_channels(w->dims[1], a->groups);
    TRY(check_channels(c->op->name, s, w->dims[0], w->dims[1]));
    TRY(window_list(c->op->name, "input_size", a->extra, s->w.nd, 0, 1, s->w.in));
    window_sizes(w, s->w.kernel);
    TRY(window_outputs(c->op->name, &s->w));
    return check_grad_sizes(c->op->name, &s->w, g);
}

static Status shape_weight_grad(const OpCall *c, const ConvAttrs *a, ConvShape *s) {
    const TensorType *x = c->in[0], *g = c->in[1];
    TRY(start(c, x, g, a, s));
    s->ci = x->dims[1];
    s->co = g->dims[1];
    TRY(check_channels(c->op->name, s, s->co, a->groups > 0 ? s->ci / a->groups : 0));
    if (g->dims[0] != s->n)
        return FAIL(VALUE, "%s: input has batch size %lld, g %lld; they must be equal", c->op->name,
                    (long long)s->n, (long long)g->dims[0]);
    window_sizes(x, s->w.in);
    TRY(window_list(c->op->name, "kernel_size", a->extra, s->w.nd, 1, 1, s->w.kernel));
    TRY(window_outputs(c->op->name, &s->w));
    return check_grad_sizes(c->op->name, &s->w, g);
}

Status conv_shape(const OpCall *c, ConvShape *s) {
    ConvAttrs a = read_attrs(c);
    switch (c->op->id) {
    case OP_conv_input_grad: return shape_input_grad(c, &a, s);
    case OP_conv_weight_grad: return shape_weight_grad(c, &a, s);
    default: return shape_conv(c, &a, s);
    }
}

static void set_type(TensorType *t, DType d, int nd, int64_t n, int64_t c, const int64_t *sizes) {
    *t = (TensorType){.dtype = (uint8_t)d, .rank = (uint8_t)(nd + 2), .dims = {n, c}};
    memcpy(t->dims + 2, sizes + MAX_SPATIAL - nd, (size_t)nd * sizeof *sizes);
}

Status infer_conv(const OpCall *c, TensorType *out) {
    ConvShape s;
    TRY(conv_shape(c, &s));
    const TensorType *b = c->nin > 2 ? c->in[2] : NULL;
    char text[200];
    if (b && (b->rank != 1 || b->dims[0] != s.co))
        return FAIL(VALUE, "conv: bias is %s; it must be (%lld)", type_text(b, text, sizeof text),
                    (long long)s.co);
    set_type(out, c->in[0]->dtype, s.w.nd, s.n, s.co, s.w.out);
    return OK;
}

Status infer_conv_input_grad(const OpCall *c, TensorType *out) {
    ConvShape s;
    TRY(conv_shape(c, &s));
    set_type(out, c->in[0]->dtype, s.w.nd, s.n, s.ci, s.w.in);
    return OK;
}

Status infer_conv_weight_grad(const OpCall *c, TensorType *out) {
    ConvShape s;
    TRY(conv_shape(c, &s));
    set_type(out, c->in[0]->dtype, s.w.nd, s.co, s.ci / s.groups, s.w.kernel);
    return OK;
}

/* ---- gradients */

static IntList spatial(const TensorType *t) {
    IntList list = {.n = t->rank - 2};
    memcpy(list.v, t->dims + 2, (size_t)list.n * sizeof *list.v);
    return list;
}

static Ref input_grad(Builder *b, const ConvAttrs *a, Ref g, Ref w, const TensorType *x) {
    attrs_conv_input_grad at = {*a->stride, *a->padding, *a->dilation, a->groups, spatial(x), 0};
    return b_op2(b, OP_conv_input_grad, &at, g, w);
}

static Ref weight_grad(Builder *b, const ConvAttrs *a, Ref x, Ref g, const TensorType *w) {
    attrs_conv_weight_grad at = {*a->stride, *a->padding, *a->dilation, a->groups, spatial(w), 0};
    return b_op2(b, OP_conv_weight_grad, &at, x, g);
}

static Ref forward(Builder *b, const ConvAttrs *a, Ref x, Ref w) {
    attrs_conv at = {*a->stride, *a->padding, *a->dilation, a->groups, 0};
    return b_op2(b, OP_conv, &at, x, w);
}

static ConvAttrs grad_attrs(const GradCtx *c) {
    return read_attrs(&(OpCall){c->op, c->attrs, c->nin, c->nout, c->xtypes});
}

/* Sums over everything but the channels. */
static Ref channel_sum(Builder *b, Ref g, int rank) {
    IntList axes = {.n = rank - 1, .v = {0, 2, 3, 4}};
    return b_sum(b, g, axes, false);
}

void grad_conv(GradCtx *c) {
    ConvAttrs a = grad_attrs(c);
    if (c->want[0]) c->dx[0] = input_grad(c->b, &a, c->g[0], c->x[1], c->xtypes[0]);
    if (c->want[1]) c->dx[1] = weight_grad(c->b, &a, c->x[0], c->g[0], c->xtypes[1]);
    if (c->nin > 2 && c->want[2]) c->dx[2] = channel_sum(c->b, c->g[0], c->xtypes[0]->rank);
}

/* x[0] is a gradient g, x[1] the weight, and what comes in is a cotangent of conv's input. */
void grad_conv_input_grad(GradCtx *c) {
    ConvAttrs a = grad_attrs(c);
    if (c->want[0]) c->dx[0] = forward(c->b, &a, c->g[0], c->x[1]);
    if (c->want[1]) c->dx[1] = weight_grad(c->b, &a, c->g[0], c->x[0], c->xtypes[1]);
}

/* x[0] is conv's input, x[1] a gradient g, and what comes in is a cotangent of the weight. */
void grad_conv_weight_grad(GradCtx *c) {
    ConvAttrs a = grad_attrs(c);
    if (c->want[0]) c->dx[0] = input_grad(c->b, &a, c->x[1], c->g[0], c->xtypes[0]);
    if (c->want[1]) c->dx[1] = forward(c->b, &a, c->x[0], c->g[0]);
}

/* ---- transposed convolution: the input gradient of a convolution whose weight is (ci, co, ...) */

static Status transposed_size(const OpCall *c, ConvShape *s) {
    const char *op = c->op->name;
    ConvAttrs a = read_attrs(c);
    const TensorType *x = c->in[0], *w = c->in[1];
    int64_t extra[MAX_SPATIAL];
    TRY(start(c, x, w, &a, s));
    s->co = x->dims[1]; /* of the convolution that this transposes */
    s->ci = all_channels(w->dims[1], a.groups);
    TRY(check_channels(op, s, w->dims[0], w->dims[1]));
    TRY(window_list(op, "output_padding", a.extra, s->w.nd, 0, 0, extra));
    window_sizes(w, s->w.kernel);
    window_sizes(x, s->w.out);
    for (int i = 0; i < MAX_SPATIAL; i++) {
        Window *v = &s->w;
        if (extra[i] >= max_i64(v->stride[i], v->dilation[i]))
            return FAIL(VALUE,
                        "%s: output_padding is %lld; it must be smaller than stride or dilation",
                        op, (long long)extra[i]);
        v->in[i] = (v->out[i] - 1) * v->stride[i] - v->begin[i] - v->end[i] +
                   v->dilation[i] * (v->kernel[i] - 1) + 1 + extra[i];
        if (v->out[i] < 1 || v->in[i] < 1)
            return FAIL(VALUE, "%s: spatial axis %d of the result would have size %lld", op,
                        i - (MAX_SPATIAL - v->nd), (long long)v->in[i]);
    }
    return OK;
}

Status infer_conv_transpose(const OpCall *c, TensorType *out) {
    ConvShape s;
    TRY(transposed_size(c, &s));
    const TensorType *b = c->nin > 2 ? c->in[2] : NULL;
    char text[200];
    if (b && (b->rank != 1 || b->dims[0] != s.ci))
        return FAIL(VALUE, "conv_transpose: bias is %s; it must be (%lld)",
                    type_text(b, text, sizeof text), (long long)s.ci);
    set_type(out, c->in[0]->dtype, s.w.nd, s.n, s.ci, s.w.in);
    return OK;
}

/* The output_padding at axis i of the window as far as it is a stride or more: no convolution has
 * that many elements left over. */
static int64_t wide_extra(const ConvShape *s, const TensorType *out, int i) {
    const Window *w = &s->w;
    int64_t size = (w->out[i] - 1) * w->stride[i] - w->begin[i] - w->end[i] +
                   w->dilation[i] * (w->kernel[i] - 1) + 1;
    int64_t extra = out->dims[2 + i - (MAX_SPATIAL - w->nd)] - size;
    return extra < w->stride[i] ? 0 : extra;
}

/* Without the bias. Output_padding of a stride and more is read from what the padding at the end
 * would cut; behind that there are zeros. */
static Ref transposed(Builder *b, ConvAttrs a, const ConvShape *s, Ref x, Ref w,
                      const TensorType *out) {
    int nd = s->w.nd;
    IntList window = {.n = 2 * nd}, zeros = {.n = 2 * nd};
    TensorType whole = *out;
    bool is_wide = false, has_zeros = false;
    for (int i = 0; i < nd; i++) {
        int at = MAX_SPATIAL - nd + i;
        int64_t extra = wide_extra(s, out, at);
        int64_t read = extra < s->w.end[at] ? extra : s->w.end[at];
        window.v[2 * i] = s->w.begin[at];
        window.v[2 * i + 1] = s->w.end[at] - read;
        zeros.v[2 * (nd - 1 - i) + 1] = extra - read;
        whole.dims[2 + i] -= extra - read;
        is_wide |= extra > 0;
        has_zeros |= extra > read;
    }
    if (is_wide) a.padding = &window;
    Ref r = input_grad(b, &a, x, w, &whole);
    if (!has_zeros) return r;
    return b_op1(b, OP_pad, &(attrs_pad){.padding = zeros, .mode = "constant"}, r);
}

void expand_conv_transpose(ExpandCtx *c) {
    Builder *b = c->b;
    const TensorType *in[] = {b_type(b, c->x[0]), b_type(b, c->x[1])};
    OpCall call = {c->op, c->attrs, 2, 1, in};
    ConvAttrs a = read_attrs(&call);
    TensorType out;
    b->status = infer_conv_transpose(&call, &out);
    if (b->status != OK) return;
    ConvShape s;
    b->status = transposed_size(&call, &s);
    if (b->status != OK) return;
    c->r[0] = transposed(b, a, &s, c->x[0], c->x[1], &out);
    if (c->nin < 3 || !c->x[2]) return;
    int64_t dims[MAX_RANK] = {out.dims[1], 1, 1, 1};
    c->r[0] = b_add(b, c->r[0], b_reshape(b, c->x[2], out.rank - 1, dims));
}
