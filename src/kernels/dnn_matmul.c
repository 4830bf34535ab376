/* Products in oneDNN: bfloat16 where the CPU has its instructions. Transposed operands are
 * described by their strides, never copied. */
#include <string.h>

#include "kernels/dnn_plan.h"
#include "kernels/product.h"

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

Status prepare_product_dnn(const KernelArgs *a, void **state, size_t *scratch) {
    Product v;
    read_product(a, &v);
    DnnPlan *p = dnn_plan_new();
    Status status = plan_product(p, &v, a->nin > 2 && a->in[2].type);
    if (status != OK) {
        dnn_plan_free(p);
        return status;
    }
    *state = p;
    *scratch = dnn_plan_scratch(p);
    return OK;
}

void release_product_dnn(void *state) { release_dnn(state); }
void run_product_dnn(const KernelArgs *a) { run_dnn(a); }
