/* Reductions over axis lists: laying the work out as tiles of results and leaves of elements.
 *
 * The layout is a pure function of the shape, so results have the same bits for any strides and any
 * number of threads. Rows (the innermost axis is reduced) go through lanes; columns (it is kept, or
 * fewer than 16 elements are reduced) side by side. docs/semantics.md writes the order down. */
#include "kernels/reduce.h"

#include <string.h>

#include "base/parallel.h"
#include "kernels/copy.h"
#include "kernels/kernel.h"
#include "kernels/lanes_sizes.h"
#include "ops/reduce.h"

enum { GRAIN = 32768 };

extern const ReduceLoops reduce_loops_base, reduce_loops_avx2, reduce_loops_avx512;
static const ReduceLoops *const tables[NISAS] = {
    &reduce_loops_base,
#if defined(__x86_64__)
    &reduce_loops_avx2,
    &reduce_loops_avx512,
#endif
};

/* ---- layout */

/* Shorter axes are not worth another order. */
enum { FEW = 8 };

/* The axes of x that are reduced, as a walk. */
static void walk_along(Walk *w, const Buf *x, uint32_t mask) {
    TensorType t = {.dtype = x->type->dtype};
    int64_t strides[MAX_RANK];
    for (int i = 0; i < x->type->rank; i++) {
        if (!(mask >> i & 1)) continue;
        strides[t.rank] = x->strides[i];
        t.dims[t.rank++] = x->type->dims[i];
    }
    walk_init(w, &t, 1, (const TensorType *[]){&t}, (const int64_t *[]){strides});
}

/* The axes of x that are kept, as a walk over x and the dense results, with axis `last` innermost
 * (-1: in order). */
static void walk_kept(Walk *w, const Buf *x, uint32_t mask, int last) {
    TensorType t = {.dtype = x->type->dtype};
    int64_t steps[MAX_RANK], n = 1, strides[2][MAX_RANK];
    for (int i = x->type->rank - 1; i >= 0; i--) {
        steps[i] = n;
        if (!(mask >> i & 1)) n *= x->type->dims[i];
    }
    for (int k = 0; k <= x->type->rank; k++) {
        int i = k == x->type->rank ? last : k;
        if (i < 0 || mask >> i & 1 || (i == last && k < x->type->rank)) continue;
        strides[0][t.rank] = x->strides[i];
        strides[1][t.rank] = steps[i];
        t.dims[t.rank++] = x->type->dims[i];
    }
    walk_init(w, &t, 2, (const TensorType *[]){&t, &t},
              (const int64_t *[]){strides[0], strides[1]});
}

/* The kept axis along which x lies dense, if it is not the innermost one anyway; else -1. */
static int find_dense_kept(const Buf *x, uint32_t mask) {
    const TensorType *t = x->type;
    int i = t->rank - 1;
    while (i >= 0 && (mask >> i & 1 || t->dims[i] == 1)) i--;
    if (i < 0 || x->strides[i] == 1) return -1;
    for (i--; i >= 0; i--)
        if (!(mask >> i & 1) && x->strides[i] == 1 && t->dims[i] >= FEW) return i;
    return -1;
}

/* Elements of the innermost group of reduced axes; 0 when the innermost axis is kept. */
static int64_t inner_group(const TensorType *x, uint32_t mask) {
    int64_t n = 1;
    bool any = false;
    for (int i = x->rank - 1; i >= 0; i--) {
        if (x->dims[i] == 1) continue;
        if (!(mask >> i & 1)) break;
        n *= x->dims[i];
        any = true;
    }
    return any ? n : 0;
}

static bool inner_plain(const Walk *w) {
    return w->strides[0][w->rank - 1] == 1 || w->dims[w->rank - 1] == 1;
}

/* Where the wrong side of a transposed input lies dense. */
static void find_turned(Reduce *r) {
    bool same = r->dtype == r->ct && r->via == r->ct;
    const Walk *dense = r->by_column ? &r->along : &r->kept,
               *other = r->by_column ? &r->kept : &r->along;
    int last = dense->rank - 1;
    bool is =
        same && dense->strides[0][last] == 1 && dense->dims[last] >= FEW && !inner_plain(other);
    r->turned = is && r->by_column;
    r->abreast = is && !r->by_column && r->along.rank == 1;
}

/* program, pass, p, via and ct are set already. */
static void lay_out(Reduce *r, const Buf *x, uint32_t mask) {
    walk_along(&r->along, x, mask);
    r->data = x->data;
    r->dtype = x->type->dtype;
    r->n = r->along.count;
    int64_t inner = inner_group(x->type, mask);
    r->by_column = inner == 0 || r->n < FEW_LANES;
    bool same = r->dtype == r->ct && r->via == r->ct;
    bool may_abreast = same && r->along.rank == 1 && !inner_plain(&r->along);
    bool may_choose = r->n >= FEW && (r->by_column || may_abreast);
    walk_kept(&r->kept, x, mask, may_choose ? find_dense_kept(x, mask) : -1);
    r->nout = r->kept.count;
    r->segment = r->by_column || inner < WIDE_ROW ? r->n : inner;
    r->wide = r->segment >= WIDE_ROW;
    r->leaf = r->by_column ? LEAF_ROWS : LEAF;
    r->segment_leaves = (r->segment + r->leaf - 1) / r->leaf;
    r->nleaves = r->n ? r->n / r->segment * r->segment_leaves : 0;
    r->rows_plain = same && inner_plain(&r->along);
    r->plain = r->by_column ? same && inner_plain(&r->kept) : r->rows_plain && r->along.rank == 1;
    find_turned(r);
}

/* ---- tiles */

typedef struct Tiles {
    const Reduce *r;
    const Buf *out;
    int64_t row, row_tiles; /* results in one row of `kept`, tiles in it */
    int64_t width;          /* of most tiles */
    int64_t step;           /* between the results of a tile */
    bool split;
} Tiles;

static void tile_range(void *ctx, int64_t begin, int64_t end) {
    const Tiles *t = ctx;
    DType ct = t->r->ct, to = t->out->type->dtype;
    int64_t size = dtype_size(to);
    uint64_t block[TILE], stored[TILE];
    for (int64_t i = begin; i < end; i++) {
        int64_t within = i % t->row_tiles * t->width, first = i / t->row_tiles * t->row + within;
        bool is_last = (i + 1) % t->row_tiles == 0;
        int64_t width = is_last ? t->row - within : t->width;
        WalkPlace p;
        walk_seek(&t->r->kept, first, &p);
        char *dst = t->out->data + p.offset[1] * size;
        bool direct = t->step <= 1 && to == ct;
        tables[isa_level()]->tile[ct](t->r, first, (int)width, t->split,
                                      direct ? (void *)dst : block);
        if (direct) continue;
        void *made = t->step <= 1 ? (void *)dst : to == ct ? block : stored;
        if (to != ct) loops(ct)->store[to](width, made, block);
        if (t->step > 1) spread_strided(width, size, dst, t->step * size, made);
    }
}

static void run_tiles(const Reduce *r, const Buf *out) {
    if (r->nout == 0) return;
    Tiles t = {.r = r, .out = out, .width = TILE_WIDTH};
    bool beside = r->by_column || r->abreast;
    t.row = beside ? r->kept.dims[r->kept.rank - 1] : r->nout;
    t.step = beside ? r->kept.strides[1][r->kept.rank - 1] : 1;
    int64_t total = r->nout * max_i64(r->n, 1);
    if (r->abreast)
        t.width = min_i64(max_i64(r->nout / (2 * parallel_threads()), 16), ABREAST);
    else if (!r->by_column)
        t.width = min_i64(max_i64(GRAIN / max_i64(r->n, 1), 1), TILE_WIDTH);
    int64_t spare = r->by_column ? SPARE : 0;
    t.row_tiles = max_i64(1, (t.row + t.width - 1 - spare) / t.width);
    int64_t ntiles = r->nout / t.row * t.row_tiles;
    int64_t grain = max_i64(GRAIN * ntiles / total, 1);
    if (total <= GRAIN) {
        tile_range(&t, 0, ntiles);
    } else if (ntiles >= 2 * parallel_threads() || r->nleaves <= 1) {
        parallel_for(ntiles, grain, tile_range, &t);
    } else {
        t.split = true;
        tile_range(&t, 0, ntiles);
    }
}

/* ---- the ops */

static bool lay_out_call(const KernelArgs *a, Reduce *r) {
    const ReduceAttrs *at = a->attrs;
    uint32_t mask;
    if (reduce_axes(a->op->name, &at->axis, a->in[0].type->rank, &mask) != OK) return false;
    lay_out(r, &a->in[0], mask);
    return true;
}

static void run(const KernelArgs *a, Reduce *r) {
    if (lay_out_call(a, r)) run_tiles(r, &a->out[0]);
}

/* Some order of the axes leaves no gaps between elements. */
static bool is_gapless(const Buf *b) {
    int64_t step = 1;
    for (int found = 0; found < b->type->rank;) {
        int before = found;
        for (int i = 0; i < b->type->rank; i++) {
            if (b->type->dims[i] == 1 || b->strides[i] != step) continue;
            step *= b->type->dims[i];
            found++;
        }
        if (found == before) break;
    }
    return step == type_count(b->type);
}

/* Where any order gives the same, that of memory is the quickest. */
const char *can_reduce_whole(const KernelArgs *a) {
    const Buf *x = &a->in[0];
    uint32_t mask;
    const IntList *axis = &((const ReduceAttrs *)a->attrs)->axis;
    if (reduce_axes(a->op->name, axis, x->type->rank, &mask) != OK) return "bad axes";
    if (mask != (1u << x->type->rank) - 1) return "it keeps an axis";
    return type_count(x->type) && is_gapless(x) ? NULL : "there are gaps between elements";
}

/* Sums and products of integers are made in 64 bits. */
static DType sum_type(DType out) {
    if (dtype_is_float(out)) return dtype_info[out].compute;
    return out == DT_u64 ? DT_u64 : DT_i64;
}

static void run_pass(const KernelArgs *a, ReducePass pass, DType ct) {
    run(a, &(Reduce){.program = RUN_PASS, .pass = pass, .via = ct, .ct = ct});
}
static DType in_compute(const KernelArgs *a) { return dtype_info[a->in[0].type->dtype].compute; }

bool reduce_reads_turned(const KernelArgs *a) {
    Reduce r = {.via = in_compute(a), .ct = in_compute(a)};
    return lay_out_call(a, &r) && (r.plain || r.turned || r.abreast);
}

void run_reduce_sum(const KernelArgs *a) {
    run_pass(a, PASS_ID_sum, sum_type(a->out[0].type->dtype));
}
void run_reduce_prod(const KernelArgs *a) {
    run_pass(a, PASS_ID_prod, sum_type(a->out[0].type->dtype));
}
void run_reduce_amax(const KernelArgs *a) { run_pass(a, PASS_ID_max, in_compute(a)); }
void run_reduce_amin(const KernelArgs *a) { run_pass(a, PASS_ID_min, in_compute(a)); }
void run_reduce_all(const KernelArgs *a) { run_pass(a, PASS_ID_all, DT_bool); }
void run_reduce_any(const KernelArgs *a) { run_pass(a, PASS_ID_any, DT_bool); }

static void run_whole(const KernelArgs *a, ReducePass pass, DType ct) {
    TensorType line = {.dtype = a->in[0].type->dtype, .rank = 1};
    line.dims[0] = type_count(a->in[0].type);
    static const int64_t one = 1;
    Reduce r = {.program = RUN_PASS, .pass = pass, .via = ct, .ct = ct};
    lay_out(&r, &(Buf){&line, &one, a->in[0].data, true}, 1);
    run_tiles(&r, &a->out[0]);
}

/* ---- narrow integers: the op itself takes block by block into one, which has loops of its own */

enum { EXTREME_BYTES = 2048, EXTREME_PARTS = 16 };

typedef struct Extreme {
    EwLoop *loop;
    const char *data;
    int64_t nbytes, size;
    char parts[EXTREME_PARTS][EXTREME_BYTES];
} Extreme;

static void extreme_parts(void *ctx, int64_t begin, int64_t end) {
    Extreme *f = ctx;
    int64_t share = f->nbytes / EXTREME_PARTS / f->size * f->size;
    for (int64_t i = begin; i < end; i++) {
        const char *at = f->data + i * share;
        const char *stop = i == EXTREME_PARTS - 1 ? f->data + f->nbytes : at + share;
        memcpy(f->parts[i], at, EXTREME_BYTES);
        while ((at += EXTREME_BYTES) < stop) {
            if (stop - at < EXTREME_BYTES) at = stop - EXTREME_BYTES; /* some of it twice */
            f->loop(EXTREME_BYTES / f->size, f->parts[i], (const void *[]){f->parts[i], at});
        }
    }
}

/* Largest or smallest elements; false: there is no loop, or it would not pay. */
static bool run_extreme(const KernelArgs *a, int row) {
    DType d = (DType)a->in[0].type->dtype;
    EwLoop *const *rows = loops(dtype_info[d].compute)->narrow[d];
    Extreme f; /* large: set field by field */
    f.data = a->in[0].data, f.size = dtype_size(d);
    f.nbytes = type_count(a->in[0].type) * f.size;
    f.loop = rows ? rows[row] : NULL;
    if (!f.loop || f.nbytes < 2 * EXTREME_PARTS * EXTREME_BYTES) return false;
    parallel_for(EXTREME_PARTS, max_i64(GRAIN * EXTREME_PARTS / f.nbytes, 1), extreme_parts, &f);
    char *all = f.parts[0];
    for (int i = 1; i < EXTREME_PARTS; i++)
        f.loop(EXTREME_BYTES / f.size, all, (const void *[]){all, f.parts[i]});
    for (int64_t half = EXTREME_BYTES / 2; half >= f.size; half /= 2)
        f.loop(half / f.size, all, (const void *[]){all, all + half});
    memcpy(a->out[0].data, all, (size_t)f.size);
    return true;
}

void run_reduce_amax_whole(const KernelArgs *a) {
    if (!run_extreme(a, EW_ROW_maximum)) run_whole(a, PASS_ID_max, in_compute(a));
}
void run_reduce_amin_whole(const KernelArgs *a) {
    if (!run_extreme(a, EW_ROW_minimum)) run_whole(a, PASS_ID_min, in_compute(a));
}
void run_reduce_all_whole(const KernelArgs *a) { run_whole(a, PASS_ID_all, DT_bool); }
void run_reduce_any_whole(const KernelArgs *a) { run_whole(a, PASS_ID_any, DT_bool); }
void run_reduce_count_nonzero(const KernelArgs *a) {
    run(a, &(Reduce){.program = RUN_PASS, .pass = PASS_ID_sum, .via = DT_bool, .ct = DT_i64});
}

static void run_program(const KernelArgs *a, ReduceProgram program, double p) {
    DType ct = in_compute(a);
    run(a, &(Reduce){.program = program, .p = p, .via = ct, .ct = ct});
}
void run_reduce_mean(const KernelArgs *a) { run_program(a, RUN_MEAN, 0); }
void run_reduce_logsumexp(const KernelArgs *a) { run_program(a, RUN_LOGSUMEXP, 0); }
void run_reduce_var(const KernelArgs *a) {
    run_program(a, RUN_VAR, (double)((const attrs_var *)a->attrs)->ddof);
}
void run_reduce_std(const KernelArgs *a) {
    run_program(a, RUN_STD, (double)((const attrs_std *)a->attrs)->ddof);
}
void run_reduce_norm(const KernelArgs *a) {
    double p = ((const attrs_norm *)a->attrs)->p;
    if (p != 0) {
        run_program(a, RUN_NORM, p);
        return;
    }
    DType ct = in_compute(a); /* the number of elements that are not 0 */
    run(a, &(Reduce){.program = RUN_PASS, .pass = PASS_ID_sum, .via = DT_bool, .ct = ct});
}
