/* Sizes and gradients of resampling and patches. */
#include "ops/image.h"

#include <math.h>
#include <string.h>

#include "ops/functions.h"

/* ---- interpolate: one axis after the other */

static bool is_mode(const char *mode, const char *const *known) {
    for (; *known; known++)
        if (!strcmp(mode, *known)) return true;
    return false;
}

static const char *const interpolate_modes[] = {"nearest",   "nearest-exact", "linear", "bilinear",
                                                "trilinear", "bicubic",       "area",   NULL};

static Status check_scale(const char *op, double scale) {
    if (scale == 0 || (scale > 0 && isfinite(scale))) return OK;
    return FAIL(VALUE, "%s: a scale is %g; it must be positive (0: from the sizes)", op, scale);
}

static Status check_resampling(const char *op, const char *mode, int64_t align) {
    if (!is_mode(mode, interpolate_modes))
        return FAIL(VALUE,
                    "%s: mode is '%s'; legal: nearest, nearest-exact, linear, bilinear, trilinear, "
                    "bicubic, area",
                    op, mode);
    if (align == 1 && (!strcmp(mode, "area") || !strcmp(mode, "nearest-exact")))
        return FAIL(VALUE, "%s: align_corners does not go with mode '%s'", op, mode);
    return OK;
}

Status infer_interpolate(const OpCall *c, TensorType *out) {
    const attrs_interpolate *a = c->attrs;
    const TensorType *x = c->in[0];
    char text[200];
    TRY(check_resampling("interpolate", a->mode, a->align_corners));
    if (x->rank < 3 || x->rank > 5 || a->size.n != x->rank - 2)
        return FAIL(VALUE,
                    "interpolate: input is %s, size has %lld entries; input has 3 to 5 axes, size "
                    "one entry for each but the first two",
                    type_text(x, text, sizeof text), (long long)a->size.n);
    TRY(check_scale("interpolate", a->scale_d));
    TRY(check_scale("interpolate", a->scale_h));
    TRY(check_scale("interpolate", a->scale_w));
    *out = *x;
    for (int i = 2; i < x->rank; i++) {
        if (a->size.v[i - 2] < 1 || x->dims[i] < 1)
            return FAIL(VALUE, "interpolate: axis %d of size %lld to %lld; both must be 1 or more",
                        i, (long long)x->dims[i], (long long)a->size.v[i - 2]);
        out->dims[i] = a->size.v[i - 2];
    }
    return type_check(out, "interpolate");
}

/* What is saved by resizing this axis before others, for what it costs: positive where it shrinks.
 * The last axis costs more an element, for its results are short sums one by one. */
static double gain(const TensorType *x, int axis, const attrs_interpolate *a) {
    double ratio = (double)a->size.v[axis - 2] / (double)x->dims[axis];
    double cost = !strcmp(a->mode, "area") ? fmax(ratio, 1) : ratio; /* which reads everything */
    return (1 - ratio) / (cost * (axis == x->rank - 1 ? 8 : 1));
}

/* The order of the axes that computes least: those of the largest gain first. */
static void order_axes(const TensorType *x, const attrs_interpolate *a, int *axes) {
    int n = 0;
    for (int i = x->rank - 1; i >= 2; i--) {
        int at = n++;
        for (; at > 0 && gain(x, axes[at - 1], a) < gain(x, i, a); at--) axes[at] = axes[at - 1];
        axes[at] = i;
    }
}

void expand_interpolate(ExpandCtx *c) {
    const attrs_interpolate *a = c->attrs;
    Builder *b = c->b;
    if (b->status != OK) return;
    TensorType x = *b_type(b, c->x[0]);
    const double scales[] = {a->scale_d, a->scale_h, a->scale_w};
    int axes[MAX_RANK];
    order_axes(&x, a, axes);
    Ref r = c->x[0];
    for (int k = 0; k < x.rank - 2; k++) {
        int i = axes[k];
        attrs_resize_axis one = {.axis = i,
                                 .size = a->size.v[i - 2],
                                 .align_corners = a->align_corners == 1,
                                 .scale = scales[3 - (x.rank - i)]};
        strcpy(one.mode, a->mode);
        r = b_op1(b, OP_resize_axis, &one, r);
    }
    c->r[0] = b_cast(b, r, (DType)x.dtype);
}

static Status resized(const OpCall *c, int64_t axis, int64_t size, TensorType *out) {
    int at;
    if (c->in[0]->rank == 0) return FAIL(VALUE, "%s: the input has no axis", c->op->name);
    TRY(type_axis(c->op->name, axis, c->in[0]->rank, &at));
    if (size < 1 || c->in[0]->dims[at] < 1)
        return FAIL(VALUE, "%s: axis %d of size %lld to %lld; both must be 1 or more", c->op->name,
                    at, (long long)c->in[0]->dims[at], (long long)size);
    *out = *c->in[0];
    out->dims[at] = size;
    return type_check(out, c->op->name);
}

Status infer_resize_axis(const OpCall *c, TensorType *out) {
    const attrs_resize_axis *a = c->attrs;
    TRY(check_resampling("resize_axis", a->mode, a->align_corners));
    TRY(check_scale("resize_axis", a->scale));
    TRY(resized(c, a->axis, a->size, out));
    if (out->dtype != DT_f64) out->dtype = DT_f32; /* rounded once, after all axes */
    return OK;
}

static int64_t size_along(const TensorType *x, int64_t axis) {
    return x->dims[axis + (axis < 0 ? x->rank : 0)];
}

void grad_resize_axis(GradCtx *c) {
    const attrs_resize_axis *a = c->attrs;
    attrs_resize_axis_grad back = {.axis = a->axis,
                                   .size = size_along(c->xtypes[0], a->axis),
                                   .align_corners = a->align_corners,
                                   .scale = a->scale};
    strcpy(back.mode, a->mode);
    Ref dx = b_op1(c->b, OP_resize_axis_grad, &back, c->g[0]);
    c->dx[0] = b_cast(c->b, dx, (DType)c->xtypes[0]->dtype);
}

Status infer_resize_axis_grad(const OpCall *c, TensorType *out) {
    const attrs_resize_axis_grad *a = c->attrs;
    TRY(check_resampling("resize_axis_grad", a->mode, a->align_corners));
    TRY(check_scale("resize_axis_grad", a->scale));
    return resized(c, a->axis, a->size, out);
}

void grad_resize_axis_grad(GradCtx *c) {
    const attrs_resize_axis_grad *a = c->attrs;
    attrs_resize_axis again = {.axis = a->axis,
                               .size = size_along(c->xtypes[0], a->axis),
                               .align_corners = a->align_corners,
                               .scale = a->scale};
    strcpy(again.mode, a->mode);
    Ref dx = b_op1(c->b, OP_resize_axis, &again, c->g[0]);
    c->dx[0] = b_cast(c->b, dx, (DType)c->xtypes[0]->dtype);
}

/* ---- grid_sample */

Status infer_grid_sample(const OpCall *c, TensorType *out) {
    static const char *const modes[] = {"bilinear", "nearest", NULL};
    static const char *const paddings[] = {"zeros", "border", "reflection", NULL};
    const attrs_grid_sample *a = c->attrs;
    const TensorType *x = c->in[0], *grid = c->in[1];
    if (!is_mode(a->mode, modes))
        return FAIL(VALUE, "grid_sample: mode is '%s'; legal: bilinear, nearest", a->mode);
    if (!is_mode(a->padding_mode, paddings))
        return FAIL(VALUE, "grid_sample: padding_mode is '%s'; legal: zeros, border, reflection",
                    a->padding_mode);
    bool fits = x->rank == 4 && grid->rank == 4 && grid->dims[3] == 2 &&
                grid->dims[0] == x->dims[0] && x->dims[2] > 0 && x->dims[3] > 0;
    if (!fits) {
        char p[200], q[200];
        return FAIL(VALUE,
                    "grid_sample: input is %s, grid %s; they must be (n, c, h, w), not "
                    "empty, and (n, oh, ow, 2)",
                    type_text(x, p, sizeof p), type_text(grid, q, sizeof q));
    }
    *out = *x;
    out->dims[2] = grid->dims[1];
    out->dims[3] = grid->dims[2];
    return OK;
}

static Ref plus(Builder *b, Ref x, double v) { return b_add(b, x, b_num(b, x, v)); }
static Ref times(Builder *b, Ref x, double v) { return b_mul(b, x, b_num(b, x, v)); }
static Ref within(Builder *b, Ref x, double low, double high) {
    return b_op3(b, OP_clamp, NULL, x, b_num(b, x, low), b_num(b, x, high));
}

/* Distances beyond the ends come back inwards: a triangle wave of period 2 (high - low). */
static Ref reflect(Builder *b, Ref x, double low, double high) {
    if (high <= low) return times(b, x, 0);
    double period = 2 * (high - low);
    Ref t =
        b_op2(b, OP_remainder, NULL, b_op1(b, OP_abs, NULL, plus(b, x, -low)), b_num(b, x, period));
    Ref back = b_add(b, b_neg(b, t), b_num(b, t, period));
    return plus(b, b_op2(b, OP_minimum, NULL, t, back), low);
}

/* Coordinate k (0: x) of the grid in elements of an axis of n. */
static Ref grid_place(ExpandCtx *c, int k, int64_t n) {
    const attrs_grid_sample *a = c->attrs;
    Builder *b = c->b;
    bool align = a->align_corners == 1;
    attrs_slice part = {.begin = {4, {0, 0, 0, k}},
                        .size = {4, {-1, -1, -1, 1}},
                        .step = INTLIST_NONE,
                        .drop = INTLIST1(3)};
    Ref v = plus(b, b_op1(b, OP_slice, &part, c->x[1]), 1);
    v = align ? times(b, v, 0.5 * (double)(n - 1)) : plus(b, times(b, v, 0.5 * (double)n), -0.5);
    if (!strcmp(a->padding_mode, "reflection"))
        v = align ? reflect(b, v, 0, (double)(n - 1)) : reflect(b, v, -0.5, (double)n - 0.5);
    if (strcmp(a->padding_mode, "zeros")) v = within(b, v, 0, (double)(n - 1));
    return v;
}

/* Elements at whole coordinates (n, oh, ow) as (n, oh, ow, c); 0 outside the image. */
static Ref read_pixels(ExpandCtx *c, Ref y, Ref x, Ref weight) {
    Builder *b = c->b;
    TensorType t = *b_type(b, c->x[0]);
    double h = (double)(t.dims[2] - 1), w = (double)(t.dims[3] - 1);
    Ref yc = within(b, y, 0, h), xc = within(b, x, 0, w);
    Ref inside = b_op2(b, OP_logical_and, NULL, b_op2(b, OP_equal, NULL, yc, y),
                       b_op2(b, OP_equal, NULL, xc, x));
    attrs_arange count = {.end = (double)t.dims[0], .step = 1, .dtype = DT_i64};
    Ref n = b_reshape(b, b_call(b, OP_arange, &count, 0, NULL), 3, (int64_t[]){t.dims[0], 1, 1});
    Ref in[] = {c->x[0], n, b_cast(b, yc, DT_i64), b_cast(b, xc, DT_i64)};
    Ref v = b_call(b, OP_index_get, &(attrs_index_get){.axes = INTLIST3(0, 2, 3)}, 4, in);
    weight = weight ? b_op3(b, OP_where, NULL, inside, weight, b_num(b, weight, 0))
                    : b_cast(b, inside, (DType)t.dtype);
    return b_mul(b, v, b_op1(b, OP_expand_dims, &(attrs_expand_dims){.axis = -1}, weight));
}

void expand_grid_sample(ExpandCtx *c) {
    Builder *b = c->b;
    if (b->status != OK) return;
    TensorType t = *b_type(b, c->x[0]);
    Ref y = grid_place(c, 1, t.dims[2]), x = grid_place(c, 0, t.dims[3]), r = 0;
    if (!strcmp(((const attrs_grid_sample *)c->attrs)->mode, "nearest")) {
        r = read_pixels(c, b_op1(b, OP_round, NULL, y), b_op1(b, OP_round, NULL, x), 0);
    } else {
        Ref y0 = b_op1(b, OP_floor, NULL, y), x0 = b_op1(b, OP_floor, NULL, x);
        Ref fy = b_sub(b, y, y0), fx = b_sub(b, x, x0);
        Ref wy[] = {plus(b, b_neg(b, fy), 1), fy}, wx[] = {plus(b, b_neg(b, fx), 1), fx};
        for (int k = 0; k < 4; k++) {
            Ref part = read_pixels(c, plus(b, y0, k >> 1), plus(b, x0, k & 1),
                                   b_mul(b, wy[k >> 1], wx[k & 1]));
            r = r ? b_add(b, r, part) : part;
        }
    }
    c->r[0] = b_transpose(b, r, (int64_t[]){0, 3, 1, 2});
}

/* ---- unfold, fold: each is the other's gradient */

static Status read_pair(const char *op, const char *name, const IntList *list, int64_t least,
                        int64_t *out) {
    for (int i = 0; i < 2; i++) {
        if (list->n != 1 && list->n != 2)
            return FAIL(VALUE, "%s: %s has %lld entries; legal: 1 or 2", op, name,
                        (long long)list->n);
        out[i] = list->v[list->n == 2 ? i : 0];
        if (out[i] < least || out[i] > INT32_MAX)
            return FAIL(VALUE, "%s: %s is %lld; legal: %lld to 2^31 - 1", op, name,
                        (long long)out[i], (long long)least);
    }
    return OK;
}

Status windows_read(const char *op, const WindowLists *lists, int64_t height, int64_t width,
                    Windows *out) {
    Windows w = {.size = {height, width}};
    TRY(read_pair(op, "kernel_size", lists->kernel, 1, w.kernel));
    TRY(read_pair(op, "dilation", lists->dilation, 1, w.dilation));
    TRY(read_pair(op, "padding", lists->padding, 0, w.padding));
    TRY(read_pair(op, "stride", lists->stride, 1, w.stride));
    for (int i = 0; i < 2; i++) {
        int64_t span = w.size[i] + 2 * w.padding[i] - w.dilation[i] * (w.kernel[i] - 1) - 1;
        if (span < 0)
            return FAIL(VALUE,
                        "%s: a window of %lld in steps of %lld is larger than axis %d of "
                        "size %lld with padding %lld",
                        op, (long long)w.kernel[i], (long long)w.dilation[i], i + 2,
                        (long long)w.size[i], (long long)w.padding[i]);
        w.count[i] = span / w.stride[i] + 1;
    }
    *out = w;
    return OK;
}

Status infer_unfold(const OpCall *c, TensorType *out) {
    const attrs_unfold *a = c->attrs;
    const TensorType *x = c->in[0];
    char text[200];
    Windows w;
    if (x->rank != 4)
        return FAIL(VALUE, "unfold: input is %s; it must be (n, c, h, w)",
                    type_text(x, text, sizeof text));
    WindowLists lists = {&a->kernel_size, &a->dilation, &a->padding, &a->stride};
    TRY(windows_read("unfold", &lists, x->dims[2], x->dims[3], &w));
    *out = (TensorType){
        .dtype = x->dtype,
        .rank = 3,
        .dims = {x->dims[0], x->dims[1] * w.kernel[0] * w.kernel[1], w.count[0] * w.count[1]}};
    return type_check(out, "unfold");
}

void grad_unfold(GradCtx *c) {
    const attrs_unfold *a = c->attrs;
    const TensorType *x = c->xtypes[0];
    attrs_fold back = {.output_size = INTLIST2(x->dims[2], x->dims[3]),
                       .kernel_size = a->kernel_size,
                       .dilation = a->dilation,
                       .padding = a->padding,
                       .stride = a->stride};
    c->dx[0] = b_op1(c->b, OP_fold, &back, c->g[0]);
}

Status infer_fold(const OpCall *c, TensorType *out) {
    const attrs_fold *a = c->attrs;
    const TensorType *x = c->in[0];
    int64_t size[2];
    char text[200];
    Windows w;
    TRY(read_pair("fold", "output_size", &a->output_size, 0, size));
    WindowLists lists = {&a->kernel_size, &a->dilation, &a->padding, &a->stride};
    TRY(windows_read("fold", &lists, size[0], size[1], &w));
    int64_t area = w.kernel[0] * w.kernel[1], count = w.count[0] * w.count[1];
    if (x->rank != 3 || x->dims[1] % area || x->dims[2] != count)
        return FAIL(VALUE, "fold: input is %s; it must be (n, c * %lld, %lld)",
                    type_text(x, text, sizeof text), (long long)area, (long long)count);
    *out = (TensorType){
        .dtype = x->dtype, .rank = 4, .dims = {x->dims[0], x->dims[1] / area, size[0], size[1]}};
    return type_check(out, "fold");
}

void grad_fold(GradCtx *c) {
    const attrs_fold *a = c->attrs;
    attrs_unfold back = {.kernel_size = a->kernel_size,
                         .dilation = a->dilation,
                         .padding = a->padding,
                         .stride = a->stride};
    c->dx[0] = b_op1(c->b, OP_unfold, &back, c->g[0]);
}
