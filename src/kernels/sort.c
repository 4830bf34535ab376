/* sort, argsort, topk, median, unique: lines along an axis as keys that order like the values.
 *
 * A key of up to 32 bits and its index share one 64-bit item; wider keys take two words. Keys of
 * floats are their bits, flipped so that they count up; NaN is the largest key, -0 equals 0. Lines
 * are shared out over a fixed number of slots, each with its own scratch. */
#include <string.h>

#include "base/parallel.h"
#include "kernels/kernel.h"
#include "kernels/loops.h"
#include "kernels/through.h"
#include "tensor/pool.h"

enum { FEW = 64, BLOCK = 512, SLOTS = 64, GRAIN = 4096 };

typedef struct Wide {
    uint64_t key, index;
} Wide;

#define ITEM          uint64_t
#define NAME(f)       narrow_##f
#define KEY_BYTES     4
#define BYTE_OF(x, k) ((x) >> (32 + 8 * (k)) & 255)
#define LESS(a, b)    ((a) < (b))
#include "kernels/sort_body.h"
#undef ITEM
#undef NAME
#undef KEY_BYTES
#undef BYTE_OF
#undef LESS
#define ITEM          Wide
#define NAME(f)       wide_##f
#define KEY_BYTES     8
#define BYTE_OF(x, k) ((x).key >> (8 * (k)) & 255)
#define LESS(a, b)    ((a).key < (b).key || ((a).key == (b).key && (a).index < (b).index))
#include "kernels/sort_body.h"

typedef struct Sort {
    const Buf *in;
    DType ct;
    int64_t n, inner, lines, slots, m; /* m: results a line */
    bool narrow, descending, median;
    Buf *values, *indices; /* values NULL: not wanted */
    char *scratch;
} Sort;

/* ---- keys */

static uint64_t key32(uint32_t bits) {
    if ((bits & 0x7fffffffu) > 0x7f800000u) return UINT32_MAX;
    if (bits == 0x80000000u) bits = 0;
    return bits >> 31 ? (uint32_t)~bits : bits | 0x80000000u;
}
static uint64_t key64(uint64_t bits) {
    if ((bits & ~(1ull << 63)) > 0x7ff0000000000000u) return UINT64_MAX;
    if (bits == 1ull << 63) bits = 0;
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

/* Keys of n values of the compute type. */
static void make_keys(DType ct, int64_t n, const void *values, uint64_t *keys) {
    switch (ct) {
    case DT_f32:
        for (int64_t i = 0; i < n; i++) keys[i] = key32(((const uint32_t *)values)[i]);
        break;
    case DT_f64:
        for (int64_t i = 0; i < n; i++) keys[i] = key64(((const uint64_t *)values)[i]);
        break;
    case DT_i32:
        for (int64_t i = 0; i < n; i++) keys[i] = ((const uint32_t *)values)[i] ^ 0x80000000u;
        break;
    case DT_i64:
        for (int64_t i = 0; i < n; i++) keys[i] = ((const uint64_t *)values)[i] ^ 1ull << 63;
        break;
    case DT_u64: memcpy(keys, values, (size_t)n * sizeof *keys); break;
    default:
        for (int64_t i = 0; i < n; i++) keys[i] = ((const uint8_t *)values)[i] != 0;
    }
}

static bool is_narrow(DType ct, int64_t n) {
    return (ct == DT_f32 || ct == DT_i32 || ct == DT_bool) && n < (int64_t)UINT32_MAX;
}
static int64_t item_size(const Sort *s) { return s->narrow ? 8 : (int64_t)sizeof(Wide); }

/* The line that begins at element `at`, as items. */
static void load_line(const Sort *s, int64_t at, void *items) {
    DType d = (DType)s->in->type->dtype;
    int64_t size = dtype_size(d);
    uint64_t raw[BLOCK], values[BLOCK], keys[BLOCK];
    for (int64_t done = 0; done < s->n; done += BLOCK) {
        int64_t n = min_i64(BLOCK, s->n - done);
        const char *src = s->in->data + (at + done * s->inner) * size;
        if (s->inner > 1) {
            for (int64_t i = 0; i < n; i++)
                memcpy((char *)raw + i * size, src + i * s->inner * size, (size_t)size);
            src = (const char *)raw;
        }
        loops(s->ct)->load[d](n, values, src);
        make_keys(s->ct, n, values, keys);
        uint64_t flip = !s->descending ? 0 : s->narrow ? UINT32_MAX : UINT64_MAX;
        for (int64_t i = 0; i < n; i++)
            if (s->narrow)
                ((uint64_t *)items)[done + i] = (keys[i] ^ flip) << 32 | (uint64_t)(done + i);
            else
                ((Wide *)items)[done + i] = (Wide){keys[i] ^ flip, (uint64_t)(done + i)};
    }
}

static int64_t index_of(const Sort *s, const void *items, int64_t i) {
    if (s->narrow) return (int64_t)(((const uint64_t *)items)[i] & UINT32_MAX);
    return (int64_t)((const Wide *)items)[i].index;
}
static uint64_t key_of(const Sort *s, const void *items, int64_t i) {
    return s->narrow ? ((const uint64_t *)items)[i] >> 32 : ((const Wide *)items)[i].key;
}

static void *order(const Sort *s, int64_t k, void *items, void *spare) {
    if (s->narrow) return narrow_first(s->n, k, items, spare);
    return wide_first(s->n, k, items, spare);
}

/* ---- lines */

static void put(const Sort *s, int64_t from, int64_t to, int64_t index) {
    ((int64_t *)s->indices->data)[to] = index;
    if (!s->values) return;
    const char *src = s->in->data;
    char *dst = s->values->data;
    int64_t at = from + index * s->inner;
    switch (dtype_size(s->in->type->dtype)) {
    case 1: dst[to] = src[at]; break;
    case 2: ((uint16_t *)dst)[to] = ((const uint16_t *)src)[at]; break;
    case 4: ((uint32_t *)dst)[to] = ((const uint32_t *)src)[at]; break;
    default: ((uint64_t *)dst)[to] = ((const uint64_t *)src)[at];
    }
}

/* Which sorted item is the median: the first NaN if there is one. */
static int64_t middle(const Sort *s, const void *items) {
    uint64_t nan = s->narrow ? UINT32_MAX : UINT64_MAX;
    int64_t i = s->n - 1;
    if (!dtype_is_float(s->ct) || key_of(s, items, i) != nan) return (s->n - 1) / 2;
    while (i > 0 && key_of(s, items, i - 1) == nan) i--;
    return i;
}

static void slot_range(void *ctx, int64_t begin, int64_t end) {
    const Sort *s = ctx;
    int64_t bytes = s->n * item_size(s);
    for (int64_t slot = begin; slot < end; slot++) {
        char *items = s->scratch + 2 * slot * bytes;
        for (int64_t line = slot; line < s->lines; line += s->slots) {
            int64_t outer = line / s->inner, j = line % s->inner;
            int64_t from = outer * s->n * s->inner + j, to = outer * s->m * s->inner + j;
            load_line(s, from, items);
            const void *done = order(s, s->median ? s->n : s->m, items, items + bytes);
            int64_t first = s->median ? middle(s, done) : 0;
            for (int64_t i = 0; i < s->m; i++)
                put(s, from, to + i * s->inner, index_of(s, done, first + i));
        }
    }
}

static int64_t slots_for(int64_t lines, int64_t n, int64_t size) {
    int64_t most = ((int64_t)16 << 20) / max_i64(2 * n * size, 1);
    return max_i64(min_i64(min_i64(lines, most), SLOTS), 1);
}

static int64_t axis_of(const KernelArgs *a) {
    return a->op->id == OP_topk ? ((const attrs_topk *)a->attrs)->dim : *(const int64_t *)a->attrs;
}

/* Only sizes are read: prepare calls it too. */
static void sort_init(Sort *s, const KernelArgs *a) {
    const TensorType *t = a->in[0].type;
    int axis = 0;
    *s = (Sort){.in = &a->in[0], .n = 1, .inner = 1};
    if (t->rank && type_axis(a->op->name, axis_of(a), t->rank, &axis) == OK) {
        s->n = t->dims[axis];
        for (int i = axis + 1; i < t->rank; i++) s->inner *= t->dims[i];
    }
    s->ct = dtype_info[t->dtype].compute;
    s->narrow = is_narrow(s->ct, s->n);
    s->lines = s->n ? type_count(t) / s->n : 0;
    s->slots = slots_for(s->lines, s->n, item_size(s));
    s->m = s->n;
}

static void run(const KernelArgs *a, Sort *s) {
    s->scratch = a->scratch;
    s->indices = &a->out[a->nout - 1];
    if (a->nout == 2) s->values = &a->out[0];
    if (s->lines == 0 || s->m == 0) return;
    int64_t each = s->n * s->lines / s->slots;
    parallel_for(s->slots, max_i64(GRAIN / max_i64(each, 1), 1), slot_range, s);
}

void run_sort(const KernelArgs *a) {
    Sort s;
    sort_init(&s, a);
    s.descending = ((const attrs_sort *)a->attrs)->descending;
    run(a, &s);
}

void run_topk(const KernelArgs *a) {
    const attrs_topk *at = a->attrs;
    Sort s;
    sort_init(&s, a);
    s.descending = at->largest;
    s.m = at->k;
    run(a, &s);
}

void run_median(const KernelArgs *a) {
    Sort s;
    sort_init(&s, a);
    s.median = true;
    s.m = 1;
    run(a, &s);
}

Status prepare_sort(const KernelArgs *a, void **state, size_t *scratch) {
    (void)state;
    Sort s;
    sort_init(&s, a);
    *scratch = (size_t)(2 * s.slots * s.n * item_size(&s));
    return OK;
}
void release_sort(void *state) { (void)state; }

/* ---- unique: the whole input is one line */

static void unique_init(Sort *s, const KernelArgs *a) {
    *s = (Sort){.in = &a->in[0], .inner = 1, .lines = 1, .slots = 1};
    s->n = s->m = type_count(a->in[0].type);
    s->ct = dtype_info[a->in[0].type->dtype].compute;
    s->narrow = is_narrow(s->ct, s->n);
}

Status measure_unique(const KernelArgs *a, TensorType *out) {
    Sort s;
    unique_init(&s, a);
    size_t bytes = (size_t)(s.n * item_size(&s));
    void *items;
    TRY(pool_get(2 * bytes, "unique", &items));
    int64_t count = s.n > 0;
    if (s.n) {
        load_line(&s, 0, items);
        const void *done = order(&s, s.n, items, (char *)items + bytes);
        for (int64_t i = 1; i < s.n; i++) count += key_of(&s, done, i) != key_of(&s, done, i - 1);
    }
    pool_put(items, 2 * bytes);
    out[0].dims[0] = out[2].dims[0] = count;
    return OK;
}

/* Values and counts in the order of their first element; inverse holds their places when sorted,
 * place[] takes in the new one of each. */
static void number_by_appearance(const KernelArgs *a, int64_t n, int64_t *place) {
    int64_t *inverse = (int64_t *)a->out[1].data, *counts = (int64_t *)a->out[2].data;
    int64_t size = dtype_size(a->in[0].type->dtype), count = 0;
    for (int64_t k = 0; k < a->out[0].type->dims[0]; k++) place[k] = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t *to = &place[inverse[i]];
        if (*to < 0) {
            *to = count++;
            counts[*to] = 0;
            memcpy(a->out[0].data + *to * size, a->in[0].data + i * size, (size_t)size);
        }
        counts[inverse[i] = *to]++;
    }
}

void run_unique(const KernelArgs *a) {
    Sort s;
    unique_init(&s, a);
    if (s.n == 0) return;
    int64_t *inverse = (int64_t *)a->out[1].data, *counts = (int64_t *)a->out[2].data;
    load_line(&s, 0, a->scratch);
    const void *done = order(&s, s.n, a->scratch, (char *)a->scratch + s.n * item_size(&s));
    int64_t size = dtype_size(a->in[0].type->dtype), at = -1;
    for (int64_t i = 0; i < s.n; i++) {
        int64_t index = index_of(&s, done, i);
        if (i == 0 || key_of(&s, done, i) != key_of(&s, done, i - 1)) {
            counts[++at] = 0;
            memcpy(a->out[0].data + at * size, a->in[0].data + index * size, (size_t)size);
        }
        counts[at]++;
        inverse[index] = at;
    }
    if (!((const attrs_unique *)a->attrs)->sorted)
        number_by_appearance(a, s.n, (int64_t *)a->scratch);
}

Status prepare_unique(const KernelArgs *a, void **state, size_t *scratch) {
    (void)state;
    Sort s;
    unique_init(&s, a);
    *scratch = (size_t)(2 * s.n * item_size(&s));
    return OK;
}
void release_unique(void *state) { (void)state; }

/* ---- searchsorted, in the compute types */

typedef struct Search {
    const KernelArgs *a;
    int64_t n, per; /* length of a sequence; values a sequence (0: one sequence for all) */
    bool right;
} Search;

/* m values at a time, m <= TOGETHER: every search halves the same length, so that their loads
 * overlap and no branch depends on data. NaN counts as the largest: among numbers it compares as
 * false, which is right, and as a value sought it goes to the first NaN or the end. */
enum { TOGETHER = 16 };
#define HALVE(up)                                                                                  \
    for (int64_t left = n, half; left > 0; left -= half) {                                         \
        half = left - left / 2;                                                                    \
        for (int64_t j = 0; j < m; j++) low[j] += x[low[j] + half - 1] up ? half : 0;              \
        if (left == 1) break;                                                                      \
    }
#define SEARCH(T)                                                                                  \
    static void search_##T(const Search *s, int64_t at, int64_t m, int64_t *low) {                 \
        int64_t n = s->n;                                                                          \
        const T *x = (const T *)s->a->in[0].data + (s->per ? at / s->per * n : 0);                 \
        const T *v = (const T *)s->a->in[1].data + at;                                             \
        for (int64_t j = 0; j < m; j++) low[j] = 0;                                                \
        if (s->right)                                                                              \
            HALVE(<= v[j])                                                                         \
        else                                                                                       \
            HALVE(< v[j])                                                                          \
        for (int64_t j = 0; j < m; j++)                                                            \
            if (v[j] != v[j])                                                                      \
                for (low[j] = n; !s->right && low[j] > 0 && x[low[j] - 1] != x[low[j] - 1];)       \
                    low[j]--;                                                                      \
    }
SEARCH(float)
SEARCH(double)
SEARCH(int32_t)
SEARCH(int64_t)
SEARCH(uint64_t)
SEARCH(uint8_t)

static void search_range(void *ctx, int64_t begin, int64_t end) {
    const Search *s = ctx;
    int64_t *out = (int64_t *)s->a->out[0].data;
    while (begin < end) {
        int64_t m = min_i64(end - begin, TOGETHER);
        if (s->per) m = min_i64(m, s->per - begin % s->per);
        switch (s->a->in[0].type->dtype) {
        case DT_f32: search_float(s, begin, m, out + begin); break;
        case DT_f64: search_double(s, begin, m, out + begin); break;
        case DT_i32: search_int32_t(s, begin, m, out + begin); break;
        case DT_i64: search_int64_t(s, begin, m, out + begin); break;
        case DT_u64: search_uint64_t(s, begin, m, out + begin); break;
        default: search_uint8_t(s, begin, m, out + begin); break;
        }
        begin += m;
    }
}

void run_searchsorted_plain(const KernelArgs *a) {
    const TensorType *t = a->in[0].type, *v = a->in[1].type;
    Search s = {a, t->dims[t->rank - 1], 0, ((const attrs_searchsorted *)a->attrs)->right};
    if (t->rank > 1) s.per = v->dims[v->rank - 1];
    parallel_for(type_count(v), 1024, search_range, &s);
}
void run_searchsorted_any(const KernelArgs *a) { through_run(a, run_searchsorted_plain); }
