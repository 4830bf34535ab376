/* The gradient of While: on the way forward each turn leaves what it started from on a stack; on
 * the way back a second loop takes the turns off the stack, captures the body again with the tape
 * on and walks it. What the gradient carries: the gradients of the carried values, one sum for each
 * value from outside that the body reads, and whether there was a turn: without one, those values
 * have no gradient (GradFlow). */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eager/capture.h"
#include "eager/dispatch.h"
#include "eager/node.h"

typedef struct LoopGrad {
    NodeId node;
    int n, nedges;
    Tensor **params; /* n handles: of which those with links are differentiated */
    TapeEdge *edges; /* links outside that the body reads */
    uint64_t since;
    Tensor **next; /* n */
} LoopGrad;

static void loop_grad_release(void *ctx) {
    LoopGrad *f = ctx;
    for (int i = 0; i < f->n; i++) {
        tensor_unref(f->params[i]);
        tensor_unref(f->next[i]);
    }
    for (int i = 0; i < f->nedges; i++) link_unref(f->edges[i].link);
    free(f->params);
    free(f->next);
    free(f->edges);
    free(f);
}

/* ---- forward: what a turn leaves */

typedef struct Left {
    Value *values; /* carried values, draws and results of host calls */
    TensorType *types;
    int n, capacity;
} Left;

static void add_left(Left *l, const Graph *g, Value v) {
    if (l->n == l->capacity) {
        l->capacity = 2 * l->capacity + 16;
        l->values = checked(realloc(l->values, (size_t)l->capacity * sizeof *l->values));
        l->types = checked(realloc(l->types, (size_t)l->capacity * sizeof *l->types));
    }
    l->types[l->n] = *graph_type(g, v);
    l->values[l->n++] = v;
}

/* Only what stands in the loop's own regions: draws deeper inside have no place on the stack. */
static Status list_left(const Graph *g, const Node *loop, Left *l) {
    const Region *condition = &g->regions[loop->regions[0]];
    for (uint32_t i = 0; i < condition->nparams; i++) add_left(l, g, condition->params[i]);
    for (int part = 0; part < 2; part++)
        for (NodeId id = g->regions[loop->regions[part]].first; id; id = graph_node(g, id)->after) {
            const Node *n = graph_node(g, id);
            if (n->kind == N_DRAW || n->kind == N_HOST)
                for (int i = 0; i < n->nout; i++) add_left(l, g, n->out[i]);
            if ((n->kind == N_IF || n->kind == N_WHILE) && node_has_effect(g, id) &&
                n->kind == N_IF)
                return FAIL(UNSUPPORTED, "the gradient of a loop: random numbers or host calls "
                                         "inside a branch of its body cannot be repeated");
        }
    return OK;
}

static void push_turns(Graph *g, NodeId id, const Left *l, int64_t stack) {
    RegionId body = graph_node(g, id)->regions[1];
    Node *push = graph_append(g, body, N_PUSH, l->n, l->values, 0, NULL);
    push->count = stack;
    push->line = graph_node(g, id)->line;
}

/* ---- backward: one turn */

/* The turn's values, from the stack, into the map; what is differentiated is a leaf. */
static GradLink **pop_turn(Capture *c, const LoopGrad *f, const Left *l, int64_t stack,
                           Tensor **map) {
    Tensor **out = checked(calloc((size_t)l->n + 1, sizeof *out));
    GradLink **leaves = checked(calloc((size_t)f->n + 1, sizeof *leaves));
    NodeId id = capture_node(c, N_POP, 0, NULL, l->n, l->types, out);
    graph_node(capture_graph(c), id)->count = stack;
    for (int i = 0; i < l->n; i++) {
        map[l->values[i]] = out[i];
        if (i < f->n && f->params[i]->link) out[i]->link = leaves[i] = tape_leaf();
    }
    free(out);
    return leaves;
}

/* Gradients of the turn: g[n + nedges] becomes the next turn's. */
static Status walk_turn(const LoopGrad *f, GradLink *const *leaves, Tensor *const *next,
                        Tensor *const *g, uint64_t since, Tensor **dx) {
    int all = f->n + f->nedges, nroots = 0;
    Tensor **roots = checked(calloc(2 * (size_t)f->n + 1, sizeof *roots)), **seeds = roots + f->n;
    TapeEdge *edges = checked(calloc((size_t)all + 1, sizeof *edges));
    for (int i = 0; i < f->n; i++) {
        edges[i] = (TapeEdge){leaves[i], 0, f->params[i]->type};
        if (!f->params[i]->link || !next[i]->link) continue;
        roots[nroots] = next[i];
        seeds[nroots++] = g[i];
    }
    memcpy(edges + f->n, f->edges, (size_t)f->nedges * sizeof *edges);
    BackwardArgs a = {.nroots = nroots, .roots = roots, .seeds = seeds, .keep = true};
    a.since = since;
    Status status = tape_edges_backward(&a, all, edges, dx);
    free(roots);
    free(edges);
    return status;
}

/* Carried values without gradients pass a zero on; sums from outside add up. */
static Status next_gradients(const LoopGrad *f, Tensor *const *g, Tensor **dx) {
    for (int i = 0; i < f->n + f->nedges; i++) {
        Tensor *sum;
        if (i < f->n) {
            if (!dx[i]) TRY(tensor_fill(&g[i]->type, 0, &dx[i]));
            continue;
        }
        if (!dx[i]) {
            dx[i] = tensor_ref(g[i]);
            continue;
        }
        TRY(dispatch2(OP_add, NULL, g[i], dx[i], &sum));
        tensor_unref(dx[i]);
        dx[i] = sum;
    }
    return OK;
}

static Status turn_back(Capture *c, const LoopGrad *f, const Left *l, int64_t stack,
                        Tensor *const *g, Tensor **dx) {
    const Node node = *graph_node(capture_graph(c), f->node);
    uint32_t nvalues = capture_graph(c)->nvalues;
    Tensor **map = checked(calloc(nvalues, sizeof *map));
    Tensor **next = checked(calloc((size_t)f->n + 1, sizeof *next));
    uint64_t since = tape_clock();
    GradLink **leaves = pop_turn(c, f, l, stack, map);
    bool was = tape_set(true);
    Status status = capture_again(c, node.regions[0], map);
    if (status == OK) status = capture_again(c, node.regions[1], map);
    for (int i = 0; i < f->n; i++) next[i] = capture_mapped(f->next[i], map);
    tape_set(was);
    if (status == OK) status = walk_turn(f, leaves, next, g, since, dx);
    if (status == OK) status = next_gradients(f, g, dx);
    for (int i = 0; i < f->n; i++) {
        tensor_unref(next[i]);
    }
    for (uint32_t v = 0; v < nvalues; v++) tensor_unref(map[v]);
    free(leaves);
    free(next);
    free(map);
    return status;
}

/* ---- backward: the loop */

static Status left_condition(Capture *c, int64_t stack, Tensor **out) {
    TensorType type = {.dtype = DT_bool};
    NodeId id = capture_node(c, N_LEFT, 0, NULL, 1, &type, out);
    graph_node(capture_graph(c), id)->count = stack;
    return OK;
}

/* out[n + nedges] are the gradients, then comes whether there was a turn. */
static Status run_back(Capture *c, const LoopGrad *f, const Left *l, int64_t stack,
                       Tensor *const *first, Tensor **out) {
    int all = f->n + f->nedges;
    Loop loop;
    Tensor **g = checked(calloc(2 * (size_t)all + 2, sizeof *g)), **dx = g + all + 1;
    Tensor *more = NULL;
    bool was = tape_set(false);
    Status status = capture_loop(c, all + 1, first, &loop, g);
    if (status == OK) {
        capture_enter(c, loop.condition);
        status = left_condition(c, stack, &more);
        capture_leave(c);
        capture_enter(c, loop.body);
        if (status == OK) status = turn_back(c, f, l, stack, g, dx);
        if (status == OK) status = tensor_fill(&(TensorType){.dtype = DT_bool}, 1, &dx[all]);
        capture_leave(c);
        if (status == OK) status = capture_while(c, &loop, more, dx, out);
        loop_done(&loop);
    }
    tape_set(was);
    tensor_unref(more);
    for (int i = 0; i < 2 * all + 2; i++) tensor_unref(g[i]);
    free(g);
    return status;
}

/* What the carried gradients start from: those of the results, zeros for the sums, no turn yet. */
static Status start_back(const LoopGrad *f, Tensor *const *g, Tensor **first) {
    int all = f->n + f->nedges;
    for (int i = 0; i < all; i++) {
        const TensorType *type = i < f->n ? &f->params[i]->type : &f->edges[i - f->n].type;
        if (i < f->n && g[i])
            first[i] = tensor_ref(g[i]);
        else
            TRY(tensor_fill(type, 0, &first[i]));
    }
    return tensor_fill(&(TensorType){.dtype = DT_bool}, 0, &first[all]);
}

/* Gradients of what the loop reads are there where there was a turn; those of what it starts from,
 * where that comes out again with a gradient, too. */
static Status hand_back(const LoopGrad *f, const GradFlow *flow, Tensor *const *out) {
    AUTO_TENSOR came = NULL;
    AUTO_TENSOR turned = NULL;
    TRY(gradient_any_present(flow->nout, flow->g, flow->g_present, &came));
    Tensor *last = out[f->n + f->nedges];
    if (came)
        TRY(dispatch2(OP_logical_and, NULL, came, last, &turned));
    else
        turned = tensor_ref(last);
    for (int i = 0; i < flow->nin; i++) {
        if (i < f->n && !f->params[i]->link) continue;
        flow->dx[i] = tensor_ref(out[i]);
        if (i < f->n && flow->g[i])
            TRY(gradient_present(flow->g_present[i], turned, &flow->dx_present[i]));
        else
            flow->dx_present[i] = tensor_ref(turned);
    }
    return OK;
}

static Status loop_flow(void *ctx, const GradFlow *flow) {
    const LoopGrad *f = ctx;
    Capture *c = capture_now;
    if (!c) return FAIL(RUNTIME, "the gradient of a captured loop is taken after its capture");
    if (capture_borrows(c))
        return FAIL(UNSUPPORTED, "the gradient of a loop belongs into the loop's own graph");
    if (tape_is_on())
        return FAIL(UNSUPPORTED, "gradients of the gradient of a loop on a tensor condition are "
                                 "not taken; a loop with a known number of turns can be");
    const RegionId *parts = graph_node(capture_graph(c), f->node)->regions;
    if (capture_has_custom(c, parts[0]) || capture_has_custom(c, parts[1]))
        return FAIL(UNSUPPORTED,
                    "the gradient of a loop on a tensor: a gradient of its own (bprop, "
                    "vjp, hook) inside of the loop is not taken");
    size_t all = (size_t)(f->n + f->nedges) + 1;
    Left left = {0};
    Graph *graph = capture_graph(c);
    Tensor **first = checked(calloc(2 * all, sizeof *first)), **out = first + all;
    Status status = list_left(graph, graph_node(graph, f->node), &left);
    int64_t stack = graph->nstacks;
    if (status == OK) status = start_back(f, flow->g, first);
    if (status == OK) {
        graph->nstacks++;
        push_turns(graph, f->node, &left, stack);
        status = run_back(c, f, &left, stack, first, out);
    }
    if (status == OK) status = hand_back(f, flow, out);
    for (size_t i = 0; i < 2 * all; i++) tensor_unref(first[i]);
    free(first);
    free(left.values);
    free(left.types);
    return status;
}

/* ---- recording */

Status capture_loop_record(Capture *c, NodeId id, const Loop *loop, Tensor *const *next,
                           Tensor **out) {
    int n = loop->n;
    if (!tape_is_on()) return OK;
    LoopGrad *f = checked(calloc(1, sizeof *f));
    *f = (LoopGrad){.node = id, .n = n, .since = capture_region_since(c, loop->condition)};
    f->params = checked(calloc((size_t)n + 1, sizeof *f->params));
    f->next = checked(calloc((size_t)n + 1, sizeof *f->next));
    for (int i = 0; i < n; i++) {
        f->params[i] = tensor_ref(loop->params[i]);
        f->next[i] = tensor_ref(next[i]);
    }
    f->edges = tape_edges(n, f->next, f->since, &f->nedges);
    if (!f->nedges && !tape_wants(n, loop->init)) {
        loop_grad_release(f);
        return OK;
    }
    size_t all = (size_t)(n + f->nedges);
    Tensor *fake = checked(calloc(all + 1, sizeof *fake));
    Tensor **in = checked(calloc(all + 1, sizeof *in));
    for (int i = 0; i < n; i++) in[i] = loop->init[i];
    for (int i = 0; i < f->nedges; i++) {
        fake[i] = tape_edge_handle(&f->edges[i]);
        in[n + i] = &fake[i];
    }
    CustomGrad custom = {.flow = loop_flow, .release = loop_grad_release, .ctx = f};
    Status status = tape_record_custom("while", custom, (int)all, in, n, out);
    free(fake);
    free(in);
    return status;
}
