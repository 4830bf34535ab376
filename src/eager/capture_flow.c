/* If and While in a captured graph, and the gradient of If.
 *
 * The sides of an If were captured with the tape on, so their nodes hang on it. The If gets one
 * tape node of its own, whose edges are the links that lead out of the sides; its gradient is an If
 * whose sides walk that part of the tape. Values that this reads from inside the sides are handed
 * out as further results (graph_visible), so nothing is computed twice. An edge that one side does
 * not read has no gradient where that side is taken: the condition goes along with it (GradFlow).
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eager/capture.h"
#include "eager/dispatch.h"
#include "eager/node.h"
#include "eager/record.h"

/* ---- the gradient of If */

typedef struct IfGrad {
    Tensor *condition;
    int n, nedges;
    Tensor **then, **other; /* n each, with their links */
    TapeEdge *edges;        /* out of both sides */
    uint64_t since;         /* links older than this stand outside */
} IfGrad;

static void if_grad_release(void *ctx) {
    IfGrad *f = ctx;
    tensor_unref(f->condition);
    for (int i = 0; i < 2 * f->n; i++) tensor_unref(f->then[i]);
    for (int i = 0; i < f->nedges; i++) link_unref(f->edges[i].link);
    free(f->then);
    free(f->edges);
    free(f);
}

/* One side of the gradient: nedges gradients, NULL where there is none, and whether they are
 * there. */
typedef struct SideGrad {
    RegionId region;
    Tensor **dx, **present;
} SideGrad;

/* The edges whose gradients somebody will look at. */
static TapeEdge *wanted_edges(const IfGrad *f, const GradFlow *flow) {
    TapeEdge *edges = checked(calloc((size_t)f->nedges + 1, sizeof *edges));
    for (int i = 0; i < f->nedges; i++)
        if (flow->want[i]) edges[i] = f->edges[i];
    return edges;
}

/* Gradients of one side's results for the edges, captured into a region of its own. */
static Status walk_side(const IfGrad *f, Tensor *const *results, const GradFlow *flow,
                        SideGrad *side) {
    size_t count = (size_t)f->n;
    Tensor **roots = checked(calloc(3 * count + 1, sizeof *roots));
    Tensor **seeds = roots + count, **present = seeds + count;
    int n = 0;
    for (int i = 0; i < f->n; i++) {
        if (!flow->g[i] || !results[i]->link) continue;
        roots[n] = results[i];
        present[n] = flow->g_present[i];
        seeds[n++] = flow->g[i];
    }
    BackwardArgs a = {.nroots = n, .roots = roots, .seeds = seeds, .create_graph = tape_is_on()};
    a.keep = true;
    a.since = f->since;
    a.seeds_present = present;
    a.present = side->present;
    side->region = capture_region(capture_now, 0);
    capture_enter(capture_now, side->region);
    TapeEdge *edges = wanted_edges(f, flow);
    Status status = tape_edges_backward(&a, f->nedges, edges, side->dx);
    capture_leave(capture_now);
    free(edges);
    free(roots);
    return status;
}

static Status constant_flag(bool on, Tensor **out) {
    AUTO_TENSOR made = NULL;
    TRY(tensor_fill(&(TensorType){.dtype = DT_bool}, on, &made));
    *out = capture_symbolic(made);
    return OK;
}

/* What the sides hand out: gradients, then flags of those that are not there on each way. */
typedef struct Handed {
    int n;
    Tensor **then, **other; /* owned */
    int *of;                /* the edge; nedges + edge: its flag */
    Tensor *opposite;       /* of the condition, once it is needed */
} Handed;

static void hand(Handed *h, int of, Tensor *then, Tensor *other) {
    h->of[h->n] = of;
    h->then[h->n] = then;
    h->other[h->n++] = other;
}

static Status flag_of(const SideGrad *s, int i, Tensor **out) {
    if (!s->dx[i] || !s->present[i]) return constant_flag(s->dx[i] != NULL, out);
    *out = tensor_ref(s->present[i]);
    return OK;
}

/* The gradient of one edge; it is zero on a side that has none. */
static Status hand_gradient(const IfGrad *f, const SideGrad *a, const SideGrad *b, int i,
                            Handed *h) {
    Tensor *then = a->dx[i] ? tensor_ref(a->dx[i]) : NULL, *other = NULL;
    Status status = then ? OK : tensor_fill(&f->edges[i].type, 0, &then);
    if (status == OK && !b->dx[i]) status = tensor_fill(&f->edges[i].type, 0, &other);
    if (status == OK && b->dx[i]) other = tensor_ref(b->dx[i]);
    hand(h, i, then, other);
    return status;
}

/* Its flag: none when both sides always have it, the condition or its opposite when one side has
 * it always and one never. */
static Status hand_flag(const IfGrad *f, const SideGrad *a, const SideGrad *b, int i, Handed *h,
                        Tensor **flag) {
    bool is_plain = !a->present[i] && !b->present[i];
    if (is_plain && a->dx[i] && b->dx[i]) return OK;
    if (is_plain && a->dx[i]) {
        *flag = tensor_ref(f->condition);
        return OK;
    }
    if (is_plain) {
        if (!h->opposite) TRY(dispatch1(OP_logical_not, NULL, f->condition, &h->opposite));
        *flag = tensor_ref(h->opposite);
        return OK;
    }
    Tensor *then, *other;
    TRY(flag_of(a, i, &then));
    Status status = flag_of(b, i, &other);
    if (status == OK)
        hand(h, f->nedges + i, then, other);
    else
        tensor_unref(then);
    return status;
}

static Status join_sides(const IfGrad *f, const SideGrad *a, const SideGrad *b,
                         const GradFlow *flow) {
    size_t most = 2 * (size_t)f->nedges + 1;
    Handed h = {.then = checked(calloc(2 * most, sizeof *h.then))};
    h.other = h.then + most;
    h.of = checked(calloc(most, sizeof *h.of));
    Tensor **out = checked(calloc(most, sizeof *out));
    Status status = OK;
    for (int i = 0; i < f->nedges && status == OK; i++) {
        if (!a->dx[i] && !b->dx[i]) continue;
        status = hand_gradient(f, a, b, i, &h);
        if (status == OK) status = hand_flag(f, a, b, i, &h, &flow->dx_present[i]);
    }
    Side then = {a->region, h.then}, other = {b->region, h.other};
    if (status == OK) status = capture_if(capture_now, f->condition, then, other, h.n, out);
    for (int i = 0; i < h.n; i++) {
        int edge = h.of[i] % f->nedges;
        if (status == OK) *(h.of[i] == edge ? &flow->dx[edge] : &flow->dx_present[edge]) = out[i];
        tensor_unref(h.then[i]);
        tensor_unref(h.other[i]);
    }
    tensor_unref(h.opposite);
    free(h.then);
    free(h.of);
    free(out);
    return status;
}

static Status if_flow(void *ctx, const GradFlow *flow) {
    const IfGrad *f = ctx;
    if (!capture_now)
        return FAIL(RUNTIME, "the gradient of a captured branch is taken after its capture");
    size_t n = (size_t)f->nedges;
    Tensor **all = checked(calloc(4 * n + 1, sizeof *all));
    SideGrad a = {0, all, all + n}, b = {0, all + 2 * n, all + 3 * n};
    Status status = walk_side(f, f->then, flow, &a);
    if (status == OK) status = walk_side(f, f->other, flow, &b);
    if (status == OK) status = join_sides(f, &a, &b, flow);
    for (size_t i = 0; i < 4 * n; i++) tensor_unref(all[i]);
    free(all);
    return status;
}

/* Hangs the If's own node on its results. */
static Status record_if(Tensor *condition, Side then, Side other, uint64_t since, int n,
                        Tensor **out) {
    IfGrad *f = checked(calloc(1, sizeof *f));
    *f = (IfGrad){.condition = tensor_ref(condition), .n = n, .since = since};
    f->then = checked(calloc(2 * (size_t)n + 1, sizeof *f->then));
    f->other = f->then + n;
    for (int i = 0; i < n; i++) {
        f->then[i] = tensor_ref(then.values[i]);
        f->other[i] = tensor_ref(other.values[i]);
    }
    f->edges = tape_edges(2 * n, f->then, since, &f->nedges);
    Tensor *fake = checked(calloc((size_t)f->nedges + 1, sizeof *fake));
    Tensor **in = checked(calloc((size_t)f->nedges + 1, sizeof *in));
    for (int i = 0; i < f->nedges; i++) {
        fake[i] = tape_edge_handle(&f->edges[i]);
        in[i] = &fake[i];
    }
    CustomGrad custom = {.flow = if_flow, .release = if_grad_release, .ctx = f};
    Status status = f->nedges ? tape_record_custom("if", custom, f->nedges, in, n, out) : OK;
    if (!f->nedges || status != OK) if_grad_release(f);
    free(fake);
    free(in);
    return status;
}

/* ---- If */

static Status check_condition(const Tensor *t, const char *what) {
    if (t->type.dtype == DT_bool && t->type.rank == 0) return OK;
    char text[200];
    return FAIL(TYPE, "the condition of %s is %s; it must be bool[]", what,
                type_text(&t->type, text, sizeof text));
}

static Status side_values(Capture *c, Side s, int n, Value *v) {
    capture_enter(c, s.region);
    Status status = OK;
    for (int i = 0; i < n && status == OK; i++) status = capture_value(c, s.values[i], &v[i]);
    capture_leave(c);
    return status;
}

static Status check_same(int i, const TensorType *a, const TensorType *b, const char *what) {
    if (type_equal(a, b)) return OK;
    char one[200], two[200];
    return FAIL(TYPE, "%s: value %d is %s on one side and %s on the other", what, i,
                type_text(a, one, sizeof one), type_text(b, two, sizeof two));
}

static Status add_if(Capture *c, Tensor *condition, Side then, Side other, int n, Tensor **out) {
    TRY(check_condition(condition, "if"));
    for (int i = 0; i < n; i++)
        TRY(check_same(i, &then.values[i]->type, &other.values[i]->type, "if"));
    Value cond, *v = checked(calloc(2 * (size_t)n + 1, sizeof *v));
    TensorType *types = checked(calloc((size_t)n + 1, sizeof *types));
    Status status = capture_value(c, condition, &cond);
    if (status == OK) status = side_values(c, then, n, v);
    if (status == OK) status = side_values(c, other, n, v + n);
    if (status == OK) {
        for (int i = 0; i < n; i++) types[i] = then.values[i]->type;
        graph_results(capture_graph(c), then.region, (uint32_t)n, v);
        graph_results(capture_graph(c), other.region, (uint32_t)n, v + n);
        NodeId id = capture_node(c, N_IF, 1, &cond, n, types, out);
        graph_attach(capture_graph(c), id, then.region, other.region);
        Tensor **kept = checked(calloc(2 * (size_t)n + 1, sizeof *kept));
        kept[0] = condition;
        memcpy(kept + 1, then.values, (size_t)n * sizeof *kept);
        memcpy(kept + 1 + n, other.values, (size_t)n * sizeof *kept);
        capture_keep(c, id, 1 + 2 * n, kept);
        free(kept);
    }
    free(v);
    free(types);
    TRY(status);
    bool wants = false; /* also with the tape off: a value that a side hands on keeps its link */
    for (int i = 0; i < n; i++) wants |= then.values[i]->link || other.values[i]->link;
    uint64_t since = min_i64((int64_t)capture_region_since(c, then.region),
                             (int64_t)capture_region_since(c, other.region));
    return wants ? record_if(condition, then, other, since, n, out) : OK;
}

Status capture_if(Capture *c, Tensor *condition, Side then, Side other, int n, Tensor **out) {
    Tensor **in = NULL;
    bool recorded = false;
    if (record_now()) {
        in = checked(calloc(2 * (size_t)n + 1, sizeof *in));
        in[0] = condition;
        memcpy(in + 1, then.values, (size_t)n * sizeof *in);
        memcpy(in + 1 + n, other.values, (size_t)n * sizeof *in);
        recorded = record_open(REC_IF, 2 * n + 1, in);
    }
    if (recorded) record_numbers(then.region, other.region, 0);
    Status status = add_if(c, condition, then, other, n, out);
    if (recorded) record_close(status, n, out);
    free(in);
    return status;
}

/* ---- While */

/* Parameters are variables of their own, so that the tape sees what the body does with them. */
static Tensor *loop_param(Capture *c, const Loop *loop, const Tensor *init) {
    Tensor *t = capture_region_param(c, loop->condition, &init->type);
    DType d = init->type.dtype;
    bool may_differ = dtype_is_smooth(d) || (dtype_is_integer(d) && capture_follows_integers(c));
    if (tape_is_on() && may_differ) t->link = tape_leaf();
    return t;
}

static Status open_loop(Capture *c, int n, Tensor *const *init, Loop *loop, Tensor **params) {
    size_t all = (size_t)n + 1;
    *loop = (Loop){.n = n, .first = checked(calloc(all, sizeof *loop->first))};
    loop->init = checked(calloc(all, sizeof *loop->init));
    loop->params = checked(calloc(all, sizeof *loop->params));
    for (int i = 0; i < n; i++) {
        Status status = capture_value(c, init[i], &loop->first[i]);
        if (status != OK) {
            loop_done(loop);
            return status;
        }
        loop->init[i] = tensor_ref(init[i]);
    }
    loop->condition = capture_region(c, 0);
    loop->body = capture_region(c, loop->condition);
    capture_region_loops(c, loop->condition);
    capture_region_loops(c, loop->body);
    for (int i = 0; i < n; i++) {
        params[i] = loop_param(c, loop, init[i]);
        loop->params[i] = tensor_ref(params[i]);
    }
    return OK;
}

Status capture_loop(Capture *c, int n, Tensor *const *init, Loop *loop, Tensor **params) {
    bool recorded = record_open(REC_LOOP, n, init);
    Status status = open_loop(c, n, init, loop, params);
    if (recorded) record_numbers(loop->condition, loop->body, 0);
    if (recorded) record_close(status, n, params);
    return status;
}

void loop_done(Loop *loop) {
    for (int i = 0; i < loop->n && loop->init; i++) {
        tensor_unref(loop->init[i]);
        tensor_unref(loop->params[i]);
    }
    free(loop->first);
    free(loop->init);
    free(loop->params);
    *loop = (Loop){0};
}

static Status check_loop(Capture *c, const Loop *loop, const Tensor *condition,
                         Tensor *const *next) {
    TRY(check_condition(condition, "while"));
    for (int i = 0; i < loop->n; i++)
        TRY(check_same(i, graph_type(capture_graph(c), loop->first[i]), &next[i]->type, "while"));
    return OK;
}

/* The handles of a loop in one list: first values, condition, next values. */
static void keep_loop(Capture *c, NodeId id, const Loop *loop, Tensor *condition,
                      Tensor *const *next) {
    size_t n = (size_t)loop->n;
    Tensor **kept = checked(calloc(2 * n + 1, sizeof *kept));
    memcpy(kept, loop->init, n * sizeof *kept);
    kept[n] = condition;
    memcpy(kept + n + 1, next, n * sizeof *kept);
    capture_keep(c, id, (int)(2 * n + 1), kept);
    free(kept);
}

static Status add_while(Capture *c, Loop *loop, Tensor *condition, Tensor *const *next,
                        Tensor **out) {
    Graph *g = capture_graph(c);
    TRY(check_loop(c, loop, condition, next));
    Value cond, *v = checked(calloc((size_t)loop->n + 1, sizeof *v));
    TensorType *types = checked(calloc((size_t)loop->n + 1, sizeof *types));
    for (int i = 0; i < loop->n; i++) types[i] = next[i]->type;
    Status status = side_values(c, (Side){loop->condition, &condition}, 1, &cond);
    if (status == OK) status = side_values(c, (Side){loop->body, next}, loop->n, v);
    NodeId id = 0;
    if (status == OK) {
        graph_results(g, loop->condition, 1, &cond);
        graph_results(g, loop->body, (uint32_t)loop->n, v);
        id = capture_node(c, N_WHILE, loop->n, loop->first, loop->n, types, out);
        graph_attach(g, id, loop->condition, loop->body);
        keep_loop(c, id, loop, condition, next);
    }
    free(v);
    free(types);
    return status == OK ? capture_loop_record(c, id, loop, next, out) : status;
}

Status capture_while(Capture *c, Loop *loop, Tensor *condition, Tensor *const *next, Tensor **out) {
    Tensor **in = NULL;
    bool recorded = false;
    if (record_now()) {
        in = checked(calloc((size_t)loop->n + 1, sizeof *in));
        in[0] = condition;
        memcpy(in + 1, next, (size_t)loop->n * sizeof *in);
        recorded = record_open(REC_WHILE, loop->n + 1, in);
    }
    if (recorded) record_numbers(loop->condition, 0, 0);
    Status status = add_while(c, loop, condition, next, out);
    if (recorded) record_close(status, loop->n, out);
    free(in);
    return status;
}
