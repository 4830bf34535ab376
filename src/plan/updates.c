/* Updates of parameters as steps: the point of no return.
 *
 * An update overwrites the parameter's bytes, so it must not run before everything that may fail
 * has succeeded: a run that fails changes nothing. From the last node that may fail on, updates run
 * where they stand in the body (passes/updates.c puts them as early as their last reader allows);
 * those before it wait for it. What updates check themselves (a step count) is checked there for
 * all of them, before the first one runs. */
#include <stdlib.h>

#include "base/memory.h"
#include "eager/param.h"
#include "plan/lower.h"

static bool is_update(const Node *n) {
    return n->kind == N_CALL && n->nout > 0 && op_is_update(n->op);
}

/* Whether the results of a node are nothing but results of the function. */
static bool only_writes(const Lower *l, const Node *n) {
    for (int i = 0; i < n->nout; i++)
        if (!l->is_written[n->out[i]] || l->uses[n->out[i]] != 1) return false;
    return n->nout > 0;
}

/* Whether v is, in this region, the new value that an update gives to `old`. */
static bool is_updated(const Lower *l, RegionId side, Value v, Value old) {
    const Node *n = graph_node(l->g, l->g->values[v].node);
    if (l->g->values[v].region != side || !is_update(n) || l->uses[v] != 1) return false;
    for (int i = 0; i < n->nout; i++)
        if (n->out[i] == v) return n->in[i] == old;
    return false;
}

/* An If that does nothing but update parameters on its first side, or leave them alone. */
static bool is_guarded_update(const Lower *l, const Node *n) {
    if (n->kind != N_IF || l->g->regions[n->regions[1]].first) return false;
    int nresults = 0;
    for (NodeId id = l->g->regions[n->regions[0]].first; id; id = graph_node(l->g, id)->after) {
        if (!is_update(graph_node(l->g, id))) return false;
        nresults += graph_node(l->g, id)->nout;
    }
    for (int i = 0; i < n->nout; i++) {
        Value kept = l->g->regions[n->regions[1]].results[i];
        if (!is_updated(l, n->regions[0], l->g->regions[n->regions[0]].results[i], kept))
            return false;
    }
    return nresults == n->nout;
}

/* Only such updates wait whose results are nothing but results of the function. */
static bool is_late_update(const Lower *l, const Node *n) {
    return (is_update(n) || is_guarded_update(l, n)) && only_writes(l, n);
}

/* Gradient helpers look at what their forward call has looked at. Functions outside may raise, and
 * stacks need memory. */
static bool may_fail(const Node *n) {
    if (n->kind == N_CALL) return !n->op->hidden && kernel_check(n->op->id);
    return n->kind == N_HOST || n->kind == N_PUSH || n->kind == N_POP;
}

/* The first node of an If's first side; 0 for any other node. */
static NodeId first_inside(const Graph *g, NodeId id) {
    const Node *n = graph_node(g, id);
    return n->kind == N_IF ? g->regions[n->regions[0]].first : 0;
}

void updates_find(Lower *l) {
    const Graph *g = l->g;
    Updates *u = &l->updates;
    for (NodeId n = 1; n < g->nnodes; n++)
        u->failing += g->nodes[n].region && may_fail(&g->nodes[n]);
    u->nodes = checked(malloc(g->nnodes * sizeof *u->nodes));
    for (NodeId n = g->regions[BODY].first; n; n = graph_node(g, n)->after) {
        if (!is_late_update(l, graph_node(g, n))) continue;
        u->nodes[u->n++] = n;
        u->failing -= may_fail(graph_node(g, n));
        for (NodeId k = first_inside(g, n); k; k = graph_node(g, k)->after)
            u->failing -= may_fail(graph_node(g, k));
    }
}

void updates_done(Lower *l) { free(l->updates.nodes); }

bool updates_hold(Lower *l, NodeId id) {
    Updates *u = &l->updates;
    bool is_next = u->reached < u->n && u->nodes[u->reached] == id;
    u->reached += is_next;
    return is_next;
}

void updates_pass(Lower *l, const Node *n) {
    Updates *u = &l->updates;
    bool is_update = u->reached < u->n && graph_node(l->g, u->nodes[u->reached]) == n;
    u->failing -= !is_update && may_fail(n);
}

/* ---- checks */

/* A check reads the numbers behind the gradient, which may not be there yet. */
static bool can_check(const Lower *l, const Node *n) {
    for (int i = n->nout + 1; i < n->nin; i++)
        if (n->in[i] && !l->plan->spots[n->in[i]].buffer) return false;
    return true;
}

static void add_check(Lower *l, NodeId id, CheckFn check) {
    const Node *n = graph_node(l->g, id);
    KernelArgs a = lower_args(l, n->op, n->attrs, n->nin, n->nout);
    Buf *in = (Buf *)a.in;
    for (int i = 0; i < n->nin; i++) {
        in[i] = lower_buf(l, n->in[i]);
        if (i <= n->nout || !n->in[i]) continue;
        lower_touch(l, l->plan->spots[n->in[i]].buffer);
        lower_patch_value(l, &in[i], n->in[i]);
    }
    lower_step_with(l, STEP_CHECK, id, &a)->check = check;
}

static bool check_one(Lower *l, NodeId id) {
    const Node *n = graph_node(l->g, id);
    CheckFn check = n->kind == N_CALL ? kernel_check(n->op->id) : NULL;
    if (check && !can_check(l, n)) return false;
    if (check) add_check(l, id, check);
    return true;
}

/* Whether all updates have been checked, those inside of branches whether they are taken or not. */
static bool check_all(Lower *l) {
    Updates *u = &l->updates;
    for (; u->checked < u->n; u->checked++) {
        NodeId id = u->nodes[u->checked], inside = first_inside(l->g, id);
        if (!check_one(l, id)) return false;
        for (; inside; inside = graph_node(l->g, inside)->after)
            if (!check_one(l, inside)) return false;
    }
    return true;
}

/* ---- steps */

/* The new value `out` of a parameter overwrites the old one `in` when that belongs to the same
 * parameter, and nobody reads it later than the update (`uses` times). */
static BufferId overwritten(Lower *l, Value in, Value out, int uses) {
    const Program *p = l->plan->program;
    const Buffer *b = &l->plan->buffers[l->plan->spots[in].buffer];
    if (b->home != AT_INPUT || b->uses != uses) return 0;
    int32_t from = p->sources[b->index];
    if (from < 0 || from % 2 || p->params[from / 2].new_value != out) return 0;
    return l->plan->in_place[from / 2] = l->plan->spots[in].buffer;
}

static BufferId fresh_result(Lower *l, Value v) {
    return lower_buffer(l, AT_RESULT, 0, lower_bytes(graph_type(l->g, v)), BODY);
}

static Status lower_update(Lower *l, NodeId id) {
    const Node *n = graph_node(l->g, id);
    BufferId *taken = checked(calloc((size_t)n->nout + 1, sizeof *taken));
    for (int k = 0; k < n->nout; k++) {
        taken[k] = overwritten(l, n->in[k], n->out[k], 1);
        if (!taken[k]) taken[k] = fresh_result(l, n->out[k]);
    }
    Status status = lower_kernel(l, id, taken, false);
    free(taken);
    return status;
}

/* The If's result that a value of its first side becomes. */
static int result_of(const Graph *g, const Node *n, Value v) {
    int i = 0;
    while (g->regions[n->regions[0]].results[i] != v) i++;
    return i;
}

/* Where the branch is not taken, new values are the old ones: in their place, or copied first. */
static Status lower_guarded(Lower *l, NodeId id) {
    const Node *n = graph_node(l->g, id);
    const Region *then = &l->g->regions[n->regions[0]], *other = &l->g->regions[n->regions[1]];
    for (int i = 0; i < n->nout; i++) {
        Value kept = other->results[i];
        const TensorType *type = graph_type(l->g, n->out[i]);
        Spot s = {.buffer = overwritten(l, kept, n->out[i], 2), .dense = true};
        type_strides(type, s.strides);
        bool is_apart = !s.buffer;
        if (is_apart) s.buffer = fresh_result(l, n->out[i]);
        lower_settle(l, n->out[i], &s);
        if (is_apart)
            TRY(lower_copy(l, id, type, &l->plan->spots[n->out[i]], &l->plan->spots[kept]));
        lower_use(l, kept);
    }
    lower_unless(l, id, n->in[0]);
    int32_t unless = l->plan->nsteps - 1;
    for (NodeId k = then->first; k; k = graph_node(l->g, k)->after) {
        BufferId taken[PARAM_STATES_MAX + 1];
        const Node *update = graph_node(l->g, k);
        for (int i = 0; i < update->nout; i++) {
            Value out = n->out[result_of(l->g, n, update->out[i])];
            taken[i] = l->plan->spots[out].buffer;
        }
        TRY(lower_kernel(l, k, taken, false));
    }
    l->plan->steps[unless].target = l->plan->nsteps;
    return OK;
}

Status updates_lower(Lower *l) {
    Updates *u = &l->updates;
    if (u->lowered == u->reached || u->failing || !check_all(l)) return OK;
    for (; u->lowered < u->reached; u->lowered++) {
        NodeId id = u->nodes[u->lowered];
        TRY(graph_node(l->g, id)->kind == N_IF ? lower_guarded(l, id) : lower_update(l, id));
    }
    return OK;
}

Status updates_end(Lower *l) {
    l->updates.failing = 0;
    return updates_lower(l);
}
