/* Sums over axes. */
#include <string.h>

#include "kernels/kernel.h"
#include "kernels/loops.h"
#include "kernels/walk.h"
#include "ops/reduce.h"

void run_sum(const KernelArgs *a) {
    const attrs_sum *at = a->attrs;
    uint32_t mask;
    const TensorType *x = a->in[0].type;
    if (reduce_axes("sum", &at->axis, x->rank, &mask) != OK) return;
    TensorType kept = *x;
    int64_t strides[MAX_RANK], s = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        strides[i] = mask >> i & 1 ? 0 : s;
        if (!(mask >> i & 1)) s *= x->dims[i];
    }
    memset(a->out[0].data, 0,
           (size_t)(type_count(a->out[0].type) * dtype_size(a->out[0].type->dtype)));
    DType ct = dtype_info[a->out[0].type->dtype].compute;
    int64_t n = type_count(x);
    Walk w;
    walk_init(&w, x, 2, (const TensorType *[]){x, &kept},
              (const int64_t *[]){a->in[0].strides, strides});
    WalkPlace p;
    if (n) walk_seek(&w, 0, &p);
    for (int64_t i = 0; i < n; i++) {
        double v = 0;
        if (ct == DT_f32) {
            float f;
            loops(ct)->load[x->dtype](1, &f, a->in[0].data + p.offset[0] * dtype_size(x->dtype));
            v = f;
            ((float *)a->out[0].data)[p.offset[1]] += (float)v;
        }
        walk_step(&w, &p, 1);
    }
}
