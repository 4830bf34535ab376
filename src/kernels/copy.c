/* cast, contiguous and every other copy: any strides and dtypes on both sides.
 *
 * Axes that both sides step through evenly are joined; what is left is copied row by row. When the
 * source is contiguous along another axis than the destination (a transpose), both axes are walked
 * in tiles, so that each cache line is used whole on both sides. Many short rows are copied as
 * columns. */
#include "kernels/copy.h"

#include <string.h>

#include "base/parallel.h"
#include "kernels/kernel.h"
#include "kernels/loops.h"
#include "kernels/transpose.h"
#include "kernels/walk.h"

enum { BLOCK = 512, GRAIN = 32768, TILE = 1024, SHORT_ROW = 8 };
/* Of a transpose. More rows of the result, a power of two apart, would not stay in the cache;
 * narrow ones share its lines. */
enum { TURNED_ROWS = 8, TURNED_COLS = 64, NARROW = 16 };
enum { DST, SRC };

typedef struct Copy {
    Place dst, src;
    int64_t dst_size, src_size; /* bytes an element */
    DType ct;
    Walk walk;
    Tiling tiling;
} Copy;

/* ---- rows */

static void convert(const Copy *c, int64_t n, char *dst, const char *src) {
    char block[BLOCK * 8];
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t m = min_i64(n - done, BLOCK);
        loops(c->ct)->load[c->src.dtype](m, block, src + done * c->src_size);
        loops(c->ct)->store[c->dst.dtype](m, dst + done * c->dst_size, block);
    }
}

/* n elements of `size` bytes; steps in bytes. */
static void move(int64_t n, int64_t size, char *dst, int64_t to, const char *src, int64_t from) {
    switch (size) {
#define MOVE(T)                                                                                    \
    for (int64_t i = 0; i < n; i++) *(T *)(dst + i * to) = *(const T *)(src + i * from);           \
    break
    case 1: MOVE(uint8_t);
    case 2: MOVE(uint16_t);
    case 4: MOVE(uint32_t);
    case 16: MOVE(Pair);
    default: MOVE(uint64_t);
#undef MOVE
    }
}

void spread_strided(int64_t n, int64_t size, char *dst, int64_t step, const void *src) {
    move(n, size, dst, step, src, size);
}

static void move_row(const Copy *c, int64_t n, char *dst, int64_t to, const char *src,
                     int64_t from) {
    int64_t size = c->src_size;
    if (to == 1 && from == 1)
        memcpy(dst, src, (size_t)(n * size));
    else if (to == 1)
        gather_strided(n, size, dst, src, from * size);
    else
        move(n, size, dst, to * size, src, from * size);
}

/* Another dtype: gathered, converted and spread block by block. */
static void convert_row(const Copy *c, int64_t n, char *dst, int64_t to, const char *src,
                        int64_t from) {
    char gathered[BLOCK * 8], converted[BLOCK * 8];
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t m = min_i64(n - done, BLOCK);
        const char *x = src + done * from * c->src_size;
        char *y = dst + done * to * c->dst_size;
        if (from != 1) gather_strided(m, c->src_size, gathered, x, from * c->src_size);
        convert(c, m, to == 1 ? y : converted, from == 1 ? x : gathered);
        if (to != 1) spread_strided(m, c->dst_size, y, to * c->dst_size, converted);
    }
}

static void copy_rows(void *ctx, int64_t begin, int64_t end) {
    const Copy *c = ctx;
    int last = c->walk.rank - 1;
    int64_t to = c->walk.strides[DST][last], from = c->walk.strides[SRC][last];
    bool same = c->dst.dtype == c->src.dtype;
    WalkPlace p;
    walk_seek(&c->walk, begin, &p);
    while (begin < end) {
        int64_t n = min_i64(c->walk.dims[last] - p.index[last], end - begin);
        char *dst = c->dst.data + p.offset[DST] * c->dst_size;
        const char *src = c->src.data + p.offset[SRC] * c->src_size;
        if (same)
            move_row(c, n, dst, to, src, from);
        else
            convert_row(c, n, dst, to, src, from);
        walk_step(&c->walk, &p, n);
        begin += n;
    }
}

/* ---- tiles */

static void copy_tiles(void *ctx, int64_t begin, int64_t end) {
    const Copy *c = ctx;
    const Walk *w = &c->walk;
    int64_t to = w->strides[DST][c->tiling.down], from = w->strides[SRC][w->rank - 1];
    TilePlace p;
    for (int64_t t = begin; t < end; t++) {
        tiling_seek(&c->tiling, t, &p);
        char *dst = c->dst.data + p.offset[DST] * c->dst_size;
        for (int64_t row = 0; row < p.rows && p.cols >= NARROW; row++)
            walk_call_for(dst + row * to * c->dst_size, p.cols * c->dst_size);
        transpose_tile(c->src_size, p.rows, p.cols, dst, to,
                       c->src.data + p.offset[SRC] * c->src_size, from);
    }
}

/* Many short rows as few long columns. */
static void copy_columns(void *ctx, int64_t begin, int64_t end) {
    const Copy *c = ctx;
    const Walk *w = &c->walk;
    int64_t size = c->src_size, to = w->strides[DST][c->tiling.down] * size;
    int64_t from = w->strides[SRC][c->tiling.down] * size;
    TilePlace p;
    for (int64_t t = begin; t < end; t++) {
        tiling_seek(&c->tiling, t, &p);
        char *dst = c->dst.data + p.offset[DST] * size;
        const char *src = c->src.data + p.offset[SRC] * size;
        for (int64_t k = 0; k < p.cols; k++)
            move(p.rows, size, dst + k * w->strides[DST][w->rank - 1] * size, to,
                 src + k * w->strides[SRC][w->rank - 1] * size, from);
    }
}

/* How tiles are copied; NULL: row by row instead. */
static ParallelBody choose_tiles(Copy *c) {
    const Walk *w = &c->walk;
    int64_t row = w->dims[w->rank - 1];
    if (c->dst.dtype != c->src.dtype) return NULL;
    int down = w->strides[DST][w->rank - 1] == 1 ? walk_turned_axis(w, SRC) : -1;
    if (down >= 0) {
        int64_t rows = c->src_size == 1 ? 2 * TURNED_ROWS : TURNED_ROWS;
        tiling_init(&c->tiling, w, down, row < NARROW ? TILE / row : rows, TURNED_COLS);
        return copy_tiles;
    }
    if (w->rank == 1 || row > SHORT_ROW) return NULL;
    down = w->rank - 2; /* or, where that is short as well, the longest */
    for (int i = down - 1; i >= 0 && w->dims[w->rank - 2] <= SHORT_ROW; i--)
        if (w->dims[i] > w->dims[down]) down = i;
    tiling_init(&c->tiling, w, down, TILE / row, row);
    return copy_columns;
}

/* ---- entry */

/* One part of complex numbers as real numbers of twice the steps. */
static Place part_of(Place p, int rank, int which, int64_t *strides) {
    DType part = dtype_info[p.dtype].compute;
    for (int i = 0; i < rank; i++) strides[i] = 2 * p.strides[i];
    return (Place){part, p.data + which * dtype_size(part), strides};
}

/* dst[...] |= src[...] != 0 for parts of complex numbers; steps in elements. */
static void add_truth(int rank, const int64_t *dims, char *dst, const int64_t *to, const char *src,
                      const int64_t *from, DType part) {
    if (rank == 0) {
        bool is_true;
        loops(DT_bool)->load[part](1, &is_true, src);
        *dst |= (char)is_true;
        return;
    }
    for (int64_t i = 0; i < *dims; i++)
        add_truth(rank - 1, dims + 1, dst + i * *to, to + 1, src + i * *from * dtype_size(part),
                  from + 1, part);
}

/* From real to complex: the imaginary part is 0; back: it is dropped, but for truth values. */
static void copy_parts(int rank, const int64_t *dims, Place dst, Place src) {
    int64_t to[MAX_RANK], from[MAX_RANK];
    bool in = dtype_is_complex(src.dtype), out = dtype_is_complex(dst.dtype);
    Place x = in ? part_of(src, rank, 0, from) : src;
    copy_strided(rank, dims, out ? part_of(dst, rank, 0, to) : dst, x);
    if (dst.dtype == DT_bool) {
        x = part_of(src, rank, 1, from);
        add_truth(rank, dims, dst.data, dst.strides, x.data, x.strides, x.dtype);
    }
    if (!out) return;
    static char zero[16];
    static const int64_t repeat[MAX_RANK];
    x = in ? part_of(src, rank, 1, from) : (Place){dtype_info[dst.dtype].compute, zero, repeat};
    copy_strided(rank, dims, part_of(dst, rank, 1, to), x);
}

void copy_strided(int rank, const int64_t *dims, Place dst, Place src) {
    if (dst.dtype != src.dtype && (dtype_is_complex(dst.dtype) || dtype_is_complex(src.dtype))) {
        copy_parts(rank, dims, dst, src);
        return;
    }
    Copy c = {.dst = dst, .src = src};
    c.dst_size = dtype_size(dst.dtype);
    c.src_size = dtype_size(src.dtype);
    c.ct = dtype_info[src.dtype].compute; /* the source's: nothing is lost before the store */
    TensorType shape = {.rank = (uint8_t)rank};
    if (rank) memcpy(shape.dims, dims, (size_t)rank * sizeof *dims);
    walk_init(&c.walk, &shape, 2, (const TensorType *[]){&shape, &shape},
              (const int64_t *[]){dst.strides, src.strides});
    if (!c.walk.count) return;
    ParallelBody tiles = choose_tiles(&c);
    if (tiles)
        parallel_for(c.tiling.count, GRAIN / (c.tiling.rows * c.tiling.cols), tiles, &c);
    else
        parallel_for(c.walk.count, GRAIN, copy_rows, &c);
}

static void clear_range(void *ctx, int64_t begin, int64_t end) {
    memset((char *)ctx + begin, 0, (size_t)(end - begin));
}

void clear_bytes(char *dst, int64_t nbytes) { parallel_for(nbytes, 8 * GRAIN, clear_range, dst); }

void run_copy(const KernelArgs *a) {
    const Buf *x = &a->in[0], *r = &a->out[0];
    int64_t strides[MAX_RANK];
    type_strides(r->type, strides);
    copy_strided(r->type->rank, r->type->dims, (Place){r->type->dtype, r->data, strides},
                 (Place){x->type->dtype, x->data, x->strides});
}

/* ---- parts of complex numbers */

static void run_part(const KernelArgs *a, int which) {
    const Buf *x = &a->in[0], *r = &a->out[0];
    int64_t strides[MAX_RANK], steps[MAX_RANK];
    type_strides(r->type, strides);
    Place from = {x->type->dtype, x->data, x->strides};
    if (dtype_is_complex(from.dtype))
        from = part_of(from, r->type->rank, which, steps);
    else if (which)
        return clear_bytes(r->data, type_count(r->type) * dtype_size(r->type->dtype));
    copy_strided(r->type->rank, r->type->dims, (Place){r->type->dtype, r->data, strides}, from);
}
void run_real(const KernelArgs *a) { run_part(a, 0); }
void run_imag(const KernelArgs *a) { run_part(a, 1); }

void run_complex(const KernelArgs *a) {
    const Buf *r = &a->out[0];
    int64_t strides[MAX_RANK], steps[MAX_RANK];
    type_strides(r->type, strides);
    for (int i = 0; i < 2; i++)
        copy_strided(r->type->rank, r->type->dims,
                     part_of((Place){r->type->dtype, r->data, strides}, r->type->rank, i, steps),
                     (Place){a->in[i].type->dtype, a->in[i].data, a->in[i].strides});
}
