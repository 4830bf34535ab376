/* bincount and histc: how many elements fall into each bin. */
#include <math.h>
#include <string.h>

#include "kernels/copy.h"
#include "kernels/kernel.h"
#include "kernels/loops.h"

enum { BLOCK = 512, FEW_BINS = 256, TABLES = 4 };

/* Elements at .. at + n - 1 of a dense tensor, n <= BLOCK, as int64 or double. */
static void load_block(const Buf *x, DType as, int64_t at, int64_t n, void *out) {
    DType d = (DType)x->type->dtype;
    loops(as)->load[d](n, out, x->data + at * dtype_size(d));
}

/* ---- bincount */

static void int_range(const Buf *x, int64_t *least, int64_t *most) {
    int64_t n = type_count(x->type), v[BLOCK], low = 0, high = -1;
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t m = min_i64(n - at, BLOCK);
        load_block(x, DT_i64, at, m, v);
        for (int64_t i = 0; i < m; i++) {
            low = min_i64(low, v[i]);
            high = max_i64(high, v[i]);
        }
    }
    *least = low;
    *most = high;
}

Status measure_bincount(const KernelArgs *a, TensorType *out) {
    int64_t least, most;
    int_range(&a->in[0], &least, &most);
    if (least < 0 || most == INT64_MAX)
        return FAIL(VALUE, "bincount: input holds %lld; legal: 0 to 2^63 - 2",
                    (long long)(least < 0 ? least : most));
    out->dims[0] = max_i64(most + 1, ((const attrs_bincount *)a->attrs)->minlength);
    return OK;
}

/* Equal numbers in a row wait for each other: few bins are counted in several tables by turns. */
static void count_few(const Buf *x, int64_t nbins, int64_t *counts) {
    int64_t n = type_count(x->type), v[BLOCK], tables[TABLES][FEW_BINS] = {0};
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t m = min_i64(n - at, BLOCK), i = 0;
        load_block(x, DT_i64, at, m, v);
        for (; i + TABLES <= m; i += TABLES)
            for (int k = 0; k < TABLES; k++) tables[k][v[i + k]]++;
        for (; i < m; i++) tables[0][v[i]]++;
    }
    for (int64_t b = 0; b < nbins; b++) {
        counts[b] = 0;
        for (int k = 0; k < TABLES; k++) counts[b] += tables[k][b];
    }
}

void run_bincount(const KernelArgs *a) {
    const Buf *x = &a->in[0];
    int64_t n = type_count(x->type), nbins = type_count(a->out[0].type), v[BLOCK];
    int64_t *counts = (int64_t *)a->out[0].data;
    if (nbins <= FEW_BINS && n > BLOCK) {
        count_few(x, nbins, counts);
        return;
    }
    clear_bytes(a->out[0].data, nbins * (int64_t)sizeof *counts);
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t m = min_i64(n - at, BLOCK);
        load_block(x, DT_i64, at, m, v);
        for (int64_t i = 0; i < m; i++) counts[v[i]]++;
    }
}

/* ---- histc */

typedef struct Bins {
    double low, high, step;
    int64_t n;
} Bins;

/* The range of the elements stands in for equal limits, and a range of one value is widened. */
static void read_bins(const KernelArgs *a, Bins *b) {
    const attrs_histc *at = a->attrs;
    const Buf *x = &a->in[0];
    int64_t n = type_count(x->type);
    double v[BLOCK];
    *b = (Bins){.low = at->min, .high = at->max, .n = at->bins};
    if (b->low == b->high && n > 0) {
        b->low = INFINITY, b->high = -INFINITY;
        for (int64_t from = 0; from < n; from += BLOCK) {
            int64_t m = min_i64(n - from, BLOCK);
            load_block(x, DT_f64, from, m, v);
            for (int64_t i = 0; i < m; i++) {
                b->low = v[i] < b->low || v[i] != v[i] ? v[i] : b->low;
                b->high = v[i] > b->high ? v[i] : b->high;
            }
        }
    }
    if (b->low == b->high) b->low -= 1, b->high += 1;
    b->step = (b->high - b->low) / (double)b->n;
}

Status check_histc(const KernelArgs *a) {
    Bins b;
    read_bins(a, &b);
    if (isfinite(b.low) && isfinite(b.high) && isfinite(b.step) && b.step > 0) return OK;
    return FAIL(VALUE, "histc: the elements range from %g to %g; give min and max", b.low, b.high);
}

static double edge(const Bins *b, int64_t i) { return b->low + (double)i * b->step; }

/* The bin of v, -1 for none. Bins hold their lower edge; the last one its upper edge as well. */
static int64_t bin_of(const Bins *b, double v) {
    if (!(v >= b->low && v <= b->high)) return -1;
    int64_t i = min_i64((int64_t)((v - b->low) / b->step), b->n - 1);
    if (i > 0 && v < edge(b, i)) return i - 1;
    return i + 1 < b->n && v >= edge(b, i + 1) ? i + 1 : i;
}

void run_histc(const KernelArgs *a) {
    int64_t n = type_count(a->in[0].type);
    int32_t *counts = (int32_t *)a->out[0].data;
    double v[BLOCK];
    Bins b;
    read_bins(a, &b);
    clear_bytes(a->out[0].data, b.n * (int64_t)sizeof *counts);
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t m = min_i64(n - at, BLOCK);
        load_block(&a->in[0], DT_f64, at, m, v);
        for (int64_t i = 0; i < m; i++) {
            int64_t bin = bin_of(&b, v[i]);
            if (bin >= 0) counts[bin]++;
        }
    }
}
