/* If and While in a captured graph, and the gradient of If.
 *
 * The sides of an If were captured with the tape on, so their nodes hang on it. The If gets one
 * tape node of its own, whose edges are the links that lead out of the sides; its gradient is an If
 * whose sides walk that part of the tape. Values that this reads from inside the sides are handed
 * out as further results (graph_visible), so nothing is computed twice. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eager/capture.h"
#include "eager/dispatch.h"
#include "eager/node.h"

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

/* Gradients of one side's results for the edges, captured into a region of its own. */
static Status walk_side(const IfGrad *f, Tensor *const *results, Tensor *const *g, RegionId r,
                        Tensor **dx) {
    Tensor **roots = checked(calloc(2 * (size_t)f->n + 1, sizeof *roots)), **seeds = roots + f->n;
    int n = 0;
    for (int i = 0; i < f->n; i++) {
        if (!g[i] || !results[i]->link) continue;
        roots[n] = results[i];
        seeds[n++] = g[i];
    }
    BackwardArgs a = {.nroots = n, .roots = roots, .seeds = seeds, .create_graph = tape_is_on()};
    a.keep = true;
    a.since = f->since;
    capture_enter(capture_now, r);
    Status status = tape_edges_backward(&a, f->nedges, f->edges, dx);
    for (int i = 0; i < f->nedges && status == OK; i++)
        if (!dx[i]) status = tensor_fill(&f->edges[i].type, 0, &dx[i]);
    capture_leave(capture_now);
    free(roots);
    return status;
}

static Status if_backward(void *ctx, int nout, Tensor *const *g, int nin, Tensor **dx) {
    const IfGrad *f = ctx;
    Capture *c = capture_now;
    (void)nout;
    if (!c) return FAIL(RUNTIME, "the gradient of a captured branch is taken after its capture");
    size_t n = (size_t)nin;
    Tensor **sides = checked(calloc(2 * n + 1, sizeof *sides));
    Side a = {capture_region(c, 0), sides}, b = {capture_region(c, 0), sides + n};
    Status status = walk_side(f, f->then, g, a.region, sides);
    if (status == OK) status = walk_side(f, f->other, g, b.region, sides + n);
    if (status == OK) status = capture_if(c, f->condition, a, b, nin, dx);
    for (size_t i = 0; i < 2 * n; i++) tensor_unref(sides[i]);
    free(sides);
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
    CustomGrad custom = {if_backward, if_grad_release, f};
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

Status capture_if(Capture *c, Tensor *condition, Side then, Side other, int n, Tensor **out) {
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
    bool wants = tape_wants(n, then.values) || tape_wants(n, other.values);
    uint64_t since = min_i64((int64_t)capture_region_since(c, then.region),
                             (int64_t)capture_region_since(c, other.region));
    return wants ? record_if(condition, then, other, since, n, out) : OK;
}

/* ---- While */

/* Parameters are variables of their own, so that the tape sees what the body does with them. */
static Tensor *loop_param(Capture *c, const Loop *loop, const Tensor *init) {
    Tensor *t = capture_region_param(c, loop->condition, &init->type);
    DType d = init->type.dtype;
    bool may_differ = dtype_is_float(d) || (dtype_is_integer(d) && capture_follows_integers(c));
    if (tape_is_on() && may_differ) t->link = tape_leaf();
    return t;
}

Status capture_loop(Capture *c, int n, Tensor *const *init, Loop *loop, Tensor **params) {
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

Status capture_while(Capture *c, Loop *loop, Tensor *condition, Tensor *const *next, Tensor **out) {
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
