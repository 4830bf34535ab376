/* Following layouts through a graph. */
#include "passes/plain.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/kernel.h"

void plain_done(Plain *p) { free(p->is); }

static void set(Plain *p, const Edit *e, Value v, bool plain) {
    if (v >= p->cap) {
        uint32_t cap = e->g->nvalues + e->g->nvalues / 2 + 32;
        p->is = realloc(p->is, cap * sizeof *p->is);
        if (!p->is) abort(); /* bookkeeping: the pool_small policy */
        memset(p->is + p->cap, 0, (cap - p->cap) * sizeof *p->is);
        p->cap = cap;
    }
    p->is[v] = plain;
}

/* Views of a row-major value that are row-major again. */
static bool is_plain_view(const Edit *e, const Node *n, int k) {
    const TensorType *x = graph_type(e->g, n->in[0]), *out = graph_type(e->g, n->out[k]);
    int64_t from[MAX_RANK], to[MAX_RANK], offset;
    type_strides(x, from);
    OpCall call = {n->op, n->attrs, n->nin, n->nout, &x};
    return n->op->view(&call, k, out, from, to, &offset) && type_strides_dense(out, to);
}

bool plain_is_repeated(const Tensor *t) {
    for (int i = 0; i < t->type.rank; i++)
        if (t->type.dims[i] != 1 && t->strides[i] != 0) return false;
    return true;
}

/* None of them is channels-last. */
static bool inputs_are_plain(const Plain *p, const Edit *e, const Node *n) {
    for (int i = 0; i < n->nin - n->draws; i++) {
        const Tensor *t = edit_const(e, n->in[i]);
        if (n->in[i] && !plain_is(p, n->in[i]) && !(t && plain_is_repeated(t))) return false;
    }
    return true;
}

/* Only results with channels (three axes and more) can be channels-last. */
static bool is_plain_result(const Plain *p, const Edit *e, const Node *n, int k) {
    if (n->op->kind == K_MAP) return plain_is(p, n->in[0]) && is_plain_view(e, n, k);
    if (graph_type(e->g, n->out[k])->rank < 3 || kernel_is_row_major(n->op->id)) return true;
    return n->op->ew_index >= 0 && inputs_are_plain(p, e, n);
}

void plain_see(Plain *p, const Edit *e, NodeId id) {
    const Node *n = graph_node(e->g, id);
    for (int k = 0; k < n->nout; k++) {
        bool plain = n->kind == N_CONST  ? n->constant->dense
                     : n->kind == N_CALL ? is_plain_result(p, e, n, k)
                                         : n->kind == N_DRAW;
        set(p, e, n->out[k], plain);
    }
}

void plain_see_if(Plain *p, const Edit *e, NodeId id) {
    const Node *n = graph_node(e->g, id);
    if (n->kind != N_IF) return;
    const Region *a = &e->g->regions[n->regions[0]], *b = &e->g->regions[n->regions[1]];
    for (int k = 0; k < n->nout; k++)
        set(p, e, n->out[k], plain_is(p, a->results[k]) && plain_is(p, b->results[k]));
}
