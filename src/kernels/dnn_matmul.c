/* Products in oneDNN: bfloat16 where the CPU has its instructions. Transposed operands are
 * described by their strides, never copied.
 *
 * Matrix tiles (AMX) take 32 terms of a sum at a time, and oneDNN 2.6 is up to six times slower
 * when a large product has terms left over. Operands are then copied with zeros added to their
 * rows and columns. */
#include <string.h>

#include "kernels/copy.h"
#include "kernels/dnn_plan.h"
#include "kernels/product.h"
#include "kernels/through.h"

static void read_product(const KernelArgs *a, Product *p) {
    if (a->op->id == OP_dense)
        product_of_dense(a, p);
    else
        product_of_matmul(a, p);
}

/* One of the two strides of a matrix must be 1, or its axis must have size 1. */
static bool has_rows(int64_t rows, int64_t columns, int64_t rs, int64_t cs) {
    return cs == 1 ? rs >= columns || rows == 1 : rs == 1 && (cs >= rows || columns == 1);
}

const char *can_product_dnn(const KernelArgs *a) {
    DType d = a->in[0].type->dtype;
    if (d != DT_bf16) return "our own product is as fast in float32";
    const char *why = dnn_can_dtype(d);
    if (why) return why;
    Product p;
    read_product(a, &p);
    if (p.m == 0 || p.n == 0 || p.k == 0 || p.batches == 0) return "a size is 0";
    if (p.nbatch > 1) return "there is more than one batch axis";
    if (!has_rows(p.m, p.k, p.xm, p.xk) || !has_rows(p.k, p.n, p.yk, p.yn))
        return "an operand has no contiguous axis";
    if (a->nin > 2 && a->in[2].type && a->in[2].strides[0] != 1) return "the bias has a stride";
    return NULL;
}

static Status matrix(int64_t batches, int64_t rows, int64_t columns, int64_t step, int64_t rs,
                     int64_t cs, dnnl_memory_desc_t *md) {
    int64_t dims[3] = {batches, rows, columns}, strides[3] = {step, rs, cs};
    /* Strides of axes with size 1 do not count, but the library wants sound ones. */
    if (rows == 1) strides[1] = cs == 1 ? columns : 1;
    if (columns == 1) strides[2] = rs == 1 ? rows : 1;
    if (batches == 1) strides[0] = rows * columns;
    return dnn_layout(dnnl_bf16, 3, dims, strides, md);
}

/* How many terms the sums have for oneDNN: v->k, or more with those of zeros. */
static int64_t padded_terms(const Product *v) {
    enum { AT_ONCE = 32, LARGE = 256 };
    if (v->m < LARGE || v->n < LARGE || !dnn_has_tiles()) return v->k;
    return (v->k + AT_ONCE - 1) / AT_ONCE * AT_ONCE;
}

/* The strides of a dense copy with k terms, which keeps the order of the axes. */
static void pad_strides(Product *v, int64_t k) {
    bool x_rows = v->xk == 1, y_rows = v->yn == 1;
    v->xm = x_rows ? k : 1;
    v->xk = x_rows ? 1 : v->m;
    v->yk = y_rows ? v->n : 1;
    v->yn = y_rows ? 1 : k;
    v->k = k;
    if (v->nbatch && v->xs[0]) v->xs[0] = v->m * k;
    if (v->nbatch && v->ys[0]) v->ys[0] = k * v->n;
}

static Status plan_product(DnnPlan *p, const Product *v, bool has_bias) {
    dnnl_memory_desc_t x, y, out, bias;
    int64_t xs = v->nbatch ? v->xs[0] : 0, ys = v->nbatch ? v->ys[0] : 0;
    TRY(matrix(xs ? v->batches : 1, v->m, v->k, xs, v->xm, v->xk, &x));
    TRY(matrix(ys ? v->batches : 1, v->k, v->n, ys, v->yk, v->yn, &y));
    TRY(matrix(v->batches, v->m, v->n, v->m * v->n, v->n, 1, &out));
    TRY(matrix(1, 1, v->n, v->n, v->n, 1, &bias));
    dnnl_matmul_desc_t desc;
    dnnl_primitive_desc_t pd;
    TRY(dnn_check(dnnl_matmul_desc_init(&desc, &x, &y, has_bias ? &bias : NULL, &out),
                  "a product"));
    TRY(dnn_describe(&desc, NULL, &pd));
    Status status = dnn_step(p, pd, 4,
                             (DnnArg[]){{DNNL_ARG_SRC, dnn_in(p, 0, &x)},
                                        {DNNL_ARG_WEIGHTS, dnn_in(p, 1, &y)},
                                        {DNNL_ARG_BIAS, has_bias ? dnn_in(p, 2, &bias) : -1},
                                        {DNNL_ARG_DST, dnn_out(p, 0, &out)}});
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* Bytes of the copies of x and y. */
static int64_t copy_bytes(const Product *v, bool is_y) {
    bool batched = v->nbatch && (is_y ? v->ys[0] : v->xs[0]);
    return align64((is_y ? v->n : v->m) * v->k * (batched ? v->batches : 1) * 2);
}

Status prepare_product_dnn(const KernelArgs *a, void **state, size_t *scratch) {
    Product v;
    read_product(a, &v);
    int64_t k = padded_terms(&v), copies = 0;
    if (k != v.k) {
        pad_strides(&v, k);
        copies = copy_bytes(&v, false) + copy_bytes(&v, true);
    }
    DnnPlan *p = dnn_plan_new();
    Status status = plan_product(p, &v, a->nin > 2 && a->in[2].type);
    if (status != OK) {
        dnn_plan_free(p);
        return status;
    }
    *state = p;
    *scratch = dnn_plan_scratch(p) + (size_t)copies;
    return OK;
}

void release_product_dnn(void *state) { release_dnn(state); }

/* copy_strided with the axis innermost along which dst lies dense. */
static void copy_dense(const int64_t *dims, char *dst, const int64_t *to, const char *src,
                       const int64_t *from) {
    int last = to[2] == 1 ? 2 : 1, other = 3 - last;
    copy_strided(3, (int64_t[]){dims[0], dims[other], dims[last]},
                 (Place){DT_bf16, dst, (int64_t[]){to[0], to[other], to[last]}},
                 (Place){DT_bf16, (char *)src, (int64_t[]){from[0], from[other], from[last]}});
}

/* (batches, rows, k) from src, with zeros up to the `to` terms of dst; steps as {batch, row, k}. */
static void pad_terms(const int64_t *dims, int64_t to, char *dst, const int64_t *dst_steps,
                      const char *src, const int64_t *src_steps) {
    static const uint16_t zero;
    copy_dense(dims, dst, dst_steps, src, src_steps);
    copy_dense((int64_t[]){dims[0], dims[1], to - dims[2]}, dst + dims[2] * dst_steps[2] * 2,
               dst_steps, (const char *)&zero, (int64_t[]){0, 0, 0});
}

static void run_padded(const KernelArgs *a, const Product *v, int64_t k) {
    Product to = *v;
    pad_strides(&to, k);
    char *x = (char *)a->scratch + dnn_plan_scratch(a->state), *y = x + copy_bytes(&to, false);
    int64_t xs = v->nbatch ? v->xs[0] : 0, ys = v->nbatch ? v->ys[0] : 0;
    pad_terms((int64_t[]){xs ? v->batches : 1, v->m, v->k}, k, x,
              (int64_t[]){to.xs[0], to.xm, to.xk}, v->x, (int64_t[]){xs, v->xm, v->xk});
    pad_terms((int64_t[]){ys ? v->batches : 1, v->n, v->k}, k, y,
              (int64_t[]){to.ys[0], to.yn, to.yk}, v->y, (int64_t[]){ys, v->yn, v->yk});
    Buf in[3] = {{.data = x}, {.data = y}};
    if (a->nin > 2) in[2] = a->in[2];
    KernelArgs padded = *a;
    padded.in = in;
    run_dnn(&padded);
}

void run_product_dnn(const KernelArgs *a) {
    Product v;
    read_product(a, &v);
    int64_t k = padded_terms(&v);
    if (k == v.k)
        run_dnn(a);
    else
        run_padded(a, &v, k);
}
