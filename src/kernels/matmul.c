/* Kernels of matmul and dense: the tiled product in f32 and f64, and a detour through the compute
 * type for all other dtypes. */
#include "kernels/product.h"

#include "kernels/through.h"

const char *can_gemm(const KernelArgs *a) {
    DType d = a->in[0].type->dtype;
    return d == DT_f32 || d == DT_f64 ? NULL : "it computes in float32 and float64";
}

void run_matmul_gemm(const KernelArgs *a) {
    Product p;
    product_of_matmul(a, &p);
    product_run(&p, a->in[0].type->dtype);
}

void run_dense_gemm(const KernelArgs *a) {
    Product p;
    product_of_dense(a, &p);
    product_run(&p, a->in[0].type->dtype);
}

/* Any compute type; the other dtypes arrive through it. */
static void matmul_plain(const KernelArgs *a) {
    Product p;
    product_of_matmul(a, &p);
    product_run(&p, a->out[0].type->dtype);
}

void run_matmul_any(const KernelArgs *a) { through_run(a, matmul_plain); }
void run_dense_any(const KernelArgs *a) { through_run(a, run_dense_gemm); }
