/* An independent look at a finished plan: a buffer that comes to life must lie clear of all that
 * are alive. Nothing here is shared with memory.c but the plan. */
#include <stdlib.h>

#include "plan/plan.h"

typedef struct Life {
    int32_t first;
    BufferId buffer;
} Life;

static int by_birth(const void *a, const void *b) {
    const Life *x = a, *y = b;
    return x->first != y->first ? (x->first < y->first ? -1 : 1) : x->buffer < y->buffer ? -1 : 1;
}

static Status look_at(const Plan *p, BufferId id, const BufferId *alive, uint32_t n) {
    const Buffer *b = &p->buffers[id];
    if (b->at < 0 || b->at % 64 || b->at + b->nbytes > p->arena)
        return FAIL(INTERNAL, "plan: buffer %u lies outside of the arena", id);
    for (uint32_t i = 0; i < n; i++) {
        const Buffer *other = &p->buffers[alive[i]];
        if (b->at < other->at + other->nbytes && other->at < b->at + b->nbytes)
            return FAIL(INTERNAL, "plan: buffers %u and %u overlap at step %d", id, alive[i],
                        b->first);
    }
    return OK;
}

Status plan_check(const Plan *p) {
    Life *lives = calloc(p->nbuffers, sizeof *lives);
    BufferId *alive = calloc(p->nbuffers, sizeof *alive);
    if (!lives || !alive) abort(); /* bookkeeping: the pool_small policy */
    uint32_t n = 0, nalive = 0;
    for (BufferId b = 1; b < p->nbuffers; b++)
        if (p->buffers[b].home == AT_ARENA && p->buffers[b].nbytes)
            lives[n++] = (Life){p->buffers[b].first, b};
    qsort(lives, n, sizeof *lives, by_birth);
    Status status = OK;
    for (uint32_t i = 0; i < n && status == OK; i++) {
        uint32_t kept = 0;
        for (uint32_t k = 0; k < nalive; k++)
            if (p->buffers[alive[k]].last >= lives[i].first) alive[kept++] = alive[k];
        nalive = kept;
        status = look_at(p, lives[i].buffer, alive, nalive);
        alive[nalive++] = lives[i].buffer;
    }
    free(lives);
    free(alive);
    return status;
}
