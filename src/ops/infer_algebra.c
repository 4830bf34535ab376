/* Shapes and gradients of matrix products. */
#include <string.h>

#include "ops/functions.h"

/* The operands as matrices: vectors get an axis of size 1, transposes are applied. */
static Status matrix_sizes(const OpCall *c, int64_t *m, int64_t *k, int64_t *n) {
    const attrs_matmul *a = c->attrs;
    const TensorType *x = c->in[0], *y = c->in[1];
    if (x->rank == 0 || y->rank == 0)
        return FAIL(VALUE, "matmul: input %d is 0-d; both need at least one axis", x->rank != 0);
    int64_t xr = x->rank > 1 ? x->dims[x->rank - 2] : 1, xc = x->dims[x->rank - 1];
    int64_t yr = y->rank > 1 ? y->dims[y->rank - 2] : y->dims[0];
    int64_t yc = y->rank > 1 ? y->dims[y->rank - 1] : 1;
    bool ta = a->transpose_a && x->rank > 1, tb = a->transpose_b && y->rank > 1;
    int64_t k2 = tb ? yc : yr;
    *m = ta ? xc : xr;
    *k = ta ? xr : xc;
    *n = tb ? yr : yc;
    if (*k != k2) {
        char tx[200], ty[200];
        return FAIL(VALUE, "matmul: inner sizes differ: %s%s and %s%s: %lld and %lld",
                    type_text(x, tx, sizeof tx), ta ? " transposed" : "",
                    type_text(y, ty, sizeof ty), tb ? " transposed" : "", (long long)*k,
                    (long long)k2);
    }
    return OK;
}

Status infer_matmul(const OpCall *c, TensorType *out) {
    int64_t m, k, n;
    TRY(matrix_sizes(c, &m, &k, &n));
    const TensorType *x = c->in[0], *y = c->in[1];
    TensorType bx = *x, by = *y, t = {.dtype = x->dtype};
    bx.rank = x->rank > 2 ? x->rank - 2 : 0;
    by.rank = y->rank > 2 ? y->rank - 2 : 0;
    TRY(type_broadcast("matmul", &bx, &by, &t));
    if (x->rank > 1) t.dims[t.rank++] = m;
    if (y->rank > 1) t.dims[t.rank++] = n;
    *out = t;
    return OK;
}

static Ref product(Builder *b, Ref x, bool tx, Ref y, bool ty) {
    return b_op2(b, OP_matmul, &(attrs_matmul){.transpose_a = tx, .transpose_b = ty}, x, y);
}

/* Products of a stack of matrices with one matrix: the stack is one tall matrix, so that the
 * gradient of the one is a single product too. Returns false when that does not apply. */
static bool grad_tall(GradCtx *c, bool ta, bool tb) {
    const TensorType *tx = c->xtypes[0], *ty = c->xtypes[1];
    if (ta || tx->rank < 3 || ty->rank != 2) return false;
    Builder *b = c->b;
    int64_t k = tx->dims[tx->rank - 1], n = ty->dims[tb ? 0 : 1], rows = 1;
    for (int i = 0; i + 1 < tx->rank; i++) rows *= tx->dims[i];
    Ref g = b_reshape(b, c->g[0], 2, (int64_t[]){rows, n});
    if (c->want[0]) c->dx[0] = b_reshape(b, product(b, g, false, c->x[1], !tb), tx->rank, tx->dims);
    if (!c->want[1]) return true;
    Ref x = b_reshape(b, c->x[0], 2, (int64_t[]){rows, k});
    c->dx[1] = tb ? product(b, g, true, x, false) : product(b, x, true, g, false);
    return true;
}

/* y = op(a) op(b): da = g op(b)^T, db = op(a)^T g, with vectors seen as matrices. */
void grad_matmul(GradCtx *c) {
    const attrs_matmul *a = c->attrs;
    Builder *b = c->b;
    const TensorType *tx = c->xtypes[0], *ty = c->xtypes[1], *tr = c->rtypes[0];
    bool vx = tx->rank == 1, vy = ty->rank == 1;
    bool ta = a->transpose_a && !vx, tb = a->transpose_b && !vy;
    if (grad_tall(c, ta, tb)) return;
    int64_t dims[MAX_RANK];
    int rank = tr->rank;
    memcpy(dims, tr->dims, sizeof dims);
    if (vy) dims[rank++] = 1;
    if (vx) {
        memmove(dims + rank - 1 + 1, dims + rank - 1, sizeof *dims);
        dims[rank - 1] = 1;
        rank++;
    }
    Ref g = b_reshape(b, c->g[0], rank, dims);
    Ref x = vx ? b_reshape(b, c->x[0], 2, (int64_t[]){1, tx->dims[0]}) : c->x[0];
    Ref y = vy ? b_reshape(b, c->x[1], 2, (int64_t[]){ty->dims[0], 1}) : c->x[1];
    if (c->want[0]) {
        Ref dx = ta ? product(b, y, tb, g, true) : product(b, g, false, y, !tb);
        int64_t row[] = {1, tx->dims[0]};
        dx = b_sum_to(b, dx, vx ? 2 : tx->rank, vx ? row : tx->dims);
        c->dx[0] = b_reshape(b, dx, tx->rank, tx->dims);
    }
    if (c->want[1]) {
        Ref dy = tb ? product(b, g, true, x, ta) : product(b, x, !ta, g, false);
        int64_t column[] = {ty->dims[0], 1};
        dy = b_sum_to(b, dy, vy ? 2 : ty->rank, vy ? column : ty->dims);
        c->dx[1] = b_reshape(b, dy, ty->rank, ty->dims);
    }
}

Status infer_dense(const OpCall *c, TensorType *out) {
    const TensorType *x = c->in[0], *w = c->in[1], *b = c->nin > 2 ? c->in[2] : NULL;
    char tx[200], tw[200];
    if (w->rank != 2)
        return FAIL(VALUE, "dense: weight is %s; it must be (out, in)",
                    type_text(w, tw, sizeof tw));
    if (x->rank == 0 || x->dims[x->rank - 1] != w->dims[1])
        return FAIL(VALUE, "dense: input is %s; its last size must be %lld for weight %s",
                    type_text(x, tx, sizeof tx), (long long)w->dims[1],
                    type_text(w, tw, sizeof tw));
    if (b && (b->rank != 1 || b->dims[0] != w->dims[0]))
        return FAIL(VALUE, "dense: bias is %s; it must be (%lld) for weight %s",
                    type_text(b, tx, sizeof tx), (long long)w->dims[0],
                    type_text(w, tw, sizeof tw));
    *out = *x;
    out->dims[x->rank - 1] = w->dims[0];
    return OK;
}

/* y = x w^T + b over all rows: dx = g w, dw = g^T x, db = sum of g. */
void grad_dense(GradCtx *c) {
    Builder *b = c->b;
    const TensorType *tx = c->xtypes[0], *tw = c->xtypes[1];
    int64_t rows = 1;
    for (int i = 0; i + 1 < tx->rank; i++) rows *= tx->dims[i];
    Ref g = b_reshape(b, c->g[0], 2, (int64_t[]){rows, tw->dims[0]});
    if (c->want[0])
        c->dx[0] = b_reshape(b, product(b, g, false, c->x[1], false), tx->rank, tx->dims);
    if (c->want[1]) {
        Ref x = b_reshape(b, c->x[0], 2, (int64_t[]){rows, tw->dims[1]});
        c->dx[1] = product(b, g, true, x, false);
    }
    if (c->nin > 2 && c->want[2]) c->dx[2] = b_sum(b, g, INTLIST1(0), false);
}
