/* Reading and writing along one axis with an index an element: gather_elements and
 * tensor_scatter_elements. The index is walked row by row of its last axis. */
#include <string.h>

#include "base/parallel.h"
#include "kernels/lookup.h"
#include "kernels/scatter.h"

enum { GRAIN = 32768, BLOCK = LOOKUP_BLOCK };

typedef struct Elements {
    const Buf *indices;   /* dense */
    Walk walk;            /* over the index; operand 0: the target, where `axis` does not step */
    int64_t length, step; /* of the target's axis */
    int64_t size;
    DType dtype;
    char *data;   /* the target's elements */
    char *beside; /* result or updates, dense like the index */
    ScatterMode mode;
} Elements;

static void elements_init(Elements *e, const Buf *target, const Buf *indices, char *beside,
                          int64_t axis) {
    int64_t strides[MAX_RANK];
    int rank = target->type->rank;
    *e = (Elements){.indices = indices,
                    .length = 1,
                    .dtype = (DType)target->type->dtype,
                    .size = dtype_size((DType)target->type->dtype),
                    .data = target->data,
                    .beside = beside};
    memcpy(strides, target->strides, (size_t)rank * sizeof *strides);
    if (rank) {
        axis += axis < 0 ? rank : 0;
        e->length = target->type->dims[axis];
        e->step = strides[axis];
        strides[axis] = 0;
    }
    walk_init(&e->walk, indices->type, 1, &indices->type, (const int64_t *[]){strides});
}

static int64_t row_length(const Elements *e) { return e->walk.dims[e->walk.rank - 1]; }

/* Elements begin .. end - 1 of the index, block by block; `visit` gets their offsets. */
typedef void (*Visit)(const Elements *e, int64_t n, char *beside, const int64_t *offsets);
static void visit_range(const Elements *e, int64_t begin, int64_t end, Visit visit) {
    DType d = (DType)e->indices->type->dtype;
    int64_t offsets[BLOCK];
    int last = e->walk.rank - 1;
    WalkPlace p;
    walk_seek(&e->walk, begin, &p);
    while (begin < end) {
        int64_t n = min_i64(min_i64(end - begin, BLOCK), e->walk.dims[last] - p.index[last]);
        OffsetRule rule = {p.offset[0], e->walk.strides[0][last], e->step};
        load_offsets(d, e->indices->data + begin * dtype_size(d), 1, e->length, rule, n, offsets);
        visit(e, n, e->beside + begin * e->size, offsets);
        walk_step(&e->walk, &p, n);
        begin += n;
    }
}

static void read_elements(const Elements *e, int64_t n, char *dst, const int64_t *offsets) {
    read_numbers(n, e->size, dst, e->data, offsets);
}
static void write_elements(const Elements *e, int64_t n, char *src, const int64_t *offsets) {
    scatter_numbers(e->mode, e->dtype, n, e->data, offsets, src, 1);
}

static void read_range(void *ctx, int64_t begin, int64_t end) {
    visit_range(ctx, begin, end, read_elements);
}

/* Rows of the index; two of them meet in the target only along `axis`. */
static void write_rows(void *ctx, int64_t begin, int64_t end) {
    int64_t row = row_length(ctx);
    visit_range(ctx, begin * row, end * row, write_elements);
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
    parallel_for(e.walk.count, GRAIN, read_range, &e);
}

Status check_tensor_scatter_elements(const KernelArgs *a) {
    return check_axis(a, ((const attrs_tensor_scatter_elements *)a->attrs)->axis);
}

void run_tensor_scatter_elements(const KernelArgs *a) {
    const attrs_tensor_scatter_elements *at = a->attrs;
    Elements e;
    scatter_start(&a->in[0], &a->out[0]);
    elements_init(&e, &a->out[0], &a->in[1], a->in[2].data, at->axis);
    e.mode = strcmp(at->reduction, "add") ? SCATTER_SET : SCATTER_ADD;
    int64_t row = row_length(&e), n = e.walk.count;
    if (n == 0) return;
    bool apart = e.walk.strides[0][e.walk.rank - 1] == 0; /* rows lie along the axis */
    parallel_for(n / row, apart ? max_i64(GRAIN / row, 1) : n, write_rows, &e);
}
