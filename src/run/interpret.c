/* Running a graph node by node through eager dispatch: the reference executor. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eager/dispatch.h"
#include "run/effects.h"
#include "run/run.h"

typedef struct Run {
    const Graph *g;
    Tensor **values; /* by number; NULL: not computed, or dropped */
    Effects effects;
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

/* References to the inputs' values. */
static Tensor **inputs_of(const Run *r, const Node *n) {
    Tensor **t = checked(calloc((size_t)(n->nin + n->nout) + 1, sizeof *t));
    for (int i = 0; i < n->nin; i++) t[i] = tensor_ref(r->values[n->in[i]]);
    return t;
}

static Status run_host(Run *r, const Node *n) {
    Tensor **in = inputs_of(r, n), **out = in + n->nin;
    Status status = OK;
    if (n->host->is_late) {
        effects_late(&r->effects, n->host, n->nin, in);
    } else {
        status = n->host->call(n->host->ctx, n->nin, in, n->nout, out);
        for (int i = 0; i < n->nout && status == OK; i++) set(r, n->out[i], out[i]);
        for (int i = 0; i < n->nin; i++) tensor_unref(in[i]);
    }
    free(in);
    return status;
}

static void push(Run *r, const Node *n) {
    Tensor **in = inputs_of(r, n);
    effects_push(&r->effects, n->count, n->nin, in);
    free(in);
}

static Status pop(Run *r, const Node *n) {
    Tensor **out = checked(calloc((size_t)n->nout + 1, sizeof *out));
    Status status = effects_pop(&r->effects, r->g, n, out);
    for (int i = 0; i < n->nout; i++) set(r, n->out[i], out[i]);
    free(out);
    return status;
}

static Status has_left(Run *r, const Node *n) {
    Tensor *t;
    TRY(tensor_new(graph_type(r->g, n->out[0]), "loop", &t));
    t->data[0] = effects_left(&r->effects, n->count);
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
    case N_POP: return pop(r, n);
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
        while (!at && region != BODY) {
            if (long_run.turn) TRY(long_run.turn());
            at = leave(r, &region);
        }
        if (!at) return OK;
        const Node *n = graph_node(g, at);
        if (n->kind == N_IF || n->kind == N_WHILE) {
            at = enter(r, n, &region);
            continue;
        }
        Status status = run_node(r, n);
        if (status != OK) {
            run_note_failure(g, n->line);
            return status;
        }
        at = n->after;
    }
}

/* ---- the whole */

static Tensor *value_of(const void *run, Value v) {
    return tensor_alias(((const Run *)run)->values[v]);
}

static void run_init(Run *r, const Program *p) {
    *r = (Run){.g = p->graph, .values = checked(calloc(p->graph->nvalues, sizeof *r->values))};
    effects_init(&r->effects, p->graph);
}

static void run_done(Run *r) {
    for (uint32_t v = 0; v < r->g->nvalues; v++) tensor_unref(r->values[v]);
    free(r->values);
    effects_done(&r->effects);
}

Status program_interpret(const Program *p, Tensor *const *inputs, Tensor **out) {
    Run r;
    run_init(&r, p);
    for (uint32_t i = 0; i < r.g->ninputs; i++) set(&r, r.g->inputs[i], tensor_alias(inputs[i]));
    Status status = run_body(&r);
    if (status == OK)
        status = run_commit(p, &(Outcome){.run = &r, .value_of = value_of}, out);
    else
        effects_undo(&r.effects);
    if (status == OK) status = effects_commit(&r.effects);
    run_done(&r);
    return status;
}

Status program_interpret_recorded(const Program *p, Tensor *const *inputs, Tensor **out) {
    bool was = tape_set(true);
    Run r;
    run_init(&r, p);
    for (uint32_t i = 0; i < r.g->ninputs; i++) set(&r, r.g->inputs[i], tensor_ref(inputs[i]));
    Status status = run_body(&r);
    const Value *results = r.g->regions[BODY].results;
    for (uint32_t i = 0; i < p->noutputs && status == OK; i++)
        out[i] = tensor_ref(r.values[results[i]]);
    effects_undo(&r.effects);
    run_done(&r);
    tape_set(was);
    return status;
}
