/* Convolution and its two gradients in oneDNN, over channels-last activations: about as fast as its
 * blocked layouts, and tensors stay what strides can say (docs/design/002-layouts.md). Weights are
 * row-major outside; they are reordered to the layout the library chooses. */
#include <string.h>

#include "kernels/dnn_plan.h"
#include "kernels/layout.h"
#include "ops/conv.h"

typedef struct Described {
    ConvShape s;
    dnnl_data_type_t dt;
    dnnl_memory_desc_t input, output; /* channels-last */
    dnnl_memory_desc_t weight, any_weight, bias;
    dnnl_dims_t stride, dilation, begin, end;
} Described;

/* ---- candidates */

static const char *can_dtypes(const KernelArgs *a) {
    for (int i = 0; i < a->nin; i++)
        if (a->in[i].type && type_count(a->in[i].type) == 0) return "a tensor is empty";
    if (type_count(a->out[0].type) == 0) return "the result is empty";
    return dnn_can_dtype(a->in[0].type->dtype);
}

static bool is_plain(const Buf *b, bool may_be_last) {
    return !b->type || b->dense || (may_be_last && layout_is_last(b->type, b->strides));
}

const char *can_conv_dnn(const KernelArgs *a) {
    bool second_is_weight = a->op->id != OP_conv_weight_grad;
    if (!is_plain(&a->in[0], true) || !is_plain(&a->in[1], !second_is_weight) ||
        (a->nin > 2 && !is_plain(&a->in[2], false)))
        return "a tensor is neither row-major nor channels-last";
    return can_dtypes(a);
}

const char *can_conv_dnn_dense(const KernelArgs *a) { return can_dtypes(a); }

/* ---- descriptors */

/* (n, c, spatial) by given strides, or channels-last. */
static Status activation(const TensorType *t, const int64_t *strides, dnnl_memory_desc_t *md) {
    int64_t last[MAX_RANK];
    if (!strides) {
        layout_last_strides(t, last);
        strides = last;
    }
    return dnn_layout(dnn_dtype(t->dtype), t->rank, t->dims, strides, md);
}

/* (co, ci / groups, kernel) row-major, with an axis for groups if there are any. */
static Status weight(const Described *d, bool is_any, dnnl_memory_desc_t *md) {
    const ConvShape *s = &d->s;
    int64_t dims[MAX_RANK], strides[MAX_RANK], step = 1;
    int n = 0;
    if (s->groups > 1) dims[n++] = s->groups;
    dims[n++] = s->co / s->groups;
    dims[n++] = s->ci / s->groups;
    for (int i = MAX_SPATIAL - s->w.nd; i < MAX_SPATIAL; i++) dims[n++] = s->w.kernel[i];
    for (int i = n - 1; i >= 0; i--) {
        strides[i] = step;
        step *= dims[i];
    }
    return dnn_layout(d->dt, n, dims, is_any ? NULL : strides, md);
}

static void set_type(TensorType *t, const Described *d, DType dtype, int64_t c,
                     const int64_t *sizes) {
    int nd = d->s.w.nd;
    *t = (TensorType){.dtype = (uint8_t)dtype, .rank = (uint8_t)(nd + 2), .dims = {d->s.n, c}};
    memcpy(t->dims + 2, sizes + MAX_SPATIAL - nd, (size_t)nd * sizeof *sizes);
}

static Status describe(const KernelArgs *a, Described *d) {
    const TensorType *types[3] = {0};
    for (int i = 0; i < a->nin; i++) types[i] = a->in[i].type;
    OpCall c = {a->op, a->attrs, a->nin, a->nout, types};
    TRY(conv_shape(&c, &d->s));
    DType dtype = a->in[0].type->dtype;
    d->dt = dnn_dtype(dtype);
    const Window *w = &d->s.w;
    for (int i = 0; i < w->nd; i++) {
        int from = MAX_SPATIAL - w->nd + i;
        d->stride[i] = w->stride[from];
        d->dilation[i] = w->dilation[from] - 1;
        d->begin[i] = w->begin[from];
        /* The library wants the end padding that makes the sizes come out even. */
        int64_t reach = w->dilation[from] * (w->kernel[from] - 1) + 1;
        d->end[i] = (w->out[from] - 1) * w->stride[from] + reach - w->in[from] - w->begin[from];
    }
    TensorType x, y;
    set_type(&x, d, dtype, d->s.ci, w->in);
    set_type(&y, d, dtype, d->s.co, w->out);
    TRY(activation(&x, NULL, &d->input));
    TRY(activation(&y, NULL, &d->output));
    TRY(weight(d, false, &d->weight));
    TRY(weight(d, true, &d->any_weight));
    return dnn_layout(d->dt, 1, (int64_t[]){d->s.co}, (int64_t[]){1}, &d->bias);
}

static Status forward_pd(const Described *d, bool has_bias, dnnl_primitive_desc_t *pd) {
    dnnl_convolution_desc_t desc;
    TRY(dnn_check(dnnl_dilated_convolution_forward_desc_init(
                      &desc, dnnl_forward_training, dnnl_convolution_direct, &d->input,
                      &d->any_weight, has_bias ? &d->bias : NULL, &d->output, d->stride,
                      d->dilation, d->begin, d->end),
                  "a convolution"));
    return dnn_describe(&desc, NULL, pd);
}

/* Input i as it lies, then channels-last. */
static Status activation_in(DnnPlan *p, const KernelArgs *a, int i, const dnnl_memory_desc_t *want,
                            int *slot) {
    dnnl_memory_desc_t md;
    bool is_last = layout_is_last(a->in[i].type, a->in[i].strides);
    TRY(activation(a->in[i].type, is_last ? NULL : a->in[i].strides, &md));
    return dnn_reordered(p, dnn_in(p, i, &md), want, slot);
}

/* ---- the three calls */

static Status plan_forward(DnnPlan *p, const KernelArgs *a, const Described *d,
                           const_dnnl_primitive_desc_t pd) {
    int x, w, y = dnn_out(p, 0, &d->output);
    bool has_bias = a->nin > 2 && a->in[2].type;
    TRY(activation_in(p, a, 0, &d->input, &x));
    TRY(dnn_reordered(p, dnn_in(p, 1, &d->weight), dnn_wants(pd, DNNL_ARG_WEIGHTS), &w));
    return dnn_step(p, pd, 4,
                    (DnnArg[]){{DNNL_ARG_SRC, x},
                               {DNNL_ARG_WEIGHTS, w},
                               {DNNL_ARG_BIAS, has_bias ? dnn_in(p, 2, &d->bias) : -1},
                               {DNNL_ARG_DST, y}});
}

static Status plan_input_grad(DnnPlan *p, const KernelArgs *a, const Described *d,
                              const_dnnl_primitive_desc_t pd) {
    int g, w, dx = dnn_out(p, 0, &d->input);
    TRY(activation_in(p, a, 0, &d->output, &g));
    TRY(dnn_reordered(p, dnn_in(p, 1, &d->weight), dnn_wants(pd, DNNL_ARG_WEIGHTS), &w));
    return dnn_step(
        p, pd, 3,
        (DnnArg[]){{DNNL_ARG_DIFF_DST, g}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_SRC, dx}});
}

static Status plan_weight_grad(DnnPlan *p, const KernelArgs *a, const Described *d,
                               const_dnnl_primitive_desc_t pd) {
    int x, g, dw = dnn_out(p, 0, &d->weight);
    TRY(activation_in(p, a, 0, &d->input, &x));
    TRY(activation_in(p, a, 1, &d->output, &g));
    int landing = dnn_landing(p, dw, dnn_wants(pd, DNNL_ARG_DIFF_WEIGHTS));
    TRY(dnn_step(
        p, pd, 3,
        (DnnArg[]){{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, g}, {DNNL_ARG_DIFF_WEIGHTS, landing}}));
    return dnn_finish(p, landing, dw);
}

static Status backward_pd(const KernelArgs *a, const Described *d, const_dnnl_primitive_desc_t hint,
                          dnnl_primitive_desc_t *pd) {
    dnnl_convolution_desc_t desc;
    dnnl_status_t status = a->op->id == OP_conv_input_grad
                               ? dnnl_dilated_convolution_backward_data_desc_init(
                                     &desc, dnnl_convolution_direct, &d->input, &d->any_weight,
                                     &d->output, d->stride, d->dilation, d->begin, d->end)
                               : dnnl_dilated_convolution_backward_weights_desc_init(
                                     &desc, dnnl_convolution_direct, &d->input, &d->any_weight,
                                     NULL, &d->output, d->stride, d->dilation, d->begin, d->end);
    TRY(dnn_check(status, "a convolution gradient"));
    return dnn_describe(&desc, hint, pd);
}

typedef Status (*PlanFn)(DnnPlan *p, const KernelArgs *a, const Described *d,
                         const_dnnl_primitive_desc_t pd);

static Status finish_plan(const KernelArgs *a, const Described *d, const_dnnl_primitive_desc_t pd,
                          PlanFn plan, void **state, size_t *scratch) {
    DnnPlan *p = dnn_plan_new();
    Status status = plan(p, a, d, pd);
    if (status != OK) {
        dnn_plan_free(p);
        return status;
    }
    *state = p;
    *scratch = dnn_plan_scratch(p);
    return OK;
}

Status prepare_conv_dnn(const KernelArgs *a, void **state, size_t *scratch) {
    Described d;
    dnnl_primitive_desc_t forward, pd;
    TRY(describe(a, &d));
    bool is_forward = a->op->id == OP_conv;
    TRY(forward_pd(&d, is_forward && a->nin > 2 && a->in[2].type, &forward));
    if (is_forward) {
        Status status = finish_plan(a, &d, forward, plan_forward, state, scratch);
        dnnl_primitive_desc_destroy(forward);
        return status;
    }
    Status status = backward_pd(a, &d, forward, &pd);
    dnnl_primitive_desc_destroy(forward);
    TRY(status);
    PlanFn plan = a->op->id == OP_conv_input_grad ? plan_input_grad : plan_weight_grad;
    status = finish_plan(a, &d, pd, plan, state, scratch);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

void release_conv_dnn(void *state) { release_dnn(state); }
void run_conv_dnn(const KernelArgs *a) { run_dnn(a); }
