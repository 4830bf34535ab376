/* Short loops with a known number of turns become their turns, one after the other.
 *
 * The loop is copied turn by turn over the present values of what it carries, and calls on
 * constants are folded at once. While the condition comes out as a constant this goes on; a loop
 * that does not end within MOST_TURNS and MOST_NODES, or whose condition depends on data, stays as
 * it was. */
#include <stdlib.h>
#include <string.h>

#include "eager/tape.h"
#include "passes/fold.h"
#include "passes/passes.h"

enum { MOST_TURNS = 16, MOST_NODES = 256, MOST_CARRIED = 64 };

typedef struct Unroll {
    Edit *e;
    NodeId loop;
    Value *map; /* values of the loop -> present ones; 0: from outside */
    uint32_t cap;
    uint32_t copied;
} Unroll;

static Value mapped(const Unroll *u, Value v) {
    return edit_now(u->e, v < u->cap && u->map[v] ? u->map[v] : v);
}

/* Number of nodes of a region; more than MOST_NODES where one has regions of its own. */
static uint32_t count_nodes(const Graph *g, RegionId r) {
    uint32_t n = 0;
    for (NodeId at = g->regions[r].first; at && n <= MOST_NODES; at = graph_node(g, at)->after) {
        const Node *node = graph_node(g, at);
        n += node->kind == N_IF || node->kind == N_WHILE ? MOST_NODES + 1 : 1;
    }
    return n;
}

/* Copies the nodes of region r before the loop. */
static void copy_region(Unroll *u, RegionId r) {
    Graph *g = u->e->g;
    for (NodeId at = g->regions[r].first; at; at = graph_node(g, at)->after) {
        Value in[UINT8_MAX];
        int nin = graph_node(g, at)->nin;
        for (int i = 0; i < nin; i++)
            in[i] = graph_node(g, at)->in[i] ? mapped(u, graph_node(g, at)->in[i]) : 0;
        NodeId copy = edit_copy(u->e, at, in, u->loop);
        for (int i = 0; i < graph_node(g, at)->nout; i++)
            u->map[graph_node(g, at)->out[i]] = graph_node(g, copy)->out[i];
        u->copied++;
        fold_node(u->e, copy);
    }
}

static bool fits(const Graph *g, const Node *loop) {
    if (loop->nin > MOST_CARRIED) return false;
    for (int k = 0; k < 2; k++)
        for (NodeId at = g->regions[loop->regions[k]].first; at; at = graph_node(g, at)->after)
            if (graph_node(g, at)->nin >= UINT8_MAX) return false;
    return count_nodes(g, loop->regions[0]) + count_nodes(g, loop->regions[1]) <= MOST_NODES;
}

/* The carried values after a turn. */
static void take_next(Unroll *u, const Value *from, bool is_first) {
    const Graph *g = u->e->g;
    const Region *condition = &g->regions[graph_node(g, u->loop)->regions[0]];
    Value next[MOST_CARRIED];
    for (uint32_t i = 0; i < condition->nparams; i++)
        next[i] = is_first ? from[i] : mapped(u, from[i]);
    for (uint32_t i = 0; i < condition->nparams; i++) u->map[condition->params[i]] = next[i];
}

/* Copies turns until the condition is known to fail; false: it is not known, or takes too long. */
static bool copy_turns(Unroll *u) {
    Graph *g = u->e->g;
    RegionId condition = graph_node(g, u->loop)->regions[0];
    RegionId body = graph_node(g, u->loop)->regions[1];
    take_next(u, graph_node(g, u->loop)->in, true);
    for (int turn = 0; turn <= MOST_TURNS && u->copied <= MOST_NODES; turn++) {
        copy_region(u, condition);
        Tensor *holds = edit_const(u->e, mapped(u, g->regions[condition].results[0]));
        if (!holds) return false;
        if (!holds->data[0]) return true;
        copy_region(u, body);
        take_next(u, g->regions[body].results, false);
    }
    return false;
}

/* Drops what was put before the loop since `before` was the node there. */
static void take_back(Graph *g, NodeId loop, NodeId before) {
    while (graph_node(g, loop)->before != before) graph_drop(g, graph_node(g, loop)->before);
}

static void visit(Edit *e, NodeId id, void *ctx) {
    (void)ctx;
    Graph *g = e->g;
    if (graph_node(g, id)->kind != N_WHILE || !fits(g, graph_node(g, id))) return;
    Unroll u = {.e = e, .loop = id, .cap = g->nvalues};
    u.map = calloc(u.cap, sizeof *u.map);
    if (!u.map) abort(); /* bookkeeping: the pool_small policy */
    NodeId before = graph_node(g, id)->before;
    if (copy_turns(&u)) {
        const Node *loop = graph_node(g, id);
        for (int i = 0; i < loop->nout; i++)
            edit_replace(e, loop->out[i], mapped(&u, g->regions[loop->regions[0]].params[i]));
        graph_drop(g, id);
        e->changes++;
    } else {
        take_back(g, id, before);
    }
    free(u.map);
}

uint32_t pass_unroll(Graph *g) {
    Edit e;
    edit_init(&e, g);
    bool was = tape_set(false);
    edit_walk(&e, &(Visitor){.node = visit});
    tape_set(was);
    edit_done(&e);
    return e.changes;
}
