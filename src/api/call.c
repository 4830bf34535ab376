/* Calls by name, and what the op table says. */
#include <string.h>

#include "api/api.h"
#include "eager/dispatch.h"
#include "kernels/loops.h"
#include "tensor/pool.h"

enum { MAX_INPUTS = 16, MAX_ATTRS = 1024 };

/* Elementwise rows and the rules SAME and FLOAT promote, so a number must not widen its
 * neighbours; the others read numbers in any dtype. */
static DType number_dtype(const Op *op, const Tensor *like, double value) {
    if (!like || (op->rule == RULE_FREE && op->kind != K_EWISE)) return DT_f64;
    bool whole = value == (double)(int64_t)(value > -1e15 && value < 1e15 ? value : 0);
    return dtype_promote_weak(like->type.dtype, whole ? KIND_INT : KIND_FLOAT);
}

Status api_number(const Op *op, const Tensor *like, double value, Tensor **out) {
    DType d = number_dtype(op, like, value);
    Tensor *t;
    TRY(tensor_new(&(TensorType){.dtype = (uint8_t)d}, op->name, &t));
    loops(DT_f64)->store[d](1, t->data, &value);
    *out = t;
    return OK;
}

/* ---- running */

static Status run_counted(const Op *op, const void *attrs, int nin, Tensor *const *in, int nout,
                          Tensor **out) {
    if (nin < op->nin_min || (op->nin_max != NIN_ANY && nin > op->nin_max))
        return FAIL(TYPE, "%s: got %d inputs; it takes (%s)", op->name, nin, op->sig);
    for (int i = 0; i < nin; i++)
        if (!in[i] && (i < op->nin_min || op->nin_max == NIN_ANY))
            return FAIL(TYPE, "%s: input %d is NULL; it takes (%s)", op->name, i, op->sig);
    int have = dispatch_nout(op, attrs, nin, in);
    if (have != nout)
        return FAIL(VALUE, "%s gives %d results here, room was given for %d", op->name, have, nout);
    return dispatch(op, attrs, nin, in, out);
}

/* Fills the places of the weak inputs that are missing; made[] owns what was made. */
static Status fill_weak(const Op *op, const SigInput *sig, int ninputs, Tensor **in,
                        Tensor **made) {
    for (int i = 0; i < ninputs; i++) {
        if (in[i] || !sig[i].is_weak) continue;
        TRY(api_number(op, in[0], sig[i].weak_default, &made[i]));
        in[i] = made[i];
    }
    return OK;
}

Status api_run(const Op *op, const void *attrs, int nin, Tensor *const *in, int nout,
               Tensor **out) {
    if (!op->takes_numbers || nin > op->nin_max) return run_counted(op, attrs, nin, in, nout, out);
    SigInput sig[MAX_INPUTS];
    int ninputs = op_signature(op, sig);
    Tensor *all[MAX_INPUTS] = {0}, *made[MAX_INPUTS] = {0};
    memcpy(all, in, (size_t)nin * sizeof *in);
    Status status = fill_weak(op, sig, ninputs, all, made);
    if (status == OK) status = run_counted(op, attrs, ninputs, all, nout, out);
    for (int i = 0; i < ninputs; i++) tensor_unref(made[i]);
    return status;
}

Status api_run_numbers(const ApiCall *c, Tensor **out) {
    NEED(c->op->name, out, "out");
    Tensor *made[MAX_INPUTS] = {0};
    int first = c->nin - c->nnumbers;
    Status status = OK;
    for (int i = 0; i < c->nnumbers && status == OK; i++) {
        status = api_number(c->op, first ? c->in[0] : NULL, c->numbers[i], &made[i]);
        c->in[first + i] = made[i];
    }
    if (status == OK) status = run_counted(c->op, c->attrs, c->nin, c->in, c->nout, out);
    for (int i = 0; i < c->nnumbers; i++) tensor_unref(made[i]);
    return status;
}

Status api_run_list(const ApiCall *c, int n, Tensor *const *list, Tensor **out) {
    const char *name = c->op->name;
    NEED(name, out, "out");
    if (n < 0 || (n && !list))
        return FAIL(VALUE, "%s: the list of %d tensors is %s", name, n, list ? "given" : "NULL");
    if (c->nin == 0) return run_counted(c->op, c->attrs, n, list, c->nout, out);
    size_t nbytes = ((size_t)c->nin + (size_t)n) * sizeof *list;
    Tensor **all = pool_small(nbytes);
    memcpy(all, c->in, (size_t)c->nin * sizeof *all);
    memcpy(all + c->nin, list, (size_t)n * sizeof *all);
    Status status = run_counted(c->op, c->attrs, c->nin + n, all, c->nout, out);
    pool_small_free(all, nbytes);
    return status;
}

Status api_text(const char *op, const char *attr, const char *text, char *into) {
    if (!text) return FAIL(VALUE, "%s: attribute '%s' is NULL", op, attr);
    if (strlen(text) >= ATTR_STR_MAX)
        return FAIL(VALUE, "%s: attribute '%s' is longer than %d characters", op, attr,
                    ATTR_STR_MAX - 1);
    memset(into, 0, ATTR_STR_MAX);
    strcpy(into, text);
    return OK;
}

Status api_ints(const char *op, const char *attr, const dip_Ints *list, IntList *into) {
    if (list->n < -1 || list->n > ATTR_LIST_MAX)
        return FAIL(VALUE, "%s: attribute '%s' has %lld entries; at most %d are legal", op, attr,
                    (long long)list->n, ATTR_LIST_MAX);
    memset(into, 0, sizeof *into);
    into->n = list->n;
    for (int64_t i = 0; i < list->n; i++) into->v[i] = list->v[i];
    return OK;
}

dip_Status dip_call(const char *name, int nin, dip_Tensor *const *in, const char *attrs, int nout,
                    dip_Tensor **out) {
    NEED("call", name, "name");
    const Op *op = op_find(name);
    if (!op || op->hidden) return FAIL(VALUE, "call: there is no op '%s'", name);
    if (nin < 0 || nout < 0 || (nin && !in) || (nout && !out))
        return FAIL(VALUE, "%s: in and out must not be NULL, their numbers not negative", name);
    int64_t values[MAX_ATTRS / sizeof(int64_t)];
    attrs_init(op, values);
    TRY(attrs_parse(op, attrs ? attrs : "", values));
    return api_run(op, values, nin, in, nout, out);
}

/* ---- the table */

int64_t dip_op_count(void) { return op_public_count(); }

static Status public_op(int64_t i, const Op **out) {
    *out = op_public(i);
    if (*out) return OK;
    return FAIL(INDEX, "op: there is no op %lld; legal: 0 to %lld", (long long)i,
                (long long)dip_op_count() - 1);
}

dip_Status dip_op_info(int64_t i, dip_OpInfo *out) {
    NEED("op_info", out, "out");
    const Op *op;
    TRY(public_op(i, &op));
    *out = (dip_OpInfo){
        op->name, op->prim, op->sig, op->doc, op->nout, op->nattrs, op_is_differentiable(op)};
    return OK;
}

dip_Status dip_op_attr(int64_t i, int attr, dip_AttrInfo *out) {
    static const char *const kinds[] = {
        [ATTR_INT] = "int",     [ATTR_FLT] = "float", [ATTR_BOOL] = "bool",
        [ATTR_DTYPE] = "dtype", [ATTR_INTS] = "ints", [ATTR_STR] = "str"};
    NEED("op_attr", out, "out");
    const Op *op;
    TRY(public_op(i, &op));
    if (attr < 0 || attr >= op->nattrs)
        return FAIL(INDEX, "op_attr: %s has %d attributes, %d was asked for", op->name, op->nattrs,
                    attr);
    const AttrSpec *spec = &op->attrs[attr];
    *out = (dip_AttrInfo){spec->name, kinds[spec->kind], spec->preset};
    return OK;
}
