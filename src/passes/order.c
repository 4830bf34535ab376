/* Later where it costs nothing: a node moves down to just before its first use if all that it reads
 * is alive there anyway, so that its result needs its memory for a shorter time.
 *
 * The walk goes backwards through each region: users have their final places when a node is looked
 * at. A place is the number of a node that stays, and moved nodes stand before it in their old
 * order, so that users still follow what they use. */
#include <stdlib.h>

#include "base/memory.h"
#include "passes/edit.h"
#include "passes/passes.h"

#define FOREVER UINT32_MAX

typedef struct Order {
    const Graph *g;
    NodeId *nodes; /* all, in the order of running */
    uint32_t n;
    uint32_t *place; /* of a node */
    NodeId *front;   /* of a place: the first node that stands there */
    uint32_t *first; /* first and last use of a value, as places in its region; 0: none */
    uint32_t *last;
    uint32_t *taken; /* of the old value of a parameter: the update that overwrites it; 0: none */
} Order;

static void note(Edit *e, NodeId id, void *ctx) {
    Order *o = ctx;
    (void)e;
    o->nodes[o->n++] = id;
    o->place[id] = o->n;
    o->front[o->n] = id;
}

static void use_at(Order *o, Value v, uint32_t place) {
    if (!o->first[v] || place < o->first[v]) o->first[v] = place;
    if (place > o->last[v]) o->last[v] = place;
}

/* A use by node `id`: for values from further out, by the node there around it. What a loop's
 * condition computes and its body reads is needed to the end of the condition. */
static void use(Order *o, Value v, NodeId id) {
    if (!v) return;
    NodeId user = edit_user(o->g, v, id);
    use_at(o, v, user ? o->place[user] : FOREVER);
}

static void use_results(Order *o, RegionId r) {
    const Region *region = &o->g->regions[r];
    for (uint32_t i = 0; i < region->nresults; i++)
        if (o->g->values[region->results[i]].region == r)
            use_at(o, region->results[i], FOREVER);
        else if (region->owner)
            use(o, region->results[i], region->owner);
}

/* Whether v takes up memory at that place whatever node n does. */
static bool is_alive(const Order *o, Value v, const Node *n, uint32_t place) {
    const ValueInfo *info = &o->g->values[v];
    uint32_t taken = v ? o->taken[edit_viewed(o->g, v)] : 0;
    if (taken && place > taken) return false;
    if (!v || !info->node || info->region != n->region) return true;
    return graph_node(o->g, info->node)->kind == N_CONST || o->last[v] >= place;
}

static bool moves(const Order *o, const Node *n, uint32_t place) {
    if (n->kind != N_CALL || n->nout != 1 || n->op->kind == K_MAP || !edit_is_free(n)) return false;
    for (int i = 0; i < n->nin; i++)
        if (!is_alive(o, n->in[i], n, place)) return false;
    return place != FOREVER;
}

static uint32_t place_node(Order *o, Graph *g, NodeId id) {
    const Node *n = graph_node(g, id);
    uint32_t place = n->nout == 1 ? o->first[n->out[0]] : 0;
    bool later = place > o->place[id] + 1 && moves(o, n, place);
    if (later) {
        RegionId region = n->region;
        graph_unlink(g, id);
        graph_link(g, id, region, o->front[place]);
        o->front[place] = id;
        o->place[id] = place;
    }
    for (int i = 0; i < n->nin; i++) use(o, n->in[i], id);
    for (int i = 0; i < n->nout && edit_is_update(n); i++) o->taken[n->in[i]] = o->place[id];
    return later;
}

uint32_t pass_order(Graph *g) {
    Order o = {.g = g};
    Edit e;
    uint32_t moved = 0;
    o.nodes = checked(calloc(g->nnodes, sizeof *o.nodes));
    o.place = checked(calloc(g->nnodes, sizeof *o.place));
    o.front = checked(calloc(g->nnodes + 1u, sizeof *o.front));
    o.first = checked(calloc(3 * (size_t)g->nvalues, sizeof *o.first));
    o.last = o.first + g->nvalues;
    o.taken = o.last + g->nvalues;
    edit_init(&e, g);
    edit_walk(&e, &(Visitor){.node = note, .ctx = &o});
    edit_done(&e);
    use_results(&o, BODY);
    for (uint32_t i = o.n; i--;) {
        const Node *n = graph_node(g, o.nodes[i]);
        bool opens = n->kind == N_IF || n->kind == N_WHILE;
        for (int k = 0; k < 2 && opens; k++) use_results(&o, n->regions[k]);
        moved += place_node(&o, g, o.nodes[i]);
    }
    free(o.nodes);
    free(o.place);
    free(o.front);
    free(o.first);
    return moved;
}
