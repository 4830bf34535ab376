/* Updates of parameters as steps: the point of no return.
 *
 * An update overwrites the parameter's bytes, so it must not run before everything that may fail
 * has succeeded: a run that fails changes nothing. From the last node that may fail on, updates run
 * where they stand in the body (passes/updates.c puts them as early as their last reader allows);
 * those before it wait for it. What updates check themselves (a step count) is checked there for
 * all of them, before the first one runs. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/lower.h"

/* Only such updates wait whose results are nothing but results of the function. */
static bool is_late_update(const Lower *l, const Node *n) {
    if (n->kind != N_CALL || n->nout == 0 || strncmp(n->op->sig, "param", 5) != 0) return false;
    for (int i = 0; i < n->nout; i++)
        if (!l->is_written[n->out[i]] || l->uses[n->out[i]] != 1) return false;
    return true;
}

/* Gradient helpers look at what their forward call has looked at. Functions outside may raise, and
 * stacks need memory. */
static bool may_fail(const Node *n) {
    if (n->kind == N_CALL) return !n->op->hidden && kernel_check(n->op->id);
    return n->kind == N_HOST || n->kind == N_PUSH || n->kind == N_POP;
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

/* Whether all updates have been checked. */
static bool check_all(Lower *l) {
    Updates *u = &l->updates;
    for (; u->checked < u->n; u->checked++) {
        NodeId id = u->nodes[u->checked];
        CheckFn check = kernel_check(graph_node(l->g, id)->op->id);
        if (check && !can_check(l, graph_node(l->g, id))) return false;
        if (check) add_check(l, id, check);
    }
    return true;
}

/* ---- steps */

/* Result i of an update overwrites input i when that is the old value of the parameter it belongs
 * to, and nobody reads that value later. */
static BufferId overwritten(Lower *l, const Node *n, int i) {
    const Program *p = l->plan->program;
    const Buffer *b = &l->plan->buffers[l->plan->spots[n->in[i]].buffer];
    if (b->home != AT_INPUT || b->uses != 1) return 0;
    int32_t from = p->sources[b->index];
    if (from < 0 || from % 2 || p->params[from / 2].new_value != n->out[i]) return 0;
    return l->plan->in_place[from / 2] = l->plan->spots[n->in[i]].buffer;
}

static Status lower_update(Lower *l, NodeId id) {
    const Node *n = graph_node(l->g, id);
    BufferId *taken = checked(calloc((size_t)n->nout + 1, sizeof *taken));
    for (int k = 0; k < n->nout; k++) {
        taken[k] = overwritten(l, n, k);
        int64_t nbytes = lower_bytes(graph_type(l->g, n->out[k]));
        if (!taken[k]) taken[k] = lower_buffer(l, AT_RESULT, 0, nbytes, BODY);
    }
    Status status = lower_kernel(l, id, taken, false);
    free(taken);
    return status;
}

Status updates_lower(Lower *l) {
    Updates *u = &l->updates;
    if (u->lowered == u->reached || u->failing || !check_all(l)) return OK;
    for (; u->lowered < u->reached; u->lowered++) TRY(lower_update(l, u->nodes[u->lowered]));
    return OK;
}

Status updates_end(Lower *l) {
    l->updates.failing = 0;
    return updates_lower(l);
}
