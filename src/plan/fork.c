/* Steps that run at once. A kernel with much to do splits its work over all threads; many small
 * ones in a row use one. Where such a row falls into parts that have nothing to do with each other,
 * the parts become tasks of one parallel region.
 *
 * Steps belong to one part when one of them writes a buffer that the other uses. The row that is
 * taken is the one with most to do outside of its largest part. Everything that a fork uses is
 * alive all through it, so that parts do not share memory. Updates of parameters fork always, since
 * they cost no memory; other steps where inter_op_parallel_num says so. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/lower.h"

enum {
    SMALL = 32768, /* cost of a step that runs on one thread anyway */
    WORTH = 32768, /* what must be saved for a parallel region to pay */
    LONGEST = 256  /* steps of a row, so that the time to find them stays linear */
};

typedef struct Row {
    int32_t first, n;
    uint32_t first_touch, last_touch;
    int32_t part[LONGEST]; /* of each step: another one of its part, or itself; union-find */
    int64_t cost[LONGEST]; /* of the part that the step stands for */
    int64_t total, largest;
} Row;

/* By buffer, while a row is looked at. */
typedef struct Seen {
    int32_t *user;    /* 1 + a step that uses it; 0: none yet */
    bool *is_written; /* by a step of the row */
} Seen;

static bool is_update(const Step *s) {
    return s->args.op && s->kind == STEP_KERNEL && op_is_update(s->args.op);
}

static int64_t cost_of(const Step *s) {
    if (is_update(s)) return type_count(s->args.in[0].type);
    return s->kind == STEP_LOOP ? s->n : kernel_cost(&s->args);
}

/* oneDNN's kernels bring regions of their own. */
static bool is_own(const Kernel *k) {
    size_t n = strlen(k->name);
    return n < 4 || strcmp(k->name + n - 4, "_dnn") != 0;
}

/* Cannot fail and is small. */
static bool may_fork(const Lower *l, const Step *s) {
    bool is_kernel = s->kind == STEP_KERNEL && is_own(s->kernel) && !s->check;
    bool is_asked = l->plan->settings.branches > 1 || is_update(s);
    return is_asked && (is_kernel || s->kind == STEP_LOOP) && cost_of(s) <= SMALL;
}

/* ---- parts */

static int32_t part_of(Row *r, int32_t i) {
    while (r->part[i] != i) {
        r->part[i] = r->part[r->part[i]];
        i = r->part[i];
    }
    return i;
}

static void join(Row *r, int32_t i, int32_t k) {
    i = part_of(r, i);
    k = part_of(r, k);
    if (i == k) return;
    int32_t first = i < k ? i : k, other = i < k ? k : i;
    r->part[other] = first;
    r->cost[first] += r->cost[other];
    if (r->cost[first] > r->largest) r->largest = r->cost[first];
}

/* The next step; *touch: its first one. */
static void add_step(const Lower *l, Row *r, const Seen *seen, uint32_t *touch) {
    int32_t i = r->n++, step = r->first + i;
    r->part[i] = i;
    r->cost[i] = cost_of(&l->plan->steps[step]) + 1;
    r->total += r->cost[i];
    if (r->cost[i] > r->largest) r->largest = r->cost[i];
    for (; *touch < r->last_touch && l->touches[*touch].step == step; ++*touch) {
        BufferId b = l->touches[*touch].buffer;
        if (!seen->is_written[b]) continue;
        if (seen->user[b]) join(r, i, seen->user[b] - 1);
        seen->user[b] = i + 1;
    }
}

static void forget(const Lower *l, const Row *r, const Seen *seen) {
    for (uint32_t t = r->first_touch; t < r->last_touch; t++) {
        seen->user[l->touches[t].buffer] = 0;
        seen->is_written[l->touches[t].buffer] = false;
    }
}

/* Steps first to end - 1 in parts; returns after how many of them most is saved, 0: too little. */
static int32_t find_parts(const Lower *l, Row *r, int32_t end, const Seen *seen) {
    uint32_t touch = r->last_touch = r->first_touch;
    int32_t best = 0;
    int64_t most = WORTH - 1;
    for (; r->last_touch < l->ntouches && l->touches[r->last_touch].step < end; r->last_touch++)
        seen->is_written[l->touches[r->last_touch].buffer] |= l->touches[r->last_touch].writes;
    r->n = 0;
    r->total = r->largest = 0;
    while (r->first + r->n < end) {
        add_step(l, r, seen, &touch);
        if (r->total - r->largest <= most) continue;
        most = r->total - r->largest;
        best = r->n;
    }
    forget(l, r, seen);
    return best;
}

/* ---- tasks */

/* Parts go one after the other to the task that has least to do: task[i] of each step. */
static int32_t share_out(const Lower *l, Row *r, int32_t *task) {
    const PlanSettings *set = &l->plan->settings;
    bool all = is_update(&l->plan->steps[r->first]) || set->branches > set->threads;
    int32_t most = all ? set->threads : set->branches, used = 0;
    int64_t *load = checked(calloc((size_t)most, sizeof *load));
    for (int32_t i = 0; i < r->n; i++) {
        if (part_of(r, i) != i) {
            task[i] = task[part_of(r, i)];
            continue;
        }
        int32_t best = 0;
        for (int32_t k = 1; k < most; k++)
            if (load[k] < load[best]) best = k;
        if (best >= used) used = best + 1;
        load[best] += r->cost[i];
        task[i] = best;
    }
    free(load);
    return used;
}

static const Fork *make_fork(Lower *l, const Row *r, int32_t ntasks, const int32_t *task) {
    Fork *f = plan_alloc(l->plan, sizeof *f);
    f->nsteps = r->n;
    f->ntasks = ntasks;
    f->begin = plan_alloc(l->plan, (size_t)(ntasks + 1 + r->n) * sizeof *f->begin);
    f->order = f->begin + ntasks + 1;
    for (int32_t k = 0, at = 0; k < ntasks; k++) {
        for (int32_t i = 0; i < r->n; i++)
            if (task[i] == k) f->order[at++] = r->first + i;
        f->begin[k + 1] = at;
    }
    return f;
}

static void keep_alive(const Lower *l, const Row *r) {
    for (uint32_t t = r->first_touch; t < r->last_touch; t++) {
        Buffer *b = &l->plan->buffers[l->touches[t].buffer];
        if (b->first > r->first) b->first = r->first;
        if (b->last < r->first + r->n - 1) b->last = r->first + r->n - 1;
    }
}

/* ---- rows */

/* Where the row of steps that may fork and begins at `first` ends: before one that something jumps
 * to. */
static int32_t end_of(const Lower *l, int32_t first, const bool *is_target) {
    const Step *steps = l->plan->steps;
    int32_t i = first;
    while (i < l->plan->nsteps && i - first < LONGEST && may_fork(l, &steps[i]) &&
           (i == first || !is_target[i]) && is_update(&steps[i]) == is_update(&steps[first]))
        i++;
    return i;
}

/* Makes a fork of steps that begin at r->first, if there is one; returns the step to go on with. */
static int32_t fork_row(Lower *l, Row *r, int32_t end, const Seen *seen) {
    int32_t task[LONGEST], best = find_parts(l, r, end, seen);
    if (!best) return r->first + 1;
    find_parts(l, r, r->first + best, seen); /* without what comes behind */
    l->plan->steps[r->first].fork = make_fork(l, r, share_out(l, r, task), task);
    keep_alive(l, r);
    return r->first + r->n;
}

static bool *list_targets(const Plan *p) {
    bool *is_target = checked(calloc((size_t)p->nsteps + 1, sizeof *is_target));
    for (int32_t i = 0; i < p->nsteps; i++)
        if (p->steps[i].kind == STEP_UNLESS || p->steps[i].kind == STEP_JUMP)
            is_target[p->steps[i].target] = true;
    return is_target;
}

void forks_find(Lower *l) {
    const Plan *p = l->plan;
    if (p->settings.threads == 1) return;
    bool *is_target = list_targets(p);
    Seen seen = {.user = checked(calloc(p->nbuffers, sizeof *seen.user)),
                 .is_written = checked(calloc(p->nbuffers, sizeof *seen.is_written))};
    Row r = {0};
    while (r.first < p->nsteps) {
        while (r.first_touch < l->ntouches && l->touches[r.first_touch].step < r.first)
            r.first_touch++;
        int32_t end = end_of(l, r.first, is_target);
        r.first = end - r.first < 2 ? r.first + 1 : fork_row(l, &r, end, &seen);
    }
    free(is_target);
    free(seen.user);
    free(seen.is_written);
}
