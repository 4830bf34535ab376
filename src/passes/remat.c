/* Rematerialisation of cheap values: what is alive where most memory is needed, has been read
 * before and is read again much later, need not be kept if calls that cost little make it from
 * values that are alive at that time anyway. Activations behind norms and elementwise functions are
 * such: their gradients read the input of the norm, too. Up to MOST_ROUNDS peaks are lowered, one
 * after the other.
 *
 * Places are those of nodes in the body; a value is alive from the node that makes it to the last
 * that reads it or a view of it. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "passes/passes.h"
#include "passes/recompute.h"

enum {
    LEAST_BYTES = 65536, /* of a value that is worth it */
    MOST_CALLS = 4,      /* that make a value again */
    FAR = 16, /* places between the last early and the first late read; and a 1/FAR of all */
    MOST_ROUNDS = 4
};

typedef struct Remat {
    Graph *g;
    NodeId *body; /* by place, from 1 */
    uint32_t n, peak;
    /* of a value that others are views of, or that is none; places */
    uint32_t *def, *last, *last_early, *first_late;
    uint32_t *taken; /* the update that overwrites it */
    bool *is_result;
    bool *is_pinned; /* something is computed again from it */
    uint32_t *part;  /* of a node: 1: to be computed again */
    uint32_t chosen;
} Remat;

/* ---- lives */

static void note(Edit *e, NodeId id, void *ctx) {
    Remat *r = ctx;
    const Node *n = graph_node(e->g, id);
    if (n->region == BODY) r->body[++r->n] = id;
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]) r->last[edit_viewed(e->g, n->in[i])] = r->n;
    for (int i = 0; i < n->nout; i++) r->def[n->out[i]] = r->n;
    for (int i = 0; i < n->nout && edit_is_update(n); i++) r->taken[n->in[i]] = r->n;
}

static void note_results(Edit *e, RegionId id, void *ctx) {
    Remat *r = ctx;
    const Region *region = &e->g->regions[id];
    for (uint32_t i = 0; i < region->nresults; i++) {
        Value v = edit_viewed(e->g, region->results[i]);
        r->last[v] = r->n;
        r->is_result[v] |= id == BODY;
    }
}

static int64_t bytes_of(const Remat *r, Value v) {
    const Node *n = graph_node(r->g, r->g->values[v].node);
    bool has_own = r->g->values[v].node && n->region == BODY && n->kind != N_CONST &&
                   n->kind != N_UNDEF && !(n->kind == N_CALL && n->op->kind == K_MAP);
    const TensorType *t = graph_type(r->g, v);
    return has_own ? type_count(t) * dtype_size(t->dtype) : 0;
}

static void find_peak(Remat *r) {
    int64_t *change = checked(calloc((size_t)r->n + 2, sizeof *change)), alive = 0, most = -1;
    for (Value v = 1; v < r->g->nvalues; v++) {
        uint32_t last = r->is_result[v] ? r->n : r->last[v];
        int64_t nbytes = bytes_of(r, v);
        if (!nbytes || last < r->def[v]) continue;
        change[r->def[v]] += nbytes;
        change[last + 1] -= nbytes;
    }
    for (uint32_t i = 0; i <= r->n; i++) {
        alive += change[i];
        if (alive > most) most = alive, r->peak = i;
    }
    free(change);
}

static void note_reads(Edit *e, NodeId id, void *ctx) {
    Remat *r = ctx;
    const Node *n = graph_node(e->g, id);
    r->n += n->region == BODY;
    for (int i = 0; i < n->nin; i++) {
        Value v = n->in[i] ? edit_viewed(e->g, n->in[i]) : 0;
        if (r->n <= r->peak)
            r->last_early[v] = r->n;
        else if (!r->first_late[v])
            r->first_late[v] = r->n;
    }
}

/* ---- choosing */

static bool is_cheap(const Op *op) {
    static const OpId others[] = {OP_batch_norm_train, OP_norm_rows, OP_layer_norm, OP_softmax,
                                  OP_log_softmax,      OP_dropout,   OP_rms_norm};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (op->id == others[i]) return true;
    return op->kind == K_EWISE || op->kind == K_MAP;
}

/* Whether v can be read at that place without being kept for it. */
static bool is_there(const Remat *r, Value v, uint32_t place) {
    Value root = edit_viewed(r->g, v);
    NodeId id = r->g->values[root].node;
    if (r->taken[root] && r->taken[root] < place) return false;
    if (!id || graph_node(r->g, id)->kind == N_CONST || r->is_result[root]) return true;
    if (r->last[root] < place) return false;
    return !r->part[id] || (r->first_late[root] && r->first_late[root] <= place);
}

/* The calls that make v from values that are there; 0: it cannot be done. */
static int list_calls(const Remat *r, Value v, uint32_t place, NodeId *calls) {
    int n = 0, done = 0;
    calls[n++] = r->g->values[v].node;
    for (; done < n; done++) {
        const Node *node = graph_node(r->g, calls[done]);
        if (!recompute_can(r->g, calls[done]) || !is_cheap(node->op)) return 0;
        for (int i = 0; i < node->nin; i++) {
            Value in = node->in[i];
            if (!in || is_there(r, in, place)) continue;
            NodeId id = r->g->values[in].node;
            bool known = false;
            for (int k = 0; k < n; k++) known |= calls[k] == id;
            if (known) continue;
            if (n == MOST_CALLS || !id) return 0;
            calls[n++] = id;
        }
    }
    return n;
}

static bool is_worth(const Remat *r, Value v) {
    uint32_t early = r->last_early[v] > r->def[v] ? r->last_early[v] : r->def[v];
    uint32_t far = r->n / FAR > FAR ? r->n / FAR : FAR;
    return bytes_of(r, v) >= LEAST_BYTES && !r->is_result[v] && !r->is_pinned[v] &&
           r->first_late[v] >= early + far;
}

static void choose(Remat *r, Value v) {
    NodeId calls[MOST_CALLS];
    int n = is_worth(r, v) ? list_calls(r, v, r->first_late[v], calls) : 0;
    if (!n) return;
    for (int i = 0; i < n; i++) {
        const Node *node = graph_node(r->g, calls[i]);
        r->part[calls[i]] = 1;
        for (int k = 0; k < node->nin; k++) { /* what it reads then is kept until then */
            Value in = node->in[k] ? edit_viewed(r->g, node->in[k]) : 0;
            if (r->last[in] < r->first_late[v]) continue;
            r->is_pinned[in] = true;
        }
    }
    r->chosen++;
}

/* Views of values that are computed again are made again. */
static void mark_views(Remat *r) {
    for (uint32_t i = 1; i <= r->n; i++) {
        const Node *n = graph_node(r->g, r->body[i]);
        if (n->kind != N_CALL || n->op->kind != K_MAP) continue;
        if (r->part[r->g->values[edit_viewed(r->g, n->in[0])].node]) r->part[r->body[i]] = 1;
    }
}

static uint32_t lower_peak(Graph *g) {
    Remat r = {.g = g};
    Edit e;
    size_t values = g->nvalues;
    r.body = checked(calloc(2 * ((size_t)g->nnodes + 1), sizeof *r.body));
    r.part = r.body + g->nnodes + 1;
    r.def = checked(calloc(5 * values, sizeof *r.def));
    r.last = r.def + values;
    r.last_early = r.last + values;
    r.first_late = r.last_early + values;
    r.taken = r.first_late + values;
    r.is_result = checked(calloc(2 * values, sizeof *r.is_result));
    r.is_pinned = r.is_result + values;
    edit_init(&e, g);
    edit_walk(&e, &(Visitor){.node = note, .leave = note_results, .ctx = &r});
    find_peak(&r);
    r.n = 0;
    edit_walk(&e, &(Visitor){.node = note_reads, .ctx = &r});
    edit_done(&e);
    for (uint32_t i = 1; i <= r.peak; i++)
        for (int k = 0; k < graph_node(g, r.body[i])->nout; k++)
            choose(&r, graph_node(g, r.body[i])->out[k]);
    mark_views(&r);
    uint32_t changes = r.chosen ? recompute_parts(g, r.part, (uint32_t[]){0, r.peak}) : 0;
    free(r.body);
    free(r.def);
    free(r.is_result);
    return changes;
}

uint32_t pass_remat(Graph *g) {
    uint32_t changes = 0, more = 1;
    for (int round = 0; round < MOST_ROUNDS && more; round++) changes += more = lower_peak(g);
    return changes;
}
