/* The order that needs the least memory: list scheduling. Of the nodes whose inputs are there, the
 * one comes next after which the least is alive; of equals the one that stood first. Nodes that may
 * fail or have an effect keep their order among themselves, and an update of a parameter waits for
 * the other readers of the old value where it did before, so that it still overwrites it. A region
 * whose peak does not fall stays as it was. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "passes/edit.h"
#include "passes/passes.h"

enum {
    WINDOW = 64, /* candidates that are compared: the time stays linear */
    WORTH = 100  /* a region changes for a peak lower by 1/WORTH */
};

/* A value that a node, or a node inside it, reads; both of one region. */
typedef struct Read {
    NodeId node;
    Value value;
} Read;

typedef struct Schedule {
    Graph *g;
    Read *reads;
    uint32_t nreads, cap_reads;
    uint32_t *by_node, *by_value; /* where reads of a node, readers of a value begin */
    Value *values;                /* sorted by node */
    NodeId *readers;              /* sorted by value */
    bool *is_result;              /* of a value that things are views of: alive to the end */
    /* while a region is run in thought */
    int32_t *left;   /* of such a value: reads still to come */
    uint32_t *waits; /* of a node: inputs that are not there yet */
    bool *is_last;   /* of an update: it has been the last reader of what it overwrites */
    uint32_t *place; /* of a node: its number in the region */
    NodeId *after;   /* of a node that keeps its order: the next such one */
    int64_t alive, peak;
} Schedule;

/* ---- who reads what */

static void add_read(Schedule *s, Value v, NodeId id) {
    NodeId user = v ? edit_user(s->g, v, id) : 0;
    if (v && !user) s->is_result[edit_viewed(s->g, v)] = true;
    if (!user) return;
    array_grow(&s->reads, s->nreads, &s->cap_reads, 256, sizeof *s->reads);
    s->reads[s->nreads++] = (Read){user, v};
}

static void note(Edit *e, NodeId id, void *ctx) {
    const Node *n = graph_node(e->g, id);
    for (int i = 0; i < n->nin; i++) add_read(ctx, n->in[i], id);
}

static void note_results(Edit *e, RegionId r, void *ctx) {
    Schedule *s = ctx;
    const Region *region = &e->g->regions[r];
    for (uint32_t i = 0; i < region->nresults; i++) {
        Value v = region->results[i];
        if (e->g->values[v].region == r)
            s->is_result[edit_viewed(e->g, v)] = true;
        else if (region->owner)
            add_read(s, v, region->owner);
    }
}

/* Reads by node and by value: counting sort. */
static void sort_reads(Schedule *s) {
    uint32_t nnodes = s->g->nnodes, nvalues = s->g->nvalues;
    for (uint32_t i = 0; i < s->nreads; i++) {
        s->by_node[s->reads[i].node + 1]++;
        s->by_value[s->reads[i].value + 1]++;
    }
    for (uint32_t i = 1; i <= nnodes; i++) s->by_node[i] += s->by_node[i - 1];
    for (uint32_t i = 1; i <= nvalues; i++) s->by_value[i] += s->by_value[i - 1];
    s->values = checked(malloc((s->nreads + 1) * sizeof *s->values));
    s->readers = checked(malloc((s->nreads + 1) * sizeof *s->readers));
    for (uint32_t i = s->nreads; i--;) { /* what was the end of each becomes its begin */
        s->values[--s->by_node[s->reads[i].node + 1]] = s->reads[i].value;
        s->readers[--s->by_value[s->reads[i].value + 1]] = s->reads[i].node;
    }
    for (uint32_t i = 0; i < nnodes; i++) s->by_node[i] = s->by_node[i + 1];
    for (uint32_t i = 0; i < nvalues; i++) s->by_value[i] = s->by_value[i + 1];
    s->by_node[nnodes] = s->by_value[nvalues] = s->nreads;
}

/* ---- memory */

static int64_t bytes_of(const Schedule *s, Value v) {
    const Node *n = graph_node(s->g, s->g->values[v].node);
    bool has_own = s->g->values[v].node && n->kind != N_CONST && n->kind != N_UNDEF &&
                   !(n->kind == N_CALL && n->op->kind == K_MAP);
    const TensorType *t = graph_type(s->g, v);
    return has_own ? type_count(t) * dtype_size(t->dtype) : 0;
}

static int64_t made_by(const Schedule *s, const Node *n) {
    int64_t nbytes = 0;
    for (int i = 0; i < n->nout; i++) nbytes += bytes_of(s, n->out[i]);
    return nbytes;
}

/* Reads count down while they are looked at, and up again afterwards. */
static void count(Schedule *s, NodeId id, int32_t by) {
    for (uint32_t i = s->by_node[id]; i < s->by_node[id + 1]; i++)
        s->left[edit_viewed(s->g, s->values[i])] += by;
}

/* Bytes that nobody needs after node id, whose reads are counted off; each counted once. */
static int64_t freed_by(Schedule *s, NodeId id, bool forget) {
    int64_t nbytes = 0;
    RegionId home = graph_node(s->g, id)->region;
    for (uint32_t i = s->by_node[id]; i < s->by_node[id + 1]; i++) {
        Value v = edit_viewed(s->g, s->values[i]);
        if (s->left[v] != 0 || s->is_result[v] || s->g->values[v].region != home) continue;
        nbytes += bytes_of(s, v);
        s->left[v] = -1; /* seen */
    }
    for (uint32_t i = s->by_node[id]; i < s->by_node[id + 1] && !forget; i++)
        if (s->left[edit_viewed(s->g, s->values[i])] == -1)
            s->left[edit_viewed(s->g, s->values[i])] = 0;
    return nbytes;
}

static int64_t gain_of(Schedule *s, NodeId id) {
    count(s, id, -1);
    int64_t gain = freed_by(s, id, false) - made_by(s, graph_node(s->g, id));
    count(s, id, 1);
    return gain;
}

static void run_node(Schedule *s, NodeId id) {
    const Node *n = graph_node(s->g, id);
    int64_t made = made_by(s, n);
    count(s, id, -1);
    int64_t freed = freed_by(s, id, true);
    bool takes_over =
        n->kind == N_CALL && freed >= made && (n->op->kind == K_EWISE || n->op->kind == K_EWGRAD);
    s->alive += made;
    if (s->alive - (takes_over ? made : 0) > s->peak) s->peak = s->alive - (takes_over ? made : 0);
    s->alive -= freed;
    for (int i = 0; i < n->nout; i++) {
        Value v = n->out[i];
        if (s->left[v] == 0 && !s->is_result[v]) s->alive -= bytes_of(s, v);
    }
}

/* ---- a region */

static uint32_t list_nodes(const Graph *g, RegionId r, NodeId **out) {
    uint32_t n = 0, cap = 0;
    *out = NULL;
    for (NodeId id = g->regions[r].first; id; id = graph_node(g, id)->after) {
        array_grow(out, n, &cap, 64, sizeof **out);
        (*out)[n++] = id;
    }
    return n;
}

static void start(Schedule *s, uint32_t n, const NodeId *nodes) {
    for (uint32_t i = 0; i < n; i++) count(s, nodes[i], 1);
    s->alive = s->peak = 0;
}

static void forget(Schedule *s, uint32_t n, const NodeId *nodes) {
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = s->by_node[nodes[i]]; k < s->by_node[nodes[i] + 1]; k++)
            s->left[edit_viewed(s->g, s->values[k])] = 0;
}

/* An update has only its own reads of what it overwrites left. */
static bool is_last_reader(Schedule *s, NodeId id) {
    const Node *n = graph_node(s->g, id);
    bool is = true;
    count(s, id, -1);
    for (int i = 0; i < n->nout; i++) is = is && s->left[edit_viewed(s->g, n->in[i])] == 0;
    count(s, id, 1);
    return is;
}

/* The peak of the order as it is; notes what each node waits for. */
static int64_t run_as_it_is(Schedule *s, uint32_t n, const NodeId *nodes) {
    NodeId before = 0;
    start(s, n, nodes);
    for (uint32_t i = 0; i < n; i++) {
        NodeId id = nodes[i];
        const Node *node = graph_node(s->g, id);
        s->place[id] = i;
        s->is_last[id] = edit_is_update(node) && is_last_reader(s, id);
        for (uint32_t k = s->by_node[id]; k < s->by_node[id + 1]; k++)
            s->waits[id] += s->g->values[s->values[k]].node != 0;
        if (!edit_is_free(node)) {
            s->waits[id] += before != 0;
            s->after[before] = id;
            before = id;
        }
        run_node(s, id);
    }
    forget(s, n, nodes);
    return s->peak;
}

typedef struct Ready {
    NodeId *nodes; /* in the order in which they stood */
    uint32_t n;
} Ready;

static void add_ready(const Schedule *s, Ready *r, NodeId id) {
    uint32_t at = r->n++;
    for (; at && s->place[r->nodes[at - 1]] > s->place[id]; at--) r->nodes[at] = r->nodes[at - 1];
    r->nodes[at] = id;
}

static NodeId take_best(Schedule *s, Ready *r) {
    uint32_t best = 0;
    int64_t most = INT64_MIN;
    for (uint32_t i = 0; i < r->n && (i < WINDOW || most == INT64_MIN); i++) {
        if (s->is_last[r->nodes[i]] && !is_last_reader(s, r->nodes[i])) continue;
        int64_t gain = gain_of(s, r->nodes[i]);
        if (gain > most) most = gain, best = i;
    }
    NodeId id = r->nodes[best];
    memmove(r->nodes + best, r->nodes + best + 1, (--r->n - best) * sizeof *r->nodes);
    return id;
}

static void release(Schedule *s, Ready *r, NodeId id) {
    const Node *n = graph_node(s->g, id);
    for (int i = 0; i < n->nout; i++)
        for (uint32_t k = s->by_value[n->out[i]]; k < s->by_value[n->out[i] + 1]; k++)
            if (--s->waits[s->readers[k]] == 0) add_ready(s, r, s->readers[k]);
    if (s->after[id] && --s->waits[s->after[id]] == 0) add_ready(s, r, s->after[id]);
}

static int64_t run_greedy(Schedule *s, uint32_t n, const NodeId *nodes, NodeId *order) {
    Ready r = {.nodes = checked(malloc((n + 1) * sizeof *r.nodes))};
    start(s, n, nodes);
    for (uint32_t i = 0; i < n; i++)
        if (!s->waits[nodes[i]]) add_ready(s, &r, nodes[i]);
    for (uint32_t i = 0; i < n; i++) {
        order[i] = take_best(s, &r);
        run_node(s, order[i]);
        release(s, &r, order[i]);
    }
    forget(s, n, nodes);
    free(r.nodes);
    return s->peak;
}

static uint32_t schedule_region(Schedule *s, RegionId r) {
    Graph *g = s->g;
    uint32_t moved = 0;
    NodeId *nodes, n = list_nodes(g, r, &nodes);
    NodeId *order = checked(malloc((n + 1) * sizeof *order));
    int64_t before = run_as_it_is(s, n, nodes);
    int64_t after = run_greedy(s, n, nodes, order);
    if (after < before - before / WORTH) {
        for (uint32_t i = 0; i < n; i++) moved += order[i] != nodes[i];
        for (uint32_t i = 0; i < n; i++) graph_unlink(g, nodes[i]);
        for (uint32_t i = 0; i < n; i++) graph_link(g, order[i], r, 0);
    }
    free(nodes);
    free(order);
    return moved;
}

uint32_t pass_schedule(Graph *g) {
    Schedule s = {.g = g};
    Edit e;
    uint32_t moved = 0;
    s.by_node = checked(calloc(4 * ((size_t)g->nnodes + 2), sizeof *s.by_node));
    s.waits = s.by_node + g->nnodes + 2;
    s.place = s.waits + g->nnodes + 2;
    s.after = s.place + g->nnodes + 2;
    s.by_value = checked(calloc((size_t)g->nvalues + 2, sizeof *s.by_value));
    s.left = checked(calloc(g->nvalues, sizeof *s.left));
    s.is_result = checked(calloc(g->nvalues, sizeof *s.is_result));
    s.is_last = checked(calloc(g->nnodes, sizeof *s.is_last));
    edit_init(&e, g);
    edit_walk(&e, &(Visitor){.node = note, .leave = note_results, .ctx = &s});
    edit_done(&e);
    sort_reads(&s);
    for (RegionId r = BODY; r < g->nregions; r++)
        if (r == BODY || g->regions[r].owner) moved += schedule_region(&s, r);
    free(s.reads);
    free(s.by_node);
    free(s.by_value);
    free(s.values);
    free(s.readers);
    free(s.is_result);
    free(s.left);
    free(s.is_last);
    return moved;
}
