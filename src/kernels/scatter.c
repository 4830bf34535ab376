/* Writing rows into a target at offsets that index tensors give: index_set, embedding_grad and
 * their kin.
 *
 * Equal places are written in the order of the indices, whatever the number of threads: threads
 * divide the outer positions or the columns of the rows, never the indices. */
#include "kernels/scatter.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/parallel.h"
#include "kernels/copy.h"
#include "kernels/half.h"
#include "kernels/loops.h"

enum { GRAIN = 32768, BLOCK = 512 };

typedef struct Scatter {
    Lookup look;
    ScatterMode mode;
    char *dst;
    const char *src;
    DType to, from, ct;
    int64_t dst_size, src_size;
    EwLoop *loop;    /* NULL: values replace */
    int64_t columns; /* of a row that may be divided; 1: rows stay whole */
    int64_t skip;    /* target offset that is left alone; -1: none */
} Scatter;

/* ---- one row */

/* n elements through the compute type. Steps in elements. */
static void write_blocks(const Scatter *s, int64_t n, char *dst, int64_t to, const char *src,
                         int64_t from) {
    char raw[BLOCK * 8], value[BLOCK * 8], old[BLOCK * 8];
    const CtLoops *l = loops(s->ct);
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t m = min_i64(n - done, BLOCK);
        char *at = dst + done * to * s->dst_size;
        gather_strided(m, s->src_size, raw, src + done * from * s->src_size, from * s->src_size);
        l->load[s->from](m, value, raw);
        if (s->loop) {
            gather_strided(m, s->dst_size, raw, at, to * s->dst_size);
            l->load[s->to](m, old, raw);
            s->loop(m, value, (const void *[]){old, value});
        }
        l->store[s->to](m, raw, value);
        spread_strided(m, s->dst_size, at, to * s->dst_size, raw);
    }
}

static void write_row(const Scatter *s, int64_t n, char *dst, int64_t to, const char *src,
                      int64_t from) {
    bool dense = to == 1 && from == 1;
    if (!s->loop && s->to == s->from && dense)
        memcpy(dst, src, (size_t)(n * s->dst_size));
    else if (s->loop && s->to == s->ct && s->from == s->ct && dense)
        s->loop(n, dst, (const void *[]){dst, src});
    else
        write_blocks(s, n, dst, to, src, from);
}

/* By the instructions of F16C, which come with AVX2: else the conversions take most of the time. */
#if defined(__x86_64__)
__attribute__((target("f16c"))) static void
add_f16(int64_t n, uint16_t *dst, const int64_t *offsets, const uint16_t *src, int64_t step) {
    for (int64_t i = 0; i < n; i++) {
        uint16_t *to = dst + offsets[i];
        *to = _cvtss_sh(_cvtsh_ss(*to) + _cvtsh_ss(src[i * step]), _MM_FROUND_TO_NEAREST_INT);
    }
}
#endif

void scatter_numbers(ScatterMode mode, DType dtype, int64_t n, char *dst, const int64_t *offsets,
                     const char *src, int64_t step) {
#define EACH(T, statement)                                                                         \
    for (int64_t i = 0; i < n; i++) {                                                              \
        T *to = (T *)dst + offsets[i], v = ((const T *)src)[i * step];                             \
        statement;                                                                                 \
    }                                                                                              \
    return
    if (mode == SCATTER_SET) switch (dtype_size(dtype)) {
        case 1: EACH(uint8_t, *to = v);
        case 2: EACH(uint16_t, *to = v);
        case 4: EACH(uint32_t, *to = v);
        default: EACH(uint64_t, *to = v);
        }
#if defined(__x86_64__)
    if (dtype == DT_f16 && isa_level() != ISA_BASE) {
        add_f16(n, (uint16_t *)dst, offsets, (const uint16_t *)src, step);
        return;
    }
#endif
    switch (dtype) {
    case DT_f32: EACH(float, *to += v);
    case DT_f64: EACH(double, *to += v);
    case DT_f16: EACH(uint16_t, *to = f32_to_f16(f16_to_f32(*to) + f16_to_f32(v)));
    case DT_bf16: EACH(uint16_t, *to = f32_to_bf16(bf16_to_f32(*to) + bf16_to_f32(v)));
    case DT_bool: EACH(uint8_t, *to |= v);
    default: break;
    }
    switch (dtype_size(dtype)) { /* integers wrap, signed or not */
    case 1: EACH(uint8_t, *to = (uint8_t)(*to + v));
    case 2: EACH(uint16_t, *to = (uint16_t)(*to + v));
    case 4: EACH(uint32_t, *to += v);
    default: EACH(uint64_t, *to += v);
    }
#undef EACH
}

/* The columns begin .. end - 1 of one row; all of it when the rest has several axes. */
static void write_rest(const Scatter *s, char *dst, const char *src, int64_t begin, int64_t end) {
    const Walk *w = &s->look.rest;
    int last = w->rank - 1;
    int64_t to = w->strides[0][last], from = w->strides[1][last];
    if (last == 0) {
        write_row(s, end - begin, dst + begin * to * s->dst_size, to,
                  src + begin * from * s->src_size, from);
        return;
    }
    WalkPlace p;
    walk_seek(w, 0, &p);
    for (int64_t done = 0; done < w->count; done += w->dims[last]) {
        write_row(s, w->dims[last], dst + p.offset[0] * s->dst_size, to,
                  src + p.offset[1] * s->src_size, from);
        walk_step(w, &p, w->dims[last]);
    }
}

/* ---- all rows */

/* Whether the next n places lie in one row. */
static bool step_evenly(const Walk *w, const WalkPlace *p, int64_t n) {
    return p->index[w->rank - 1] + n <= w->dims[w->rank - 1];
}

static void write_tuples(const Scatter *s, int64_t outer, int64_t begin, int64_t end) {
    bool numbers =
        s->look.rest.count == 1 && s->mode <= SCATTER_ADD && s->to == s->from && s->skip < 0;
    int64_t offsets[LOOKUP_BLOCK], tuples = s->look.tuples;
    char *dst = s->dst + outer * s->look.outer_step * s->dst_size;
    WalkPlace lead;
    walk_seek(&s->look.lead, outer * tuples, &lead);
    for (int64_t t = 0; t < tuples; t += LOOKUP_BLOCK) {
        int64_t n = min_i64(tuples - t, LOOKUP_BLOCK);
        lookup_offsets(&s->look, t, n, offsets);
        if (numbers && step_evenly(&s->look.lead, &lead, n)) {
            scatter_numbers(s->mode, s->to, n, dst, offsets, s->src + lead.offset[0] * s->src_size,
                            s->look.lead.strides[0][s->look.lead.rank - 1]);
            walk_step(&s->look.lead, &lead, n);
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            if (offsets[i] != s->skip)
                write_rest(s, dst + offsets[i] * s->dst_size, s->src + lead.offset[0] * s->src_size,
                           begin, end);
            walk_step(&s->look.lead, &lead, 1);
        }
    }
}

/* Part k of the work: outer position k / columns, column k % columns. */
static void write_range(void *ctx, int64_t begin, int64_t end) {
    const Scatter *s = ctx;
    int64_t row = s->look.rest.count;
    while (begin < end) {
        int64_t outer = begin / s->columns, column = begin % s->columns;
        int64_t n = min_i64(s->columns - column, end - begin);
        if (s->columns == 1)
            write_tuples(s, outer, 0, row);
        else
            write_tuples(s, outer, column, column + n);
        begin += n;
    }
}

static void scatter_rows(Scatter *s, const ScatterArgs *a) {
    s->mode = a->mode;
    s->dst = a->out->data;
    s->src = a->value->data;
    s->to = (DType)a->out->type->dtype;
    s->from = (DType)a->value->type->dtype;
    s->ct = (DType)dtype_info[a->mode == SCATTER_SET ? s->from : s->to].compute;
    s->dst_size = dtype_size(s->to);
    s->src_size = dtype_size(s->from);
    static const int rows[] = {
        [SCATTER_ADD] = EW_ROW_add, [SCATTER_SUB] = EW_ROW_sub,     [SCATTER_MUL] = EW_ROW_mul,
        [SCATTER_DIV] = EW_ROW_div, [SCATTER_MAX] = EW_ROW_maximum, [SCATTER_MIN] = EW_ROW_minimum};
    s->loop = a->mode == SCATTER_SET ? NULL : loops(s->ct)->value[rows[a->mode]];
    const Walk *rest = &s->look.rest;
    int64_t row = rest->count, total = s->look.outer * s->look.tuples * row;
    s->columns = rest->rank == 1 && row >= 128 ? row : 1;
    s->skip = a->skip_row < 0 ? -1 : a->skip_row * s->look.step[0];
    if (total == 0) return;
    int64_t parts = s->look.outer * s->columns;
    int64_t least = s->columns == 1 ? 1 : 64;
    parallel_for(parts, max_i64(GRAIN / (total / parts), least), write_range, s);
}

void scatter(const IndexPlan *p, const Buf *indices, const ScatterArgs *a) {
    Scatter s;
    lookup_init(&s.look, a->out, p, indices, a->value);
    scatter_rows(&s, a);
}

void scatter_nd_rows(const IndexPlan *p, const Buf *indices, const ScatterArgs *a) {
    Scatter s;
    lookup_init_nd(&s.look, a->out, p, indices, a->value);
    scatter_rows(&s, a);
}

void scatter_start(const Buf *x, const Buf *out) {
    int64_t strides[MAX_RANK];
    if (out->data == x->data) return;
    type_strides(out->type, strides);
    copy_strided(out->type->rank, out->type->dims,
                 (Place){(DType)out->type->dtype, out->data, strides},
                 (Place){(DType)x->type->dtype, x->data, x->strides});
}

void scatter_zeros(const Buf *out) {
    clear_bytes(out->data, type_count(out->type) * dtype_size((DType)out->type->dtype));
}

/* ---- index_set */

static Status read_plan(const KernelArgs *a, IndexPlan *p) {
    const TensorType *types[MAX_RANK];
    int n = a->nin - 2;
    for (int i = 0; i < n; i++) types[i] = a->in[2 + i].type;
    return index_plan("index_set", a->in[0].type, &((const attrs_index_set *)a->attrs)->axes, n,
                      types, p);
}

Status check_index_set(const KernelArgs *a) {
    IndexPlan p;
    TRY(read_plan(a, &p));
    for (int i = 0; i < p.n; i++)
        TRY(check_indices(a, 2 + i, a->in[0].type->dims[p.axis[i]], p.axis[i]));
    return OK;
}

void run_index_set(const KernelArgs *a) {
    IndexPlan p;
    if (read_plan(a, &p) != OK) return;
    bool add = !strcmp(((const attrs_index_set *)a->attrs)->reduction, "add");
    scatter_start(&a->in[0], &a->out[0]);
    scatter(&p, a->in + 2,
            &(ScatterArgs){add ? SCATTER_ADD : SCATTER_SET, &a->in[1], &a->out[0], -1});
}

/* ---- embedding_grad */

Status check_embedding_grad(const KernelArgs *a) {
    return check_indices(a, 1, ((const attrs_embedding_grad *)a->attrs)->rows, 0);
}

void run_embedding_grad(const KernelArgs *a) {
    const attrs_embedding_grad *at = a->attrs;
    IndexPlan p;
    scatter_zeros(&a->out[0]);
    if (index_plan("embedding_grad", a->out[0].type, &INTLIST1(0), 1,
                   (const TensorType *[]){a->in[1].type}, &p) != OK)
        return;
    int64_t pad = at->padding_idx;
    if (pad != ATTR_NONE && pad < 0) pad += at->rows;
    scatter(&p, &a->in[1],
            &(ScatterArgs){SCATTER_ADD, &a->in[0], &a->out[0], pad == ATTR_NONE ? -1 : pad});
}

/* ---- tensor_scatter_* */

static Status check_nd(const KernelArgs *a) {
    IndexPlan p;
    TRY(index_plan_nd(a->op->name, a->in[0].type, a->in[1].type, &p));
    return check_indices_nd(a, 1, &p, a->in[0].type);
}

static void scatter_at(const KernelArgs *a, ScatterMode mode) {
    IndexPlan p;
    if (index_plan_nd(a->op->name, a->in[0].type, a->in[1].type, &p) != OK) return;
    scatter_start(&a->in[0], &a->out[0]);
    scatter_nd_rows(&p, &a->in[1], &(ScatterArgs){mode, &a->in[2], &a->out[0], -1});
}

#define TENSOR_SCATTER(name, mode)                                                                 \
    Status check_tensor_scatter_##name(const KernelArgs *a) { return check_nd(a); }                \
    void run_tensor_scatter_##name(const KernelArgs *a) { scatter_at(a, mode); }
TENSOR_SCATTER(update, SCATTER_SET)
TENSOR_SCATTER(add, SCATTER_ADD)
TENSOR_SCATTER(sub, SCATTER_SUB)
TENSOR_SCATTER(mul, SCATTER_MUL)
TENSOR_SCATTER(div, SCATTER_DIV)
TENSOR_SCATTER(max, SCATTER_MAX)
TENSOR_SCATTER(min, SCATTER_MIN)
