/* Optimiser steps: every result has the type of the input it replaces. */
#include <stdio.h>

#include "ops/functions.h"

static Status wrong(const OpCall *c, int i, const char *must) {
    SigInput names[16];
    op_signature(c->op, names);
    char got[200];
    return FAIL(VALUE, "%s: %s is %s; it must be %s", c->op->name, names[i].name,
                type_text(c->in[i], got, sizeof got), must);
}

/* Parameter, states and gradient. */
static Status check_array(const OpCall *c, int i) {
    if (!dtype_is_float(c->in[i]->dtype)) return wrong(c, i, "of a float dtype");
    if (type_same_dims(c->in[i], c->in[0])) return OK;
    char like[200], must[240];
    snprintf(must, sizeof must, "of the same sizes as param, %s",
             type_text(c->in[0], like, sizeof like));
    return wrong(c, i, must);
}

Status infer_update(const OpCall *c, TensorType *out) {
    for (int i = 0; i <= c->nout; i++) TRY(check_array(c, i));
    for (int i = c->nout + 1; i < c->nin; i++)
        if (type_count(c->in[i]) != 1 || c->in[i]->dtype == DT_bool)
            return wrong(c, i, "one number");
    for (int i = 0; i < c->nout; i++) out[i] = *c->in[i];
    return OK;
}
