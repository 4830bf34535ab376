/* Computing again instead of keeping (Chen et al. 2016): nodes of a recomputed part carry its
 * number; those that make its results are kept. A node behind the part that reads a value from
 * inside it is part of a gradient: it gets a copy of the node that made the value, and of what that
 * reads inside the part, right before itself. Copies read the values that the originals read, so
 * bits stay. */
#include "passes/recompute.h"

#include <stdlib.h>

#include "base/memory.h"
#include "passes/passes.h"

typedef struct Again {
    Edit *e;
    const uint32_t *part, *end;
    uint32_t place;  /* of the present node of the body */
    NodeId *copy;    /* of a node: 0: none yet */
    uint32_t nnodes; /* before there were copies */
    NodeId *todo;    /* nodes to be copied, users first; each may stand there twice */
    uint32_t n, cap;
} Again;

/* The part whose node makes v; 0: v is kept. */
static uint32_t part_of(const Again *a, Value v) {
    NodeId id = edit_def(a->e, v);
    return id < a->nnodes ? a->part[id] : 0;
}

static void want(Again *a, NodeId id) {
    array_grow(&a->todo, a->n, &a->cap, 64, sizeof *a->todo);
    a->todo[a->n++] = id;
}

/* Whether everything that node id reads inside its part has a copy; else that is to be done first.
 */
static bool has_inputs(Again *a, NodeId id) {
    const Node *n = graph_node(a->e->g, id);
    bool has = true;
    for (int i = 0; i < n->nin; i++) {
        if (part_of(a, n->in[i]) != a->part[id] || a->copy[edit_def(a->e, n->in[i])]) continue;
        want(a, edit_def(a->e, n->in[i]));
        has = false;
    }
    return has;
}

static Value copied(const Again *a, Value v) {
    const ValueInfo *info = &a->e->g->values[v];
    return graph_node(a->e->g, a->copy[info->node])->out[info->index];
}

static void copy_node(Again *a, NodeId id, NodeId at) {
    const Node n = *graph_node(a->e->g, id);
    Value *in = checked(malloc((n.nin + 1u) * sizeof *in));
    for (int i = 0; i < n.nin; i++)
        in[i] = n.in[i] && part_of(a, n.in[i]) == a->part[id] ? copied(a, n.in[i]) : n.in[i];
    a->copy[id] = edit_copy(a->e, id, in, at);
    graph_node(a->e->g, a->copy[id])->again = 0;
    a->e->changes++;
    free(in);
}

/* v as a gradient reads it; new nodes stand before `at`. */
static Value again(Again *a, Value v, NodeId at) {
    want(a, edit_def(a->e, v));
    while (a->n) {
        NodeId id = a->todo[a->n - 1];
        if (a->copy[id] || has_inputs(a, id)) {
            a->n--;
            if (!a->copy[id]) copy_node(a, id, at);
        }
    }
    return copied(a, v);
}

static bool is_behind(const Again *a, Value v) {
    uint32_t part = part_of(a, v);
    return part && a->end[part] < a->place;
}

static NodeId in_body(const Graph *g, NodeId id) {
    while (graph_node(g, id)->region != BODY) id = g->regions[graph_node(g, id)->region].owner;
    return id;
}

static void visit(Edit *e, NodeId id, void *ctx) {
    Again *a = ctx;
    if (graph_node(e->g, id)->region == BODY) a->place++;
    for (int i = 0; i < graph_node(e->g, id)->nin; i++) {
        Value v = graph_node(e->g, id)->in[i];
        if (!v || !is_behind(a, v)) continue;
        Value by = again(a, v, in_body(e->g, id));
        graph_node(e->g, id)->in[i] = by;
    }
}

static void visit_results(Edit *e, RegionId r, void *ctx) {
    Again *a = ctx;
    NodeId at = r == BODY ? 0 : in_body(e->g, e->g->regions[r].owner);
    for (uint32_t i = 0; at && i < e->g->regions[r].nresults; i++) {
        Value v = e->g->regions[r].results[i];
        if (!v || !is_behind(a, v)) continue;
        Value by = again(a, v, at);
        e->g->regions[r].results[i] = by;
    }
}

bool recompute_can(const Graph *g, NodeId id) {
    const Node *n = graph_node(g, id);
    return n->region == BODY && n->kind == N_CALL && edit_is_free(n);
}

uint32_t recompute_parts(Graph *g, const uint32_t *part, const uint32_t *end) {
    Edit e;
    Again a = {.e = &e, .part = part, .end = end, .nnodes = g->nnodes};
    a.copy = checked(calloc(g->nnodes, sizeof *a.copy));
    edit_init(&e, g);
    edit_walk(&e, &(Visitor){.node = visit, .leave = visit_results, .ctx = &a});
    edit_done(&e);
    free(a.copy);
    free(a.todo);
    if (e.changes) pass_dead(g);
    return e.changes;
}

/* ---- the parts that are marked */

typedef struct Marked {
    uint32_t place;
    uint32_t *part, *end;
} Marked;

static void note(Edit *e, NodeId id, void *ctx) {
    Marked *m = ctx;
    const Node *n = graph_node(e->g, id);
    m->place += n->region == BODY;
    m->end[n->again] = m->place;
    m->part[id] = recompute_can(e->g, id) && !n->kept ? n->again : 0;
}

static uint32_t count_parts(const Graph *g) {
    uint32_t most = 0;
    for (NodeId n = 1; n < g->nnodes; n++)
        if (g->nodes[n].region && g->nodes[n].again > most) most = g->nodes[n].again;
    return most;
}

uint32_t pass_recompute(Graph *g) {
    uint32_t nparts = count_parts(g), changes;
    if (!nparts) return 0;
    Marked m = {.part = checked(calloc(g->nnodes, sizeof *m.part)),
                .end = checked(calloc(nparts + 1, sizeof *m.end))};
    Edit e;
    edit_init(&e, g);
    edit_walk(&e, &(Visitor){.node = note, .ctx = &m});
    edit_done(&e);
    changes = recompute_parts(g, m.part, m.end);
    free(m.part);
    free(m.end);
    return changes;
}
