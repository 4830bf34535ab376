/* The public face of gradients. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "eager/param.h"

bool dip_record(bool on) { return tape_set(on); }

dip_Status dip_variable(const dip_Tensor *t, dip_Tensor **out) {
    NEED("variable", t, "t");
    NEED("variable", out, "out");
    if (!dtype_is_smooth(t->type.dtype))
        return FAIL(TYPE, "variable: the tensor is %s; only floats have gradients",
                    dtype_name(t->type.dtype));
    GradLink *leaf = tape_leaf();
    *out = tape_attach(t, leaf);
    link_unref(leaf);
    return OK;
}

dip_Status dip_detach(const dip_Tensor *t, dip_Tensor **out) {
    NEED("detach", t, "t");
    NEED("detach", out, "out");
    *out = tensor_alias(t);
    return OK;
}

/* ---- dip_grad */

static Status check_outputs(const dip_GradArgs *a) {
    if (a->noutputs < 1 || !a->outputs)
        return FAIL(VALUE, "grad: %d outputs; at least one is needed", a->noutputs);
    bool recorded = false;
    for (int i = 0; i < a->noutputs; i++) {
        NEED("grad", a->outputs[i], "an output");
        recorded = recorded || a->outputs[i]->link;
    }
    if (recorded) return OK;
    return FAIL(RUNTIME, "grad: no output depends on a variable or parameter (were the calls made "
                         "with recording off?)");
}

static Status check_inputs(const dip_GradArgs *a, GradLink **leaves) {
    for (int i = 0; i < a->ninputs; i++) {
        const Tensor *t = a->inputs ? a->inputs[i] : NULL;
        NEED("grad", t, "an input");
        if (!t->link || !link_is_leaf(t->link))
            return FAIL(VALUE,
                        "grad: input %d is %s; it must come from dip_variable or be the value "
                        "of a parameter that requires a gradient",
                        i, t->link ? "the result of a call" : "a constant");
        leaves[i] = t->link;
    }
    return OK;
}

dip_Status dip_grad(const dip_GradArgs *args, dip_Tensor **grads) {
    NEED("grad", args, "args");
    NEED("grad", grads, "grads");
    if (args->ninputs < 0) return FAIL(VALUE, "grad: %d inputs", args->ninputs);
    if (args->flags & ~(unsigned)(DIP_KEEP_RECORD | DIP_RECORD_GRADIENT))
        return FAIL(VALUE,
                    "grad: flags are %u; legal are DIP_KEEP_RECORD (1) and "
                    "DIP_RECORD_GRADIENT (2)",
                    args->flags);
    TRY(check_outputs(args));
    GradLink **leaves = calloc((size_t)args->ninputs + 1, sizeof *leaves);
    if (!leaves) return FAIL(NOMEM, "grad: no memory for %d inputs", args->ninputs);
    Status status = check_inputs(args, leaves);
    BackwardArgs a = {.nroots = args->noutputs,
                      .roots = args->outputs,
                      .seeds = args->seeds,
                      .nleaves = args->ninputs,
                      .leaves = leaves,
                      .create_graph = args->flags & DIP_RECORD_GRADIENT,
                      .keep = args->flags & DIP_KEEP_RECORD};
    if (status == OK) status = tape_backward(&a, grads);
    free(leaves);
    return status;
}

dip_Status dip_backward(dip_Tensor *loss) {
    NEED("backward", loss, "loss");
    return param_backward(loss, NULL, false, false);
}

/* ---- gradients the caller knows */

typedef struct KeptGrad {
    dip_CustomGrad grad;
    TensorType types[]; /* of the inputs */
} KeptGrad;

static Status run_custom(void *ctx, int nout, Tensor *const *g, int nin, Tensor **dx) {
    const KeptGrad *kept = ctx;
    (void)nout;
    TRY(kept->grad.backward(kept->grad.ctx, g, dx));
    for (int i = 0; i < nin; i++) {
        if (!dx[i] || type_equal(&dx[i]->type, &kept->types[i])) continue;
        char have[200], want[200];
        return FAIL(VALUE, "custom_grad: the gradient of input %d is %s; it must be %s", i,
                    type_text(&dx[i]->type, have, sizeof have),
                    type_text(&kept->types[i], want, sizeof want));
    }
    return OK;
}

static void release_custom(void *ctx) {
    KeptGrad *kept = ctx;
    if (kept->grad.release) kept->grad.release(kept->grad.ctx);
    free(kept);
}

dip_Status dip_custom_grad(dip_CustomGrad grad, int nin, dip_Tensor *const *in, int nout,
                           dip_Tensor *const *out) {
    NEED("custom_grad", grad.backward, "backward");
    if (nin < 0 || nout < 1 || nin > UINT16_MAX || nout > UINT16_MAX || (nin && !in) || !out)
        return FAIL(VALUE, "custom_grad: %d inputs and %d results; at least one result is needed",
                    nin, nout);
    for (int i = 0; i < nout; i++) {
        NEED("custom_grad", out[i], "a result");
        if (out[i]->link)
            return FAIL(VALUE,
                        "custom_grad: result %d has a gradient already; compute the results "
                        "with recording off",
                        i);
    }
    if (!tape_wants(nin, in)) {
        if (grad.release) grad.release(grad.ctx);
        return OK;
    }
    KeptGrad *kept = calloc(1, sizeof *kept + (size_t)nin * sizeof *kept->types);
    if (!kept) return FAIL(NOMEM, "custom_grad: no memory");
    kept->grad = grad;
    for (int i = 0; i < nin; i++)
        if (in[i]) kept->types[i] = in[i]->type;
    CustomGrad custom = {.backward = run_custom, .release = release_custom, .ctx = kept};
    Status status = tape_record_custom("custom_grad", custom, nin, in, nout, out);
    if (status != OK) free(kept);
    return status;
}
