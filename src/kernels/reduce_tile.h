/* One tile of results of a reduction, for the compute type that CT_<type> names: passes over rows
 * or columns, and the programs made of passes. Read by reduce_loops.c once a type. */
#include "ops/words_c.h"

#include "kernels/lanes.h"

#define PassLoops       FN(PassLoops, any)
#define Tile            FN(Tile, any)
#define Parts           FN(Parts, any)
#define pass_loops      FN(pass_loops, any)
#define fetch_leaf      FN(fetch_leaf, any)
#define one_row         FN(one_row, any)
#define leaf_of_columns FN(leaf_of_columns, any)
#define leaf_abreast    FN(leaf_abreast, any)
#define pass_columns    FN(pass_columns, any)
#define pass_leaves     FN(pass_leaves, any)
#define pass_part       FN(pass_part, any)
#define pass_all        FN(pass_all, any)
#define run_program     FN(run_program, any)
#define run_var         FN(run_var, any)
#define run_norm        FN(run_norm, any)
#define run_logsumexp   FN(run_logsumexp, any)

typedef struct PassLoops {
    V start;
    V (*leaf)(int64_t n, const V *xs, V c, bool wide);
    void (*add)(int64_t n, const V *xs, V c, V *lanes, bool wide);
    V (*finish)(V *lanes, bool wide);
    void (*columns)(int n, int64_t w, const V *const *rows, const V *cs, V *acc);
    void (*meet)(int64_t n, const V *as, V *bs); /* bs = meeting of as and bs */
} PassLoops;

static const PassLoops pass_loops[NPASSES] = {
#define PASS(name, class, order, begin, element, meeting)                                          \
    IF_##class([PASS_ID_##name] = {.start = begin,                                                 \
                                   .leaf = FN(leaf, name),                                         \
                                   .add = FN(add, name),                                           \
                                   .finish = FN(finish, name),                                     \
                                   .columns = FN(columns, name),                                   \
                                   .meet = FN(meet, name)}, )
#include "ops/reduce.def"
};

typedef struct Tile {
    const Reduce *r;
    int64_t first;
    int width;
    bool split;
} Tile;

/* ---- rows: one result after the other */

/* A leaf that does not lie dense in memory, through a block. */
static V fetch_leaf(const Reduce *r, const PassLoops *p, const char *base, int64_t begin, int64_t n,
                    V c) {
    V block[BLOCK], lanes[LANES];
    int last = r->along.rank - 1;
    int64_t size = dtype_size(r->dtype), have = 0;
    WalkPlace at;
    walk_seek(&r->along, begin, &at);
    if (r->rows_plain && r->along.dims[last] - at.index[last] >= n)
        return p->leaf(n, (const V *)(base + at.offset[0] * size), c, r->wide);
    for (int l = 0; l < LANES; l++) lanes[l] = p->start;
    while (n) {
        int64_t m = min_i64(min_i64(n, BLOCK - have), r->along.dims[last] - at.index[last]);
        fetch(r, m, block + have, base + at.offset[0] * size, r->along.strides[0][last]);
        walk_step(&r->along, &at, m);
        have += m;
        n -= m;
        if (have < BLOCK && n) continue;
        p->add(have, block, c, lanes, r->wide);
        have = 0;
    }
    return p->finish(lanes, r->wide);
}

static V one_row(const Reduce *r, const PassLoops *p, const char *base, V c, int64_t leaf0,
                 int64_t leaf1) {
    V levels[MAX_LEVELS], b;
    int top = 0;
    for (int64_t k = leaf0;; k++) {
        int64_t begin, n;
        leaf_range(r, k, &begin, &n);
        if (r->plain)
            b = p->leaf(n, (const V *)base + begin, c, r->wide);
        else
            b = fetch_leaf(r, p, base, begin, n, c);
        if (k == leaf1 - 1) break;
        for (int64_t bits = k - leaf0; bits & 1; bits >>= 1) p->meet(1, &levels[--top], &b);
        levels[top++] = b;
    }
    while (top) p->meet(1, &levels[--top], &b);
    return b;
}

/* ---- columns: a tile of results side by side */

static void leaf_of_columns(const Tile *t, const PassLoops *p, const char *base, int64_t begin,
                            int64_t n, const V *cs, V *acc) {
    const Reduce *r = t->r;
    int last = r->along.rank - 1;
    int64_t size = dtype_size(r->dtype), step = r->kept.strides[0][r->kept.rank - 1];
    V blocks[16][TILE];
    const V *rows[16];
    WalkPlace at;
    for (int j = 0; j < t->width; j++) acc[j] = p->start;
    walk_seek(&r->along, begin, &at);
    while (n) {
        int m = (int)min_i64(n, 16);
        if (r->turned) {
            m = (int)min_i64(m, r->along.dims[last] - at.index[last]);
            const char *src = base + at.offset[0] * size;
            for (int j = 0; j < t->width; j++) /* the next block */
                __builtin_prefetch(src + (j * step + 16) * size);
            transpose_tile(size, m, t->width, blocks, TILE, src, step);
            for (int k = 0; k < m; k++) rows[k] = blocks[k];
            walk_step(&r->along, &at, m);
        }
        for (int k = 0; k < m && !r->turned; k++) {
            const char *src = base + at.offset[0] * size;
            if (!r->plain) fetch(r, t->width, blocks[k], src, step);
            rows[k] = r->plain ? (const V *)src : blocks[k];
            walk_step(&r->along, &at, 1);
        }
        p->columns(m, t->width, rows, cs, acc);
        n -= m;
    }
}

/* Leaves of rows that lie side by side: a lane of all of them, then the next. */
static void leaf_abreast(const Tile *t, const PassLoops *p, const char *base, int64_t begin,
                         int64_t n, const V *cs, V *acc) {
    const int count = t->r->wide ? LANES : FEW_LANES;
    int64_t step = t->r->along.strides[0][0];
    const V *first = (const V *)base + begin * step, *rows[LEAF / FEW_LANES];
    V lanes[LANES][ABREAST];
    for (int l = 0; l < count; l++) {
        int m = 0;
        for (int64_t i = l; i < n; i += count) rows[m++] = first + i * step;
        for (int j = 0; j < t->width; j++) lanes[l][j] = p->start;
        p->columns(m, t->width, rows, cs, lanes[l]);
    }
    for (int w = count / 2, at = 0; w; at += w, w /= 2) /* what is left moves to the end */
        for (int l = at; l < at + w; l++) p->meet(t->width, lanes[l], lanes[l + w]);
    memcpy(acc, lanes[count - 1], (size_t)t->width * sizeof *acc);
}

static void pass_columns(const Tile *t, const PassLoops *p, const char *base, const V *cs, V *acc,
                         int64_t leaf0, int64_t leaf1) {
    V levels[MAX_LEVELS][TILE];
    int top = 0;
    for (int64_t k = leaf0;; k++) {
        int64_t begin, n;
        leaf_range(t->r, k, &begin, &n);
        (t->r->abreast ? leaf_abreast : leaf_of_columns)(t, p, base, begin, n, cs, acc);
        if (k == leaf1 - 1) break;
        for (int64_t bits = k - leaf0; bits & 1; bits >>= 1) p->meet(t->width, levels[--top], acc);
        memcpy(levels[top++], acc, (size_t)t->width * sizeof *acc);
    }
    while (top) p->meet(t->width, levels[--top], acc);
}

/* ---- passes */

static void pass_leaves(const Tile *t, const PassLoops *p, const V *cs, V *acc, int64_t leaf0,
                        int64_t leaf1) {
    const Reduce *r = t->r;
    int64_t size = dtype_size(r->dtype);
    WalkPlace at;
    walk_seek(&r->kept, t->first, &at);
    if (r->by_column || r->abreast) {
        pass_columns(t, p, r->data + at.offset[0] * size, cs, acc, leaf0, leaf1);
        return;
    }
    for (int j = 0; j < t->width; j++) {
        acc[j] = one_row(r, p, r->data + at.offset[0] * size, cs[j], leaf0, leaf1);
        walk_step(&r->kept, &at, 1);
    }
}

/* Leaves dealt out in full subtrees of the same size: the order stays as it is. */
typedef struct Parts {
    const Tile *t;
    const PassLoops *p;
    const V *cs;
    int64_t leaves; /* of a part, a power of two */
    V acc[GROUPS][TILE];
} Parts;

static void pass_part(void *ctx, int64_t begin, int64_t end) {
    Parts *s = ctx;
    for (int64_t i = begin; i < end; i++)
        pass_leaves(s->t, s->p, s->cs, s->acc[i], i * s->leaves,
                    min_i64((i + 1) * s->leaves, s->t->r->nleaves));
}

/* Reduces all elements of the tile's results; cs[j] is the number c of result j. */
static void pass_all(const Tile *t, ReducePass id, const V *cs, V *acc) {
    const PassLoops *p = &pass_loops[id];
    int64_t nleaves = t->r->nleaves;
    if (t->r->n == 0) {
        for (int j = 0; j < t->width; j++) acc[j] = p->start;
        return;
    }
    if (!t->split || nleaves == 1) {
        pass_leaves(t, p, cs, acc, 0, nleaves);
        return;
    }
    Parts s; /* large: set field by field */
    s.t = t, s.p = p, s.cs = cs, s.leaves = 1;
    while (s.leaves * GROUPS < nleaves) s.leaves *= 2;
    int64_t nparts = (nleaves + s.leaves - 1) / s.leaves;
    parallel_for(nparts, 1, pass_part, &s);
    int top = 0; /* full subtrees wait in the first slots */
    for (int64_t i = 0;; i++) {
        memcpy(acc, s.acc[i], (size_t)t->width * sizeof(V));
        if (i == nparts - 1) break;
        for (int64_t bits = i; bits & 1; bits >>= 1) p->meet(t->width, s.acc[--top], acc);
        memcpy(s.acc[top++], acc, (size_t)t->width * sizeof(V));
    }
    while (top) p->meet(t->width, s.acc[--top], acc);
}

/* ---- programs */

#if defined(CT_f32) || defined(CT_f64)
static void run_var(const Tile *t, V *out) {
    V means[TILE];
    pass_all(t, PASS_ID_sum, out, means);
    for (int j = 0; j < t->width; j++) means[j] /= (V)t->r->n;
    pass_all(t, PASS_ID_sqdev, means, out);
    V n = (V)((double)t->r->n - t->r->p);
    for (int j = 0; j < t->width; j++) {
        V v = n > 0 ? out[j] / n : (V)NAN;
        out[j] = t->r->program == RUN_STD ? vsqrt(v) : v;
    }
}

/* Squares may leave the range: then again with every result scaled to a largest element of 1. */
static void run_norm(const Tile *t, V *out) {
    V cs[TILE];
    double p = t->r->p;
    for (int j = 0; j < t->width; j++) cs[j] = p == 2 ? 1 : (V)p;
    if (p == 1 || isinf(p)) {
        pass_all(t, p == 1 ? PASS_ID_sumabs : p > 0 ? PASS_ID_maxabs : PASS_ID_minabs, cs, out);
        return;
    }
    pass_all(t, p == 2 ? PASS_ID_sumsq : PASS_ID_sumpow, cs, out);
    const V large = sizeof(V) == 8 ? (V)1e300 : (V)1e30, small = 1 / large;
    bool again = false;
    for (int j = 0; j < t->width; j++) {
        again |= p == 2 && !(out[j] < large && out[j] > small);
        out[j] = p == 2 ? vsqrt(out[j]) : p == 0 ? out[j] : vpow(out[j], (V)(1 / p));
    }
    if (!again) return;
    V top[TILE], sums[TILE];
    pass_all(t, PASS_ID_maxabs, cs, top);
    for (int j = 0; j < t->width; j++) cs[j] = top[j] > 0 && !isinf(top[j]) ? 1 / top[j] : 1;
    for (int j = 0; j < t->width; j++)
        if (isinf(cs[j])) cs[j] = large; /* a denormal largest element */
    pass_all(t, PASS_ID_sumsq, cs, sums);
    for (int j = 0; j < t->width; j++)
        out[j] = top[j] > 0 && !isinf(top[j]) ? vsqrt(sums[j]) / cs[j] : top[j];
}

static void run_logsumexp(const Tile *t, V *out) {
    V top[TILE];
    pass_all(t, PASS_ID_max, out, top);
    for (int j = 0; j < t->width; j++)
        if (isinf(top[j])) top[j] = 0;
    pass_all(t, PASS_ID_sumexp, top, out);
    for (int j = 0; j < t->width; j++) out[j] = vlog(out[j]) + top[j];
}
#endif

static void run_program(const Reduce *r, int64_t first, int width, bool split, void *result) {
    Tile t = {r, first, width, split};
    V *out = result;
    switch (r->program) {
#if defined(CT_f32) || defined(CT_f64)
    case RUN_MEAN:
        pass_all(&t, PASS_ID_sum, out, out);
        for (int j = 0; j < width; j++) out[j] /= (V)r->n;
        return;
    case RUN_VAR:
    case RUN_STD: run_var(&t, out); return;
    case RUN_NORM: run_norm(&t, out); return;
    case RUN_LOGSUMEXP: run_logsumexp(&t, out); return;
#endif
    default: pass_all(&t, r->pass, out, out); return;
    }
}

#include "ops/words_undef.h"
#undef PassLoops
#undef Tile
#undef Parts
#undef pass_loops
#undef fetch_leaf
#undef one_row
#undef leaf_of_columns
#undef leaf_abreast
#undef pass_columns
#undef pass_leaves
#undef pass_part
#undef pass_all
#undef run_program
#undef run_var
#undef run_norm
#undef run_logsumexp
