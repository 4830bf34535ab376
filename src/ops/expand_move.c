/* Movement written as other ops: repeating, rolling, diagonals, blocks of pixels. Sizes are checked
 * here; the expansion is what runs, and what is differentiated. */
#include <string.h>

#include "ops/functions.h"

/* (outer, n, inner) sizes around an axis. */
typedef struct Around {
    int64_t outer, n, inner;
} Around;

static Around around(const TensorType *x, int axis) {
    Around r = {1, x->rank ? x->dims[axis] : 1, 1};
    for (int i = 0; i < axis; i++) r.outer *= x->dims[i];
    for (int i = axis + 1; i < x->rank; i++) r.inner *= x->dims[i];
    return r;
}

static TensorType type_of(ExpandCtx *c) {
    return c->b->status == OK ? *b_type(c->b, c->x[0]) : (TensorType){0};
}

static TensorType result_type(ExpandCtx *c, const TensorType *x) {
    TensorType r = {0};
    const TensorType *in[] = {x};
    if (c->b->status == OK) c->b->status = c->op->infer(&(OpCall){c->op, c->attrs, 1, 1, in}, &r);
    return r;
}

/* ---- tile, repeat_interleave */

Status infer_tile(const OpCall *c, TensorType *out) {
    const IntList *m = &((const attrs_tile *)c->attrs)->multiples;
    const TensorType *x = c->in[0];
    TensorType t = {.dtype = x->dtype, .rank = (uint8_t)max_i64(m->n, x->rank)};
    for (int i = 0; i < t.rank; i++) {
        int at = i - (t.rank - x->rank), mt = i - (int)(t.rank - max_i64(m->n, 0));
        int64_t n = at >= 0 ? x->dims[at] : 1, times = mt >= 0 ? m->v[mt] : 1;
        if (times < 0)
            return FAIL(VALUE, "tile: multiples[%d] is %lld; it must be 0 or more", mt,
                        (long long)times);
        if (__builtin_mul_overflow(n, times, &t.dims[i]))
            return FAIL(VALUE, "tile: axis %d would be longer than 2^63", i);
    }
    *out = t;
    return type_check(out, "tile");
}

/* Axes that vanish first, which leaves nothing to be copied. Then one after the other, the
 * innermost first: (outer, 1, inner) broadcast to (outer, m, inner). */
void expand_tile(ExpandCtx *c) {
    const IntList *m = &((const attrs_tile *)c->attrs)->multiples;
    TensorType x = type_of(c), r = result_type(c, &x), t = r;
    int first = t.rank - (int)m->n; /* the axis that multiples begin at */
    for (int i = 0; i < t.rank; i++) {
        int at = i - (t.rank - x.rank);
        t.dims[i] = at >= 0 ? x.dims[at] : 1;
    }
    Ref v = b_reshape(c->b, c->x[0], t.rank, t.dims);
    for (int i = 0; i < m->n; i++) {
        if (m->v[i]) continue;
        v = b_op1(c->b, OP_narrow, &(attrs_narrow){.axis = first + i}, v);
        t.dims[first + i] = 0;
    }
    for (int i = t.rank - 1; i >= first && c->b->status == OK; i--) {
        int64_t times = m->v[i - first];
        if (times < 2) continue;
        Around s = around(&t, i);
        int64_t n = s.n * s.inner;
        v = b_reshape(c->b, v, 3, (int64_t[]){s.outer, 1, n});
        v = b_broadcast(c->b, v, 3, (int64_t[]){s.outer, times, n});
        t.dims[i] *= times;
        v = b_reshape(c->b, v, t.rank, t.dims);
    }
    c->r[0] = v;
}

Status infer_repeat_interleave(const OpCall *c, TensorType *out) {
    const attrs_repeat_interleave *a = c->attrs;
    const TensorType *x = c->in[0];
    int axis = 0;
    TensorType t = *x;
    if (a->repeats < 0)
        return FAIL(VALUE, "repeat_interleave: repeats is %lld; it must be 0 or more",
                    (long long)a->repeats);
    if (a->axis == ATTR_NONE || x->rank == 0)
        t = (TensorType){.dtype = x->dtype, .rank = 1, .dims = {type_count(x)}};
    else
        TRY(type_axis("repeat_interleave", a->axis, x->rank, &axis));
    if (__builtin_mul_overflow(t.dims[axis], a->repeats, &t.dims[axis]))
        return FAIL(VALUE, "repeat_interleave: axis %d would be longer than 2^63", axis);
    *out = t;
    return type_check(out, "repeat_interleave");
}

void expand_repeat_interleave(ExpandCtx *c) {
    const attrs_repeat_interleave *a = c->attrs;
    TensorType x = type_of(c), r = result_type(c, &x);
    bool flat = a->axis == ATTR_NONE || x.rank == 0;
    Around s = {1, type_count(&x), 1};
    if (!flat) s = around(&x, (int)(a->axis + (a->axis < 0 ? x.rank : 0)));
    Ref v = b_reshape(c->b, c->x[0], 4, (int64_t[]){s.outer, s.n, 1, s.inner});
    v = b_broadcast(c->b, v, 4, (int64_t[]){s.outer, s.n, a->repeats, s.inner});
    c->r[0] = b_reshape(c->b, v, r.rank, r.dims);
}

/* ---- roll */

Status infer_roll(const OpCall *c, TensorType *out) {
    const attrs_roll *a = c->attrs;
    int axis;
    if (a->shifts.n < 1 || (a->dims.n >= 0 ? a->dims.n != a->shifts.n : a->shifts.n != 1))
        return FAIL(VALUE, "roll: shifts has %lld entries, dims %lld; one shift an axis",
                    (long long)a->shifts.n, (long long)a->dims.n);
    for (int i = 0; i < a->dims.n; i++) TRY(type_axis("roll", a->dims.v[i], c->in[0]->rank, &axis));
    *out = *c->in[0];
    return OK;
}

static Ref part_along(Builder *b, Ref x, int axis, int64_t begin, int64_t size) {
    attrs_slice part = {.begin = {.n = axis + 1}, .size = {.n = axis + 1}, .step = INTLIST_NONE};
    for (int i = 0; i < axis; i++) part.size.v[i] = -1;
    part.begin.v[axis] = begin;
    part.size.v[axis] = size;
    return b_op1(b, OP_slice, &part, x);
}

static Ref roll_axis(Builder *b, Ref x, int axis, int64_t n, int64_t shift) {
    if (n) shift = (shift % n + n) % n;
    if (n == 0 || shift == 0) return x;
    Ref parts[] = {part_along(b, x, axis, n - shift, shift), part_along(b, x, axis, 0, n - shift)};
    return b_call(b, OP_concat, &(attrs_concat){.axis = axis}, 2, parts);
}

void expand_roll(ExpandCtx *c) {
    const attrs_roll *a = c->attrs;
    TensorType x = type_of(c);
    Ref v = c->x[0];
    if (a->dims.n < 0) {
        int64_t n = type_count(&x);
        v = roll_axis(c->b, b_reshape(c->b, v, 1, &n), 0, n, a->shifts.v[0]);
        v = b_reshape(c->b, v, x.rank, x.dims);
    }
    for (int i = 0; i < a->dims.n && x.rank; i++) {
        int axis = (int)(a->dims.v[i] + (a->dims.v[i] < 0 ? x.rank : 0));
        v = roll_axis(c->b, v, axis, x.dims[axis], a->shifts.v[i]);
    }
    c->r[0] = v;
}

/* ---- diag, diag_embed */

Status infer_diag_embed(const OpCall *c, TensorType *out) {
    const attrs_diag_embed *a = c->attrs;
    const TensorType *x = c->in[0];
    int d1, d2, at = 0;
    if (x->rank < 1 || x->rank == MAX_RANK)
        return FAIL(VALUE, "diag_embed: the input has %d axes; legal: 1 to %d", x->rank,
                    MAX_RANK - 1);
    TRY(type_axis("diag_embed", a->dim1, x->rank + 1, &d1));
    TRY(type_axis("diag_embed", a->dim2, x->rank + 1, &d2));
    if (d1 == d2) return FAIL(VALUE, "diag_embed: dim1 and dim2 are both axis %d", d1);
    if (a->offset > INT32_MAX || a->offset < -INT32_MAX)
        return FAIL(VALUE, "diag_embed: offset is %lld; legal: below 2^31", (long long)a->offset);
    int64_t n = x->dims[x->rank - 1] + (a->offset < 0 ? -a->offset : a->offset);
    TensorType t = {.dtype = x->dtype, .rank = (uint8_t)(x->rank + 1)};
    for (int i = 0; i < t.rank; i++) t.dims[i] = i == d1 || i == d2 ? n : x->dims[at++];
    *out = t;
    return type_check(out, "diag_embed");
}

static Ref embed(Builder *b, Ref x, const TensorType *r, int64_t offset, int64_t d1, int64_t d2) {
    attrs_diagonal_grad put = {.shape = {.n = r->rank}, .offset = offset, .dim1 = d1, .dim2 = d2};
    memcpy(put.shape.v, r->dims, r->rank * sizeof *r->dims);
    return b_op1(b, OP_diagonal_grad, &put, x);
}

void expand_diag_embed(ExpandCtx *c) {
    const attrs_diag_embed *a = c->attrs;
    TensorType x = type_of(c), r = result_type(c, &x);
    c->r[0] = embed(c->b, c->x[0], &r, a->offset, a->dim1, a->dim2);
}

Status infer_diag(const OpCall *c, TensorType *out) {
    int64_t k = ((const attrs_diag *)c->attrs)->diagonal;
    const TensorType *x = c->in[0];
    if (x->rank < 1 || x->rank > 2)
        return FAIL(VALUE, "diag: the input has %d axes; legal: 1 or 2", x->rank);
    if (k > INT32_MAX || k < -INT32_MAX)
        return FAIL(VALUE, "diag: diagonal is %lld; legal: below 2^31", (long long)k);
    int64_t shift = k < 0 ? -k : k, n = x->dims[0] + shift;
    if (x->rank == 2) {
        int64_t rows = x->dims[0] - (k < 0 ? shift : 0), columns = x->dims[1] - (k > 0 ? shift : 0);
        n = max_i64(min_i64(rows, columns), 0);
    }
    *out = (TensorType){.dtype = x->dtype, .rank = (uint8_t)(3 - x->rank), .dims = {n, n}};
    if (x->rank == 2) out->dims[1] = 0;
    return type_check(out, "diag");
}

void expand_diag(ExpandCtx *c) {
    int64_t k = ((const attrs_diag *)c->attrs)->diagonal;
    TensorType x = type_of(c), r = result_type(c, &x);
    c->r[0] = x.rank == 1 ? embed(c->b, c->x[0], &r, k, 0, 1)
                          : b_op1(c->b, OP_diagonal,
                                  &(attrs_diagonal){.offset = k, .dim1 = 0, .dim2 = 1}, c->x[0]);
}

/* ---- blocks of pixels */

/* One way of (lead, C, block, block) between channels and pixels. */
typedef struct Blocks {
    int64_t lead, channels, height, width, size;
} Blocks;

static Status check_image(const OpCall *c, int64_t size, bool only_4d) {
    const TensorType *x = c->in[0];
    char text[200];
    if (size < 1 || size > 1 << 20)
        return FAIL(VALUE, "%s: the block size is %lld; legal: 1 to 2^20", c->op->name,
                    (long long)size);
    if (only_4d ? x->rank != 4 : x->rank < 3)
        return FAIL(VALUE, "%s: the input is %s; it must have %s axes", c->op->name,
                    type_text(x, text, sizeof text), only_4d ? "4" : "3 or more");
    return OK;
}

static Status divide(const OpCall *c, int axis, int64_t by, TensorType *t) {
    if (t->dims[axis] % by)
        return FAIL(VALUE, "%s: axis %d has size %lld; it must be a multiple of %lld", c->op->name,
                    axis, (long long)t->dims[axis], (long long)by);
    t->dims[axis] /= by;
    return OK;
}

static Status to_pixels(const OpCall *c, int64_t size, bool only_4d, TensorType *out) {
    TRY(check_image(c, size, only_4d));
    TensorType t = *c->in[0];
    TRY(divide(c, t.rank - 3, size * size, &t));
    t.dims[t.rank - 2] *= size;
    t.dims[t.rank - 1] *= size;
    *out = t;
    return type_check(out, c->op->name);
}

static Status to_channels(const OpCall *c, int64_t size, bool only_4d, TensorType *out) {
    TRY(check_image(c, size, only_4d));
    TensorType t = *c->in[0];
    TRY(divide(c, t.rank - 2, size, &t));
    TRY(divide(c, t.rank - 1, size, &t));
    t.dims[t.rank - 3] *= size * size;
    *out = t;
    return type_check(out, c->op->name);
}

Status infer_depth_to_space(const OpCall *c, TensorType *out) {
    return to_pixels(c, ((const attrs_depth_to_space *)c->attrs)->block_size, true, out);
}
Status infer_pixel_shuffle(const OpCall *c, TensorType *out) {
    return to_pixels(c, ((const attrs_pixel_shuffle *)c->attrs)->upscale_factor, false, out);
}
Status infer_space_to_depth(const OpCall *c, TensorType *out) {
    return to_channels(c, ((const attrs_space_to_depth *)c->attrs)->block_size, true, out);
}
Status infer_pixel_unshuffle(const OpCall *c, TensorType *out) {
    return to_channels(c, ((const attrs_pixel_unshuffle *)c->attrs)->downscale_factor, false, out);
}

/* Sizes in the form with few channels and many pixels, whose type is `wide`. */
static Blocks blocks_of(const TensorType *wide, int64_t size) {
    Blocks k = {1, wide->dims[wide->rank - 3], wide->dims[wide->rank - 2] / size,
                wide->dims[wide->rank - 1] / size, size};
    for (int i = 0; i < wide->rank - 3; i++) k.lead *= wide->dims[i];
    return k;
}

/* channel_first: the channel is the slowest part of the joined axis (pixel_shuffle). */
static void expand_to_pixels(ExpandCtx *c, int64_t size, bool channel_first) {
    TensorType x = type_of(c), r = result_type(c, &x);
    if (c->b->status != OK) return;
    Blocks k = blocks_of(&r, size);
    int64_t first[] = {k.lead, k.channels, size, size, k.height, k.width};
    int64_t last[] = {k.lead, size, size, k.channels, k.height, k.width};
    Ref v = b_reshape(c->b, c->x[0], 6, channel_first ? first : last);
    v = b_transpose(c->b, v,
                    channel_first ? (int64_t[]){0, 1, 4, 2, 5, 3} : (int64_t[]){0, 3, 4, 1, 5, 2});
    c->r[0] = b_reshape(c->b, v, r.rank, r.dims);
}

static void expand_to_channels(ExpandCtx *c, int64_t size, bool channel_first) {
    TensorType x = type_of(c), r = result_type(c, &x);
    if (c->b->status != OK) return;
    Blocks k = blocks_of(&x, size);
    int64_t dims[] = {k.lead, k.channels, k.height, size, k.width, size};
    Ref v = b_reshape(c->b, c->x[0], 6, dims);
    v = b_transpose(c->b, v,
                    channel_first ? (int64_t[]){0, 1, 3, 5, 2, 4} : (int64_t[]){0, 3, 5, 1, 2, 4});
    c->r[0] = b_reshape(c->b, v, r.rank, r.dims);
}

void expand_depth_to_space(ExpandCtx *c) {
    expand_to_pixels(c, ((const attrs_depth_to_space *)c->attrs)->block_size, false);
}
void expand_pixel_shuffle(ExpandCtx *c) {
    expand_to_pixels(c, ((const attrs_pixel_shuffle *)c->attrs)->upscale_factor, true);
}
void expand_space_to_depth(ExpandCtx *c) {
    expand_to_channels(c, ((const attrs_space_to_depth *)c->attrs)->block_size, false);
}
void expand_pixel_unshuffle(ExpandCtx *c) {
    expand_to_channels(c, ((const attrs_pixel_unshuffle *)c->attrs)->downscale_factor, true);
}
