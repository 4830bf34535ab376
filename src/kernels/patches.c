/* unfold and fold: windows of an image as columns, and back. Planes (n, c) are independent. */
#include <string.h>

#include "base/parallel.h"
#include "kernels/copy.h"
#include "kernels/kernel.h"
#include "kernels/loops.h"
#include "kernels/walk.h"
#include "ops/image.h"

enum { GRAIN = 32768, BLOCK = 512 };

typedef struct Patches {
    Windows w;
    char *image, *columns;
    DType dtype;
    int64_t size;
} Patches;

/* The windows along one axis whose element k lies inside the image: first .. last - 1. */
static void inside(const Windows *w, int axis, int64_t k, int64_t *first, int64_t *last) {
    int64_t shift = k * w->dilation[axis] - w->padding[axis], stride = w->stride[axis];
    *first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    int64_t room = w->size[axis] - 1 - shift;
    *last = room < 0 ? 0 : min_i64(room / stride + 1, w->count[axis]);
    if (*first > *last) *first = *last;
}

/* dst[i * to] += src[i] for n elements, through the compute type. */
static void add_spread(DType d, int64_t n, char *dst, int64_t to, const char *src) {
    const CtLoops *l = loops((DType)dtype_info[d].compute);
    int64_t size = dtype_size(d);
    char raw[BLOCK * 8], x[BLOCK * 8], y[BLOCK * 8];
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t m = min_i64(n - done, BLOCK);
        char *at = dst + done * to * size;
        gather_strided(m, size, raw, at, to * size);
        l->load[d](m, x, raw);
        l->load[d](m, y, src + done * size);
        l->value[EW_ROW_add](m, x, (const void *[]){x, y});
        l->store[d](m, raw, x);
        spread_strided(m, size, at, to * size, raw);
    }
}

/* Element (ki, kj) of all windows of one plane: one row of columns for each row of windows. */
static void move_element(const Patches *p, char *image, char *columns, int64_t ki, int64_t kj,
                         bool back) {
    const Windows *w = &p->w;
    int64_t row0, row1, col0, col1, size = p->size;
    inside(w, 0, ki, &row0, &row1);
    inside(w, 1, kj, &col0, &col1);
    if (!back) memset(columns, 0, (size_t)(w->count[0] * w->count[1] * size));
    if (col0 == col1) return;
    for (int64_t i = row0; i < row1; i++) {
        int64_t y = i * w->stride[0] + ki * w->dilation[0] - w->padding[0];
        int64_t x = col0 * w->stride[1] + kj * w->dilation[1] - w->padding[1];
        char *at = image + (y * w->size[1] + x) * size;
        char *column = columns + (i * w->count[1] + col0) * size;
        if (back)
            add_spread(p->dtype, col1 - col0, at, w->stride[1], column);
        else if (w->stride[1] == 1)
            memcpy(column, at, (size_t)((col1 - col0) * size));
        else
            gather_strided(col1 - col0, size, column, at, w->stride[1] * size);
    }
}

static void move_planes(const Patches *p, int64_t begin, int64_t end, bool back) {
    const Windows *w = &p->w;
    int64_t plane = w->size[0] * w->size[1] * p->size;
    int64_t row = w->count[0] * w->count[1] * p->size, area = w->kernel[0] * w->kernel[1];
    for (int64_t k = begin; k < end; k++) {
        char *image = p->image + k * plane;
        if (back) memset(image, 0, (size_t)plane);
        for (int64_t e = 0; e < area; e++)
            move_element(p, image, p->columns + (k * area + e) * row, e / w->kernel[1],
                         e % w->kernel[1], back);
    }
}

static void unfold_planes(void *ctx, int64_t begin, int64_t end) {
    move_planes(ctx, begin, end, false);
}
static void fold_planes(void *ctx, int64_t begin, int64_t end) {
    move_planes(ctx, begin, end, true);
}

static void run_patches(Patches *p, const Buf *image, const Buf *columns, ParallelBody body) {
    p->image = image->data;
    p->columns = columns->data;
    p->dtype = (DType)image->type->dtype;
    p->size = dtype_size(p->dtype);
    int64_t planes = image->type->dims[0] * image->type->dims[1];
    int64_t work = p->w.count[0] * p->w.count[1] * p->w.kernel[0] * p->w.kernel[1];
    parallel_for(planes, max_i64(GRAIN / max_i64(work, 1), 1), body, p);
}

void run_unfold(const KernelArgs *a) {
    const attrs_unfold *at = a->attrs;
    const TensorType *x = a->in[0].type;
    WindowLists lists = {&at->kernel_size, &at->dilation, &at->padding, &at->stride};
    Patches p;
    if (windows_read("unfold", &lists, x->dims[2], x->dims[3], &p.w) == OK)
        run_patches(&p, &a->in[0], &a->out[0], unfold_planes);
}

void run_fold(const KernelArgs *a) {
    const attrs_fold *at = a->attrs;
    const TensorType *r = a->out[0].type;
    WindowLists lists = {&at->kernel_size, &at->dilation, &at->padding, &at->stride};
    Patches p;
    if (windows_read("fold", &lists, r->dims[2], r->dims[3], &p.w) == OK)
        run_patches(&p, &a->out[0], &a->in[0], fold_planes);
}
