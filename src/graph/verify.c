/* What passes may rely on, checked. */
#include <stdlib.h>
#include <string.h>

#include "graph/text.h"

typedef struct Check {
    const Graph *g;
    bool *defined; /* a value: seen already, and its region is open or closed around */
    NodeId at;
} Check;

static Status check_use(const Check *c, Value v, RegionId r) {
    const Graph *g = c->g;
    if (!v) return OK;
    if (v >= g->nvalues) return FAIL(INTERNAL, "graph: node %u uses %%%u, which is none", c->at, v);
    RegionId home = g->values[v].region;
    while (r && r != home) r = g->regions[r].parent;
    if (!r || !c->defined[v])
        return FAIL(INTERNAL, "graph: node %u uses %%%u before or outside of its definition", c->at,
                    v);
    return OK;
}

static Status check_results(const Check *c, RegionId id, uint32_t n, const Value *like) {
    const Region *r = &c->g->regions[id];
    if (r->nresults != n)
        return FAIL(INTERNAL, "graph: region %u has %u results, its node %u", id, r->nresults, n);
    for (uint32_t i = 0; i < n; i++) {
        TRY(check_use(c, r->results[i], id));
        if (!type_equal(graph_type(c->g, r->results[i]), graph_type(c->g, like[i])))
            return FAIL(INTERNAL, "graph: result %u of region %u has another type than its node", i,
                        id);
    }
    return OK;
}

/* The results of a call have the types that the op's own rule gives. */
static Status check_types(const Check *c, const Node *n) {
    int nin = n->nin - n->draws;
    const TensorType **in = malloc(((size_t)nin + 1) * sizeof *in);
    TensorType *out = malloc(((size_t)n->nout + 1) * sizeof *out);
    if (!in || !out) abort(); /* bookkeeping: the pool_small policy */
    for (int i = 0; i < nin; i++) in[i] = n->in[i] ? graph_type(c->g, n->in[i]) : NULL;
    OpCall call = {n->op, n->attrs, nin, n->nout, in};
    Status status = n->op->infer(&call, out);
    for (int i = 0; i < n->nout && status == OK; i++)
        if (!type_equal(&out[i], graph_type(c->g, n->out[i])))
            status = FAIL(INTERNAL, "graph: result %d of node %u (%s) has a wrong type", i, c->at,
                          n->op->name);
    free(in);
    free(out);
    return status;
}

/* The truth that an If or a While asks for. */
static Status check_condition(const Check *c, NodeId id, Value v) {
    const TensorType *t = graph_type(c->g, v);
    if (v && t->dtype == DT_bool && t->rank == 0) return OK;
    char text[200];
    return FAIL(INTERNAL, "graph: the condition of node %u is %s; it must be bool[]", id,
                v ? type_text(t, text, sizeof text) : "missing");
}

static Status check_node(Check *c, NodeId id, RegionId r) {
    const Node *n = graph_node(c->g, id);
    c->at = id;
    if (n->region != r) return FAIL(INTERNAL, "graph: node %u stands in another region", id);
    for (int i = 0; i < n->nin; i++) TRY(check_use(c, n->in[i], r));
    if (n->kind == N_CALL) TRY(check_types(c, n));
    if (n->kind == N_IF) TRY(check_condition(c, id, n->in[0]));
    if (n->kind == N_WHILE) {
        const Region *first = &c->g->regions[n->regions[0]];
        if (first->nparams != n->nin || n->nin != n->nout)
            return FAIL(INTERNAL, "graph: loop %u carries different numbers of values", id);
        for (uint32_t i = 0; i < first->nparams; i++) c->defined[first->params[i]] = true;
    }
    return OK;
}

static Status close_node(Check *c, NodeId id) {
    const Node *n = graph_node(c->g, id);
    for (int i = 0; i < n->nout; i++) c->defined[n->out[i]] = true;
    if (n->kind == N_IF) {
        TRY(check_results(c, n->regions[0], n->nout, n->out));
        TRY(check_results(c, n->regions[1], n->nout, n->out));
    } else if (n->kind == N_WHILE) {
        if (c->g->regions[n->regions[0]].nresults != 1)
            return FAIL(INTERNAL, "graph: the condition of loop %u has not one result", id);
        TRY(check_condition(c, id, c->g->regions[n->regions[0]].results[0]));
        TRY(check_results(c, n->regions[1], n->nout, n->out));
    }
    return OK;
}

static Status check_all(Check *c) {
    const Graph *g = c->g;
    RegionId r = BODY;
    NodeId at = g->regions[BODY].first;
    for (;;) {
        while (!at && r != BODY) { /* out of a region inside */
            NodeId owner = g->regions[r].owner;
            const Node *n = graph_node(g, owner);
            if (n->regions[0] == r) {
                r = n->regions[1];
                at = g->regions[r].first;
                continue;
            }
            TRY(close_node(c, owner));
            r = n->region;
            at = n->after;
        }
        if (!at) break;
        TRY(check_node(c, at, r));
        const Node *n = graph_node(g, at);
        if (n->kind == N_IF || n->kind == N_WHILE) {
            r = n->regions[0];
            at = g->regions[r].first;
            continue;
        }
        TRY(close_node(c, at));
        at = n->after;
    }
    const Region *body = &g->regions[BODY];
    for (uint32_t i = 0; i < body->nresults; i++) TRY(check_use(c, body->results[i], BODY));
    return OK;
}

Status graph_verify(const Graph *g) {
    Check c = {.g = g, .defined = calloc(g->nvalues, sizeof(bool))};
    if (!c.defined) abort(); /* bookkeeping: the pool_small policy */
    for (uint32_t i = 0; i < g->ninputs; i++) c.defined[g->inputs[i]] = true;
    Status status = check_all(&c);
    free(c.defined);
    return status;
}
