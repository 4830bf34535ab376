/* Recording: commands, the tensors they give, and where operands come from. */
#include "eager/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eager/recording.h"

#define GROW(r, name) array_grow(&(r)->name, (r)->n##name, &(r)->cap_##name, 32, sizeof *(r)->name)

/* ---- life */

static atomic_ullong numbers;

void record_start(Capture *c) {
    Recording *r = checked(calloc(1, sizeof *r));
    r->refs = 1;
    r->number = atomic_fetch_add(&numbers, 1) + 1;
    r->capture = c;
    r->graph = graph_ref(capture_graph(c));
    GROW(r, slots);
    GROW(r, sizes);
    r->nslots = r->nsizes = 1; /* 0 is none */
    r->slots[0] = (SlotInfo){0};
    r->sizes[0] = (Size){0};
    capture_set_recording(c, r);
}

Recording *recording_ref(Recording *r) {
    r->refs++;
    return r;
}

static void forget_handles(Recording *r) {
    for (Slot s = 1; s < r->nslots; s++) {
        tensor_unref(r->slots[s].handle);
        r->slots[s].handle = NULL;
    }
    free(r->by_value);
    free(r->by_handle);
    free(r->pending);
    r->by_value = r->by_handle = NULL;
    r->pending = NULL;
    r->capture = NULL;
}

static void drop_operands(Operand *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) tensor_unref(list[i].constant);
    free(list);
}

void recording_unref(Recording *r) {
    if (!r || --r->refs) return;
    forget_handles(r);
    for (uint32_t i = 0; i < r->ncommands; i++) {
        free(r->commands[i].attrs);
        if (r->commands[i].host) host_unref(r->commands[i].host);
    }
    drop_operands(r->operands, r->noperands);
    drop_operands(r->inputs, (uint32_t)r->ninputs);
    drop_operands(r->outputs, (uint32_t)r->noutputs);
    for (uint32_t i = 0; i < r->nparams; i++) param_unref(r->params[i]);
    graph_unref(r->graph);
    free(r->commands);
    free(r->patches);
    free(r->slots);
    free(r->sizes);
    free(r->params);
    free(r);
}

Recording *record_now(void) {
    Recording *r = capture_now ? capture_recording(capture_now) : NULL;
    return r && !r->inside && !r->broken ? r : NULL;
}

uint64_t record_number_now(void) {
    const Recording *r = record_now();
    return r ? r->number : 0;
}
int recording_ninputs(const Recording *r) { return r->ninputs; }
int recording_noutputs(const Recording *r) { return r->noutputs; }

void record_break(const char *why) {
    Recording *r = record_now();
    if (r) r->broken = why;
}

/* ---- slots */

static size_t handle_place(const Recording *r, const Tensor *t) {
    size_t mask = r->cap_handles - 1, i = ((uintptr_t)t * 0x9e3779b97f4a7c15u >> 20) & mask;
    while (r->by_handle[i] && r->slots[r->by_handle[i]].handle != t) i = (i + 1) & mask;
    return i;
}

static void grow_handles(Recording *r) {
    if (2 * (r->nslots + 1) <= r->cap_handles) return;
    r->cap_handles = r->cap_handles ? 2 * r->cap_handles : 128;
    free(r->by_handle);
    r->by_handle = checked(calloc(r->cap_handles, sizeof *r->by_handle));
    for (Slot s = 1; s < r->nslots; s++)
        if (r->slots[s].handle) r->by_handle[handle_place(r, r->slots[s].handle)] = s;
}

static void note_value(Recording *r, Slot s, Value v) {
    if (v >= r->cap_values) {
        uint32_t n = 2 * v + 64;
        r->by_value = checked(realloc(r->by_value, n * sizeof *r->by_value));
        memset(r->by_value + r->cap_values, 0, (n - r->cap_values) * sizeof *r->by_value);
        r->cap_values = n;
    }
    r->slots[s].next = r->by_value[v];
    r->by_value[v] = s;
}

/* A slot for a result of a command; t NULL: the result is None. */
static Slot new_slot(Recording *r, Tensor *t) {
    GROW(r, slots);
    grow_handles(r);
    Slot s = r->nslots++;
    r->slots[s] = (SlotInfo){.is_none = !t};
    if (!t) return s;
    r->slots[s].type = r->slots[s].other = t->type;
    size_t at = handle_place(r, t);
    if (!r->by_handle[at]) r->by_handle[at] = s;
    r->slots[s].handle = tensor_ref(t);
    if (t->symbol) note_value(r, s, t->symbol);
    return s;
}

static Slot known_slot(const Recording *r, const Tensor *t) {
    return r->cap_handles ? r->by_handle[handle_place(r, t)] : 0;
}

/* ---- commands */

static Command *new_command(Recording *r, RecordKind kind) {
    GROW(r, commands);
    Command *c = &r->commands[r->ncommands++];
    *c = (Command){.kind = (uint8_t)kind, .tape = tape_is_on(), .in = r->noperands};
    c->line = capture_present_line(r->capture);
    c->patch = r->npatches;
    c->param = r->nparams;
    return c;
}

static void add_operand(Recording *r, Operand o) {
    GROW(r, operands);
    r->operands[r->noperands++] = o;
}

static void add_param(Recording *r, Param *p) {
    GROW(r, params);
    r->params[r->nparams++] = param_ref(p);
}

/* The value and gradient of p as slots: at present (REC_PARAM) or as the capture met them. */
static void see(Recording *r, RecordKind kind, Param *p, Tensor *value, Tensor *grad) {
    Command *c = new_command(r, kind);
    add_param(r, p);
    c->nout = 2;
    c->out = new_slot(r, value);
    new_slot(r, grad);
}

void record_see(Param *p) {
    Recording *r = record_now();
    if (!r) return;
    capture_touch(p);
    see(r, REC_PARAM, p, p->value, p->grad);
}

static Slot alias_slot(Recording *r, Slot of, Tensor *t) {
    Command *c = new_command(r, REC_ALIAS);
    c->nin = c->nout = 1;
    add_operand(r, (Operand){of, NULL});
    Slot s = new_slot(r, t);
    r->commands[r->ncommands - 1].out = s;
    const SlotInfo from = r->slots[of];
    r->slots[s].other = from.other;
    r->slots[s].varies = from.varies;
    r->slots[s].is_blurred = from.is_blurred;
    return s;
}

/* A handle that no command gave: another one on a known value. */
static Slot slot_by_value(Recording *r, Tensor *t) {
    Slot first = t->symbol < r->cap_values ? r->by_value[t->symbol] : 0;
    for (Slot s = first; s; s = r->slots[s].next) {
        const Tensor *known = r->slots[s].handle;
        if (known->link == t->link && (!t->link || known->output == t->output)) return s;
    }
    return first && !t->link ? alias_slot(r, first, t) : 0;
}

/* What a parameter held when the capture met it. */
static bool see_entry(Recording *r, const Tensor *t) {
    for (uint32_t i = 0; i < capture_nparams(r->capture); i++) {
        Tensor *value, *grad;
        capture_entry(r->capture, i, &value, &grad);
        bool found = value->symbol == t->symbol || (grad && grad->symbol == t->symbol);
        if (found) see(r, REC_ENTRY, capture_param(r->capture, i), value, grad);
        tensor_unref(value);
        tensor_unref(grad);
        if (found) return true;
    }
    return false;
}

Operand recording_operand(Recording *r, Tensor *t) {
    if (!t) return (Operand){0};
    Param *p = t->holder;
    if (p && !t->symbol) { /* a handle on the first value means the present one */
        capture_touch(p);
        t = p->value;
    }
    Slot s = known_slot(r, t);
    if (s) return (Operand){s, NULL};
    if (p && p->value == t) {
        see(r, REC_PARAM, p, p->value, p->grad);
        return (Operand){known_slot(r, t), NULL};
    }
    if (!t->symbol) return (Operand){0, tensor_ref(t)};
    s = capture_owns(r->capture, t) ? slot_by_value(r, t) : 0;
    if (!s && capture_owns(r->capture, t) && see_entry(r, t)) s = slot_by_value(r, t);
    if (!s && !r->broken) r->broken = "a tensor was made in a way that is not recorded";
    return (Operand){s, NULL};
}

static Command *open_command(Recording *r) { return &r->commands[r->ncommands - 1]; }

bool record_open(RecordKind kind, int nin, Tensor *const *in) {
    Recording *r = record_now();
    if (!r) return false;
    Operand *list = checked(calloc((size_t)nin + 1, sizeof *list));
    for (int i = 0; i < nin; i++)
        list[i] = recording_operand(r, in[i]); /* may add commands of its own */
    new_command(r, kind)->nin = nin;
    for (int i = 0; i < nin; i++) add_operand(r, list[i]);
    free(list);
    r->inside++;
    return true;
}

/* ---- what results are like for other sizes */

static bool any_varies(const Recording *r, const Command *c, bool *blurred) {
    bool varies = c->npatches > 0;
    *blurred = false;
    for (int i = 0; i < c->nin; i++) {
        Slot s = r->operands[c->in + (uint32_t)i].slot;
        if (!s) continue;
        varies |= r->slots[s].varies != 0;
        *blurred |= r->slots[s].is_blurred;
    }
    return varies;
}

static void *patched_attributes(const Recording *r, const Command *c) {
    char *attrs = checked(malloc(c->op->attrs_size + 1));
    if (c->op->attrs_size) memcpy(attrs, c->attrs, c->op->attrs_size);
    for (int i = 0; i < c->npatches; i++) {
        const SizePatch *p = &r->patches[c->patch + (uint32_t)i];
        size_patch(attrs, p, r->sizes[p->size].other);
    }
    return attrs;
}

/* Infers the call's results once more, for the other sizes; false: they are refused. */
static bool infer_others(const Recording *r, const Command *c, TensorType *out) {
    int nin = c->op->nin_max == NIN_ANY || c->nin > c->op->nin_max ? c->nin : c->op->nin_max;
    const TensorType **in = checked(calloc((size_t)nin + 1, sizeof *in));
    for (int i = 0; i < c->nin; i++) {
        const Operand *o = &r->operands[c->in + (uint32_t)i];
        in[i] = o->slot ? &r->slots[o->slot].other : o->constant ? &o->constant->type : NULL;
    }
    void *attrs = patched_attributes(r, c);
    OpCall call = {c->op, attrs, nin, c->nout, in};
    bool same = c->op->nout >= 0 || c->op->count(&call) == c->nout;
    bool good = same && c->op->infer(&call, out) == OK;
    if (!good) error_clear();
    free(attrs);
    free(in);
    return good;
}

static void mark_call(Recording *r, const Command *c, bool blurred) {
    TensorType *out = checked(calloc((size_t)c->nout + 1, sizeof *out));
    bool good = !blurred && infer_others(r, c, out);
    for (int i = 0; i < c->nout; i++) {
        SlotInfo *s = &r->slots[c->out + (uint32_t)i];
        s->is_blurred = !good || out[i].rank != s->type.rank;
        if (s->is_blurred) {
            s->varies = UINT32_MAX;
            continue;
        }
        s->other = out[i];
        for (int k = 0; k < out[i].rank; k++)
            if (out[i].dims[k] != s->type.dims[k]) s->varies |= 1u << k;
    }
    free(out);
}

static void mark_like(Recording *r, const Command *c, int first_operand) {
    for (int i = 0; i < c->nout; i++) {
        Slot like = r->operands[c->in + (uint32_t)(first_operand + i)].slot;
        SlotInfo *s = &r->slots[c->out + (uint32_t)i];
        if (!like) continue;
        s->other = r->slots[like].other;
        s->varies = r->slots[like].varies;
        s->is_blurred = r->slots[like].is_blurred;
    }
}

static void mark_results(Recording *r, const Command *c) {
    bool blurred;
    if (!any_varies(r, c, &blurred)) return;
    if (c->kind == REC_CALL)
        mark_call(r, c, blurred);
    else if (c->kind == REC_VARIABLE || c->kind == REC_LOOP)
        mark_like(r, c, 0);
    else if (c->kind == REC_GRADIENTS)
        mark_like(r, c, (int)(2 * c->a));
    else
        for (int i = 0; i < c->nout; i++) {
            r->slots[c->out + (uint32_t)i].varies = UINT32_MAX;
            r->slots[c->out + (uint32_t)i].is_blurred = true;
        }
}

void record_close(Status status, int nout, Tensor *const *out) {
    Recording *r = capture_recording(capture_now);
    Command *c = open_command(r);
    r->inside--;
    capture_force(r->capture, false);
    c->failed = status != OK;
    if (c->failed) return;
    c->nout = nout;
    for (int i = 0; i < nout; i++) {
        Slot s = new_slot(r, out[i]);
        if (i == 0) c->out = s;
    }
    mark_results(r, c);
}

void record_numbers(int64_t a, int64_t b, int64_t c) {
    Command *open = open_command(capture_recording(capture_now));
    open->a = a;
    open->b = b;
    open->c = c;
}

void record_param(Param *p) { add_param(capture_recording(capture_now), p); }

void record_host(Host *host) {
    host->refs++;
    open_command(capture_recording(capture_now))->host = host;
}

static void copy_attributes(Command *c, const Op *op, const void *attrs) {
    c->op = op;
    c->attrs = checked(malloc(op->attrs_size + 1));
    if (op->attrs_size) memcpy(c->attrs, attrs, op->attrs_size);
}

void record_update(const UpdateRule *rule, int n, const ParamUpdate *updates) {
    Recording *r = capture_recording(capture_now);
    record_numbers(n, rule->nstate, rule->nnumbers);
    copy_attributes(open_command(r), rule->op, rule->attrs);
    for (int i = 0; i < n; i++) {
        add_param(r, updates[i].param);
        for (int k = 0; k < rule->nstate; k++) add_param(r, updates[i].state[k]);
    }
}

void record_free_axes(uint32_t axes) {
    Recording *r = capture_recording(capture_now);
    SlotInfo *s = &r->slots[open_command(r)->out];
    s->varies = axes;
    s->pinned = ~axes; /* guarded by the key of the call */
    for (int i = 0; i < s->other.rank; i++)
        if (axes >> i & 1) s->other.dims[i] = s->type.dims[i] ? 3 * s->type.dims[i] : 3;
}

/* ---- op calls */

void record_attribute(const void *place, SizeId size, bool is_float) {
    Recording *r = record_now();
    if (!r) return;
    GROW(r, pending);
    r->pending[r->npending++] = (PendingSize){place, size, is_float};
}

uint32_t record_mark(void) {
    const Recording *r = record_now();
    return r ? r->npending : 0;
}

void record_reset(uint32_t mark) {
    Recording *r = record_now();
    if (r && r->npending > mark) r->npending = mark;
}

static uint32_t sizes_within(const Recording *r, const Op *op, const void *attrs) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->npending; i++) {
        const char *at = r->pending[i].place, *from = attrs;
        n += at >= from && at < from + op->attrs_size;
    }
    return n;
}

static void take_sizes(Recording *r, Command *c, const void *attrs) {
    for (uint32_t i = 0; i < r->npending; i++) {
        const PendingSize *p = &r->pending[i];
        const char *at = p->place, *from = attrs;
        if (at < from || at >= from + c->op->attrs_size) continue;
        GROW(r, patches);
        r->patches[r->npatches++] = (SizePatch){(uint32_t)(at - from), p->size, p->is_float};
        c->npatches++;
    }
}

bool record_call(const Op *op, const void *attrs, int nin, Tensor *const *in) {
    Recording *r = record_now();
    if (!r) return false;
    bool computes = op->kind == K_RANDOM;
    computes |= sizes_within(r, op, attrs) > 0;
    for (int i = 0; i < nin && !computes; i++)
        computes = in[i] && (in[i]->symbol || in[i]->holder || known_slot(r, in[i]));
    if (!computes || !record_open(REC_CALL, nin, in)) return false;
    Command *c = open_command(r);
    copy_attributes(c, op, attrs);
    take_sizes(r, c, attrs);
    capture_force(r->capture, c->npatches > 0);
    return true;
}

/* ---- the end */

static Operand *operands_of(Recording *r, int n, Tensor *const *t) {
    Operand *list = checked(calloc((size_t)n + 1, sizeof *list));
    for (int i = 0; i < n; i++) list[i] = recording_operand(r, t[i]);
    return list;
}

Recording *record_stop(Capture *c, int nin, Tensor *const *inputs, int nout, Tensor *const *outputs,
                       const char **why) {
    Recording *r = capture_recording(c);
    if (!r) return NULL;
    capture_set_recording(c, NULL);
    r->inputs = operands_of(r, r->ninputs = nin, inputs);
    r->outputs = operands_of(r, r->noutputs = nout, outputs);
    *why = r->broken;
    forget_handles(r);
    if (!r->broken) return r;
    recording_unref(r);
    return NULL;
}
