/* From graph to steps: what dispatch decides at each call (kernel, layout, copies) is decided here
 * once, in the same way, so that plans give the bits of eager mode. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "plan/lower.h"

/* ---- the other nodes */

/* A step that looks at the node's inputs and results itself. */
static Step *add_plain(Lower *l, NodeId id, StepKind kind, const Op *op, const void *attrs,
                       int nout) {
    const Node *n = graph_node(l->g, id);
    KernelArgs a = lower_args(l, op, attrs, n->nin, nout);
    Buf *in = (Buf *)a.in;
    for (int i = 0; i < n->nin; i++) {
        in[i] = lower_buf(l, n->in[i]);
        lower_patch_value(l, &in[i], n->in[i]);
    }
    for (int i = 0; i < nout; i++) {
        a.out[i] = lower_buf(l, n->out[i]);
        lower_patch_value(l, &a.out[i], n->out[i]);
    }
    return lower_step_with(l, kind, id, &a);
}

/* Draws, host calls, stacks. */
static void lower_other(Lower *l, NodeId id, StepKind kind) {
    const Node *n = graph_node(l->g, id);
    for (int i = 0; i < n->nin; i++) lower_use(l, n->in[i]);
    for (int i = 0; i < n->nout; i++) {
        lower_settle_fresh(l, n->out[i], n->region);
        lower_touch(l, l->plan->spots[n->out[i]].buffer);
    }
    add_plain(l, id, kind, NULL, NULL, n->nout);
}

static void lower_const(Lower *l, NodeId id) {
    const Tensor *t = graph_node(l->g, id)->constant;
    Spot s = {.buffer = lower_buffer(l, AT_CONST, id, lower_bytes(&t->type), BODY),
              .dense = t->dense};
    memcpy(s.strides, t->strides, sizeof s.strides);
    lower_settle(l, graph_node(l->g, id)->out[0], &s);
}

static Status lower_node(Lower *l, NodeId id) {
    const Node *n = graph_node(l->g, id);
    updates_pass(l, n);
    switch ((NodeKind)n->kind) {
    case N_CALL:
        if (updates_hold(l, id)) return OK;
        if (n->op->kind == K_MAP) return lower_view(l, id);
        if (!kernel_exists(n->op->id))
            return FAIL(UNSUPPORTED, "plan: %s has no kernel of its own", n->op->name);
        return lower_kernel(l, id, NULL, true);
    case N_CONST: lower_const(l, id); return OK;
    case N_DRAW: lower_other(l, id, STEP_DRAW); return OK;
    case N_HOST: lower_other(l, id, STEP_HOST); return OK;
    case N_PUSH: lower_other(l, id, STEP_PUSH); return OK;
    case N_POP: lower_other(l, id, STEP_POP); return OK;
    case N_LEFT: lower_other(l, id, STEP_LEFT); return OK;
    case N_UNDEF: lower_settle_fresh(l, n->out[0], n->region); return OK;
    default: return FAIL(INTERNAL, "plan: unknown node");
    }
}

/* ---- branches and loops */

static void add_unless(Lower *l, NodeId id, Value flag) {
    lower_unless(l, id, flag);
    l->jumps[id] = l->plan->nsteps - 1;
}

/* What a side makes itself to hand it out is made in the place of the If's result. */
static void place_directly(Lower *l, const Node *n) {
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < n->nout; i++) {
            Value v = l->g->regions[n->regions[side]].results[i];
            bool is_own = l->g->values[v].region == n->regions[side];
            if (is_own && !l->direct[v]) l->direct[v] = l->plan->spots[n->out[i]].buffer;
        }
}

static Status enter(Lower *l, NodeId id, RegionId *region) {
    const Node *n = graph_node(l->g, id);
    const Spot *spots = l->plan->spots;
    *region = n->regions[0];
    if (n->kind == N_IF) {
        for (int i = 0; i < n->nout; i++) lower_settle_direct(l, n->out[i], n->region);
        place_directly(l, n);
        add_unless(l, id, n->in[0]);
        return OK;
    }
    const Region *condition = &l->g->regions[n->regions[0]];
    for (int i = 0; i < n->nin; i++) { /* parameters and results are one buffer */
        Value param = condition->params[i];
        lower_settle_fresh(l, param, n->region);
        lower_settle(l, n->out[i], &spots[param]);
        TRY(lower_copy(l, id, graph_type(l->g, param), &spots[param], &spots[n->in[i]]));
        lower_use(l, n->in[i]);
    }
    array_grow(&l->loops, l->nloops, &l->cap_loops, 64, sizeof *l->loops);
    l->loops[l->nloops++] = (OpenLoop){.node = id, .begin = l->plan->nsteps};
    return OK;
}

static bool is_there(const Spot *at, const Spot *to) {
    return at->buffer == to->buffer && at->offset == 0 && at->dense;
}

/* The results of a side into the If's, if they are not there yet. */
static Status copy_results(Lower *l, NodeId id, const Region *side) {
    const Node *n = graph_node(l->g, id);
    const Spot *spots = l->plan->spots;
    for (int i = 0; i < n->nout; i++) {
        Value v = side->results[i];
        bool is_undef = graph_node(l->g, l->g->values[v].node)->kind == N_UNDEF;
        if (!is_undef && !is_there(&spots[v], &spots[n->out[i]]))
            TRY(lower_copy(l, id, graph_type(l->g, v), &spots[n->out[i]], &spots[v]));
        lower_use(l, v);
    }
    return OK;
}

/* Next values that lie in another parameter are copied aside before parameters change. */
static Status keep_aside(Lower *l, NodeId id, int i, Spot **kept) {
    const Node *n = graph_node(l->g, id);
    const Region *body = &l->g->regions[n->regions[1]], *cond = &l->g->regions[n->regions[0]];
    const Spot *spots = l->plan->spots;
    BufferId from = spots[body->results[i]].buffer;
    for (int k = 0; k < n->nout; k++)
        if (k != i && from == spots[cond->params[k]].buffer)
            return lower_dense(l, id, body->results[i], kept);
    return OK;
}

static Status copy_next(Lower *l, NodeId id) {
    const Node *n = graph_node(l->g, id);
    const Region *body = &l->g->regions[n->regions[1]], *cond = &l->g->regions[n->regions[0]];
    const Spot *spots = l->plan->spots;
    Spot **kept = plan_alloc(l->plan, ((size_t)n->nout + 1) * sizeof *kept);
    for (int i = 0; i < n->nout; i++) TRY(keep_aside(l, id, i, &kept[i]));
    for (int i = 0; i < n->nout; i++) {
        Value to = cond->params[i], from = body->results[i];
        const Spot *at = kept[i] ? kept[i] : &spots[from];
        if (!is_there(at, &spots[to])) TRY(lower_copy(l, id, graph_type(l->g, to), &spots[to], at));
        lower_use(l, from);
    }
    return OK;
}

static void close_loop(Lower *l) {
    OpenLoop *loop = &l->loops[--l->nloops];
    Plan *p = l->plan;
    for (uint32_t i = 0; i < loop->ntouched; i++) {
        Buffer *b = &p->buffers[loop->touched[i]];
        if (b->last < p->nsteps) b->last = p->nsteps;
    }
    free(loop->touched);
}

/* After a region's last node: where to go on. */
static Status leave(Lower *l, RegionId *region, NodeId *at) {
    const Region *done = &l->g->regions[*region];
    NodeId id = done->owner;
    const Node *n = graph_node(l->g, id);
    bool first = n->regions[0] == *region;
    Plan *p = l->plan;
    if (n->kind == N_IF)
        TRY(copy_results(l, id, done));
    else if (first)
        add_unless(l, id, done->results[0]);
    else
        TRY(copy_next(l, id));
    if (first && n->kind == N_IF) {
        int32_t unless = l->jumps[id];
        lower_step(l, STEP_JUMP, id);
        l->jumps[id] = p->nsteps - 1;
        p->steps[unless].target = p->nsteps;
    }
    if (first) {
        *region = n->regions[1];
        *at = l->g->regions[*region].first;
        return OK;
    }
    if (n->kind == N_WHILE) {
        lower_step(l, STEP_JUMP, id)->target = l->loops[l->nloops - 1].begin;
        close_loop(l);
    }
    p->steps[l->jumps[id]].target = p->nsteps;
    *region = n->region;
    *at = n->after;
    return OK;
}

static Status lower_body(Lower *l) {
    RegionId region = BODY;
    NodeId at = l->g->regions[BODY].first;
    for (;;) {
        while (!at && region != BODY) TRY(leave(l, &region, &at));
        if (region == BODY) TRY(updates_lower(l));
        if (!at) return OK;
        const Node *n = graph_node(l->g, at);
        if (n->kind == N_IF && updates_hold(l, at)) {
            at = n->after;
            continue;
        }
        if (n->kind == N_IF || n->kind == N_WHILE) {
            TRY(enter(l, at, &region));
            at = l->g->regions[region].first;
            continue;
        }
        TRY(lower_node(l, at));
        at = n->after;
    }
}

/* ---- the whole */

static atomic_bool shares_memory = true;
static atomic_int branches;

void plan_share_memory(bool on) { shares_memory = on; }
void plan_run_branches(int n) { branches = n; }

PlanSettings plan_settings(void) {
    return (PlanSettings){
        .shares = shares_memory, .threads = parallel_threads(), .branches = branches};
}

static void count_uses(Lower *l) {
    for (NodeId n = 1; n < l->g->nnodes; n++)
        for (int i = 0; i < l->g->nodes[n].nin && l->g->nodes[n].region; i++)
            l->uses[l->g->nodes[n].in[i]]++;
    for (RegionId r = 1; r < l->g->nregions; r++)
        for (uint32_t i = 0; i < l->g->regions[r].nresults; i++)
            l->uses[l->g->regions[r].results[i]]++;
}

static void mark_writes(Lower *l) {
    const Region *body = &l->g->regions[BODY];
    for (uint32_t k = l->plan->program->noutputs; k < body->nresults; k++)
        l->is_written[body->results[k]] = true;
}

static void place_inputs(Lower *l) {
    for (uint32_t i = 0; i < l->g->ninputs; i++) {
        const TensorType *type = graph_type(l->g, l->g->inputs[i]);
        Spot s = {.buffer = lower_buffer(l, AT_INPUT, i, lower_bytes(type), BODY), .dense = true};
        type_strides(type, s.strides);
        lower_settle(l, l->g->inputs[i], &s);
    }
}

/* Buffers that results of the body lie in are made anew at each run. */
static void place_outputs(Lower *l) {
    const Region *body = &l->g->regions[BODY];
    for (uint32_t i = 0; i < body->nresults; i++) {
        Buffer *b = &l->plan->buffers[l->plan->spots[body->results[i]].buffer];
        if (b->home == AT_ARENA) b->home = AT_RESULT;
    }
}

static Status lower(Lower *l) {
    count_uses(l);
    mark_writes(l);
    place_inputs(l);
    updates_find(l);
    TRY(lower_body(l));
    TRY(updates_end(l));
    place_outputs(l);
    forks_find(l);
    plan_memory(l->plan);
    return OK;
}

Status plan_make(const Program *program, Plan **out) {
    const Graph *g = program->graph;
    Plan *p = checked(calloc(1, sizeof *p));
    p->program = program;
    p->settings = plan_settings();
    p->nbuffers = 1;
    array_grow(&p->buffers, 0, &p->cap_buffers, 64, sizeof *p->buffers);
    p->buffers[0] = (Buffer){0};
    p->spots = checked(calloc(g->nvalues, sizeof *p->spots));
    Lower l = {.plan = p, .g = g};
    p->in_place = checked(calloc(program->nparams + 1, sizeof *p->in_place));
    l.uses = checked(calloc(g->nvalues, sizeof *l.uses));
    l.is_written = checked(calloc(g->nvalues, sizeof *l.is_written));
    l.direct = checked(calloc(g->nvalues, sizeof *l.direct));
    l.jumps = checked(calloc(g->nnodes, sizeof *l.jumps));
    Status status = lower(&l);
    for (uint32_t i = 0; i < l.nloops; i++) free(l.loops[i].touched);
    free(l.uses);
    free(l.is_written);
    free(l.direct);
    free(l.jumps);
    updates_done(&l);
    free(l.loops);
    free(l.touches);
    if (status == OK)
        *out = p;
    else
        plan_free(p);
    return status;
}
