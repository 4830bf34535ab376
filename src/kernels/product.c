/* Describing and running matrix products with our own kernels. The result is cut into a grid of
 * tiles that depends on the sizes only, so every number of threads gives the same bits. */
#include "kernels/product.h"

#include <string.h>

#include "base/parallel.h"
#include "kernels/gemm.h"
#include "kernels/loops.h"

#define DECLARE(isa) extern const GemmKernels gemm_##isa##_f32, gemm_##isa##_f64;
#define TABLE(isa)                                                                                 \
    { &gemm_##isa##_f32, &gemm_##isa##_f64 }
DECLARE(base)
#if defined(__x86_64__)
DECLARE(avx2)
DECLARE(avx512)
#endif
static const GemmKernels *const tables[NISAS][2] = {
    TABLE(base),
#if defined(__x86_64__)
    TABLE(avx2),
    TABLE(avx512),
#endif
};

const GemmKernels *gemm(DType dtype) { return tables[isa_level()][dtype == DT_f64]; }

static void swap(int64_t *a, int64_t *b) {
    int64_t t = *a;
    *a = *b;
    *b = t;
}

/* The last two axes of an operand (vectors get an axis of size 1 in front, or behind for y). */
static void matrix_of(const Buf *t, bool transposed, bool is_y, int64_t dims[2], int64_t steps[2]) {
    int rank = t->type->rank;
    if (rank == 1) {
        dims[is_y] = 1, steps[is_y] = 0;
        dims[!is_y] = t->type->dims[0], steps[!is_y] = t->strides[0];
        return;
    }
    for (int i = 0; i < 2; i++) {
        dims[i] = t->type->dims[rank - 2 + i];
        steps[i] = t->strides[rank - 2 + i];
    }
    if (!transposed) return;
    swap(&dims[0], &dims[1]);
    swap(&steps[0], &steps[1]);
}

/* Strides over the batch axes of the result, which has `n` of them. */
static void batch_strides(const Buf *t, int n, int64_t *s) {
    int own = t->type->rank > 2 ? t->type->rank - 2 : 0;
    for (int i = 0; i < n; i++) {
        int at = i - (n - own);
        s[i] = at < 0 || t->type->dims[at] == 1 ? 0 : t->strides[at];
    }
}

/* The last batch axis becomes rows of x when y is the same for all of it. */
static void fold_rows(Product *p) {
    while (p->nbatch) {
        int last = p->nbatch - 1;
        bool even = p->m == 1 || p->xs[last] == p->m * p->xm;
        if (p->ys[last] != 0 || !even) return;
        if (p->m == 1) p->xm = p->xs[last];
        p->m *= p->dims[last];
        p->batches = 1;
        for (int i = 0; i < last; i++) p->batches *= p->dims[i];
        p->nbatch--;
    }
}

void product_of_matmul(const KernelArgs *a, Product *p) {
    const attrs_matmul *at = a->attrs;
    const Buf *x = &a->in[0], *y = &a->in[1];
    int64_t xd[2], xs[2], yd[2], ys[2];
    matrix_of(x, at->transpose_a, false, xd, xs);
    matrix_of(y, at->transpose_b, true, yd, ys);
    *p = (Product){.m = xd[0], .k = xd[1], .n = yd[1], .x = x->data, .y = y->data};
    p->xm = xs[0], p->xk = xs[1], p->yk = ys[0], p->yn = ys[1];
    int xb = x->type->rank - 2, yb = y->type->rank - 2;
    p->nbatch = (int)max_i64(0, max_i64(xb, yb));
    batch_strides(x, p->nbatch, p->xs);
    batch_strides(y, p->nbatch, p->ys);
    p->batches = 1;
    for (int i = 0; i < p->nbatch; i++) {
        p->dims[i] = a->out[0].type->dims[i];
        p->batches *= p->dims[i];
    }
    p->out = a->out[0].data;
    fold_rows(p);
}

void product_of_dense(const KernelArgs *a, Product *p) {
    const TensorType *x = a->in[0].type, *w = a->in[1].type;
    int64_t k = w->dims[1];
    int64_t rows = 1;
    for (int i = 0; i + 1 < x->rank; i++) rows *= x->dims[i];
    *p = (Product){.m = rows, .n = w->dims[0], .k = k, .batches = 1};
    p->xm = k, p->xk = 1;
    p->yk = a->in[1].strides[1], p->yn = a->in[1].strides[0];
    p->x = a->in[0].data, p->y = a->in[1].data, p->out = a->out[0].data;
    if (a->nin > 2 && a->in[2].data) {
        p->bias = a->in[2].data;
        p->bias_step = a->in[2].strides[0];
    }
}

void product_batch(const Product *p, int64_t i, int64_t *x, int64_t *y) {
    *x = *y = 0;
    for (int d = p->nbatch - 1; d >= 0; d--) {
        int64_t at = i % p->dims[d];
        i /= p->dims[d];
        *x += at * p->xs[d];
        *y += at * p->ys[d];
    }
}

/* ---- integers and truth values: plain loops over rows of y */

#define PLAIN(T, name, expr)                                                                       \
    static void plain_##name(const Gemm *g) {                                                      \
        for (int64_t i = 0; i < g->m; i++) {                                                       \
            T *to = (T *)g->c + i * g->crs;                                                        \
            if (!g->accumulate) memset(to, 0, (size_t)g->n * sizeof(T));                           \
            for (int64_t q = 0; q < g->k; q++) {                                                   \
                T x = ((const T *)g->a)[i * g->ars + q * g->acs];                                  \
                const T *y = (const T *)g->b + q * g->brs;                                         \
                for (int64_t j = 0; j < g->n; j++) to[j] = (T)(expr);                              \
            }                                                                                      \
        }                                                                                          \
    }
/* Signed sums wrap: they are taken as unsigned. */
PLAIN(uint32_t, i32, to[j] + x * y[j * g->bcs])
PLAIN(uint64_t, i64, to[j] + x * y[j * g->bcs])
PLAIN(uint8_t, bool, to[j] | (x & y[j * g->bcs]))
#undef PLAIN

/* ---- the grid of tiles */

/* Tiles are at most so large, a multiple of the kernels' blocks, and their number is a multiple of
 * EVEN while there are few, so that 2, 4 or 8 threads have equal shares: by rows if there are
 * enough of them, else by columns. */
enum { TILE_ROWS = 252, TILE_COLUMNS = 256, COLUMN_STEP = 32, LEAST_ROWS = 28, EVEN = 8, FEW = 64 };
/* A run of tiles may have so many bytes in a column of x. */
enum { JOINED_BYTES = 2048 };

typedef struct Grid {
    const Product *p;
    void (*run)(const Gemm *g);
    DType ct;
    int64_t rows, columns; /* tiles along m and n */
    int64_t width;         /* columns of a tile */
} Grid;

static bool is_float(DType ct) { return ct == DT_f32 || ct == DT_f64; }
static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static void lay_grid(Grid *grid) {
    const Product *p = grid->p;
    grid->columns = divide_up(p->n, TILE_COLUMNS);
    grid->width = divide_up(divide_up(p->n, max_i64(1, grid->columns)), COLUMN_STEP) * COLUMN_STEP;
    grid->rows = divide_up(p->m, TILE_ROWS);
    int64_t others = p->batches * grid->columns;
    if (grid->rows * others == 0 || grid->rows * others >= FEW) return;
    int64_t rows = grid->rows, columns = grid->columns;
    while (rows * others % EVEN) rows++;
    if (p->m / rows >= LEAST_ROWS) {
        grid->rows = rows;
        return;
    }
    while (grid->rows * p->batches * columns % EVEN) columns++;
    if (p->n / columns < COLUMN_STEP) return;
    grid->width = divide_up(divide_up(p->n, columns), COLUMN_STEP) * COLUMN_STEP;
    grid->columns = divide_up(p->n, grid->width);
}

static void start_with_bias(const Product *p, const Gemm *g, int64_t i0, int64_t j0, int64_t size) {
    for (int64_t i = 0; i < g->m; i++) {
        char *row = (char *)g->c + i * g->crs * size;
        for (int64_t j = 0; j < g->n; j++) {
            const char *from =
                p->bias ? p->bias + (j0 + j) * p->bias_step * size : p->row_bias + (i0 + i) * size;
            memcpy(row + j * size, from, (size_t)size);
        }
    }
}

/* How many of the tiles from t on, below `end`, are one product: neighbours along the rows or along
 * the columns share what the kernel packs. */
static int64_t joined_tiles(const Grid *grid, int64_t t, int64_t end) {
    bool is_row = grid->rows == 1;
    int64_t each = is_row ? grid->columns : grid->rows;
    int64_t most = is_row ? TILE_COLUMNS / grid->width
                          : JOINED_BYTES / dtype_size(grid->ct) / divide_up(grid->p->m, grid->rows);
    return max_i64(1, min_i64(most, min_i64(end, (t / each + 1) * each) - t));
}

static void run_tiles(void *ctx, int64_t begin, int64_t end) {
    const Grid *grid = ctx;
    const Product *p = grid->p;
    int64_t size = dtype_size(grid->ct), xo, yo;
    for (int64_t t = begin, n; t < end; t += n) {
        n = joined_tiles(grid, t, end);
        int64_t batch = t / (grid->rows * grid->columns), tile = t % (grid->rows * grid->columns);
        int64_t row = tile % grid->rows, j = tile / grid->rows * grid->width;
        int64_t i = p->m * row / grid->rows;
        int64_t down = grid->rows == 1 ? 1 : n, across = grid->rows == 1 ? n : 1;
        product_batch(p, batch, &xo, &yo);
        Gemm g = {.k = p->k};
        g.m = p->m * (row + down) / grid->rows - i, g.n = min_i64(grid->width * across, p->n - j);
        g.a = p->x + (xo + i * p->xm) * size, g.ars = p->xm, g.acs = p->xk;
        g.b = p->y + (yo + j * p->yn) * size, g.brs = p->yk, g.bcs = p->yn;
        g.c = p->out + ((batch * p->m + i) * p->n + j) * size, g.crs = p->n;
        bool is_apart = p->bias && p->bias_step == 1 && is_float(grid->ct);
        if (is_apart) g.bias = p->bias + j * size;
        if (!is_apart && (p->bias || p->row_bias)) start_with_bias(p, &g, i, j, size);
        g.accumulate = !is_apart && (p->bias || p->row_bias || p->adds);
        grid->run(&g);
    }
}

static void run_grid(const Product *p, DType ct) {
    Grid grid = {.p = p, .ct = ct};
    switch (ct) {
    case DT_f32:
    case DT_f64: grid.run = gemm(ct)->run; break;
    case DT_bool: grid.run = plain_bool; break;
    case DT_i32: grid.run = plain_i32; break;
    default: grid.run = plain_i64;
    }
    lay_grid(&grid);
    if (grid.rows == 0 || grid.columns == 0) return;
    int64_t work = divide_up(p->m, grid.rows) * min_i64(grid.width, p->n) * (p->k + 1);
    int64_t grain = max_i64(1, ((int64_t)1 << 18) / max_i64(1, work));
    parallel_for(p->batches * grid.rows * grid.columns, grain, run_tiles, &grid);
}

/* ---- few rows of x and a large y that lies row by row
 *
 * The forward product of a layer splits its weight by rows over the threads, and so does its
 * update. The gradient of its input would split the weight by columns: each thread would fetch
 * half of what the others have just written, and take it away from them. In two parts, by terms,
 * it reads the same rows in the same thread. The parts depend on the sizes only. */

enum { PARTS = 2, PART_BYTES = 65536, LARGE_Y = 32768 };

static bool is_in_parts(const Product *p, DType ct) {
    bool is_plain = !p->bias && !p->row_bias && !p->adds;
    bool is_small = p->m * p->n <= PART_BYTES / dtype_size(ct) && p->m < EVEN * LEAST_ROWS;
    return is_float(ct) && is_plain && is_small && p->batches == 1 && p->k % PARTS == 0 &&
           p->xk == 1 && p->yn == 1 && p->n > 1 && p->k * p->n >= LARGE_Y;
}

static void run_parts(const Product *p, DType ct) {
    char parts[PARTS * PART_BYTES] __attribute__((aligned(64)));
    int64_t n = p->m * p->n;
    Product both = *p; /* a batch of two */
    both.k = p->k / PARTS;
    both.nbatch = 1;
    both.batches = both.dims[0] = PARTS;
    both.xs[0] = both.k;
    both.ys[0] = both.k * p->yk;
    both.out = parts;
    run_grid(&both, ct);
    const void *sums[] = {parts, parts + n * dtype_size(ct)};
    loops(ct)->value[op_get(OP_add)->ew_index](n, p->out, sums);
}

void product_run(const Product *p, DType ct) {
    if (is_in_parts(p, ct))
        run_parts(p, ct);
    else
        run_grid(p, ct);
}
