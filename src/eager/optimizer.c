/* Optimisers over the update ops of update.def. */
#include "eager/optimizer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eager/capture.h"
#include "eager/dispatch.h"
#include "tensor/pool.h"

/* ---- numbers */

/* The first number stands behind parameter, states and gradient. */
static const SigInput *number_input(const Optimizer *o, int i) {
    return &o->inputs[o->nstate + 2 + i];
}

static int find_number(const Optimizer *o, const char *name) {
    for (int i = 0; i < o->nnumbers; i++)
        if (!strcmp(number_input(o, i)->name, name)) return i;
    return -1;
}

static Status no_number(const Optimizer *o, const char *name) {
    char known[300] = "";
    size_t at = 0;
    for (int i = 0; i < o->nnumbers && at < sizeof known; i++)
        at += (size_t)snprintf(known + at, sizeof known - at, i ? ", %s" : "%s",
                               number_input(o, i)->name);
    return FAIL(VALUE, "optimizer %s has no number '%s'; it has %s", o->op->name, name, known);
}

static Status new_number(const Optimizer *o, double value, Tensor **out) {
    TRY(tensor_new(&(TensorType){.dtype = DT_f64}, o->op->name, out));
    memcpy((*out)->data, &value, sizeof value);
    return OK;
}

/* A fresh tensor each time: a recorded step may hold the old one. */
static Status put_number(Optimizer *o, int i, double value) {
    AUTO_TENSOR t = NULL;
    TRY(new_number(o, value, &t));
    if (o->numbers[i]) return param_assign(o->numbers[i], t);
    o->numbers[i] = param_new(number_input(o, i)->name, t);
    return param_require_grad(o->numbers[i], false);
}

static Status number_value(const Optimizer *o, int i, double *out) {
    const Tensor *t = o->numbers[i]->value;
    TRY(tensor_check_values(t, "optimizer"));
    memcpy(out, t->data, sizeof *out);
    return OK;
}

Status optimizer_set(Optimizer *o, const char *number, double value) {
    int i = find_number(o, number);
    if (i < 0) return no_number(o, number);
    if (value != value) return FAIL(VALUE, "optimizer %s: %s is NaN", o->op->name, number);
    if (i == o->step && value < 1)
        return FAIL(VALUE, "optimizer %s: step is %g; it must be at least 1", o->op->name, value);
    return put_number(o, i, value);
}

Status optimizer_get(const Optimizer *o, const char *number, double *out) {
    int i = find_number(o, number);
    if (i < 0) return no_number(o, number);
    return number_value(o, i, out);
}

/* ---- settings: "lr=0.1 use_nesterov=True" goes to numbers by name, the rest to the attributes */

static Status read_setting(Optimizer *o, const char *name, const char *text) {
    if (find_number(o, name) >= 0) {
        char *end;
        double value = strtod(text, &end);
        if (end == text || *end)
            return FAIL(VALUE, "optimizer %s: %s is '%s'; it must be a number", o->op->name, name,
                        text);
        return optimizer_set(o, name, value);
    }
    const AttrSpec *spec = attr_find(o->op, name);
    return spec ? attr_parse(o->op, spec, text, o->attrs) : no_number(o, name);
}

static Status read_settings(Optimizer *o, const char *text) {
    for (;;) {
        while (isspace((unsigned char)*text)) text++;
        if (!*text) return OK;
        char setting[128];
        size_t n = strcspn(text, " \t\n");
        if (n >= sizeof setting)
            return FAIL(VALUE, "optimizer %s: a setting is longer than %zu characters", o->op->name,
                        sizeof setting - 1);
        memcpy(setting, text, n);
        setting[n] = 0;
        text += n;
        char *value = strchr(setting, '=');
        if (!value)
            return FAIL(VALUE, "optimizer %s: settings are written name=value, got '%s'",
                        o->op->name, setting);
        *value = 0;
        TRY(read_setting(o, setting, value + 1));
    }
}

/* ---- making and freeing */

static Status check_params(const Optimizer *o) {
    for (int i = 0; i < o->nparams; i++)
        for (int k = 0; k < i; k++)
            if (o->params[i] == o->params[k])
                return FAIL(VALUE, "optimizer %s: parameter '%s' stands twice in the list",
                            o->op->name, o->params[i]->name);
    return OK;
}

static Status start_states(Optimizer *o) {
    for (int i = 0; i < o->nparams; i++) {
        TensorType type = o->params[i]->value->type;
        if (!dtype_is_float(type.dtype))
            return FAIL(TYPE, "optimizer %s: parameter '%s' is %s; it must be of a float dtype",
                        o->op->name, o->params[i]->name, dtype_name(type.dtype));
        if (dtype_size(type.dtype) < 4) type.dtype = DT_f32;
        for (int k = 0; k < o->nstate; k++) {
            Tensor *t;
            TRY(tensor_new(&type, o->op->name, &t));
            memset(t->data, 0, (size_t)tensor_nbytes(t));
            Param *state = param_new(optimizer_state_name(o, k), t);
            tensor_unref(t);
            o->states[i * o->nstate + k] = state;
            TRY(param_require_grad(state, false));
        }
    }
    return OK;
}

static Status start(Optimizer *o, const char *settings) {
    TRY(check_params(o));
    attrs_init(o->op, o->attrs);
    for (int i = 0; i < o->nnumbers; i++) TRY(put_number(o, i, number_input(o, i)->weak_default));
    if (settings) TRY(read_settings(o, settings));
    return start_states(o);
}

/* Whether the row reads param, states, grad, numbers. */
static bool is_rule(const Optimizer *o, int ninputs) {
    int first = o->nstate + 2;
    if (o->op->hidden || o->nstate < 0 || o->nstate > PARAM_STATES_MAX || first >= ninputs ||
        ninputs - first > (int)COUNT_OF(o->numbers) || strcmp(o->inputs[0].name, "param") != 0 ||
        strcmp(o->inputs[first - 1].name, "grad") != 0)
        return false;
    for (int i = first; i < ninputs; i++)
        if (!o->inputs[i].is_weak) return false;
    return true;
}

Status optimizer_new(const Op *op, const char *settings, int n, Param *const *params,
                     Optimizer **out) {
    Optimizer shape = {.op = op, .nstate = op->nout - 1};
    int ninputs = op_signature(op, shape.inputs);
    if (!is_rule(&shape, ninputs))
        return FAIL(VALUE, "optimizer: op '%s' is no update rule; it takes (%s)", op->name,
                    op->sig);
    Optimizer *o = pool_small(sizeof *o);
    *o = shape;
    o->nparams = n;
    o->nnumbers = ninputs - o->nstate - 2;
    o->step = find_number(o, "step");
    o->params = calloc((size_t)n + 1, sizeof *o->params);
    o->states = calloc((size_t)n * (size_t)o->nstate + 1, sizeof *o->states);
    o->attrs = calloc(1, op->attrs_size);
    if (!o->params || !o->states || !o->attrs) abort(); /* bookkeeping: the pool_small policy */
    for (int i = 0; i < n; i++) o->params[i] = param_ref(params[i]);
    Status status = start(o, settings);
    if (status == OK)
        *out = o;
    else
        optimizer_free(o);
    return status;
}

void optimizer_free(Optimizer *o) {
    if (!o) return;
    for (int i = 0; i < o->nparams; i++) param_unref(o->params[i]);
    for (int i = 0; i < o->nparams * o->nstate; i++) param_unref(o->states[i]);
    for (int i = 0; i < o->nnumbers; i++) param_unref(o->numbers[i]);
    free(o->params);
    free(o->states);
    free(o->attrs);
    pool_small_free(o, sizeof *o);
}

/* ---- steps */

static Status check_grads(const Optimizer *o, Tensor *const *grads) {
    for (int i = 0; i < o->nparams; i++) {
        const Tensor *g = grads[i];
        const Param *p = o->params[i];
        if (!g || (dtype_is_float(g->type.dtype) && type_same_dims(&g->type, &p->value->type)))
            continue;
        char have[200], got[200];
        return FAIL(VALUE, "optimizer %s: parameter '%s' is %s, its gradient %s", o->op->name,
                    p->name, type_text(&p->value->type, have, sizeof have),
                    type_text(&g->type, got, sizeof got));
    }
    return OK;
}

/* The parameters that have a gradient, all or none. */
static Status update_all(Optimizer *o, Tensor *const *grads) {
    ParamUpdate *updates = calloc((size_t)o->nparams + 1, sizeof *updates);
    if (!updates) abort(); /* bookkeeping */
    Tensor *numbers[PARAM_NUMBERS_MAX];
    for (int i = 0; i < o->nnumbers; i++) {
        if (capture_is_on()) capture_touch(o->numbers[i]);
        numbers[i] = o->numbers[i]->value;
    }
    int n = 0;
    for (int i = 0; i < o->nparams; i++) {
        if (!grads[i]) continue;
        ParamUpdate *u = &updates[n++];
        u->param = o->params[i];
        u->grad = grads[i];
        u->numbers = numbers;
        for (int k = 0; k < o->nstate; k++) u->state[k] = o->states[i * o->nstate + k];
    }
    UpdateRule rule = {o->op, o->attrs, o->nstate, o->nnumbers};
    Status status = params_update(&rule, n, updates);
    free(updates);
    return status;
}

Status optimizer_apply(Optimizer *o, Tensor *const *grads) {
    TRY(check_grads(o, grads));
    AUTO_TENSOR one = NULL;
    AUTO_TENSOR next = NULL;
    if (o->step >= 0) {
        TRY(new_number(o, 1, &one));
        TRY(dispatch2(OP_add, NULL, o->numbers[o->step]->value, one, &next));
    }
    TRY(update_all(o, grads));
    return next ? param_assign(o->numbers[o->step], next) : OK;
}

Status optimizer_step(Optimizer *o) {
    Tensor **grads = calloc((size_t)o->nparams + 1, sizeof *grads);
    if (!grads) abort(); /* bookkeeping */
    int have = 0;
    for (int i = 0; i < o->nparams; i++) {
        grads[i] = o->params[i]->grad;
        have += grads[i] != NULL;
    }
    Status status = have ? optimizer_apply(o, grads)
                         : FAIL(RUNTIME,
                                "optimizer %s: no parameter has a gradient (take one with "
                                "backward first)",
                                o->op->name);
    for (int i = 0; i < o->nparams && status == OK; i++) param_set_grad(o->params[i], NULL);
    free(grads);
    return status;
}
