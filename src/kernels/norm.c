/* Layer, rms, group and instance norm: rows that are normalised, and their gradients.
 *
 * Weights belong to elements of the row (layer, rms) or to its channels (group, instance). Sums
 * over rows for the gradients of weights run over fixed chunks of rows, so that bits do not depend
 * on threads. */
#include <string.h>

#include "base/parallel.h"
#include "kernels/rows.h"
#include "kernels/through.h"
#include "ops/norm.h"

enum { GRAIN = 8192, MAX_CHUNKS = 32, CHUNK_ROWS = 16 };

typedef struct Norm {
    const RowLoops *loops;
    attrs_norm_rows at;
    int64_t rows, channels, rest; /* rest: elements of a channel in a row */
    int64_t chunk;                /* rows of a chunk */
    const Buf *x, *w, *b, *g, *mean, *rstd;
    Buf *y, *out_mean, *out_rstd;
    char *scratch;
    int64_t size; /* of a value */
} Norm;

static void norm_init(Norm *n, const KernelArgs *a, int x) {
    const Buf *w = x + 1 < a->nin && a->in[x + 1].data ? &a->in[x + 1] : NULL;
    memset(n, 0, sizeof *n);
    n->x = &a->in[x];
    n->w = w;
    n->at = norm_rows_of(a->op, a->attrs, n->x->type, w ? w->type : NULL);
    n->loops = row_loops(n->x->type->dtype);
    n->size = dtype_size(n->x->type->dtype);
    n->rows = n->at.row ? type_count(n->x->type) / n->at.row : 0;
    n->channels = max_i64(n->at.channels, 1);
    n->rest = n->at.row / n->channels;
}

/* ---- forward */

static void channel_rows(const Norm *n, int64_t r, double mean, double rstd) {
    int64_t first = r % n->at.groups * n->channels, row = r * n->at.row;
    if (!n->w && !n->b) {
        n->loops->affine(n->at.row, rstd, -mean * rstd, row_at(n->y, row), row_at(n->x, row));
        return;
    }
    for (int64_t c = 0; c < n->channels; c++) {
        double w = n->w ? n->loops->load(n->w->data, first + c) : 1;
        double b = n->b ? n->loops->load(n->b->data, first + c) : 0;
        int64_t at = row + c * n->rest;
        n->loops->affine(n->rest, rstd * w, b - mean * rstd * w, row_at(n->y, at),
                         row_at(n->x, at));
    }
}

static void forward_range(void *ctx, int64_t begin, int64_t end) {
    const Norm *n = ctx;
    for (int64_t r = begin; r < end; r++) {
        double mean, rstd;
        int64_t at = r * n->at.row;
        n->loops->moments(n->at.row, n->at.centered, n->at.eps, row_at(n->x, at), &mean, &rstd);
        if (n->at.channels)
            channel_rows(n, r, mean, rstd);
        else
            n->loops->normalize(n->at.row, mean, rstd, n->w ? n->w->data : NULL,
                                n->b ? n->b->data : NULL, row_at(n->y, at), row_at(n->x, at));
        if (n->out_mean) n->loops->store(n->out_mean->data, r, mean);
        if (n->out_rstd) n->loops->store(n->out_rstd->data, r, rstd);
    }
}

void run_norm_rows(const KernelArgs *a) {
    Norm n;
    norm_init(&n, a, 0);
    n.b = a->nin > 2 && a->in[2].data ? &a->in[2] : NULL;
    n.y = &a->out[0];
    if (a->nout == 3) n.out_mean = &a->out[1];
    if (a->nout > 1) n.out_rstd = &a->out[a->nout - 1];
    parallel_for(n.rows, max_i64(GRAIN / max_i64(n.at.row, 1), 1), forward_range, &n);
}
void run_norm_rows_any(const KernelArgs *a) { through_run(a, run_norm_rows); }

/* ---- gradient; scratch holds sums for weight and bias: of each chunk of rows when they belong to
 * elements, of each row when they belong to channels */

static int64_t chunk_rows(int64_t rows) {
    return max_i64(CHUNK_ROWS, (rows + MAX_CHUNKS - 1) / MAX_CHUNKS);
}
static int64_t sums_size(const Norm *n) {
    int64_t chunk = chunk_rows(n->rows), chunks = (n->rows + chunk - 1) / chunk;
    return 2 * n->size * (n->at.channels ? n->rows * n->channels : chunks * n->at.row);
}

static void element_grad(const Norm *n, int64_t r, char *sums) {
    int64_t at = r * n->at.row, d = n->at.row;
    double mean = n->loops->load(n->mean->data, r), rstd = n->loops->load(n->rstd->data, r);
    double sum, sum_xh;
    const char *w = n->w ? n->w->data : NULL;
    n->loops->norm_sums(d, mean, rstd, row_at(n->g, at), w, row_at(n->x, at), &sum, &sum_xh);
    double numbers[4] = {mean, rstd, n->at.centered ? sum / (double)d : 0, sum_xh / (double)d};
    n->loops->norm_grad(d, numbers, row_at(n->g, at), w, row_at(n->x, at), row_at(n->y, at), sums,
                        sums + d * n->size);
}

static void channel_grad(const Norm *n, int64_t r) {
    double mean = n->loops->load(n->mean->data, r), rstd = n->loops->load(n->rstd->data, r);
    double sum = 0, sum_xh = 0, d = (double)n->at.row;
    int64_t first = r % n->at.groups * n->channels;
    char *sums = n->scratch + 2 * r * n->channels * n->size;
    for (int64_t c = 0; c < n->channels; c++) {
        int64_t at = r * n->at.row + c * n->rest;
        double w = n->w ? n->loops->load(n->w->data, first + c) : 1, g, gxh;
        n->loops->norm_sums(n->rest, mean, rstd, row_at(n->g, at), NULL, row_at(n->x, at), &g,
                            &gxh);
        n->loops->store(sums, 2 * c, gxh);
        n->loops->store(sums, 2 * c + 1, g);
        sum += w * g;
        sum_xh += w * gxh;
    }
    double a = n->at.centered ? sum / d : 0, b = sum_xh / d;
    for (int64_t c = 0; c < n->channels; c++) {
        int64_t at = r * n->at.row + c * n->rest;
        double w = n->w ? n->loops->load(n->w->data, first + c) : 1;
        /* rstd * (g w - a - (x - mean) rstd b) */
        n->loops->affine_grad(n->rest, rstd * w, -rstd * rstd * b, rstd * (mean * rstd * b - a),
                              row_at(n->g, at), row_at(n->x, at), row_at(n->y, at));
    }
}

static void grad_range(void *ctx, int64_t begin, int64_t end) {
    const Norm *n = ctx;
    for (int64_t k = begin; k < end; k++) {
        char *sums = n->scratch + 2 * k * n->at.row * n->size;
        if (!n->at.channels) memset(sums, 0, (size_t)(2 * n->at.row * n->size));
        int64_t last = min_i64((k + 1) * n->chunk, n->rows);
        for (int64_t r = k * n->chunk; r < last; r++)
            if (n->at.channels)
                channel_grad(n, r);
            else
                element_grad(n, r, sums);
    }
}

static void sum_elements(const Norm *n, int64_t chunks, Buf *dw, Buf *db) {
    int64_t d = n->at.row;
    for (int64_t k = 0; k < chunks; k++) {
        n->loops->axpy(d, 1, n->scratch + 2 * k * d * n->size, dw->data);
        n->loops->axpy(d, 1, n->scratch + (2 * k + 1) * d * n->size, db->data);
    }
}

static void sum_channels(const Norm *n, Buf *dw, Buf *db) {
    int64_t all = n->channels * n->at.groups;
    for (int64_t c = 0; c < all; c++) {
        double w = 0, b = 0;
        for (int64_t i = c; i < n->rows * n->channels; i += all) {
            w += n->loops->load(n->scratch, 2 * i);
            b += n->loops->load(n->scratch, 2 * i + 1);
        }
        n->loops->store(dw->data, c, w);
        n->loops->store(db->data, c, b);
    }
}

void run_norm_rows_grad(const KernelArgs *a) {
    Norm n;
    norm_init(&n, a, 1);
    n.g = &a->in[0];
    n.mean = &a->in[3];
    n.rstd = &a->in[4];
    n.y = &a->out[0];
    n.scratch = a->scratch;
    n.chunk = chunk_rows(n.rows);
    int64_t chunks = (n.rows + n.chunk - 1) / n.chunk;
    parallel_for(chunks, max_i64(GRAIN / max_i64(n.at.row * n.chunk, 1), 1), grad_range, &n);
    for (int i = 1; i < 3; i++)
        memset(a->out[i].data, 0, (size_t)(type_count(a->out[i].type) * n.size));
    if (n.at.channels)
        sum_channels(&n, &a->out[1], &a->out[2]);
    else
        sum_elements(&n, chunks, &a->out[1], &a->out[2]);
}
void run_norm_rows_grad_any(const KernelArgs *a) { through_run(a, run_norm_rows_grad); }

Status prepare_norm_rows_grad(const KernelArgs *a, void **state, size_t *scratch) {
    (void)state;
    Norm n;
    norm_init(&n, a, 1);
    n.size = dtype_size(dtype_info[n.x->type->dtype].compute);
    *scratch = (size_t)(through_size(a) + sums_size(&n));
    return OK;
}
void release_norm_rows_grad(void *state) { (void)state; }
