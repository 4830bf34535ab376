/* Walking the tape back: from roots to leaves, latest call first. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eager/builder.h"
#include "eager/dispatch.h"
#include "eager/node.h"
#include "tensor/pool.h"

typedef struct Visit {
    GradLink *link;
    Tensor **g;  /* nout gradients so far, NULL where none came; then as many bools (GradFlow) */
    bool needed; /* a wanted leaf lies behind it */
    bool is_end; /* the walk does not go on behind it */
} Visit;

/* The nodes reachable from the roots: an array, and a hash table from link to position. */
typedef struct Reach {
    Visit *visits;
    int n, capacity;
    int *slots; /* 1 + position, 0 free; size is a power of two */
    int nslots;
} Reach;

static size_t slot_of(const Reach *r, const GradLink *l) {
    size_t h = (uintptr_t)l * 0x9e3779b97f4a7c15u >> 20;
    size_t i = h & (size_t)(r->nslots - 1);
    while (r->slots[i] && r->visits[r->slots[i] - 1].link != l)
        i = (i + 1) & (size_t)(r->nslots - 1);
    return i;
}

static Visit *find(const Reach *r, const GradLink *l) {
    int at = r->nslots ? r->slots[slot_of(r, l)] : 0;
    return at ? &r->visits[at - 1] : NULL;
}

static void rehash(Reach *r, int nslots) {
    free(r->slots);
    r->nslots = nslots;
    r->slots = checked(calloc((size_t)nslots, sizeof *r->slots));
    for (int i = 0; i < r->n; i++) r->slots[slot_of(r, r->visits[i].link)] = i + 1;
}

static bool add(Reach *r, GradLink *l) {
    if (find(r, l)) return false;
    if (r->n == r->capacity) {
        r->capacity = r->capacity ? r->capacity * 2 : 64;
        r->visits = checked(realloc(r->visits, (size_t)r->capacity * sizeof *r->visits));
    }
    r->visits[r->n++] = (Visit){.link = l};
    if (r->n * 2 > r->nslots)
        rehash(r, r->nslots ? r->nslots * 4 : 256);
    else
        r->slots[slot_of(r, l)] = r->n;
    return true;
}

/* visits doubles as the queue of nodes whose inputs are still to be seen. */
static void reach_from(Reach *r, int n, Tensor *const *roots, uint64_t since) {
    for (int i = 0; i < n; i++)
        if (roots[i]->link) add(r, roots[i]->link);
    for (int at = 0; at < r->n; at++) {
        GradLink *l = r->visits[at].link;
        for (int i = 0; i < l->nin && l->order >= since; i++)
            if (l->edges[i].link) add(r, l->edges[i].link);
    }
}

static int latest_first(const void *a, const void *b) {
    uint64_t x = ((const Visit *)a)->link->order, y = ((const Visit *)b)->link->order;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void reach_done(Reach *r) {
    for (int i = 0; i < r->n; i++) {
        for (int k = 0; r->visits[i].g && k < 2 * r->visits[i].link->nout; k++)
            tensor_unref(r->visits[i].g[k]);
        free(r->visits[i].g);
        link_unref(r->visits[i].link);
    }
    free(r->visits);
    free(r->slots);
}

/* Sorted by order, and with what lies on a way to a wanted leaf marked. */
static void reach_prepare(Reach *r, const BackwardArgs *a) {
    for (int i = 0; i < r->n; i++) link_ref(r->visits[i].link);
    qsort(r->visits, (size_t)r->n, sizeof *r->visits, latest_first);
    if (r->nslots) rehash(r, r->nslots);
    for (int i = 0; i < a->nleaves; i++) {
        Visit *v = find(r, a->leaves[i]);
        if (v) v->needed = true;
        if (v) v->is_end = a->ends_at_leaves;
    }
    for (int i = r->n - 1; i >= 0; i--) {
        GradLink *l = r->visits[i].link;
        for (int k = 0; k < l->nin && !r->visits[i].needed && l->order >= a->since; k++)
            if (l->edges[k].link) r->visits[i].needed = find(r, l->edges[k].link)->needed;
    }
}

/* ---- gradients on the way */

Status gradient_present(Tensor *a, Tensor *b, Tensor **out) {
    *out = NULL;
    if (!a || !b) return OK;
    if (a->symbol == b->symbol) {
        *out = tensor_ref(a);
        return OK;
    }
    return dispatch2(OP_logical_or, NULL, a, b, out);
}

/* Adds g, which is there where `present` says, to what came so far (both are borrowed). */
static Status accumulate(Visit *v, int output, Tensor *g, Tensor *present) {
    if (!v->g) v->g = checked(calloc(2 * (size_t)v->link->nout, sizeof *v->g));
    Tensor *old = v->g[output], **flag = &v->g[v->link->nout + output];
    if (!old) {
        v->g[output] = tensor_ref(g);
        *flag = present ? tensor_ref(present) : NULL;
        return OK;
    }
    Tensor *sum, *either;
    TRY(gradient_present(*flag, present, &either));
    tensor_unref(*flag);
    *flag = either;
    TRY(dispatch2(OP_add, NULL, old, g, &sum));
    tensor_unref(old);
    v->g[output] = sum;
    return OK;
}

Status gradient_any_present(int n, Tensor *const *g, Tensor *const *present, Tensor **out) {
    bool is_first = true;
    *out = NULL;
    for (int i = 0; i < n; i++) {
        if (!g[i]) continue;
        Tensor *either = is_first && present[i] ? tensor_ref(present[i]) : NULL;
        if (!is_first) TRY(gradient_present(*out, present[i], &either));
        tensor_unref(*out);
        *out = either;
        is_first = false;
    }
    return OK;
}

/* Gives the gradient g of input i of a call to where that input came from. Integers have gradients
 * of their own dtype. */
static Status pass_back(const Reach *r, const GradLink *l, int i, Tensor *g, Tensor *present) {
    Visit *v = l->edges[i].link ? find(r, l->edges[i].link) : NULL;
    if (!v || !v->needed) return OK;
    DType d = l->types[i].dtype;
    int output = l->edges[i].output;
    if (g->type.dtype == d || !dtype_is_integer(d)) return accumulate(v, output, g, present);
    AUTO_TENSOR own = NULL;
    TRY(dispatch1(OP_cast, &(attrs_cast){.dtype = d}, g, &own));
    return accumulate(v, output, own, present);
}

static Status run_hooks(Visit *v) {
    for (HookEntry *h = v->link->hooks, *next; h; h = next) {
        next = h->next;
        Tensor *g = v->g ? v->g[h->output] : NULL, *changed = NULL;
        if (!g) continue;
        TRY(h->hook.call(h->hook.ctx, g, &changed));
        if (!changed) continue;
        tensor_unref(g);
        v->g[h->output] = changed;
    }
    return OK;
}

/* The gradient of one elementwise input: the hidden op, then back to the input's shape and dtype.
 */
static Ref ewise_gradient(const GradCtx *c, int k) {
    if (!ewise_has_grad(c->op, k)) return 0;
    uint32_t needs = ewise_needs(c->op, k);
    Ref in[5] = {c->g[0], 0, 0, 0, 0};
    for (int i = 0; i < c->nin; i++)
        if (needs >> i & 1) in[1 + i] = c->x[i];
    if (needs & 8) in[4] = c->r[0];
    const Op *op = ewise_grad_op(c->op, k);
    Ref d = 0;
    if (dtype_is_float(b_type(c->b, in[0])->dtype))
        d = b_call(c->b, op->id, NULL, 5, in);
    else /* the kernels of slopes are for floats */
        op->expand(&(ExpandCtx){c->b, op, NULL, 5, 1, in, &d});
    const TensorType *t = c->xtypes[k];
    return b_cast(c->b, b_sum_to(c->b, d, t->rank, t->dims), t->dtype);
}

/* Results were kept without their link; a recorded gradient computation needs it back. */
static Ref saved_result(EagerBuilder *e, GradLink *l, int i, bool create_graph) {
    Tensor *t = l->saved[l->nin + i];
    if (!t || !create_graph) return eager_put(e, t);
    AUTO_TENSOR linked = tape_attach(t, l);
    linked->output = (uint16_t)i;
    return eager_put(e, linked);
}

enum { FEW_PORTS = 24 };
/* The arrays of a GradCtx: on the stack for usual calls, on the heap for wide ones. */
typedef struct Ports {
    Ref refs[4 * FEW_PORTS];
    const TensorType *types[2 * FEW_PORTS];
    bool want[FEW_PORTS];
    void *heap;
    size_t heap_size;
} Ports;

static void ports_init(Ports *p, const GradLink *l, GradCtx *c, Ref **refs,
                       const TensorType ***types, bool **want) {
    size_t n = (size_t)max_i64(l->nin, l->nout);
    *refs = p->refs;
    *types = p->types;
    *want = p->want;
    p->heap = NULL;
    if (n > FEW_PORTS) {
        p->heap_size = n * (4 * sizeof(Ref) + 2 * sizeof(void *) + sizeof(bool));
        p->heap = pool_small(p->heap_size);
        *types = p->heap;
        *refs = (Ref *)(*types + 2 * n);
        *want = (bool *)(*refs + 4 * n);
    }
    memset(*refs, 0, 4 * n * sizeof **refs);
    c->x = *refs, c->r = *refs + n, c->g = *refs + 2 * n, c->dx = *refs + 3 * n;
    c->xtypes = *types, c->rtypes = *types + n;
    c->want = *want;
}

static Status take_gradients(Reach *r, Visit *v, EagerBuilder *e, const Ref *dx) {
    GradLink *l = v->link;
    AUTO_TENSOR present = NULL;
    TRY(gradient_any_present(l->nout, v->g, v->g + l->nout, &present));
    for (int i = 0; i < l->nin; i++)
        if (dx[i]) TRY(pass_back(r, l, i, eager_peek(e, dx[i]), present));
    return OK;
}

static Status walk_op(Reach *r, Visit *v, bool create_graph) {
    GradLink *l = v->link;
    EagerBuilder e;
    Ports ports;
    GradCtx c = {.b = &e.base, .op = l->op, .attrs = l->attrs, .nin = l->nin, .nout = l->nout};
    Ref *refs;
    const TensorType **types;
    bool *want;
    ports_init(&ports, l, &c, &refs, &types, &want);
    eager_builder_init(&e);
    size_t n = (size_t)(c.r - c.x);
    for (int i = 0; i < l->nin; i++) {
        refs[i] = eager_put(&e, l->saved[i]);
        types[i] = &l->types[i];
        want[i] = l->edges[i].link && find(r, l->edges[i].link)->needed;
    }
    for (int i = 0; i < l->nout; i++) {
        refs[n + (size_t)i] = saved_result(&e, l, i, create_graph);
        refs[2 * n + (size_t)i] = eager_put(&e, v->g[i]);
        types[n + (size_t)i] = &l->types[l->nin + i];
    }
    if (l->op->kind == K_EWISE) {
        for (int k = 0; k < l->nin; k++)
            if (want[k]) c.dx[k] = ewise_gradient(&c, k);
    } else {
        l->op->grad(&c);
    }
    Status status = e.base.status;
    if (status == OK) status = take_gradients(r, v, &e, c.dx);
    if (status != OK) error_prefix("gradient of %s: ", l->name);
    eager_builder_done(&e);
    if (ports.heap) pool_small_free(ports.heap, ports.heap_size);
    return status;
}

static Status walk_custom(Reach *r, Visit *v) {
    GradLink *l = v->link;
    Tensor **dx = checked(calloc(2 * (size_t)l->nin + 1, sizeof *dx)), **present = dx + l->nin;
    bool *want = checked(calloc((size_t)l->nin + 1, sizeof *want));
    for (int i = 0; i < l->nin; i++)
        want[i] = l->edges[i].link && find(r, l->edges[i].link)->needed;
    GradFlow f = {l->nout, l->nin, v->g, v->g + l->nout, dx, present, want};
    AUTO_TENSOR any = NULL;
    Status status;
    if (l->custom.flow) {
        status = l->custom.flow(l->custom.ctx, &f);
    } else {
        status = gradient_any_present(l->nout, v->g, f.g_present, &any);
        if (status == OK) status = l->custom.backward(l->custom.ctx, l->nout, v->g, l->nin, dx);
    }
    for (int i = 0; i < l->nin; i++) {
        if (status == OK && dx[i])
            status = pass_back(r, l, i, dx[i], l->custom.flow ? present[i] : any);
        tensor_unref(dx[i]);
        tensor_unref(present[i]);
    }
    free(want);
    free(dx);
    return status;
}

static Status walk_node(Reach *r, Visit *v, const BackwardArgs *a) {
    GradLink *l = v->link;
    if (!v->g || !v->needed) return OK;
    TRY(run_hooks(v));
    if (l->is_leaf || v->is_end || l->order < a->since) return OK;
    if (l->emptied)
        return FAIL(RUNTIME,
                    "the gradient of this result was taken before and its tape is empty (at %s); "
                    "pass retain_graph=True the first time",
                    l->name);
    TRY(l->op ? walk_op(r, v, a->create_graph) : walk_custom(r, v));
    for (int i = 0; i < 2 * l->nout; i++) {
        tensor_unref(v->g[i]);
        v->g[i] = NULL;
    }
    if (a->keep || a->create_graph) return OK;
    for (int i = 0; i < l->nin + l->nout; i++) {
        tensor_unref(l->saved[i]);
        l->saved[i] = NULL;
    }
    if (l->custom.release) l->custom.release(l->custom.ctx);
    l->custom.release = NULL;
    l->emptied = true;
    return OK;
}

static Status put_seeds(Reach *r, const BackwardArgs *a) {
    for (int i = 0; i < a->nroots; i++) {
        Tensor *root = a->roots[i];
        if (!root->link) continue;
        AUTO_TENSOR seed = a->seeds && a->seeds[i] ? tensor_ref(a->seeds[i]) : NULL;
        if (!seed) TRY(tensor_fill(&root->type, 1, &seed));
        if (!type_equal(&seed->type, &root->type)) {
            char want[200], got[200];
            return FAIL(VALUE, "gradient seed %d is %s; it must be %s like the result", i,
                        type_text(&seed->type, got, sizeof got),
                        type_text(&root->type, want, sizeof want));
        }
        Tensor *present = a->seeds_present ? a->seeds_present[i] : NULL;
        TRY(accumulate(find(r, root->link), root->output, seed, present));
    }
    return OK;
}

static Status walk(Reach *r, const BackwardArgs *a) {
    TRY(put_seeds(r, a));
    for (int i = 0; i < r->n; i++) TRY(walk_node(r, &r->visits[i], a));
    return OK;
}

/* Walks, then takes the gradients of result outputs[i] (NULL: 0) of leaf i. */
static Status backward(const BackwardArgs *a, const int *outputs, Tensor **grads) {
    Reach r = {0};
    reach_from(&r, a->nroots, a->roots, a->since);
    reach_prepare(&r, a);
    bool was = tape_set(a->create_graph);
    Status status = walk(&r, a);
    tape_set(was);
    for (int i = 0; i < a->nleaves && status == OK; i++) {
        Visit *v = find(&r, a->leaves[i]);
        int output = outputs ? outputs[i] : 0;
        Tensor *g = v && v->g ? v->g[output] : NULL;
        grads[i] = g ? tensor_ref(g) : NULL;
        Tensor *flag = g ? v->g[v->link->nout + output] : NULL;
        if (a->present) a->present[i] = flag ? tensor_ref(flag) : NULL;
    }
    reach_done(&r);
    return status;
}

Status tape_backward(const BackwardArgs *a, Tensor **grads) { return backward(a, NULL, grads); }

Status tape_edges_backward(const BackwardArgs *given, int n, const TapeEdge *edges,
                           Tensor **grads) {
    BackwardArgs a = *given;
    GradLink **leaves = checked(calloc((size_t)n + 1, sizeof *leaves));
    int *outputs = checked(calloc((size_t)n + 1, sizeof *outputs));
    for (int i = 0; i < n; i++) {
        leaves[i] = edges[i].link;
        outputs[i] = edges[i].output;
    }
    a.nleaves = n;
    a.leaves = leaves;
    Status status = backward(&a, outputs, grads);
    free(leaves);
    free(outputs);
    return status;
}

typedef struct EdgeList {
    TapeEdge *edges;
    int n, capacity;
} EdgeList;

static void add_edge(EdgeList *list, GradLink *link, int output, const TensorType *type) {
    for (int i = 0; i < list->n; i++)
        if (list->edges[i].link == link && list->edges[i].output == output) return;
    if (list->n == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 16;
        list->edges = checked(realloc(list->edges, (size_t)list->capacity * sizeof *list->edges));
    }
    list->edges[list->n++] = (TapeEdge){link_ref(link), output, *type};
}

TapeEdge *tape_edges(int nroots, Tensor *const *roots, uint64_t since, int *n) {
    Reach r = {0};
    EdgeList list = {0};
    reach_from(&r, nroots, roots, since);
    for (int i = 0; i < nroots; i++)
        if (roots[i]->link && roots[i]->link->order < since)
            add_edge(&list, roots[i]->link, roots[i]->output, &roots[i]->type);
    for (int at = 0; at < r.n; at++) {
        GradLink *l = r.visits[at].link;
        for (int k = 0; k < l->nin && l->order >= since; k++) {
            GradLink *to = l->edges[k].link;
            if (to && to->order < since) add_edge(&list, to, l->edges[k].output, &l->types[k]);
        }
    }
    free(r.visits);
    free(r.slots);
    *n = list.n;
    return list.edges;
}

GradLink **tape_leaves(Tensor *root, int *n) {
    Reach r = {0};
    reach_from(&r, 1, &root, 0);
    qsort(r.visits, (size_t)r.n, sizeof *r.visits, latest_first);
    GradLink **leaves = checked(calloc((size_t)r.n + 1, sizeof *leaves));
    *n = 0;
    for (int i = r.n - 1; i >= 0; i--)
        if (r.visits[i].link->is_leaf) leaves[(*n)++] = r.visits[i].link;
    free(r.visits);
    free(r.slots);
    return leaves;
}

bool tape_is_whole(Tensor *root) {
    Reach r = {0};
    reach_from(&r, 1, &root, 0);
    bool is_whole = true;
    for (int i = 0; i < r.n && is_whole; i++) is_whole = !r.visits[i].link->emptied;
    free(r.visits);
    free(r.slots);
    return is_whole;
}
