/* Running a graph node by node through eager dispatch: the reference executor. Values are dropped
 * after their last use. */
#include <stdlib.h>
#include <string.h>

#include "eager/dispatch.h"
#include "run/run.h"
#include "tensor/random.h"

static void *checked(void *p) {
    if (!p) abort(); /* bookkeeping: the pool_small policy */
    return p;
}

/* A call of a late host function, kept until the run has succeeded. */
typedef struct Late {
    struct Late *next;
    const Node *node;
    Tensor **in;
} Late;

/* What a loop has left for its gradient: entries of equal length, the latest last. */
typedef struct Stack {
    Tensor **items;
    size_t n, capacity;
} Stack;

typedef struct Run {
    const Graph *g;
    Stack *stacks;   /* g->nstacks */
    Tensor **values; /* by number; NULL: not computed, or dropped */
    Late *late, **late_end;
} Run;

static void set(Run *r, Value v, Tensor *take) {
    tensor_unref(r->values[v]);
    r->values[v] = take;
}

/* ---- nodes */

static Status run_call(Run *r, const Node *n) {
    int nin = n->nin - n->draws;
    Tensor *few[32], **in = few, **out;
    int64_t attrs[128];
    if (n->nin + n->nout > (int)COUNT_OF(few))
        in = checked(malloc((size_t)(n->nin + n->nout) * sizeof *in));
    out = in + n->nin;
    for (int i = 0; i < nin; i++) in[i] = n->in[i] ? r->values[n->in[i]] : NULL;
    const void *given = n->attrs;
    if (n->draws) {
        uint32_t key, counter;
        op_draws(n->op, &key, &counter);
        const uint64_t *drawn = (const uint64_t *)(const void *)r->values[n->in[nin]]->data;
        memcpy(attrs, n->attrs, n->op->attrs_size);
        memcpy((char *)attrs + key, &drawn[0], sizeof *drawn);
        memcpy((char *)attrs + counter, &drawn[1], sizeof *drawn);
        given = attrs;
    }
    Status status = dispatch_drawn(n->op, given, nin, in, out);
    for (int i = 0; i < n->nout && status == OK; i++) set(r, n->out[i], out[i]);
    if (in != few) free(in);
    return status;
}

static Status run_draw(Run *r, const Node *n) {
    Tensor *t;
    TRY(tensor_new(graph_type(r->g, n->out[0]), "draw", &t));
    random_take(n->count, (uint64_t *)(void *)t->data, (uint64_t *)(void *)t->data + 1);
    set(r, n->out[0], t);
    return OK;
}

static Status run_host(Run *r, const Node *n) {
    Tensor **in = checked(calloc((size_t)(n->nin + n->nout) + 1, sizeof *in)), **out = in + n->nin;
    for (int i = 0; i < n->nin; i++) in[i] = r->values[n->in[i]];
    if (n->host->is_late) {
        Late *late = checked(malloc(sizeof *late));
        for (int i = 0; i < n->nin; i++) tensor_ref(in[i]);
        *late = (Late){NULL, n, in};
        *r->late_end = late;
        r->late_end = &late->next;
        return OK;
    }
    Status status = n->host->call(n->host->ctx, n->nin, in, n->nout, out);
    for (int i = 0; i < n->nout && status == OK; i++) set(r, n->out[i], out[i]);
    free(in);
    return status;
}

static void push(Run *r, const Node *n) {
    Stack *s = &r->stacks[n->count];
    if (s->n + n->nin > s->capacity) {
        s->capacity = 2 * s->capacity + n->nin;
        s->items = checked(realloc(s->items, s->capacity * sizeof *s->items));
    }
    for (int i = 0; i < n->nin; i++) s->items[s->n++] = tensor_ref(r->values[n->in[i]]);
}

static void pop(Run *r, const Node *n) {
    Stack *s = &r->stacks[n->count];
    s->n -= n->nout;
    for (int i = 0; i < n->nout; i++) set(r, n->out[i], s->items[s->n + (size_t)i]);
}

static Status has_left(Run *r, const Node *n) {
    Tensor *t;
    TRY(tensor_new(graph_type(r->g, n->out[0]), "loop", &t));
    t->data[0] = r->stacks[n->count].n != 0;
    set(r, n->out[0], t);
    return OK;
}

static Status run_node(Run *r, const Node *n) {
    switch ((NodeKind)n->kind) {
    case N_CALL: return run_call(r, n);
    case N_CONST: set(r, n->out[0], tensor_ref(n->constant)); return OK;
    case N_DRAW: return run_draw(r, n);
    case N_HOST: return run_host(r, n);
    case N_UNDEF: return tensor_fill(graph_type(r->g, n->out[0]), 0, &r->values[n->out[0]]);
    case N_PUSH: push(r, n); return OK;
    case N_POP: pop(r, n); return OK;
    case N_LEFT: return has_left(r, n);
    default: return OK;
    }
}

/* ---- regions */

static bool truth(const Run *r, Value v) { return r->values[v]->data[0] != 0; }

/* New values all at once: a next value may be another one's parameter. */
static void pass_values(Run *r, uint32_t n, const Value *from, const Value *to) {
    Tensor **kept = checked(malloc((n + 1) * sizeof *kept));
    for (uint32_t i = 0; i < n; i++) kept[i] = tensor_ref(r->values[from[i]]);
    for (uint32_t i = 0; i < n; i++) set(r, to[i], kept[i]);
    free(kept);
}

/* The region has come to its end: where to go on. */
static NodeId leave(Run *r, RegionId *region) {
    const Graph *g = r->g;
    const Region *done = &g->regions[*region];
    const Node *owner = graph_node(g, done->owner);
    if (owner->kind == N_IF) {
        pass_values(r, done->nresults, done->results, owner->out);
        *region = owner->region;
        return owner->after;
    }
    const Region *condition = &g->regions[owner->regions[0]];
    if (*region == owner->regions[1]) {
        pass_values(r, done->nresults, done->results, condition->params);
        *region = owner->regions[0];
        return condition->first;
    }
    if (truth(r, done->results[0])) {
        *region = owner->regions[1];
        return g->regions[*region].first;
    }
    pass_values(r, condition->nparams, condition->params, owner->out);
    *region = owner->region;
    return owner->after;
}

static NodeId enter(Run *r, const Node *n, RegionId *region) {
    const Graph *g = r->g;
    *region = n->regions[n->kind == N_IF && !truth(r, n->in[0])];
    if (n->kind == N_WHILE) pass_values(r, n->nin, n->in, g->regions[*region].params);
    return g->regions[*region].first;
}

static Status run_body(Run *r) {
    const Graph *g = r->g;
    RegionId region = BODY;
    NodeId at = g->regions[BODY].first;
    for (;;) {
        while (!at && region != BODY) at = leave(r, &region);
        if (!at) return OK;
        const Node *n = graph_node(g, at);
        if (n->kind == N_IF || n->kind == N_WHILE) {
            at = enter(r, n, &region);
            continue;
        }
        Status status = run_node(r, n);
        if (status != OK) {
            const Line *line = &g->lines[n->line];
            if (n->line) error_prefix("%s:%d: ", line->file, line->line);
            return status;
        }
        at = n->after;
    }
}

/* ---- the whole */

static bool is_param_input(const Program *p, Value v, uint32_t *which) {
    for (uint32_t i = 0; i < p->nparams; i++)
        if (p->params[i].value == v || p->params[i].grad == v) return *which = i, true;
    return false;
}

int program_inputs(const Program *p) {
    int n = (int)p->graph->ninputs;
    for (uint32_t i = 0; i < p->nparams; i++) n -= 1 + (p->params[i].grad != 0);
    return n;
}

static Status check_input(int i, const Tensor *t, const TensorType *want) {
    if (type_equal(&t->type, want)) return OK;
    char one[200], two[200];
    return FAIL(VALUE, "input %d of a compiled function is %s; it was compiled for %s", i,
                type_text(&t->type, one, sizeof one), type_text(want, two, sizeof two));
}

static Status bind(Run *r, const Program *p, int nin, Tensor *const *in) {
    int given = 0;
    if (nin != program_inputs(p))
        return FAIL(VALUE, "a compiled function takes %d inputs, %d were given", program_inputs(p),
                    nin);
    for (uint32_t i = 0; i < r->g->ninputs; i++) {
        Value v = r->g->inputs[i];
        uint32_t k;
        Tensor *t;
        if (!is_param_input(p, v, &k))
            t = in[given++];
        else if (p->params[k].value == v)
            t = p->params[k].param->value;
        else
            t = p->params[k].param->grad;
        if (!t) return FAIL(RUNTIME, "a parameter has lost the gradient the function reads");
        TRY(check_input(given - 1, t, graph_type(r->g, v)));
        set(r, v, tensor_alias(t));
    }
    return OK;
}

static Status commit(Run *r, Program *p) {
    const Region *body = &r->g->regions[BODY];
    uint32_t at = p->noutputs;
    for (uint32_t i = 0; i < p->nparams; i++) {
        ParamTrace *t = &p->params[i];
        if (t->new_value) param_take(t->param, tensor_alias(r->values[body->results[at++]]));
        if (t->new_grad) TRY(param_set_grad(t->param, r->values[body->results[at++]]));
        if (t->drops_grad) TRY(param_set_grad(t->param, NULL));
        if (t->param->handle && capture_shows) capture_shows(t->param);
    }
    return OK;
}

static Status run_late(Run *r) {
    for (Late *late = r->late; late; late = late->next) {
        Host *h = late->node->host;
        TRY(h->call(h->ctx, late->node->nin, late->in, 0, NULL));
    }
    return OK;
}

static void run_done(Run *r) {
    for (uint32_t v = 0; v < r->g->nvalues; v++) tensor_unref(r->values[v]);
    free(r->values);
    for (uint32_t i = 0; i < r->g->nstacks; i++) {
        for (size_t k = 0; k < r->stacks[i].n; k++) tensor_unref(r->stacks[i].items[k]);
        free(r->stacks[i].items);
    }
    free(r->stacks);
    while (r->late) {
        Late *late = r->late;
        r->late = late->next;
        for (int i = 0; i < late->node->nin; i++) tensor_unref(late->in[i]);
        free(late->in);
        free(late);
    }
}

Status program_run(Program *p, int nin, Tensor *const *in, Tensor **out) {
    if (capture_is_on())
        return FAIL(RUNTIME, "a compiled program cannot run while another one is captured");
    Run r = {.g = p->graph, .values = checked(calloc(p->graph->nvalues, sizeof *r.values))};
    r.stacks = checked(calloc(p->graph->nstacks + 1, sizeof *r.stacks));
    r.late_end = &r.late;
    RandomState state = random_state();
    bool was = tape_set(false);
    Status status = bind(&r, p, nin, in);
    if (status == OK) status = run_body(&r);
    if (status == OK) status = commit(&r, p);
    const Region *body = &p->graph->regions[BODY];
    for (uint32_t i = 0; i < p->noutputs && status == OK; i++)
        out[i] = tensor_alias(r.values[body->results[i]]);
    if (status == OK)
        status = run_late(&r);
    else
        random_restore(state);
    tape_set(was);
    run_done(&r);
    return status;
}
