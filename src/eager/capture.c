/* Recording op calls into a graph. */
#include "eager/capture.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eager/record.h"
#include "tensor/pool.h"

_Thread_local Capture *capture_now;
void (*capture_shows)(Param *p);

typedef struct ConstEntry {
    Tensor *tensor; /* held by the graph */
    Value value;
} ConstEntry;

/* What a node of a loop, or a region's end, was given; kept for the loop's gradient. */
typedef struct Handles {
    Tensor **tensors;
    int n;
} Handles;

typedef struct RegionNote {
    uint64_t since;  /* the tape's clock when it was made */
    RegionId loop;   /* the innermost part of a loop that it is or stands in; 0: none */
    bool has_custom; /* a gradient of its own was recorded inside */
} RegionNote;

typedef struct IfNote {
    uint64_t since, until; /* what the tape recorded between belongs to the sides */
    Value condition;
    GradLink *node;
} IfNote;

struct Capture {
    Graph *graph;
    Storage *stand_in; /* marks the symbolic tensors of this capture */
    Capture *outer;    /* what ran when this one began */
    bool is_on, is_forced, follows_integers;
    struct Recording *recording;
    RegionId *stack;
    uint32_t depth, cap_stack;
    uint32_t line;
    uint32_t again, nagain; /* the recomputed part that calls belong to now; how many there are */
    RegionNote *notes;      /* a region */
    uint32_t cap_notes;
    Handles *handles; /* a node inside a loop: the handles it was called with */
    uint32_t cap_handles;
    IfNote *ifs; /* in the order of their ends */
    uint32_t nifs, cap_ifs;
    StackNote *stacks;
    uint32_t nstacks;
    ParamTrace *params;
    uint32_t nparams, cap_params;
    uint32_t nmaybe;    /* gradients noted with capture_note_present so far */
    ConstEntry *consts; /* open addressing; size is a power of two */
    uint32_t nconsts, cap_consts;
    bool borrows;
    Value *borrowed; /* by value of the outer graph: the input that stands for it here; 0: none */
    uint32_t cap_borrowed;
    Value *lent; /* those values, in the order of the inputs */
    uint32_t nlent, cap_lent;
};

static void nothing(void *ctx) { (void)ctx; }

Capture *capture_new(void) {
    Capture *c = checked(calloc(1, sizeof *c));
    c->graph = graph_new();
    storage_lend(NULL, 0, nothing, NULL, &c->stand_in);
    c->cap_stack = 16;
    c->stack = checked(calloc(c->cap_stack, sizeof *c->stack));
    c->stack[c->depth++] = BODY;
    return c;
}

Graph *capture_graph(const Capture *c) { return c->graph; }

struct Recording *capture_recording(const Capture *c) {
    return c->recording;
}
void capture_set_recording(Capture *c, struct Recording *r) { c->recording = r; }
uint32_t capture_present_line(const Capture *c) { return c->line; }
bool capture_owns(const Capture *c, const Tensor *t) {
    return t->symbol && t->storage == c->stand_in;
}
void capture_force(Capture *c, bool on) { c->is_forced = on; }
bool capture_is_forced(void) { return capture_now->is_forced; }

Status capture_begin(Capture *c) {
    if (c->is_on) return FAIL(RUNTIME, "the capture has begun already");
    c->is_on = true;
    c->outer = capture_now;
    capture_now = c;
    return OK;
}

void capture_borrow(Capture *c) { c->borrows = c->outer != NULL; }
bool capture_borrows(const Capture *c) { return c->borrows; }

void capture_follow_integers(Capture *c) { c->follows_integers = true; }
bool capture_follows_integers(const Capture *c) { return c->follows_integers; }

/* ---- symbolic tensors */

static Tensor *symbol_new(Capture *c, Value v) {
    const TensorType *type = graph_type(c->graph, v);
    int64_t strides[MAX_RANK];
    type_strides(type, strides);
    Tensor *t = tensor_over(c->stand_in, type, strides, NULL);
    t->dense = false; /* nothing may look at its bytes */
    t->symbol = v;
    return t;
}

Tensor *capture_symbol(Capture *c, Value v) { return symbol_new(c, v); }

Tensor *capture_input(Capture *c, const TensorType *type) {
    bool recorded = record_open(REC_INPUT, 0, NULL);
    Tensor *made = symbol_new(c, graph_input(c->graph, type));
    if (recorded) record_close(OK, 1, &made);
    return made;
}

static RegionId present(const Capture *c) { return c->stack[c->depth - 1]; }

static ConstEntry *const_slot(const Capture *c, const Tensor *t) {
    size_t mask = c->cap_consts - 1, i = ((uintptr_t)t * 0x9e3779b97f4a7c15u >> 20) & mask;
    while (c->consts[i].tensor && c->consts[i].tensor != t) i = (i + 1) & mask;
    return &c->consts[i];
}

static void grow_consts(Capture *c) {
    ConstEntry *old = c->consts;
    uint32_t n = c->cap_consts;
    c->cap_consts = n ? n * 2 : 64;
    c->consts = checked(calloc(c->cap_consts, sizeof *c->consts));
    for (uint32_t i = 0; i < n; i++)
        if (old[i].tensor) *const_slot(c, old[i].tensor) = old[i];
    free(old);
}

/* Constants stand in the body, where every region sees them. */
static Value const_value(Capture *c, Tensor *t) {
    if (2 * (c->nconsts + 1) > c->cap_consts) grow_consts(c);
    ConstEntry *e = const_slot(c, t);
    if (!e->tensor) {
        *e = (ConstEntry){t, graph_const(c->graph, BODY, t)};
        c->nconsts++;
    }
    return e->value;
}

static Tensor *current(Tensor *t) {
    Param *p = t->symbol ? NULL : t->holder;
    if (!p) return t;
    capture_touch(p);
    return p->value;
}

/* The input that stands for a value of the graph around. */
static Value borrow(Capture *c, Value v) {
    v = graph_visible(c->outer->graph, v, BODY);
    if (!v) return 0;
    if (v >= c->cap_borrowed) {
        uint32_t n = 2 * v + 64;
        c->borrowed = checked(realloc(c->borrowed, n * sizeof *c->borrowed));
        memset(c->borrowed + c->cap_borrowed, 0, (n - c->cap_borrowed) * sizeof *c->borrowed);
        c->cap_borrowed = n;
    }
    if (c->borrowed[v]) return c->borrowed[v];
    if (c->nlent == c->cap_lent) {
        c->cap_lent = 2 * c->cap_lent + 16;
        c->lent = checked(realloc(c->lent, c->cap_lent * sizeof *c->lent));
    }
    c->lent[c->nlent++] = v;
    return c->borrowed[v] = graph_input(c->graph, graph_type(c->outer->graph, v));
}

uint32_t capture_nlent(const Capture *c) { return c->nlent; }
Tensor *capture_lent(const Capture *c, uint32_t i) { return symbol_new(c->outer, c->lent[i]); }

Status capture_value(Capture *c, Tensor *t, Value *out) {
    t = current(t);
    if (!t->symbol) {
        *out = const_value(c, t);
        return OK;
    }
    if (c->borrows && t->storage == c->outer->stand_in) {
        *out = borrow(c, t->symbol);
        if (*out) return OK;
        return FAIL(RUNTIME, "a value from inside a loop is needed outside of it");
    }
    if (t->storage != c->stand_in)
        return FAIL(RUNTIME, "a tensor of a compiled function is used outside of the function; "
                             "return it from there instead");
    *out = graph_visible(c->graph, t->symbol, present(c));
    if (*out) return OK;
    return FAIL(RUNTIME, "a tensor computed inside a loop or branch is used outside of it");
}

/* ---- parameters */

void capture_show(Param *p) {
    if (p->handle && capture_shows) capture_shows(p);
}

void capture_touch(Param *p) {
    Capture *c = capture_now;
    if (p->value->symbol) return;
    if (c->nparams == c->cap_params) {
        c->cap_params = c->cap_params ? c->cap_params * 2 : 16;
        c->params = checked(realloc(c->params, c->cap_params * sizeof *c->params));
    }
    ParamTrace *t = &c->params[c->nparams++];
    *t = (ParamTrace){.param = param_ref(p), .old_value = tensor_ref(p->value)};
    t->requires_grad = p->requires_grad;
    t->value = graph_input(c->graph, &p->value->type);
    t->old_grad = p->grad;
    if (p->grad) {
        t->grad = graph_input(c->graph, &p->grad->type);
        p->grad = symbol_new(c, t->grad);
    }
    param_take(p, symbol_new(c, t->value));
    t->old_value->holder = p; /* handles on the old value still mean this parameter */
    capture_show(p);
}

static ParamTrace *find_trace(const Capture *c, const Param *p) {
    for (uint32_t i = 0; i < c->nparams; i++)
        if (c->params[i].param == p) return &c->params[i];
    return NULL;
}

void capture_note_present(Param *p, Tensor *present) {
    ParamTrace *t = find_trace(capture_now, p);
    if (!t || !p->grad || !present) return;
    t->maybe = p->grad->symbol;
    t->present = present->symbol;
    capture_now->nmaybe++;
}

Tensor *capture_present(const Param *p) {
    if (!capture_is_on() || !capture_now->nmaybe || !p->grad) return NULL;
    const ParamTrace *t = find_trace(capture_now, p);
    bool is_noted = t && t->maybe && t->maybe == p->grad->symbol;
    return is_noted ? symbol_new(capture_now, t->present) : NULL;
}

Tensor *capture_symbolic(const Tensor *t) {
    if (t->symbol) return tensor_alias(t);
    Tensor *held = tensor_alias(t);
    Tensor *made = symbol_new(capture_now, const_value(capture_now, held));
    tensor_unref(held);
    return made;
}

uint32_t capture_nparams(const Capture *c) { return c->nparams; }
Param *capture_param(const Capture *c, uint32_t i) { return c->params[i].param; }

void capture_entry(Capture *c, uint32_t i, Tensor **value, Tensor **grad) {
    const ParamTrace *t = &c->params[i];
    *value = symbol_new(c, t->value);
    *grad = t->grad ? symbol_new(c, t->grad) : NULL;
}

static void restore(ParamTrace *t) {
    Param *p = t->param;
    param_take(p, t->old_value);
    tensor_unref(p->grad);
    p->grad = t->old_grad;
    t->old_value = t->old_grad = NULL;
    capture_show(p);
}

Status capture_end(Capture *c) {
    if (!c->is_on || capture_now != c) return FAIL(RUNTIME, "this capture does not run");
    for (uint32_t i = 0; i < c->nparams; i++) {
        ParamTrace *t = &c->params[i];
        uint32_t value = t->param->value->symbol,
                 grad = t->param->grad ? t->param->grad->symbol : 0;
        t->new_value = value == t->value ? 0 : value;
        t->new_grad = grad == t->grad ? 0 : grad;
        t->drops_grad = t->grad && !t->param->grad;
        restore(t);
    }
    capture_now = c->outer;
    c->is_on = false;
    return OK;
}

void capture_free(Capture *c) {
    if (c->is_on) capture_end(c);
    for (uint32_t i = 0; i < c->nparams; i++) param_unref(c->params[i].param);
    graph_unref(c->graph);
    recording_unref(c->recording);
    storage_unref(c->stand_in);
    free(c->params);
    free(c->consts);
    free(c->stack);
    free(c->notes);
    for (uint32_t i = 0; i < c->cap_handles; i++) {
        for (int k = 0; k < c->handles[i].n; k++) tensor_unref(c->handles[i].tensors[k]);
        free(c->handles[i].tensors);
    }
    free(c->handles);
    for (uint32_t i = 0; i < c->nstacks; i++) {
        if (c->stacks[i].link) link_unref(c->stacks[i].link);
        for (int k = 0; k < c->stacks[i].n; k++) tensor_unref(c->stacks[i].handles[k]);
        free(c->stacks[i].handles);
    }
    free(c->stacks);
    for (uint32_t i = 0; i < c->nifs; i++) link_unref(c->ifs[i].node);
    free(c->ifs);
    free(c->borrowed);
    free(c->lent);
    free(c);
}

/* ---- regions */

static RegionId new_region(Capture *c, RegionId parent) {
    RegionId r = graph_region(c->graph, parent ? parent : present(c));
    if (r >= c->cap_notes) {
        c->cap_notes = 2 * r + 16;
        c->notes = checked(realloc(c->notes, c->cap_notes * sizeof *c->notes));
    }
    RegionId outer = c->graph->regions[r].parent;
    RegionId loop = outer == BODY ? 0 : c->notes[outer].loop;
    c->notes[r] = (RegionNote){.since = tape_clock(), .loop = loop};
    return r;
}
RegionId capture_region(Capture *c, RegionId parent) {
    bool recorded = record_open(REC_REGION, 0, NULL);
    RegionId r = new_region(c, parent);
    if (recorded) record_numbers(r, parent, 0);
    if (recorded) record_close(OK, 0, NULL);
    return r;
}

void capture_note_custom(Capture *c) {
    c->graph->has_custom = true;
    for (uint32_t i = 0; i < c->depth; i++)
        if (c->stack[i] != BODY) c->notes[c->stack[i]].has_custom = true;
}
bool capture_has_custom(const Capture *c, RegionId r) { return c->notes[r].has_custom; }

uint64_t capture_region_since(const Capture *c, RegionId r) { return c->notes[r].since; }
void capture_region_loops(Capture *c, RegionId r) { c->notes[r].loop = r; }

static RegionId loop_around(const Capture *c, RegionId r) {
    return r == BODY ? 0 : c->notes[r].loop;
}

bool capture_in_loop(const Capture *c) { return loop_around(c, present(c)) != 0; }

bool capture_in_step(const Capture *c, RegionId r) {
    RegionId here = present(c), loop = loop_around(c, here);
    if (loop != loop_around(c, r)) return false;
    for (; loop && here != r && here != loop;) here = c->graph->regions[here].parent;
    return !loop || here != r || here == present(c);
}

void capture_keep(Capture *c, NodeId id, int n, Tensor *const *handles) {
    if (!loop_around(c, present(c))) return;
    if (id >= c->cap_handles) {
        uint32_t cap = 2 * id + 64;
        c->handles = checked(realloc(c->handles, cap * sizeof *c->handles));
        memset(c->handles + c->cap_handles, 0, (cap - c->cap_handles) * sizeof *c->handles);
        c->cap_handles = cap;
    }
    Handles *h = &c->handles[id];
    h->n = n;
    h->tensors = checked(calloc((size_t)n + 1, sizeof *h->tensors));
    for (int i = 0; i < n; i++) h->tensors[i] = handles[i] ? tensor_ref(handles[i]) : NULL;
}

Tensor *const *capture_kept(const Capture *c, NodeId id) {
    return id < c->cap_handles ? c->handles[id].tensors : NULL;
}

int capture_nkept(const Capture *c, NodeId id) {
    return id < c->cap_handles ? c->handles[id].n : 0;
}

void capture_note_if(Capture *c, const Tensor *condition, uint64_t since, uint64_t until,
                     GradLink *node) {
    array_grow(&c->ifs, c->nifs, &c->cap_ifs, 32, sizeof *c->ifs);
    c->ifs[c->nifs++] = (IfNote){since, until, condition->symbol, link_ref(node)};
}

/* Sides lie in each other or apart, so the first that ends behind it and holds it is innermost. */
GradLink *capture_if_around(const Capture *c, const Tensor *condition, uint64_t order) {
    GradLink *found = NULL;
    for (uint32_t i = c->nifs; i-- && c->ifs[i].until > order;)
        if (c->ifs[i].since <= order && c->ifs[i].condition == condition->symbol)
            found = c->ifs[i].node;
    return found;
}

/* ---- stacks */

static Value *values_of(Capture *c, int n, Tensor *const *in);

int64_t capture_stack(Capture *c) {
    uint32_t n = c->nstacks++;
    c->graph->nstacks = c->nstacks;
    c->stacks = checked(realloc(c->stacks, (n + 1) * sizeof *c->stacks));
    c->stacks[n] = (StackNote){0};
    return n;
}

StackNote *capture_stack_note(const Capture *c, int64_t stack) { return &c->stacks[stack]; }

Status capture_push(Capture *c, RegionId r, int64_t stack, int n, Tensor *const *handles) {
    if (!r) r = present(c);
    capture_enter(c, r);
    Value *v = values_of(c, n, handles);
    if (v) {
        Node *push = graph_append(c->graph, r, N_PUSH, n, v, 0, NULL);
        push->count = stack;
        push->line = c->line;
    }
    capture_leave(c);
    free(v);
    if (!v) return error_status();
    StackNote *note = &c->stacks[stack];
    note->n = n;
    note->handles = checked(calloc((size_t)n + 1, sizeof *note->handles));
    for (int i = 0; i < n; i++) note->handles[i] = tensor_ref(handles[i]);
    return OK;
}

void capture_pop(Capture *c, int64_t stack, Tensor **out) {
    const StackNote *note = &c->stacks[stack];
    TensorType *types = checked(calloc((size_t)note->n + 1, sizeof *types));
    for (int i = 0; i < note->n; i++) types[i] = note->handles[i]->type;
    NodeId id = capture_node(c, N_POP, 0, NULL, note->n, types, out);
    graph_node(c->graph, id)->count = stack;
    for (int i = 0; i < note->n; i++)
        if (note->handles[i]->link) out[i]->link = tape_leaf();
    capture_keep(c, id, note->n, out);
    free(types);
}

void capture_left(Capture *c, int64_t stack, Tensor **out) {
    NodeId id = capture_node(c, N_LEFT, 0, NULL, 1, &(TensorType){.dtype = DT_bool}, out);
    graph_node(c->graph, id)->count = stack;
}

Mapping mapping_new(const Capture *c) {
    return (Mapping){checked(calloc(c->graph->nvalues, sizeof(Tensor *))),
                     checked(calloc(c->nstacks + 1, sizeof(int64_t))), c->graph->nvalues};
}

void mapping_free(Mapping *m) {
    for (uint32_t v = 0; v < m->nvalues; v++) tensor_unref(m->values[v]);
    free(m->values);
    free(m->stacks);
}

Tensor *capture_region_param(Capture *c, RegionId r, const TensorType *type) {
    return symbol_new(c, graph_param(c->graph, r, type));
}

void capture_enter(Capture *c, RegionId r) {
    if (record_open(REC_ENTER, 0, NULL)) {
        record_numbers(r, 0, 0);
        record_close(OK, 0, NULL);
    }
    if (c->depth == c->cap_stack) {
        c->cap_stack *= 2;
        c->stack = checked(realloc(c->stack, c->cap_stack * sizeof *c->stack));
    }
    c->stack[c->depth++] = r;
}

void capture_leave(Capture *c) {
    if (record_open(REC_LEAVE, 0, NULL)) record_close(OK, 0, NULL);
    if (c->depth > 1) c->depth--;
}

void capture_line(Capture *c, const Line *line) { c->line = graph_line(c->graph, line); }

/* ---- nodes */

bool capture_inputs(int nin, Tensor *const *in, Tensor **mapped) {
    bool symbolic = false;
    for (int i = 0; i < nin; i++) {
        mapped[i] = in[i] ? current(in[i]) : NULL;
        symbolic |= mapped[i] && mapped[i]->symbol;
    }
    return symbolic;
}

/* Values of n tensors, with room for one more. NULL after a failure. */
static Value *values_of(Capture *c, int n, Tensor *const *in) {
    Value *v = checked(calloc((size_t)n + 1, sizeof *v));
    for (int i = 0; i < n; i++) {
        if (!in[i] || capture_value(c, in[i], &v[i]) == OK) continue;
        free(v);
        return NULL;
    }
    return v;
}

NodeId capture_node(Capture *c, NodeKind kind, int nin, const Value *in, int nout,
                    const TensorType *types, Tensor **out) {
    Node *n = graph_append(c->graph, present(c), kind, nin, in, nout, types);
    NodeId id = c->graph->nnodes - 1;
    n->line = c->line;
    for (int i = 0; i < nout; i++) out[i] = symbol_new(c, n->out[i]);
    return id;
}

/* The place in the random stream as a value: a fresh draw for random ops, that of the op whose
 * numbers are drawn again for their gradients. *out 0: the op draws nothing. */
static Status draw_of(Capture *c, const Op *op, void *attrs, int64_t count, Value *out) {
    uint32_t key_at, counter_at;
    *out = 0;
    if (!op_draws(op, &key_at, &counter_at)) return OK;
    int64_t *key = (int64_t *)((char *)attrs + key_at);
    int64_t *counter = (int64_t *)((char *)attrs + counter_at);
    if (op->kind == K_RANDOM && *key != DRAWN_KEY) {
        TensorType type = {.dtype = DT_u64, .rank = 1, .dims = {2}};
        Node *n = graph_append(c->graph, present(c), N_DRAW, 0, NULL, 1, &type);
        n->line = c->line;
        n->count = count;
        *key = DRAWN_KEY;
        *counter = n->out[0];
        *out = n->out[0];
        return OK;
    }
    if (*key != DRAWN_KEY) return OK;
    *out = c->borrows ? borrow(c, (Value)*counter) /* the function drew it */
                      : graph_visible(c->graph, (Value)*counter, present(c));
    if (*out) return OK;
    return FAIL(UNSUPPORTED,
                "%s: its random numbers were drawn inside a loop and cannot be repeated "
                "outside of it",
                op->name);
}

Status capture_call(const Op *op, const void *attrs, int nin, Tensor *const *in, int nout,
                    const TensorType *types, Tensor **out) {
    Capture *c = capture_now;
    for (int i = 0; i < nout; i++) TRY(type_check(&types[i], op->name));
    Value *v = values_of(c, nin, in);
    if (!v) return error_status();
    Value draw;
    Status status = draw_of(c, op, (void *)attrs, nout ? type_count(&types[0]) : 0, &draw);
    if (status != OK) {
        free(v);
        return status;
    }
    if (draw) v[nin++] = draw;
    NodeId id = capture_node(c, N_CALL, nin, v, nout, types, out);
    capture_keep(c, id, nin - (draw != 0), in);
    graph_set_call(c->graph, id, op, attrs);
    graph_node(c->graph, id)->draws = draw != 0;
    graph_node(c->graph, id)->again = c->again;
    free(v);
    return OK;
}

static Status call_host(Capture *c, Host *host, int nin, Tensor *const *in, int nout,
                        const TensorType *types, Tensor **out) {
    Value *v = values_of(c, nin, in);
    if (!v) return error_status();
    NodeId id = capture_node(c, N_HOST, nin, v, nout, types, out);
    free(v);
    host->refs++;
    graph_node(c->graph, id)->host = host;
    return OK;
}

Status capture_host_again(Capture *c, Host *host, int nin, Tensor *const *in, int nout,
                          const TensorType *types, Tensor **out) {
    bool recorded = record_open(REC_HOST, nin, in);
    if (recorded) record_host(host);
    Status status = call_host(c, host, nin, in, nout, types, out);
    if (recorded) record_close(status, nout, out);
    return status;
}

Status capture_host(Capture *c, Host host, int nin, Tensor *const *in, int nout,
                    const TensorType *types, Tensor **out) {
    Host *held = checked(malloc(sizeof *held));
    *held = host;
    held->refs = 1;
    Status status = capture_host_again(c, held, nin, in, nout, types, out);
    host_unref(held);
    return status;
}

/* ---- recomputed parts */

uint32_t capture_recompute(Capture *c) {
    bool recorded = record_open(REC_RECOMPUTE, 0, NULL);
    uint32_t part = c->again ? 0 : ++c->nagain;
    if (part) c->again = part;
    if (recorded) record_numbers(part, 0, 0);
    if (recorded) record_close(OK, 0, NULL);
    return part;
}

/* A result of the part is kept, and so is what it is a view of. */
static void keep_value(Capture *c, uint32_t part, Value v) {
    for (NodeId id; (id = c->graph->values[v].node);) {
        Node *n = graph_node(c->graph, id);
        if (n->kind != N_CALL || n->again != part) return;
        n->kept = true;
        if (n->op->kind != K_MAP) return;
        v = n->in[0];
    }
}

void capture_recomputed(Capture *c, uint32_t part, int n, Tensor *const *outputs) {
    if (!part) return;
    bool recorded = record_open(REC_RECOMPUTED, n, outputs);
    if (recorded) record_numbers(part, 0, 0);
    if (c->again == part) c->again = 0;
    for (int i = 0; i < n; i++) {
        Value v;
        if (outputs[i]->symbol && capture_value(c, outputs[i], &v) == OK) keep_value(c, part, v);
    }
    if (recorded) record_close(OK, 0, NULL);
}

/* ---- the end */

Program *program_ref(Program *p) {
    p->refs++;
    return p;
}

void program_unref(Program *p) {
    if (!p || --p->refs) return;
    for (uint32_t i = 0; i < p->nparams; i++) param_unref(p->params[i].param);
    if (p->plan) p->plan_free(p->plan);
    graph_unref(p->graph);
    free(p->params);
    free(p->sources);
    free(p);
}

/* The results of the body: the outputs' values v[n], then those of the writes. */
static Status set_results(Capture *c, int n, const Value *outputs) {
    Value *v = checked(calloc((size_t)n + 2 * c->nparams + 1, sizeof *v));
    memcpy(v, outputs, (size_t)n * sizeof *v);
    Status status = capture_end(c);
    uint32_t all = (uint32_t)n;
    for (uint32_t i = 0; i < c->nparams && status == OK; i++) {
        const ParamTrace *t = &c->params[i];
        if (t->new_value) v[all++] = t->new_value;
        if (t->new_grad) v[all++] = t->new_grad;
    }
    /* Handing one out of its branch would leave it undefined where the branch is not taken. */
    for (uint32_t i = (uint32_t)n; i < all && status == OK; i++)
        if (c->graph->values[v[i]].region != BODY)
            status = FAIL(RUNTIME, "a parameter's new value was left inside a loop or branch");
    if (status == OK) graph_results(c->graph, BODY, all, v);
    free(v);
    return status;
}

static void list_sources(Program *p) {
    const Graph *g = p->graph;
    p->sources = checked(calloc(g->ninputs + 1, sizeof *p->sources));
    for (uint32_t i = 0; i < g->ninputs; i++) p->sources[i] = SOURCE_CALLER;
    for (uint32_t k = 0; k < p->nparams; k++) {
        const ParamTrace *t = &p->params[k];
        p->sources[g->values[t->value].index] = (int32_t)(2 * k);
        if (t->grad) p->sources[g->values[t->grad].index] = (int32_t)(2 * k + 1);
    }
}

Status capture_finish(Capture *c, int n, Tensor *const *outputs, Program **out) {
    if (!c->is_on || capture_now != c) return FAIL(RUNTIME, "this capture does not run");
    c->depth = 1;
    Value *v = checked(calloc((size_t)n + 1, sizeof *v));
    Status status = OK;
    for (int i = 0; i < n && status == OK; i++) status = capture_value(c, outputs[i], &v[i]);
    if (status == OK) status = set_results(c, n, v);
    free(v);
    if (status != OK) return status;
    Program *p = checked(calloc(1, sizeof *p));
    *p = (Program){
        .refs = 1, .graph = graph_ref(c->graph), .nparams = c->nparams, .params = c->params};
    p->noutputs = (uint32_t)n;
    c->params = NULL;
    c->nparams = c->cap_params = 0;
    list_sources(p);
    *out = p;
    return OK;
}
