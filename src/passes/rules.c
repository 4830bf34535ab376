/* The algebraic rules of rules.def. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eager/dispatch.h"
#include "passes/passes.h"
#include "passes/plain.h"

/* A call under a rule. */
typedef struct Match {
    Edit *e;
    Plain plain;
    NodeId at;
    const Node *n;
    const TensorType *type; /* of its result */
} Match;

/* ---- the words of conditions */

static bool is_number(const Match *m, int i, double want) {
    double x;
    if (i >= m->n->nin || !edit_number(m->e, m->n->in[i], &x)) return false;
    const DTypeInfo *d = &dtype_info[graph_type(m->e->g, m->n->in[i])->dtype];
    if (want == -1 && d->kind == KIND_UINT) return x + 1 == ldexp(1, 8 * d->nbytes); /* all bits */
    return x == want && signbit(x) == signbit(want);
}

static Value inner_of(const Match *m, int i) { return edit_call_of(m->e, m->n->in[i])->in[0]; }

/* The conversion that made input i loses nothing, and what follows it comes to the same from the
 * value before: integers to integers wrap, floats to integers saturate. */
static bool is_lossless_cast(const Match *m, int i) {
    DType from = graph_type(m->e->g, inner_of(m, i))->dtype;
    DType to = graph_type(m->e->g, m->n->in[i])->dtype;
    static const int float_bits[] = {[DT_f16] = 11, [DT_bf16] = 8, [DT_f32] = 24, [DT_f64] = 53};
    const DTypeInfo *a = &dtype_info[from], *b = &dtype_info[to];
    bool wider = a->nbytes < b->nbytes;
    if (from == to) return true;
    if (a->kind == KIND_FLOAT) return b->kind == KIND_FLOAT && wider;
    if (b->kind == KIND_FLOAT)
        return 8 * a->nbytes <= float_bits[to] &&
               (dtype_is_float(m->type->dtype) || m->type->dtype == from);
    if (b->kind == KIND_BOOL) return false;
    return a->kind == KIND_BOOL || (wider && (a->kind == b->kind || b->kind == KIND_INT));
}

/* A reduction over one element each. */
static bool is_one_element_each(const Match *m) {
    const TensorType *x = graph_type(m->e->g, m->n->in[0]);
    return x->dtype == m->type->dtype && type_count(x) == type_count(m->type) && type_count(x);
}

/* ---- the words of results */

static IntList sizes_of(const TensorType *t) {
    IntList sizes = {.n = t->rank};
    memcpy(sizes.v, t->dims, t->rank * sizeof *sizes.v);
    return sizes;
}

static Value filled_with(Match *m, double number) {
    attrs_full a = {.size = sizes_of(m->type), .fill_value = number, .dtype = m->type->dtype};
    return edit_add_call(m->e, m->at, OP_full, &a, 0, NULL);
}

static Value reshaped_to(Match *m, Value x) {
    attrs_reshape a = {.shape = sizes_of(m->type)};
    if (!plain_is(&m->plain, x)) return 0;
    return edit_add_call(m->e, m->at, OP_reshape, &a, 1, &x);
}

static Value cast_to(Match *m, Value x) {
    if (graph_type(m->e->g, x)->dtype == m->type->dtype) return x;
    attrs_cast a = {.dtype = m->type->dtype};
    return edit_add_call(m->e, m->at, OP_cast, &a, 1, &x);
}

static Value call_of(Match *m, OpId op, int nin, const Value *in) {
    return edit_add_call(m->e, m->at, op, NULL, nin, in);
}

/* ---- the rules */

#define is(i, c)           is_number(m, i, c)
#define from(i, op)        edit_is_call(m->e, m->n->in[i], OP_##op)
#define same(i, k)         (m->n->in[i] == m->n->in[k])
#define is_int             (!dtype_is_float(m->type->dtype))
#define is_truth(v)        (graph_type(m->e->g, v)->dtype == DT_bool)
#define is_lossless(i)     is_lossless_cast(m, i)
#define is_one_each()      is_one_element_each(m)
#define attr(op, name)     ((const attrs_##op *)m->n->attrs)->name
#define ninputs            m->n->nin
#define x(i)               m->n->in[i]
#define inner(i)           inner_of(m, i)
#define zeros()            filled_with(m, 0)
#define filled(c)          filled_with(m, c)
#define reshaped(v)        reshaped_to(m, v)
#define cast_of(v)         cast_to(m, v)
#define call1(op, v)       call_of(m, OP_##op, 1, (Value[]){v})
#define call3(op, v, w, u) call_of(m, OP_##op, 3, (Value[]){v, w, u})

/* Whether v may stand for the call; a node made for nothing goes again. */
static bool accept(Match *m, Value v, NodeId first_made) {
    NodeId id = edit_def(m->e, v);
    bool made = id >= first_made;
    if (made) plain_see(&m->plain, m->e, id);
    bool good = v && v != m->n->out[0] && type_equal(graph_type(m->e->g, v), m->type) &&
                plain_is(&m->plain, v) && plain_is(&m->plain, m->n->out[0]);
    if (made && !good) graph_drop(m->e->g, id);
    return good;
}

/* The value that stands for the call's result by the first rule that fits; 0: none does. */
static Value apply_rules(Match *m) {
    OpId id = m->n->op->id;
    NodeId first_made = m->e->g->nnodes;
    Value v;
#define RULE(op, when, then)                                                                       \
    if (id == OP_##op && (when)) {                                                                 \
        v = then;                                                                                  \
        m->n = graph_node(m->e->g, m->at); /* the array may have moved */                          \
        if (accept(m, v, first_made)) return v;                                                    \
    }
#include "passes/rules.def"
    return 0;
}

static void visit(Edit *e, NodeId id, void *ctx) {
    Match *m = ctx;
    plain_see(&m->plain, e, id);
    const Node *n = graph_node(e->g, id);
    if (n->kind != N_CALL || n->nout != 1) return;
    TensorType type = *graph_type(e->g, n->out[0]); /* new values move the array */
    m->e = e;
    m->at = id;
    m->n = n;
    m->type = &type;
    Value v = apply_rules(m);
    m->type = NULL;
    if (!v) return;
    edit_replace(e, graph_node(e->g, id)->out[0], v);
    graph_drop(e->g, id);
    e->changes++;
}

static void close_node(Edit *e, NodeId id, void *ctx) {
    plain_see_if(&((Match *)ctx)->plain, e, id);
}

uint32_t pass_rules(Graph *g) {
    Match m = {0};
    Edit e;
    edit_init(&e, g);
    bool was = tape_set(false);
    edit_walk(&e, &(Visitor){.node = visit, .close = close_node, .ctx = &m});
    tape_set(was);
    plain_done(&m.plain);
    edit_done(&e);
    return e.changes;
}
