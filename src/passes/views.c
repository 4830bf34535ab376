/* Chains of views: those that come back to their start go, neighbours become one.
 *
 * A view only computes strides, so a chain is tried out on made-up ones. Where it is the identity
 * for strides that no two axes can share, it is for every layout; where only for row-major ones,
 * the start must lie so. */
#include <stdlib.h>
#include <string.h>

#include "passes/passes.h"
#include "passes/plain.h"

enum { LONGEST = 8 };

static const Node *view_of(const Edit *e, Value v) {
    const Node *n = edit_call_of(e, v);
    return n && n->op->kind == K_MAP ? n : NULL;
}

/* The strides that views chain[n - 1] ... chain[0] make of `strides`; false: one of them copies. */
static bool follow(const Edit *e, int n, const Node *const *chain, int64_t *strides,
                   int64_t *offset) {
    *offset = 0;
    while (n--) {
        const Node *view = chain[n];
        const TensorType *x = graph_type(e->g, view->in[0]), *out = graph_type(e->g, view->out[0]);
        int64_t to[MAX_RANK], more;
        OpCall call = {view->op, view->attrs, view->nin, view->nout, &x};
        if (!view->op->view(&call, 0, out, strides, to, &more)) return false;
        memcpy(strides, to, out->rank * sizeof *to);
        *offset += more;
    }
    return true;
}

static bool is_identity(const Edit *e, int n, const Node *const *chain, const int64_t *strides) {
    const TensorType *type = graph_type(e->g, chain[0]->out[0]);
    int64_t made[MAX_RANK], offset;
    memcpy(made, strides, sizeof made);
    if (!follow(e, n, chain, made, &offset) || offset) return false;
    for (int i = 0; i < type->rank; i++)
        if (type->dims[i] != 1 && made[i] != strides[i]) return false;
    return true;
}

/* A value above n that it is equal to; 0: none. */
static Value find_start(const Edit *e, const Plain *plain, const Node *n) {
    const TensorType *type = graph_type(e->g, n->out[0]);
    const Node *chain[LONGEST];
    int length = 0;
    for (const Node *view = n; view && length < LONGEST; view = view_of(e, view->in[0])) {
        Value start = view->in[0];
        chain[length++] = view;
        if (!type_equal(graph_type(e->g, start), type)) continue;
        int64_t dense[MAX_RANK] = {0}, odd[MAX_RANK] = {0};
        type_strides(type, dense);
        for (int i = 0; i < type->rank; i++) odd[i] = 1000003 + 7919 * (int64_t)i * i;
        if (is_identity(e, length, chain, odd)) return start;
        if (plain_is(plain, start) && is_identity(e, length, chain, dense)) return start;
    }
    return 0;
}

/* ---- two that become one */

static bool is_reshape(OpId op) {
    return op == OP_reshape || op == OP_flatten || op == OP_expand_dims || op == OP_squeeze;
}

static void join_reshapes(Edit *e, const Plain *plain, NodeId id) {
    const Node *n = graph_node(e->g, id), *inner = view_of(e, n->in[0]);
    if (!is_reshape(n->op->id) || !inner || !is_reshape(inner->op->id)) return;
    Value x = inner->in[0];
    if (!plain_is(plain, x)) return;
    const TensorType *type = graph_type(e->g, n->out[0]);
    attrs_reshape a = {.shape = {.n = type->rank}};
    memcpy(a.shape.v, type->dims, type->rank * sizeof *a.shape.v);
    edit_become(e, id, OP_reshape, &a, 1, &x);
    e->changes++;
}

/* The order of axes that a transposition makes. */
static bool permutation(const Edit *e, const Node *n, int64_t *perm) {
    int rank = graph_type(e->g, n->out[0])->rank;
    if (n->op->id == OP_transpose) {
        const IntList *p = &((const attrs_transpose *)n->attrs)->input_perm;
        for (int i = 0; i < rank; i++) {
            perm[i] = p->n < 0 ? rank - 1 - i : p->v[i];
            if (perm[i] < 0) perm[i] += rank;
        }
        return true;
    }
    if (n->op->id != OP_swapaxes) return false;
    const attrs_swapaxes *s = n->attrs;
    int64_t a = s->axis0 < 0 ? s->axis0 + rank : s->axis0;
    int64_t b = s->axis1 < 0 ? s->axis1 + rank : s->axis1;
    for (int i = 0; i < rank; i++) perm[i] = i == a ? b : i == b ? a : i;
    return true;
}

static void join_transposes(Edit *e, NodeId id) {
    const Node *n = graph_node(e->g, id), *inner = view_of(e, n->in[0]);
    int64_t outer[MAX_RANK], first[MAX_RANK];
    if (!inner || !permutation(e, n, outer) || !permutation(e, inner, first)) return;
    attrs_transpose a = {.input_perm = {.n = graph_type(e->g, n->out[0])->rank}};
    for (int i = 0; i < a.input_perm.n; i++) a.input_perm.v[i] = first[outer[i]];
    Value x = inner->in[0];
    edit_become(e, id, OP_transpose, &a, 1, &x);
    e->changes++;
}

static void visit(Edit *e, NodeId id, void *ctx) {
    Plain *plain = ctx;
    const Node *n = graph_node(e->g, id);
    if (n->kind == N_CALL && n->op->kind == K_MAP && n->nout == 1) {
        Value start = find_start(e, plain, n);
        if (start) {
            edit_replace(e, n->out[0], start);
            graph_drop(e->g, id);
            e->changes++;
            return;
        }
        join_reshapes(e, plain, id);
        join_transposes(e, id);
    }
    plain_see(plain, e, id);
}

static void close_node(Edit *e, NodeId id, void *ctx) { plain_see_if(ctx, e, id); }

uint32_t pass_views(Graph *g) {
    Plain plain = {0};
    Edit e;
    edit_init(&e, g);
    edit_walk(&e, &(Visitor){.node = visit, .close = close_node, .ctx = &plain});
    plain_done(&plain);
    edit_done(&e);
    return e.changes;
}
