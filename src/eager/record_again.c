/* Doing again what was recorded, in another capture and with inputs of other sizes. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eager/dispatch.h"
#include "eager/gradients.h"
#include "eager/recording.h"

typedef struct Again {
    const Recording *r;
    Capture *c;
    Tensor *const *given; /* what the inputs are like */
    int ngiven, ninputs;
    Tensor **handles; /* of each slot */
    Number *values;   /* of each size, once known */
    bool *is_known;
    RegionId *regions; /* of each region recorded */
    Loop *loops;       /* of each region: the loop whose condition it was */
    uint32_t nregions, line;
} Again;

/* ---- what the sizes are now */

/* Sizes are made after what they are computed from. */
static Status size_now(Again *a, SizeId id, Number *out) {
    const Size *size = &a->r->sizes[id];
    bool good = true;
    if (!a->is_known[id]) {
        Number value = size->value;
        if (size->op == SIZE_DIM) {
            value = number_int(a->handles[size->slot]->type.dims[size->axis]);
        } else if (size->op != SIZE_CONST) {
            Number x, y;
            TRY(size_now(a, size->a, &x));
            TRY(size_now(a, size->b, &y));
            value = size_compute(size->op, x, y, &good);
        }
        if (!good) return FAIL(VALUE, "a size cannot be computed for these sizes");
        a->values[id] = value;
        a->is_known[id] = true;
    }
    *out = a->values[id];
    return OK;
}

static Status check_guard(Again *a, const Command *c) {
    static const char *const signs[] = {"<", "<=", "==", "!=", ">", ">="};
    Number x, y;
    TRY(size_now(a, (SizeId)c->b, &x));
    TRY(size_now(a, (SizeId)c->c, &y));
    if (size_compare((Comparison)c->a, x, y) == c->answer) return OK;
    return FAIL(VALUE, "a size of %g %s %g is %s now", x.d, signs[c->a], y.d,
                c->answer ? "false" : "true");
}

/* ---- operands and results */

static Tensor *operand(const Again *a, const Operand *o) {
    return o->slot ? a->handles[o->slot] : o->constant;
}

static Tensor **operands(const Again *a, const Command *c) {
    Tensor **in = checked(calloc((size_t)c->nin + 1, sizeof *in));
    for (int i = 0; i < c->nin; i++) in[i] = operand(a, &a->r->operands[c->in + (uint32_t)i]);
    return in;
}

/* Results are what the caller built upon: of the same dtype and rank, and there where one was. */
static Status take_results(Again *a, const Command *c, Tensor *const *out) {
    for (int i = 0; i < c->nout; i++) a->handles[c->out + (uint32_t)i] = out[i];
    for (int i = 0; i < c->nout; i++) {
        const SlotInfo *s = &a->r->slots[c->out + (uint32_t)i];
        if (s->is_none != !out[i]) return FAIL(VALUE, "a gradient appears or disappears");
        if (s->is_none) continue;
        if (out[i]->type.dtype == s->type.dtype && out[i]->type.rank == s->type.rank) continue;
        char before[200], now[200];
        return FAIL(VALUE, "a result is %s, it was %s", type_text(&out[i]->type, now, sizeof now),
                    type_text(&s->type, before, sizeof before));
    }
    return OK;
}

/* ---- commands */

static Status again_input(Again *a, const Command *c, Tensor **out) {
    (void)c;
    if (a->ninputs == a->ngiven) return FAIL(INTERNAL, "an input is missing");
    out[0] = capture_input(a->c, &a->given[a->ninputs++]->type);
    return OK;
}

static Status again_call(Again *a, const Command *c, Tensor *const *in, Tensor **out) {
    int64_t attrs[128];
    if (c->op->attrs_size) memcpy(attrs, c->attrs, c->op->attrs_size);
    for (int i = 0; i < c->npatches; i++) {
        const SizePatch *p = &a->r->patches[c->patch + (uint32_t)i];
        Number now;
        TRY(size_now(a, p->size, &now));
        size_patch(attrs, p, now);
    }
    if (!c->failed && dispatch_nout(c->op, attrs, c->nin, in) != c->nout)
        return FAIL(VALUE, "%s gives another number of results", c->op->name);
    capture_force(a->c, c->npatches > 0);
    Status status = dispatch(c->op, attrs, c->nin, in, out);
    capture_force(a->c, false);
    return status;
}

static Status again_number(Again *a, const Command *c, Tensor **out) {
    AUTO_TENSOR number = NULL;
    Number now;
    TRY(size_now(a, (SizeId)c->b, &now));
    TensorType type = {.dtype = (uint8_t)c->a};
    TRY(tensor_fill(&type, now.d, &number));
    out[0] = capture_symbolic(number);
    return OK;
}

static Status again_param(Again *a, const Command *c, Tensor **out) {
    Param *p = a->r->params[c->param];
    capture_touch(p);
    if (c->kind == REC_PARAM) {
        out[0] = tensor_ref(p->value);
        out[1] = p->grad ? tensor_ref(p->grad) : NULL;
        return OK;
    }
    for (uint32_t i = 0; i < capture_nparams(a->c); i++)
        if (capture_param(a->c, i) == p) capture_entry(a->c, i, &out[0], &out[1]);
    return OK;
}

static Status again_gradients(const Command *c, Tensor *const *in, Tensor **out) {
    GradientsArgs g = {(int)c->a,     (int)c->b, in,       in + c->a,
                       in + 2 * c->a, c->c & 1,  c->c & 2, c->c & 4};
    return tape_gradients(&g, out);
}

static Status again_update(const Again *a, const Command *c, Tensor *const *in) {
    ParamUpdate *updates = checked(calloc((size_t)c->a + 1, sizeof *updates));
    Param *const *p = a->r->params + c->param;
    for (int64_t i = 0; i < c->a; i++) {
        updates[i].param = *p++;
        updates[i].grad = in[i * (1 + c->c)];
        updates[i].numbers = in + i * (1 + c->c) + 1;
        for (int64_t k = 0; k < c->b; k++) updates[i].state[k] = *p++;
    }
    UpdateRule rule = {c->op, c->attrs, (int)c->b, (int)c->c};
    Status status = params_update(&rule, (int)c->a, updates);
    free(updates);
    return status;
}

static RegionId region(const Again *a, int64_t id) { return id ? a->regions[id] : 0; }

static Status again_if(const Again *a, const Command *c, Tensor *const *in, Tensor **out) {
    int n = (c->nin - 1) / 2;
    Side then = {region(a, c->a), in + 1}, other = {region(a, c->b), in + 1 + n};
    return capture_if(a->c, in[0], then, other, n, out);
}

static Status again_loop(Again *a, const Command *c, Tensor *const *in, Tensor **out) {
    Loop *loop = &a->loops[c->a];
    Status status = capture_loop(a->c, c->nin, in, loop, out);
    if (status != OK) return status;
    a->regions[c->a] = loop->condition;
    a->regions[c->b] = loop->body;
    return OK;
}

static Status again_host(const Again *a, const Command *c, Tensor *const *in, Tensor **out) {
    TensorType *types = checked(calloc((size_t)c->nout + 1, sizeof *types));
    for (int i = 0; i < c->nout; i++) types[i] = a->r->slots[c->out + (uint32_t)i].type;
    Status status = capture_host_again(a->c, c->host, c->nin, in, c->nout, types, out);
    free(types);
    return status;
}

static Status again_tape(Again *a, const Command *c, Tensor *const *in, Tensor **out) {
    Param *p = c->kind == REC_ASSIGN || c->kind == REC_SET_GRAD ? a->r->params[c->param] : NULL;
    switch ((RecordKind)c->kind) {
    case REC_ALIAS: out[0] = tensor_alias(in[0]); return OK;
    case REC_VARIABLE: return tape_variable(in[0], &out[0]);
    case REC_GRADIENTS: return again_gradients(c, in, out);
    case REC_BACKWARD: return param_backward(in[0], in[1], c->a, c->b);
    case REC_UPDATE: return again_update(a, c, in);
    case REC_ASSIGN: return param_assign(p, in[0]);
    case REC_SET_GRAD: return param_set_grad(p, in[0]);
    default: return again_param(a, c, out);
    }
}

static Status again_flow(Again *a, const Command *c, Tensor *const *in, Tensor **out) {
    switch ((RecordKind)c->kind) {
    case REC_REGION: a->regions[c->a] = capture_region(a->c, region(a, c->b)); return OK;
    case REC_ENTER: capture_enter(a->c, region(a, c->a)); return OK;
    case REC_LEAVE: capture_leave(a->c); return OK;
    case REC_IF: return again_if(a, c, in, out);
    case REC_LOOP: return again_loop(a, c, in, out);
    case REC_WHILE: return capture_while(a->c, &a->loops[c->a], in[0], in + 1, out);
    case REC_RECOMPUTE: capture_recompute(a->c); return OK; /* parts are numbered alike */
    case REC_RECOMPUTED: capture_recomputed(a->c, (uint32_t)c->a, c->nin, in); return OK;
    default: return again_host(a, c, in, out);
    }
}

static Status carry_out(Again *a, const Command *c, Tensor *const *in, Tensor **out) {
    switch ((RecordKind)c->kind) {
    case REC_INPUT: return again_input(a, c, out);
    case REC_CALL: return again_call(a, c, in, out);
    case REC_GUARD: return check_guard(a, c);
    case REC_NUMBER: return again_number(a, c, out);
    case REC_REGION:
    case REC_ENTER:
    case REC_LEAVE:
    case REC_IF:
    case REC_LOOP:
    case REC_WHILE:
    case REC_RECOMPUTE:
    case REC_RECOMPUTED:
    case REC_HOST: return again_flow(a, c, in, out);
    default: return again_tape(a, c, in, out);
    }
}

static Status again(Again *a, const Command *c) {
    if (c->line != a->line) {
        capture_line(a->c, &a->r->graph->lines[c->line]);
        a->line = c->line;
    }
    tape_set(c->tape);
    Tensor **in = operands(a, c), **out = checked(calloc((size_t)c->nout + 1, sizeof *out));
    Status status = carry_out(a, c, in, out);
    if (status == OK && c->failed) {
        for (int i = 0; i < c->nout; i++) tensor_unref(out[i]);
        status = FAIL(VALUE, "a call that failed succeeds now");
    } else if (status == OK) {
        status = take_results(a, c, out);
    } else if (c->failed) {
        error_clear();
        status = OK;
    }
    free(in);
    free(out);
    const Line *line = &a->r->graph->lines[c->line];
    if (status != OK && c->line) error_prefix("%s:%d: ", line->file, line->line);
    return status;
}

/* ---- the whole */

static void done(Again *a) {
    for (Slot s = 1; s < a->r->nslots; s++) tensor_unref(a->handles[s]);
    for (uint32_t i = 0; i < a->nregions; i++) loop_done(&a->loops[i]);
    free(a->handles);
    free(a->values);
    free(a->is_known);
    free(a->regions);
    free(a->loops);
}

static uint32_t count_regions(const Recording *r) {
    int64_t most = BODY;
    for (uint32_t i = 0; i < r->ncommands; i++) {
        const Command *c = &r->commands[i];
        if (c->kind == REC_REGION || c->kind == REC_LOOP) most = max_i64(most, c->a);
        if (c->kind == REC_LOOP) most = max_i64(most, c->b);
    }
    return (uint32_t)most + 1;
}

static void give_back(const Again *a, int n, const Operand *list, Tensor **out) {
    for (int i = 0; i < n; i++) {
        Tensor *t = operand(a, &list[i]);
        out[i] = t ? tensor_ref(t) : NULL;
    }
}

Status record_again(Recording *r, Capture *c, int n, Tensor *const *in, Tensor **inputs,
                    Tensor **outputs) {
    Again a = {.r = r, .c = c, .given = in, .ngiven = n};
    a.handles = checked(calloc(r->nslots, sizeof *a.handles));
    a.values = checked(calloc(r->nsizes, sizeof *a.values));
    a.is_known = checked(calloc(r->nsizes, sizeof *a.is_known));
    a.nregions = count_regions(r);
    a.regions = checked(calloc(a.nregions, sizeof *a.regions));
    a.regions[BODY] = BODY;
    a.loops = checked(calloc(a.nregions, sizeof *a.loops));
    bool was = tape_set(true);
    Status status = OK;
    for (uint32_t i = 0; i < r->ncommands && status == OK; i++) status = again(&a, &r->commands[i]);
    tape_set(was);
    if (status == OK) {
        give_back(&a, r->ninputs, r->inputs, inputs);
        give_back(&a, r->noutputs, r->outputs, outputs);
    }
    done(&a);
    return status;
}
