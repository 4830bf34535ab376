/* one_hot. */
#include <string.h>

#include "kernels/fill.h"
#include "kernels/lookup.h"

/* ---- one_hot */

Status check_one_hot(const KernelArgs *a) {
    return check_indices(a, 0, ((const attrs_one_hot *)a->attrs)->depth, -1);
}

/* out is (outer, depth, inner) with the new axis in the middle. */
void run_one_hot(const KernelArgs *a) {
    const attrs_one_hot *at = a->attrs;
    const Buf *x = &a->in[0], *out = &a->out[0];
    int64_t axis = at->axis + (at->axis < 0 ? out->type->rank : 0), inner = 1;
    for (int64_t i = axis; i < x->type->rank; i++) inner *= x->type->dims[i];
    DType d = (DType)x->type->dtype, to = (DType)out->type->dtype;
    int64_t n = type_count(x->type), size = dtype_size(to), on = 0, index[LOOKUP_BLOCK];
    fill_number(out, at->off_value);
    number_bytes(to, at->on_value, &on);
    for (int64_t begin = 0; begin < n; begin += LOOKUP_BLOCK) {
        int64_t m = min_i64(n - begin, LOOKUP_BLOCK);
        load_indices(d, x->data + begin * dtype_size(d), 1, at->depth, m, index);
        for (int64_t i = 0; i < m; i++) {
            int64_t outer = (begin + i) / inner, column = (begin + i) % inner;
            int64_t place = (outer * at->depth + index[i]) * inner + column;
            memcpy(out->data + place * size, &on, (size_t)size);
        }
    }
}
