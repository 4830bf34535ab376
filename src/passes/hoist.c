/* Out of loops: calls that compute the same in every turn come before the loop.
 *
 * Only calls that cannot fail and have no effect move, so a loop that makes no turn stays as it is
 * to everybody. Nodes inside an If stay: they may never run. */
#include "passes/edit.h"
#include "passes/passes.h"

/* Whether all inputs come from outside of the loop whose condition or body is region r. */
static bool is_invariant(const Graph *g, const Node *n, const Node *loop) {
    for (int i = 0; i < n->nin; i++) {
        RegionId home = g->values[n->in[i]].region;
        if (n->in[i] && (home == loop->regions[0] || home == loop->regions[1])) return false;
    }
    return true;
}

static void visit(Edit *e, NodeId id, void *ctx) {
    (void)ctx;
    Graph *g = e->g;
    for (;;) {
        const Node *n = graph_node(g, id);
        NodeId owner = g->regions[n->region].owner;
        const Node *loop = graph_node(g, owner);
        bool moves = owner && loop->kind == N_WHILE && edit_is_free(n) && is_invariant(g, n, loop);
        if (!moves) return;
        graph_unlink(g, id);
        graph_link(g, id, loop->region, owner);
        e->changes++;
    }
}

uint32_t pass_hoist(Graph *g) {
    Edit e;
    edit_init(&e, g);
    edit_walk(&e, &(Visitor){.node = visit});
    edit_done(&e);
    return e.changes;
}
