/* The gradient of While: on the way forward each turn leaves what it started from on a stack; on
 * the way back a second loop takes the turns off the stack, captures the body again with the tape
 * on and walks it. What the gradient carries: the gradients of the carried values, one sum for each
 * value from outside that the body reads, and whether there was a turn: without one, those values
 * have no gradient (GradFlow).
 *
 * The second loop is a loop like the first, so it has a gradient, too, when it is recorded. What it
 * popped are variables of its turns; their gradients go onto a stack that the first loop's next
 * gradient pops and adds to its own, turn by turn: the first loop has run forward, the second
 * backward, the second's gradient forward, and so on. On the tape the two hang together by one more
 * result of the loop that pushes, its token, which the loop that pops has for an input. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eager/capture.h"
#include "eager/dispatch.h"
#include "eager/node.h"

/* A list of handles on values of a turn. */
typedef struct Handles {
    Tensor **t; /* owned */
    int n;
} Handles;

/* What the turns popped that those of another loop had pushed. */
typedef struct Taken {
    GradLink *from; /* that loop's node, owned */
    Handles mine, theirs;
} Taken;

/* Gradients of what the turns pushed, which another loop has put on a stack. */
typedef struct Came {
    int64_t stack;
    Handles of;
} Came;

typedef struct LoopGrad {
    NodeId node;
    int n, nedges, ntaken, ncame;
    Tensor **params; /* n handles: of which those with links are differentiated */
    TapeEdge *edges; /* links outside that the body reads */
    uint64_t since;
    Tensor **next; /* n */
    Taken *taken;
    Came *came;     /* since the last gradient */
    GradLink *link; /* its own node, which it belongs to */
} LoopGrad;

static void add_handle(Handles *h, Tensor *t) {
    h->t = checked(realloc(h->t, (size_t)(h->n + 1) * sizeof *h->t));
    h->t[h->n++] = tensor_ref(t);
}

static void drop_handles(Handles *h) {
    for (int i = 0; i < h->n; i++) tensor_unref(h->t[i]);
    free(h->t);
    *h = (Handles){0};
}

static void drop_came(LoopGrad *f) {
    for (int i = 0; i < f->ncame; i++) drop_handles(&f->came[i].of);
    free(f->came);
    f->came = NULL;
    f->ncame = 0;
}

static void loop_grad_release(void *ctx) {
    LoopGrad *f = ctx;
    for (int i = 0; i < f->n; i++) {
        tensor_unref(f->params[i]);
        tensor_unref(f->next[i]);
    }
    for (int i = 0; i < f->nedges; i++) link_unref(f->edges[i].link);
    for (int i = 0; i < f->ntaken; i++) {
        link_unref(f->taken[i].from);
        drop_handles(&f->taken[i].mine);
        drop_handles(&f->taken[i].theirs);
    }
    drop_came(f);
    free(f->taken);
    free(f->params);
    free(f->next);
    free(f->edges);
    free(f);
}

/* Inputs of its node: first values, edges, tokens of loops whose stacks it pops. */
static int count_inputs(const LoopGrad *f) { return f->n + f->nedges + f->ntaken; }

/* Stands for everything that a loop has pushed; nobody looks at its gradient. */
static const TensorType token_type = {.dtype = DT_f32};

/* ---- forward: what a turn leaves */

/* What each turn leaves: values of the loop, and handles that show them in its own regions. */
typedef struct Left {
    Value *of;
    Handles shown;
} Left;

static void add_left(Left *l, Value of, Tensor *take) {
    l->of = checked(realloc(l->of, (size_t)(l->shown.n + 1) * sizeof *l->of));
    l->of[l->shown.n] = of;
    add_handle(&l->shown, take);
    tensor_unref(take);
}

static void drop_left(Left *l) {
    drop_handles(&l->shown);
    free(l->of);
}

/* Random numbers and results of host calls are not made twice. */
static bool is_made_once(const Node *n) { return n->kind == N_DRAW || n->kind == N_HOST; }

/* The loop's own region that r stands in, inside of branches only; 0: none. */
static RegionId part_around(const Graph *g, const Node *loop, RegionId r) {
    while (r != loop->regions[0] && r != loop->regions[1]) {
        if (graph_node(g, g->regions[r].owner)->kind != N_IF) return 0;
        r = g->regions[r].parent;
    }
    return r;
}

/* What is made once inside of branches, which hand it out. */
static void add_hidden(Capture *c, NodeId loop, Left *left) {
    Graph *g = capture_graph(c);
    for (NodeId id = 1, end = g->nnodes; id < end; id++) {
        const Node *n = graph_node(g, id);
        RegionId part = is_made_once(n) ? part_around(g, graph_node(g, loop), n->region) : 0;
        for (int i = 0; part && part != n->region && i < n->nout; i++) {
            Value of = n->out[i];
            add_left(left, of, capture_symbol(c, graph_visible(g, of, part)));
            n = graph_node(g, id);
        }
    }
}

/* The carried values, draws, results of host calls and what was popped. What is drawn in loops
 * inside has no place on the stack. */
static void list_left(Capture *c, const LoopGrad *f, Left *left) {
    const Graph *g = capture_graph(c);
    const Node *loop = graph_node(g, f->node);
    for (int i = 0; i < f->n; i++) add_left(left, f->params[i]->symbol, tensor_ref(f->params[i]));
    for (int part = 0; part < 2; part++)
        for (NodeId id = g->regions[loop->regions[part]].first; id; id = graph_node(g, id)->after) {
            const Node *n = graph_node(g, id);
            for (int i = 0; i < n->nout && is_made_once(n); i++)
                add_left(left, n->out[i], capture_symbol(c, n->out[i]));
            for (int i = 0; i < n->nout && n->kind == N_POP; i++)
                add_left(left, n->out[i], tensor_ref(capture_kept(c, id)[i]));
        }
    add_hidden(c, f->node, left);
}

/* ---- backward: one turn */

typedef struct Back {
    Capture *c;
    LoopGrad *f;
    const GradFlow *flow;
    int64_t stack; /* of what the turns left */
    Left left;
} Back;

/* What a walk through a turn starts from and ends at. */
typedef struct Walk {
    Handles roots, seeds;
    TapeEdge *edges; /* carried values, edges, what was popped; links are borrowed */
    Tensor **dx;     /* of each */
    int n;
} Walk;

static void add_root(Walk *w, Tensor *root, Tensor *seed) {
    if (!root->link) return;
    add_handle(&w->roots, root);
    add_handle(&w->seeds, seed);
}

/* The turn's values, from the stack, into the mapping; what is differentiated is a leaf. */
static void pop_turn(const Back *b, Mapping *m) {
    Tensor **out = checked(calloc((size_t)b->left.shown.n + 1, sizeof *out));
    capture_pop(b->c, b->stack, out);
    for (int i = 0; i < b->left.shown.n; i++) m->values[b->left.of[i]] = out[i];
    free(out);
}

/* Gradients that came for what the turn had pushed. */
static void pop_came(const Back *b, const Came *came, const Mapping *m, Walk *w) {
    int n = came->of.n;
    Tensor **seeds = checked(calloc((size_t)n + 1, sizeof *seeds));
    capture_pop(b->c, came->stack, seeds);
    for (int i = 0; i < n; i++) {
        Tensor *root = capture_mapped(came->of.t[i], m);
        add_root(w, root, seeds[i]);
        tensor_unref(root);
        tensor_unref(seeds[i]);
    }
    free(seeds);
}

static void list_ends(const Back *b, const Mapping *m, Walk *w) {
    const LoopGrad *f = b->f;
    int all = f->n + f->nedges;
    for (int k = 0; k < f->ntaken; k++) all += f->taken[k].mine.n;
    w->edges = checked(calloc((size_t)all + 1, sizeof *w->edges));
    w->dx = checked(calloc((size_t)all + 1, sizeof *w->dx));
    for (int i = 0; i < f->n; i++) {
        const Tensor *leaf = m->values[f->params[i]->symbol];
        w->edges[w->n++] = (TapeEdge){leaf->link, 0, leaf->type};
    }
    for (int i = 0; i < f->nedges; i++) w->edges[w->n++] = f->edges[i];
    for (int k = 0; k < f->ntaken; k++) {
        bool wanted = b->flow->want[f->n + f->nedges + k];
        for (int i = 0; i < f->taken[k].mine.n; i++) {
            const Tensor *leaf = m->values[f->taken[k].mine.t[i]->symbol];
            w->edges[w->n++] = (TapeEdge){wanted ? leaf->link : NULL, 0, leaf->type};
        }
    }
}

static Status walk_turn(const Back *b, const Mapping *m, Tensor *const *g, uint64_t since,
                        Walk *w) {
    const LoopGrad *f = b->f;
    for (int i = 0; i < f->n; i++) {
        Tensor *next = capture_mapped(f->next[i], m);
        if (f->params[i]->link) add_root(w, next, g[i]);
        tensor_unref(next);
    }
    for (int k = 0; k < f->ncame; k++) pop_came(b, &f->came[k], m, w);
    list_ends(b, m, w);
    BackwardArgs a = {.nroots = w->roots.n, .roots = w->roots.t, .seeds = w->seeds.t, .keep = true};
    a.create_graph = tape_is_on();
    a.since = since;
    return tape_edges_backward(&a, w->n, w->edges, w->dx);
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

/* Gradients of what the turn popped, for the loop that had pushed it. */
static Status push_taken(const Back *b, const Taken *t, Tensor *const *dx) {
    if (t->from->emptied) return OK; /* its own walk will say so */
    Came came = {0};
    Handles pushed = {0};
    for (int i = 0; i < t->mine.n; i++) {
        if (!dx[i]) continue;
        add_handle(&pushed, dx[i]);
        add_handle(&came.of, t->theirs.t[i]);
    }
    if (!pushed.n) return OK;
    came.stack = capture_stack(b->c);
    Status status = capture_push(b->c, 0, came.stack, pushed.n, pushed.t);
    drop_handles(&pushed);
    LoopGrad *to = t->from->custom.ctx;
    to->came = checked(realloc(to->came, (size_t)(to->ncame + 1) * sizeof *to->came));
    to->came[to->ncame++] = came;
    return status;
}

static Status push_all_taken(const Back *b, const Walk *w) {
    const LoopGrad *f = b->f;
    Tensor *const *dx = w->dx + f->n + f->nedges;
    for (int k = 0; k < f->ntaken; k++) {
        TRY(push_taken(b, &f->taken[k], dx));
        dx += f->taken[k].mine.n;
    }
    return OK;
}

/* Gradients of the turn: g[n + nedges] becomes the next turn's, next[]. */
static Status turn_back(const Back *b, Tensor *const *g, Tensor **next) {
    const LoopGrad *f = b->f;
    const Node node = *graph_node(capture_graph(b->c), f->node);
    Mapping m = mapping_new(b->c);
    Walk w = {0};
    uint64_t since = tape_clock();
    pop_turn(b, &m);
    bool was = tape_set(true);
    Status status = capture_again(b->c, node.regions[0], &m);
    if (status == OK) status = capture_again(b->c, node.regions[1], &m);
    tape_set(was);
    if (status == OK) status = walk_turn(b, &m, g, since, &w);
    if (status == OK) status = push_all_taken(b, &w);
    if (status == OK) status = next_gradients(f, g, w.dx);
    for (int i = 0; i < w.n; i++) {
        if (i < f->n + f->nedges)
            next[i] = w.dx[i];
        else
            tensor_unref(w.dx[i]);
    }
    mapping_free(&m);
    drop_handles(&w.roots);
    drop_handles(&w.seeds);
    free(w.edges);
    free(w.dx);
    return status;
}

/* ---- backward: the loop */

/* out[n + nedges] are the gradients, then comes whether there was a turn. */
static Status run_back(const Back *b, Tensor *const *first, Tensor **out) {
    Capture *c = b->c;
    int all = b->f->n + b->f->nedges;
    Loop loop;
    Tensor **g = checked(calloc(2 * (size_t)all + 2, sizeof *g)), **dx = g + all + 1;
    Tensor *more = NULL;
    Status status = capture_loop(c, all + 1, first, &loop, g);
    if (status == OK) {
        capture_enter(c, loop.condition);
        capture_left(c, b->stack, &more);
        capture_leave(c);
        capture_enter(c, loop.body);
        status = turn_back(b, g, dx);
        if (status == OK) status = tensor_fill(&(TensorType){.dtype = DT_bool}, 1, &dx[all]);
        capture_leave(c);
        if (status == OK) status = capture_while(c, &loop, more, dx, out);
        loop_done(&loop);
    }
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
        if (i < f->n + f->nedges)
            flow->dx[i] = tensor_ref(out[i]);
        else if (flow->want[i])
            TRY(tensor_fill(&token_type, 0, &flow->dx[i]));
        if (i < f->n && flow->g[i])
            TRY(gradient_present(flow->g_present[i], turned, &flow->dx_present[i]));
        else
            flow->dx_present[i] = tensor_ref(turned);
    }
    return OK;
}

static Status check_flow(const LoopGrad *f) {
    Capture *c = capture_now;
    if (!c) return FAIL(RUNTIME, "the gradient of a captured loop is taken after its capture");
    if (capture_borrows(c))
        return FAIL(UNSUPPORTED, "the gradient of a loop belongs into the loop's own graph");
    const Node *node = graph_node(capture_graph(c), f->node);
    if (capture_has_custom(c, node->regions[0]) || capture_has_custom(c, node->regions[1]))
        return FAIL(UNSUPPORTED,
                    "the gradient of a loop on a tensor: a gradient of its own (bprop, "
                    "vjp, hook) inside of the loop is not taken");
    if (!capture_in_step(c, node->region))
        return FAIL(UNSUPPORTED, "the gradient of a loop on a tensor is taken in another loop, or "
                                 "in a branch inside of one, than the loop itself stands in");
    return OK;
}

static Status loop_flow(void *ctx, const GradFlow *flow) {
    LoopGrad *f = ctx;
    TRY(check_flow(f));
    size_t all = (size_t)(f->n + f->nedges) + 1;
    Tensor **first = checked(calloc(2 * all, sizeof *first)), **out = first + all;
    Back b = {.c = capture_now, .f = f, .flow = flow};
    RegionId body = graph_node(capture_graph(b.c), f->node)->regions[1];
    list_left(b.c, f, &b.left);
    Status status = start_back(f, flow->g, first);
    if (status == OK) {
        b.stack = capture_stack(b.c);
        status = capture_push(b.c, body, b.stack, b.left.shown.n, b.left.shown.t);
        capture_stack_note(b.c, b.stack)->link = link_ref(f->link);
    }
    if (status == OK) status = run_back(&b, first, out);
    if (status == OK) status = hand_back(f, flow, out);
    for (size_t i = 0; i < 2 * all; i++) tensor_unref(first[i]);
    free(first);
    drop_left(&b.left);
    drop_came(f);
    return status;
}

/* ---- recording */

static void add_taken(Capture *c, LoopGrad *f, NodeId pop) {
    const Node *n = graph_node(capture_graph(c), pop);
    const StackNote *note = capture_stack_note(c, n->count);
    if (!note->link) return;
    Taken t = {.from = link_ref(note->link)};
    for (int i = 0; i < n->nout; i++) {
        add_handle(&t.mine, capture_kept(c, pop)[i]);
        add_handle(&t.theirs, note->handles[i]);
    }
    f->taken = checked(realloc(f->taken, (size_t)(f->ntaken + 1) * sizeof *f->taken));
    f->taken[f->ntaken++] = t;
}

/* What its turns pop is an input of the loop; for what they push it answers. */
static void list_taken(Capture *c, LoopGrad *f) {
    const Graph *g = capture_graph(c);
    for (NodeId id = g->regions[graph_node(g, f->node)->regions[1]].first; id;) {
        if (graph_node(g, id)->kind == N_POP) add_taken(c, f, id);
        id = graph_node(g, id)->after;
    }
}

/* What the next values and what is pushed depend on. */
static void list_edges(Capture *c, LoopGrad *f) {
    const Graph *g = capture_graph(c);
    Handles roots = {0};
    for (int i = 0; i < f->n; i++) add_handle(&roots, f->next[i]);
    for (NodeId id = g->regions[graph_node(g, f->node)->regions[1]].first; id;) {
        const Node *n = graph_node(g, id);
        const StackNote *note = n->kind == N_PUSH ? capture_stack_note(c, n->count) : NULL;
        for (int i = 0; note && i < note->n; i++) add_handle(&roots, note->handles[i]);
        id = n->after;
    }
    f->edges = tape_edges(roots.n, roots.t, f->since, &f->nedges);
    drop_handles(&roots);
}

static void answer_for_pushed(Capture *c, const LoopGrad *f) {
    const Graph *g = capture_graph(c);
    for (NodeId id = g->regions[graph_node(g, f->node)->regions[1]].first; id;) {
        const Node *n = graph_node(g, id);
        StackNote *note = n->kind == N_PUSH ? capture_stack_note(c, n->count) : NULL;
        if (note && !note->link) note->link = link_ref(f->link);
        id = n->after;
    }
}

/* Hangs the node on the results. */
static Status record(LoopGrad *f, const Loop *loop, Tensor **results) {
    int n = f->n, all = count_inputs(f), at = n;
    Tensor *fake = checked(calloc((size_t)all + 1, sizeof *fake)), token = {.type = token_type};
    Tensor **in = checked(calloc((size_t)(all + n) + 1, sizeof *in)), **out = in + all;
    for (int i = 0; i < n; i++) in[i] = loop->init[i];
    for (int i = 0; i < f->nedges; i++) fake[at++] = tape_edge_handle(&f->edges[i]);
    for (int i = 0; i < f->ntaken; i++) {
        GradLink *from = f->taken[i].from;
        fake[at++] =
            (Tensor){.type = token_type, .link = from, .output = (uint16_t)(from->nout - 1)};
    }
    for (int i = n; i < all; i++) in[i] = &fake[i];
    for (int i = 0; i < n; i++) out[i] = results[i];
    out[n] = &token;
    CustomGrad custom = {.flow = loop_flow, .release = loop_grad_release, .ctx = f};
    Status status = tape_record_custom("while", custom, all, in, n + 1, out);
    f->link = token.link;
    free(fake);
    free(in);
    return status;
}

/* With the tape off only what a loop hands on, or starts from, keeps its link. */
static void drop_links(const Loop *loop, Tensor *const *next, Tensor **out) {
    for (int i = 0; i < loop->n; i++) {
        if (!out[i]->link || loop->init[i]->link || next[i]->link) continue;
        link_unref(out[i]->link);
        out[i]->link = NULL;
    }
}

Status capture_loop_record(Capture *c, NodeId id, const Loop *loop, Tensor *const *next,
                           Tensor **out) {
    int n = loop->n;
    LoopGrad *f = checked(calloc(1, sizeof *f));
    *f = (LoopGrad){.node = id, .n = n, .since = capture_region_since(c, loop->condition)};
    f->params = checked(calloc((size_t)n + 1, sizeof *f->params));
    f->next = checked(calloc((size_t)n + 1, sizeof *f->next));
    for (int i = 0; i < n; i++) {
        f->params[i] = tensor_ref(loop->params[i]);
        f->next[i] = tensor_ref(next[i]);
    }
    list_edges(c, f);
    list_taken(c, f);
    bool wants = f->nedges || f->ntaken;
    for (int i = 0; i < n; i++) wants |= loop->init[i]->link != NULL;
    if (!wants) {
        loop_grad_release(f);
        return OK;
    }
    TRY(record(f, loop, out));
    GradLink *link = f->link;
    answer_for_pushed(c, f);
    if (!tape_is_on()) drop_links(loop, next, out);
    link_unref(link);
    return OK;
}
