/* Ifs whose condition is known, and results that are the same on both sides.
 *
 * Inside the sides of an If its condition is a constant: uses there are replaced by one while the
 * walk is inside. So is what a condition made by logical_not, logical_and or logical_or implies,
 * and the condition of a While in its body. */
#include <stdlib.h>

#include "eager/dispatch.h"
#include "passes/edit.h"
#include "passes/passes.h"

enum { MOST_FACTS = 16, MOST_STEPS = 4 };

/* What was known before a region was entered. */
typedef struct Fact {
    RegionId region;
    Value value, before;
} Fact;

typedef struct Branches {
    Value truths[2]; /* the constants false and true; 0: not made yet */
    Fact *facts;
    uint32_t n, cap;
} Branches;

static Value truth_const(Edit *e, Branches *b, bool truth) {
    Tensor *t;
    if (b->truths[truth]) return b->truths[truth];
    if (tensor_fill(&(TensorType){.dtype = DT_bool}, truth, &t) != OK) return 0;
    b->truths[truth] = edit_add_const(e, e->g->regions[BODY].first, t);
    tensor_unref(t);
    return b->truths[truth];
}

static void know(Edit *e, Branches *b, RegionId r, Value v, bool truth) {
    if (edit_const(e, v)) return;
    if (b->n == b->cap) {
        b->cap = 2 * b->cap + 32;
        b->facts = realloc(b->facts, b->cap * sizeof *b->facts);
        if (!b->facts) abort(); /* bookkeeping: the pool_small policy */
    }
    b->facts[b->n++] = (Fact){r, v, v < e->cap ? e->to[v] : 0};
    edit_replace(e, v, truth_const(e, b, truth));
}

static bool is_truth(const Edit *e, Value v) {
    const TensorType *t = graph_type(e->g, v);
    return t->dtype == DT_bool && t->rank == 0;
}

/* v holds or does not hold in region r, and what follows from that. */
static void learn(Edit *e, Branches *b, RegionId r, Value v, bool truth) {
    struct {
        Value value;
        bool truth;
    } todo[MOST_FACTS + 2] = {{v, truth}};
    int n = 1;
    while (n && n < MOST_FACTS) {
        v = todo[--n].value;
        truth = todo[n].truth;
        if (!is_truth(e, v)) continue;
        know(e, b, r, v, truth);
        const Node *from = edit_call_of(e, v);
        OpId op = from ? from->op->id : OP_NONE;
        if (op == OP_logical_not)
            todo[n].value = from->in[0], todo[n++].truth = !truth;
        else if ((op == OP_logical_and && truth) || (op == OP_logical_or && !truth))
            for (int i = 0; i < 2; i++) todo[n].value = from->in[i], todo[n++].truth = truth;
    }
}

static void enter(Edit *e, RegionId r, void *ctx) {
    const Node *owner = graph_node(e->g, e->g->regions[r].owner);
    if (r == BODY) return;
    if (owner->kind == N_IF)
        learn(e, ctx, r, owner->in[0], owner->regions[0] == r);
    else if (owner->regions[1] == r)
        learn(e, ctx, r, e->g->regions[owner->regions[0]].results[0], true);
}

static void leave(Edit *e, RegionId r, void *ctx) {
    Branches *b = ctx;
    while (b->n && b->facts[b->n - 1].region == r) {
        const Fact *f = &b->facts[--b->n];
        edit_replace(e, f->value, f->before);
    }
}

typedef enum Truth { FALSE, TRUE, UNKNOWN } Truth;

/* What v is here, through a few calls of logic that stand further out. */
static Truth truth_of(const Edit *e, Value v, int depth) {
    v = edit_now(e, v);
    const Tensor *t = edit_const(e, v);
    if (t) return t->data[0] ? TRUE : FALSE;
    const Node *n = edit_call_of(e, v);
    OpId op = n && depth && is_truth(e, v) ? n->op->id : OP_NONE;
    if (op != OP_logical_not && op != OP_logical_and && op != OP_logical_or) return UNKNOWN;
    if (!is_truth(e, n->in[0])) return UNKNOWN;
    Truth a = truth_of(e, n->in[0], depth - 1);
    if (op == OP_logical_not) return a == UNKNOWN ? a : a == TRUE ? FALSE : TRUE;
    if (!is_truth(e, n->in[1])) return UNKNOWN;
    Truth b = truth_of(e, n->in[1], depth - 1), decides = op == OP_logical_or ? TRUE : FALSE;
    if (a == decides || b == decides) return decides;
    return a == UNKNOWN || b == UNKNOWN ? UNKNOWN : a;
}

/* The nodes of region r stand before `at` from now on. */
static void splice(Graph *g, RegionId r, NodeId at) {
    RegionId into = graph_node(g, at)->region;
    while (g->regions[r].first) {
        NodeId n = g->regions[r].first;
        graph_unlink(g, n);
        graph_link(g, n, into, at);
    }
}

/* An If with a known condition: the walk goes on in what it becomes. */
static void visit(Edit *e, NodeId id, void *ctx) {
    (void)ctx;
    Graph *g = e->g;
    const Node *n = graph_node(g, id);
    Truth truth = n->kind == N_IF ? truth_of(e, n->in[0], MOST_STEPS) : UNKNOWN;
    if (truth == UNKNOWN) return;
    RegionId side = n->regions[truth == FALSE];
    for (int i = 0; i < n->nout; i++) edit_replace(e, n->out[i], g->regions[side].results[i]);
    NodeId before = n->before, after = n->after;
    RegionId around = n->region;
    splice(g, side, id);
    graph_drop(g, id);
    NodeId first = before ? graph_node(g, before)->after : g->regions[around].first;
    e->next = first ? first : after;
    e->changes++;
}

static bool is_outside(const Graph *g, Value v, RegionId r) {
    for (; r; r = g->regions[r].parent)
        if (g->values[v].region == r) return true;
    return false;
}

/* Results that both sides take from outside need no If. */
static void close_if(Edit *e, NodeId id, void *ctx) {
    (void)ctx;
    const Node *n = graph_node(e->g, id);
    if (n->kind != N_IF) return;
    const Value *a = e->g->regions[n->regions[0]].results;
    const Value *b = e->g->regions[n->regions[1]].results;
    for (int i = 0; i < n->nout; i++) {
        bool same = a[i] == b[i] && edit_now(e, n->out[i]) == n->out[i];
        if (same && is_outside(e->g, a[i], n->region)) edit_replace(e, n->out[i], a[i]);
    }
}

uint32_t pass_branches(Graph *g) {
    Branches b = {0};
    Edit e;
    edit_init(&e, g);
    edit_walk(&e, &(Visitor){visit, enter, leave, close_if, &b});
    edit_done(&e);
    free(b.facts);
    return e.changes + e.rewritten;
}
