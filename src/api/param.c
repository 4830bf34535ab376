/* The public face of parameters and optimisers. */
#include "eager/param.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "eager/optimizer.h"
#include "io/safetensors.h"

dip_Status dip_param(const char *name, const dip_Tensor *value, dip_Param **out) {
    NEED("param", name, "name");
    NEED("param", value, "value");
    NEED("param", out, "out");
    *out = param_new(name, value);
    return OK;
}

dip_Param *dip_param_ref(dip_Param *p) { return p ? param_ref(p) : NULL; }
void dip_param_unref(dip_Param *p) { param_unref(p); }
const char *dip_param_name(const dip_Param *p) { return p ? p->name : NULL; }
dip_Tensor *dip_param_peek(const dip_Param *p) { return p ? p->value : NULL; }
dip_Tensor *dip_param_grad_peek(const dip_Param *p) { return p ? p->grad : NULL; }

dip_Status dip_param_assign(dip_Param *p, const dip_Tensor *value) {
    NEED("param_assign", p, "p");
    NEED("param_assign", value, "value");
    return param_assign(p, value);
}

dip_Status dip_param_require_grad(dip_Param *p, bool on) {
    NEED("param_require_grad", p, "p");
    return param_require_grad(p, on);
}

static Status check_list(const char *call, int n, dip_Param *const *params) {
    if (n < 0 || (n && !params))
        return FAIL(VALUE, "%s: %d parameters, params %s", call, n, params ? "given" : "NULL");
    for (int i = 0; i < n; i++)
        if (!params[i]) return FAIL(VALUE, "%s: parameter %d is NULL", call, i);
    return OK;
}

dip_Status dip_zero_grad(int n, dip_Param *const *params) {
    TRY(check_list("zero_grad", n, params));
    for (int i = 0; i < n; i++) TRY(param_set_grad(params[i], NULL));
    return OK;
}

/* ---- files */

dip_Status dip_params_save(const char *path, int n, dip_Param *const *params) {
    NEED("params_save", path, "path");
    TRY(check_list("params_save", n, params));
    NamedTensor *items = calloc((size_t)n + 1, sizeof *items);
    if (!items) return FAIL(NOMEM, "params_save: no memory for %d names", n);
    for (int i = 0; i < n; i++) items[i] = (NamedTensor){params[i]->name, params[i]->value};
    Status status = safetensors_save(path, n, items, NULL);
    free(items);
    return status;
}

/* The tensor of this name; its type must be `like`. */
static Status find_like(const Archive *a, const char *path, const char *name,
                        const TensorType *like, Tensor **out) {
    Tensor *t = dip_archive_find_peek(a, name);
    if (!t) return FAIL(VALUE, "%s: there is no tensor '%s'", path, name);
    if (!type_equal(&t->type, like)) {
        char have[200], want[200];
        return FAIL(VALUE, "%s: '%s' is %s; it must be %s", path, name,
                    type_text(&t->type, have, sizeof have), type_text(like, want, sizeof want));
    }
    *out = t;
    return OK;
}

static Status assign_all(const Archive *a, const char *path, int n, dip_Param *const *params) {
    Tensor *t;
    for (int i = 0; i < n; i++)
        TRY(find_like(a, path, params[i]->name, &params[i]->value->type, &t));
    for (int i = 0; i < n; i++) {
        TRY(find_like(a, path, params[i]->name, &params[i]->value->type, &t));
        TRY(param_assign(params[i], t));
    }
    return OK;
}

dip_Status dip_params_load(const char *path, int n, dip_Param *const *params) {
    NEED("params_load", path, "path");
    TRY(check_list("params_load", n, params));
    Archive *a;
    TRY(safetensors_load(path, &a));
    Status status = assign_all(a, path, n, params);
    archive_free(a);
    return status;
}

/* ---- optimisers */

dip_Status dip_optimizer(const char *rule, const char *settings, int n, dip_Param *const *params,
                         dip_Optimizer **out) {
    NEED("optimizer", rule, "rule");
    NEED("optimizer", out, "out");
    TRY(check_list("optimizer", n, params));
    const Op *op = op_find(rule);
    if (!op) return FAIL(VALUE, "optimizer: there is no op '%s'", rule);
    return optimizer_new(op, settings, n, params, out);
}

void dip_optimizer_free(dip_Optimizer *o) { optimizer_free(o); }

dip_Status dip_optimizer_step(dip_Optimizer *o) {
    NEED("optimizer_step", o, "o");
    return optimizer_step(o);
}

dip_Status dip_optimizer_apply(dip_Optimizer *o, dip_Tensor *const *grads) {
    NEED("optimizer_apply", o, "o");
    NEED("optimizer_apply", grads, "grads");
    return optimizer_apply(o, grads);
}

dip_Status dip_optimizer_set(dip_Optimizer *o, const char *number, double value) {
    NEED("optimizer_set", o, "o");
    NEED("optimizer_set", number, "number");
    return optimizer_set(o, number, value);
}

dip_Status dip_optimizer_get(const dip_Optimizer *o, const char *number, double *out) {
    NEED("optimizer_get", o, "o");
    NEED("optimizer_get", number, "number");
    NEED("optimizer_get", out, "out");
    return optimizer_get(o, number, out);
}

/* A state is saved as "PARAMETER.STATE", the step number as "step". */
static void state_name(const Optimizer *o, int i, char *buf, size_t size) {
    snprintf(buf, size, "%s.%s", o->params[i / o->nstate]->name,
             optimizer_state_name(o, i % o->nstate));
}

enum { NAME_MAX_BYTES = 256 };

dip_Status dip_optimizer_save(const dip_Optimizer *o, const char *path) {
    NEED("optimizer_save", o, "o");
    NEED("optimizer_save", path, "path");
    int n = o->nparams * o->nstate;
    NamedTensor *items = calloc((size_t)n + 1, sizeof *items);
    char(*names)[NAME_MAX_BYTES] = calloc((size_t)n + 1, sizeof *names);
    Status status = items && names ? OK : FAIL(NOMEM, "optimizer_save: no memory for names");
    for (int i = 0; i < n && status == OK; i++) {
        state_name(o, i, names[i], sizeof names[i]);
        items[i] = (NamedTensor){names[i], o->states[i]->value};
    }
    if (status == OK && o->step >= 0) items[n] = (NamedTensor){"step", o->numbers[o->step]->value};
    if (status == OK) status = safetensors_save(path, n + (o->step >= 0), items, NULL);
    free(items);
    free(names);
    return status;
}

/* Finds everything before anything changes. */
static Status find_states(const Optimizer *o, const Archive *a, const char *path, Tensor **found) {
    int n = o->nparams * o->nstate;
    for (int i = 0; i < n; i++) {
        char name[NAME_MAX_BYTES];
        state_name(o, i, name, sizeof name);
        TRY(find_like(a, path, name, &o->states[i]->value->type, &found[i]));
    }
    if (o->step >= 0) TRY(find_like(a, path, "step", &o->numbers[o->step]->value->type, &found[n]));
    return OK;
}

static Status take_states(Optimizer *o, Tensor *const *found) {
    int n = o->nparams * o->nstate;
    double step = 1;
    if (o->step >= 0) TRY(dip_item(found[n], &step));
    if (o->step >= 0) TRY(optimizer_set(o, "step", step));
    for (int i = 0; i < n; i++) TRY(param_assign(o->states[i], found[i]));
    return OK;
}

dip_Status dip_optimizer_load(dip_Optimizer *o, const char *path) {
    NEED("optimizer_load", o, "o");
    NEED("optimizer_load", path, "path");
    Archive *a;
    TRY(safetensors_load(path, &a));
    Tensor **found = calloc((size_t)(o->nparams * o->nstate) + 1, sizeof *found);
    Status status =
        found ? find_states(o, a, path, found) : FAIL(NOMEM, "optimizer_load: no memory for names");
    if (status == OK) status = take_states(o, found);
    free(found);
    archive_free(a);
    return status;
}
