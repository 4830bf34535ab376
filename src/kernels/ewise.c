/* Elementwise calls: any dtypes, strides and broadcasting over the dense loops of loops.h.
 *
 * Dense operands of the compute type go straight to the loop. Others pass through small blocks on
 * the stack: gathered, converted, computed, converted back. */
#include "kernels/ewise.h"

#include <string.h>

#include "base/parallel.h"
#include "kernels/layout.h"
#include "kernels/loops.h"
#include "kernels/walk.h"

enum { BLOCK = 512, MAX_OPERANDS = 5, GRAIN = 32768 };

typedef struct Call {
    const KernelArgs *a;
    const CtLoops *loops;
    EwLoop *loop;
    int n;            /* operand slots, absent ones included */
    DType ct, result; /* what is computed in; what the loop writes */
    const Buf *in[MAX_OPERANDS];
    Walk walk; /* over the present operands */
    int walk_index[MAX_OPERANDS];
} Call;

/* Slopes of bool or integer results do not exist; g is a float. */
static void choose_loop(Call *c) {
    const KernelArgs *a = c->a;
    const Op *op = a->op;
    if (op->kind == K_EWGRAD) {
        c->ct = dtype_info[a->in[0].type->dtype].compute;
        c->loops = loops(c->ct);
        c->loop = c->loops->slope[op->ew_index][op->ew_input];
        c->result = c->ct;
        return;
    }
    const TensorType *types[3] = {0};
    for (int i = 0; i < a->nin; i++) types[i] = a->in[i].type;
    c->ct = ewise_compute_type(op, a->nin, types);
    c->loops = loops(c->ct);
    c->loop = c->loops->value[op->ew_index];
    c->result = op->is_predicate ? DT_bool : c->ct;
}

static bool is_plain(const Call *c) {
    const Buf *out = &c->a->out[0];
    if (out->type->dtype != c->result) return false;
    for (int i = 0; i < c->n; i++) {
        const Buf *b = c->in[i];
        if (!b) continue;
        if (b->type->dtype != c->ct || !b->dense || !type_same_dims(b->type, out->type))
            return false;
    }
    return true;
}

static void plain_range(void *ctx, int64_t begin, int64_t end) {
    const Call *c = ctx;
    const void *src[MAX_OPERANDS] = {0};
    for (int i = 0; i < c->n; i++)
        if (c->in[i]) src[i] = c->in[i]->data + begin * dtype_size(c->ct);
    c->loop(end - begin, c->a->out[0].data + begin * dtype_size(c->result), src);
}

typedef union Block {
    char bytes[BLOCK * 8];
    int64_t align;
} Block;

/* n elements of operand i as dense values of the compute type: in place if they are, else in
 * `block`. A stride of 0 fills. */
static const void *fetch(const Call *c, int i, const WalkPlace *p, int64_t n, Block *block) {
    const Buf *b = c->in[i];
    int k = c->walk_index[i];
    DType d = b->type->dtype;
    int64_t size = dtype_size(d), stride = c->walk.strides[k][c->walk.rank - 1];
    const char *src = b->data + p->offset[k] * size;
    if (stride == 1 && d == c->ct) return src;
    Block raw;
    if (stride == 1) {
        c->loops->load[d](n, block, src);
        return block;
    }
    int64_t have = stride == 0 ? 1 : n;
    Block *where = d == c->ct ? block : &raw;
    gather_strided(have, size, where, src, stride * size);
    if (d != c->ct) c->loops->load[d](have, block, &raw);
    if (stride == 0 && n > 1) {
        int64_t wide = dtype_size(c->ct);
        gather_strided(n - 1, wide, block->bytes + wide, block->bytes, 0);
    }
    return block;
}

static void block_range(void *ctx, int64_t begin, int64_t end) {
    const Call *c = ctx;
    const Buf *out = &c->a->out[0];
    int64_t row = c->walk.dims[c->walk.rank - 1], size = dtype_size(out->type->dtype);
    Block blocks[MAX_OPERANDS], result;
    const void *src[MAX_OPERANDS] = {0};
    bool direct = out->type->dtype == c->result, filled[MAX_OPERANDS] = {0};
    WalkPlace p;
    walk_seek(&c->walk, begin, &p);
    while (begin < end) {
        int64_t n = min_i64(min_i64(row - p.index[c->walk.rank - 1], end - begin), BLOCK);
        for (int i = 0; i < c->n; i++) {
            if (!c->in[i] || filled[i]) continue;
            bool is_number = c->in[i]->type->rank == 0; /* one fill serves the whole range */
            src[i] = fetch(c, i, &p, is_number ? min_i64(end - begin, BLOCK) : n, &blocks[i]);
            filled[i] = is_number;
        }
        char *dst = out->data + begin * size;
        c->loop(n, direct ? dst : result.bytes, src);
        if (!direct) loops(c->result)->store[out->type->dtype](n, dst, &result);
        walk_step(&c->walk, &p, n);
        begin += n;
    }
}

static void start_walk(Call *c) {
    const TensorType *types[MAX_OPERANDS];
    const int64_t *strides[MAX_OPERANDS];
    int present = 0;
    for (int i = 0; i < c->n; i++) {
        if (!c->in[i]) continue;
        types[present] = c->in[i]->type;
        strides[present] = c->in[i]->strides;
        c->walk_index[i] = present++;
    }
    walk_init(&c->walk, c->a->out[0].type, present, types, strides);
}

/* The same call with the channel axis last, where a channels-last result is row-major. */
static void run_rotated(const KernelArgs *a) {
    TensorType types[MAX_OPERANDS + 1];
    int64_t strides[MAX_OPERANDS + 1][MAX_RANK];
    Buf in[MAX_OPERANDS] = {0}, out = a->out[0];
    int rank = out.type->rank;
    for (int i = 0; i <= a->nin; i++) {
        const Buf *b = i < a->nin ? &a->in[i] : &a->out[0];
        if (!b->type) continue;
        layout_rotate(rank, b, &types[i], strides[i]);
        Buf *to = i < a->nin ? &in[i] : &out;
        *to = (Buf){&types[i], strides[i], b->data, type_strides_dense(&types[i], strides[i])};
    }
    KernelArgs rotated = *a;
    rotated.in = in;
    rotated.out = &out;
    run_ewise(&rotated);
}

void run_ewise(const KernelArgs *a) {
    if (!a->out[0].dense) return run_rotated(a);
    Call c = {.a = a, .n = a->nin};
    choose_loop(&c);
    for (int i = 0; i < a->nin; i++) c.in[i] = a->in[i].data ? &a->in[i] : NULL;
    int64_t n = type_count(a->out[0].type);
    if (n == 0) return;
    if (is_plain(&c)) {
        parallel_for(n, GRAIN, plain_range, &c);
        return;
    }
    start_walk(&c);
    parallel_for(n, GRAIN, block_range, &c);
}
