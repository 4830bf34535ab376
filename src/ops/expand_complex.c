/* Complex numbers: what ops do to them, written as calls on their real and imaginary parts.
 *
 * Gradients follow: that of z = a + b i under a real loss is dL/da + i dL/db. An op that stands
 * neither here nor among those that only move bytes refuses complex tensors. */
#include "ops/complex.h"
#include "ops/functions.h"

typedef struct Z {
    Ref re, im;
} Z;

/* ---- taking apart and putting together */

Status infer_part(const OpCall *c, TensorType *out) {
    *out = *c->in[0];
    if (dtype_is_complex(out->dtype)) out->dtype = dtype_info[out->dtype].compute;
    return OK;
}

Status infer_complex_core(const OpCall *c, TensorType *out) {
    char a[200], b[200];
    DType d = (DType)c->in[0]->dtype;
    if ((d != DT_f32 && d != DT_f64) || !type_equal(c->in[0], c->in[1]))
        return FAIL(TYPE,
                    "complex: real is %s, imag %s; both must be float32 or float64 of one shape",
                    type_text(c->in[0], a, sizeof a), type_text(c->in[1], b, sizeof b));
    *out = *c->in[0];
    out->dtype = d == DT_f32 ? DT_c64 : DT_c128;
    return OK;
}

static Ref joined(Builder *b, Ref re, Ref im) { return b_op2(b, OP_complex_core, NULL, re, im); }
static Ref zeros_like(Builder *b, Ref x) {
    return b->status == OK ? b_zeros_like(b, b_type(b, x)) : 0;
}

void grad_real(GradCtx *c) {
    bool is_complex = dtype_is_complex(c->xtypes[0]->dtype);
    c->dx[0] = is_complex ? joined(c->b, c->g[0], zeros_like(c->b, c->g[0])) : c->g[0];
}
void grad_imag(GradCtx *c) {
    if (dtype_is_complex(c->xtypes[0]->dtype))
        c->dx[0] = joined(c->b, zeros_like(c->b, c->g[0]), c->g[0]);
}
void grad_complex_core(GradCtx *c) {
    c->dx[0] = b_op1(c->b, OP_real, NULL, c->g[0]);
    c->dx[1] = b_op1(c->b, OP_imag, NULL, c->g[0]);
}

static Z parts(Builder *b, Ref x, DType part) {
    if (b->status != OK) return (Z){0};
    Ref re = b_cast(b, b_op1(b, OP_real, NULL, x), part);
    bool is_complex = dtype_is_complex(b_type(b, x)->dtype);
    return (Z){re, is_complex ? b_cast(b, b_op1(b, OP_imag, NULL, x), part) : zeros_like(b, re)};
}

/* The parts of input i, in the type all inputs meet in. */
static Z input(ExpandCtx *c, int i) {
    Builder *b = c->b;
    DType d = DT_c64;
    for (int k = 0; k < c->nin && b->status == OK; k++)
        if (c->x[k]) d = dtype_promote(d, b_type(b, c->x[k])->dtype);
    return parts(b, c->x[i], dtype_info[d].compute);
}
static void give(ExpandCtx *c, Z z) { c->r[0] = joined(c->b, z.re, z.im); }

/* ---- arithmetic */

static Z product(Builder *b, Z x, Z y) {
    return (Z){b_sub(b, b_mul(b, x.re, y.re), b_mul(b, x.im, y.im)),
               b_add(b, b_mul(b, x.re, y.im), b_mul(b, x.im, y.re))};
}
static Z inverse(Builder *b, Z x) {
    Ref square = b_add(b, b_mul(b, x.re, x.re), b_mul(b, x.im, x.im));
    return (Z){b_div(b, x.re, square), b_neg(b, b_div(b, x.im, square))};
}
static Ref length(Builder *b, Z x) { return b_op2(b, OP_hypot, NULL, x.re, x.im); }

static void z_add(ExpandCtx *c) {
    Z x = input(c, 0), y = input(c, 1);
    give(c, (Z){b_add(c->b, x.re, y.re), b_add(c->b, x.im, y.im)});
}
static void z_sub(ExpandCtx *c) {
    Z x = input(c, 0), y = input(c, 1);
    give(c, (Z){b_sub(c->b, x.re, y.re), b_sub(c->b, x.im, y.im)});
}
static void z_mul(ExpandCtx *c) { give(c, product(c->b, input(c, 0), input(c, 1))); }
static void z_div(ExpandCtx *c) { give(c, product(c->b, input(c, 0), inverse(c->b, input(c, 1)))); }
static void z_reciprocal(ExpandCtx *c) { give(c, inverse(c->b, input(c, 0))); }
static void z_neg(ExpandCtx *c) {
    Z x = input(c, 0);
    give(c, (Z){b_neg(c->b, x.re), b_neg(c->b, x.im)});
}
static void z_square(ExpandCtx *c) {
    Z x = input(c, 0);
    give(c, product(c->b, x, x));
}
static void z_abs(ExpandCtx *c) { c->r[0] = length(c->b, input(c, 0)); }

void expand_conj(ExpandCtx *c) {
    Builder *b = c->b;
    if (b->status != OK) return;
    c->r[0] = c->x[0];
    if (!dtype_is_complex(b_type(b, c->x[0])->dtype)) return;
    Z x = input(c, 0);
    give(c, (Z){x.re, b_neg(b, x.im)});
}

/* ---- functions */

static void z_exp(ExpandCtx *c) {
    Builder *b = c->b;
    Z x = input(c, 0);
    Ref size = b_op1(b, OP_exp, NULL, x.re);
    give(c, (Z){b_mul(b, size, b_op1(b, OP_cos, NULL, x.im)),
                b_mul(b, size, b_op1(b, OP_sin, NULL, x.im))});
}
static void z_log(ExpandCtx *c) {
    Z x = input(c, 0);
    give(c,
         (Z){b_op1(c->b, OP_log, NULL, length(c->b, x)), b_op2(c->b, OP_atan2, NULL, x.im, x.re)});
}
/* Half the angle of 2 a against 1 - a^2 - b^2, and a quarter of the logarithm of the ratio of the
 * squared distances from -i and i. */
static void z_atan(ExpandCtx *c) {
    Builder *b = c->b;
    Z x = input(c, 0);
    Ref one = b_num(b, x.re, 1), a2 = b_mul(b, x.re, x.re);
    Ref rest = b_sub(b, b_sub(b, one, a2), b_mul(b, x.im, x.im));
    Ref angle = b_op2(b, OP_atan2, NULL, b_add(b, x.re, x.re), rest);
    Ref up = b_add(b, x.im, one), down = b_sub(b, x.im, one);
    Ref ratio = b_div(b, b_add(b, a2, b_mul(b, up, up)), b_add(b, a2, b_mul(b, down, down)));
    give(c, (Z){b_mul(b, angle, b_num(b, x.re, 0.5)),
                b_mul(b, b_op1(b, OP_log, NULL, ratio), b_num(b, x.re, 0.25))});
}

/* ---- truth */

static void z_equal(ExpandCtx *c) {
    Z x = input(c, 0), y = input(c, 1);
    c->r[0] = b_op2(c->b, OP_logical_and, NULL, b_op2(c->b, OP_equal, NULL, x.re, y.re),
                    b_op2(c->b, OP_equal, NULL, x.im, y.im));
}
static void z_not_equal(ExpandCtx *c) {
    z_equal(c);
    c->r[0] = b_op1(c->b, OP_logical_not, NULL, c->r[0]);
}

/* ---- sums and products of many */

static void z_sum(ExpandCtx *c) {
    attrs_sum a = *(const attrs_sum *)c->attrs;
    int64_t dtype = a.dtype;
    a.dtype = DT_NONE;
    Z x = input(c, 0);
    give(c, (Z){b_op1(c->b, OP_sum, &a, x.re), b_op1(c->b, OP_sum, &a, x.im)});
    if (dtype != DT_NONE) c->r[0] = b_cast(c->b, c->r[0], (DType)dtype);
}
static void z_mean(ExpandCtx *c) {
    Z x = input(c, 0);
    give(c, (Z){b_op1(c->b, OP_mean, c->attrs, x.re), b_op1(c->b, OP_mean, c->attrs, x.im)});
}
static Z products(ExpandCtx *c, OpId op) {
    Builder *b = c->b;
    Z x = input(c, 0), y = input(c, 1);
    return (Z){b_sub(b, b_op2(b, op, c->attrs, x.re, y.re), b_op2(b, op, c->attrs, x.im, y.im)),
               b_add(b, b_op2(b, op, c->attrs, x.re, y.im), b_op2(b, op, c->attrs, x.im, y.re))};
}
static void z_matmul(ExpandCtx *c) { give(c, products(c, OP_matmul)); }
static void z_dense(ExpandCtx *c) {
    Z y = products(c, OP_dense);
    if (c->nin > 2 && c->x[2]) {
        Z bias = input(c, 2);
        y = (Z){b_add(c->b, y.re, bias.re), b_add(c->b, y.im, bias.im)};
    }
    give(c, y);
}

/* ---- who takes complex tensors */

ExpandFn complex_expansion(const Op *op) {
    switch (op->id) {
    case OP_add: return z_add;
    case OP_sub: return z_sub;
    case OP_mul: return z_mul;
    case OP_div: return z_div;
    case OP_neg: return z_neg;
    case OP_reciprocal: return z_reciprocal;
    case OP_square: return z_square;
    case OP_abs: return z_abs;
    case OP_conj: return expand_conj;
    case OP_exp: return z_exp;
    case OP_log: return z_log;
    case OP_atan: return z_atan;
    case OP_equal: return z_equal;
    case OP_not_equal: return z_not_equal;
    case OP_sum: return z_sum;
    case OP_mean: return z_mean;
    case OP_matmul: return z_matmul;
    case OP_dense: return z_dense;
    default: return NULL;
    }
}

static bool moves(const Op *op) {
    switch (op->id) {
    case OP_cast:
    case OP_contiguous:
    case OP_real:
    case OP_imag:
    case OP_complex_core:
    case OP_concat:
    case OP_stack:
    case OP_slice_set:
    case OP_slice_grad:
    case OP_diagonal_grad: return true;
    default: return op->kind == K_MAP;
    }
}

Status complex_check(const Op *op, int n, const TensorType *const *types) {
    for (int i = 0; i < n; i++)
        if (types[i] && dtype_is_complex(types[i]->dtype) && !moves(op))
            return FAIL(TYPE, "%s: %s tensors are not supported; take them apart by real and imag",
                        op->name, dtype_name(types[i]->dtype));
    return OK;
}
