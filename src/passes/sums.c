/* Sums of many terms: a chain of adds whose sums in between nobody else reads becomes one call that
 * reads each term once and writes one result. It adds in the order of the chain, so the bits stay.
 *
 * The terms are all needed at the last add. Large ones are joined only where that takes no more
 * memory: they are alive there anyway, or the adds follow each other; of the innermost two one may
 * die, as the sum takes its place. Places are numbers of nodes in the order of running. */
#include <stdlib.h>

#include "base/memory.h"
#include "passes/match.h"
#include "passes/passes.h"

enum { MOST_TERMS = 16, SMALL_BYTES = 65536 };
#define FOREVER UINT32_MAX

typedef struct Sums {
    Graph *g;
    NodeId *nodes; /* all, in the order of running */
    uint32_t n;
    uint32_t *place; /* of a node */
    uint32_t *last;  /* of a value: where it or a view of it is read last */
    uint32_t *taken; /* ... where an update overwrites it; 0: nowhere */
    Uses uses;
    uint32_t changes;
} Sums;

/* ---- lives */

/* A use by node `id`; for values from further out, by the node there around it. */
static void use(Sums *s, Value v, NodeId id) {
    if (!v) return;
    v = edit_viewed(s->g, v);
    NodeId user = edit_user(s->g, v, id);
    uint32_t place = user ? s->place[user] : FOREVER;
    if (place > s->last[v]) s->last[v] = place;
}

static void note(Edit *e, NodeId id, void *ctx) {
    Sums *s = ctx;
    const Node *n = graph_node(e->g, id);
    s->nodes[s->n++] = id;
    s->place[id] = s->n;
    for (int i = 0; i < n->nin; i++) use(s, n->in[i], id);
    for (int i = 0; i < n->nout && edit_is_update(n); i++) s->taken[n->in[i]] = s->place[id];
}

static void note_results(Edit *e, RegionId r, void *ctx) {
    Sums *s = ctx;
    const Region *region = &e->g->regions[r];
    for (uint32_t i = 0; i < region->nresults; i++) {
        Value v = edit_viewed(e->g, region->results[i]);
        if (e->g->values[v].region == r)
            s->last[v] = FOREVER;
        else if (region->owner)
            use(s, v, region->owner);
    }
}

/* ---- chains */

typedef struct Chain {
    Sums *s;
    NodeId end;   /* the last add, which becomes the sum */
    bool small;   /* its terms may wait in any case */
    bool beside;  /* nothing but adds of the chain stands between `front` and it */
    NodeId front; /* the first add so far */
    int n;        /* terms behind the first two, the last one first */
    Value terms[MOST_TERMS];
    bool turned[MOST_TERMS];
} Chain;

/* An add of inputs that are like its result, in a type that is its own compute type. */
static bool is_sum(const Graph *g, NodeId id) {
    const Node *n = graph_node(g, id);
    if (!id || !n->region || n->kind != N_CALL || n->op->id != OP_add) return false;
    const TensorType *type = graph_type(g, n->out[0]);
    DType d = (DType)type->dtype;
    return d != DT_bool && d < NREAL && dtype_info[d].compute == d &&
           type_equal(graph_type(g, n->in[0]), type) && type_equal(graph_type(g, n->in[1]), type);
}

/* The add that makes v for the end of the chain alone; 0: something else does. */
static NodeId inner_sum(const Chain *c, Value v) {
    const Graph *g = c->s->g;
    NodeId id = g->values[v].node;
    bool fits = is_sum(g, id) && graph_node(g, id)->region == graph_node(g, c->end)->region &&
                uses_of(&c->s->uses, v) == 1;
    return fits ? id : 0;
}

/* Whether v, read in the chain, takes no memory for waiting for the last add. */
static bool may_wait(const Chain *c, Value v) {
    const Sums *s = c->s;
    Value base = edit_viewed(s->g, v);
    const ValueInfo *info = &s->g->values[base];
    uint32_t end = s->place[c->end], taken = s->taken[base];
    if (taken && taken < end) return false;
    if (c->small || c->beside || !info->node) return true;
    if (info->region != graph_node(s->g, c->end)->region) return true;
    return graph_node(s->g, info->node)->kind == N_CONST || s->last[base] >= end;
}

/* Whether the sum can take the place of v where that dies. */
static bool may_give(const Chain *c, Value v) {
    const ValueInfo *info = &c->s->g->values[v];
    return edit_viewed(c->s->g, v) == v && info->node && !c->s->taken[v] &&
           info->region == graph_node(c->s->g, c->end)->region;
}

/* Whether the chain may begin with this add. */
static bool may_begin(const Chain *c, NodeId id) {
    Value x = graph_node(c->s->g, id)->in[0], y = graph_node(c->s->g, id)->in[1];
    bool x_waits = may_wait(c, x), y_waits = may_wait(c, y);
    return (x_waits && (y_waits || may_give(c, y))) || (y_waits && may_give(c, x));
}

/* Adds input `side` of the first add to the terms and goes on with the add that makes the other
 * input; false: there is none, or it cannot be. */
static bool extend(Chain *c, int side) {
    const Node *n = graph_node(c->s->g, c->front);
    NodeId inner = inner_sum(c, n->in[1 - side]);
    if (!inner || (c->front != c->end && !may_wait(c, n->in[side]))) return false;
    bool beside = c->beside;
    c->beside = beside && n->before == inner;
    if (!may_begin(c, inner)) {
        c->beside = beside;
        return false;
    }
    c->terms[c->n] = n->in[side];
    c->turned[c->n++] = side == 0;
    c->front = inner;
    return true;
}

/* The end becomes the sum of all terms; the adds before it go. */
static void join(Edit *e, const Chain *c) {
    Value in[MOST_TERMS];
    attrs_sums_core attrs = {.turned = 0};
    int nin = 2 + c->n;
    for (int i = 0; i < 2; i++) in[i] = graph_node(e->g, c->front)->in[i];
    for (int i = 0; i < c->n; i++) {
        in[nin - 1 - i] = c->terms[i];
        if (c->turned[i]) attrs.turned |= (int64_t)1 << (nin - 1 - i);
    }
    NodeId id = c->end;
    for (int i = 0; i < c->n; i++) {
        NodeId inner = e->g->values[graph_node(e->g, id)->in[c->turned[i]]].node;
        if (id != c->end) graph_drop(e->g, id);
        id = inner;
    }
    graph_drop(e->g, id);
    edit_become(e, c->end, OP_sums_core, &attrs, nin, in);
}

static void join_from(Sums *s, Edit *e, NodeId end) {
    if (!is_sum(s->g, end)) return;
    const TensorType *type = graph_type(s->g, graph_node(s->g, end)->out[0]);
    int64_t n = type_count(type);
    Chain c = {.s = s, .end = end, .front = end, .beside = true};
    c.small = n < SMALL_BYTES / dtype_size(type->dtype);
    while (c.n < MOST_TERMS - 2 && (extend(&c, 1) || extend(&c, 0))) continue;
    if (!c.n) return;
    join(e, &c);
    s->changes++;
}

uint32_t pass_sums(Graph *g) {
    Sums s = {.g = g};
    Edit e;
    s.nodes = checked(calloc(g->nnodes, sizeof *s.nodes));
    s.place = checked(calloc(g->nnodes, sizeof *s.place));
    s.last = checked(calloc(2 * (size_t)g->nvalues, sizeof *s.last));
    s.taken = s.last + g->nvalues;
    uses_count(&s.uses, g);
    edit_init(&e, g);
    edit_walk(&e, &(Visitor){.node = note, .leave = note_results, .ctx = &s});
    for (uint32_t i = s.n; i--;) join_from(&s, &e, s.nodes[i]);
    edit_done(&e);
    uses_done(&s.uses);
    free(s.nodes);
    free(s.place);
    free(s.last);
    return s.changes;
}
