/* Reading and writing along one axis with an index an element: gather_elements and
 * tensor_scatter_elements. The index is walked row by row of its last axis. */
#include <string.h>

#include "base/parallel.h"
#include "kernels/lookup.h"
#include "kernels/loops.h"
#include "kernels/scatter.h"

enum { GRAIN = 32768, BLOCK = LOOKUP_BLOCK };

typedef struct Elements {
    const TensorType *target, *index;
    int axis, last;
    const Buf *indices;
    const int64_t *strides; /* of the target */
    char *data;             /* the target's elements */
    char *beside;           /* result or updates, dense like the index */
    DType dtype;
    int64_t size;
    EwLoop *loop; /* NULL: values replace */
} Elements;

static void elements_init(Elements *e, const Buf *target, const Buf *indices, char *beside,
                          int64_t axis) {
    *e = (Elements){.target = target->type,
                    .index = indices->type,
                    .strides = target->strides,
                    .indices = indices,
                    .data = target->data,
                    .beside = beside,
                    .dtype = (DType)target->type->dtype};
    e->axis = (int)(axis + (axis < 0 ? target->type->rank : 0));
    e->last = target->type->rank - 1;
    e->size = dtype_size(e->dtype);
}

/* Target offsets of n elements of the index from `at` on, all in one row. */
static void row_offsets(const Elements *e, int64_t at, int64_t n, int64_t *offsets) {
    DType d = (DType)e->index->dtype;
    const char *src = e->indices->data + at * dtype_size(d);
    int64_t base = 0, left = at, first = 0;
    for (int i = e->last; i >= 0; i--) {
        int64_t place = left % e->index->dims[i];
        left /= e->index->dims[i];
        if (i == e->last) first = place;
        if (i != e->axis && i != e->last) base += place * e->strides[i];
    }
    int64_t along = e->axis == e->last || e->last < 0 ? 0 : e->strides[e->last];
    int64_t n_axis = e->target->rank ? e->target->dims[e->axis] : 1;
    int64_t step = e->target->rank ? e->strides[e->axis] : 1;
    load_indices(d, src, 1, n_axis, n, offsets);
    for (int64_t i = 0; i < n; i++) offsets[i] = base + offsets[i] * step + (first + i) * along;
}

static int64_t row_length(const Elements *e) { return e->last < 0 ? 1 : e->index->dims[e->last]; }

static void read_elements(const Elements *e, int64_t n, char *dst, const int64_t *offsets) {
    switch (e->size) {
#define READ(T)                                                                                    \
    for (int64_t i = 0; i < n; i++) ((T *)dst)[i] = ((const T *)e->data)[offsets[i]];              \
    break
    case 1: READ(uint8_t);
    case 2: READ(uint16_t);
    case 4: READ(uint32_t);
    default: READ(uint64_t);
#undef READ
    }
}

static void write_elements(const Elements *e, int64_t n, const char *src, const int64_t *offsets) {
    switch (e->size) {
#define WRITE(T)                                                                                   \
    for (int64_t i = 0; i < n; i++) ((T *)e->data)[offsets[i]] = ((const T *)src)[i];              \
    break
    case 1: WRITE(uint8_t);
    case 2: WRITE(uint16_t);
    case 4: WRITE(uint32_t);
    default: WRITE(uint64_t);
#undef WRITE
    }
}

/* One after the other: the same place may come twice. */
static void add_elements(const Elements *e, int64_t n, const char *src, const int64_t *offsets) {
    const CtLoops *l = loops((DType)dtype_info[e->dtype].compute);
    int64_t x, y;
    switch (e->dtype) {
#define ADD(T)                                                                                     \
    for (int64_t i = 0; i < n; i++) ((T *)e->data)[offsets[i]] += ((const T *)src)[i];             \
    return
    case DT_f32: ADD(float);
    case DT_f64: ADD(double);
    case DT_i32: ADD(uint32_t);
    case DT_i64: ADD(uint64_t);
#undef ADD
    default: break;
    }
    for (int64_t i = 0; i < n; i++) {
        char *at = e->data + offsets[i] * e->size;
        l->load[e->dtype](1, &x, at);
        l->load[e->dtype](1, &y, src + i * e->size);
        e->loop(1, &x, (const void *[]){&x, &y});
        l->store[e->dtype](1, at, &x);
    }
}

static void read_range(void *ctx, int64_t begin, int64_t end) {
    const Elements *e = ctx;
    int64_t offsets[BLOCK], row = row_length(e);
    while (begin < end) {
        int64_t n = min_i64(min_i64(end - begin, BLOCK), row - begin % row);
        row_offsets(e, begin, n, offsets);
        read_elements(e, n, e->beside + begin * e->size, offsets);
        begin += n;
    }
}

/* Rows of the index; two of them meet in the target only along `axis`. */
static void write_rows(void *ctx, int64_t begin, int64_t end) {
    const Elements *e = ctx;
    int64_t offsets[BLOCK], row = row_length(e);
    for (begin *= row, end *= row; begin < end;) {
        int64_t n = min_i64(min_i64(end - begin, BLOCK), row - begin % row);
        row_offsets(e, begin, n, offsets);
        if (e->loop)
            add_elements(e, n, e->beside + begin * e->size, offsets);
        else
            write_elements(e, n, e->beside + begin * e->size, offsets);
        begin += n;
    }
}

/* ---- the ops */

static Status check_axis(const KernelArgs *a, int64_t axis) {
    const TensorType *x = a->in[0].type;
    axis += axis < 0 ? x->rank : 0;
    return check_indices(a, 1, x->rank ? x->dims[axis] : 1, x->rank ? (int)axis : -1);
}

Status check_gather_elements(const KernelArgs *a) {
    return check_axis(a, ((const attrs_gather_elements *)a->attrs)->dim);
}

void run_gather_elements(const KernelArgs *a) {
    Elements e;
    elements_init(&e, &a->in[0], &a->in[1], a->out[0].data,
                  ((const attrs_gather_elements *)a->attrs)->dim);
    parallel_for(type_count(e.index), GRAIN, read_range, &e);
}

Status check_tensor_scatter_elements(const KernelArgs *a) {
    return check_axis(a, ((const attrs_tensor_scatter_elements *)a->attrs)->axis);
}

void run_tensor_scatter_elements(const KernelArgs *a) {
    const attrs_tensor_scatter_elements *at = a->attrs;
    Elements e;
    scatter_start(&a->in[0], &a->out[0]);
    elements_init(&e, &a->out[0], &a->in[1], a->in[2].data, at->axis);
    if (!strcmp(at->reduction, "add"))
        e.loop = loops((DType)dtype_info[e.dtype].compute)->value[EW_ROW_add];
    int64_t row = row_length(&e), n = type_count(e.index);
    if (n == 0) return;
    bool apart = e.axis == e.last;
    parallel_for(n / row, apart ? max_i64(GRAIN / row, 1) : n, write_rows, &e);
}
