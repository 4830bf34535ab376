/* Parameters: values, gradients, steps. */
#include "eager/param.h"

#include <stdlib.h>
#include <string.h>

#include "eager/capture.h"
#include "eager/dispatch.h"
#include "eager/node.h"
#include "eager/record.h"
#include "tensor/pool.h"

static char *copy_text(const char *text) {
    size_t n = strlen(text) + 1;
    return memcpy(pool_small(n), text, n);
}

void param_take(Param *p, Tensor *value) {
    if (value->link) link_unref(value->link);
    value->link = p->requires_grad ? link_ref(p->leaf) : NULL;
    value->output = 0;
    if (p->value) p->value->holder = NULL;
    tensor_unref(p->value);
    value->holder = p;
    p->value = value;
}

Param *param_new(const char *name, const Tensor *value) {
    Param *p = pool_small(sizeof *p);
    *p = (Param){.refs = 1, .requires_grad = dtype_is_smooth(value->type.dtype)};
    p->name = copy_text(name);
    p->leaf = tape_leaf();
    link_set_owner(p->leaf, p);
    param_take(p, tensor_alias(value));
    return p;
}

Param *param_ref(Param *p) {
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

void param_unref(Param *p) {
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
    p->value->holder = NULL;
    tensor_unref(p->value);
    tensor_unref(p->grad);
    link_set_owner(p->leaf, NULL); /* a tape may hold the leaf longer */
    link_unref(p->leaf);
    pool_small_free(p->name, strlen(p->name) + 1);
    pool_small_free(p, sizeof *p);
}

Status param_require_grad(Param *p, bool on) {
    if (on && !dtype_is_smooth(p->value->type.dtype))
        return FAIL(TYPE, "parameter '%s' is %s; only floats can require a gradient", p->name,
                    dtype_name(p->value->type.dtype));
    if (on == p->requires_grad) return OK;
    record_break("requires_grad of a Parameter is set");
    p->requires_grad = on;
    param_take(p, tensor_alias(p->value));
    return OK;
}

void param_rename(Param *p, const char *name) {
    char *old = p->name;
    p->name = copy_text(name);
    pool_small_free(old, strlen(old) + 1);
}

static Status check_like(const Param *p, const Tensor *t, const char *what) {
    if (type_equal(&t->type, &p->value->type)) return OK;
    char have[200], got[200];
    return FAIL(VALUE, "parameter '%s' is %s; its new %s is %s", p->name,
                type_text(&p->value->type, have, sizeof have), what,
                type_text(&t->type, got, sizeof got));
}

static Status assign(Param *p, const Tensor *value) {
    TRY(check_like(p, value, "value"));
    if (capture_is_on()) {
        capture_touch(p);
        param_take(p, capture_symbolic(value));
        return OK;
    }
    param_take(p, tensor_alias(value));
    return OK;
}

Status param_assign(Param *p, const Tensor *value) {
    Tensor *in = (Tensor *)value;
    bool recorded = record_open(REC_ASSIGN, 1, &in);
    if (recorded) record_param(p);
    Status status = assign(p, value);
    if (recorded) record_close(status, 0, NULL);
    return status;
}

void param_replace(Param *p, const Tensor *value) {
    record_break("a Parameter is replaced");
    p->requires_grad = p->requires_grad && dtype_is_smooth(value->type.dtype);
    param_take(p, tensor_alias(value));
    tensor_unref(p->grad);
    p->grad = NULL;
}

static Status set_grad(Param *p, Tensor *g) {
    if (g) TRY(check_like(p, g, "gradient"));
    Tensor *made = NULL;
    if (capture_is_on() && (g || p->grad)) {
        capture_touch(p);
        made = g && !g->symbol ? capture_symbolic(g) : NULL;
    }
    Tensor *old = p->grad;
    p->grad = made ? made : g ? tensor_ref(g) : NULL;
    tensor_unref(old);
    return OK;
}

Status param_set_grad(Param *p, Tensor *g) {
    bool recorded = record_open(REC_SET_GRAD, 1, &g);
    if (recorded) record_param(p);
    Status status = set_grad(p, g);
    if (recorded) record_close(status, 0, NULL);
    return status;
}

Status param_add_grad(Param *p, Tensor *g) {
    if (!p->grad) return param_set_grad(p, g);
    TRY(check_like(p, g, "gradient"));
    Tensor *sum;
    TRY(dispatch2(OP_add, NULL, p->grad, g, &sum));
    tensor_unref(p->grad);
    p->grad = sum;
    return OK;
}

/* ---- steps */

static void touch(const UpdateRule *rule, const ParamUpdate *u) {
    capture_touch(u->param);
    for (int k = 0; k < rule->nstate; k++) capture_touch(u->state[k]);
}

static void list_inputs(const UpdateRule *rule, const ParamUpdate *u, Tensor **in) {
    in[0] = u->param->value;
    for (int k = 0; k < rule->nstate; k++) in[1 + k] = u->state[k]->value;
    in[1 + rule->nstate] = u->grad;
    memcpy(in + 2 + rule->nstate, u->numbers, (size_t)rule->nnumbers * sizeof *in);
}

static void take_results(const UpdateRule *rule, const ParamUpdate *u, Tensor **out) {
    param_take(u->param, out[0]);
    for (int k = 0; k < rule->nstate; k++) param_take(u->state[k], out[1 + k]);
}

static Status update_always(const UpdateRule *rule, int n, const ParamUpdate *updates) {
    int nin = 2 + rule->nstate + rule->nnumbers, nout = 1 + rule->nstate;
    Tensor **in = calloc((size_t)n * (size_t)(nin + nout) + 1, sizeof *in);
    if (!in) abort(); /* bookkeeping: the pool_small policy */
    Tensor **out = in + (ptrdiff_t)n * nin;
    for (int i = 0; i < n && capture_is_on(); i++) touch(rule, &updates[i]);
    for (int i = 0; i < n; i++) list_inputs(rule, &updates[i], in + (ptrdiff_t)i * nin);
    UpdateCalls calls = {rule->op, rule->attrs, n, nin, in, out, 0};
    bool was = tape_set(false);
    Status status = dispatch_updates(&calls);
    tape_set(was);
    for (int i = 0; i < n && status == OK; i++)
        take_results(rule, &updates[i], out + (ptrdiff_t)i * nout);
    if (status != OK) error_prefix("parameter '%s': ", updates[calls.failed].param->name);
    free(in);
    return status;
}

/* Updates whose gradients are there together, or not. */
typedef struct Together {
    const UpdateRule *rule;
    int n;
    ParamUpdate *updates;
} Together;

static Status update_together(void *ctx, Tensor **out) {
    const Together *t = ctx;
    (void)out;
    return update_always(t->rule, t->n, t->updates);
}
static Status update_nothing(void *ctx, Tensor **out) {
    (void)ctx, (void)out;
    return OK;
}

/* The updates i on whose gradients have the flag of that of i, in a branch; their flags are freed.
 */
static Status update_where(const UpdateRule *rule, int n, const ParamUpdate *updates, int i,
                           Tensor **present) {
    Together t = {.rule = rule, .updates = calloc((size_t)n, sizeof *t.updates)};
    if (!t.updates) abort(); /* bookkeeping: the pool_small policy */
    AUTO_TENSOR flag = tensor_ref(present[i]);
    for (int k = i; k < n; k++) {
        if (!present[k] || present[k]->symbol != flag->symbol) continue;
        t.updates[t.n++] = updates[k];
        tensor_unref(present[k]);
        present[k] = NULL;
    }
    Branch then = {update_together, &t}, otherwise = {update_nothing, NULL};
    Status status = capture_branches(capture_now, flag, then, otherwise, 0, NULL);
    free(t.updates);
    return status;
}

/* In a graph a gradient may be there or not (GradFlow): then the update stands in a branch. */
static Status update(const UpdateRule *rule, int n, const ParamUpdate *updates) {
    if (!capture_is_on()) return update_always(rule, n, updates);
    Tensor **present = calloc((size_t)n + 1, sizeof *present);
    ParamUpdate *always = calloc((size_t)n + 1, sizeof *always);
    if (!present || !always) abort(); /* bookkeeping: the pool_small policy */
    int nalways = 0;
    for (int i = 0; i < n; i++) {
        present[i] = capture_present(updates[i].param);
        if (!present[i]) always[nalways++] = updates[i];
    }
    Status status = update_always(rule, nalways, always);
    for (int i = 0; i < n && status == OK; i++)
        if (present[i]) status = update_where(rule, n, updates, i, present);
    for (int i = 0; i < n; i++) tensor_unref(present[i]);
    free(present);
    free(always);
    return status;
}

static bool record_step(const UpdateRule *rule, int n, const ParamUpdate *updates) {
    if (!capture_is_on() || !record_now()) return false;
    int each = 1 + rule->nnumbers, nin = n * each;
    Tensor **in = calloc((size_t)nin + 1, sizeof *in);
    if (!in) abort(); /* bookkeeping: the pool_small policy */
    for (int i = 0; i < n; i++) {
        in[i * each] = updates[i].grad;
        memcpy(in + i * each + 1, updates[i].numbers, (size_t)rule->nnumbers * sizeof *in);
    }
    bool recorded = record_open(REC_UPDATE, nin, in);
    if (recorded) record_update(rule, n, updates);
    free(in);
    return recorded;
}

Status params_update(const UpdateRule *rule, int n, const ParamUpdate *updates) {
    bool recorded = record_step(rule, n, updates);
    Status status = update(rule, n, updates);
    if (recorded) record_close(status, 0, NULL);
    return status;
}

/* ---- gradients of all parameters behind a value */

static Status add_gradient(Param *p, Tensor *g, Tensor *present) {
    AUTO_TENSOR before = capture_present(p);
    AUTO_TENSOR either = NULL;
    if (p->grad)
        TRY(gradient_present(before, present, &either));
    else
        either = present ? tensor_ref(present) : NULL;
    TRY(param_add_grad(p, g));
    if (either) capture_note_present(p, either);
    return OK;
}

static Status add_gradients(int n, GradLink *const *leaves, Tensor *const *grads,
                            Tensor *const *present) {
    for (int i = 0; i < n; i++) {
        Param *p = link_owner(leaves[i]);
        if (p && grads[i]) TRY(add_gradient(p, grads[i], present[i]));
    }
    return OK;
}

/* Leaves of parameters that want a gradient move to the front; returns their number. */
static int keep_owned(int n, GradLink **leaves) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        const Param *p = link_owner(leaves[i]);
        if (p && p->requires_grad) leaves[kept++] = leaves[i];
    }
    return kept;
}

static Status backward(Tensor *root, Tensor *seed, bool create_graph, bool keep) {
    if (!root->link)
        return FAIL(RUNTIME, "backward: the value does not depend on anything that requires a "
                             "gradient (was it computed with gradients off?)");
    int n;
    GradLink **leaves = tape_leaves(root, &n);
    n = keep_owned(n, leaves);
    Tensor **grads = calloc(2 * (size_t)n + 1, sizeof *grads), **present = grads + n;
    if (!grads) abort(); /* bookkeeping: the pool_small policy */
    BackwardArgs a = {.nroots = 1, .roots = &root, .seeds = &seed, .nleaves = n, .leaves = leaves};
    a.present = present;
    a.create_graph = create_graph;
    a.keep = keep;
    Status status = tape_backward(&a, grads);
    bool was = tape_set(create_graph);
    if (status == OK) status = add_gradients(n, leaves, grads, present);
    tape_set(was);
    for (int i = 0; i < 2 * n; i++) tensor_unref(grads[i]);
    free(grads);
    free(leaves);
    return status;
}

Status param_backward(Tensor *root, Tensor *seed, bool create_graph, bool keep) {
    bool recorded = record_open(REC_BACKWARD, 2, (Tensor *[]){root, seed});
    if (recorded) record_numbers(create_graph, keep, 0);
    Status status = backward(root, seed, create_graph, keep);
    if (recorded) record_close(status, 0, NULL);
    return status;
}
