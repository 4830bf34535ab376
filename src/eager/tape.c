/* Recording: nodes, leaves, hooks, and freeing chains of any length without recursion. */
#include "eager/node.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/pool.h"

static _Thread_local bool is_off;
static atomic_ullong clock_;
static atomic_llong hook_ids;

bool tape_is_on(void) { return !is_off; }

uint64_t tape_clock(void) { return atomic_load(&clock_); }

bool tape_set(bool on) {
    bool was = !is_off;
    is_off = !on;
    return was;
}

bool tape_wants(int n, Tensor *const *in) {
    if (is_off) return false;
    for (int i = 0; i < n; i++)
        if (in[i] && in[i]->link) return true;
    return false;
}

/* ---- making and freeing nodes */

static GradLink *node_new(int nin, int nout, size_t attrs_size) {
    size_t n = (size_t)nin, all = (size_t)(nin + nout);
    size_t nbytes = sizeof(GradLink) + n * sizeof(Edge) +
                    all * (sizeof(TensorType) + sizeof(Tensor *)) + attrs_size;
    GradLink *l = pool_small(nbytes);
    memset(l, 0, sizeof *l);
    atomic_init(&l->refs, 1);
    l->nin = (uint16_t)nin;
    l->nout = (uint16_t)nout;
    l->order = atomic_fetch_add_explicit(&clock_, 1, memory_order_relaxed);
    l->nbytes = nbytes;
    l->edges = (Edge *)(l + 1);
    l->types = (TensorType *)(l->edges + nin);
    l->saved = (Tensor **)(l->types + nin + nout);
    l->attrs = l->saved + nin + nout;
    memset(l->saved, 0, all * sizeof *l->saved);
    return l;
}

GradLink *tape_leaf(void) {
    GradLink *l = node_new(0, 1, 0);
    l->is_leaf = true;
    l->name = "leaf";
    return l;
}

GradLink *link_ref(GradLink *l) {
    atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
    return l;
}

void link_set_owner(GradLink *l, void *owner) { l->owner = owner; }
void *link_owner(const GradLink *l) { return l->owner; }
bool link_is_leaf(const GradLink *l) { return l->is_leaf; }

static void node_free(GradLink *l) {
    for (int i = 0; i < l->nin + l->nout; i++) tensor_unref(l->saved[i]);
    for (int i = 0; i < l->nin; i++)
        if (l->edges[i].link) link_unref(l->edges[i].link);
    while (l->hooks) {
        HookEntry *h = l->hooks;
        l->hooks = h->next;
        if (h->hook.release) h->hook.release(h->hook.ctx);
        pool_small_free(h, sizeof *h);
    }
    if (l->custom.release) l->custom.release(l->custom.ctx);
    pool_small_free(l, l->nbytes);
}

/* Freeing a node drops the nodes before it: they queue up here instead of recursing. */
void link_unref(GradLink *l) {
    static _Thread_local GradLink *queue;
    static _Thread_local bool is_freeing;
    if (atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) != 1) return;
    l->next_freed = queue;
    queue = l;
    if (is_freeing) return;
    is_freeing = true;
    while (queue) {
        GradLink *next = queue;
        queue = next->next_freed;
        node_free(next);
    }
    is_freeing = false;
}

__attribute__((constructor)) static void install(void) { tensor_link_release = link_unref; }

/* ---- recording */

/* Integer results hang on the tape only where an integer is differentiated: a float cut to an
 * integer is a constant. */
static void attach_outputs(GradLink *l, int nout, Tensor *const *out) {
    bool integers = false;
    for (int i = 0; i < l->nin; i++)
        integers |= l->edges[i].link && dtype_is_integer(l->types[i].dtype);
    for (int i = 0; i < nout; i++) {
        DType d = out[i]->type.dtype;
        if (!dtype_is_smooth(d) && !(integers && dtype_is_integer(d))) continue;
        out[i]->link = link_ref(l);
        out[i]->output = (uint16_t)i;
    }
}

static GradLink *node_for(int nin, Tensor *const *in, int nout, Tensor *const *out,
                          size_t attrs_size) {
    GradLink *l = node_new(nin, nout, attrs_size);
    for (int i = 0; i < nin; i++) {
        bool linked = in[i] && in[i]->link;
        l->edges[i] = (Edge){linked ? link_ref(in[i]->link) : NULL, linked ? in[i]->output : 0};
        if (in[i]) l->types[i] = in[i]->type;
    }
    for (int i = 0; i < nout; i++) l->types[nin + i] = out[i]->type;
    return l;
}

/* What this call's gradient will read: the row's saves; for elementwise rows, what the slopes of
 * the linked inputs name. */
static uint32_t wanted_saves(const Op *op, const GradLink *l) {
    if (op->kind != K_EWISE) return op->saves;
    uint32_t needs = 0;
    for (int i = 0; i < l->nin; i++)
        if (l->edges[i].link) needs |= ewise_needs(op, i);
    return (needs & 7) | (needs & 8 ? SAVE_R(0) : 0);
}

Status tape_record(const Op *op, const void *attrs, int nin, Tensor *const *in, int nout,
                   Tensor *const *out) {
    GradLink *l = node_for(nin, in, nout, out, op->attrs_size);
    l->op = op;
    l->name = op->name;
    if (op->attrs_size) memcpy(l->attrs, attrs, op->attrs_size);
    uint32_t saves = wanted_saves(op, l);
    for (int i = 0; i < nin; i++)
        if (in[i] && (saves & (i < 16 ? SAVE_X(i) : SAVE_X(15)))) l->saved[i] = tensor_ref(in[i]);
    for (int i = 0; i < nout && i < 16; i++)
        if (saves & SAVE_R(i)) l->saved[nin + i] = tensor_alias(out[i]);
    attach_outputs(l, nout, out);
    link_unref(l);
    return OK;
}

Status tape_record_custom(const char *name, CustomGrad custom, int nin, Tensor *const *in, int nout,
                          Tensor *const *out) {
    GradLink *l = node_for(nin, in, nout, out, 0);
    l->name = name;
    l->custom = custom;
    attach_outputs(l, nout, out);
    link_unref(l);
    return OK;
}

Tensor *tape_attach(const Tensor *t, GradLink *leaf) {
    Tensor *made = tensor_alias(t);
    made->link = link_ref(leaf);
    return made;
}

/* ---- hooks */

int64_t tape_hook(Tensor *t, GradHook hook) {
    if (!t->link) return 0;
    HookEntry *h = pool_small(sizeof *h);
    *h = (HookEntry){.id = atomic_fetch_add(&hook_ids, 1) + 1, .output = t->output, .hook = hook};
    HookEntry **end = &t->link->hooks;
    while (*end) end = &(*end)->next;
    *end = h;
    return h->id;
}

void tape_unhook(Tensor *t, int64_t id) {
    if (!t->link) return;
    for (HookEntry **at = &t->link->hooks; *at; at = &(*at)->next)
        if ((*at)->id == id) {
            HookEntry *h = *at;
            *at = h->next;
            if (h->hook.release) h->hook.release(h->hook.ctx);
            pool_small_free(h, sizeof *h);
            return;
        }
}
