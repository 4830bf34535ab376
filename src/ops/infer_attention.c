/* Shapes and gradients of fused attention. */
#include <math.h>
#include <string.h>

#include "ops/attention.h"
#include "ops/functions.h"

static Status check_operand(const char *op, const char *name, const TensorType *t,
                            const TensorType *query) {
    char text[200];
    if (t->rank != 4 || t->dtype != query->dtype || t->dims[0] != query->dims[0])
        return FAIL(VALUE,
                    "%s: %s is %s; it must be (batch, heads, length, size) with query's dtype and "
                    "batch size",
                    op, name, type_text(t, text, sizeof text));
    return OK;
}

static Status check_mask(const char *op, const TensorType *m, const AttentionShape *s, DType d) {
    if (!m) return OK;
    char text[200];
    int64_t full[4] = {s->n, s->heads, s->t, s->keys};
    bool fits =
        m->rank <= 4 && (m->dtype == DT_bool || m->dtype == d || m->dtype == dtype_info[d].compute);
    for (int i = 1; fits && i <= m->rank; i++)
        fits = m->dims[m->rank - i] == 1 || m->dims[m->rank - i] == full[4 - i];
    if (fits) return OK;
    return FAIL(VALUE,
                "%s: attn_mask is %s; it must be bool or %s and broadcast to "
                "(%lld, %lld, %lld, %lld)",
                op, type_text(m, text, sizeof text), dtype_name(d), (long long)full[0],
                (long long)full[1], (long long)full[2], (long long)full[3]);
}

Status attention_shape(const char *op, const TensorType *q, const TensorType *k,
                       const TensorType *v, const TensorType *mask, AttentionShape *s) {
    char text[200];
    if (!dtype_is_float(q->dtype) || q->rank != 4 || q->dims[3] == 0)
        return FAIL(VALUE, "%s: query is %s; it must be floats (batch, heads, length, size)", op,
                    type_text(q, text, sizeof text));
    TRY(check_operand(op, "key", k, q));
    TRY(check_operand(op, "value", v, q));
    *s = (AttentionShape){.n = q->dims[0], .heads = q->dims[1], .t = q->dims[2], .d = q->dims[3]};
    s->kv_heads = k->dims[1], s->keys = k->dims[2], s->dv = v->dims[3];
    if (k->dims[3] != s->d || v->dims[1] != s->kv_heads || v->dims[2] != s->keys || s->dv == 0)
        return FAIL(VALUE,
                    "%s: key needs size %lld, and value the heads and length of key (%lld, %lld)",
                    op, (long long)s->d, (long long)s->kv_heads, (long long)s->keys);
    if (s->kv_heads < 1 || s->heads % s->kv_heads)
        return FAIL(VALUE, "%s: query has %lld heads; they must be a multiple of key's %lld", op,
                    (long long)s->heads, (long long)s->kv_heads);
    return check_mask(op, mask, s, q->dtype);
}

double attention_scale(double given, int64_t d) { return given != 0 ? given : 1 / sqrt((double)d); }

Status infer_flash_attention(const OpCall *c, TensorType *out) {
    AttentionShape s;
    const TensorType *q = c->in[0];
    TRY(attention_shape(c->op->name, q, c->in[1], c->in[2], c->nin > 3 ? c->in[3] : NULL, &s));
    out[0] = *q;
    out[0].dims[3] = s.dv;
    out[1] = (TensorType){.dtype = dtype_info[q->dtype].compute, .rank = 3};
    memcpy(out[1].dims, q->dims, 3 * sizeof *q->dims);
    return OK;
}

Status infer_flash_attention_grad(const OpCall *c, TensorType *out) {
    AttentionShape s;
    const TensorType *g = c->in[0], *q = c->in[1], *y = c->in[4], *lse = c->in[5];
    TRY(attention_shape(c->op->name, q, c->in[2], c->in[3], c->nin > 6 ? c->in[6] : NULL, &s));
    TensorType want = *q;
    want.dims[3] = s.dv;
    TensorType sums = {.dtype = dtype_info[q->dtype].compute, .rank = 3};
    memcpy(sums.dims, q->dims, 3 * sizeof *q->dims);
    if (!type_equal(g, &want) || !type_equal(y, &want) || !type_equal(lse, &sums))
        return FAIL(VALUE, "%s: g, output and logsumexp must be as flash_attention gives them",
                    c->op->name);
    for (int i = 0; i < 3; i++) out[i] = *c->in[1 + i];
    return OK;
}

/* ---- gradients */

static Ref transposed_product(Builder *b, Ref x, bool tx, Ref y, bool ty) {
    return b_op2(b, OP_matmul, &(attrs_matmul){.transpose_a = tx, .transpose_b = ty}, x, y);
}

/* Key and value heads repeated for the query heads that share them. */
static Ref repeat_heads(Builder *b, Ref x, int64_t heads) {
    if (b->status != OK) return 0;
    TensorType t = *b_type(b, x);
    int64_t times = heads / t.dims[1];
    if (times == 1) return x;
    int64_t one[] = {t.dims[0], t.dims[1], 1, t.dims[2], t.dims[3]};
    int64_t wide[] = {t.dims[0], t.dims[1], times, t.dims[2], t.dims[3]};
    int64_t all[] = {t.dims[0], heads, t.dims[2], t.dims[3]};
    return b_reshape(b, b_broadcast(b, b_reshape(b, x, 5, one), 5, wide), 4, all);
}

static Ref fold_heads(Builder *b, Ref g, const TensorType *like) {
    if (b->status != OK) return 0;
    TensorType t = *b_type(b, g);
    int64_t times = t.dims[1] / like->dims[1];
    if (times == 1) return g;
    int64_t apart[] = {t.dims[0], like->dims[1], times, t.dims[2], t.dims[3]};
    return b_sum(b, b_reshape(b, g, 5, apart), INTLIST1(2), false);
}

/* True where a query may see a key: (t, keys). The last query sees all keys when lengths differ no
 * more than that: row i sees keys up to i. */
static Ref causal(Builder *b, int64_t t, int64_t keys) {
    TensorType ones = {.dtype = DT_bool, .rank = 2, .dims = {t, keys}};
    Ref all = b_op1(b, OP_contiguous, NULL, b->status == OK ? b->fill(b, &ones, 1) : 0);
    return b_op1(b, OP_tril, NULL, all);
}

/* Scores with masks applied: -inf where a key does not count. */
static Ref scores(Builder *b, Ref q, Ref k, Ref mask, double scale, bool is_causal) {
    Ref s = transposed_product(b, q, false, k, true);
    s = b_mul(b, s, b_num(b, s, scale));
    if (b->status != OK) return 0;
    TensorType t = *b_type(b, s);
    Ref none = b_num(b, s, -INFINITY);
    if (mask && b_type(b, mask)->dtype == DT_bool)
        s = b_op3(b, OP_where, NULL, mask, s, none);
    else if (mask)
        s = b_add(b, s, b_cast(b, mask, t.dtype));
    if (is_causal) s = b_op3(b, OP_where, NULL, causal(b, t.dims[2], t.dims[3]), s, none);
    return s;
}

/* softmax of the scores, 0 in rows that see no key, whose logsumexp is -inf. */
static Ref weights(Builder *b, Ref s, Ref lse) {
    if (b->status != OK) return 0;
    TensorType t = *b_type(b, lse);
    Ref column = b_reshape(b, lse, 4, (int64_t[]){t.dims[0], t.dims[1], t.dims[2], 1});
    Ref empty = b_op2(b, OP_equal, NULL, column, b_num(b, column, -INFINITY));
    Ref safe = b_op3(b, OP_where, NULL, empty, b_num(b, column, 0), column);
    return b_op1(b, OP_exp, NULL, b_sub(b, s, safe));
}

typedef struct Attend {
    Ref g, q, k, v, y, lse, mask, g_lse;
    double scale;
    bool is_causal;
} Attend;

/* Gradient of the masked scores: p (g v^T - sum(g y) + gradient of logsumexp). */
static Ref score_grad(Builder *b, const Attend *a, Ref *p) {
    *p = weights(b, scores(b, a->q, a->k, a->mask, a->scale, a->is_causal), a->lse);
    Ref dp = transposed_product(b, a->g, false, a->v, true);
    Ref delta = b_sum(b, b_mul(b, a->g, a->y), INTLIST1(-1), true);
    if (a->g_lse) {
        TensorType t = *b_type(b, a->lse);
        int64_t column[] = {t.dims[0], t.dims[1], t.dims[2], 1};
        delta = b_sub(b, delta, b_reshape(b, a->g_lse, 4, column));
    }
    return b_mul(b, *p, b_sub(b, dp, delta));
}

static Attend attend_of(Builder *b, const Ref *in, int nin, double scale, bool is_causal) {
    const TensorType *q = b_type(b, in[1]);
    DType ct = dtype_info[q->dtype].compute;
    int64_t heads = q->dims[1];
    Attend a = {.scale = attention_scale(scale, q->dims[3]), .is_causal = is_causal};
    a.g = b_cast(b, in[0], ct), a.q = b_cast(b, in[1], ct);
    a.k = repeat_heads(b, b_cast(b, in[2], ct), heads);
    a.v = repeat_heads(b, b_cast(b, in[3], ct), heads);
    a.y = b_cast(b, in[4], ct), a.lse = in[5];
    a.mask = nin > 6 ? in[6] : 0;
    return a;
}

static void composed_grad(Builder *b, const Attend *a, const TensorType *k, const TensorType *v,
                          Ref out[4]) {
    Ref p, ds = score_grad(b, a, &p), scaled = b_mul(b, ds, b_num(b, ds, a->scale));
    out[0] = transposed_product(b, scaled, false, a->k, false);
    out[1] = fold_heads(b, transposed_product(b, scaled, true, a->q, false), k);
    out[2] = fold_heads(b, transposed_product(b, p, true, a->g, false), v);
    out[3] = ds;
}

void expand_flash_attention_grad(ExpandCtx *c) {
    const attrs_flash_attention_grad *at = c->attrs;
    Builder *b = c->b;
    Attend a = attend_of(b, c->x, c->nin, at->scale, at->is_causal == 1);
    TensorType k = *b_type(b, c->x[2]), v = *b_type(b, c->x[3]);
    Ref out[4];
    composed_grad(b, &a, &k, &v, out);
    for (int i = 0; i < 3; i++) c->r[i] = b_cast(b, out[i], k.dtype);
}

/* The fused gradient, unless a float mask or the result logsumexp takes part. */
void grad_flash_attention(GradCtx *c) {
    const attrs_flash_attention *at = c->attrs;
    Builder *b = c->b;
    bool mask_wanted = c->nin > 3 && c->want[3] && dtype_is_float(c->xtypes[3]->dtype);
    Ref g = c->g[0] ? c->g[0] : b_zeros_like(b, c->rtypes[0]);
    Ref in[] = {g, c->x[0], c->x[1], c->x[2], c->r[0], c->r[1], c->nin > 3 ? c->x[3] : 0};
    if (b->status != OK) return;
    if (!mask_wanted && !c->g[1]) {
        attrs_flash_attention_grad a = {.scale = at->scale, .is_causal = at->is_causal};
        b->call(b, op_get(OP_flash_attention_grad), &a, 7, in, 3, c->dx);
        return;
    }
    Attend a = attend_of(b, in, 7, at->scale, at->is_causal == 1);
    a.g_lse = c->g[1];
    Ref out[4];
    composed_grad(b, &a, c->xtypes[1], c->xtypes[2], out);
    for (int i = 0; i < 3; i++) c->dx[i] = b_cast(b, out[i], c->xtypes[i]->dtype);
    if (!mask_wanted) return;
    const TensorType *m = c->xtypes[3];
    c->dx[3] = b_cast(b, b_sum_to(b, out[3], m->rank, m->dims), m->dtype);
}
