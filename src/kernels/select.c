/* one_hot, and what depends on masks: masked_select, masked_scatter, nonzero. Results of a size
 * that depends on values are counted first. */
#include <string.h>

#include "base/parallel.h"
#include "kernels/fill.h"
#include "kernels/lookup.h"
#include "kernels/loops.h"
#include "kernels/scatter.h"

/* ---- one_hot */

Status check_one_hot(const KernelArgs *a) {
    return check_indices(a, 0, ((const attrs_one_hot *)a->attrs)->depth, -1);
}

typedef struct OneHot {
    const Buf *x, *out;
    int64_t depth, on, off;
    int size;
} OneHot;

#define FILL_ROWS(T)                                                                               \
    for (int64_t i = 0; i < m; i++) {                                                              \
        T *row = (T *)to + i * h->depth;                                                           \
        for (int64_t k = 0; k < h->depth; k++) row[k] = (T)h->off;                                 \
        row[index[i]] = (T)h->on;                                                                  \
    }

/* The new axis is the last: rows of `depth` results one after the other. */
static void one_hot_rows(void *ctx, int64_t begin, int64_t end) {
    const OneHot *h = ctx;
    DType d = (DType)h->x->type->dtype;
    int64_t index[LOOKUP_BLOCK];
    for (int64_t at = begin; at < end; at += LOOKUP_BLOCK) {
        int64_t m = min_i64(end - at, LOOKUP_BLOCK);
        char *to = h->out->data + at * h->depth * h->size;
        load_indices(d, h->x->data + at * dtype_size(d), 1, h->depth, m, index);
        switch (h->size) {
        case 1: FILL_ROWS(uint8_t) break;
        case 2: FILL_ROWS(uint16_t) break;
        case 4: FILL_ROWS(uint32_t) break;
        default: FILL_ROWS(uint64_t)
        }
    }
}
#undef FILL_ROWS

/* out is (outer, depth, inner) with the new axis in the middle. */
void run_one_hot(const KernelArgs *a) {
    const attrs_one_hot *at = a->attrs;
    const Buf *x = &a->in[0], *out = &a->out[0];
    int64_t axis = at->axis + (at->axis < 0 ? out->type->rank : 0), inner = 1;
    for (int64_t i = axis; i < x->type->rank; i++) inner *= x->type->dims[i];
    DType d = (DType)x->type->dtype, to = (DType)out->type->dtype;
    int64_t n = type_count(x->type), size = dtype_size(to), on = 0, index[LOOKUP_BLOCK];
    int64_t first = 0, column = 0; /* where the outer index begins in out */
    number_bytes(to, at->on_value, &on);
    if (inner == 1 && size <= 8) {
        OneHot h = {.x = x, .out = out, .depth = at->depth, .on = on};
        h.size = (int)size;
        number_bytes(to, at->off_value, &h.off);
        parallel_for(n, max_i64(1, 16384 / max_i64(1, at->depth)), one_hot_rows, &h);
        return;
    }
    fill_number(out, at->off_value);
    for (int64_t begin = 0; begin < n; begin += LOOKUP_BLOCK) {
        int64_t m = min_i64(n - begin, LOOKUP_BLOCK);
        load_indices(d, x->data + begin * dtype_size(d), 1, at->depth, m, index);
        for (int64_t i = 0; i < m; i++) {
            memcpy(out->data + (first + index[i] * inner + column) * size, &on, (size_t)size);
            if (++column < inner) continue;
            column = 0;
            first += at->depth * inner;
        }
    }
}

/* ---- masks: x and mask walked together, row by row */

typedef struct Masked {
    Walk walk; /* operand 0 the tensor, 1 the mask */
    const Buf *x, *mask;
} Masked;

static void masked_init(Masked *m, const TensorType *shape, const Buf *x, const Buf *mask) {
    m->x = x;
    m->mask = mask;
    walk_init(&m->walk, shape, 2, (const TensorType *[]){x->type, mask->type},
              (const int64_t *[]){x->strides, mask->strides});
}

static int64_t count_row(const Masked *m, const WalkPlace *p) {
    int last = m->walk.rank - 1;
    int64_t n = m->walk.dims[last], step = m->walk.strides[1][last], count = 0;
    const char *mask = m->mask->data + p->offset[1];
    for (int64_t i = 0; i < n; i++) count += mask[i * step] != 0;
    return count;
}

static int64_t count_masked(const Masked *m) {
    int64_t row = m->walk.dims[m->walk.rank - 1], count = 0;
    WalkPlace p;
    if (m->walk.count == 0) return 0;
    walk_seek(&m->walk, 0, &p);
    for (int64_t done = 0; done < m->walk.count; done += row) {
        count += count_row(m, &p);
        walk_step(&m->walk, &p, row);
    }
    return count;
}

Status measure_masked_select(const KernelArgs *a, TensorType *out) {
    TensorType both;
    Masked m;
    TRY(type_broadcast("masked_select", a->in[0].type, a->in[1].type, &both));
    masked_init(&m, &both, &a->in[0], &a->in[1]);
    out->dims[0] = count_masked(&m);
    return OK;
}

/* Elements where the mask holds go to dst, which moves on up to `end`. Every element is stored and
 * only those selected are kept: masks are hard to predict. */
static char *select_row(const Masked *m, const WalkPlace *p, char *dst, const char *end) {
    int last = m->walk.rank - 1;
    int64_t n = m->walk.dims[last], step = m->walk.strides[1][last];
    int64_t size = dtype_size((DType)m->x->type->dtype), from = m->walk.strides[0][last] * size;
    const char *mask = m->mask->data + p->offset[1], *src = m->x->data + p->offset[0] * size;
    switch (size) {
#define SELECT(T)                                                                                  \
    for (int64_t i = 0; i < n && dst < end; i++) {                                                 \
        *(T *)dst = *(const T *)(src + i * from);                                                  \
        dst += mask[i * step] ? sizeof(T) : 0;                                                     \
    }                                                                                              \
    break
    case 1: SELECT(uint8_t);
    case 2: SELECT(uint16_t);
    case 4: SELECT(uint32_t);
    default: SELECT(uint64_t);
#undef SELECT
    }
    return dst;
}

void run_masked_select(const KernelArgs *a) {
    TensorType both;
    Masked m;
    WalkPlace p;
    char *dst = a->out[0].data;
    if (type_broadcast("masked_select", a->in[0].type, a->in[1].type, &both) != OK) return;
    masked_init(&m, &both, &a->in[0], &a->in[1]);
    if (m.walk.count == 0) return;
    int64_t row = m.walk.dims[m.walk.rank - 1];
    const char *end = dst + a->out[0].type->dims[0] * dtype_size((DType)a->in[0].type->dtype);
    walk_seek(&m.walk, 0, &p);
    for (int64_t done = 0; done < m.walk.count; done += row) {
        dst = select_row(&m, &p, dst, end);
        walk_step(&m.walk, &p, row);
    }
}

/* The mask is walked in the sizes of the input; the input itself plays no part. */
Status check_masked_scatter(const KernelArgs *a) {
    Masked m;
    masked_init(&m, a->in[0].type, &a->in[0], &a->in[1]);
    int64_t need = count_masked(&m), have = type_count(a->in[2].type);
    if (need <= have) return OK;
    return FAIL(VALUE, "masked_scatter: mask holds at %lld places, source has %lld elements",
                (long long)need, (long long)have);
}

void run_masked_scatter(const KernelArgs *a) {
    const Buf *out = &a->out[0], *mask = &a->in[1];
    int64_t strides[MAX_RANK], size = dtype_size((DType)out->type->dtype);
    const char *src = a->in[2].data;
    Masked m;
    WalkPlace p;
    scatter_start(&a->in[0], out);
    type_strides(out->type, strides);
    Buf dense = {out->type, strides, out->data, true};
    masked_init(&m, out->type, &dense, mask);
    if (m.walk.count == 0) return;
    int last = m.walk.rank - 1;
    int64_t row = m.walk.dims[last], step = m.walk.strides[1][last];
    walk_seek(&m.walk, 0, &p);
    for (int64_t done = 0; done < m.walk.count; done += row) {
        for (int64_t i = 0; i < row; i++) {
            if (!mask->data[p.offset[1] + i * step]) continue;
            memcpy(out->data + (p.offset[0] + i * m.walk.strides[0][last]) * size, src,
                   (size_t)size);
            src += size;
        }
        walk_step(&m.walk, &p, row);
    }
}

/* ---- nonzero */

/* Truth of n elements from `at` on of a dense tensor, a byte each. */
static void load_truth(const Buf *x, int64_t at, int64_t n, uint8_t *out) {
    DType d = (DType)x->type->dtype;
    loops(DT_bool)->load[d](n, out, x->data + at * dtype_size(d));
}

/* The elements in parts of equal size, which are counted, then listed from where the counts before
 * them end. */
enum { PARTS = 64, PART_GRAIN = 16384 };
typedef struct Nonzero {
    const Buf *x;
    int64_t n, part, start[PARTS + 1];
    int64_t *dst;
} Nonzero;

static int64_t parts(const Nonzero *z) { return (z->n + z->part - 1) / z->part; }

static int64_t count_part(const Nonzero *z, int64_t part) {
    uint8_t truth[LOOKUP_BLOCK];
    int64_t at = part * z->part, end = min_i64(at + z->part, z->n), count = 0;
    for (; at < end; at += LOOKUP_BLOCK) {
        int64_t m = min_i64(end - at, LOOKUP_BLOCK);
        int32_t found = 0;
        load_truth(z->x, at, m, truth);
        for (int64_t i = 0; i < m; i++) found += truth[i];
        count += found;
    }
    return count;
}

static void count_parts(void *ctx, int64_t begin, int64_t end) {
    Nonzero *z = ctx;
    for (int64_t k = begin; k < end; k++) z->start[k + 1] = count_part(z, k);
}

static void count_nonzeros(Nonzero *z, const Buf *x) {
    *z = (Nonzero){.x = x, .n = type_count(x->type)};
    z->part = max_i64((z->n + PARTS - 1) / PARTS, PART_GRAIN);
    parallel_for(parts(z), 1, count_parts, z);
    for (int64_t k = 0; k < parts(z); k++) z->start[k + 1] += z->start[k];
}

Status measure_nonzero(const KernelArgs *a, TensorType *out) {
    Nonzero z;
    count_nonzeros(&z, &a->in[0]);
    out->dims[0] = z.start[parts(&z)];
    return OK;
}

/* index moves on by `step` elements. */
static void move_index(const TensorType *t, int64_t *index, int64_t step) {
    for (int d = t->rank - 1; d >= 0 && step; d--) {
        int64_t i = index[d] + step;
        step = i < t->dims[d] ? 0 : i / t->dims[d];
        index[d] = i - step * t->dims[d];
    }
}

/* Places are stored for every element of a block and kept for those that are not 0. */
static void list_part(const Nonzero *z, int64_t part) {
    const TensorType *t = z->x->type;
    uint8_t truth[LOOKUP_BLOCK];
    int64_t place[LOOKUP_BLOCK + 1], index[MAX_RANK] = {0}, seen = 0;
    int64_t at = part * z->part, end = min_i64(at + z->part, z->n);
    int64_t *dst = z->dst + z->start[part] * t->rank;
    for (; at < end; at += LOOKUP_BLOCK) {
        int64_t m = min_i64(end - at, LOOKUP_BLOCK), found = 0;
        load_truth(z->x, at, m, truth);
        for (int64_t i = 0; i < m; i++) {
            place[found] = at + i;
            found += truth[i];
        }
        if (t->rank == 1) {
            memcpy(dst, place, (size_t)found * sizeof *dst);
            dst += found;
            continue;
        }
        for (int64_t i = 0; i < found; i++) {
            move_index(t, index, place[i] - seen);
            seen = place[i];
            for (int d = 0; d < t->rank; d++) *dst++ = index[d];
        }
    }
}

static void list_parts(void *ctx, int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; k++) list_part(ctx, k);
}

/* Counted again: what measure found is not handed on. */
void run_nonzero(const KernelArgs *a) {
    Nonzero z;
    count_nonzeros(&z, &a->in[0]);
    z.dst = (int64_t *)a->out[0].data;
    parallel_for(parts(&z), 1, list_parts, &z);
}
