/* Leaving out what nobody reads.
 *
 * Marks from what must run (results of the body, effects) to what that reads; then everything
 * without a mark goes. A result of an If is read or not on its own, and so is a carried value of a
 * While: one that only feeds itself goes. */
#include <stdlib.h>

#include "base/memory.h"
#include "passes/edit.h"
#include "passes/passes.h"

typedef struct Marks {
    Graph *g;
    bool *nodes, *values;
    Value *todo; /* each value at most once */
    uint32_t ntodo;
} Marks;

static void mark_value(Marks *m, Value v) {
    if (!v || m->values[v]) return;
    m->values[v] = true;
    m->todo[m->ntodo++] = v;
}

/* The node runs: so do those around it, and what decides about them. */
static void mark_node(Marks *m, NodeId id) {
    while (id && !m->nodes[id]) {
        const Node *n = graph_node(m->g, id);
        m->nodes[id] = true;
        if (n->kind == N_WHILE) mark_value(m, m->g->regions[n->regions[0]].results[0]);
        if (n->kind != N_WHILE)
            for (int i = 0; i < n->nin; i++) mark_value(m, n->in[i]);
        id = m->g->regions[n->region].owner;
    }
}

static void mark_carried(Marks *m, const Node *loop, uint32_t i) {
    mark_value(m, loop->in[i]);
    mark_value(m, m->g->regions[loop->regions[0]].params[i]);
    mark_value(m, m->g->regions[loop->regions[1]].results[i]);
}

/* What must be there so that v is. */
static void follow(Marks *m, Value v) {
    const ValueInfo *info = &m->g->values[v];
    if (!info->node) { /* a parameter of a loop, or an input */
        NodeId owner = m->g->regions[info->region].owner;
        if (info->region != BODY) mark_carried(m, graph_node(m->g, owner), info->index);
        return;
    }
    const Node *n = graph_node(m->g, info->node);
    mark_node(m, info->node);
    if (n->kind == N_WHILE) mark_carried(m, n, info->index);
    for (int i = 0; i < 2 && n->kind == N_IF; i++)
        mark_value(m, m->g->regions[n->regions[i]].results[info->index]);
}

static void mark_root(Edit *e, NodeId id, void *ctx) {
    const Node *n = graph_node(e->g, id);
    if (n->kind != N_IF && !edit_is_free(n)) mark_node(ctx, id);
}

/* ---- the sweep */

/* Keeps the entries i of v whose keep[i] holds. */
static void compact(uint32_t n, Value *v, const bool *keep) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (keep[i]) v[kept++] = v[i];
}

/* Results of an If, or carried values of a While, that are not marked go. */
static void shrink(Edit *e, Node *n, const Marks *m) {
    Graph *g = e->g;
    Region *a = &g->regions[n->regions[0]], *b = &g->regions[n->regions[1]];
    uint32_t all = n->nout, kept = 0;
    bool *keep = checked(malloc(all + 1u));
    for (uint32_t i = 0; i < all; i++) {
        keep[i] = m->values[n->kind == N_IF ? n->out[i] : a->params[i]];
        if (!keep[i]) continue;
        if (n->kind == N_WHILE) g->values[a->params[i]].index = kept;
        g->values[n->out[i]].index = kept++;
    }
    compact(all, n->out, keep);
    compact(all, b->results, keep);
    b->nresults = kept;
    n->nout = (uint16_t)kept;
    if (n->kind == N_IF) {
        compact(all, a->results, keep);
        a->nresults = kept;
    } else {
        compact(all, a->params, keep);
        compact(all, n->in, keep);
        a->nparams = kept;
        n->nin = (uint16_t)kept;
    }
    e->changes += all - kept;
    free(keep);
}

static void sweep(Edit *e, NodeId id, void *ctx) {
    const Marks *m = ctx;
    Node *n = graph_node(e->g, id);
    if (!m->nodes[id]) {
        e->changes += n->kind != N_CONST && n->kind != N_UNDEF;
        graph_drop(e->g, id);
    } else if (n->kind == N_IF || n->kind == N_WHILE) {
        shrink(e, n, m);
    }
}

uint32_t pass_dead(Graph *g) {
    Marks m = {.g = g};
    m.nodes = checked(calloc(g->nnodes, sizeof *m.nodes));
    m.values = checked(calloc(g->nvalues, sizeof *m.values));
    m.todo = checked(malloc(g->nvalues * sizeof *m.todo));
    Edit e;
    edit_init(&e, g);
    const Region *body = &g->regions[BODY];
    for (uint32_t i = 0; i < body->nresults; i++) mark_value(&m, body->results[i]);
    edit_walk(&e, &(Visitor){.node = mark_root, .ctx = &m});
    while (m.ntodo) follow(&m, m.todo[--m.ntodo]);
    edit_walk(&e, &(Visitor){.node = sweep, .ctx = &m});
    edit_done(&e);
    free(m.nodes);
    free(m.values);
    free(m.todo);
    return e.changes;
}
