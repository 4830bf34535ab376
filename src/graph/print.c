/* Graphs as text, line by line; the way through nested regions is a stack, not recursion. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/literal.h"
#include "graph/text.h"

typedef struct Text {
    char *data;
    size_t n, cap;
    size_t line_start;
} Text;

static void put(Text *t, const char *fmt, ...) {
    for (;;) {
        va_list args;
        va_start(args, fmt);
        int n = vsnprintf(t->data + t->n, t->cap - t->n, fmt, args);
        va_end(args);
        if ((size_t)n < t->cap - t->n) {
            t->n += (size_t)n;
            return;
        }
        t->cap = 2 * t->cap + (size_t)n;
        t->data = realloc(t->data, t->cap);
        if (!t->data) abort(); /* bookkeeping: the pool_small policy */
    }
}

static void start_line(Text *t, int depth) {
    t->line_start = t->n;
    put(t, "%*s", 2 * depth, "");
}

static void put_type(Text *t, const TensorType *type) {
    char text[200];
    put(t, "%s", type_text(type, text, sizeof text));
}

static void put_values(Text *t, uint32_t n, const Value *v) {
    for (uint32_t i = 0; i < n; i++) put(t, v[i] ? "%s%%%u" : "%snone", i ? ", " : "", v[i]);
}

static void put_types(Text *t, const Graph *g, uint32_t n, const Value *v) {
    for (uint32_t i = 0; i < n; i++) {
        put(t, i ? ", " : " : ");
        put_type(t, graph_type(g, v[i]));
    }
}

static void end_line(Text *t, const Graph *g, const Node *n) {
    int pad = (int)(t->n - t->line_start) < 72 ? 72 - (int)(t->n - t->line_start) : 2;
    if (n->line) put(t, "%*s#", pad, "");
    for (uint32_t at = n->line; at; at = g->lines[at].also) {
        const Line *line = &g->lines[at];
        const char *file = strrchr(line->file, '/');
        put(t, at == n->line ? " %s:%d" : ", %s:%d", file ? file + 1 : line->file, line->line);
    }
    put(t, "\n");
}

static void put_const(Text *t, const Tensor *c) {
    char *text = literal_print(c);
    put(t, "const %s", text);
    free(text);
}

/* Attributes that differ from their defaults; the place of a draw is an input. */
static void put_attrs(Text *t, const Node *n, bool first) {
    char text[512];
    for (int i = 0; i < n->op->nattrs; i++) {
        const AttrSpec *spec = &n->op->attrs[i];
        bool drawn = n->draws && (!strcmp(spec->name, "key") || !strcmp(spec->name, "counter"));
        if (drawn || attr_is_default(spec, n->attrs)) continue;
        put(t, "%s%s=%s", first ? "" : ", ", spec->name,
            attr_text(spec, n->attrs, text, sizeof text));
        first = false;
    }
}

static void put_call(Text *t, const Graph *g, const Node *n) {
    uint32_t nin = n->nin - (uint32_t)n->draws;
    while (nin && !n->in[nin - 1]) nin--;
    put(t, "%s(", n->op->name);
    put_values(t, nin, n->in);
    if (n->draws) put(t, "%sdraw=%%%u", nin ? ", " : "", n->in[n->nin - 1]);
    put_attrs(t, n, !nin && !n->draws);
    put(t, ")");
    put_types(t, g, n->nout, n->out);
    if (n->again) put(t, n->kept ? " kept %u" : " again %u", n->again);
}

static void put_simple(Text *t, const Graph *g, const Node *n) {
    switch ((NodeKind)n->kind) {
    case N_CALL: put_call(t, g, n); break;
    case N_CONST:
        put_const(t, n->constant);
        put_types(t, g, 1, n->out);
        break;
    case N_DRAW: put(t, "draw(%lld)", (long long)n->count); break;
    case N_UNDEF:
        put(t, "undef");
        put_types(t, g, 1, n->out);
        break;
    case N_PUSH:
        put(t, "push %lld(", (long long)n->count);
        put_values(t, n->nin, n->in);
        put(t, ")");
        break;
    case N_POP:
        put(t, "pop %lld", (long long)n->count);
        put_types(t, g, n->nout, n->out);
        break;
    case N_LEFT: put(t, "left %lld", (long long)n->count); break;
    case N_HOST:
        put(t, n->host->is_late ? "host late %s(" : "host %s(", n->host->name);
        put_values(t, n->nin, n->in);
        put(t, ")");
        put_types(t, g, n->nout, n->out);
        break;
    default: break;
    }
    end_line(t, g, n);
}

/* What stands between the braces of a node's two regions. */
static void open_region(Text *t, const Graph *g, const Node *n, int which) {
    const Region *r = &g->regions[n->regions[which]];
    if (n->kind == N_IF && which == 0) put(t, "if %%%u {\n", n->in[0]);
    if (n->kind == N_IF && which == 1) put(t, "} else {\n");
    if (n->kind == N_WHILE && which == 1) put(t, "} do {\n");
    if (n->kind != N_WHILE || which) return;
    put(t, "while (");
    for (uint32_t i = 0; i < r->nparams; i++)
        put(t, "%s%%%u = %%%u", i ? ", " : "", r->params[i], n->in[i]);
    put(t, ") {\n");
}

static void close_region(Text *t, const Graph *g, RegionId id, int depth) {
    const Region *r = &g->regions[id];
    const Node *owner = graph_node(g, r->owner);
    const char *word = !r->owner                 ? "return"
                       : owner->kind == N_IF     ? "yield"
                       : owner->regions[0] == id ? "test"
                                                 : "next";
    start_line(t, depth);
    put(t, r->nresults ? "%s " : "%s", word);
    put_values(t, r->nresults, r->results);
    put(t, "\n");
}

/* One node; returns the region to go into, or 0. */
static RegionId put_node(Text *t, const Graph *g, NodeId id, int depth) {
    const Node *n = graph_node(g, id);
    start_line(t, depth);
    if (n->nout) {
        put_values(t, n->nout, n->out);
        put(t, " = ");
    }
    if (n->kind != N_IF && n->kind != N_WHILE) {
        put_simple(t, g, n);
        return 0;
    }
    open_region(t, g, n, 0);
    return n->regions[0];
}

/* After the last node of a region inside: the node's other region, or the place after the node. */
static NodeId leave_region(Text *t, const Graph *g, RegionId *r, int *depth) {
    const Region *region = &g->regions[*r];
    const Node *owner = graph_node(g, region->owner);
    close_region(t, g, *r, *depth);
    start_line(t, *depth - 1);
    if (owner->regions[0] == *r) {
        open_region(t, g, owner, 1);
        *r = owner->regions[1];
        return g->regions[*r].first;
    }
    put(t, "}");
    put_types(t, g, owner->nout, owner->out);
    end_line(t, g, owner);
    --*depth;
    *r = owner->region;
    return owner->after;
}

char *graph_print(const Graph *g) {
    Text t = {.cap = 4096, .data = malloc(4096)};
    if (!t.data) abort(); /* bookkeeping: the pool_small policy */
    put(&t, "graph(");
    for (uint32_t i = 0; i < g->ninputs; i++) {
        put(&t, "%s%%%u: ", i ? ", " : "", g->inputs[i]);
        put_type(&t, graph_type(g, g->inputs[i]));
    }
    put(&t, ") {\n");
    int depth = 1;
    RegionId r = BODY;
    NodeId at = g->regions[BODY].first;
    for (;;) {
        while (!at && r != BODY) at = leave_region(&t, g, &r, &depth);
        if (!at) break;
        RegionId inside = put_node(&t, g, at, depth);
        if (inside) depth++, r = inside;
        at = inside ? g->regions[inside].first : graph_node(g, at)->after;
    }
    close_region(&t, g, BODY, depth);
    put(&t, "}\n");
    return t.data;
}
