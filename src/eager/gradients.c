/* Gradients with respect to any values, also inside of the graph. */
#include "eager/gradients.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eager/dispatch.h"
#include "eager/record.h"

static Status pass_on(void *ctx, int nout, Tensor *const *g, int nin, Tensor **dx) {
    (void)ctx, (void)nout, (void)nin;
    dx[0] = g[0] ? tensor_ref(g[0]) : NULL;
    return OK;
}

/* The same value as a node: a loop's gradient captures nodes again, and with them their tape. */
static Status variable_in_loop(Tensor *t, Tensor **out) {
    attrs_reshape same = {.shape = {.n = t->type.rank}};
    memcpy(same.shape.v, t->type.dims, sizeof(int64_t) * t->type.rank);
    return dispatch1(OP_reshape, &same, t, out);
}

static Status variable(Tensor *t, Tensor **out) {
    bool is_linked = t->link && tape_is_on();
    if (capture_is_on() && dtype_is_integer(t->type.dtype)) capture_follow_integers(capture_now);
    if (is_linked && capture_is_on() && capture_in_loop(capture_now))
        return variable_in_loop(t, out);
    *out = tensor_alias(t);
    if (t->type.dtype == DT_bool) return OK;
    if (!is_linked) {
        (*out)->link = tape_leaf();
        return OK;
    }
    Status status =
        tape_record_custom("variable", (CustomGrad){.backward = pass_on}, 1, &t, 1, out);
    if (status != OK) tensor_unref(*out);
    return status;
}

Status tape_variable(Tensor *t, Tensor **out) {
    bool recorded = record_open(REC_VARIABLE, 1, &t);
    Status status = variable(t, out);
    if (recorded) record_close(status, 1, out);
    return status;
}

/* The gradient of a value inside the graph is caught by a hook as it comes by. */
static Status catch (void *ctx, Tensor *grad, Tensor **out) {
    Tensor **slot = ctx;
    tensor_unref(*slot);
    *slot = tensor_ref(grad);
    *out = NULL;
    return OK;
}

/* Leaves are asked for, other links get a hook; grads: of the leaves, in order. */
static Status walk(const GradientsArgs *a, Tensor **out) {
    size_t most = (size_t)a->nwrt + 1;
    GradLink **leaves = checked(calloc(most, sizeof *leaves));
    Tensor **grads = checked(calloc(most, sizeof *grads));
    int64_t *hooks = checked(calloc(most, sizeof *hooks));
    int *places = checked(calloc(most, sizeof *places)), n = 0;
    for (int i = 0; i < a->nwrt; i++) {
        GradLink *link = a->wrt[i]->link;
        if (!link) continue;
        if (!link_is_leaf(link))
            hooks[i] = tape_hook(a->wrt[i], (GradHook){.call = catch, .ctx = &out[i]});
        places[n] = i;
        leaves[n++] = link;
    }
    BackwardArgs b = {.nroots = a->nroots, .roots = a->roots, .seeds = a->seeds};
    b.nleaves = n;
    b.leaves = leaves;
    b.create_graph = a->create_graph;
    b.keep = a->keep;
    b.ends_at_leaves = a->partial;
    Status status = tape_backward(&b, grads);
    for (int i = 0; i < a->nwrt; i++)
        if (hooks[i]) tape_unhook(a->wrt[i], hooks[i]);
    for (int k = 0; status == OK && k < n; k++) {
        Tensor **slot = &out[places[k]];
        if (*slot)
            tensor_unref(grads[k]);
        else
            *slot = grads[k];
    }
    free(leaves);
    free(grads);
    free(hooks);
    free(places);
    return status;
}

static bool record_args(const GradientsArgs *a) {
    if (!record_now()) return false;
    int n = 2 * a->nroots + a->nwrt;
    Tensor **in = checked(calloc((size_t)n + 1, sizeof *in));
    for (int i = 0; i < a->nroots; i++) {
        in[i] = a->roots[i];
        in[a->nroots + i] = a->seeds ? a->seeds[i] : NULL;
    }
    for (int i = 0; i < a->nwrt; i++) in[2 * a->nroots + i] = a->wrt[i];
    bool recorded = record_open(REC_GRADIENTS, n, in);
    if (recorded)
        record_numbers(a->nroots, a->nwrt, a->create_graph | a->keep << 1 | a->partial << 2);
    free(in);
    return recorded;
}

Status tape_gradients(const GradientsArgs *a, Tensor **out) {
    for (int i = 0; i < a->nwrt; i++) out[i] = NULL;
    bool recorded = record_args(a);
    Status status = walk(a, out);
    for (int i = 0; status != OK && i < a->nwrt; i++) {
        tensor_unref(out[i]);
        out[i] = NULL;
    }
    if (recorded) record_close(status, a->nwrt, out);
    return status;
}
