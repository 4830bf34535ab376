/* Looking for formulas in a graph. */
#include "passes/match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ops/reduce.h"

/* ---- uses */

static void count_node(Edit *e, NodeId id, void *ctx) {
    const Node *n = graph_node(e->g, id);
    for (int i = 0; i < n->nin; i++) ((Uses *)ctx)->of[n->in[i]]++;
}

static void count_results(Edit *e, RegionId r, void *ctx) {
    const Region *region = &e->g->regions[r];
    for (uint32_t i = 0; i < region->nresults; i++) ((Uses *)ctx)->of[region->results[i]]++;
}

void uses_count(Uses *u, Graph *g) {
    Edit e;
    *u = (Uses){.of = checked(calloc(g->nvalues, sizeof *u->of)), .n = g->nvalues};
    edit_init(&e, g);
    edit_walk(&e, &(Visitor){.node = count_node, .leave = count_results, .ctx = u});
    edit_done(&e);
}

void uses_done(Uses *u) { free(u->of); }

uint32_t uses_of(const Uses *u, Value v) { return v < u->n ? u->of[v] : UINT32_MAX; }

/* ---- single nodes */

const Node *match_step(const Match *m, Value v) {
    const Node *n = edit_call_of(m->e, v);
    return n && n->region == m->region ? n : NULL;
}

const Node *match_call(const Match *m, Value v, OpId op, uint32_t uses) {
    const Node *n = match_step(m, v);
    return n && n->op->id == op && uses_of(m->uses, v) == uses ? n : NULL;
}

bool match_is_near(const Match *m, Value v, double number, double x) {
    DType d = graph_type(m->e->g, v)->dtype;
    double near = d == DT_f64 ? 1e-12 : d == DT_f32 ? 1e-6 : d == DT_f16 ? 2e-3 : 1e-2;
    return fabs(number - x) <= near * fabs(x);
}

bool match_number(const Match *m, Value v, double x) {
    double number;
    return edit_number(m->e, v, &number) && match_is_near(m, v, number, x);
}

bool match_with_number(const Match *m, const Node *n, double x, Value *other) {
    for (int i = 0; i < 2; i++) {
        *other = n->in[1 - i];
        if (match_number(m, n->in[i], x)) return true;
    }
    return false;
}

int match_over_last(const Match *m, const Node *n) {
    const ReduceAttrs *a = n->attrs;
    int rank = graph_type(m->e->g, n->in[0])->rank, last = 0;
    uint32_t mask;
    if (!a->keep_dims || reduce_axes(n->op->name, &a->axis, rank, &mask) != OK) return 0;
    while (last < rank && mask >> (rank - 1 - last) & 1) last++;
    return mask >> (rank - last) << (rank - last) == mask ? last : 0;
}

bool match_is_transposed(const Match *m, Value v, Value *input) {
    const Node *n = match_step(m, v);
    if (!n || n->op->kind != K_MAP) return false;
    const TensorType *x = graph_type(m->e->g, n->in[0]), *out = graph_type(m->e->g, v);
    if (x->rank < 2 || out->rank != x->rank) return false;
    int64_t from[MAX_RANK], to[MAX_RANK], offset;
    for (int i = 0; i < x->rank; i++) from[i] = (int64_t)1 << (4 * (x->rank - i)); /* made up */
    OpCall call = {n->op, n->attrs, n->nin, n->nout, &x};
    if (!n->op->view(&call, 0, out, from, to, &offset) || offset != 0) return false;
    int last = x->rank - 1;
    int64_t swap = from[last];
    from[last] = from[last - 1];
    from[last - 1] = swap;
    *input = n->in[0];
    return !memcmp(from, to, (size_t)x->rank * sizeof *from) &&
           out->dims[last] == x->dims[last - 1];
}

/* ---- products */

static bool push(Product *p, Value v, int times) {
    if (p->n + times > MOST_FACTORS) return false;
    while (times--) p->of[p->n++] = v;
    return true;
}

/* Takes factor i apart: false: it stays what it is. */
static bool split(const Match *m, Product *p, int i, bool is_top) {
    Value v = p->of[i];
    double number;
    const Node *n = match_step(m, v);
    if (edit_number(m->e, v, &number)) {
        p->of[i] = p->of[--p->n];
        p->number *= number;
        return true;
    }
    if (!n || (!is_top && uses_of(m->uses, v) != 1)) return false;
    Product before = *p;
    p->of[i] = p->of[--p->n];
    OpId op = n->op->id;
    if (op == OP_mul && push(p, n->in[0], 1) && push(p, n->in[1], 1)) return true;
    if (op == OP_square && push(p, n->in[0], 2)) return true;
    if (op == OP_neg && push(p, n->in[0], 1)) {
        p->number = -p->number;
        return true;
    }
    bool has_number = n->nin > 1 && edit_number(m->e, n->in[1], &number);
    if (op == OP_pow && has_number && (number == 2 || number == 3) &&
        push(p, n->in[0], (int)number))
        return true;
    if (op == OP_div && has_number && push(p, n->in[0], 1)) {
        p->number /= number;
        return true;
    }
    *p = before;
    return false;
}

bool match_product(const Match *m, Value v, Product *p) {
    *p = (Product){.number = 1, .n = 1, .of = {v}};
    split(m, p, 0, true);
    for (int i = 0; i < p->n;)
        if (!split(m, p, i, false)) i++;
    return p->n < MOST_FACTORS;
}

Value match_other_factor(const Product *p, Value x, int times) {
    Value other = 0;
    if (p->n != times + 1) return 0;
    for (int i = 0; i < p->n; i++)
        if (p->of[i] == x && times)
            times--;
        else
            other = p->of[i];
    return times ? 0 : other;
}
