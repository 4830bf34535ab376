/* Common subexpressions: a node that computes what an earlier one in sight has computed gives way.
 *
 * Entries of the table are popped when the walk leaves the region they were made in, so what is
 * found is always in sight. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "passes/passes.h"
#include "passes/plain.h"

enum { MOST_BYTES = 4096 }; /* of constants that are compared by value */

typedef struct Entry {
    uint64_t hash;
    NodeId node;
    RegionId region;
    uint32_t next; /* 1 + the entry that it hides; 0: none */
} Entry;

typedef struct Table {
    Entry *entries; /* a stack */
    uint32_t n, cap;
    uint32_t *heads; /* 1 + the latest entry; 0: none */
    uint32_t mask;
} Table;

/* ---- equal nodes */

static uint64_t mix(uint64_t h, const void *data, size_t n) {
    const unsigned char *c = data;
    for (size_t i = 0; i < n; i++) h = (h ^ c[i]) * 0x100000001b3u; /* FNV-1a */
    return h;
}

/* The attributes without the place of a draw, which is an input. */
static void attrs_of(const Node *n, int64_t *out) {
    memset(out, 0, n->op->attrs_size);
    if (n->op->attrs_size) memcpy(out, n->attrs, n->op->attrs_size);
    uint32_t key, counter;
    if (!n->draws || !op_draws(n->op, &key, &counter)) return;
    memset((char *)out + key, 0, sizeof *out);
    memset((char *)out + counter, 0, sizeof *out);
}

static uint64_t hash_call(const Node *n) {
    int64_t attrs[128];
    attrs_of(n, attrs);
    uint64_t h = mix(14695981039346656037u, &n->op->id, sizeof n->op->id);
    h = mix(h, attrs, n->op->attrs_size);
    return mix(h, n->in, n->nin * sizeof *n->in);
}

static bool same_call(const Node *a, const Node *b) {
    int64_t one[128], two[128];
    if (a->op != b->op || a->nin != b->nin || a->nout != b->nout || a->draws != b->draws)
        return false;
    attrs_of(a, one);
    attrs_of(b, two);
    return !memcmp(one, two, a->op->attrs_size) && !memcmp(a->in, b->in, a->nin * sizeof *a->in);
}

static bool is_compared(const Tensor *t) { return t->dense && tensor_nbytes(t) <= MOST_BYTES; }

/* One number, stored once. */
static bool is_number(const Tensor *t) { return tensor_count(t) && plain_is_repeated(t); }

static uint64_t hash_const(const Tensor *t) {
    uint64_t h = mix(1, &t->type.dtype, sizeof t->type.dtype);
    if (is_number(t)) return mix(h, t->data, (size_t)dtype_size(t->type.dtype));
    if (is_compared(t)) return mix(h, t->data, (size_t)tensor_nbytes(t));
    return mix(h, &t->data, sizeof t->data);
}

static bool same_const(const Tensor *a, const Tensor *b) {
    if (!type_equal(&a->type, &b->type)) return false;
    if (is_number(a) && is_number(b))
        return !memcmp(a->data, b->data, (size_t)dtype_size(a->type.dtype));
    if (is_compared(a) && is_compared(b))
        return !memcmp(a->data, b->data, (size_t)tensor_nbytes(a));
    return a->data == b->data && a->storage == b->storage &&
           !memcmp(a->strides, b->strides, a->type.rank * sizeof *a->strides);
}

static bool same_node(const Edit *e, NodeId one, NodeId two) {
    const Node *a = graph_node(e->g, one), *b = graph_node(e->g, two);
    if (a->kind != b->kind) return false;
    if (a->kind == N_CALL) return same_call(a, b);
    if (a->kind == N_CONST) return same_const(a->constant, b->constant);
    return type_equal(graph_type(e->g, a->out[0]), graph_type(e->g, b->out[0]));
}

/* ---- the table */

static void add_entry(Table *t, NodeId node, RegionId region, uint64_t hash) {
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 64;
        t->entries = checked(realloc(t->entries, t->cap * sizeof *t->entries));
    }
    uint32_t *head = &t->heads[hash & t->mask];
    t->entries[t->n] = (Entry){hash, node, region, *head};
    *head = ++t->n;
}

static void visit(Edit *e, NodeId id, void *ctx) {
    Table *t = ctx;
    const Node *n = graph_node(e->g, id);
    uint64_t hash = n->kind;
    if (n->kind == N_CALL)
        hash = hash_call(n);
    else if (n->kind == N_CONST)
        hash = hash_const(n->constant);
    else if (n->kind != N_UNDEF)
        return;
    for (uint32_t i = t->heads[hash & t->mask]; i; i = t->entries[i - 1].next) {
        if (t->entries[i - 1].hash != hash || !same_node(e, id, t->entries[i - 1].node)) continue;
        edit_merge(e, id, t->entries[i - 1].node);
        e->changes++;
        return;
    }
    add_entry(t, id, n->region, hash);
}

static void leave(Edit *e, RegionId r, void *ctx) {
    Table *t = ctx;
    const Node *owner = graph_node(e->g, e->g->regions[r].owner);
    /* A loop's body sees what its condition has computed. */
    if (owner->kind == N_WHILE && owner->regions[0] == r) return;
    RegionId also = owner->kind == N_WHILE ? owner->regions[0] : r;
    for (; t->n; t->n--) {
        const Entry *last = &t->entries[t->n - 1];
        if (last->region != r && last->region != also) break;
        t->heads[last->hash & t->mask] = last->next;
    }
}

uint32_t pass_common(Graph *g) {
    Table t = {.mask = 63};
    while (t.mask < g->nnodes) t.mask = 2 * t.mask + 1;
    t.heads = checked(calloc(t.mask + 1u, sizeof *t.heads));
    Edit e;
    edit_init(&e, g);
    edit_walk(&e, &(Visitor){.node = visit, .leave = leave, .ctx = &t});
    edit_done(&e);
    free(t.entries);
    free(t.heads);
    return e.changes;
}
