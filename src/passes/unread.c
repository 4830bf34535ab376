/* Results of an If that are read only where it took one of its sides.
 *
 * A reader inside of another If over the same condition (or its opposite) runs only where the first
 * one went the same way: what the side not taken hands out is never looked at. Gradients of a
 * branch and the updates they feed are such a pair. */
#include <stdlib.h>

#include "base/memory.h"
#include "passes/edit.h"
#include "passes/passes.h"

enum { READ_THEN = 1, READ_OTHER = 2, READ_BOTH = READ_THEN | READ_OTHER };

typedef struct Unread {
    uint8_t *read; /* of each value: READ_* */
} Unread;

/* The condition without its negations, and whether their number is odd. */
static Value bare(const Edit *e, Value v, bool *is_negated) {
    *is_negated = false;
    while (edit_is_call(e, v, OP_logical_not)) {
        v = edit_call_of(e, v)->in[0];
        *is_negated = !*is_negated;
    }
    return v;
}

/* Region r reads v. */
static void see(Edit *e, Unread *u, RegionId r, Value v) {
    const Graph *g = e->g;
    if (!v || !edit_def(e, v) || u->read[v] == READ_BOTH) return;
    const Node *n = graph_node(g, edit_def(e, v));
    if (n->kind != N_IF) return;
    bool is_negated, is_also;
    Value condition = bare(e, n->in[0], &is_negated);
    for (; r && r != g->values[v].region; r = g->regions[r].parent) {
        const Node *around = graph_node(g, g->regions[r].owner);
        if (around->kind != N_IF || bare(e, around->in[0], &is_also) != condition) continue;
        bool is_other = (around->regions[1] == r) != (is_negated != is_also);
        u->read[v] |= is_other ? READ_OTHER : READ_THEN;
        return;
    }
    u->read[v] = READ_BOTH;
}

static void see_node(Edit *e, NodeId id, void *ctx) {
    const Node *n = graph_node(e->g, id);
    for (int i = 0; i < n->nin; i++) see(e, ctx, n->region, n->in[i]);
}

static void see_results(Edit *e, RegionId r, void *ctx) {
    const Region *region = &e->g->regions[r];
    for (uint32_t i = 0; i < region->nresults; i++) see(e, ctx, r, region->results[i]);
}

static bool is_undefined(const Edit *e, Value v) {
    return edit_def(e, v) && graph_node(e->g, edit_def(e, v))->kind == N_UNDEF;
}

static void drop_side(Edit *e, RegionId side, uint32_t i) {
    Value v = e->g->regions[side].results[i];
    if (is_undefined(e, v)) return;
    TensorType type = *graph_type(e->g, v);
    Value nothing = graph_append(e->g, side, N_UNDEF, 0, NULL, 1, &type)->out[0];
    e->g->regions[side].results[i] = nothing;
    e->changes++;
}

static void drop_unread(Edit *e, NodeId id, void *ctx) {
    const Unread *u = ctx;
    const Node *n = graph_node(e->g, id);
    if (n->kind != N_IF) return;
    const RegionId sides[2] = {n->regions[0], n->regions[1]};
    int nout = n->nout;
    for (int i = 0; i < nout; i++) {
        uint8_t read = u->read[graph_node(e->g, id)->out[i]];
        if (read == READ_THEN) drop_side(e, sides[1], (uint32_t)i);
        if (read == READ_OTHER) drop_side(e, sides[0], (uint32_t)i);
    }
}

uint32_t pass_unread(Graph *g) {
    Unread u = {checked(calloc(g->nvalues, 1))};
    Edit e;
    edit_init(&e, g);
    edit_walk(&e, &(Visitor){see_node, NULL, see_results, NULL, &u});
    edit_walk(&e, &(Visitor){NULL, NULL, NULL, drop_unread, &u});
    edit_done(&e);
    free(u.read);
    return e.changes;
}
