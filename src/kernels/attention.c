/* Fused attention in f32 and f64 (Dao et al. 2022): scores exist only for a block of queries and a
 * block of keys at a time, with a running maximum and sum for each row. Keys and values are packed
 * once for all blocks of queries. Slots of scratch work through the items (a head, or a part of its
 * queries) one by one; what an item computes does not depend on their number. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "kernels/gemm.h"
#include "kernels/sequence_loops.h"
#include "kernels/through.h"
#include "ops/attention.h"
#include "tensor/pool.h"

/* BLOCK is a multiple of every panel width. A chunk of queries is what one item takes. */
enum { BLOCK = 64, CHUNK = 256 };

typedef struct State {
    int64_t slots;
} State;

typedef struct Attention {
    AttentionShape s;
    DType d;
    int64_t size;
    double scale;
    bool is_causal;
    const GemmKernels *gemm;
    const SequenceLoops *loops;
    const Buf *q, *k, *v, *mask, *g, *y, *lse;
    Buf *out, *sums, *dq, *dk, *dv;
    int64_t items, slots, slot_size;
    char *scratch;
} Attention;

/* What a slot works in. Blocks of keys lie one after the other in the packed arrays. */
typedef struct Work {
    int64_t nkeys;                           /* packed: those that the item's queries may see */
    char *keys_t, *values, *values_t, *keys; /* packed: K^T, V; backward also V^T, K */
    char *queries, *gradients;               /* packed blocks of q and g */
    char *scores, *dscores, *masked;
    double top[BLOCK], sum[BLOCK];
} Work;

static void read_attention(const KernelArgs *a, int first, Attention *v) {
    *v = (Attention){.d = a->in[first].type->dtype};
    int mask = first ? 6 : 3;
    v->q = &a->in[first], v->k = &a->in[first + 1], v->v = &a->in[first + 2];
    v->mask = mask < a->nin && a->in[mask].type ? &a->in[mask] : NULL;
    /* infer has accepted these shapes */
    if (attention_shape("", v->q->type, v->k->type, v->v->type, v->mask ? v->mask->type : NULL,
                        &v->s) != OK)
        return;
    v->d = dtype_info[v->d].compute;
    v->size = dtype_size(v->d);
    v->gemm = gemm(v->d);
    v->loops = sequence_loops(v->d);
    v->scratch = a->scratch;
}

static int64_t blocks(int64_t n) { return (n + BLOCK - 1) / BLOCK; }

/* Carves the arrays of a slot; returns their bytes. */
static int64_t place(const Attention *v, bool backward, char *base, Work *w) {
    int64_t at = 0, d = gemm_packed_size(v->gemm, BLOCK, v->s.d);
    int64_t dv = gemm_packed_size(v->gemm, BLOCK, v->s.dv), n = blocks(v->s.keys);
    struct {
        char **array;
        int64_t numbers;
    } parts[] = {
        {&w->keys_t, n * BLOCK * v->s.d},
        {&w->scores, BLOCK * BLOCK},
        {&w->masked, BLOCK},
        {&w->values, backward ? 0 : n * dv},
        {&w->values_t, backward ? n * BLOCK * v->s.dv : 0},
        {&w->keys, backward ? n * d : 0},
        {&w->queries, backward ? d : 0},
        {&w->gradients, backward ? dv : 0},
        {&w->dscores, backward ? BLOCK * BLOCK : 0},
    };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        *parts[i].array = base + at;
        at += align64(parts[i].numbers * v->size);
    }
    return at;
}

static const char *head_of(const Buf *b, int64_t n, int64_t head, int64_t size) {
    return b->data + (n * b->strides[0] + head * b->strides[1]) * size;
}

/* ---- candidates */

const char *can_attention(const KernelArgs *a) {
    bool backward = a->op->id == OP_flash_attention_grad;
    DType d = a->in[0].type->dtype;
    if (d != DT_f32 && d != DT_f64) return "it computes in float32 and float64";
    for (int i = 0; i < a->nin; i++) {
        const Buf *b = &a->in[i];
        bool is_mask = i == (backward ? 6 : 3);
        if (!b->type || is_mask) continue;
        if (backward && i == 5 && !b->dense) return "logsumexp is strided";
        if (b->type->rank == 4 && b->strides[3] != 1 && b->type->dims[3] > 1)
            return "an operand has gaps along its last axis";
    }
    return NULL;
}

const char *can_attention_dense(const KernelArgs *a) {
    DType d = a->in[0].type->dtype;
    return d == DT_f32 || d == DT_f64 ? NULL : "it computes in float32 and float64";
}

Status prepare_attention(const KernelArgs *a, void **state, size_t *scratch) {
    bool backward = a->op->id == OP_flash_attention_grad;
    Attention v;
    Work w;
    read_attention(a, backward ? 1 : 0, &v);
    State *made = pool_small(sizeof *made);
    made->slots = parallel_threads();
    *state = made;
    bool through = a->in[0].type->dtype != v.d;
    *scratch =
        (size_t)(made->slots * place(&v, backward, NULL, &w) + (through ? through_size(a) : 0));
    return OK;
}
void release_attention(void *state) { pool_small_free(state, sizeof(State)); }

/* ---- rows of scores */

/* A block of scores: queries [i0, i0 + m) of a head with keys [k0, k0 + n). */
typedef struct Block {
    int64_t batch, head, i0, m, k0, n;
} Block;

/* Keys [k0, k0 + n) that row `i` may see. */
static int64_t visible(const Attention *v, int64_t i, int64_t k0, int64_t n) {
    return v->is_causal ? min_i64(n, max_i64(0, i + 1 - k0)) : n;
}

static void set_number(const Attention *v, char *p, int64_t i, double x) {
    if (v->d == DT_f32)
        ((float *)p)[i] = (float)x;
    else
        ((double *)p)[i] = x;
}

/* The mask of row i over n keys as numbers to add; NULL: none. */
static const char *mask_row(const Attention *v, Work *w, const Block *b, int64_t i, int64_t n) {
    const Buf *m = v->mask;
    if (!m) return NULL;
    int64_t place[4] = {b->batch, b->head, i, b->k0}, offset = 0, step = 0;
    int rank = m->type->rank;
    for (int axis = 0; axis < rank; axis++) {
        int64_t s = m->type->dims[axis] == 1 ? 0 : m->strides[axis];
        offset += place[4 - rank + axis] * s;
        if (axis == rank - 1) step = s;
    }
    bool is_bool = m->type->dtype == DT_bool;
    const char *from = m->data + offset * (is_bool ? 1 : v->size);
    if (!is_bool && step == 1) return from;
    for (int64_t j = 0; j < n; j++) {
        char *to = w->masked + j * v->size;
        if (is_bool)
            set_number(v, to, 0, from[j * step] ? 0 : -HUGE_VAL);
        else
            memcpy(to, from + j * step * v->size, (size_t)v->size);
    }
    return w->masked;
}

/* Rows of q or g, at `a`, times a packed block of k numbers each: into w->scores or w->dscores. */
static void block_scores(const Attention *v, const Block *b, const Buf *rows, const char *a,
                         const char *packed, int64_t k, char *out) {
    Gemm g = {.m = b->m, .n = b->n, .k = k, .a = a, .b = packed, .c = out};
    g.ars = rows->strides[2], g.acs = 1, g.crs = BLOCK;
    v->gemm->run_packed(&g);
}

/* ---- forward */

static void soften_rows(const Attention *v, Work *w, const Block *b, char *out) {
    for (int64_t r = 0; r < b->m; r++) {
        char *row = w->scores + r * BLOCK * v->size;
        int64_t seen = visible(v, b->i0 + r, b->k0, b->n);
        const char *mask = mask_row(v, w, b, b->i0 + r, seen);
        double old = w->top[r], top = v->loops->scores(seen, row, v->scale, mask, old);
        double sum = v->loops->exp_sum(seen, row, top == -HUGE_VAL ? 0 : top);
        memset(row + seen * v->size, 0, (size_t)((b->n - seen) * v->size));
        double fade = old == top || old == -HUGE_VAL ? 1 : exp(old - top);
        if (fade != 1) v->loops->rescale(v->s.dv, out + r * v->s.dv * v->size, fade);
        w->sum[r] = w->sum[r] * fade + sum;
        w->top[r] = top;
    }
}

static void attend_block(const Attention *v, Work *w, int64_t batch, int64_t head, int64_t i0) {
    int64_t m = min_i64(BLOCK, v->s.t - i0), dv = v->s.dv;
    int64_t row = (batch * v->s.heads + head) * v->s.t + i0;
    char *out = v->out->data + row * dv * v->size;
    const char *q = head_of(v->q, batch, head, v->size) + i0 * v->q->strides[2] * v->size;
    int64_t packed_v = gemm_packed_size(v->gemm, BLOCK, dv);
    memset(out, 0, (size_t)(m * dv * v->size));
    for (int64_t r = 0; r < m; r++) w->top[r] = -HUGE_VAL, w->sum[r] = 0;
    for (int64_t k0 = 0; k0 < w->nkeys; k0 += BLOCK) {
        int64_t n = min_i64(BLOCK, w->nkeys - k0);
        if (v->is_causal && k0 > i0 + m - 1) break;
        Block b = {batch, head, i0, m, k0, n};
        block_scores(v, &b, v->q, q, w->keys_t + k0 * v->s.d * v->size, v->s.d, w->scores);
        soften_rows(v, w, &b, out);
        Gemm g = {.m = m, .n = dv, .k = n, .a = w->scores, .ars = BLOCK, .acs = 1};
        g.b = w->values + k0 / BLOCK * packed_v * v->size;
        g.c = out, g.crs = dv, g.accumulate = true;
        v->gemm->run_packed(&g);
    }
    for (int64_t r = 0; r < m; r++) {
        bool empty = w->sum[r] == 0;
        v->loops->rescale(dv, out + r * dv * v->size, empty ? 0 : 1 / w->sum[r]);
        set_number(v, v->sums->data, row + r, empty ? -HUGE_VAL : w->top[r] + log(w->sum[r]));
    }
}

/* K^T or V^T in blocks of keys. */
static void pack_transposed(const Attention *v, const Buf *b, const char *from, int64_t d,
                            int64_t keys, char *to) {
    for (int64_t k0 = 0; k0 < keys; k0 += BLOCK)
        v->gemm->pack(d, min_i64(BLOCK, keys - k0), from + k0 * b->strides[2] * v->size, 1,
                      b->strides[2], to + k0 * d * v->size);
}

/* Rows in blocks, each a packed right-hand side. */
static void pack_rows(const Attention *v, const Buf *b, const char *from, int64_t d, int64_t rows,
                      char *to) {
    int64_t step = gemm_packed_size(v->gemm, BLOCK, d);
    for (int64_t k0 = 0; k0 < rows; k0 += BLOCK)
        v->gemm->pack(min_i64(BLOCK, rows - k0), d, from + k0 * b->strides[2] * v->size,
                      b->strides[2], 1, to + k0 / BLOCK * step * v->size);
}

static void attend_item(const Attention *v, Work *w, int64_t item) {
    int64_t chunks = (v->s.t + CHUNK - 1) / CHUNK, chunk = item % chunks;
    int64_t head = item / chunks % v->s.heads, batch = item / chunks / v->s.heads;
    int64_t kv = head / (v->s.heads / v->s.kv_heads);
    int64_t begin = chunk * CHUNK, end = min_i64(begin + CHUNK, v->s.t);
    int64_t keys = w->nkeys = v->is_causal ? min_i64(v->s.keys, end) : v->s.keys;
    pack_transposed(v, v->k, head_of(v->k, batch, kv, v->size), v->s.d, keys, w->keys_t);
    pack_rows(v, v->v, head_of(v->v, batch, kv, v->size), v->s.dv, keys, w->values);
    for (int64_t i0 = begin; i0 < end; i0 += BLOCK) attend_block(v, w, batch, head, i0);
}

static void attend_slots(void *ctx, int64_t begin, int64_t end) {
    const Attention *v = ctx;
    for (int64_t slot = begin; slot < end; slot++) {
        Work w;
        place(v, false, v->scratch + slot * v->slot_size, &w);
        for (int64_t item = slot; item < v->items; item += v->slots) attend_item(v, &w, item);
    }
}

static void run_slots(const KernelArgs *a, Attention *v, bool backward, ParallelBody body) {
    Work w;
    v->slot_size = place(v, backward, NULL, &w);
    v->slots = min_i64(((const State *)a->state)->slots, v->items);
    int64_t work = v->s.t * v->s.keys * (v->s.d + v->s.dv) * v->s.n * v->s.heads;
    parallel_for(v->slots, work < 65536 ? v->slots : 1, body, v);
}

void run_flash_attention(const KernelArgs *a) {
    const attrs_flash_attention *at = a->attrs;
    Attention v;
    read_attention(a, 0, &v);
    v.scale = attention_scale(at->scale, v.s.d);
    v.is_causal = at->is_causal == 1;
    v.out = &a->out[0], v.sums = &a->out[1];
    v.items = v.s.n * v.s.heads * ((v.s.t + CHUNK - 1) / CHUNK);
    run_slots(a, &v, false, attend_slots);
}

/* ---- backward */

static double number(const Attention *v, const char *p, int64_t i) {
    return v->d == DT_f32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

/* Scores to softmax weights p, and their gradients to those of the scores. */
static void grad_rows(const Attention *v, Work *w, const Block *b) {
    int64_t first = (b->batch * v->s.heads + b->head) * v->s.t + b->i0;
    for (int64_t r = 0; r < b->m; r++) {
        char *p = w->scores + r * BLOCK * v->size, *dp = w->dscores + r * BLOCK * v->size;
        int64_t seen = visible(v, b->i0 + r, b->k0, b->n);
        double lse = number(v, v->lse->data, first + r);
        v->loops->scores(seen, p, v->scale, mask_row(v, w, b, b->i0 + r, seen), 0);
        v->loops->exp_sum(seen, p, lse == -HUGE_VAL ? 0 : lse);
        v->loops->score_grad(seen, p, dp, w->sum[r], v->scale);
        memset(p + seen * v->size, 0, (size_t)((b->n - seen) * v->size));
        memset(dp + seen * v->size, 0, (size_t)((b->n - seen) * v->size));
    }
}

/* out(g.m, g.n) += a b for a block of scores `a` (or its transpose) and a packed b. */
static void add_product(const Attention *v, const char *a, bool transposed, Gemm g) {
    g.a = a;
    g.ars = transposed ? 1 : BLOCK, g.acs = transposed ? BLOCK : 1;
    g.crs = g.n;
    g.accumulate = true;
    v->gemm->run_packed(&g);
}

static void grad_block(const Attention *v, Work *w, int64_t batch, int64_t head, int64_t i0) {
    int64_t m = min_i64(BLOCK, v->s.t - i0), d = v->s.d, dv = v->s.dv, size = v->size;
    int64_t kv = head / (v->s.heads / v->s.kv_heads);
    const char *q = head_of(v->q, batch, head, size) + i0 * v->q->strides[2] * size;
    const char *g = head_of(v->g, batch, head, size) + i0 * v->g->strides[2] * size;
    const char *y = head_of(v->y, batch, head, size) + i0 * v->y->strides[2] * size;
    char *dq = v->dq->data + ((batch * v->s.heads + head) * v->s.t + i0) * d * size;
    int64_t kv_row = (batch * v->s.kv_heads + kv) * v->s.keys;
    v->gemm->pack(m, d, q, v->q->strides[2], 1, w->queries);
    v->gemm->pack(m, dv, g, v->g->strides[2], 1, w->gradients);
    for (int64_t r = 0; r < m; r++)
        w->sum[r] =
            v->loops->dot(dv, g + r * v->g->strides[2] * size, y + r * v->y->strides[2] * size);
    memset(dq, 0, (size_t)(m * d * size));
    for (int64_t k0 = 0; k0 < v->s.keys; k0 += BLOCK) {
        int64_t n = min_i64(BLOCK, v->s.keys - k0);
        if (v->is_causal && k0 > i0 + m - 1) break;
        int64_t row = kv_row + k0, packed = gemm_packed_size(v->gemm, BLOCK, d);
        Block b = {batch, head, i0, m, k0, n};
        block_scores(v, &b, v->q, q, w->keys_t + k0 * d * size, d, w->scores);
        block_scores(v, &b, v->g, g, w->values_t + k0 * dv * size, dv, w->dscores);
        grad_rows(v, w, &b);
        Gemm of_v = {
            .m = n, .n = dv, .k = m, .b = w->gradients, .c = v->dv->data + row * dv * size};
        Gemm of_k = {.m = n, .n = d, .k = m, .b = w->queries, .c = v->dk->data + row * d * size};
        Gemm of_q = {.m = m, .n = d, .k = n, .b = w->keys + k0 / BLOCK * packed * size, .c = dq};
        add_product(v, w->scores, true, of_v);
        add_product(v, w->dscores, true, of_k);
        add_product(v, w->dscores, false, of_q);
    }
}

/* One head of keys and values with all the query heads that use it. */
static void grad_item(const Attention *v, Work *w, int64_t item) {
    int64_t kv = item % v->s.kv_heads, batch = item / v->s.kv_heads, size = v->size;
    int64_t group = v->s.heads / v->s.kv_heads, keys = v->s.keys, d = v->s.d, dv = v->s.dv;
    const char *k = head_of(v->k, batch, kv, size), *values = head_of(v->v, batch, kv, size);
    pack_transposed(v, v->k, k, d, keys, w->keys_t);
    pack_transposed(v, v->v, values, dv, keys, w->values_t);
    pack_rows(v, v->k, k, d, keys, w->keys);
    memset(v->dk->data + item * keys * d * size, 0, (size_t)(keys * d * size));
    memset(v->dv->data + item * keys * dv * size, 0, (size_t)(keys * dv * size));
    for (int64_t head = kv * group; head < (kv + 1) * group; head++)
        for (int64_t i0 = 0; i0 < v->s.t; i0 += BLOCK) grad_block(v, w, batch, head, i0);
}

static void grad_slots(void *ctx, int64_t begin, int64_t end) {
    const Attention *v = ctx;
    for (int64_t slot = begin; slot < end; slot++) {
        Work w;
        place(v, true, v->scratch + slot * v->slot_size, &w);
        for (int64_t item = slot; item < v->items; item += v->slots) grad_item(v, &w, item);
    }
}

void run_flash_attention_grad(const KernelArgs *a) {
    const attrs_flash_attention_grad *at = a->attrs;
    Attention v;
    read_attention(a, 1, &v);
    v.scale = attention_scale(at->scale, v.s.d);
    v.is_causal = at->is_causal == 1;
    v.g = &a->in[0], v.y = &a->in[4], v.lse = &a->in[5];
    v.dq = &a->out[0], v.dk = &a->out[1], v.dv = &a->out[2];
    v.items = v.s.n * v.s.kv_heads;
    run_slots(a, &v, true, grad_slots);
}

void run_flash_attention_any(const KernelArgs *a) { through_run(a, run_flash_attention); }
void run_flash_attention_grad_any(const KernelArgs *a) { through_run(a, run_flash_attention_grad); }
