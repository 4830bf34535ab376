/* The bricks of lowering: buffers with their lives, places of values, steps and their addresses,
 * copies. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eager/dispatch.h"
#include "plan/lower.h"

typedef struct PlanBlock {
    struct PlanBlock *next;
    _Alignas(16) char data[];
} PlanBlock;

void *plan_alloc(Plan *p, size_t nbytes) {
    PlanBlock *b = checked(calloc(1, sizeof *b + nbytes));
    b->next = p->blocks;
    p->blocks = b;
    return b->data;
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

/* ---- buffers and spots */

BufferId lower_buffer(Lower *l, Home home, uint32_t index, int64_t nbytes, RegionId region) {
    Plan *p = l->plan;
    array_grow(&p->buffers, p->nbuffers, &p->cap_buffers, 64, sizeof *p->buffers);
    p->buffers[p->nbuffers] = (Buffer){.home = (uint8_t)home,
                                       .index = index,
                                       .nbytes = nbytes,
                                       .first = p->nsteps,
                                       .last = p->nsteps,
                                       .region = region};
    return p->nbuffers++;
}

static void touch(Lower *l, BufferId id, bool writes) {
    array_grow(&l->touches, l->ntouches, &l->cap_touches, 256, sizeof *l->touches);
    l->touches[l->ntouches++] = (Touch){l->plan->nsteps, id, writes};
}

void lower_write(Lower *l, BufferId id) {
    touch(l, id, true);
    lower_touch(l, id);
}

void lower_touch(Lower *l, BufferId id) {
    Plan *p = l->plan;
    Buffer *b = &p->buffers[id];
    touch(l, id, false);
    if (b->last < p->nsteps) b->last = p->nsteps;
    for (uint32_t i = l->nloops; i-- > 0;) {
        OpenLoop *loop = &l->loops[i];
        if (b->first >= loop->begin) return;
        array_grow(&loop->touched, loop->ntouched, &loop->cap_touched, 64, sizeof *loop->touched);
        loop->touched[loop->ntouched++] = id;
    }
}

int64_t lower_bytes(const TensorType *t) { return type_count(t) * dtype_size(t->dtype); }

Spot lower_fresh(Lower *l, const TensorType *type, RegionId region) {
    Spot s = {.buffer = lower_buffer(l, AT_ARENA, 0, lower_bytes(type), region), .dense = true};
    type_strides(type, s.strides);
    return s;
}

void lower_settle(Lower *l, Value v, const Spot *s) {
    l->plan->spots[v] = *s;
    Buffer *b = &l->plan->buffers[s->buffer];
    b->uses += (int32_t)l->uses[v];
    b->is_shared |= b->uses > 1;
}

void lower_settle_fresh(Lower *l, Value v, RegionId region) {
    Spot s = lower_fresh(l, graph_type(l->g, v), region);
    lower_settle(l, v, &s);
}

void lower_look(Lower *l, Value v) { l->plan->buffers[l->plan->spots[v].buffer].uses--; }

void lower_settle_direct(Lower *l, Value v, RegionId region) {
    const TensorType *type = graph_type(l->g, v);
    Spot s = {.buffer = l->direct[v], .dense = true};
    type_strides(type, s.strides);
    if (!s.buffer) s = lower_fresh(l, type, region);
    lower_settle(l, v, &s);
}

void lower_use(Lower *l, Value v) {
    if (!v) return;
    BufferId id = l->plan->spots[v].buffer;
    lower_touch(l, id);
    l->plan->buffers[id].uses--;
}

/* ---- steps */

Step *lower_step(Lower *l, StepKind kind, NodeId node) {
    Plan *p = l->plan;
    uint32_t cap = (uint32_t)p->cap_steps;
    array_grow(&p->steps, (uint32_t)p->nsteps, &cap, 64, sizeof *p->steps);
    p->cap_steps = (int32_t)cap;
    Step *s = &p->steps[p->nsteps++];
    *s = (Step){.kind = (uint8_t)kind, .node = node};
    return s;
}

static void patch(Lower *l, char **where, BufferId buffer, int64_t offset) {
    Plan *p = l->plan;
    array_grow(&p->patches, p->npatches, &p->cap_patches, 64, sizeof *p->patches);
    p->patches[p->npatches++] = (Patch){where, buffer, offset};
}

Buf lower_buf_at(const TensorType *type, const Spot *spot) {
    static char somewhere;
    return (Buf){type, spot->strides, &somewhere, spot->dense};
}
Buf lower_buf(const Lower *l, Value v) {
    return v ? lower_buf_at(graph_type(l->g, v), &l->plan->spots[v]) : (Buf){0};
}

void lower_patch_spot(Lower *l, Buf *b, const Spot *s) { patch(l, &b->data, s->buffer, s->offset); }
void lower_patch_value(Lower *l, Buf *b, Value v) {
    if (v) lower_patch_spot(l, b, &l->plan->spots[v]);
}

KernelArgs lower_args(Lower *l, const Op *op, const void *attrs, int nin, int nout) {
    Buf *bufs = plan_alloc(l->plan, (size_t)(nin + nout + 1) * sizeof *bufs);
    return (KernelArgs){op, attrs, nin, nout, bufs, bufs + nin, NULL, NULL};
}

Step *lower_step_with(Lower *l, StepKind kind, NodeId node, const KernelArgs *a) {
    Step *s = lower_step(l, kind, node);
    s->args = *a;
    s->in = (Buf *)a->in;
    return s;
}

Step *lower_unless(Lower *l, NodeId node, Value flag) {
    KernelArgs a = lower_args(l, NULL, NULL, 1, 0);
    Buf *in = (Buf *)a.in;
    lower_use(l, flag);
    in[0] = lower_buf(l, flag);
    lower_patch_value(l, &in[0], flag);
    return lower_step_with(l, STEP_UNLESS, node, &a);
}

char **lower_cell(Lower *l, BufferId buffer, int64_t offset) {
    char **at = plan_alloc(l->plan, sizeof *at);
    patch(l, at, buffer, offset);
    return at;
}

Status lower_add_kernel(Lower *l, NodeId node, const Kernel *k, const KernelArgs *a) {
    Step *s = lower_step_with(l, STEP_KERNEL, node, a);
    s->kernel = k;
    l->plan->is_long |= kernel_cost(a) >= LONG_RUN;
    if (!k->prepare) return OK;
    TRY(prepared_get(k, a, &s->prepared));
    prepared_pin(&s->prepared);
    prepared_done();
    s->args.state = s->prepared.state;
    if (!s->prepared.scratch) return OK;
    BufferId id = lower_buffer(l, AT_ARENA, 0, (int64_t)s->prepared.scratch, BODY);
    l->plan->buffers[id].first = l->plan->buffers[id].last = l->plan->nsteps - 1;
    array_grow(&l->touches, l->ntouches, &l->cap_touches, 256, sizeof *l->touches);
    l->touches[l->ntouches++] = (Touch){l->plan->nsteps - 1, id, true};
    s->scratch = lower_cell(l, id, 0);
    return OK;
}

/* ---- copies */

Status lower_copy(Lower *l, NodeId node, const TensorType *type, const Spot *to, const Spot *from) {
    KernelArgs a = lower_args(l, op_get(OP_contiguous), plan_alloc(l->plan, 64), 1, 1);
    Buf *in = (Buf *)a.in;
    in[0] = lower_buf_at(type, from);
    a.out[0] = lower_buf_at(type, to);
    const Kernel *k;
    TRY(kernel_choose(&a, &k));
    lower_touch(l, from->buffer);
    lower_write(l, to->buffer);
    lower_patch_spot(l, &in[0], from);
    lower_patch_spot(l, &a.out[0], to);
    return lower_add_kernel(l, node, k, &a);
}

Status lower_dense(Lower *l, NodeId node, Value v, Spot **out) {
    const TensorType *type = graph_type(l->g, v);
    Spot *s = plan_alloc(l->plan, sizeof *s);
    *s = lower_fresh(l, type, BODY);
    *out = s;
    return lower_copy(l, node, type, s, &l->plan->spots[v]);
}
