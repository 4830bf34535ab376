/* The walk over a graph that changes, and edits of nodes. */
#include "passes/edit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eager/dispatch.h"
#include "kernels/kernel.h"
#include "passes/plain.h"

enum { MOST_BYTES = 65536 }; /* of constants that are looked at */

void edit_init(Edit *e, Graph *g) { *e = (Edit){.g = g}; }
void edit_done(Edit *e) { free(e->to); }

/* ---- values */

Value edit_now(const Edit *e, Value v) {
    while (v < e->cap && e->to[v]) v = e->to[v];
    return v;
}

void edit_replace(Edit *e, Value v, Value by) {
    if (v >= e->cap) {
        uint32_t cap = e->g->nvalues + e->g->nvalues / 2 + 32;
        e->to = checked(realloc(e->to, cap * sizeof *e->to));
        memset(e->to + e->cap, 0, (cap - e->cap) * sizeof *e->to);
        e->cap = cap;
    }
    assert(!by || type_equal(graph_type(e->g, v), graph_type(e->g, by)));
    e->to[v] = by;
}

static void rewrite(Edit *e, uint32_t n, Value *v) {
    for (uint32_t i = 0; i < n; i++) {
        Value now = edit_now(e, v[i]);
        e->rewritten += now != v[i];
        v[i] = now;
    }
}

const Node *edit_call_of(const Edit *e, Value v) {
    NodeId id = edit_def(e, v);
    const Node *n = id ? graph_node(e->g, id) : NULL;
    return n && n->kind == N_CALL && n->nout == 1 ? n : NULL;
}

Tensor *edit_const(const Edit *e, Value v) {
    NodeId id = edit_def(e, v);
    return id && graph_node(e->g, id)->kind == N_CONST ? graph_node(e->g, id)->constant : NULL;
}

static bool is_repeated(const Tensor *t) {
    size_t size = (size_t)dtype_size(t->type.dtype);
    int64_t n = tensor_count(t);
    if (plain_is_repeated(t)) return n > 0;
    if (!t->dense || !n || tensor_nbytes(t) > MOST_BYTES) return false;
    for (int64_t i = 1; i < n; i++)
        if (memcmp(t->data, t->data + (size_t)i * size, size) != 0) return false;
    return true;
}

/* The first element in double. */
static Status first_number(const Tensor *t, double *out) {
    TensorType type = {.dtype = t->type.dtype};
    int64_t no_strides[1] = {0};
    AUTO_TENSOR one = tensor_over(t->storage, &type, no_strides, t->data);
    Tensor *wide;
    TRY(dispatch1(OP_cast, &(attrs_cast){.dtype = DT_f64}, one, &wide));
    memcpy(out, wide->data, sizeof *out);
    tensor_unref(wide);
    return OK;
}

bool edit_number(const Edit *e, Value v, double *x) {
    const Tensor *t = edit_const(e, v);
    return t && is_repeated(t) && first_number(t, x) == OK;
}

/* ---- the walk */

static void leave_region(Edit *e, const Visitor *v, RegionId r) {
    rewrite(e, e->g->regions[r].nresults, e->g->regions[r].results);
    if (v->leave) v->leave(e, r, v->ctx);
}

/* The end of a region inside: the first node of the other one, or what follows its node. */
static NodeId walk_out(Edit *e, const Visitor *v, RegionId *r) {
    Graph *g = e->g;
    leave_region(e, v, *r);
    NodeId owner = g->regions[*r].owner;
    if (graph_node(g, owner)->regions[0] == *r) {
        *r = graph_node(g, owner)->regions[1];
        if (v->enter) v->enter(e, *r, v->ctx);
        return g->regions[*r].first;
    }
    *r = graph_node(g, owner)->region;
    e->next = graph_node(g, owner)->after;
    if (v->close) v->close(e, owner, v->ctx);
    return e->next;
}

void edit_walk(Edit *e, const Visitor *v) {
    Graph *g = e->g;
    RegionId r = BODY;
    if (v->enter) v->enter(e, BODY, v->ctx);
    NodeId at = g->regions[BODY].first;
    for (;;) {
        while (!at && r != BODY) at = walk_out(e, v, &r);
        if (!at) break;
        Node *n = graph_node(g, at);
        rewrite(e, n->nin, n->in);
        e->next = n->after;
        if (v->node) v->node(e, at, v->ctx);
        n = graph_node(g, at);
        bool opens = n->region && (n->kind == N_IF || n->kind == N_WHILE);
        at = e->next;
        if (!opens) continue;
        r = n->regions[0];
        if (v->enter) v->enter(e, r, v->ctx);
        at = g->regions[r].first;
    }
    leave_region(e, v, BODY);
}

/* ---- nodes */

static NodeId add(Edit *e, NodeId at, NodeKind kind, int nin, const Value *in, int nout,
                  const TensorType *types) {
    Graph *g = e->g;
    RegionId r = graph_node(g, at)->region;
    graph_append(g, r, kind, nin, in, nout, types);
    NodeId id = g->nnodes - 1;
    graph_unlink(g, id);
    graph_link(g, id, r, at);
    graph_node(g, id)->line = graph_node(g, at)->line;
    graph_node(g, id)->again = graph_node(g, at)->again;
    return id;
}

NodeId edit_copy(Edit *e, NodeId id, const Value *in, NodeId at) {
    const Node n = *graph_node(e->g, id);
    TensorType *types = checked(malloc((n.nout + 1u) * sizeof *types));
    for (int i = 0; i < n.nout; i++) types[i] = *graph_type(e->g, n.out[i]);
    NodeId made = add(e, at, n.kind, n.nin, in, n.nout, types);
    free(types);
    Node *copy = graph_node(e->g, made);
    copy->line = n.line;
    copy->again = n.again;
    copy->kept = n.kept;
    copy->draws = n.draws;
    if (n.kind == N_CALL) graph_set_call(e->g, made, n.op, n.attrs);
    copy->count = n.count;
    if (n.kind == N_CONST) copy->constant = tensor_ref(n.constant);
    if (n.kind == N_HOST) {
        copy->host = n.host;
        n.host->refs++;
    }
    return made;
}

Value edit_add_const(Edit *e, NodeId at, Tensor *t) {
    NodeId id = add(e, at, N_CONST, 0, NULL, 1, &t->type);
    graph_node(e->g, id)->constant = tensor_ref(t);
    return graph_node(e->g, id)->out[0];
}

/* The inputs with those left out at the end; as many as nodes of the op have. */
static int pad_inputs(const Op *op, int nin, const Value *in, Value *all) {
    int n = op->nin_max == NIN_ANY ? nin : op->nin_max;
    for (int i = 0; i < n; i++) all[i] = i < nin ? in[i] : 0;
    return n;
}

Value edit_add_call(Edit *e, NodeId at, OpId id, const void *attrs, int nin, const Value *in) {
    const Op *op = op_get(id);
    int64_t preset[128];
    Value all[16];
    const TensorType *types[16];
    TensorType out[4];
    if (!attrs) attrs_init(op, preset);
    int n = pad_inputs(op, nin, in, all);
    for (int i = 0; i < n; i++) types[i] = all[i] ? graph_type(e->g, all[i]) : NULL;
    OpCall call = {op, attrs ? attrs : preset, n, op->nout, types};
    assert(op->nout > 0 && op->nout <= (int)COUNT_OF(out));
    if (op->infer(&call, out) != OK) {
        error_clear();
        return 0;
    }
    NodeId made = add(e, at, N_CALL, n, all, op->nout, out);
    graph_set_call(e->g, made, op, call.attrs);
    return graph_node(e->g, made)->out[0];
}

void edit_become(Edit *e, NodeId id, OpId op_id, const void *attrs, int nin, const Value *in) {
    const Op *op = op_get(op_id);
    Value all[16];
    int n = pad_inputs(op, nin, in, all);
    Value *kept = graph_alloc(e->g, ((size_t)n + 1) * sizeof *kept);
    memcpy(kept, all, (size_t)n * sizeof *kept);
    graph_node(e->g, id)->in = kept;
    graph_node(e->g, id)->nin = (uint16_t)n;
    graph_set_call(e->g, id, op, attrs);
}

void edit_merge(Edit *e, NodeId id, NodeId by) {
    for (int i = 0; i < graph_node(e->g, id)->nout; i++)
        edit_replace(e, graph_node(e->g, id)->out[i], graph_node(e->g, by)->out[i]);
    uint32_t line = graph_line_with(e->g, graph_node(e->g, by)->line, graph_node(e->g, id)->line);
    graph_node(e->g, by)->line = line;
    graph_drop(e->g, id);
}

bool edit_is_free(const Node *n) {
    if (n->kind == N_CONST || n->kind == N_UNDEF) return true;
    return n->kind == N_CALL && (n->op->hidden || !kernel_check(n->op->id));
}

NodeId edit_user(const Graph *g, Value v, NodeId id) {
    RegionId home = g->values[v].region;
    for (; id; id = g->regions[graph_node(g, id)->region].owner) {
        const Node *n = graph_node(g, id);
        if (n->region == home) return id;
        if (n->kind == N_WHILE && n->regions[0] == home) return 0;
    }
    return 0;
}

Value edit_viewed(const Graph *g, Value v) {
    for (int i = 0; i < 64; i++) {
        const Node *n = graph_node(g, g->values[v].node);
        if (!g->values[v].node || n->kind != N_CALL || n->op->kind != K_MAP) break;
        v = n->in[0];
    }
    return v;
}

bool edit_is_update(const Node *n) { return n->kind == N_CALL && op_is_update(n->op); }
