/* Shapes and gradients of factors of matrices and triangular systems. */
#include "ops/functions.h"

static bool is_square(const TensorType *t) {
    return t->rank >= 2 && t->dims[t->rank - 2] == t->dims[t->rank - 1];
}

Status infer_cholesky(const OpCall *c, TensorType *out) {
    char text[200];
    if (!is_square(c->in[0]))
        return FAIL(VALUE, "cholesky: input_x is %s; it must be square matrices (..., n, n)",
                    type_text(c->in[0], text, sizeof text));
    *out = *c->in[0];
    return OK;
}

static Ref solved(Builder *b, Ref a, Ref right, bool trans, bool lower, bool is_unit) {
    attrs_solve_triangular at = {.trans = trans, .lower = lower, .unit_diagonal = is_unit};
    return b_op2(b, OP_solve_triangular, &at, a, right);
}

static Ref product(Builder *b, Ref x, bool tx, Ref y, bool ty) {
    return b_op2(b, OP_matmul, &(attrs_matmul){.transpose_a = tx, .transpose_b = ty}, x, y);
}

static Ref lower_part(Builder *b, Ref x, int64_t diagonal) {
    return b_op1(b, OP_tril, &(attrs_tril){.diagonal = diagonal}, x);
}

/* With a = l l^T: s = l^-T p l^-1, where p is the lower half of l^T dl, its diagonal halved; da is
 * the symmetric part of s (Murray 2016). */
void grad_cholesky(GradCtx *c) {
    const attrs_cholesky *a = c->attrs;
    Builder *b = c->b;
    Ref l = a->upper ? b_swap(b, c->r[0], -2, -1) : c->r[0];
    Ref g = a->upper ? b_swap(b, c->g[0], -2, -1) : c->g[0];
    Ref all = product(b, l, true, g, false);
    Ref half =
        b_mul(b, b_add(b, lower_part(b, all, 0), lower_part(b, all, -1)), b_num(b, all, 0.5));
    Ref left = solved(b, l, half, true, true, false);
    Ref s = solved(b, l, b_swap(b, left, -2, -1), true, true, false);
    c->dx[0] = b_mul(b, b_add(b, s, b_swap(b, s, -2, -1)), b_num(b, s, 0.5));
}

Status infer_solve_triangular(const OpCall *c, TensorType *out) {
    const TensorType *a = c->in[0], *right = c->in[1];
    bool fits = is_square(a) && right->rank == a->rank;
    for (int i = 0; fits && i + 1 < a->rank; i++) fits = a->dims[i] == right->dims[i];
    if (!fits) {
        char ta[200], tb[200];
        return FAIL(VALUE, "solve_triangular: a is %s, b %s; they must be (..., n, n), (..., n, m)",
                    type_text(a, ta, sizeof ta), type_text(right, tb, sizeof tb));
    }
    *out = *right;
    return OK;
}

/* x = a^-1 b: db = a^-T g, da = -db x^T, of which the triangle counts. */
void grad_solve_triangular(GradCtx *c) {
    const attrs_solve_triangular *a = c->attrs;
    Builder *b = c->b;
    Ref db = solved(b, c->x[0], c->g[0], !a->trans, a->lower, a->unit_diagonal);
    c->dx[1] = db;
    if (!c->want[0]) return;
    Ref x = c->r[0];
    Ref da = b_neg(b, a->trans ? product(b, x, false, db, true) : product(b, db, false, x, true));
    int64_t off = a->unit_diagonal;
    c->dx[0] =
        a->lower ? lower_part(b, da, -off) : b_op1(b, OP_triu, &(attrs_triu){.diagonal = off}, da);
}
