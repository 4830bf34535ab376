/* Shapes, regions and gradients of pooling. */
#include <string.h>

#include "ops/functions.h"
#include "ops/pooling.h"

typedef struct PoolAttrs {
    const IntList *kernel, *stride, *padding, *dilation, *sizes;
    bool ceil_mode, include_pad;
    int64_t divisor;
} PoolAttrs;

static PoolAttrs read_attrs(const OpCall *c) {
    PoolAttrs p = {.include_pad = true, .divisor = ATTR_NONE};
#define WINDOW(a) p.kernel = &(a)->kernel_size, p.stride = &(a)->stride, p.padding = &(a)->padding
#define MEAN(a)                                                                                    \
    p.ceil_mode = (a)->ceil_mode == 1, p.include_pad = (a)->count_include_pad != 0,                \
    p.divisor = (a)->divisor_override
    switch (c->op->id) {
    case OP_max_pool: {
        const attrs_max_pool *a = c->attrs;
        WINDOW(a);
        p.dilation = &a->dilation;
        p.ceil_mode = a->ceil_mode == 1;
        break;
    }
    case OP_avg_pool: {
        const attrs_avg_pool *a = c->attrs;
        WINDOW(a);
        MEAN(a);
        break;
    }
    case OP_avg_pool_grad: {
        const attrs_avg_pool_grad *a = c->attrs;
        WINDOW(a);
        MEAN(a);
        p.sizes = &a->input_size;
        break;
    }
    case OP_adaptive_avg_pool:
        p.sizes = &((const attrs_adaptive_avg_pool *)c->attrs)->output_size;
        break;
    case OP_adaptive_max_pool:
        p.sizes = &((const attrs_adaptive_max_pool *)c->attrs)->output_size;
        break;
    default: p.sizes = &((const attrs_adaptive_avg_pool_grad *)c->attrs)->input_size;
    }
#undef WINDOW
#undef MEAN
    return p;
}

static Status check_planes(const char *op, const char *what, const TensorType *t) {
    char text[200];
    if (t->rank < 3 || t->rank > 5)
        return FAIL(VALUE, "%s: %s is %s; it must be (n, channels, 1 to 3 spatial sizes)", op, what,
                    type_text(t, text, sizeof text));
    int64_t plane = 1;
    for (int i = 2; i < t->rank; i++)
        if (t->dims[i] && (plane *= t->dims[i]) > INT32_MAX)
            return FAIL(VALUE, "%s: the planes of %s %s have more than 2^31 - 1 elements", op, what,
                        type_text(t, text, sizeof text));
    return OK;
}

/* The last window must start inside the input or its left padding. */
static void round_up(Window *w) {
    for (int i = MAX_SPATIAL - w->nd; i < MAX_SPATIAL; i++) {
        int64_t reach = w->dilation[i] * (w->kernel[i] - 1) + 1;
        int64_t room = w->in[i] + w->begin[i] + w->end[i] - reach;
        w->out[i] = (room + w->stride[i] - 1) / w->stride[i] + 1;
        if ((w->out[i] - 1) * w->stride[i] >= w->in[i] + w->begin[i]) w->out[i]--;
    }
}

static Status read_window(const char *op, const PoolAttrs *a, Window *w) {
    static const IntList one = {.n = 1, .v = {1}};
    TRY(window_list(op, "kernel_size", a->kernel, w->nd, 1, 1, w->kernel));
    TRY(window_list(op, "stride", a->stride->n < 0 ? a->kernel : a->stride, w->nd, 1, 1,
                    w->stride));
    TRY(window_list(op, "dilation", a->dilation ? a->dilation : &one, w->nd, 1, 1, w->dilation));
    TRY(window_padding(op, a->padding, w->nd, w->begin, w->end));
    for (int i = 0; i < MAX_SPATIAL; i++) {
        int64_t reach = w->dilation[i] * (w->kernel[i] - 1) + 1,
                pad = max_i64(w->begin[i], w->end[i]);
        if (pad * 2 > reach)
            return FAIL(VALUE, "%s: padding is %lld; it must be at most half of the kernel's %lld",
                        op, (long long)pad, (long long)reach);
    }
    TRY(window_outputs(op, w));
    if (a->ceil_mode) round_up(w);
    return OK;
}

static Status check_sizes(const char *op, const TensorType *g, const int64_t *want) {
    int64_t sizes[MAX_SPATIAL];
    char text[200];
    window_sizes(g, sizes);
    if (!memcmp(sizes, want, sizeof sizes)) return OK;
    return FAIL(VALUE, "%s: g is %s; its spatial sizes must be (%lld, %lld, %lld)", op,
                type_text(g, text, sizeof text), (long long)want[0], (long long)want[1],
                (long long)want[2]);
}

Status pooling_read(const OpCall *c, Pooling *p) {
    const char *op = c->op->name;
    const TensorType *x = c->in[0];
    PoolAttrs a = read_attrs(c);
    bool of_g = c->op->id == OP_avg_pool_grad || c->op->id == OP_adaptive_avg_pool_grad;
    TRY(check_planes(op, of_g ? "g" : "input", x));
    *p = (Pooling){.w.nd = x->rank - 2, .n = x->dims[0], .c = x->dims[1]};
    p->adaptive = !a.kernel;
    p->include_pad = a.include_pad;
    if (a.divisor != ATTR_NONE && a.divisor < 1)
        return FAIL(VALUE, "%s: divisor_override is %lld; it must be positive or None", op,
                    (long long)a.divisor);
    p->divisor = a.divisor == ATTR_NONE ? 0 : a.divisor;
    Window *w = &p->w;
    if (of_g)
        TRY(window_list(op, "input_size", a.sizes, w->nd, 1, 1, w->in));
    else
        window_sizes(x, w->in);
    if (!p->adaptive) {
        TRY(read_window(op, &a, w));
        return of_g ? check_sizes(op, x, w->out) : OK;
    }
    for (int i = 0; i < MAX_SPATIAL; i++)
        if (w->in[i] == 0) return FAIL(VALUE, "%s: a spatial axis has size 0", op);
    if (of_g)
        window_sizes(x, w->out);
    else
        TRY(window_list(op, "output_size", a.sizes, w->nd, 0, 1, w->out));
    return OK;
}

Region pooling_region(const Pooling *p, int axis, int64_t o) {
    const Window *w = &p->w;
    int64_t in = w->in[axis], out = w->out[axis];
    if (p->adaptive) {
        Region r = {o * in / out, ((o + 1) * in + out - 1) / out, 1, 0};
        r.size = r.end - r.begin;
        return r;
    }
    int64_t step = w->dilation[axis], start = o * w->stride[axis] - w->begin[axis];
    int64_t end = start + step * (w->kernel[axis] - 1) + 1;
    int64_t padded = min_i64(end, in + w->end[axis]) - start;
    Region r = {start, min_i64(end, in), step, padded};
    if (r.begin < 0) r.begin += (-r.begin + step - 1) / step * step;
    if (!p->include_pad) r.size = max_i64(r.end - r.begin, 0);
    return r;
}

static void set_type(const Pooling *p, const TensorType *x, const int64_t *sizes, TensorType *out) {
    *out = *x;
    memcpy(out->dims + 2, sizes + MAX_SPATIAL - p->w.nd, (size_t)p->w.nd * sizeof *sizes);
}

static Status infer_outputs(const OpCall *c, TensorType *out) {
    Pooling p;
    TRY(pooling_read(c, &p));
    set_type(&p, c->in[0], p.w.out, out);
    return OK;
}

static Status infer_max(const OpCall *c, TensorType *out) {
    TRY(infer_outputs(c, &out[0]));
    out[1] = out[0];
    out[1].dtype = DT_i32;
    return OK;
}
Status infer_max_pool(const OpCall *c, TensorType *out) { return infer_max(c, out); }
Status infer_adaptive_max_pool(const OpCall *c, TensorType *out) { return infer_max(c, out); }
Status infer_avg_pool(const OpCall *c, TensorType *out) { return infer_outputs(c, out); }
Status infer_adaptive_avg_pool(const OpCall *c, TensorType *out) { return infer_outputs(c, out); }

static Status infer_inputs(const OpCall *c, TensorType *out) {
    Pooling p;
    TRY(pooling_read(c, &p));
    set_type(&p, c->in[0], p.w.in, out);
    return OK;
}
Status infer_avg_pool_grad(const OpCall *c, TensorType *out) { return infer_inputs(c, out); }
Status infer_adaptive_avg_pool_grad(const OpCall *c, TensorType *out) {
    return infer_inputs(c, out);
}

static Status check_indices(const OpCall *c) {
    if (c->in[1]->dtype != DT_i32)
        return FAIL(TYPE, "%s: indices are %s; they must be int32", c->op->name,
                    dtype_name(c->in[1]->dtype));
    if (!dtype_is_float(c->in[0]->dtype))
        return FAIL(TYPE, "%s: input 0 is %s; it must be a float", c->op->name,
                    dtype_name(c->in[0]->dtype));
    return check_planes(c->op->name, "indices", c->in[1]);
}

Status infer_max_pool_grad(const OpCall *c, TensorType *out) {
    const attrs_max_pool_grad *a = c->attrs;
    const TensorType *g = c->in[0];
    TRY(check_indices(c));
    char tg[200], ti[200];
    if (!type_same_dims(g, c->in[1]))
        return FAIL(VALUE, "max_pool_grad: g is %s and indices are %s; their shapes must be equal",
                    type_text(g, tg, sizeof tg), type_text(c->in[1], ti, sizeof ti));
    int64_t sizes[MAX_SPATIAL];
    TRY(window_list("max_pool_grad", "input_size", &a->input_size, g->rank - 2, 0, 1, sizes));
    *out = *g;
    memcpy(out->dims + 2, sizes + MAX_SPATIAL - (g->rank - 2),
           (size_t)(g->rank - 2) * sizeof *sizes);
    return check_planes("max_pool_grad", "the result", out);
}

Status infer_max_pool_gather_grad(const OpCall *c, TensorType *out) {
    const TensorType *x = c->in[0], *at = c->in[1];
    TRY(check_indices(c));
    TRY(check_planes(c->op->name, "input", x));
    char tx[200], ti[200];
    if (x->rank != at->rank || x->dims[0] != at->dims[0] || x->dims[1] != at->dims[1])
        return FAIL(VALUE, "%s: input is %s and indices are %s; batch and channels must be equal",
                    c->op->name, type_text(x, tx, sizeof tx), type_text(at, ti, sizeof ti));
    *out = *at;
    out->dtype = x->dtype;
    return OK;
}

/* ---- gradients: all are linear in g */

static IntList spatial(const TensorType *t) {
    IntList list = {.n = t->rank - 2};
    memcpy(list.v, t->dims + 2, (size_t)list.n * sizeof *list.v);
    return list;
}

void grad_max_pool(GradCtx *c) {
    if (!c->g[0]) return;
    attrs_max_pool_grad a = {.input_size = spatial(c->xtypes[0])};
    c->dx[0] = b_op2(c->b, OP_max_pool_grad, &a, c->g[0], c->r[1]);
}

void grad_max_pool_grad(GradCtx *c) {
    c->dx[0] = b_op2(c->b, OP_max_pool_gather_grad, NULL, c->g[0], c->x[1]);
}

void grad_max_pool_gather_grad(GradCtx *c) {
    attrs_max_pool_grad a = {.input_size = spatial(c->xtypes[0])};
    c->dx[0] = b_op2(c->b, OP_max_pool_grad, &a, c->g[0], c->x[1]);
}

void grad_avg_pool(GradCtx *c) {
    const attrs_avg_pool *a = c->attrs;
    attrs_avg_pool_grad at = {.kernel_size = a->kernel_size,
                              .stride = a->stride,
                              .padding = a->padding,
                              .ceil_mode = a->ceil_mode,
                              .count_include_pad = a->count_include_pad,
                              .divisor_override = a->divisor_override,
                              .input_size = spatial(c->xtypes[0])};
    c->dx[0] = b_op1(c->b, OP_avg_pool_grad, &at, c->g[0]);
}

void grad_avg_pool_grad(GradCtx *c) {
    const attrs_avg_pool_grad *a = c->attrs;
    attrs_avg_pool at = {.kernel_size = a->kernel_size,
                         .stride = a->stride,
                         .padding = a->padding,
                         .ceil_mode = a->ceil_mode,
                         .count_include_pad = a->count_include_pad,
                         .divisor_override = a->divisor_override};
    c->dx[0] = b_op1(c->b, OP_avg_pool, &at, c->g[0]);
}

void grad_adaptive_avg_pool(GradCtx *c) {
    attrs_adaptive_avg_pool_grad a = {.input_size = spatial(c->xtypes[0])};
    c->dx[0] = b_op1(c->b, OP_adaptive_avg_pool_grad, &a, c->g[0]);
}

void grad_adaptive_avg_pool_grad(GradCtx *c) {
    attrs_adaptive_avg_pool a = {.output_size = spatial(c->xtypes[0])};
    c->dx[0] = b_op1(c->b, OP_adaptive_avg_pool, &a, c->g[0]);
}
