/* Joining axes and keeping the place while several operands are walked together. */
#include "kernels/walk.h"

#include <string.h>

static int64_t stride_at(const TensorType *t, const int64_t *strides, int rank, int axis) {
    int at = axis - (rank - t->rank);
    return at < 0 || t->dims[at] == 1 ? 0 : strides[at];
}

/* Axis `i` continues the innermost axis of w when every operand steps evenly over both. */
static bool joins(const Walk *w, const int64_t *step) {
    int last = w->rank - 1;
    for (int k = 0; k < w->nops; k++)
        if (w->strides[k][last] != step[k]) return false;
    return true;
}

void walk_init(Walk *w, const TensorType *shape, int nops, const TensorType *const *types,
               const int64_t *const *strides) {
    w->rank = 0;
    w->nops = nops;
    w->count = 1;
    for (int i = 0; i < shape->rank; i++) {
        int64_t n = shape->dims[i], outer[WALK_MAX];
        w->count *= n;
        if (n == 1) continue;
        for (int k = 0; k < nops; k++)
            outer[k] = stride_at(types[k], strides[k], shape->rank, i) * n;
        if (w->rank && joins(w, outer)) {
            w->dims[w->rank - 1] *= n;
        } else {
            w->dims[w->rank++] = n;
        }
        for (int k = 0; k < nops; k++) w->strides[k][w->rank - 1] = n ? outer[k] / n : 0;
    }
    if (w->rank) return;
    w->rank = 1;
    w->dims[0] = 1;
    for (int k = 0; k < nops; k++) w->strides[k][0] = 0;
}

void walk_seek(const Walk *w, int64_t position, WalkPlace *p) {
    memset(p->offset, 0, sizeof p->offset);
    for (int i = w->rank - 1; i >= 0; i--) {
        p->index[i] = position % w->dims[i];
        position /= w->dims[i];
        for (int k = 0; k < w->nops; k++) p->offset[k] += p->index[i] * w->strides[k][i];
    }
}

void walk_step(const Walk *w, WalkPlace *p, int64_t n) {
    int i = w->rank - 1;
    p->index[i] += n;
    for (int k = 0; k < w->nops; k++) p->offset[k] += n * w->strides[k][i];
    for (; i > 0 && p->index[i] == w->dims[i]; i--) {
        p->index[i] = 0;
        p->index[i - 1]++;
        for (int k = 0; k < w->nops; k++)
            p->offset[k] += w->strides[k][i - 1] - w->dims[i] * w->strides[k][i];
    }
}

void tiling_init(Tiling *t, const Walk *w, int down, int64_t rows, int64_t cols) {
    int64_t wide = w->dims[w->rank - 1], high = w->dims[down];
    *t =
        (Tiling){.walk = w, .down = down, .rows = min_i64(rows, high), .cols = min_i64(cols, wide)};
    t->across = (wide + t->cols - 1) / t->cols;
    t->below = (high + t->rows - 1) / t->rows;
    t->count = t->across * t->below * (w->count / (wide * high));
}

/* Adds a place on the axes [begin, end), the last one fastest; what is left of `at`. */
static int64_t seek_axes(const Walk *w, int begin, int end, int64_t at, int64_t *offset) {
    for (int i = end - 1; i >= begin; i--) {
        for (int k = 0; k < w->nops; k++) offset[k] += at % w->dims[i] * w->strides[k][i];
        at /= w->dims[i];
    }
    return at;
}

void tiling_seek(const Tiling *t, int64_t tile, TilePlace *p) {
    const Walk *w = t->walk;
    int last = w->rank - 1;
    memset(p->offset, 0, sizeof p->offset);
    tile = seek_axes(w, t->down + 1, last, tile, p->offset);
    int64_t row = tile % t->below * t->rows, col = tile / t->below % t->across * t->cols;
    seek_axes(w, 0, t->down, tile / (t->below * t->across), p->offset);
    p->cols = min_i64(t->cols, w->dims[last] - col);
    p->rows = min_i64(t->rows, w->dims[t->down] - row);
    for (int k = 0; k < w->nops; k++)
        p->offset[k] += col * w->strides[k][last] + row * w->strides[k][t->down];
}

int walk_turned_axis(const Walk *w, int k) {
    enum { FEW = 4 };
    int last = w->rank - 1;
    const int64_t *strides = w->strides[k];
    if (strides[last] == 1 || strides[last] == 0 || w->dims[last] == 1) return -1;
    for (int i = last - 1; i >= 0; i--)
        if (strides[i] == 1 && w->dims[i] >= FEW) return i;
    return -1;
}

void gather_strided(int64_t n, int64_t size, void *dst, const char *src, int64_t step) {
    switch (size) {
#define COPY(T)                                                                                    \
    if (step == 0) {                                                                               \
        const T one = *(const T *)src;                                                             \
        for (int64_t i = 0; i < n; i++) ((T *)dst)[i] = one;                                       \
        break;                                                                                     \
    }                                                                                              \
    for (int64_t i = 0; i < n; i++) ((T *)dst)[i] = *(const T *)(src + i * step);                  \
    break
    case 1: COPY(uint8_t);
    case 2: COPY(uint16_t);
    case 4: COPY(uint32_t);
    case 16: COPY(Pair);
    default: COPY(uint64_t);
#undef COPY
    }
}
