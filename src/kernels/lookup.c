/* Turning index tensors into offsets, and refusing those outside their axis. */
#include "kernels/lookup.h"

#include <stdio.h>
#include <string.h>

#include "kernels/loops.h"

/* ---- setting up */

static void init_target(Lookup *l, const Buf *target, const IndexPlan *p) {
    TensorType outer = {.rank = (uint8_t)(p->adjacent ? p->axis[0] : 0)};
    memcpy(outer.dims, target->type->dims, outer.rank * sizeof *outer.dims);
    Walk w;
    walk_init(&w, &outer, 1, (const TensorType *[]){&outer}, &target->strides);
    l->outer = w.count;
    l->outer_step = w.strides[0][0];
    l->is_even = w.rank == 1;
    l->tuples = type_count(&p->tuples);
    for (int k = 0; k < p->n; k++) {
        l->size[k] = target->type->dims[p->axis[k]];
        l->step[k] = target->strides[p->axis[k]];
    }
}

/* The other tensor's axes in the result, broadcast; those of the rest beside the target's. */
static void init_other(Lookup *l, const Buf *target, const IndexPlan *p, const Buf *other) {
    int64_t strides[MAX_RANK], target_strides[MAX_RANK];
    TensorType result, lead = {0}, rest = {0};
    if (index_result("", target->type, p, &result) != OK) return; /* infer has seen it */
    for (int i = 0; i < result.rank; i++) {
        int at = i - (result.rank - other->type->rank);
        strides[i] = at >= 0 && other->type->dims[at] != 1 ? other->strides[at] : 0;
    }
    lead.rank = (uint8_t)(result.rank - p->nrest);
    memcpy(lead.dims, result.dims, lead.rank * sizeof *lead.dims);
    rest.rank = (uint8_t)p->nrest;
    for (int i = 0; i < p->nrest; i++) {
        rest.dims[i] = target->type->dims[p->rest[i]];
        target_strides[i] = target->strides[p->rest[i]];
    }
    walk_init(&l->lead, &lead, 1, (const TensorType *[]){&lead}, (const int64_t *[]){strides});
    walk_init(&l->rest, &rest, 2, (const TensorType *[]){&rest, &rest},
              (const int64_t *[]){target_strides, strides + lead.rank});
}

void lookup_init(Lookup *l, const Buf *target, const IndexPlan *p, const Buf *indices,
                 const Buf *other) {
    const TensorType *types[MAX_RANK];
    const int64_t *strides[MAX_RANK];
    for (int k = 0; k < p->n; k++) {
        types[k] = indices[k].type;
        strides[k] = indices[k].strides;
        l->dtype[k] = (DType)indices[k].type->dtype;
        l->data[k] = indices[k].data;
    }
    init_target(l, target, p);
    init_other(l, target, p, other);
    walk_init(&l->walk, &p->tuples, p->n, types, strides);
}

void lookup_init_nd(Lookup *l, const Buf *target, const IndexPlan *p, const Buf *indices,
                    const Buf *other) {
    const TensorType *types[MAX_RANK];
    const int64_t *strides[MAX_RANK];
    for (int k = 0; k < p->n; k++) {
        types[k] = &p->tuples;
        strides[k] = indices->strides;
        l->dtype[k] = (DType)indices->type->dtype;
        l->data[k] = indices->data +
                     k * indices->strides[p->tuples.rank] * dtype_size((DType)indices->type->dtype);
    }
    init_target(l, target, p);
    init_other(l, target, p, other);
    walk_init(&l->walk, &p->tuples, p->n, types, strides);
}

/* ---- loading */

/* A negative index counts from the end; without a branch, which mixed signs would miss. */
static inline int64_t from_start(int64_t v, int64_t size) { return v + (size & (v >> 63)); }

#define LOAD(T, index_step)                                                                        \
    for (int64_t i = 0; i < n; i++)                                                                \
    out[i] = r.start + i * r.along + from_start(((const T *)src)[i * (index_step)], size) * r.by

/* n indices, at most a block. */
static void load_block(DType dtype, const char *src, int64_t step, int64_t size, OffsetRule r,
                       int64_t n, int64_t *out) {
    int64_t raw[LOOKUP_BLOCK], wide[LOOKUP_BLOCK];
    if (dtype == DT_i32 && step == 1) {
        LOAD(int32_t, 1);
    } else if (dtype == DT_i64 && step == 1) {
        LOAD(int64_t, 1);
    } else if (dtype == DT_i32) {
        LOAD(int32_t, step);
    } else if (dtype == DT_i64) {
        LOAD(int64_t, step);
    } else {
        gather_strided(n, dtype_size(dtype), raw, src, step * dtype_size(dtype));
        loops(DT_i64)->load[dtype](n, wide, raw);
        for (int64_t i = 0; i < n && dtype == DT_u64; i++)
            if (wide[i] < 0) wide[i] = INT64_MAX; /* beyond every axis */
        src = (const char *)wide;
        LOAD(int64_t, 1);
    }
}
#undef LOAD

void load_offsets(DType dtype, const char *src, int64_t step, int64_t size, OffsetRule r, int64_t n,
                  int64_t *out) {
    for (int64_t done = 0; done < n; done += LOOKUP_BLOCK) {
        load_block(dtype, src + done * step * dtype_size(dtype), step, size, r,
                   min_i64(n - done, LOOKUP_BLOCK), out + done);
        r.start += LOOKUP_BLOCK * r.along;
    }
}

void load_indices(DType dtype, const char *src, int64_t step, int64_t size, int64_t n,
                  int64_t *out) {
    load_offsets(dtype, src, step, size, (OffsetRule){0, 0, 1}, n, out);
}

void read_numbers(int64_t n, int64_t size, char *dst, const char *src, const int64_t *offsets) {
    switch (size) {
#define READ(T)                                                                                    \
    for (int64_t i = 0; i < n; i++) ((T *)dst)[i] = ((const T *)src)[offsets[i]];                  \
    break
    case 1: READ(uint8_t);
    case 2: READ(uint16_t);
    case 4: READ(uint32_t);
    default: READ(uint64_t);
#undef READ
    }
}

void lookup_offsets(const Lookup *l, int64_t t, int64_t n, int64_t *offsets) {
    int64_t block[LOOKUP_BLOCK];
    int last = l->walk.rank - 1;
    WalkPlace p;
    walk_seek(&l->walk, t, &p);
    for (int64_t done = 0; done < n;) {
        int64_t m = min_i64(n - done, l->walk.dims[last] - p.index[last]);
        for (int k = 0; k < l->walk.nops; k++) {
            const char *src = l->data[k] + p.offset[k] * dtype_size(l->dtype[k]);
            load_offsets(l->dtype[k], src, l->walk.strides[k][last], l->size[k],
                         (OffsetRule){.by = l->step[k]}, m, k ? block : offsets + done);
            for (int64_t i = 0; k && i < m; i++) offsets[done + i] += block[i];
        }
        walk_step(&l->walk, &p, m);
        done += m;
    }
}

/* ---- checking */

/* "input_indices[1, 2]" for element `at` (row-major) of input i. */
static void name_place(const KernelArgs *a, int i, int64_t at, char *buf, size_t size) {
    SigInput sig[16];
    int n = op_signature(a->op, sig);
    const TensorType *t = a->in[i].type;
    int64_t index[MAX_RANK];
    for (int d = t->rank - 1; d >= 0; d--) {
        index[d] = at % t->dims[d];
        at /= t->dims[d];
    }
    int k = i < n ? i : n - 1;
    size_t used = (size_t)snprintf(buf, size, "%s", sig[k].name);
    if (sig[k].is_variadic) used += (size_t)snprintf(buf + used, size - used, "[%d]", i - k);
    for (int d = 0; d < t->rank; d++)
        used +=
            (size_t)snprintf(buf + used, size - used, d ? ", %lld" : "[%lld", (long long)index[d]);
    if (t->rank) snprintf(buf + used, size - used, "]");
}

static DIP_COLD Status refuse(const KernelArgs *a, int i, int64_t at, int64_t value, int64_t size,
                              int axis) {
    char place[200], where[40] = "";
    name_place(a, i, at, place, sizeof place);
    if (axis >= 0) snprintf(where, sizeof where, "axis %d has size ", axis);
    if (size == 0)
        return FAIL(INDEX, "%s: %s is %lld; axis %d is empty", a->op->name, place, (long long)value,
                    axis);
    return FAIL(INDEX, "%s: %s is %lld; %s%s%lld, legal: [%lld, %lld]", a->op->name, place,
                (long long)value, where, axis >= 0 ? "" : "size ", (long long)size,
                -(long long)size, (long long)size - 1);
}

/* Whether any of n indices, `step` elements apart, lies outside [-size, size). v + size and what it
 * is short of 2 * size - 1 are both negative at no index: sums that vectorise everywhere. */
static bool any_outside(DType dtype, const char *src, int64_t step, int64_t size, int64_t n) {
    uint64_t bad = 0, low = (uint64_t)size, top = 2 * low - 1;
    int64_t block[LOOKUP_BLOCK];
#define LOOK(T, index_step)                                                                        \
    for (int64_t i = 0; i < n; i++) {                                                              \
        uint64_t u = (uint64_t)(int64_t)((const T *)src)[i * (index_step)] + low;                  \
        bad |= u | (top - u);                                                                      \
    }
    if (dtype == DT_i64 && step == 1) {
        LOOK(int64_t, 1)
    } else if (dtype == DT_i32 && step == 1) {
        LOOK(int32_t, 1)
    } else {
        load_offsets(dtype, src, step, 0, (OffsetRule){.by = 1}, n, block); /* 0: as they are */
        src = (const char *)block;
        LOOK(int64_t, 1)
    }
#undef LOOK
    return bad >> 63;
}

/* Entries first, first + skip, ... of input i, which are those of the type t with i's strides. */
static Status check_every(const KernelArgs *a, int i, const TensorType *t, int first, int skip,
                          int64_t size, int axis) {
    const Buf *b = &a->in[i];
    DType dtype = (DType)b->type->dtype;
    const char *data = b->data;
    int64_t block[LOOKUP_BLOCK];
    if (first) data += first * b->strides[t->rank] * dtype_size(dtype);
    Walk w;
    WalkPlace p;
    walk_init(&w, t, 1, &t, &b->strides);
    if (w.count) walk_seek(&w, 0, &p);
    for (int64_t at = 0, m; at < w.count; at += m) {
        int last = w.rank - 1;
        m = min_i64(w.dims[last] - p.index[last], LOOKUP_BLOCK);
        const char *src = data + p.offset[0] * dtype_size(dtype);
        walk_step(&w, &p, m);
        if (!any_outside(dtype, src, w.strides[0][last], size, m)) continue;
        load_offsets(dtype, src, w.strides[0][last], 0, (OffsetRule){.by = 1}, m, block);
        int64_t k = 0;
        while (block[k] >= -size && block[k] < size) k++;
        return refuse(a, i, (at + k) * skip + first, block[k], size, axis);
    }
    return OK;
}

Status check_indices(const KernelArgs *a, int i, int64_t size, int axis) {
    return check_every(a, i, a->in[i].type, 0, 1, size, axis);
}

Status check_indices_nd(const KernelArgs *a, int i, const IndexPlan *p, const TensorType *target) {
    for (int k = 0; k < p->n; k++)
        TRY(check_every(a, i, &p->tuples, k, p->n, target->dims[p->axis[k]], p->axis[k]));
    return OK;
}
