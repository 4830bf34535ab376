/* Places in the arena: buffers that are alive at the same time must not overlap. Two heuristics are
 * tried and the smaller arena is kept: the largest buffers first (greedy by size, Pisarchyk and Lee
 * 2020), and the order of the steps with the best-fitting gap. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/plan.h"

enum {
    ALIGN = 64,
    MANY = 4000
}; /* beyond MANY only the second, which is not quadratic in practice */

typedef struct Item {
    int32_t first, last;
    int64_t nbytes, at;
    BufferId buffer;
} Item;

static int64_t align(int64_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

static int larger_first(const void *a, const void *b) {
    const Item *x = a, *y = b;
    if (x->nbytes != y->nbytes) return x->nbytes < y->nbytes ? 1 : -1;
    return x->buffer < y->buffer ? -1 : 1;
}
static int earlier_first(const void *a, const void *b) {
    const Item *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return larger_first(a, b);
}

/* Adds item i to the list of placed ones, which is sorted by place. */
static void insert(uint32_t *placed, uint32_t n, const Item *items, uint32_t i) {
    uint32_t k = n;
    while (k > 0 && items[placed[k - 1]].at > items[i].at) {
        placed[k] = placed[k - 1];
        k--;
    }
    placed[k] = i;
}

/* The smallest gap among the placed items alive with item i that holds it; else behind them. */
static int64_t best_gap(const Item *items, const uint32_t *placed, uint32_t n, uint32_t i) {
    int64_t end = 0, best = -1, best_size = INT64_MAX;
    for (uint32_t k = 0; k < n; k++) {
        const Item *other = &items[placed[k]];
        if (other->last < items[i].first || items[i].last < other->first) continue;
        int64_t gap = other->at - end;
        if (gap >= items[i].nbytes && gap < best_size) {
            best = end;
            best_size = gap;
        }
        if (other->at + other->nbytes > end) end = other->at + other->nbytes;
    }
    return best >= 0 ? best : end;
}

static int64_t extent(const Item *items, uint32_t n) {
    int64_t most = 0;
    for (uint32_t i = 0; i < n; i++)
        if (items[i].at + items[i].nbytes > most) most = items[i].at + items[i].nbytes;
    return most;
}

static int64_t place_by_size(Item *items, uint32_t n) {
    uint32_t *placed = checked(malloc((n + 1) * sizeof *placed));
    qsort(items, n, sizeof *items, larger_first);
    for (uint32_t i = 0; i < n; i++) {
        items[i].at = best_gap(items, placed, i, i);
        insert(placed, i, items, i);
    }
    free(placed);
    return extent(items, n);
}

/* In the order of the steps the dead ones leave the list: it is as long as the most alive at once.
 */
static int64_t place_by_time(Item *items, uint32_t n) {
    uint32_t *alive = checked(malloc((n + 1) * sizeof *alive)), count = 0;
    qsort(items, n, sizeof *items, earlier_first);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t kept = 0;
        for (uint32_t k = 0; k < count; k++)
            if (items[alive[k]].last >= items[i].first) alive[kept++] = alive[k];
        items[i].at = best_gap(items, alive, kept, i);
        insert(alive, kept, items, i);
        count = kept + 1;
    }
    free(alive);
    return extent(items, n);
}

/* The most bytes alive at any step: no plan can do with less. */
static int64_t most_alive(const Plan *p, const Item *items, uint32_t n) {
    int64_t *change = checked(calloc((size_t)p->nsteps + 2, sizeof *change)), alive = 0, most = 0;
    for (uint32_t i = 0; i < n; i++) {
        change[items[i].first] += items[i].nbytes;
        change[items[i].last + 1] -= items[i].nbytes;
    }
    for (int32_t s = 0; s <= p->nsteps; s++) {
        alive += change[s];
        if (alive > most) most = alive;
    }
    free(change);
    return most;
}

static void take(Plan *p, const Item *items, uint32_t n, int64_t arena) {
    p->arena = arena;
    for (uint32_t i = 0; i < n; i++) p->buffers[items[i].buffer].at = items[i].at;
}

int64_t plan_results(const Plan *p) {
    int64_t nbytes = 0;
    for (BufferId b = 1; b < p->nbuffers; b++)
        if (p->buffers[b].home == AT_RESULT) nbytes += p->buffers[b].nbytes;
    return nbytes;
}

void plan_memory(Plan *p) {
    Item *items = checked(calloc(p->nbuffers, sizeof *items));
    uint32_t n = 0;
    for (BufferId b = 1; b < p->nbuffers; b++) {
        const Buffer *from = &p->buffers[b];
        if (from->home != AT_ARENA || from->nbytes == 0) continue;
        int32_t last = from->last > p->nsteps ? p->nsteps : from->last;
        items[n++] = (Item){from->first, last, align(from->nbytes), 0, b};
    }
    p->floor = most_alive(p, items, n);
    take(p, items, n, place_by_time(items, n));
    if (n <= MANY && p->arena > p->floor) {
        int64_t arena = place_by_size(items, n);
        if (arena < p->arena) take(p, items, n, arena);
    }
    free(items);
}
