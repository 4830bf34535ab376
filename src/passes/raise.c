/* Formulas written out become the op that computes them at once: one kernel that knows what it does
 * instead of one a step. Rounding differs, so this pass runs where it is asked for.
 *
 * A gradient reads the steps of its formula, so in a graph that holds the gradient too the formula
 * stays: patterns reach only through values that nothing else reads (match.h). One step is raised
 * at a time; the next round sees softmax where exp, sum and a quotient have been. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eager/tape.h"
#include "ops/reduce.h"
#include "passes/match.h"
#include "passes/passes.h"

/* Each pattern gives what stands for the node's result; 0: it is not there. */

static Value call_of(const Match *m, NodeId at, OpId op, const void *attrs, int nin,
                     const Value *in) {
    return edit_add_call(m->e, at, op, attrs, nin, in);
}

/* ---- gelu: 0.5 x (1 + erf(x / sqrt 2)), and by tanh */

static bool is_erf_of(const Match *m, Value t, Value x) {
    const Node *erf = match_call(m, t, OP_erf, 1);
    Product p;
    return erf && match_product(m, erf->in[0], &p) && p.n == 1 && p.of[0] == x &&
           match_is_near(m, t, p.number, sqrt(0.5));
}

/* w is x + 0.044715 x^3; or, where x has been taken out (times 2), 1 + 0.044715 x^2. */
static bool is_cubic(const Match *m, Value w, Value x, int times) {
    const Node *sum = match_call(m, w, OP_add, 1);
    for (int i = 0; sum && i < 2; i++) {
        Product p;
        Value one = sum->in[i];
        if (times == 3 ? one != x : !match_number(m, one, 1)) continue;
        if (!match_product(m, sum->in[1 - i], &p) || p.n != times) continue;
        bool is = match_is_near(m, w, p.number, 0.044715);
        for (int k = 0; k < p.n; k++) is = is && p.of[k] == x;
        if (is) return true;
    }
    return false;
}

static bool is_tanh_of(const Match *m, Value t, Value x) {
    const Node *tanh = match_call(m, t, OP_tanh, 1);
    Product p;
    if (!tanh || !match_product(m, tanh->in[0], &p)) return false;
    if (!match_is_near(m, t, p.number, sqrt(2 / acos(-1)))) return false;
    if (p.n == 1) return is_cubic(m, p.of[0], x, 3);
    Value rest = match_other_factor(&p, x, 1);
    return rest && is_cubic(m, rest, x, 2);
}

static Value raise_gelu(const Match *m, NodeId at, const Node *n) {
    Product p;
    if (n->op->id != OP_mul && n->op->id != OP_div) return 0;
    if (!match_product(m, n->out[0], &p) || p.n != 2) return 0;
    if (!match_is_near(m, n->out[0], p.number, 0.5)) return 0;
    for (int i = 0; i < 2; i++) {
        Value x = p.of[i], t;
        const Node *sum = match_call(m, p.of[1 - i], OP_add, 1);
        if (!sum || !match_with_number(m, sum, 1, &t)) continue;
        if (is_erf_of(m, t, x)) return call_of(m, at, OP_gelu_erf, NULL, 1, &x);
        if (is_tanh_of(m, t, x)) return call_of(m, at, OP_gelu_tanh, NULL, 1, &x);
    }
    return 0;
}

/* ---- softmax: e / sum(e), e = exp(x - max(x)); its logarithm */

/* z = x - max(x) over one axis, the same as that of `sum`. */
static Value shifted(const Match *m, Value z, const Node *sum, int64_t *axis) {
    const Node *sub = match_step(m, z);
    const Node *max = sub && sub->op->id == OP_sub ? match_call(m, sub->in[1], OP_amax, 1) : NULL;
    if (!max || max->in[0] != sub->in[0]) return 0;
    const ReduceAttrs *a = sum->attrs, *b = max->attrs;
    int rank = graph_type(m->e->g, z)->rank;
    uint32_t one, two;
    if (!a->keep_dims || !b->keep_dims || a->axis.n != 1 ||
        reduce_axes("sum", &a->axis, rank, &one) != OK ||
        reduce_axes("max", &b->axis, rank, &two) != OK || one != two)
        return 0;
    *axis = a->axis.v[0];
    return sub->in[0];
}

static Value raise_softmax(const Match *m, NodeId at, const Node *n) {
    if (n->op->id != OP_div) return 0;
    attrs_softmax a = {0};
    const Node *exp = match_call(m, n->in[0], OP_exp, 2), *sum = match_call(m, n->in[1], OP_sum, 1);
    if (!exp || !sum || sum->in[0] != n->in[0] || uses_of(m->uses, exp->in[0]) != 1) return 0;
    Value x = shifted(m, exp->in[0], sum, &a.axis);
    return x ? call_of(m, at, OP_softmax, &a, 1, &x) : 0;
}

static Value raise_log_softmax(const Match *m, NodeId at, const Node *n) {
    if (n->op->id != OP_sub) return 0;
    attrs_log_softmax a = {0};
    const Node *log = match_call(m, n->in[1], OP_log, 1);
    const Node *sum = log ? match_call(m, log->in[0], OP_sum, 1) : NULL;
    const Node *exp = sum ? match_call(m, sum->in[0], OP_exp, 1) : NULL;
    if (!exp || exp->in[0] != n->in[0] || uses_of(m->uses, n->in[0]) != 2) return 0;
    Value x = shifted(m, n->in[0], sum, &a.axis);
    return x ? call_of(m, at, OP_log_softmax, &a, 1, &x) : 0;
}

/* ---- layer norm: (x - mean) / sqrt(mean((x - mean)^2) + eps), then * weight + bias */

/* How often the variance v of the rows that d is centered in reads d; x is what d comes from.
 * -1: v is something else. */
static int reads_of_variance(const Match *m, Value v, Value d, Value x, int last) {
    const Node *n = match_call(m, v, OP_var, 1);
    Product p;
    if (n && n->in[0] == x && !((const attrs_var *)n->attrs)->ddof && match_over_last(m, n) == last)
        return 0;
    n = match_call(m, v, OP_mean, 1);
    if (!n || match_over_last(m, n) != last || uses_of(m->uses, n->in[0]) != 1) return -1;
    const Node *square = match_step(m, n->in[0]);
    if (!match_product(m, n->in[0], &p) || p.number != 1 || p.n != 2 || p.of[0] != d ||
        p.of[1] != d)
        return -1;
    return square->op->id == OP_mul ? 2 : 1;
}

/* n is d / sqrt(v) or d * rsqrt(v). */
static bool is_normalised(const Match *m, const Node *n, Value *d, Value *v) {
    const Node *root = n->op->id == OP_div ? match_call(m, n->in[1], OP_sqrt, 1) : NULL;
    *d = n->in[0];
    for (int i = 0; i < 2 && n->op->id == OP_mul && !root; i++) {
        *d = n->in[i];
        root = match_call(m, n->in[1 - i], OP_rsqrt, 1);
    }
    if (root) *v = root->in[0];
    return root;
}

static Value raise_layer_norm(const Match *m, NodeId at, const Node *n) {
    Value d, above;
    attrs_layer_norm a = {0};
    if (!is_normalised(m, n, &d, &above)) return 0;
    const Node *sum = match_call(m, above, OP_add, 1), *sub = match_step(m, d);
    const Node *mean = sub && sub->op->id == OP_sub ? match_call(m, sub->in[1], OP_mean, 1) : NULL;
    if (!sum || !mean || mean->in[0] != sub->in[0]) return 0;
    Value x = sub->in[0];
    const TensorType *type = graph_type(m->e->g, x);
    int last = match_over_last(m, mean), reads = -1;
    for (int i = 0; i < 2 && reads < 0; i++)
        if (edit_number(m->e, sum->in[i], &a.eps))
            reads = reads_of_variance(m, sum->in[1 - i], d, x, last);
    if (!last || reads < 0 || uses_of(m->uses, d) != (uint32_t)reads + 1) return 0;
    a.normalized_shape.n = last;
    memcpy(a.normalized_shape.v, type->dims + type->rank - last, (size_t)last * sizeof *type->dims);
    return call_of(m, at, OP_layer_norm, &a, 1, &x);
}

/* layer_norm(x) * weight, layer_norm(x, weight) + bias. */
static Value raise_affine(const Match *m, NodeId at, const Node *n) {
    int place = n->op->id == OP_mul ? 1 : 2;
    if (n->op->id != OP_mul && n->op->id != OP_add) return 0;
    for (int i = 0; i < 2; i++) {
        const Node *norm = match_call(m, n->in[i], OP_layer_norm, 1);
        if (!norm || norm->in[place] || (place == 2 && !norm->in[1])) continue;
        const IntList *shape = &((const attrs_layer_norm *)norm->attrs)->normalized_shape;
        const TensorType *w = graph_type(m->e->g, n->in[1 - i]);
        if (w->rank != shape->n || w->dtype != graph_type(m->e->g, n->in[i])->dtype) continue;
        Value in[3] = {norm->in[0], norm->in[1], 0};
        in[place] = n->in[1 - i];
        return call_of(m, at, OP_layer_norm, norm->attrs, place + 1, in);
    }
    return 0;
}

/* ---- attention: softmax(scale q k^T + mask) v */

static bool is_plain_product(const Node *n) {
    const attrs_matmul *a = n->attrs;
    return !a->transpose_a && !a->transpose_b;
}

/* scores are scale * q k^T. */
static bool is_scores(const Match *m, Value scores, Value *q, Value *k, double *scale) {
    Product p;
    if (!match_product(m, scores, &p) || p.n != 1 || p.number == 0) return false;
    const Node *dot = match_call(m, p.of[0], OP_matmul, 1);
    if (!dot || ((const attrs_matmul *)dot->attrs)->transpose_a) return false;
    *k = dot->in[1];
    if (!((const attrs_matmul *)dot->attrs)->transpose_b && !match_is_transposed(m, dot->in[1], k))
        return false;
    *q = dot->in[0];
    *scale = p.number;
    return true;
}

static Value raise_attention(const Match *m, NodeId at, const Node *n) {
    if (n->op->id != OP_matmul || !is_plain_product(n)) return 0;
    const Node *soft = match_call(m, n->in[0], OP_softmax, 1);
    int64_t axis = soft ? ((const attrs_softmax *)soft->attrs)->axis : 0;
    if (!soft || (axis != -1 && axis != 3) || uses_of(m->uses, soft->in[0]) != 1) return 0;
    Value in[4] = {0, 0, n->in[1], 0};
    attrs_flash_attention a = {0};
    const Node *sum = match_call(m, soft->in[0], OP_add, 1);
    bool is = !sum && is_scores(m, soft->in[0], &in[0], &in[1], &a.scale);
    for (int i = 0; i < 2 && sum && !is; i++) {
        is =
            uses_of(m->uses, sum->in[i]) == 1 && is_scores(m, sum->in[i], &in[0], &in[1], &a.scale);
        in[3] = sum->in[1 - i];
    }
    return is ? call_of(m, at, OP_flash_attention, &a, in[3] ? 4 : 3, in) : 0;
}

/* ---- cross-entropy */

static Value raise_nll(const Match *m, NodeId at, const Node *n) {
    const Node *log = n->op->id == OP_nll_loss ? match_call(m, n->in[0], OP_log_softmax, 1) : NULL;
    if (!log) return 0;
    const attrs_nll_loss *nll = n->attrs;
    int64_t axis = ((const attrs_log_softmax *)log->attrs)->axis;
    int rank = graph_type(m->e->g, n->in[0])->rank;
    if (axis != 1 && axis != 1 - rank) return 0;
    attrs_cross_entropy a = {.ignore_index = nll->ignore_index,
                             .label_smoothing = nll->label_smoothing};
    memcpy(a.reduction, nll->reduction, sizeof a.reduction);
    Value in[3] = {log->in[0], n->in[1], n->in[2]};
    return call_of(m, at, OP_cross_entropy, &a, 3, in);
}

/* A sum over one_hot(labels) * log_softmax(x) becomes the mean, or the sum, over the labels. */
static const Node *find_one_hot(const Match *m, Value product, Value *x) {
    const Node *mul = match_call(m, product, OP_mul, 1);
    for (int i = 0; mul && i < 2; i++) {
        const Node *hot = match_call(m, mul->in[i], OP_one_hot, 1);
        const Node *log = match_call(m, mul->in[1 - i], OP_log_softmax, 1);
        const TensorType *t = graph_type(m->e->g, product);
        if (!hot || !log || t->rank != 2) continue;
        const attrs_one_hot *a = hot->attrs;
        int64_t axis = ((const attrs_log_softmax *)log->attrs)->axis;
        bool fits = a->on_value == 1 && a->off_value == 0 && (a->axis == -1 || a->axis == 1) &&
                    (axis == -1 || axis == 1) && type_equal(graph_type(m->e->g, mul->in[i]), t) &&
                    type_equal(graph_type(m->e->g, mul->in[1 - i]), t);
        *x = log->in[0];
        if (fits) return hot;
    }
    return NULL;
}

/* v is c times the sum of all elements of *of. */
static double total_of(const Match *m, Value v, Value *of) {
    double c = 1, number;
    for (*of = v;;) {
        const Node *n = match_step(m, *of);
        if (!n || (*of != v && uses_of(m->uses, *of) != 1)) return c;
        Value from = n->in[0];
        if (n->op->id == OP_mean)
            c *= (double)type_count(graph_type(m->e->g, *of)) /
                 (double)type_count(graph_type(m->e->g, from));
        else if (n->op->id == OP_neg)
            c = -c;
        else if (n->op->id == OP_div && edit_number(m->e, n->in[1], &number))
            c /= number;
        else if (n->op->id == OP_mul && edit_number(m->e, n->in[1], &number))
            c *= number;
        else if (n->op->id != OP_sum)
            return c;
        *of = from;
    }
}

/* The steps go at once: a call that may fail, which one_hot is, is nothing that pass `dead` drops.
 */
static void drop_steps(const Match *m, Value v, Value product, NodeId one_hot) {
    for (;;) {
        NodeId id = edit_def(m->e, v);
        Value next = graph_node(m->e->g, id)->in[0];
        graph_drop(m->e->g, id);
        if (v == product) break;
        v = next;
    }
    graph_drop(m->e->g, one_hot);
}

/* -mean over the labels, or -sum. one_hot goes too: both look at the labels. */
static Value raise_one_hot(const Match *m, NodeId at, const Node *n) {
    Value top = n->out[0], product, x;
    if (graph_type(m->e->g, top)->rank) return 0;
    double c = total_of(m, top, &product);
    const Node *hot = product != top ? find_one_hot(m, product, &x) : NULL;
    if (!hot) return 0;
    bool is_sum = match_is_near(m, top, c, -1);
    double rows = (double)graph_type(m->e->g, product)->dims[0];
    if (!is_sum && !match_is_near(m, top, c, -1 / rows)) return 0;
    attrs_cross_entropy a = {.ignore_index = INT64_MIN + 1}; /* no label */
    strcpy(a.reduction, is_sum ? "sum" : "mean");
    Value in[2] = {x, hot->in[0]};
    NodeId one_hot = edit_def(m->e, hot->out[0]);
    Value first = n->in[0];
    Value made = call_of(m, at, OP_cross_entropy, &a, 2, in);
    if (made) drop_steps(m, first, product, one_hot);
    return made;
}

/* ---- the pass */

static void visit(Edit *e, NodeId id, void *ctx) {
    static Value (*const patterns[])(const Match *m, NodeId at, const Node *n) = {
        raise_gelu,   raise_softmax, raise_log_softmax, raise_layer_norm,
        raise_affine, raise_nll,     raise_attention,   raise_one_hot,
    };
    Match m = {e, ctx, graph_node(e->g, id)->region};
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        const Node *n = graph_node(e->g, id);
        if (n->kind != N_CALL || n->nout != 1) return;
        Value v = patterns[i](&m, id, n);
        n = graph_node(e->g, id);
        if (!v) continue;
        if (!type_equal(graph_type(e->g, v), graph_type(e->g, n->out[0]))) {
            graph_drop(e->g, edit_def(e, v));
            continue;
        }
        edit_replace(e, n->out[0], v);
        graph_drop(e->g, id);
        e->changes++;
        return;
    }
}

uint32_t pass_raise(Graph *g) {
    Uses uses;
    Edit e;
    uses_count(&uses, g);
    edit_init(&e, g);
    bool was = tape_set(false);
    edit_walk(&e, &(Visitor){.node = visit, .ctx = &uses});
    tape_set(was);
    edit_done(&e);
    uses_done(&uses);
    return e.changes;
}
