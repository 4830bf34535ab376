/* Updates of parameters as early as they may overwrite: behind the last node of the body that reads
 * what an update overwrites, and behind what it reads itself. Captured code has them after the
 * whole gradient, where all gradients are alive at once.
 *
 * An update does not pass a node that may fail or has an effect, so errors come in the same order,
 * and the plan's rule (no update before the last that may fail) costs nothing. */
#include <stdlib.h>

#include "base/memory.h"
#include "passes/edit.h"
#include "passes/passes.h"

enum { LEAST_BYTES = 65536, NUMBER_BYTES = 64 }; /* small ones stay together at the end */

typedef struct Early {
    NodeId *body; /* its nodes in order, from 1 */
    NodeId *last; /* of a place: the latest update that was put behind it; 0: none */
    uint32_t n;
    const Graph *g;
    uint32_t *use, *def; /* of a value: places; use: the last but for updates */
} Early;

static void use(Early *o, Value v) {
    if (v) o->use[edit_viewed(o->g, v)] = o->n;
}

static void note(Edit *e, NodeId id, void *ctx) {
    Early *o = ctx;
    const Node *n = graph_node(e->g, id);
    if (n->region == BODY) o->body[++o->n] = id;
    bool is_update = n->region == BODY && edit_is_update(n);
    for (int i = 0; i < n->nin && !is_update; i++) use(o, n->in[i]);
    for (int i = 0; i < n->nout; i++) o->def[n->out[i]] = o->n;
}

static void note_results(Edit *e, RegionId r, void *ctx) {
    const Region *region = &e->g->regions[r];
    for (uint32_t i = 0; i < region->nresults && r != BODY; i++) use(ctx, region->results[i]);
}

/* ---- numbers (learning rates) come before everything */

/* Constants, and small results of what is known from the start. */
static bool is_early(const Early *o, const bool *early, NodeId id) {
    const Node *n = graph_node(o->g, id);
    if (n->kind == N_CONST) return true;
    if (n->kind != N_CALL || !edit_is_free(n) || edit_is_update(n)) return false;
    for (int i = 0; i < n->nout; i++) {
        const TensorType *t = graph_type(o->g, n->out[i]);
        if (type_count(t) * dtype_size(t->dtype) > NUMBER_BYTES) return false;
    }
    for (int i = 0; i < n->nin; i++)
        if (n->in[i] && o->g->values[n->in[i]].node && !early[n->in[i]]) return false;
    return true;
}

/* Numbers of updates, and what they are made from, that stand behind a gradient go to the front.
 * Their places are 0 then; what is put behind one of them comes behind all. */
static void raise_numbers(Early *o, Graph *g) {
    bool *early = checked(calloc(2 * (size_t)g->nvalues, sizeof *early)),
         *wanted = early + g->nvalues;
    for (uint32_t i = 1; i <= o->n; i++) {
        const Node *n = graph_node(g, o->body[i]);
        bool is = is_early(o, early, o->body[i]);
        for (int k = 0; k < n->nout; k++) early[n->out[k]] = is;
    }
    for (uint32_t i = o->n; i; i--) {
        const Node *n = graph_node(g, o->body[i]);
        bool is = false;
        for (int k = 0; k < n->nout; k++) is |= wanted[n->out[k]];
        int first = edit_is_update(n) ? n->nout + 1 : is ? 0 : n->nin;
        for (int k = first; k < n->nin; k++) wanted[n->in[k]] = early[n->in[k]];
    }
    NodeId front = g->regions[BODY].first, last = 0;
    for (uint32_t i = 1; i <= o->n; i++) {
        NodeId id = o->body[i];
        const Node *n = graph_node(g, id);
        if (!n->nout || !wanted[n->out[0]]) continue;
        last = id;
        for (int k = 0; k < n->nout; k++) o->def[n->out[k]] = 0;
        if (id == front) {
            front = n->after;
            continue;
        }
        graph_unlink(g, id);
        graph_link(g, id, BODY, front);
    }
    for (uint32_t i = 1; i <= o->n; i++) {
        const Node *n = graph_node(g, o->body[i]);
        if (n->nout && wanted[n->out[0]]) o->body[i] = last;
    }
    free(early);
}

/* ---- updates */

static bool is_large(const Graph *g, const Node *n) {
    const TensorType *t = graph_type(g, n->in[0]);
    return type_count(t) * dtype_size(t->dtype) >= LEAST_BYTES;
}

/* Behind which place update n may stand, looking at values; 0: it stays. */
static uint32_t find_place(const Early *o, const Node *n) {
    uint32_t place = 1;
    for (int i = 0; i < n->nin; i++) {
        uint32_t def = n->in[i] ? o->def[n->in[i]] : 0, last = i < n->nout ? o->use[n->in[i]] : 0;
        if (def && edit_is_update(graph_node(o->g, o->body[def]))) return 0;
        if (def > place) place = def;
        if (last > place) place = last;
    }
    return place;
}

static void move(Early *o, Graph *g, NodeId id, uint32_t place) {
    NodeId after = o->last[place] ? o->last[place] : o->body[place];
    o->last[place] = id;
    if (graph_node(g, after)->after == id) return;
    NodeId before = graph_node(g, after)->after;
    graph_unlink(g, id);
    graph_link(g, id, BODY, before);
}

static bool has_large(const Early *o) {
    for (uint32_t i = 1; i <= o->n; i++) {
        const Node *n = graph_node(o->g, o->body[i]);
        if (edit_is_update(n) && is_large(o->g, n)) return true;
    }
    return false;
}

static uint32_t move_all(Early *o, Graph *g) {
    uint32_t barrier = 0, moved = 0;
    raise_numbers(o, g);
    for (uint32_t i = 1; i <= o->n; i++) {
        const Node *n = graph_node(g, o->body[i]);
        bool is_update = edit_is_update(n);
        if (!is_update && !edit_is_free(n)) barrier = i;
        uint32_t place = is_update && is_large(g, n) ? find_place(o, n) : 0;
        if (barrier > place && place) place = barrier;
        if (!place || place >= i - 1) continue;
        if (edit_is_update(graph_node(g, o->body[place]))) continue;
        move(o, g, o->body[i], place);
        moved++;
    }
    return moved;
}

uint32_t pass_updates(Graph *g) {
    Early o = {.g = g};
    Edit e;
    o.body = checked(calloc(2 * ((size_t)g->nnodes + 1), sizeof *o.body));
    o.last = o.body + g->nnodes + 1;
    o.use = checked(calloc(2 * (size_t)g->nvalues, sizeof *o.use));
    o.def = o.use + g->nvalues;
    edit_init(&e, g);
    edit_walk(&e, &(Visitor){.node = note, .leave = note_results, .ctx = &o});
    edit_done(&e);
    uint32_t moved = has_large(&o) ? move_all(&o, g) : 0;
    free(o.body);
    free(o.use);
    return moved;
}
