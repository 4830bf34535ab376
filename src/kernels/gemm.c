/* Compiled many times: -DISA=base|avx2|avx512 with the matching machine options, -DCT=f32|f64.
 *
 * b is taken in panels of two vectors' width; a block of up to MR rows of a meets a panel in
 * registers: MR x 2 accumulators, one broadcast of a and two vectors of b an inner step. Panels are
 * packed (transposed on the way if need be) unless they are used only once, or a few times while
 * their rows lie near. Multiply-adds contract
 * to fused ones in this file (-ffp-contract=fast): no other code repeats these sums. */
#include "kernels/gemm.h"

#include <string.h>

#include "base/base.h"
#include "base/subnormal.h"

#if defined(__AVX512F__)
enum { VBYTES = 64, MR = 14 };
#elif defined(__AVX2__)
enum { VBYTES = 32, MR = 6 };
#else
enum { VBYTES = 16, MR = 4 };
#endif
#if defined(CT_f32)
typedef float T;
#else
typedef double T;
#endif
typedef T V __attribute__((vector_size(VBYTES)));
typedef T U __attribute__((vector_size(VBYTES), aligned(sizeof(T)), may_alias));
enum {
    VL = VBYTES / sizeof(T),
    NR = 2 * VL,
    KC = 256,
    NEAR = 2048 / sizeof(T),
    FETCHED = 65536 / sizeof(T)
};
/* Products with strided rows of a, more than FAR_ROWS: so many inner steps and columns of b are
 * packed at once. These sizes are the same everywhere, and so are the bits on every set with fused
 * multiply-add: an element is the sum over its inner steps in blocks of KC (or KT), one after the
 * other. The columns do not count: tiles of one product may have more or fewer of them. */
enum { KT = 128, NT = 256, FAR_ROWS = 14 };
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define ALWAYS static inline __attribute__((always_inline))

ALWAYS V load(const T *p) { return *(const U *)p; }
ALWAYS void store(T *p, V v) { *(U *)p = v; }

/* c[R][NR] = a[R][k] b[k][NR], plus `from` if there is one; b moves by bstep elements an inner
 * step. Each inner step fetches the line of memory at `ahead` and the one after it into the cache;
 * `ahead` moves by hop. */
typedef struct Tile {
    int64_t k, ars, acs, bstep, crs;
    const T *a, *b;
    T *c;
    const T *from; /* c itself, a bias or NULL */
    int64_t frs;   /* from one of its rows to the next: 0 for a bias */
    const T *ahead;
    int64_t hop, astep; /* astep: of `ahead`, from one row of a to the next */
} Tile;
enum { LINE = 64 / sizeof(T), STEPS = 4 };

/* How a lies, as far as it is known when compiled: anyhow, in contiguous rows, or as pack_rows
 * leaves it. */
typedef enum Lie { ANYHOW, IN_ROWS, PACKED, LIES } Lie;
ALWAYS int64_t row_step(Lie lie, const Tile *t) { return lie == PACKED ? 1 : t->ars; }
ALWAYS int64_t inner_step(Lie lie, const Tile *t) {
    return lie == PACKED ? MR : lie == IN_ROWS ? 1 : t->acs;
}

/* Where the next inner step reads. Rows of a are reached from a pointer for every third row, so
 * that the addresses fit the registers. */
typedef struct Place {
    const T *rows[(MR + 2) / 3], *b, *ahead;
} Place;

ALWAYS void multiply(const int R, const Lie lie, const int steps, const Tile *t, Place *at,
                     V acc[MR][2]) {
    int64_t ars = row_step(lie, t), acs = inner_step(lie, t);
    UNROLL
    for (int u = 0; u < steps; u++) {
        V b0 = load(at->b), b1 = load(at->b + VL);
        at->b += t->bstep;
        __builtin_prefetch(at->ahead, 0, 2);
        __builtin_prefetch(at->ahead + LINE, 0, 2);
        at->ahead += t->hop;
        UNROLL
        for (int i = 0; i < R; i++) {
            T x = at->rows[i / 3][i % 3 * ars + u * acs];
            acc[i][0] += x * b0;
            acc[i][1] += x * b1;
        }
    }
    UNROLL
    for (int q = 0; q < (R + 2) / 3; q++) at->rows[q] += steps * acs;
}

ALWAYS void tile(const int R, const Lie lie, const Tile *t) {
    V acc[MR][2];
    Place at = {.b = t->b, .ahead = t->ahead};
    int64_t p = t->k;
    UNROLL
    for (int i = 0; i < R; i++) acc[i][0] = acc[i][1] = (V){0};
    UNROLL
    for (int q = 0; q < (R + 2) / 3; q++) at.rows[q] = t->a + 3 * q * row_step(lie, t);
    for (; p >= STEPS && lie != ANYHOW; p -= STEPS) multiply(R, lie, STEPS, t, &at, acc);
    for (; p > 0; p--) multiply(R, lie, 1, t, &at, acc);
    if (t->from) {
        UNROLL
        for (int i = 0; i < R; i++) {
            const T *from = t->from + i * t->frs;
            acc[i][0] += load(from);
            acc[i][1] += load(from + VL);
        }
    }
    UNROLL
    for (int i = 0; i < R; i++) {
        store(t->c + i * t->crs, acc[i][0]);
        store(t->c + i * t->crs + VL, acc[i][1]);
    }
}

typedef void TileFn(const Tile *t);
#define TILE(R)                                                                                    \
    static void anyhow_##R(const Tile *t) { tile(R, ANYHOW, t); }                                  \
    static void in_rows_##R(const Tile *t) { tile(R, IN_ROWS, t); }                                \
    static void packed_##R(const Tile *t) { tile(R, PACKED, t); }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
#if defined(__AVX2__)
TILE(5)
TILE(6)
#endif
#if defined(__AVX512F__)
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)
TILE(13)
TILE(14)
#endif

#if defined(__AVX512F__)
#define TILES(w)                                                                                   \
    {                                                                                              \
        NULL, w##_1, w##_2, w##_3, w##_4, w##_5, w##_6, w##_7, w##_8, w##_9, w##_10, w##_11,       \
            w##_12, w##_13, w##_14                                                                 \
    }
#elif defined(__AVX2__)
#define TILES(w)                                                                                   \
    { NULL, w##_1, w##_2, w##_3, w##_4, w##_5, w##_6 }
#else
#define TILES(w)                                                                                   \
    { NULL, w##_1, w##_2, w##_3, w##_4 }
#endif
static TileFn *const tiles[LIES][MR + 1] = {TILES(anyhow), TILES(in_rows), TILES(packed)};

static Lie lie_of(const Tile *t) {
    if (t->acs == 1) return IN_ROWS;
    return t->acs == MR && t->ars == 1 ? PACKED : ANYHOW;
}

/* ---- packing */

#if defined(CT_f32) && defined(__AVX512F__)
#define LOW  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif (defined(CT_f32) && defined(__AVX2__)) || (defined(CT_f64) && defined(__AVX512F__))
#define LOW  0, 8, 1, 9, 2, 10, 3, 11
#define HIGH 4, 12, 5, 13, 6, 14, 7, 15
#elif defined(CT_f32) || defined(__AVX2__)
#define LOW  0, 4, 1, 5
#define HIGH 2, 6, 3, 7
#else
#define LOW  0, 2
#define HIGH 1, 3
#endif

/* VL rows of VL elements, `from` apart, become columns: log2(VL) perfect shuffles. */
static void transpose_block(const T *src, int64_t from, T *dst, int64_t to) {
    V v[VL], w[VL];
    UNROLL
    for (int i = 0; i < VL; i++) v[i] = load(src + i * from);
    UNROLL
    for (int step = 1; step < VL; step *= 2) {
        UNROLL
        for (int i = 0; i < VL / 2; i++) {
            w[2 * i] = __builtin_shufflevector(v[i], v[i + VL / 2], LOW);
            w[2 * i + 1] = __builtin_shufflevector(v[i], v[i + VL / 2], HIGH);
        }
        UNROLL
        for (int i = 0; i < VL; i++) v[i] = w[i];
    }
    UNROLL
    for (int i = 0; i < VL; i++) store(dst + i * to, v[i]);
}

/* One panel: k rows of NR columns, `cols` of them from b, the rest 0. */
static void pack_panel(int64_t k, int64_t cols, const T *b, int64_t brs, int64_t bcs, T *dst) {
    if (cols < NR) memset(dst, 0, (size_t)(k * NR) * sizeof(T));
    if (bcs == 1) {
        for (int64_t p = 0; p < k; p++) {
            const T *src = b + p * brs;
            if (cols == NR) {
                store(dst + p * NR, load(src));
                store(dst + p * NR + VL, load(src + VL));
            } else {
                memcpy(dst + p * NR, src, (size_t)cols * sizeof(T));
            }
        }
        return;
    }
    int64_t j = 0, whole = brs == 1 ? k / VL * VL : 0;
    for (; whole && j + VL <= cols; j += VL) {
        for (int64_t p = 0; p < whole; p += VL)
            transpose_block(b + j * bcs + p, bcs, dst + p * NR + j, NR);
        for (int64_t p = whole; p < k; p++)
            for (int64_t i = j; i < j + VL; i++) dst[p * NR + i] = b[p + i * bcs];
    }
    for (; j < cols; j++)
        for (int64_t p = 0; p < k; p++) dst[p * NR + j] = b[p * brs + j * bcs];
}

static void pack(int64_t k, int64_t n, const void *b, int64_t brs, int64_t bcs, void *dst) {
    for (int64_t j = 0; j < n; j += NR)
        pack_panel(k, min_i64(NR, n - j), (const T *)b + j * bcs, brs, bcs, (T *)dst + j * k);
}

/* ---- products */

enum { MR_ROOM = (MR + VL - 1) / VL * VL };

/* Blocks of at most MR rows, about equal in size: their number, and the rows of the next of
 * `blocks` that hold `left` rows. */
ALWAYS uint32_t blocks_of(int64_t m) { return m <= MR ? 1 : (uint32_t)((m + MR - 1) / MR); }
ALWAYS int64_t block_rows(int64_t left, uint32_t blocks) {
    return blocks == 1 ? left : ((uint32_t)left + blocks - 1) / blocks;
}

/* All m rows of a with one panel of `cols` columns. */
static void rows_by_panel(int64_t m, int64_t cols, const Tile *all) {
    Lie lie = lie_of(all);
    uint32_t blocks = blocks_of(m);
    for (int64_t i = 0, rows; i < m; i += rows) {
        rows = block_rows(m - i, blocks--);
        Tile t = *all;
        t.a += i * t.ars;
        t.c += i * t.crs;
        if (t.from) t.from += i * t.frs;
        t.ahead += i * t.astep;
        if (cols == NR) {
            tiles[lie][rows](&t);
            continue;
        }
        T edge[MR * NR] __attribute__((aligned(64))), *to = t.c;
        const T *from = t.from;
        t.c = edge, t.crs = NR, t.from = NULL;
        tiles[lie][rows](&t);
        for (int64_t r = 0; r < rows; r++, to += all->crs)
            for (int64_t j = 0; j < cols; j++)
                to[j] = from ? from[r * t.frs + j] + edge[r * NR + j] : edge[r * NR + j];
    }
}

/* Where the sums of c's columns from j on start, before inner step p: in rows *frs apart. */
static const T *start_of(const Gemm *g, int64_t j, int64_t p, int64_t *frs) {
    bool is_begun = g->accumulate || p > 0;
    *frs = is_begun ? g->crs : 0;
    if (is_begun) return (const T *)g->c + j;
    return g->bias ? (const T *)g->bias + j : NULL;
}

/* The product without inner steps, or before them. */
static void clear(const Gemm *g) {
    for (int64_t i = 0; i < g->m && !g->accumulate; i++) {
        T *row = (T *)g->c + i * g->crs;
        if (g->bias)
            memcpy(row, g->bias, (size_t)g->n * sizeof(T));
        else
            memset(row, 0, (size_t)g->n * sizeof(T));
    }
}

/* Dot products of one vector with contiguous rows, in lanes of one width everywhere. */
typedef T Lanes __attribute__((vector_size(64)));
typedef T FarLanes __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));
enum { NLANES = 64 / sizeof(T) };

static void dots(const T *x, int64_t k, const T *rows, int64_t step, int64_t n, T *c,
                 const T *from) {
#define TERM(p) (*(const FarLanes *)(x + (p)) * *(const FarLanes *)(y + (p)))
    for (int64_t j = 0; j < n; j++) {
        const T *y = rows + j * step;
        Lanes s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
        int64_t p = 0;
        for (; p + 4 * NLANES <= k; p += 4 * NLANES) {
            s0 += TERM(p);
            s1 += TERM(p + NLANES);
            s2 += TERM(p + 2 * NLANES);
            s3 += TERM(p + 3 * NLANES);
        }
        for (; p + NLANES <= k; p += NLANES) s0 += TERM(p);
        if (p < k) {
            Lanes xs = {0}, ys = {0};
            memcpy(&xs, x + p, (size_t)(k - p) * sizeof(T));
            memcpy(&ys, y + p, (size_t)(k - p) * sizeof(T));
            s0 += xs * ys;
        }
        s0 = (s0 + s1) + (s2 + s3);
        T sum = 0;
        for (int i = 0; i < NLANES; i++) sum += s0[i];
        c[j] = from ? from[j] + sum : sum;
    }
#undef TERM
}

/* A block of rows of a, column by column: far strides cost more in address translation, once for
 * every panel, than this copy does. `whole`: MR_ROOM rows may be read. */
static void pack_rows(int64_t rows, int64_t k, const T *a, bool whole, Tile *t, T *dst) {
    if (whole && t->ars == 1) {
        for (int64_t p = 0; p < k; p++)
            for (int r = 0; r < MR_ROOM; r += VL) store(dst + p * MR + r, load(a + p * t->acs + r));
    } else {
        for (int64_t p = 0; p < k; p++)
            for (int64_t r = 0; r < rows; r++) dst[p * MR + r] = a[r * t->ars + p * t->acs];
    }
    t->a = dst;
    t->ars = 1;
    t->acs = MR;
}

/* c's columns [j0, j0 + n) with inner steps [p0, p0 + k): b packed as a whole, a block by block. */
static void run_part(const Gemm *g, int64_t j0, int64_t n, int64_t p0, int64_t k) {
    T b[KT * NT] __attribute__((aligned(64))), a[KT * MR + VL] __attribute__((aligned(64)));
    pack(k, n, (const T *)g->b + p0 * g->brs + j0 * g->bcs, g->brs, g->bcs, b);
    uint32_t blocks = blocks_of(g->m);
    int64_t frs;
    const T *from = start_of(g, j0, p0, &frs);
    for (int64_t i = 0, rows; i < g->m; i += rows) {
        rows = block_rows(g->m - i, blocks--);
        Tile t = {.ahead = b, .k = k, .ars = g->ars, .acs = g->acs, .bstep = NR, .crs = g->crs};
        t.frs = frs;
        pack_rows(rows, k, (const T *)g->a + i * g->ars + p0 * g->acs, i + MR_ROOM <= g->m, &t, a);
        for (int64_t j = 0; j < n; j += NR) {
            t.b = b + j * k;
            t.c = (T *)g->c + i * g->crs + j0 + j;
            t.from = from ? from + i * frs + j : NULL;
            rows_by_panel(rows, min_i64(NR, n - j), &t);
        }
    }
}

/* Few rows of a, and b's columns contiguous: c^T = b^T a^T turns the few rows and the result, not
 * all of b. */
static bool is_turned(const Gemm *g) {
    int64_t room = (g->m + NR - 1) / NR * NR;
    return g->acs == 1 && g->brs == 1 && g->bcs != 1 && g->k > 3 * NR && g->m <= 3 * NR &&
           room - g->m <= NR / 4;
}

/* c[cols][rows] = t^T + from, where rows of t have NR columns. */
static void add_turned(const T *t, int64_t rows, int64_t cols, T *c, int64_t crs, const T *from,
                       int64_t frs) {
    T turned[NR * NR] __attribute__((aligned(64)));
    for (int q = 0; q < 4; q++) {
        int64_t i = q / 2 * VL, j = q % 2 * VL;
        transpose_block(t + i * NR + j, NR, turned + j * NR + i, NR);
    }
    for (int64_t j = 0; j < cols; j++, c += crs) {
        const T *sums = turned + j * NR, *start = from ? from + j * frs : NULL;
        for (int v = 0; v < 2 && rows == NR; v++) {
            V sum = load(sums + v * VL);
            store(c + v * VL, start ? load(start + v * VL) + sum : sum);
        }
        for (int64_t i = 0; i < rows && rows < NR; i++) c[i] = start ? start[i] + sums[i] : sums[i];
    }
}

static void run_turned(const Gemm *g) {
    T x[KC * NR] __attribute__((aligned(64))), edge[NR * NR] __attribute__((aligned(64))) = {0};
    for (int64_t i = 0; i < g->m; i += NR)
        for (int64_t p = 0; p < g->k; p += KC) {
            int64_t k = min_i64(KC, g->k - p), cols = min_i64(NR, g->m - i);
            pack_panel(k, cols, (const T *)g->a + i * g->ars + p, 1, g->ars, x);
            for (int64_t j = 0; j < g->n; j += NR) {
                int64_t rows = min_i64(NR, g->n - j);
                const T *b = (const T *)g->b + j * g->bcs + p;
                int64_t frs;
                const T *from = start_of(g, j, p, &frs);
                rows_by_panel(rows, NR,
                              &(Tile){.k = k,
                                      .ars = g->bcs,
                                      .acs = 1,
                                      .bstep = NR,
                                      .crs = NR,
                                      .a = b,
                                      .b = x,
                                      .c = edge,
                                      .ahead = b + NR * g->bcs,
                                      .hop = LINE,
                                      .astep = g->bcs});
                add_turned(edge, rows, cols, (T *)g->c + i * g->crs + j, g->crs,
                           from ? from + i * frs : NULL, frs);
            }
        }
}

static void fetch_rows(const Gemm *g) {
    if (g->m * g->k > FETCHED || g->acs != 1) return;
    for (int64_t i = 0; i < g->m; i++)
        gemm_fetch((const T *)g->a + i * g->ars, g->k * (int64_t)sizeof(T));
}

static void run_any(const Gemm *given) {
    Gemm g = *given;
    if (g.k == 0) return clear(&g);
    if (g.n == 1 && g.m > 1 && g.crs == 1) { /* c^T = b^T a^T is a row */
        if (g.bias) clear(&g), g.accumulate = true;
        g = (Gemm){.m = 1, .n = given->m, .k = g.k, .c = g.c, .accumulate = g.accumulate};
        g.a = given->b, g.acs = given->brs;
        g.b = given->a, g.brs = given->acs, g.bcs = given->ars;
        g.crs = g.n;
    }
    if (g.m == 1 && g.acs == 1 && g.brs == 1)
        return dots(g.a, g.k, g.b, g.bcs, g.n, g.c, start_of(&g, 0, 0, &(int64_t){0}));
    if (g.acs != 1 && g.m > FAR_ROWS) {
        for (int64_t j = 0; j < g.n; j += NT)
            for (int64_t p = 0; p < g.k; p += KT)
                run_part(&g, j, min_i64(NT, g.n - j), p, min_i64(KT, g.k - p));
        return;
    }
    fetch_rows(&g);
    if (is_turned(&g)) return run_turned(&g);
    T panel[KC * NR] __attribute__((aligned(64)));
    for (int64_t j = 0; j < g.n; j += NR) {
        int64_t cols = min_i64(NR, g.n - j);
        for (int64_t p = 0; p < g.k; p += KC) {
            int64_t k = min_i64(KC, g.k - p);
            const T *b = (const T *)g.b + p * g.brs + j * g.bcs;
            const T *next = b + NR * g.bcs;
            int64_t step = g.brs, hop = g.bcs == 1 ? g.brs : LINE;
            if (g.bcs != 1 || cols < NR || g.m > (g.brs > NEAR ? MR : 3 * MR)) {
                pack_panel(k, cols, b, g.brs, g.bcs, panel);
                b = panel;
                step = NR;
            }
            int64_t frs;
            const T *from = start_of(&g, j, p, &frs);
            rows_by_panel(g.m, cols,
                          &(Tile){.k = k,
                                  .ars = g.ars,
                                  .acs = g.acs,
                                  .bstep = step,
                                  .crs = g.crs,
                                  .a = (const T *)g.a + p * g.acs,
                                  .b = b,
                                  .c = (T *)g.c + j,
                                  .from = from,
                                  .frs = frs,
                                  .ahead = next,
                                  .hop = hop});
        }
    }
}

static void run_panels(const Gemm *g) {
    if (g->k == 0) return clear(g);
    for (int64_t j = 0; j < g->n; j += NR) {
        int64_t frs;
        const T *from = start_of(g, j, 0, &frs);
        rows_by_panel(g->m, min_i64(NR, g->n - j),
                      &(Tile){.k = g->k,
                              .ars = g->ars,
                              .acs = g->acs,
                              .bstep = NR,
                              .crs = g->crs,
                              .a = g->a,
                              .b = (const T *)g->b + j * g->k,
                              .c = (T *)g->c + j,
                              .from = from,
                              .frs = frs,
                              .ahead = g->a});
    }
}

static void run(const Gemm *g) {
    FloatMode mode = float_flush();
    run_any(g);
    float_set_mode(mode);
}

static void run_packed(const Gemm *g) {
    FloatMode mode = float_flush();
    run_panels(g);
    float_set_mode(mode);
}

#define NAME2(isa, ct) gemm_##isa##_##ct
#define NAME1(isa, ct) NAME2(isa, ct)
extern const GemmKernels NAME1(ISA, CT);
const GemmKernels NAME1(ISA, CT) = {run, run_packed, pack, NR};
