/* The gradient of If.
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
static Status record(Tensor *condition, Side then, Side other, uint64_t since, int n,
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

Status capture_if_record(Capture *c, Tensor *condition, Side then, Side other, int n,
                         Tensor **out) {
    bool wants = false; /* also with the tape off: a value that a side hands on keeps its link */
    for (int i = 0; i < n; i++) wants |= then.values[i]->link || other.values[i]->link;
    uint64_t since = min_i64((int64_t)capture_region_since(c, then.region),
                             (int64_t)capture_region_since(c, other.region));
    return wants ? record(condition, then, other, since, n, out) : OK;
}
