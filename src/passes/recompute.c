/* Computing again instead of keeping (Chen et al. 2016): nodes of a recomputed part carry its
 * number; those that make its results are kept. A node behind the part that reads a value from
 * inside it is part of a gradient: it gets a copy of the node that made the value, and of what that
 * reads inside the part, right before itself. Copies read the values that the originals read, so
 * bits stay. */
#include <stdlib.h>

#include "base/memory.h"
#include "passes/edit.h"
#include "passes/passes.h"

typedef struct Again {
    Edit *e;
    uint32_t place; /* of the present node of the body */
    uint32_t *end;  /* of a part: the place of its last node */
    uint32_t nparts;
    NodeId *copy;    /* of a node: 0: none yet */
    uint32_t nnodes; /* before there were copies */
    NodeId *todo;    /* nodes to be copied, users first; each may stand there twice */
    uint32_t n, cap;
} Again;

/* The part whose node makes v, when that node can be copied; 0: v is kept. */
static uint32_t part_of(const Again *a, Value v) {
    NodeId id = edit_def(a->e, v);
    if (!id || id >= a->nnodes) return 0;
    const Node *n = graph_node(a->e->g, id);
    bool is_free = n->region == BODY && n->kind == N_CALL && edit_is_free(n);
    return is_free && !n->kept ? n->again : 0;
}

static void note(Edit *e, NodeId id, void *ctx) {
    Again *a = ctx;
    const Node *n = graph_node(e->g, id);
    if (n->region == BODY) a->place++;
    a->end[n->again] = a->place;
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
        if (part_of(a, n->in[i]) != n->again || a->copy[edit_def(a->e, n->in[i])]) continue;
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
        in[i] = part_of(a, n.in[i]) == n.again ? copied(a, n.in[i]) : n.in[i];
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

static uint32_t count_parts(const Graph *g) {
    uint32_t most = 0;
    for (NodeId n = 1; n < g->nnodes; n++)
        if (g->nodes[n].region && g->nodes[n].again > most) most = g->nodes[n].again;
    return most;
}

uint32_t pass_recompute(Graph *g) {
    Edit e;
    Again a = {.e = &e, .nparts = count_parts(g), .nnodes = g->nnodes};
    if (!a.nparts) return 0;
    a.end = checked(calloc(a.nparts + 1, sizeof *a.end));
    a.copy = checked(calloc(g->nnodes, sizeof *a.copy));
    edit_init(&e, g);
    edit_walk(&e, &(Visitor){.node = note, .ctx = &a});
    a.place = 0;
    edit_walk(&e, &(Visitor){.node = visit, .leave = visit_results, .ctx = &a});
    edit_done(&e);
    free(a.end);
    free(a.copy);
    free(a.todo);
    if (e.changes) pass_dead(g);
    return e.changes;
}
