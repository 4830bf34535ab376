/* An independent look at a finished plan: at each step the buffers alive, sorted by place, must lie
 * one behind the other. Nothing here is shared with memory.c but the plan. */
#include <stdlib.h>

#include "plan/plan.h"

static const Plan *sorting; /* qsort has no context; plans are checked by tests, one at a time */

static int by_place(const void *a, const void *b) {
    const Buffer *x = &sorting->buffers[*(const BufferId *)a];
    const Buffer *y = &sorting->buffers[*(const BufferId *)b];
    return x->at < y->at ? -1 : x->at > y->at;
}

static Status look_at_step(const Plan *p, int32_t step, BufferId *alive) {
    uint32_t n = 0;
    for (BufferId b = 1; b < p->nbuffers; b++) {
        const Buffer *buffer = &p->buffers[b];
        if (buffer->home == AT_ARENA && buffer->nbytes && buffer->first <= step &&
            step <= buffer->last)
            alive[n++] = b;
    }
    qsort(alive, n, sizeof *alive, by_place);
    int64_t end = 0;
    for (uint32_t i = 0; i < n; i++) {
        const Buffer *b = &p->buffers[alive[i]];
        if (b->at < end || b->at % 64 || b->at + b->nbytes > p->arena)
            return FAIL(INTERNAL, "plan: buffer %u overlaps another or the arena's end at step %d",
                        alive[i], step);
        end = b->at + b->nbytes;
    }
    return OK;
}

Status plan_check(const Plan *p) {
    BufferId *alive = calloc(p->nbuffers, sizeof *alive);
    if (!alive) abort(); /* bookkeeping: the pool_small policy */
    sorting = p;
    Status status = OK;
    for (int32_t s = 0; s <= p->nsteps && status == OK; s++) status = look_at_step(p, s, alive);
    free(alive);
    return status;
}
