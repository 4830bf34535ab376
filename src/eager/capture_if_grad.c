/* The gradient of If.
 *
 * The sides of an If were captured with the tape on, so their nodes hang on it. The If gets one
 * tape node of its own, whose edges are the links that lead out of the sides; its gradient is an If
 * whose sides walk that part of the tape. Values that this reads from inside the sides are handed
 * out as further results (graph_visible), so nothing is computed twice. An edge that one side does
 * not read has no gradient where that side is taken: the condition goes along with it (GradFlow).
 *
 * When the gradient is recorded (second order), it reads links of the sides that it has walked.
 * Where the other side is taken those have no values, so their gradients must not leave the sides:
 * they are kept for the first If, whose next gradient adds them where it walks its sides again. On
 * the tape the two hang together by one more result of the first, its token. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eager/capture.h"
#include "eager/dispatch.h"
#include "eager/node.h"

typedef struct Inner {
    TapeEdge edge;
    int side, owner;
} Inner;

/* A gradient for a link inside of a side. */
typedef struct Came {
    TapeEdge edge;
    int side;
    Tensor *g, *present;
} Came;

typedef struct IfGrad {
    Tensor *condition;
    int n;
    Tensor **then, **other; /* n each, with their links */
    TapeEdge *edges;        /* out of both sides */
    int nedges, ninner, nowners, ncame;
    Inner *inner;      /* out of one side into the same side of an older If */
    GradLink **owners; /* the nodes of those Ifs, which are inputs behind the edges */
    Came *came;        /* since the last gradient */
    uint64_t since;    /* links older than this stand outside */
    GradLink *link;    /* its own node, which it belongs to */
} IfGrad;

/* Stands for everything inside of the sides; nobody looks at its gradient. */
static const TensorType token_type = {.dtype = DT_f32};

static void drop_came(IfGrad *f) {
    for (int i = 0; i < f->ncame; i++) {
        link_unref(f->came[i].edge.link);
        tensor_unref(f->came[i].g);
        tensor_unref(f->came[i].present);
    }
    free(f->came);
    f->came = NULL;
    f->ncame = 0;
}

static void if_grad_release(void *ctx) {
    IfGrad *f = ctx;
    tensor_unref(f->condition);
    for (int i = 0; i < 2 * f->n; i++) tensor_unref(f->then[i]);
    for (int i = 0; i < f->nedges; i++) link_unref(f->edges[i].link);
    for (int i = 0; i < f->ninner; i++) link_unref(f->inner[i].edge.link);
    drop_came(f);
    free(f->inner);
    free(f->owners);
    free(f->then);
    free(f->edges);
    free(f);
}

/* One side of the gradient: of the edges and the inner edges the gradients, NULL where there is
 * none, and whether they are there. */
typedef struct SideGrad {
    RegionId region;
    Tensor **dx, **present;
} SideGrad;

/* The edges that a side is walked to: whose gradients somebody will look at. */
static TapeEdge *wanted_edges(const IfGrad *f, int side, const bool *want) {
    TapeEdge *edges = checked(calloc((size_t)(f->nedges + f->ninner) + 1, sizeof *edges));
    for (int i = 0; i < f->nedges; i++)
        if (want[i]) edges[i] = f->edges[i];
    for (int i = 0; i < f->ninner; i++)
        if (f->inner[i].side == side && want[f->nedges + f->inner[i].owner])
            edges[f->nedges + i] = f->inner[i].edge;
    return edges;
}

/* What the walk through a side starts from. */
typedef struct Roots {
    int n;
    Tensor **roots, **seeds, **present;
    Tensor *fake; /* handles on inner links */
} Roots;

static void add_root(Roots *r, Tensor *root, Tensor *seed, Tensor *present) {
    r->roots[r->n] = root;
    r->seeds[r->n] = seed;
    r->present[r->n++] = present;
}

static Roots side_roots(const IfGrad *f, int side, const GradFlow *flow) {
    size_t most = (size_t)(f->n + f->ncame);
    Roots r = {.roots = checked(calloc(3 * most + 1, sizeof *r.roots))};
    r.seeds = r.roots + most;
    r.present = r.seeds + most;
    r.fake = checked(calloc((size_t)f->ncame + 1, sizeof *r.fake));
    Tensor *const *results = side ? f->other : f->then;
    for (int i = 0; i < f->n; i++)
        if (flow->g[i] && results[i]->link)
            add_root(&r, results[i], flow->g[i], flow->g_present[i]);
    for (int i = 0; i < f->ncame; i++) {
        const Came *came = &f->came[i];
        if (came->side != side) continue;
        r.fake[i] = tape_edge_handle(&came->edge);
        add_root(&r, &r.fake[i], came->g, came->present);
    }
    return r;
}

/* Gradients of one side's results for the edges, captured into a region of its own. */
static Status walk_side(const IfGrad *f, int side, const GradFlow *flow, SideGrad *to) {
    Roots r = side_roots(f, side, flow);
    TapeEdge *edges = wanted_edges(f, side, flow->want);
    BackwardArgs a = {.nroots = r.n, .roots = r.roots, .seeds = r.seeds, .keep = true};
    a.create_graph = tape_is_on();
    a.since = f->since;
    a.seeds_present = r.present;
    a.present = to->present;
    to->region = capture_region(capture_now, 0);
    capture_enter(capture_now, to->region);
    Status status = tape_edges_backward(&a, f->nedges + f->ninner, edges, to->dx);
    capture_leave(capture_now);
    free(edges);
    free(r.roots);
    free(r.fake);
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
    int *of;                /* the edge, inner ones behind; as many further: its flag */
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
        hand(h, f->nedges + f->ninner + i, then, other);
    else
        tensor_unref(then);
    return status;
}

/* What one side has for an inner edge; on the other side nobody will look at it. */
static void hand_inner(const SideGrad *sides, int side, int of, Tensor *t, Handed *h) {
    Tensor *nothing;
    capture_enter(capture_now, sides[!side].region);
    capture_node(capture_now, N_UNDEF, 0, NULL, 1, &t->type, &nothing);
    capture_leave(capture_now);
    Tensor *mine = tensor_ref(t);
    hand(h, of, side ? nothing : mine, side ? mine : nothing);
}

/* Both sides as one: dx and present of all edges, inner ones too. */
static Status join_sides(const IfGrad *f, const SideGrad *sides, Tensor **dx, Tensor **present) {
    const SideGrad *a = &sides[0], *b = &sides[1];
    int all = f->nedges + f->ninner;
    size_t most = 2 * (size_t)all + 1;
    Handed h = {.then = checked(calloc(2 * most, sizeof *h.then))};
    h.other = h.then + most;
    h.of = checked(calloc(most, sizeof *h.of));
    Tensor **out = checked(calloc(most, sizeof *out));
    Status status = OK;
    for (int i = 0; i < f->nedges && status == OK; i++) {
        if (!a->dx[i] && !b->dx[i]) continue;
        status = hand_gradient(f, a, b, i, &h);
        if (status == OK) status = hand_flag(f, a, b, i, &h, &present[i]);
    }
    for (int i = f->nedges; i < all; i++) {
        int side = f->inner[i - f->nedges].side;
        if (!sides[side].dx[i]) continue;
        hand_inner(sides, side, i, sides[side].dx[i], &h);
        if (sides[side].present[i]) hand_inner(sides, side, all + i, sides[side].present[i], &h);
    }
    Side then = {a->region, h.then}, other = {b->region, h.other};
    if (status == OK) status = capture_if(capture_now, f->condition, then, other, h.n, out);
    for (int i = 0; i < h.n; i++) {
        int edge = h.of[i] % all;
        if (status == OK) *(h.of[i] == edge ? &dx[edge] : &present[edge]) = out[i];
        tensor_unref(h.then[i]);
        tensor_unref(h.other[i]);
    }
    tensor_unref(h.opposite);
    free(h.then);
    free(h.of);
    free(out);
    return status;
}

/* Gradients inside of the sides, for the Ifs that those belong to. */
static Status give_inner(const IfGrad *f, Tensor *const *dx, Tensor *const *present,
                         const GradFlow *flow) {
    for (int i = 0; i < f->ninner; i++) {
        const Inner *inner = &f->inner[i];
        GradLink *owner = f->owners[inner->owner];
        if (!dx[i] || owner->emptied) continue; /* the owner's walk will say so */
        Came came = {inner->edge, inner->side, tensor_ref(dx[i]), NULL};
        link_ref(came.edge.link);
        came.present = present[i] ? tensor_ref(present[i]) : NULL;
        IfGrad *to = owner->custom.ctx;
        to->came = checked(realloc(to->came, (size_t)(to->ncame + 1) * sizeof *to->came));
        to->came[to->ncame++] = came;
        Tensor **token = &flow->dx[f->nedges + inner->owner];
        if (!*token) TRY(tensor_fill(&token_type, 0, token));
    }
    return OK;
}

static Status if_flow(void *ctx, const GradFlow *flow) {
    IfGrad *f = ctx;
    if (!capture_now)
        return FAIL(RUNTIME, "the gradient of a captured branch is taken after its capture");
    size_t n = (size_t)(f->nedges + f->ninner);
    Tensor **all = checked(calloc(6 * n + 1, sizeof *all)), **dx = all, **present = all + n;
    SideGrad sides[2] = {{0, all + 2 * n, all + 3 * n}, {0, all + 4 * n, all + 5 * n}};
    Status status = walk_side(f, 0, flow, &sides[0]);
    if (status == OK) status = walk_side(f, 1, flow, &sides[1]);
    if (status == OK) status = join_sides(f, sides, dx, present);
    if (status == OK) status = give_inner(f, dx + f->nedges, present + f->nedges, flow);
    for (int i = 0; i < f->nedges && status == OK; i++) {
        flow->dx[i] = dx[i] ? tensor_ref(dx[i]) : NULL;
        flow->dx_present[i] = present[i] ? tensor_ref(present[i]) : NULL;
    }
    for (size_t i = 0; i < 6 * n; i++) tensor_unref(all[i]);
    free(all);
    drop_came(f);
    return status;
}

/* ---- recording */

static int owner_place(IfGrad *f, GradLink *owner) {
    for (int i = 0; i < f->nowners; i++)
        if (f->owners[i] == owner) return i;
    f->owners = checked(realloc(f->owners, (size_t)(f->nowners + 1) * sizeof *f->owners));
    f->owners[f->nowners] = owner;
    return f->nowners++;
}

/* Edges into the sides of older Ifs over the same condition become inner ones: a gradient over
 * another condition that reads such a link stands in one over this condition, too. */
static void set_inner_apart(const Capture *c, IfGrad *f) {
    int kept = 0, nside;
    for (int i = 0; i < f->nedges; i++) {
        if (capture_if_around(c, f->condition, f->edges[i].link->order))
            link_unref(f->edges[i].link);
        else
            f->edges[kept++] = f->edges[i];
    }
    if (kept == f->nedges) return;
    f->nedges = kept;
    for (int side = 0; side < 2; side++) {
        TapeEdge *edges = tape_edges(f->n, side ? f->other : f->then, f->since, &nside);
        f->inner = checked(realloc(f->inner, (size_t)(f->ninner + nside + 1) * sizeof *f->inner));
        for (int i = 0; i < nside; i++) {
            GradLink *owner = capture_if_around(c, f->condition, edges[i].link->order);
            if (owner)
                f->inner[f->ninner++] = (Inner){edges[i], side, owner_place(f, owner)};
            else
                link_unref(edges[i].link);
        }
        free(edges);
    }
}

/* Hangs the If's own node on its results. */
static Status record(Capture *c, IfGrad *f, Tensor **results) {
    int nin = f->nedges + f->nowners, n = f->n;
    Tensor *fake = checked(calloc((size_t)nin + 1, sizeof *fake)), token = {.type = token_type};
    Tensor **in = checked(calloc((size_t)(nin + n) + 1, sizeof *in)), **out = in + nin;
    for (int i = 0; i < nin; i++) in[i] = &fake[i];
    for (int i = 0; i < f->nedges; i++) fake[i] = tape_edge_handle(&f->edges[i]);
    for (int i = 0; i < f->nowners; i++) {
        TapeEdge edge = {f->owners[i], f->owners[i]->nout - 1, token_type};
        fake[f->nedges + i] = tape_edge_handle(&edge);
    }
    for (int i = 0; i < n; i++) out[i] = results[i];
    out[n] = &token;
    CustomGrad custom = {.flow = if_flow, .release = if_grad_release, .ctx = f};
    Status status = tape_record_custom("if", custom, nin, in, n + 1, out);
    f->link = token.link;
    capture_note_if(c, f->condition, f->since, f->link->order, f->link);
    link_unref(token.link);
    free(fake);
    free(in);
    return status;
}

Status capture_if_record(Capture *c, Tensor *condition, Side then, Side other, int n,
                         Tensor **out) {
    bool wants = false; /* also with the tape off: a value that a side hands on keeps its link */
    for (int i = 0; i < n; i++) wants |= then.values[i]->link || other.values[i]->link;
    if (!wants) return OK;
    IfGrad *f = checked(calloc(1, sizeof *f));
    *f = (IfGrad){.condition = tensor_ref(condition), .n = n};
    f->since = (uint64_t)min_i64((int64_t)capture_region_since(c, then.region),
                                 (int64_t)capture_region_since(c, other.region));
    f->then = checked(calloc(2 * (size_t)n + 1, sizeof *f->then));
    f->other = f->then + n;
    for (int i = 0; i < n; i++) {
        f->then[i] = tensor_ref(then.values[i]);
        f->other[i] = tensor_ref(other.values[i]);
    }
    f->edges = tape_edges(2 * n, f->then, f->since, &f->nedges);
    set_inner_apart(c, f);
    if (f->nedges + f->nowners) return record(c, f, out);
    if_grad_release(f);
    return OK;
}
