/* cast, contiguous and every other copy: any strides and dtypes on both sides.
 *
 * Axes that both sides step through evenly are joined; what is left is copied row by row. When the
 * source is contiguous along another axis than the destination (a transpose), both axes are walked
 * in tiles, so that each cache line is used whole on both sides. */
#include "kernels/copy.h"

#include <string.h>

#include "base/parallel.h"
#include "kernels/kernel.h"
#include "kernels/loops.h"
#include "kernels/walk.h"

enum { BLOCK = 512, GRAIN = 32768, TILE = 32 };
enum { DST, SRC };

typedef struct Copy {
    Place dst, src;
    int64_t dst_size, src_size; /* bytes an element */
    DType ct;
    Walk walk;
    /* Tiles: `row` is the axis contiguous in dst, `col` the one contiguous in src. */
    int row, col;
    int64_t row_tiles, col_tiles;
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

/* The axis along which src is contiguous while dst is so along the last one; -1: none. */
static int tiled_axis(const Copy *c) {
    const Walk *w = &c->walk;
    int last = w->rank - 1;
    if (c->dst.dtype != c->src.dtype || w->strides[DST][last] != 1) return -1;
    if (w->strides[SRC][last] == 1 || w->strides[SRC][last] == 0 || w->dims[last] < 4) return -1;
    for (int i = last - 1; i >= 0; i--)
        if (w->strides[SRC][i] == 1 && w->dims[i] >= 4) return i;
    return -1;
}

/* rows x cols elements: dst rows are contiguous, src columns are. Steps in elements. */
static void copy_tile(int64_t size, int64_t rows, int64_t cols, char *dst, int64_t to,
                      const char *src, int64_t from) {
    switch (size) {
#define COPY(T)                                                                                    \
    for (int64_t i = 0; i < rows; i++)                                                             \
        for (int64_t j = 0; j < cols; j++)                                                         \
            ((T *)dst)[i * to + j] = ((const T *)src)[j * from + i];                               \
    break
    case 1: COPY(uint8_t);
    case 2: COPY(uint16_t);
    case 4: COPY(uint32_t);
    default: COPY(uint64_t);
#undef COPY
    }
}

/* Tile t: the tile along the destination's row varies fastest, then along its column, then the
 * other axes. */
static void copy_tiles(void *ctx, int64_t begin, int64_t end) {
    const Copy *c = ctx;
    const Walk *w = &c->walk;
    for (int64_t t = begin; t < end; t++) {
        int64_t left = t, dst = 0, src = 0;
        int64_t j = left % c->row_tiles * TILE;
        left /= c->row_tiles;
        int64_t i = left % c->col_tiles * TILE;
        left /= c->col_tiles;
        for (int axis = w->rank - 1; axis >= 0; axis--) {
            if (axis == c->row || axis == c->col) continue;
            dst += left % w->dims[axis] * w->strides[DST][axis];
            src += left % w->dims[axis] * w->strides[SRC][axis];
            left /= w->dims[axis];
        }
        int64_t to = w->strides[DST][c->col], from = w->strides[SRC][c->row];
        copy_tile(c->src_size, min_i64(TILE, w->dims[c->col] - i),
                  min_i64(TILE, w->dims[c->row] - j),
                  c->dst.data + (dst + i * to + j) * c->dst_size, to,
                  c->src.data + (src + j * from + i) * c->src_size, from);
    }
}

static void run_tiles(Copy *c, int axis) {
    Walk *w = &c->walk;
    c->row = w->rank - 1;
    c->col = axis;
    c->row_tiles = (w->dims[c->row] + TILE - 1) / TILE;
    c->col_tiles = (w->dims[c->col] + TILE - 1) / TILE;
    int64_t others = w->count / (w->dims[c->row] * w->dims[c->col]);
    parallel_for(c->row_tiles * c->col_tiles * others, GRAIN / (TILE * TILE), copy_tiles, c);
}

/* ---- entry */

void copy_strided(int rank, const int64_t *dims, Place dst, Place src) {
    Copy c = {.dst = dst, .src = src};
    c.dst_size = dtype_size(dst.dtype);
    c.src_size = dtype_size(src.dtype);
    c.ct = dtype_info[src.dtype].compute; /* the source's: nothing is lost before the store */
    TensorType shape = {.rank = (uint8_t)rank};
    if (rank) memcpy(shape.dims, dims, (size_t)rank * sizeof *dims);
    walk_init(&c.walk, &shape, 2, (const TensorType *[]){&shape, &shape},
              (const int64_t *[]){dst.strides, src.strides});
    if (!c.walk.count) return;
    int axis = tiled_axis(&c);
    if (axis >= 0)
        run_tiles(&c, axis);
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
