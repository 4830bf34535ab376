/* Cross entropy and negative log-likelihood over the class axis, forward and backward in one pass
 * each.
 *
 * Every position r (a sample, or a pixel of one) has weights t over the classes: for a label y
 * t_c = (1 - s) w_y [c = y] + s / C w_c, for probabilities q t_c = w_c ((1 - s) q_c + s / C), s the
 * smoothing. The loss is the sum of t_c (logsumexp(x) - x_c), its gradient sum(t) softmax(x) - t.
 * With log_probs x holds logarithms of probabilities already and both lose their softmax part.
 * Sums over positions run over a fixed grid of chunks. */
#include "ops/loss.h"

#include <string.h>

#include "base/parallel.h"
#include "kernels/rows.h"
#include "kernels/through.h"

enum { MAX_CHUNKS = 64, GRAIN = 8192 };

typedef struct Loss {
    LossShape s;
    const RowLoops *loops;
    const Buf *x, *target, *w; /* w NULL: all 1 */
    bool log_probs;
    int64_t ignore, chunk, units, tiles; /* a unit: one row, or a tile of columns */
    double smoothing, weight_sum;
    Reduction reduction;
    char *loss, *top, *lse, *dx; /* NULL: not wanted */
    const char *g, *saved_top, *saved_lse;
    double g_scale; /* 1 / total for mean */
    double losses[MAX_CHUNKS], totals[MAX_CHUNKS];
} Loss;

static int64_t int_at(const Buf *b, int64_t i) {
    switch (b->type->dtype) {
    case DT_u8: return ((const uint8_t *)b->data)[i];
    case DT_i8: return ((const int8_t *)b->data)[i];
    case DT_u16: return ((const uint16_t *)b->data)[i];
    case DT_i16: return ((const int16_t *)b->data)[i];
    case DT_u32: return ((const uint32_t *)b->data)[i];
    case DT_i32: return ((const int32_t *)b->data)[i];
    default: return ((const int64_t *)b->data)[i];
    }
}

static double class_weight(const Loss *l, int64_t c) {
    return l->w ? l->loops->load(l->w->data, c) : 1;
}

static void loss_init(Loss *l, const KernelArgs *a, int x) {
    LossAttrs at = loss_attrs(a->op, a->attrs);
    l->x = &a->in[x];
    l->target = &a->in[x + 1];
    l->w = a->nin > x + 2 && a->in[x + 2].data ? &a->in[x + 2] : NULL;
    l->s = loss_shape(l->x->type, l->target->type);
    l->loops = row_loops(l->x->type->dtype);
    l->log_probs = at.log_probs;
    l->ignore = at.ignore_index;
    l->smoothing = at.label_smoothing;
    l->reduction = at.reduction;
    l->weight_sum = (double)l->s.classes;
    if (l->w) l->weight_sum = l->loops->sum(l->s.classes, l->w->data);
    l->tiles = (l->s.inner + COLUMNS - 1) / COLUMNS;
    l->units = l->s.inner == 1 ? l->s.outer : l->s.outer * l->tiles;
    l->chunk = max_i64((l->units + MAX_CHUNKS - 1) / MAX_CHUNKS, 1);
    l->loss = l->top = l->lse = l->dx = NULL;
    l->g = l->saved_top = l->saved_lse = NULL;
    l->g_scale = 1;
}

/* ---- one position; x leads to its first class, `inner` elements before the next */

static double at_class(const Loss *l, const char *x, int64_t c) {
    return l->loops->load(x, c * l->s.inner);
}

/* Sum of t_c and of t_c x_c. */
static double weigh(const Loss *l, const char *x, int64_t r, double *dot) {
    double sum = 0, c_share = l->smoothing / (double)l->s.classes;
    *dot = 0;
    if (!l->s.dense_target) {
        int64_t y = int_at(l->target, r);
        sum = (1 - l->smoothing) * class_weight(l, y);
        *dot = sum * at_class(l, x, y);
        if (l->smoothing == 0) return sum;
        if (l->s.inner == 1) {
            int64_t n = l->s.classes;
            *dot += c_share * (l->w ? l->loops->dot(n, l->w->data, x) : l->loops->sum(n, x));
            return sum + c_share * l->weight_sum;
        }
    } else if (l->s.inner == 1 && !l->w && l->smoothing == 0) {
        const char *q = row_at(l->target, r * l->s.classes);
        *dot = l->loops->dot(l->s.classes, q, x);
        return l->loops->sum(l->s.classes, q);
    }
    const char *q = l->s.dense_target ? row_at(l->target, loss_start(&l->s, r)) : NULL;
    for (int64_t c = 0; c < l->s.classes; c++) {
        double t = c_share + (q ? (1 - l->smoothing) * at_class(l, q, c) : 0);
        t *= class_weight(l, c);
        sum += t;
        *dot += t * at_class(l, x, c);
    }
    return sum;
}

static bool is_ignored(const Loss *l, int64_t r) {
    return !l->s.dense_target && int_at(l->target, r) == l->ignore;
}

static void position(const Loss *l, int64_t r, double top, double lse, double *loss,
                     double *total) {
    const char *x = row_at(l->x, loss_start(&l->s, r));
    double value = 0;
    if (!is_ignored(l, r)) {
        double dot;
        if (!l->s.dense_target && l->smoothing == 0) {
            double w = class_weight(l, int_at(l->target, r));
            value = w * (top - at_class(l, x, int_at(l->target, r)) + lse);
        } else {
            double sum = weigh(l, x, r, &dot);
            value = sum * (top + lse) - dot;
        }
        *total += l->s.dense_target ? 1 : class_weight(l, int_at(l->target, r));
    }
    *loss += value;
    if (l->reduction == REDUCE_NONE) l->loops->store(l->loss, r, value);
    if (l->top) l->loops->store(l->top, r, top);
    if (l->lse) l->loops->store(l->lse, r, lse);
}

/* ---- forward */

static void forward_unit(const Loss *l, int64_t u, double *loss, double *total) {
    if (l->s.inner == 1) {
        double top = 0, lse = 0;
        if (!l->log_probs && !is_ignored(l, u))
            lse = l->loops->logsumexp(l->s.classes, row_at(l->x, u * l->s.classes), &top);
        position(l, u, top, lse, loss, total);
        return;
    }
    double top[COLUMNS] = {0}, lse[COLUMNS] = {0};
    int64_t j = u % l->tiles * COLUMNS, r = u / l->tiles * l->s.inner + j;
    int w = (int)min_i64(COLUMNS, l->s.inner - j);
    if (!l->log_probs)
        l->loops->logsumexp_columns(l->s.classes, l->s.inner, w, row_at(l->x, loss_start(&l->s, r)),
                                    top, lse);
    for (int k = 0; k < w; k++) position(l, r + k, top[k], lse[k], loss, total);
}

static void forward_range(void *ctx, int64_t begin, int64_t end) {
    Loss *l = ctx;
    for (int64_t k = begin; k < end; k++) {
        double loss = 0, total = 0;
        int64_t last = min_i64((k + 1) * l->chunk, l->units);
        for (int64_t u = k * l->chunk; u < last; u++) forward_unit(l, u, &loss, &total);
        l->losses[k] = loss;
        l->totals[k] = total;
    }
}

static int64_t unit_cost(const Loss *l) {
    return l->s.classes * min_i64(l->s.inner, COLUMNS) * (l->log_probs ? 1 : 4) + 16;
}

void run_cross_entropy_rows(const KernelArgs *a) {
    Loss l;
    loss_init(&l, a, 0);
    l.loss = a->out[0].data;
    if (a->nout == 4) l.top = a->out[1].data, l.lse = a->out[2].data;
    int64_t chunks = (l.units + l.chunk - 1) / l.chunk;
    parallel_for(chunks, max_i64(GRAIN / (unit_cost(&l) * l.chunk), 1), forward_range, &l);
    double loss = 0, total = 0;
    for (int64_t k = 0; k < chunks; k++) loss += l.losses[k], total += l.totals[k];
    if (l.reduction != REDUCE_MEAN) total = 1;
    if (l.reduction != REDUCE_NONE) l.loops->store(l.loss, 0, loss / total);
    if (a->nout == 4) l.loops->store(a->out[3].data, 0, total);
}
void run_cross_entropy_any(const KernelArgs *a) { through_run(a, run_cross_entropy_rows); }

/* ---- backward */

static double g_of(const Loss *l, int64_t r) {
    return l->loops->load(l->g, l->reduction == REDUCE_NONE ? r : 0) * l->g_scale;
}

/* dx -= g t, dense rows. */
static void take_target(const Loss *l, int64_t r, double g, char *dx) {
    int64_t n = l->s.classes;
    double share = g * l->smoothing / (double)n;
    if (!l->s.dense_target) {
        int64_t y = int_at(l->target, r);
        double t = g * (1 - l->smoothing) * class_weight(l, y);
        int64_t at = y * l->s.inner;
        l->loops->store(dx, at, l->loops->load(dx, at) - t);
    } else if (l->s.inner == 1 && !l->w) {
        l->loops->axpy(n, -g * (1 - l->smoothing), row_at(l->target, r * n), dx);
    } else {
        const char *q = row_at(l->target, loss_start(&l->s, r));
        for (int64_t c = 0; c < n; c++) {
            double t = g * (1 - l->smoothing) * class_weight(l, c) * at_class(l, q, c);
            l->loops->store(dx, c * l->s.inner, at_class(l, dx, c) - t);
        }
    }
    if (share == 0) return;
    if (l->s.inner == 1 && l->w)
        l->loops->axpy(n, -share, l->w->data, dx);
    else if (l->s.inner == 1)
        l->loops->affine(n, 1, -share, dx, dx);
    else
        for (int64_t c = 0; c < n; c++)
            l->loops->store(dx, c * l->s.inner, at_class(l, dx, c) - share * class_weight(l, c));
}

static double target_sum(const Loss *l, int64_t r) {
    if (!l->s.dense_target)
        return (1 - l->smoothing) * class_weight(l, int_at(l->target, r)) +
               l->smoothing / (double)l->s.classes * l->weight_sum;
    double dot;
    return weigh(l, row_at(l->x, loss_start(&l->s, r)), r, &dot);
}

static void backward_unit(const Loss *l, int64_t u) {
    int64_t n = l->s.classes, j = u % l->tiles * COLUMNS;
    int64_t r = l->s.inner == 1 ? u : u / l->tiles * l->s.inner + j;
    int w = l->s.inner == 1 ? 1 : (int)min_i64(COLUMNS, l->s.inner - j);
    int64_t size = dtype_size(l->x->type->dtype), start = loss_start(&l->s, r);
    double top[COLUMNS], lse[COLUMNS], scale[COLUMNS], g[COLUMNS];
    for (int k = 0; k < w; k++) {
        bool live = !is_ignored(l, r + k);
        g[k] = live ? g_of(l, r + k) : 0;
        top[k] = l->loops->load(l->saved_top, r + k);
        lse[k] = l->loops->load(l->saved_lse, r + k);
        scale[k] = live && !l->log_probs ? g[k] * target_sum(l, r + k) : 0;
    }
    char *dx = l->dx + start * size;
    if (l->s.inner > 1)
        l->loops->exp_scaled_columns(n, l->s.inner, w, top, lse, scale, dx, row_at(l->x, start));
    else if (l->log_probs || is_ignored(l, r))
        memset(dx, 0, (size_t)(n * size));
    else
        l->loops->exp_scaled(n, top[0], lse[0], scale[0], dx, row_at(l->x, start));
    for (int k = 0; k < w; k++)
        if (!is_ignored(l, r + k)) take_target(l, r + k, g[k], dx + k * size);
}

static void backward_range(void *ctx, int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; u++) backward_unit(ctx, u);
}

/* Inputs g, input, target, weight, top, lse, total. */
void run_cross_entropy_grad_rows(const KernelArgs *a) {
    Loss l;
    loss_init(&l, a, 1);
    l.g = a->in[0].data;
    l.saved_top = a->in[4].data;
    l.saved_lse = a->in[5].data;
    l.dx = a->out[0].data;
    l.g_scale = 1 / l.loops->load(a->in[6].data, 0);
    parallel_for(l.units, max_i64(GRAIN / unit_cost(&l), 1), backward_range, &l);
}
void run_cross_entropy_grad_any(const KernelArgs *a) {
    through_run(a, run_cross_entropy_grad_rows);
}

/* ---- labels */

Status check_labels(const KernelArgs *a) {
    LossAttrs at = loss_attrs(a->op, a->attrs);
    int x = a->op->id == OP_cross_entropy_grad;
    LossShape s = loss_shape(a->in[x].type, a->in[x + 1].type);
    if (s.dense_target) return OK;
    int64_t n = s.outer * s.inner;
    for (int64_t i = 0; i < n; i++) {
        int64_t y = int_at(&a->in[x + 1], i);
        if (DIP_LIKELY((uint64_t)y < (uint64_t)s.classes) || y == at.ignore_index) continue;
        return FAIL(INDEX,
                    "%s: target %lld at position %lld; legal: 0 to %lld, or ignore_index %lld",
                    a->op->name, (long long)y, (long long)i, (long long)s.classes - 1,
                    (long long)at.ignore_index);
    }
    return OK;
}
