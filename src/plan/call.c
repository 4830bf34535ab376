/* Calls as steps: the kernel, copies for it, the places of its results; views. */
#include <string.h>

#include "eager/quick.h"
#include "kernels/layout.h"
#include "plan/lower.h"

/* ---- calls */

/* Inputs that the kernel does not take as they lie are copied first. dense[i]: the copy. */
static Status make_dense(Lower *l, NodeId node, const Kernel *k, const KernelArgs *a,
                         const Value *in, Spot **dense) {
    for (int i = 0; i < a->nin; i++) {
        if (!in[i] || kernel_takes(k, a, i)) continue;
        TRY(lower_dense(l, node, in[i], &dense[i]));
        ((Buf *)a->in)[i] = lower_buf_at(a->in[i].type, dense[i]);
    }
    return OK;
}

/* Whether another input reads the buffer of input i, but not each element where the result's is
 * written and before: a view of it, or a late term of a sum. */
static bool is_viewed(const Lower *l, const Node *n, const KernelArgs *a, int i) {
    const Spot *s = &l->plan->spots[n->in[i]];
    for (int k = 0; k < a->nin; k++) {
        const Spot *other = &l->plan->spots[n->in[k]];
        if (k == i || !n->in[k] || other->buffer != s->buffer) continue;
        if (n->op->id == OP_sums_core && k > 1) return true;
        if (!a->in[k].dense || other->offset || !type_equal(a->in[k].type, a->in[i].type))
            return true;
    }
    return false;
}

/* An elementwise result may take over a dense input's buffer when nobody reads it afterwards: both
 * made in the same region, alike in bytes. So may a sum that of its first two terms. The uses of
 * this call are already counted off. Where branches may run at once, others may still read what
 * they share. */
static BufferId dying_input(const Lower *l, const Node *n, const KernelArgs *a, Value out) {
    const TensorType *type = graph_type(l->g, out);
    bool is_sum = n->op->id == OP_sums_core;
    if (n->op->kind != K_EWISE && n->op->kind != K_EWGRAD && !is_sum) return 0;
    for (int i = 0; i < (is_sum ? 2 : a->nin); i++) {
        if (!n->in[i] || !a->in[i].dense || !type_same_dims(a->in[i].type, type)) continue;
        const Spot *s = &l->plan->spots[n->in[i]];
        const Buffer *b = &l->plan->buffers[s->buffer];
        bool is_free = !b->is_shared || l->plan->settings.branches < 2;
        if (b->home == AT_ARENA && b->uses == 0 && is_free && b->region == n->region &&
            s->offset == 0 && b->nbytes == lower_bytes(type) &&
            a->in[i].type->dtype == type->dtype && !is_viewed(l, n, a, i))
            return s->buffer;
    }
    return 0;
}

static void place_results(Lower *l, const Node *n, const Kernel *k, KernelArgs *a,
                          const BufferId *taken) {
    for (int i = 0; i < n->nout; i++) {
        Value v = n->out[i];
        const TensorType *type = graph_type(l->g, v);
        Spot s = {.buffer = taken ? taken[i] : l->direct[v], .dense = true};
        if (!s.buffer) s.buffer = dying_input(l, n, a, v);
        type_strides(type, s.strides);
        if (!taken && k->flags & (CHANNELS_LAST | KEEPS_LAYOUT) && layout_wants_last(k, a, i)) {
            s.buffer = 0;
            layout_last_strides(type, s.strides);
            s.dense = type_strides_dense(type, s.strides);
        }
        if (!s.buffer) s.buffer = lower_buffer(l, AT_ARENA, 0, lower_bytes(type), n->region);
        lower_settle(l, v, &s);
        lower_write(l, s.buffer);
        a->out[i] = lower_buf(l, v);
        lower_patch_value(l, &a->out[i], v);
    }
}

/* What eager mode's short way does for small dense calls (eager/quick.c): the loop itself. */
static bool add_loop(Lower *l, NodeId id, const Node *n, const KernelArgs *a) {
    if (n->op->kind != K_EWISE || n->draws || !a->out[0].dense) return false;
    EwLoop *loop = quick_loop(n->op, a->nin, a->in);
    if (!loop) return false;
    Step *s = lower_step_with(l, STEP_LOOP, id, a);
    s->loop = loop;
    s->n = type_count(a->out[0].type);
    return true;
}

Status lower_kernel(Lower *l, NodeId id, const BufferId *taken, bool check) {
    const Node *n = graph_node(l->g, id);
    int nin = n->nin - n->draws, all = n->op->nin_max == NIN_ANY ? nin : n->op->nin_max;
    void *attrs = plan_alloc(l->plan, n->op->attrs_size + 16); /* draws are written into them */
    if (n->op->attrs_size) memcpy(attrs, n->attrs, n->op->attrs_size);
    KernelArgs a = lower_args(l, n->op, attrs, all, n->nout);
    Value *in = plan_alloc(l->plan, (size_t)(all + 1) * sizeof *in);
    Spot **dense = plan_alloc(l->plan, (size_t)(all + 1) * sizeof *dense);
    Buf *bufs = (Buf *)a.in;
    for (int i = 0; i < nin; i++) bufs[i] = lower_buf(l, in[i] = n->in[i]);
    for (int i = 0; i < n->nout; i++)
        a.out[i] = (Buf){.type = graph_type(l->g, n->out[i]), .dense = true};
    const Kernel *k;
    TRY(kernel_choose(&a, &k));
    TRY(make_dense(l, id, k, &a, in, dense));
    for (int i = 0; i < n->nin; i++) lower_use(l, n->in[i]);
    for (int i = 0; i < all; i++) {
        if (dense[i]) lower_touch(l, dense[i]->buffer);
        if (dense[i])
            lower_patch_spot(l, &bufs[i], dense[i]);
        else
            lower_patch_value(l, &bufs[i], in[i]);
    }
    place_results(l, n, k, &a, taken);
    if (add_loop(l, id, n, &a)) return OK;
    TRY(lower_add_kernel(l, id, k, &a));
    Step *s = &l->plan->steps[l->plan->nsteps - 1];
    s->check = check ? kernel_check(n->op->id) : NULL;
    if (!n->draws) return OK;
    const Spot *draw = &l->plan->spots[n->in[n->nin - 1]];
    op_draws(n->op, &s->key_offset, &s->counter_offset);
    s->draw = lower_cell(l, draw->buffer, draw->offset);
    return OK;
}

Status lower_view(Lower *l, NodeId id) {
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
            TRY(lower_dense(l, id, n->in[0], &dense));
            from = dense;
            if (!n->op->view(&c, k, out, from->strides, s.strides, &offset))
                return FAIL(INTERNAL, "%s: a dense input cannot be viewed", n->op->name);
        }
        s.buffer = from->buffer;
        s.offset = from->offset + offset * dtype_size(out->dtype);
        s.dense = type_strides_dense(out, s.strides);
        lower_settle(l, n->out[k], &s);
    }
    lower_look(l, n->in[0]);
    return OK;
}
