/* Elementwise calls: any dtypes, strides and broadcasting over the dense loops of loops.h.
 *
 * Dense operands of the compute type go straight to the loop. Others pass through small blocks on
 * the stack: gathered, converted, computed, converted back. Where an operand lies transposed, or
 * the rows are short, a block is a tile of several rows. */
#include "kernels/ewise.h"

#include <string.h>

#include "base/parallel.h"
#include "kernels/layout.h"
#include "kernels/loops.h"
#include "kernels/transpose.h"
#include "kernels/walk.h"

enum { BLOCK = 512, MAX_OPERANDS = 5, GRAIN = 32768 };
enum { TILE = 2048, TURNED_ROWS = 16, TURNED_COLS = 96, SHORT_ROW = 64 };

typedef struct Call {
    const KernelArgs *a;
    const CtLoops *loops;
    EwLoop *loop;
    int n;            /* operand slots, absent ones included */
    DType ct, result; /* what is computed in; what the loop writes */
    const Buf *in[MAX_OPERANDS];
    Walk walk; /* over the present operands and the result, the last one */
    int walk_index[MAX_OPERANDS];
    Tiling tiling;
} Call;

/* pow with one exponent for all has loops of its own; so that no layout changes bits, only where
 * the exponent has no axes. */
static void choose_power(Call *c, const Buf *y, bool slope) {
    if (c->a->op->ew_index != EW_ROW_pow || y->type->rank > 0) return;
    double exponent; /* or a float: whatever is computed in */
    c->loops->load[y->type->dtype](1, &exponent, y->data);
    EwLoop *loop = loops_power(c->ct, &exponent, slope);
    if (loop) c->loop = loop;
}

/* Operands of one narrow dtype need no conversion. */
static void choose_narrow(Call *c) {
    const KernelArgs *a = c->a;
    DType d = (DType)a->in[0].type->dtype;
    for (int i = 1; i < a->nin; i++)
        if (a->in[i].type->dtype != d) return;
    EwLoop *const *rows = c->loops->narrow[d];
    if (!rows || !rows[a->op->ew_index]) return;
    c->loop = rows[a->op->ew_index];
    c->ct = d;
    if (!a->op->is_predicate) c->result = d;
}

/* Slopes of bool or integer results do not exist; g is a float. */
static void choose_loop(Call *c) {
    const KernelArgs *a = c->a;
    const Op *op = a->op;
    if (op->kind == K_EWGRAD) {
        c->ct = dtype_info[a->in[0].type->dtype].compute;
        c->loops = loops(c->ct);
        c->loop = c->loops->slope[op->ew_index][op->ew_input];
        c->result = c->ct;
        if (op->ew_input == 0) choose_power(c, &a->in[2], true);
        return;
    }
    const TensorType *types[3] = {0};
    for (int i = 0; i < a->nin; i++) types[i] = a->in[i].type;
    c->ct = ewise_compute_type(op, a->nin, types);
    c->loops = loops(c->ct);
    c->loop = c->loops->value[op->ew_index];
    c->result = op->is_predicate ? DT_bool : c->ct;
    choose_power(c, &a->in[1], false);
    choose_narrow(c);
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

/* Whether every element of the result meets the same element of operand i. */
static bool is_number(const Call *c, int i) {
    for (int d = 0; d < c->walk.rank; d++)
        if (c->walk.strides[c->walk_index[i]][d] != 0) return false;
    return true;
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
            filled[i] = is_number(c, i); /* one fill serves the whole range */
            src[i] = fetch(c, i, &p, filled[i] ? min_i64(end - begin, BLOCK) : n, &blocks[i]);
        }
        char *dst = out->data + begin * size;
        c->loop(n, direct ? dst : result.bytes, src);
        if (!direct) loops(c->result)->store[out->type->dtype](n, dst, &result);
        walk_step(&c->walk, &p, n);
        begin += n;
    }
}

/* ---- tiles */

typedef struct TileBlock {
    _Alignas(64) char bytes[TILE * 8]; /* no vector on two cache lines */
} TileBlock;

/* rows x cols elements of operand i as dense rows, in its own dtype. */
static void gather_tile(const Call *c, int i, const TilePlace *p, int64_t rows, void *block) {
    int k = c->walk_index[i], last = c->walk.rank - 1;
    int64_t across = c->walk.strides[k][last], down = c->walk.strides[k][c->tiling.down];
    int64_t size = dtype_size((DType)c->in[i]->type->dtype);
    const char *src = c->in[i]->data + p->offset[k] * size;
    if (down == 1 && across != 0 && across != 1) {
        transpose_tile(size, rows, p->cols, block, p->cols, src, across);
        return;
    }
    for (int64_t row = 0; row < rows; row++)
        gather_strided(p->cols, size, (char *)block + row * p->cols * size, src + row * down * size,
                       across * size);
}

/* The first nbytes of a block, `times` times. */
static void repeat_block(char *block, int64_t nbytes, int64_t times) {
    for (int64_t have = 1; have < times; have *= 2)
        memcpy(block + have * nbytes, block, (size_t)(min_i64(have, times - have) * nbytes));
}

/* Operand i on a tile as rows of the compute type, *pitch elements apart: in place if it may be,
 * and equal rows once. */
static const char *fetch_tile(const Call *c, int i, const TilePlace *p, bool joined,
                              TileBlock *block, int64_t *pitch) {
    int k = c->walk_index[i];
    DType d = c->in[i]->type->dtype;
    int64_t down = c->walk.strides[k][c->tiling.down];
    *pitch = down;
    if (c->walk.strides[k][c->walk.rank - 1] == 1 && d == c->ct && (!joined || down == p->cols))
        return c->in[i]->data + p->offset[k] * dtype_size(d);
    int64_t rows = down == 0 ? 1 : p->rows, n = rows * p->cols;
    TileBlock raw;
    gather_tile(c, i, p, rows, d == c->ct ? block : &raw);
    if (d != c->ct) c->loops->load[d](n, block, &raw);
    if (joined) repeat_block(block->bytes, n * dtype_size(c->ct), p->rows / rows);
    if (rows > 1) *pitch = p->cols;
    return block->bytes;
}

/* The rows of a tile; joined: they lie side by side on all sides, and are one. Those of the next
 * tile are called for. */
static void run_tile(const Call *c, const TilePlace *p, const TilePlace *next, bool joined,
                     const char *const *from, const int64_t *pitch) {
    const Buf *out = &c->a->out[0];
    DType d = (DType)out->type->dtype;
    int64_t out_size = dtype_size(d), step = c->walk.strides[c->walk.nops - 1][c->tiling.down];
    char *dst = out->data + p->offset[c->walk.nops - 1] * out_size;
    const char *ahead = out->data + next->offset[c->walk.nops - 1] * out_size;
    int64_t rows = joined ? 1 : p->rows, n = p->rows * p->cols / rows, size = dtype_size(c->ct);
    TileBlock result;
    for (int64_t row = 0; row < rows; row++, dst += step * out_size, ahead += step * out_size) {
        const void *src[MAX_OPERANDS] = {0};
        if (row < next->rows) walk_call_for(ahead, next->cols * out_size);
        for (int i = 0; i < c->n; i++)
            if (c->in[i]) src[i] = from[i] + row * pitch[i] * size;
        c->loop(n, d == c->result ? (void *)dst : &result, src);
        if (d != c->result) loops(c->result)->store[d](n, dst, &result);
    }
}

/* An operand that stands still from one tile to the next keeps its block. */
static void tile_range(void *ctx, int64_t begin, int64_t end) {
    const Call *c = ctx;
    TileBlock blocks[MAX_OPERANDS];
    const char *from[MAX_OPERANDS];
    int64_t pitch[MAX_OPERANDS];
    TilePlace before = {0}, p, next;
    tiling_seek(&c->tiling, begin, &p);
    for (int64_t t = begin; t < end; t++, before = p, p = next) {
        tiling_seek(&c->tiling, min_i64(t + 1, end - 1), &next);
        bool joined = c->walk.strides[c->walk.nops - 1][c->tiling.down] == p.cols;
        bool is_alike = p.rows == before.rows && p.cols == before.cols;
        for (int i = 0; i < c->n; i++) {
            int k = c->walk_index[i];
            if (c->in[i] && !(is_alike && p.offset[k] == before.offset[k]))
                from[i] = fetch_tile(c, i, &p, joined, &blocks[i], &pitch[i]);
        }
        run_tile(c, &p, &next, joined, from, pitch);
    }
}

/* Columns of a tile of TURNED_ROWS: whole rows if they fit, which makes the tile one piece of the
 * result. */
static int64_t turned_cols(const Call *c, int64_t row, int64_t size) {
    int64_t widest = max_i64(dtype_size(c->ct), dtype_size(c->a->out[0].type->dtype));
    for (int i = 0; i < c->n; i++)
        if (c->in[i]) widest = max_i64(widest, dtype_size(c->in[i]->type->dtype));
    if (row <= TILE * 8 / TURNED_ROWS / widest) return row;
    return size >= 4 ? TURNED_COLS : TILE / TURNED_ROWS;
}

/* Whether the call goes tile by tile, and which tiles. */
static bool choose_tiles(Call *c) {
    const Walk *w = &c->walk;
    int64_t row = w->dims[w->rank - 1];
    for (int i = 0; i < c->n && row >= SHORT_ROW; i++) {
        int down = c->in[i] ? walk_turned_axis(w, c->walk_index[i]) : -1;
        if (down < 0) continue;
        int64_t cols = turned_cols(c, row, dtype_size(c->in[i]->type->dtype));
        tiling_init(&c->tiling, w, down, TURNED_ROWS, cols);
        return true;
    }
    if (w->rank == 1 || row >= SHORT_ROW) return false;
    tiling_init(&c->tiling, w, w->rank - 2, TILE / row, row);
    return true;
}

static void start_walk(Call *c) {
    const Buf *out = &c->a->out[0];
    const TensorType *types[MAX_OPERANDS + 1];
    const int64_t *strides[MAX_OPERANDS + 1];
    int present = 0;
    for (int i = 0; i < c->n; i++) {
        if (!c->in[i]) continue;
        types[present] = c->in[i]->type;
        strides[present] = c->in[i]->strides;
        c->walk_index[i] = present++;
    }
    types[present] = out->type;
    strides[present++] = out->strides;
    walk_init(&c->walk, out->type, present, types, strides);
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
    if (choose_tiles(&c))
        parallel_for(c.tiling.count, max_i64(GRAIN / (c.tiling.rows * c.tiling.cols), 1),
                     tile_range, &c);
    else
        parallel_for(n, GRAIN, block_range, &c);
}
