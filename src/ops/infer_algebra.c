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

/* y = op(a) op(b): da = g op(b)^T, db = op(a)^T g, with vectors seen as matrices. */
void grad_matmul(GradCtx *c) {
    const attrs_matmul *a = c->attrs;
    Builder *b = c->b;
    const TensorType *tx = c->xtypes[0], *ty = c->xtypes[1], *tr = c->rtypes[0];
    bool vx = tx->rank == 1, vy = ty->rank == 1;
    bool ta = a->transpose_a && !vx, tb = a->transpose_b && !vy;
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
        dx = vx ? b_sum_to(b, dx, 2, row) : dx;
        c->dx[0] = b_sum_to(b, dx, tx->rank, tx->dims);
    }
    if (c->want[1]) {
        Ref dy = tb ? product(b, g, true, x, ta) : product(b, x, !ta, g, false);
        int64_t column[] = {ty->dims[0], 1};
        dy = vy ? b_sum_to(b, dy, 2, column) : dy;
        c->dx[1] = b_sum_to(b, dy, ty->rank, ty->dims);
    }
}
