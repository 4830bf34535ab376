/* Stacks and late calls of a run. */
#include "run/effects.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eager/dispatch.h"

typedef struct Stack {
    Tensor **items;
    size_t n, capacity;
} Stack;

typedef struct Late {
    struct Late *next;
    const Host *host;
    int n;
    Tensor *in[];
} Late;

void effects_init(Effects *e, const Graph *g) {
    *e = (Effects){.nstacks = g->nstacks, .random = random_state()};
    if (g->nstacks) e->stacks = checked(calloc(g->nstacks, sizeof *e->stacks));
    e->late_end = &e->late;
}

void effects_push(Effects *e, int64_t stack, int n, Tensor *const *take) {
    Stack *s = &e->stacks[stack];
    if (s->n + (size_t)n > s->capacity) {
        s->capacity = 2 * s->capacity + (size_t)n;
        s->items = checked(realloc(s->items, s->capacity * sizeof *s->items));
    }
    memcpy(s->items + s->n, take, (size_t)n * sizeof *take);
    s->n += (size_t)n;
}

Status effects_pop(Effects *e, const Graph *g, const Node *pop, Tensor **out) {
    Stack *s = &e->stacks[pop->count];
    for (int i = 0; i < pop->nout && !s->n; i++)
        TRY(tensor_fill(graph_type(g, pop->out[i]), 0, &out[i]));
    if (!s->n) return OK;
    s->n -= pop->nout;
    memcpy(out, s->items + s->n, pop->nout * sizeof *out);
    return OK;
}

bool effects_left(const Effects *e, int64_t stack) { return e->stacks[stack].n != 0; }

void effects_late(Effects *e, const Host *host, int n, Tensor *const *take) {
    Late *late = checked(malloc(sizeof *late + (size_t)n * sizeof *late->in));
    *late = (Late){.host = host, .n = n};
    memcpy(late->in, take, (size_t)n * sizeof *take);
    *e->late_end = late;
    e->late_end = &late->next;
}

Status effects_commit(Effects *e) {
    for (Late *late = e->late; late; late = late->next)
        TRY(late->host->call(late->host->ctx, late->n, late->in, 0, NULL));
    return OK;
}

void effects_undo(const Effects *e) { random_restore(e->random); }

void effects_done(Effects *e) {
    for (uint32_t i = 0; i < e->nstacks; i++) {
        for (size_t k = 0; k < e->stacks[i].n; k++) tensor_unref(e->stacks[i].items[k]);
        free(e->stacks[i].items);
    }
    free(e->stacks);
    while (e->late) {
        Late *late = e->late;
        e->late = late->next;
        for (int i = 0; i < late->n; i++) tensor_unref(late->in[i]);
        free(late);
    }
}
