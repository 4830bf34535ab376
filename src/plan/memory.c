/* Places in the arena: buffers that are alive at the same time must not overlap. Heuristics are
 * tried until one comes near what no plan can do without, and the smallest arena is kept: the order
 * of the steps with the best-fitting gap, then greedy by size (Pisarchyk and Lee 2020), by size
 * times life, and by how crowded the most crowded step of a life is (Maas et al. 2022). */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/plan.h"

enum {
    ALIGN = 64,
    MANY = 4000, /* beyond that only the first, which is not quadratic in practice */
    NEAR = 50    /* good enough: within 1/NEAR of the floor */
};

typedef struct Item {
    int32_t first, last;
    int64_t nbytes, at;
    int64_t crowd; /* the most bytes alive at a step of its life */
    BufferId buffer;
} Item;

static int64_t align(int64_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

static int larger_first(const void *a, const void *b) {
    const Item *x = a, *y = b;
    if (x->nbytes != y->nbytes) return x->nbytes < y->nbytes ? 1 : -1;
    return x->buffer < y->buffer ? -1 : 1;
}
static int larger_and_longer_first(const void *a, const void *b) {
    const Item *x = a, *y = b;
    double one = (double)x->nbytes * (x->last - x->first + 1);
    double two = (double)y->nbytes * (y->last - y->first + 1);
    return one != two ? (one < two ? 1 : -1) : larger_first(a, b);
}
static int crowded_first(const void *a, const void *b) {
    const Item *x = a, *y = b;
    return x->crowd != y->crowd ? (x->crowd < y->crowd ? 1 : -1) : larger_first(a, b);
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

/* In a given order, each in the best gap. */
static int64_t place_by(Item *items, uint32_t n, int (*order)(const void *, const void *)) {
    uint32_t *placed = checked(malloc((n + 1) * sizeof *placed));
    qsort(items, n, sizeof *items, order);
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

/* Bytes alive at each step, and the most of all: no plan can do with less. */
static int64_t *count_alive(const Plan *p, const Item *items, uint32_t n, int64_t *most) {
    int64_t *alive = checked(calloc((size_t)p->nsteps + 2, sizeof *alive));
    for (uint32_t i = 0; i < n; i++) {
        alive[items[i].first] += items[i].nbytes;
        alive[items[i].last + 1] -= items[i].nbytes;
    }
    *most = alive[0];
    for (int32_t s = 1; s <= p->nsteps; s++) {
        alive[s] += alive[s - 1];
        if (alive[s] > *most) *most = alive[s];
    }
    return alive;
}

static void find_crowds(Item *items, uint32_t n, const int64_t *alive) {
    for (uint32_t i = 0; i < n; i++)
        for (int32_t s = items[i].first; s <= items[i].last; s++)
            if (alive[s] > items[i].crowd) items[i].crowd = alive[s];
}

/* One behind the other: no memory is used twice. */
static int64_t place_apart(Item *items, uint32_t n) {
    int64_t end = 0;
    for (uint32_t i = 0; i < n; i++) {
        items[i].at = end;
        end += items[i].nbytes;
    }
    return end;
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

/* Whether more trying is worth its time. */
static bool is_wide(const Plan *p, uint32_t n) {
    return n <= MANY && p->arena > p->floor + p->floor / NEAR;
}

static void place_best(Plan *p, Item *items, uint32_t n, const int64_t *alive) {
    static int (*const orders[])(const void *, const void *) = {
        larger_first, larger_and_longer_first, crowded_first};
    take(p, items, n, place_by_time(items, n));
    if (is_wide(p, n)) find_crowds(items, n, alive);
    for (size_t i = 0; i < COUNT_OF(orders) && is_wide(p, n); i++) {
        int64_t arena = place_by(items, n, orders[i]);
        if (arena < p->arena) take(p, items, n, arena);
    }
}

void plan_memory(Plan *p) {
    Item *items = checked(calloc(p->nbuffers, sizeof *items));
    uint32_t n = 0;
    for (BufferId b = 1; b < p->nbuffers; b++) {
        const Buffer *from = &p->buffers[b];
        if (from->home != AT_ARENA || from->nbytes == 0) continue;
        int32_t last = from->last > p->nsteps ? p->nsteps : from->last;
        items[n++] =
            (Item){.first = from->first, .last = last, .nbytes = align(from->nbytes), .buffer = b};
    }
    int64_t *alive = count_alive(p, items, n, &p->floor);
    if (p->settings.shares)
        place_best(p, items, n, alive);
    else
        take(p, items, n, place_apart(items, n));
    free(alive);
    free(items);
}
