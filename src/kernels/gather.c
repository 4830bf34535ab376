/* Reading rows of a target at offsets that index tensors give: index_get, gather, gather_nd,
 * embedding. Work is divided over the rows of the result. */
#include <string.h>

#include "base/parallel.h"
#include "kernels/copy.h"
#include "kernels/lookup.h"

enum { GRAIN = 32768 };

typedef struct Gather {
    Lookup look;
    const char *src;
    char *dst;
    DType dtype;
    int64_t size, row; /* bytes an element; elements a row */
    int64_t block;     /* tuples taken together */
    bool plain;        /* rows are contiguous on both sides */
    /* What one tuple reads, with the strides of both sides. */
    int rank;
    int64_t dims[MAX_RANK], to[MAX_RANK], from[MAX_RANK];
} Gather;

static void read_rows(const Gather *g, int64_t n, char *dst, const char *src,
                      const int64_t *offsets) {
    const Walk *rest = &g->look.rest;
    size_t nbytes = (size_t)(g->row * g->size);
    for (int64_t i = 0; i < n; i++, dst += nbytes) {
        const char *from = src + offsets[i] * g->size;
        if (g->plain)
            memcpy(dst, from, nbytes);
        else if (rest->rank == 1)
            gather_strided(g->row, g->size, dst, from, rest->strides[0][0] * g->size);
        else
            copy_strided(rest->rank, rest->dims, (Place){g->dtype, dst, rest->strides[1]},
                         (Place){g->dtype, (char *)from, rest->strides[0]});
    }
}

/* Units begin .. end - 1: a unit is a block of tuples under one outer index. The outer index varies
 * fastest, so that a block's offsets are made once. */
static void read_range(void *ctx, int64_t begin, int64_t end) {
    const Gather *g = ctx;
    int64_t offsets[LOOKUP_BLOCK], tuples = g->look.tuples, outer = g->look.outer, have = -1;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t t = unit / outer * g->block, n = min_i64(tuples - t, g->block);
        const char *src = g->src + unit % outer * g->look.outer_step * g->size;
        char *dst = g->dst + (unit % outer * tuples + t) * g->row * g->size;
        if (t != have) lookup_offsets(&g->look, t, n, offsets);
        have = t;
        if (g->row == 1 && g->plain)
            read_numbers(n, g->size, dst, src, offsets);
        else
            read_rows(g, n, dst, src, offsets);
    }
}

static bool is_plain(const Walk *rest) {
    return rest->rank == 1 && (rest->dims[0] <= 1 || rest->strides[0][0] == 1);
}

/* Tuples begin .. end - 1, each with all that it reads: outer axes and the rest. */
static void read_tuples(void *ctx, int64_t begin, int64_t end) {
    const Gather *g = ctx;
    int64_t offsets[LOOKUP_BLOCK];
    for (; begin < end; begin += LOOKUP_BLOCK) {
        int64_t n = min_i64(end - begin, LOOKUP_BLOCK);
        lookup_offsets(&g->look, begin, n, offsets);
        for (int64_t i = 0; i < n; i++)
            copy_strided(g->rank, g->dims,
                         (Place){g->dtype, g->dst + (begin + i) * g->row * g->size, g->to},
                         (Place){g->dtype, (char *)g->src + offsets[i] * g->size, g->from});
    }
}

static void set_tuple(Gather *g, const Buf *x, const IndexPlan *p, const Buf *out) {
    int outer = p->adjacent ? p->axis[0] : 0, after = out->type->rank - p->nrest;
    g->rank = outer + p->nrest;
    for (int i = 0; i < g->rank; i++) {
        int at = i < outer ? i : p->rest[i - outer], in_out = i < outer ? i : after + i - outer;
        g->dims[i] = x->type->dims[at];
        g->from[i] = x->strides[at];
        g->to[i] = out->strides[in_out];
    }
}

/* look is set up; x is the target, out is dense. */
static void gather_rows(Gather *g, const Buf *x, const IndexPlan *p, const Buf *out) {
    enum { FEW = 64 };
    g->src = x->data;
    g->dst = out->data;
    g->dtype = (DType)x->type->dtype;
    g->size = dtype_size(g->dtype);
    g->row = g->look.rest.count;
    g->plain = is_plain(&g->look.rest);
    if (type_count(out->type) == 0) return;
    int64_t each = g->look.outer * g->row;
    if (!g->look.is_even || (!g->plain && g->look.outer > 1 && each >= FEW)) {
        set_tuple(g, x, p, out);
        parallel_for(g->look.tuples, max_i64(GRAIN / each, 1), read_tuples, g);
        return;
    }
    g->block = min_i64(min_i64(g->look.tuples, LOOKUP_BLOCK), max_i64(GRAIN / g->row, 1));
    int64_t blocks = (g->look.tuples + g->block - 1) / g->block;
    parallel_for(blocks * g->look.outer, max_i64(GRAIN / (g->block * g->row), 1), read_range, g);
}

static void gather_plan(const Buf *x, const IndexPlan *p, const Buf *indices, const Buf *out) {
    Gather g;
    lookup_init(&g.look, x, p, indices, out);
    gather_rows(&g, x, p, out);
}

/* ---- index_get */

static Status read_plan(const KernelArgs *a, IndexPlan *p) {
    const TensorType *types[MAX_RANK];
    int n = a->nin - 1;
    for (int i = 0; i < n; i++) types[i] = a->in[1 + i].type;
    return index_plan("index_get", a->in[0].type, &((const attrs_index_get *)a->attrs)->axes, n,
                      types, p);
}

Status check_index_get(const KernelArgs *a) {
    IndexPlan p;
    TRY(read_plan(a, &p));
    for (int i = 0; i < p.n; i++)
        TRY(check_indices(a, 1 + i, a->in[0].type->dims[p.axis[i]], p.axis[i]));
    return OK;
}

void run_index_get(const KernelArgs *a) {
    IndexPlan p;
    if (read_plan(a, &p) == OK) gather_plan(&a->in[0], &p, a->in + 1, &a->out[0]);
}

/* ---- gather_nd */

Status check_gather_nd(const KernelArgs *a) {
    IndexPlan p;
    TRY(index_plan_nd("gather_nd", a->in[0].type, a->in[1].type, &p));
    return check_indices_nd(a, 1, &p, a->in[0].type);
}

void run_gather_nd(const KernelArgs *a) {
    IndexPlan p;
    Gather g;
    if (index_plan_nd("gather_nd", a->in[0].type, a->in[1].type, &p) != OK) return;
    lookup_init_nd(&g.look, &a->in[0], &p, &a->in[1], &a->out[0]);
    gather_rows(&g, &a->in[0], &p, &a->out[0]);
}

/* ---- gather */

/* The type without its first n axes. */
static TensorType without_first(const TensorType *t, int n) {
    TensorType r = {.dtype = t->dtype, .rank = (uint8_t)(t->rank - n)};
    memcpy(r.dims, t->dims + n, r.rank * sizeof *r.dims);
    return r;
}

/* Element k of b's first axes, which `type` lacks. */
static Buf part_of(const Buf *b, const TensorType *type, int64_t k) {
    int64_t at = 0;
    int first = b->type->rank - type->rank;
    for (int i = first - 1; i >= 0; i--) {
        at += k % b->type->dims[i] * b->strides[i];
        k /= b->type->dims[i];
    }
    return (Buf){type, b->strides + first, b->data + at * dtype_size((DType)type->dtype), true};
}

Status check_gather(const KernelArgs *a) {
    int64_t axis = ((const attrs_gather *)a->attrs)->axis;
    axis += axis < 0 ? a->in[0].type->rank : 0;
    return check_indices(a, 1, a->in[0].type->dims[axis], (int)axis);
}

/* One batch after the other. */
void run_gather(const KernelArgs *a) {
    const attrs_gather *at = a->attrs;
    const Buf *x = &a->in[0], *indices = &a->in[1], *out = &a->out[0];
    int64_t axis = at->axis + (at->axis < 0 ? x->type->rank : 0), batches = 1;
    int b = (int)(at->batch_dims + (at->batch_dims < 0 ? indices->type->rank : 0));
    for (int i = 0; i < b; i++) batches *= x->type->dims[i];
    TensorType xt = without_first(x->type, b), it = without_first(indices->type, b),
               ot = without_first(out->type, b);
    IndexPlan p;
    if (index_plan("gather", &xt, &INTLIST1(axis - b), 1, (const TensorType *[]){&it}, &p) != OK)
        return;
    for (int64_t k = 0; k < batches; k++) {
        Buf xk = part_of(x, &xt, k), ik = part_of(indices, &it, k), ok = part_of(out, &ot, k);
        gather_plan(&xk, &p, &ik, &ok);
    }
}

/* ---- embedding */

Status check_embedding(const KernelArgs *a) {
    return check_indices(a, 0, a->in[1].type->dims[0], 0);
}

void run_embedding(const KernelArgs *a) {
    IndexPlan p;
    if (index_plan("embedding", a->in[1].type, &INTLIST1(0), 1,
                   (const TensorType *[]){a->in[0].type}, &p) == OK)
        gather_plan(&a->in[1], &p, &a->in[0], &a->out[0]);
}
