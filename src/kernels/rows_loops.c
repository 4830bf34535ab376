/* The loops of rows.h, compiled once an instruction set (-DISA=base|avx2|avx512); rows_body.h is
 * read for f32 and for f64. */
#include <math.h>

#include "kernels/rows.h"

#define CT_f32
#include "kernels/rows_body.h"
#define CT_f64
#include "kernels/rows_body.h"

#define NAME2(isa, ct) row_loops_##isa##_##ct
#define NAME1(isa, ct) NAME2(isa, ct)
#define TABLE(ct)                                                                                  \
    {                                                                                              \
        .softmax = softmax_any_##ct, .softmax_grad = softmax_grad_any_##ct,                        \
        .softmax_columns = softmax_columns_any_##ct,                                               \
        .softmax_grad_columns = softmax_grad_columns_any_##ct, .logsumexp = logsumexp_any_##ct,    \
        .exp_scaled = exp_scaled_any_##ct, .logsumexp_columns = logsumexp_columns_any_##ct,        \
        .exp_scaled_columns = exp_scaled_columns_any_##ct, .axpy = axpy_any_##ct,                  \
        .dot = dot_any_##ct, .sum = sum_any_##ct, .moments = moments_any_##ct,                     \
        .normalize = normalize_any_##ct, .affine = affine_any_##ct,                                \
        .norm_sums = norm_sums_any_##ct, .norm_grad = norm_grad_any_##ct,                          \
        .affine_grad = affine_grad_any_##ct, .load = load_any_##ct, .store = store_any_##ct        \
    }
extern const RowLoops NAME1(ISA, f32), NAME1(ISA, f64);
const RowLoops NAME1(ISA, f32) = TABLE(f32);
const RowLoops NAME1(ISA, f64) = TABLE(f64);
