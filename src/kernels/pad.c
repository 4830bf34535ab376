/* pad and its gradient; tril and triu. */
#include <string.h>

#include "base/parallel.h"
#include "kernels/copy.h"
#include "kernels/fill.h"
#include "kernels/loops.h"

enum { GRAIN = 32768, BLOCK = 512 };

typedef enum PadMode {
    PAD_CONSTANT,
    PAD_REFLECT,
    PAD_SYMMETRIC,
    PAD_REPLICATE,
    PAD_CIRCULAR
} PadMode;

static PadMode read_mode(const char *mode) {
    switch (mode[2]) { /* constant reflect symmetric replicate circular */
    case 'n': return PAD_CONSTANT;
    case 'f': return PAD_REFLECT;
    case 'm': return PAD_SYMMETRIC;
    case 'p': return PAD_REPLICATE;
    default: return PAD_CIRCULAR;
    }
}

/* The element of an axis of n that stands at position i, possibly outside. */
static int64_t source_of(PadMode mode, int64_t i, int64_t n) {
    if (i >= 0 && i < n) return i;
    switch (mode) {
    case PAD_REFLECT: return i < 0 ? -i : 2 * (n - 1) - i;
    case PAD_SYMMETRIC: return i < 0 ? -1 - i : 2 * n - 1 - i;
    case PAD_REPLICATE: return i < 0 ? 0 : n - 1;
    default: return i < 0 ? i + n : i - n;
    }
}

static void read_pads(const KernelArgs *a, int64_t *before) {
    const IntList *list = &((const attrs_pad *)a->attrs)->padding;
    int rank = a->in[0].type->rank;
    memset(before, 0, (size_t)rank * sizeof *before);
    for (int i = 0; i < list->n / 2; i++) before[rank - 1 - i] = list->v[2 * i];
}

/* ---- constant: the number everywhere, then the part of the input that stays */

static void pad_constant(const KernelArgs *a, const int64_t *before) {
    const Buf *x = &a->in[0], *r = &a->out[0];
    DType d = (DType)r->type->dtype;
    int64_t dims[MAX_RANK], strides[MAX_RANK], from = 0, to = 0;
    type_strides(r->type, strides);
    if (type_count(r->type) == 0) return;
    fill_number(r, ((const attrs_pad *)a->attrs)->value);
    for (int i = 0; i < x->type->rank; i++) {
        int64_t first = max_i64(-before[i], 0), at = max_i64(before[i], 0);
        dims[i] = min_i64(x->type->dims[i] - first, r->type->dims[i] - at);
        if (dims[i] <= 0) return;
        from += first * x->strides[i];
        to += at * strides[i];
    }
    copy_strided(x->type->rank, dims, (Place){d, r->data + to * dtype_size(d), strides},
                 (Place){d, x->data + from * dtype_size(d), x->strides});
}

/* ---- the other modes, row by row of the last axis */

typedef struct Pad {
    const Buf *x, *r;
    PadMode mode;
    const int64_t *before;
    int64_t size;
} Pad;

static void pad_row(const Pad *p, char *dst, const char *src) {
    int last = p->x->type->rank - 1;
    int64_t n = p->x->type->dims[last], width = p->r->type->dims[last], before = p->before[last];
    int64_t size = p->size;
    memcpy(dst + before * size, src, (size_t)(n * size));
    for (int64_t i = 0; i < before; i++)
        memcpy(dst + i * size, src + source_of(p->mode, i - before, n) * size, (size_t)size);
    for (int64_t i = before + n; i < width; i++)
        memcpy(dst + i * size, src + source_of(p->mode, i - before, n) * size, (size_t)size);
}

static void pad_rows(void *ctx, int64_t begin, int64_t end) {
    const Pad *p = ctx;
    const TensorType *x = p->x->type, *r = p->r->type;
    int last = x->rank - 1;
    for (int64_t row = begin; row < end; row++) {
        int64_t left = row, offset = 0;
        for (int i = last - 1; i >= 0; i--) {
            int64_t at = left % r->dims[i] - p->before[i];
            offset += source_of(p->mode, at, x->dims[i]) * p->x->strides[i];
            left /= r->dims[i];
        }
        pad_row(p, p->r->data + row * r->dims[last] * p->size, p->x->data + offset * p->size);
    }
}

void run_pad(const KernelArgs *a) {
    int64_t before[MAX_RANK];
    const TensorType *r = a->out[0].type;
    PadMode mode = read_mode(((const attrs_pad *)a->attrs)->mode);
    read_pads(a, before);
    if (mode == PAD_CONSTANT || r->rank == 0) {
        pad_constant(a, before);
        return;
    }
    Pad p = {&a->in[0], &a->out[0], mode, before, dtype_size((DType)r->dtype)};
    int64_t width = r->dims[r->rank - 1];
    if (type_count(r) == 0) return;
    parallel_for(type_count(r) / width, max_i64(GRAIN / width, 1), pad_rows, &p);
}

/* ---- the gradient along one axis: g (outer, before + n + after, inner) to (outer, n, inner) */

typedef struct PadGrad {
    PadMode mode;
    DType dtype;
    int64_t before, width, n, inner;
    const char *g;
    char *dst;
} PadGrad;

/* dst += src for `count` elements, through the compute type. */
static void add_elements(DType d, int64_t count, char *dst, const char *src) {
    const CtLoops *l = loops((DType)dtype_info[d].compute);
    char x[BLOCK * 8], y[BLOCK * 8];
    if (d == (DType)dtype_info[d].compute) {
        l->value[EW_ROW_add](count, dst, (const void *[]){dst, src});
        return;
    }
    for (int64_t done = 0; done < count; done += BLOCK) {
        int64_t m = min_i64(count - done, BLOCK), at = done * dtype_size(d);
        l->load[d](m, x, dst + at);
        l->load[d](m, y, src + at);
        l->value[EW_ROW_add](m, x, (const void *[]){x, y});
        l->store[d](m, dst + at, x);
    }
}

static void pad_grad_outer(void *ctx, int64_t begin, int64_t end) {
    const PadGrad *p = ctx;
    int64_t row = p->inner * dtype_size(p->dtype);
    for (int64_t o = begin; o < end; o++) {
        const char *g = p->g + o * p->width * row;
        char *dst = p->dst + o * p->n * row;
        memcpy(dst, g + p->before * row, (size_t)(p->n * row));
        for (int64_t i = 0; i < p->width; i++) {
            int64_t at = i - p->before;
            if (at >= 0 && at < p->n) continue;
            add_elements(p->dtype, p->inner, dst + source_of(p->mode, at, p->n) * row, g + i * row);
        }
    }
}

void run_pad_grad(const KernelArgs *a) {
    const attrs_pad_grad *at = a->attrs;
    const TensorType *g = a->in[0].type, *r = a->out[0].type;
    int64_t axis = at->axis + (at->axis < 0 ? g->rank : 0), outer = 1;
    PadGrad p = {.mode = read_mode(at->mode),
                 .dtype = (DType)g->dtype,
                 .before = at->before,
                 .width = g->dims[axis],
                 .n = r->dims[axis],
                 .inner = 1,
                 .g = a->in[0].data,
                 .dst = a->out[0].data};
    for (int i = 0; i < axis; i++) outer *= g->dims[i];
    for (int i = (int)axis + 1; i < g->rank; i++) p.inner *= g->dims[i];
    if (type_count(r) == 0) return;
    parallel_for(outer, max_i64(GRAIN / (p.width * p.inner), 1), pad_grad_outer, &p);
}

/* ---- tril, triu */

typedef struct Triangle {
    const char *src;
    char *dst;
    int64_t rows, columns, size, diagonal;
    bool lower;
} Triangle;

static void triangle_rows(void *ctx, int64_t begin, int64_t end) {
    const Triangle *t = ctx;
    for (int64_t row = begin; row < end; row++) {
        int64_t reach = t->diagonal + row % t->rows + (t->lower ? 1 : 0);
        int64_t edge = (reach < 0 ? 0 : reach > t->columns ? t->columns : reach) * t->size;
        int64_t all = t->columns * t->size;
        const char *src = t->src + row * all;
        char *dst = t->dst + row * all;
        int64_t first = t->lower ? 0 : edge, last = t->lower ? edge : all; /* what stays */
        memset(dst, 0, (size_t)first);
        memcpy(dst + first, src + first, (size_t)(last - first));
        memset(dst + last, 0, (size_t)(all - last));
    }
}

static void triangle(const KernelArgs *a, int64_t diagonal, bool lower) {
    const TensorType *x = a->in[0].type;
    int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
    if (type_count(x) == 0) return;
    /* Beyond the matrix a diagonal has nothing more to say. */
    diagonal = min_i64(max_i64(diagonal, -rows - 1), columns + 1);
    Triangle t = {a->in[0].data, a->out[0].data, rows, columns, dtype_size((DType)x->dtype),
                  diagonal,      lower};
    parallel_for(type_count(x) / columns, max_i64(GRAIN / columns, 1), triangle_rows, &t);
}

void run_tril(const KernelArgs *a) { triangle(a, ((const attrs_tril *)a->attrs)->diagonal, true); }
void run_triu(const KernelArgs *a) { triangle(a, ((const attrs_triu *)a->attrs)->diagonal, false); }
