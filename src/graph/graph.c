/* Building graphs: arrays that grow, an arena for what hangs on nodes. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { BLOCK_BYTES = 16384 };

typedef struct GraphBlock {
    struct GraphBlock *next;
    size_t used, nbytes;
    _Alignas(16) char data[];
} GraphBlock;

void *graph_alloc(Graph *g, size_t nbytes) {
    nbytes = (nbytes + 15) & ~(size_t)15;
    GraphBlock *b = g->blocks;
    if (!b || b->nbytes - b->used < nbytes) {
        size_t room = nbytes > BLOCK_BYTES ? nbytes : BLOCK_BYTES;
        b = checked(malloc(sizeof *b + room));
        *b = (GraphBlock){.next = g->blocks, .nbytes = room};
        g->blocks = b;
    }
    void *p = b->data + b->used;
    b->used += nbytes;
    return memset(p, 0, nbytes);
}

/* Room for one more in the graph's array `name`. */
#define GROW(g, name) array_grow(&(g)->name, (g)->n##name, &(g)->cap_##name, 32, sizeof *(g)->name)

Graph *graph_new(void) {
    Graph *g = checked(calloc(1, sizeof *g));
    g->refs = 1;
    GROW(g, nodes);
    GROW(g, values);
    GROW(g, regions);
    GROW(g, lines);
    g->nnodes = g->nvalues = g->nregions = g->nlines = 1; /* 0 is none */
    g->nodes[0] = (Node){0};
    g->values[0] = (ValueInfo){.type = {.dtype = DT_f32}};
    g->regions[0] = (Region){0};
    g->lines[0] = (Line){.file = "", .function = ""};
    graph_region(g, 0);
    return g;
}

Graph *graph_ref(Graph *g) {
    g->refs++;
    return g;
}

void host_unref(Host *h) {
    if (--h->refs) return;
    if (h->release) h->release(h->ctx);
    free(h);
}

/* What a node holds outside of the arena. */
static void release_held(Node *n) {
    if (n->kind == N_CONST) tensor_unref(n->constant);
    if (n->kind == N_HOST) host_unref(n->host);
    n->kind = N_UNDEF;
}

void graph_unref(Graph *g) {
    if (!g || --g->refs) return;
    for (NodeId n = 1; n < g->nnodes; n++) release_held(&g->nodes[n]);
    while (g->blocks) {
        GraphBlock *b = g->blocks;
        g->blocks = b->next;
        free(b);
    }
    free(g->nodes);
    free(g->values);
    free(g->regions);
    free(g->lines);
    free(g->inputs);
    free(g);
}

/* ---- values and regions */

static Value new_value(Graph *g, const TensorType *type, NodeId node, RegionId r, uint32_t index) {
    GROW(g, values);
    g->values[g->nvalues] = (ValueInfo){*type, node, r, index, 0};
    return g->nvalues++;
}

Value graph_input(Graph *g, const TensorType *type) {
    Value v = new_value(g, type, 0, BODY, g->ninputs);
    GROW(g, inputs);
    g->inputs[g->ninputs++] = v;
    return v;
}

RegionId graph_region(Graph *g, RegionId parent) {
    GROW(g, regions);
    g->regions[g->nregions] = (Region){.parent = parent};
    return g->nregions++;
}

Value graph_param(Graph *g, RegionId r, const TensorType *type) {
    Region *region = &g->regions[r];
    Value v = new_value(g, type, 0, r, region->nparams);
    Value *params = graph_alloc(g, (region->nparams + 1) * sizeof *params);
    if (region->nparams) memcpy(params, region->params, region->nparams * sizeof *params);
    params[region->nparams++] = v;
    region->params = params;
    return v;
}

void graph_results(Graph *g, RegionId r, uint32_t n, const Value *results) {
    Value *copy = graph_alloc(g, (n + 1) * sizeof *copy);
    if (n) memcpy(copy, results, n * sizeof *copy);
    g->regions[r].results = copy;
    g->regions[r].nresults = n;
}

static const char *copy_text(Graph *g, const char *text) {
    size_t n = strlen(text) + 1;
    return memcpy(graph_alloc(g, n), text, n);
}

uint32_t graph_line(Graph *g, const Line *line) {
    const Line *last = &g->lines[g->nlines - 1];
    bool same = g->nlines > 1 && last->line == line->line && last->column == line->column &&
                last->end_column == line->end_column && !strcmp(last->file, line->file) &&
                !strcmp(last->function, line->function);
    if (same && last->also == line->also) return g->nlines - 1;
    GROW(g, lines);
    Line *made = &g->lines[g->nlines];
    last = made - 1;
    *made = *line;
    made->file = strcmp(last->file, line->file) ? copy_text(g, line->file) : last->file;
    made->function =
        strcmp(last->function, line->function) ? copy_text(g, line->function) : last->function;
    return g->nlines++;
}

static bool same_place(const Line *a, const Line *b) {
    return a->line == b->line && a->column == b->column && !strcmp(a->file, b->file);
}

static uint32_t line_with(Graph *g, uint32_t a, uint32_t b) {
    uint32_t chain[8], n = 0;
    for (uint32_t at = a; at; at = g->lines[at].also) {
        if (n == COUNT_OF(chain) || same_place(&g->lines[at], &g->lines[b])) return a;
        chain[n++] = at;
    }
    Line copy = g->lines[b];
    copy.also = 0;
    uint32_t last = graph_line(g, &copy);
    while (n--) {
        copy = g->lines[chain[n]];
        copy.also = last;
        last = graph_line(g, &copy);
    }
    return last;
}

uint32_t graph_line_with(Graph *g, uint32_t a, uint32_t b) {
    if (!a) return b;
    for (; b; b = g->lines[b].also) a = line_with(g, a, b);
    return a;
}

/* ---- nodes */

void graph_link(Graph *g, NodeId id, RegionId region, NodeId before) {
    Node *n = &g->nodes[id];
    Region *r = &g->regions[region];
    n->region = region;
    n->after = before;
    n->before = before ? g->nodes[before].before : r->last;
    *(n->before ? &g->nodes[n->before].after : &r->first) = id;
    *(before ? &g->nodes[before].before : &r->last) = id;
    for (int i = 0; i < n->nout; i++) g->values[n->out[i]].region = region;
    bool opens = n->kind == N_IF || n->kind == N_WHILE;
    if (opens && n->regions[0]) g->regions[n->regions[0]].parent = region;
    if (n->kind == N_IF && n->regions[1]) g->regions[n->regions[1]].parent = region;
}

Node *graph_append(Graph *g, RegionId r, NodeKind kind, int nin, const Value *in, int nout,
                   const TensorType *out) {
    GROW(g, nodes);
    NodeId id = g->nnodes++;
    Node *n = &g->nodes[id];
    *n = (Node){.kind = (uint8_t)kind, .nin = (uint16_t)nin, .nout = (uint16_t)nout};
    n->in = graph_alloc(g, (size_t)(nin + nout + 1) * sizeof *n->in);
    n->out = n->in + nin;
    if (nin) memcpy(n->in, in, (size_t)nin * sizeof *n->in);
    for (int i = 0; i < nout; i++) n->out[i] = new_value(g, &out[i], id, r, (uint32_t)i);
    graph_link(g, id, r, 0);
    return n;
}

void graph_set_call(Graph *g, NodeId id, const Op *op, const void *attrs) {
    Node *n = &g->nodes[id];
    n->op = op;
    n->attrs = graph_alloc(g, op->attrs_size + 1);
    if (op->attrs_size) memcpy(n->attrs, attrs, op->attrs_size);
}

Value graph_const(Graph *g, RegionId r, Tensor *t) {
    Node *n = graph_append(g, r, N_CONST, 0, NULL, 1, &t->type);
    n->constant = tensor_ref(t);
    return n->out[0];
}

void graph_attach(Graph *g, NodeId n, RegionId a, RegionId b) {
    g->nodes[n].regions[0] = a;
    g->nodes[n].regions[1] = b;
    g->regions[a].owner = n;
    if (b) g->regions[b].owner = n;
}

static bool is_in_sight(const Graph *g, RegionId from, RegionId of) {
    for (RegionId r = from; r; r = g->regions[r].parent)
        if (r == of) return true;
    return false;
}

static Value *longer(Graph *g, const Value *list, uint32_t n, Value last) {
    Value *made = graph_alloc(g, (n + 1) * sizeof *made);
    if (n) memcpy(made, list, n * sizeof *made);
    made[n] = last;
    return made;
}

/* v, from one side of an If, becomes one more result of it; the other side gives what nobody will
 * look at. */
static Value hand_out(Graph *g, Value v) {
    RegionId side = g->values[v].region;
    NodeId owner = g->regions[side].owner;
    if (!owner || g->nodes[owner].kind != N_IF) return 0;
    TensorType type = g->values[v].type;
    RegionId other = g->nodes[owner].regions[g->nodes[owner].regions[0] == side];
    Value nothing = graph_append(g, other, N_UNDEF, 0, NULL, 1, &type)->out[0];
    Region *a = &g->regions[side], *b = &g->regions[other];
    a->results = longer(g, a->results, a->nresults++, v);
    b->results = longer(g, b->results, b->nresults++, nothing);
    Node *n = &g->nodes[owner];
    Value made = new_value(g, &type, owner, n->region, n->nout);
    n->out = longer(g, n->out, n->nout, made);
    n->nout++;
    return made;
}

Value graph_visible(Graph *g, Value v, RegionId r) {
    while (v && !is_in_sight(g, r, g->values[v].region)) {
        if (!g->values[v].exported) {
            Value out = hand_out(g, v);
            g->values[v].exported = out; /* the array may have moved */
        }
        v = g->values[v].exported;
    }
    return v;
}

void graph_unlink(Graph *g, NodeId id) {
    Node *n = &g->nodes[id];
    Region *r = &g->regions[n->region];
    if (n->before)
        g->nodes[n->before].after = n->after;
    else
        r->first = n->after;
    if (n->after)
        g->nodes[n->after].before = n->before;
    else
        r->last = n->before;
    n->before = n->after = 0;
    n->region = 0;
}

void graph_drop(Graph *g, NodeId id) {
    graph_unlink(g, id);
    release_held(&g->nodes[id]);
}

/* An If or a While has the effects of what stands inside; their nesting is followed by a list of
 * regions to look at instead of recursion. */
bool node_has_effect(const Graph *g, NodeId id) {
    RegionId few[64], *todo = few;
    size_t n = 0, cap = COUNT_OF(few);
    NodeId at = id;
    bool found = false;
    for (;;) {
        const Node *node = &g->nodes[at];
        found = node->kind != N_CALL && node->kind != N_CONST && node->kind != N_UNDEF &&
                node->kind != N_IF;
        if (found) break;
        for (int i = 0; i < 2 && node->kind == N_IF; i++) {
            if (n == cap) {
                RegionId *more = checked(malloc(2 * cap * sizeof *more));
                memcpy(more, todo, n * sizeof *more);
                if (todo != few) free(todo);
                todo = more;
                cap *= 2;
            }
            if (g->regions[node->regions[i]].first) todo[n++] = node->regions[i];
        }
        at = at == id ? 0 : node->after;
        if (!at && n) at = g->regions[todo[--n]].first;
        if (!at) break;
    }
    if (todo != few) free(todo);
    return found;
}

bool op_draws(const Op *op, uint32_t *key_offset, uint32_t *counter_offset) {
    const AttrSpec *key = attr_find(op, "key"), *counter = attr_find(op, "counter");
    if (!key || !counter) return false;
    *key_offset = key->offset;
    *counter_offset = counter->offset;
    return true;
}
