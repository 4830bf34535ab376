/* The reference matrix product. */
#include "kernels/kernel.h"

void run_matmul_ref(const KernelArgs *a) {
    const attrs_matmul *at = a->attrs;
    const Buf *x = &a->in[0], *y = &a->in[1];
    int64_t m = x->type->dims[0], k = x->type->dims[1], n = y->type->dims[1];
    int64_t xm = x->strides[0], xk = x->strides[1], yk = y->strides[0], yn = y->strides[1];
    if (at->transpose_a) {
        int64_t t = m;
        m = k;
        k = t;
        t = xm;
        xm = xk;
        xk = t;
    }
    if (at->transpose_b) {
        n = y->type->dims[0];
        int64_t t = yk;
        yk = yn;
        yn = t;
    }
    const float *px = (const float *)x->data, *py = (const float *)y->data;
    float *r = (float *)a->out[0].data;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double s = 0;
            for (int64_t q = 0; q < k; q++) s += (double)px[i * xm + q * xk] * py[q * yk + j * yn];
            r[i * n + j] = (float)s;
        }
}
