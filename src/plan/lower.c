/* From graph to steps: what dispatch decides at each call (kernel, layout, copies) is decided here
 * once, in the same way, so that plans give the bits of eager mode. */
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "eager/quick.h"
#include "graph/text.h"
#include "kernels/layout.h"
#include "plan/plan.h"

/* Element operations from which releasing a lock is worth it: about 10 us. */
enum { LONG_RUN = 30000 };

typedef struct PlanBlock {
    struct PlanBlock *next;
    _Alignas(16) char data[];
} PlanBlock;

typedef struct OpenLoop {
    NodeId node;
    int32_t begin; /* the step where its condition starts */
    uint32_t ntouched, cap_touched;
    BufferId *touched; /* made before it: alive until it ends */
} OpenLoop;

typedef struct Lower {
    Plan *plan;
    const Graph *g;
    uint32_t *uses; /* of each value, still to come */
    OpenLoop *loops;
    uint32_t nloops, cap_loops;
    bool *is_written; /* of each value: it is the new value or gradient of a parameter */
    int32_t *jumps;   /* of each node: the step whose target is to be set */
    NodeId *late;     /* updates of parameters, moved to the end */
    uint32_t nlate;
} Lower;

static void *checked(void *p) {
    if (!p) abort(); /* bookkeeping: the pool_small policy */
    return p;
}

void *plan_alloc(Plan *p, size_t nbytes) {
    PlanBlock *b = checked(calloc(1, sizeof *b + nbytes));
    b->next = p->blocks;
    p->blocks = b;
    return b->data;
}

static void grow(void *p, uint32_t n, uint32_t *cap, size_t size) {
    void **array = p;
    if (n < *cap) return;
    *cap = *cap ? *cap * 2 : 64;
    *array = checked(realloc(*array, *cap * size));
}

/* ---- buffers and spots */

static BufferId buffer_new(Lower *l, Home home, uint32_t index, int64_t nbytes, RegionId region) {
    Plan *p = l->plan;
    grow(&p->buffers, p->nbuffers, &p->cap_buffers, sizeof *p->buffers);
    p->buffers[p->nbuffers] = (Buffer){.home = (uint8_t)home,
                                       .index = index,
                                       .nbytes = nbytes,
                                       .first = p->nsteps,
                                       .last = p->nsteps,
                                       .region = region};
    return p->nbuffers++;
}

/* The buffer is used by the step that comes next; loops around keep what they find alive. */
static void touch(Lower *l, BufferId id) {
    Plan *p = l->plan;
    Buffer *b = &p->buffers[id];
    if (b->last < p->nsteps) b->last = p->nsteps;
    for (uint32_t i = l->nloops; i-- > 0;) {
        OpenLoop *loop = &l->loops[i];
        if (b->first >= loop->begin) return;
        grow(&loop->touched, loop->ntouched, &loop->cap_touched, sizeof *loop->touched);
        loop->touched[loop->ntouched++] = id;
    }
}

static int64_t bytes_of(const TensorType *t) { return type_count(t) * dtype_size(t->dtype); }

/* A fresh buffer of this type, row-major. */
static Spot spot_fresh(Lower *l, const TensorType *type, RegionId region) {
    Spot s = {.buffer = buffer_new(l, AT_ARENA, 0, bytes_of(type), region), .dense = true};
    type_strides(type, s.strides);
    return s;
}

/* Value v lies there. */
static void settle(Lower *l, Value v, const Spot *s) {
    l->plan->spots[v] = *s;
    l->plan->buffers[s->buffer].uses += (int32_t)l->uses[v];
}

static void settle_fresh(Lower *l, Value v, RegionId region) {
    Spot s = spot_fresh(l, graph_type(l->g, v), region);
    settle(l, v, &s);
}

/* One use of v is done. */
static void use(Lower *l, Value v) {
    if (!v) return;
    BufferId id = l->plan->spots[v].buffer;
    touch(l, id);
    l->plan->buffers[id].uses--;
}

/* ---- steps */

static Step *step_new(Lower *l, StepKind kind, NodeId node) {
    Plan *p = l->plan;
    uint32_t cap = (uint32_t)p->cap_steps;
    grow(&p->steps, (uint32_t)p->nsteps, &cap, sizeof *p->steps);
    p->cap_steps = (int32_t)cap;
    Step *s = &p->steps[p->nsteps++];
    *s = (Step){.kind = (uint8_t)kind, .node = node};
    return s;
}

static void patch(Lower *l, char **where, BufferId buffer, int64_t offset) {
    Plan *p = l->plan;
    grow(&p->patches, p->npatches, &p->cap_patches, sizeof *p->patches);
    p->patches[p->npatches++] = (Patch){where, buffer, offset};
}

/* A tensor as kernels see it; its address is written before the run. Until then it is not NULL,
 * which would mean an input left out. `spot` lives as long as the plan. */
static Buf buf_at(const TensorType *type, const Spot *spot) {
    static char somewhere;
    return (Buf){type, spot->strides, &somewhere, spot->dense};
}
static Buf buf_of(const Lower *l, Value v) {
    return v ? buf_at(graph_type(l->g, v), &l->plan->spots[v]) : (Buf){0};
}

static void patch_spot(Lower *l, Buf *b, const Spot *s) {
    patch(l, &b->data, s->buffer, s->offset);
}
static void patch_value(Lower *l, Buf *b, Value v) {
    if (v) patch_spot(l, b, &l->plan->spots[v]);
}

/* The arrays of a call with these numbers of inputs and results. */
static KernelArgs args_new(Lower *l, const Op *op, const void *attrs, int nin, int nout) {
    Buf *bufs = plan_alloc(l->plan, (size_t)(nin + nout + 1) * sizeof *bufs);
    return (KernelArgs){op, attrs, nin, nout, bufs, bufs + nin, NULL, NULL};
}

static Step *step_with(Lower *l, StepKind kind, NodeId node, const KernelArgs *a) {
    Step *s = step_new(l, kind, node);
    s->args = *a;
    s->in = (Buf *)a->in;
    return s;
}

static char **cell(Lower *l, BufferId buffer, int64_t offset) {
    char **at = plan_alloc(l->plan, sizeof *at);
    patch(l, at, buffer, offset);
    return at;
}

static Status add_kernel(Lower *l, NodeId node, const Kernel *k, const KernelArgs *a) {
    Step *s = step_with(l, STEP_KERNEL, node, a);
    s->kernel = k;
    l->plan->is_long |= kernel_cost(a) >= LONG_RUN;
    if (!k->prepare) return OK;
    TRY(prepared_get(k, a, &s->prepared));
    prepared_pin(&s->prepared);
    prepared_done();
    s->args.state = s->prepared.state;
    if (!s->prepared.scratch) return OK;
    BufferId id = buffer_new(l, AT_ARENA, 0, (int64_t)s->prepared.scratch, BODY);
    l->plan->buffers[id].first = l->plan->buffers[id].last = l->plan->nsteps - 1;
    s->scratch = cell(l, id, 0);
    return OK;
}

/* ---- copies */

/* Copies a tensor of `type` that lies at `from`, any layout, to `to`. Both spots live on. */
static Status add_copy(Lower *l, NodeId node, const TensorType *type, const Spot *to,
                       const Spot *from) {
    KernelArgs a = args_new(l, op_get(OP_contiguous), plan_alloc(l->plan, 64), 1, 1);
    Buf *in = (Buf *)a.in;
    in[0] = buf_at(type, from);
    a.out[0] = buf_at(type, to);
    const Kernel *k;
    TRY(kernel_choose(&a, &k));
    touch(l, from->buffer);
    touch(l, to->buffer);
    patch_spot(l, &in[0], from);
    patch_spot(l, &a.out[0], to);
    return add_kernel(l, node, k, &a);
}

/* A dense copy of v; the spot is the plan's. */
static Status add_dense(Lower *l, NodeId node, Value v, Spot **out) {
    const TensorType *type = graph_type(l->g, v);
    Spot *s = plan_alloc(l->plan, sizeof *s);
    *s = spot_fresh(l, type, BODY);
    *out = s;
    return add_copy(l, node, type, s, &l->plan->spots[v]);
}

/* ---- calls */

/* Strided inputs of a kernel that takes dense ones are copied first. dense[i]: the copy. */
static Status make_dense(Lower *l, NodeId node, const KernelArgs *a, const Value *in,
                         Spot **dense) {
    for (int i = 0; i < a->nin; i++) {
        if (!in[i] || a->in[i].dense) continue;
        TRY(add_dense(l, node, in[i], &dense[i]));
        ((Buf *)a->in)[i] = buf_at(a->in[i].type, dense[i]);
    }
    return OK;
}

/* An elementwise result may take over a dense input's buffer when nobody reads it afterwards: both
 * made in the same region, alike in bytes. The uses of this call are already counted off. */
static BufferId dying_input(const Lower *l, const Node *n, const KernelArgs *a, Value out) {
    const TensorType *type = graph_type(l->g, out);
    if (n->op->kind != K_EWISE && n->op->kind != K_EWGRAD) return 0;
    for (int i = 0; i < a->nin; i++) {
        if (!n->in[i] || !a->in[i].dense || !type_same_dims(a->in[i].type, type)) continue;
        const Spot *s = &l->plan->spots[n->in[i]];
        const Buffer *b = &l->plan->buffers[s->buffer];
        if (b->home == AT_ARENA && b->uses == 0 && b->region == n->region && s->offset == 0 &&
            b->nbytes == bytes_of(type) && a->in[i].type->dtype == type->dtype)
            return s->buffer;
    }
    return 0;
}

static void place_results(Lower *l, const Node *n, const Kernel *k, KernelArgs *a,
                          const BufferId *taken) {
    for (int i = 0; i < n->nout; i++) {
        Value v = n->out[i];
        const TensorType *type = graph_type(l->g, v);
        Spot s = {.buffer = taken ? taken[i] : dying_input(l, n, a, v), .dense = true};
        type_strides(type, s.strides);
        if (!taken && k->flags & (CHANNELS_LAST | KEEPS_LAYOUT) && layout_wants_last(k, a, i)) {
            s.buffer = 0;
            layout_last_strides(type, s.strides);
            s.dense = type_strides_dense(type, s.strides);
        }
        if (!s.buffer) s.buffer = buffer_new(l, AT_ARENA, 0, bytes_of(type), n->region);
        settle(l, v, &s);
        touch(l, s.buffer);
        a->out[i] = buf_of(l, v);
        patch_value(l, &a->out[i], v);
    }
}

/* What eager mode's short way does for small dense calls (eager/quick.c): the loop itself. */
static bool add_loop(Lower *l, NodeId id, const Node *n, const KernelArgs *a) {
    if (n->op->kind != K_EWISE || n->draws || !a->out[0].dense) return false;
    EwLoop *loop = quick_loop(n->op, a->nin, a->in);
    if (!loop) return false;
    Step *s = step_with(l, STEP_LOOP, id, a);
    s->loop = loop;
    s->n = type_count(a->out[0].type);
    return true;
}

/* taken: the buffers the results must have; NULL: free choice. */
static Status lower_kernel(Lower *l, NodeId id, const BufferId *taken, bool check) {
    const Node *n = graph_node(l->g, id);
    int nin = n->nin - n->draws, all = n->op->nin_max == NIN_ANY ? nin : n->op->nin_max;
    void *attrs = plan_alloc(l->plan, n->op->attrs_size + 16); /* draws are written into them */
    if (n->op->attrs_size) memcpy(attrs, n->attrs, n->op->attrs_size);
    KernelArgs a = args_new(l, n->op, attrs, all, n->nout);
    Value *in = plan_alloc(l->plan, (size_t)(all + 1) * sizeof *in);
    Spot **dense = plan_alloc(l->plan, (size_t)(all + 1) * sizeof *dense);
    Buf *bufs = (Buf *)a.in;
    for (int i = 0; i < nin; i++) bufs[i] = buf_of(l, in[i] = n->in[i]);
    for (int i = 0; i < n->nout; i++)
        a.out[i] = (Buf){.type = graph_type(l->g, n->out[i]), .dense = true};
    const Kernel *k;
    TRY(kernel_choose(&a, &k));
    if (!(k->flags & TAKES_STRIDES)) TRY(make_dense(l, id, &a, in, dense));
    for (int i = 0; i < n->nin; i++) use(l, n->in[i]);
    for (int i = 0; i < all; i++) {
        if (dense[i]) touch(l, dense[i]->buffer);
        if (dense[i])
            patch_spot(l, &bufs[i], dense[i]);
        else
            patch_value(l, &bufs[i], in[i]);
    }
    place_results(l, n, k, &a, taken);
    if (add_loop(l, id, n, &a)) return OK;
    TRY(add_kernel(l, id, k, &a));
    Step *s = &l->plan->steps[l->plan->nsteps - 1];
    s->check = check ? kernel_check(n->op->id) : NULL;
    if (!n->draws) return OK;
    const Spot *draw = &l->plan->spots[n->in[n->nin - 1]];
    op_draws(n->op, &s->key_offset, &s->counter_offset);
    s->draw = cell(l, draw->buffer, draw->offset);
    return OK;
}

/* A view is where its input lies, or a dense copy of it where this layout has no such view. */
static Status lower_view(Lower *l, NodeId id) {
    const Node *n = graph_node(l->g, id);
    const TensorType *type = graph_type(l->g, n->in[0]);
    OpCall c = {n->op, n->attrs, 1, n->nout, &type};
    const Spot *from = &l->plan->spots[n->in[0]];
    for (int k = 0; k < n->nout; k++) {
        const TensorType *out = graph_type(l->g, n->out[k]);
        Spot s = {0};
        int64_t offset;
        if (!n->op->view(&c, k, out, from->strides, s.strides, &offset)) {
            Spot *dense;
            TRY(add_dense(l, id, n->in[0], &dense));
            from = dense;
            if (!n->op->view(&c, k, out, from->strides, s.strides, &offset))
                return FAIL(INTERNAL, "%s: a dense input cannot be viewed", n->op->name);
        }
        s.buffer = from->buffer;
        s.offset = from->offset + offset * dtype_size(out->dtype);
        s.dense = type_strides_dense(out, s.strides);
        settle(l, n->out[k], &s);
    }
    use(l, n->in[0]);
    return OK;
}

/* ---- the other nodes */

/* A step that looks at the node's inputs and results itself. */
static Step *add_plain(Lower *l, NodeId id, StepKind kind, const Op *op, const void *attrs,
                       int nout) {
    const Node *n = graph_node(l->g, id);
    KernelArgs a = args_new(l, op, attrs, n->nin, nout);
    Buf *in = (Buf *)a.in;
    for (int i = 0; i < n->nin; i++) {
        in[i] = buf_of(l, n->in[i]);
        patch_value(l, &in[i], n->in[i]);
    }
    for (int i = 0; i < nout; i++) {
        a.out[i] = buf_of(l, n->out[i]);
        patch_value(l, &a.out[i], n->out[i]);
    }
    return step_with(l, kind, id, &a);
}

/* Draws, host calls, stacks. */
static void lower_other(Lower *l, NodeId id, StepKind kind) {
    const Node *n = graph_node(l->g, id);
    for (int i = 0; i < n->nin; i++) use(l, n->in[i]);
    for (int i = 0; i < n->nout; i++) {
        settle_fresh(l, n->out[i], n->region);
        touch(l, l->plan->spots[n->out[i]].buffer);
    }
    add_plain(l, id, kind, NULL, NULL, n->nout);
}

static void lower_const(Lower *l, NodeId id) {
    const Tensor *t = graph_node(l->g, id)->constant;
    Spot s = {.buffer = buffer_new(l, AT_CONST, id, bytes_of(&t->type), BODY), .dense = t->dense};
    memcpy(s.strides, t->strides, sizeof s.strides);
    settle(l, graph_node(l->g, id)->out[0], &s);
}

/* An update of a parameter whose results are only results of the function: it runs at the end, when
 * nothing can fail any more. */
static bool is_late_update(const Lower *l, const Node *n) {
    if (n->region != BODY || n->nout == 0 || strncmp(n->op->sig, "param", 5)) return false;
    for (int i = 0; i < n->nout; i++)
        if (!l->is_written[n->out[i]] || l->uses[n->out[i]] != 1) return false;
    return true;
}

static Status lower_node(Lower *l, NodeId id) {
    const Node *n = graph_node(l->g, id);
    switch ((NodeKind)n->kind) {
    case N_CALL:
        if (is_late_update(l, n)) {
            l->late[l->nlate++] = id;
            return OK;
        }
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
    case N_UNDEF: settle_fresh(l, n->out[0], n->region); return OK;
    default: return FAIL(INTERNAL, "plan: unknown node");
    }
}

/* ---- branches and loops */

static void add_unless(Lower *l, NodeId id, Value flag) {
    KernelArgs a = args_new(l, NULL, NULL, 1, 0);
    Buf *in = (Buf *)a.in;
    use(l, flag);
    in[0] = buf_of(l, flag);
    patch_value(l, &in[0], flag);
    step_with(l, STEP_UNLESS, id, &a);
    l->jumps[id] = l->plan->nsteps - 1;
}

static Status enter(Lower *l, NodeId id, RegionId *region) {
    const Node *n = graph_node(l->g, id);
    const Spot *spots = l->plan->spots;
    *region = n->regions[0];
    if (n->kind == N_IF) {
        for (int i = 0; i < n->nout; i++) settle_fresh(l, n->out[i], n->region);
        add_unless(l, id, n->in[0]);
        return OK;
    }
    const Region *condition = &l->g->regions[n->regions[0]];
    for (int i = 0; i < n->nin; i++) { /* parameters and results are one buffer */
        Value param = condition->params[i];
        settle_fresh(l, param, n->region);
        settle(l, n->out[i], &spots[param]);
        TRY(add_copy(l, id, graph_type(l->g, param), &spots[param], &spots[n->in[i]]));
        use(l, n->in[i]);
    }
    grow(&l->loops, l->nloops, &l->cap_loops, sizeof *l->loops);
    l->loops[l->nloops++] = (OpenLoop){.node = id, .begin = l->plan->nsteps};
    return OK;
}

/* The results of a side into the If's. */
static Status copy_results(Lower *l, NodeId id, const Region *side) {
    const Node *n = graph_node(l->g, id);
    const Spot *spots = l->plan->spots;
    for (int i = 0; i < n->nout; i++) {
        Value v = side->results[i];
        if (graph_node(l->g, l->g->values[v].node)->kind != N_UNDEF)
            TRY(add_copy(l, id, graph_type(l->g, v), &spots[n->out[i]], &spots[v]));
        use(l, v);
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
            return add_dense(l, id, body->results[i], kept);
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
        bool stays = at->buffer == spots[to].buffer && at->offset == 0 && at->dense;
        if (!stays) TRY(add_copy(l, id, graph_type(l->g, to), &spots[to], at));
        use(l, from);
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
        step_new(l, STEP_JUMP, id);
        l->jumps[id] = p->nsteps - 1;
        p->steps[unless].target = p->nsteps;
    }
    if (first) {
        *region = n->regions[1];
        *at = l->g->regions[*region].first;
        return OK;
    }
    if (n->kind == N_WHILE) {
        step_new(l, STEP_JUMP, id)->target = l->loops[l->nloops - 1].begin;
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
        if (!at) return OK;
        const Node *n = graph_node(l->g, at);
        if (n->kind == N_IF || n->kind == N_WHILE) {
            TRY(enter(l, at, &region));
            at = l->g->regions[region].first;
            continue;
        }
        TRY(lower_node(l, at));
        at = n->after;
    }
}

/* ---- updates at the end */

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

/* All checks, then all updates. */
static Status lower_updates(Lower *l) {
    int32_t first = l->plan->nsteps;
    for (uint32_t i = 0; i < l->nlate; i++) {
        const Node *n = graph_node(l->g, l->late[i]);
        CheckFn check = kernel_check(n->op->id);
        if (!check) continue;
        for (int k = 0; k < n->nin; k++) touch(l, n->in[k] ? l->plan->spots[n->in[k]].buffer : 0);
        Step *s = add_plain(l, l->late[i], STEP_CHECK, n->op, n->attrs, 0);
        s->check = check;
        s->args.nout = n->nout; /* their places are not settled: checks look at inputs only */
        s->args.out = plan_alloc(l->plan, (size_t)n->nout * sizeof *s->args.out);
    }
    for (uint32_t i = 0; i < l->nlate; i++) {
        const Node *n = graph_node(l->g, l->late[i]);
        BufferId *taken = checked(calloc((size_t)n->nout + 1, sizeof *taken));
        for (int k = 0; k < n->nout; k++) {
            taken[k] = overwritten(l, n, k);
            if (!taken[k])
                taken[k] = buffer_new(l, AT_RESULT, 0, bytes_of(graph_type(l->g, n->out[k])), BODY);
        }
        Status status = lower_kernel(l, l->late[i], taken, false);
        free(taken);
        TRY(status);
    }
    for (int32_t i = first; i < l->plan->nsteps; i++)
        if (l->plan->steps[i].kind == STEP_KERNEL && l->plan->steps[i].kernel->prepare)
            return FAIL(UNSUPPORTED, "plan: an update that prepares");
    return OK;
}

/* ---- the whole */

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
        Spot s = {.buffer = buffer_new(l, AT_INPUT, i, bytes_of(type), BODY), .dense = true};
        type_strides(type, s.strides);
        settle(l, l->g->inputs[i], &s);
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
    TRY(lower_body(l));
    TRY(lower_updates(l));
    place_outputs(l);
    plan_memory(l->plan);
    return OK;
}

Status plan_make(const Program *program, Plan **out) {
    const Graph *g = program->graph;
    Plan *p = checked(calloc(1, sizeof *p));
    p->program = program;
    p->threads = parallel_threads();
    p->nbuffers = 1;
    grow(&p->buffers, 0, &p->cap_buffers, sizeof *p->buffers);
    p->buffers[0] = (Buffer){0};
    p->spots = checked(calloc(g->nvalues, sizeof *p->spots));
    Lower l = {.plan = p, .g = g};
    p->in_place = checked(calloc(program->nparams + 1, sizeof *p->in_place));
    l.uses = checked(calloc(g->nvalues, sizeof *l.uses));
    l.is_written = checked(calloc(g->nvalues, sizeof *l.is_written));
    l.jumps = checked(calloc(g->nnodes, sizeof *l.jumps));
    l.late = checked(calloc(g->nnodes, sizeof *l.late));
    Status status = lower(&l);
    for (uint32_t i = 0; i < l.nloops; i++) free(l.loops[i].touched);
    free(l.uses);
    free(l.is_written);
    free(l.jumps);
    free(l.late);
    free(l.loops);
    if (status == OK)
        *out = p;
    else
        plan_free(p);
    return status;
}

void plan_free(Plan *p) {
    if (!p) return;
    for (int32_t i = 0; i < p->nsteps; i++)
        if (p->steps[i].prepared.entry) prepared_unpin(&p->steps[i].prepared);
    while (p->blocks) {
        PlanBlock *b = p->blocks;
        p->blocks = b->next;
        free(b);
    }
    free(p->steps);
    free(p->buffers);
    free(p->spots);
    free(p->patches);
    free(p->in_place);
    free(p);
}
