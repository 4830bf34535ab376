/* Reductions in the written order (lanes.h), any strides and dtypes; compiled once an instruction
 * set (-DISA=base|avx2|avx512) and giving reduce_loops_<ISA>.
 *
 * reduce_tile.h is read once a compute type. Rows and columns that lie dense in the compute type
 * are read in place; others pass through blocks on the stack. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "kernels/reduce.h"
#include "kernels/transpose.h"

enum { BLOCK = 512, GROUPS = 64 };

/* n elements `stride` apart, at src, as dense values of the compute type. */
static void fetch(const Reduce *r, int64_t n, void *dst, const char *src, int64_t stride) {
    uint64_t raw[BLOCK], half[BLOCK];
    int64_t size = dtype_size(r->dtype);
    bool convert = r->dtype != r->ct || r->via != r->ct;
    if (stride != 1) {
        gather_strided(n, size, convert ? (void *)raw : dst, src, stride * size);
        src = (const char *)raw;
        if (!convert) return;
    }
    if (r->via != r->ct) {
        loops(r->via)->load[r->dtype](n, half, src);
        loops(r->ct)->load[r->via](n, dst, half);
    } else {
        loops(r->ct)->load[r->dtype](n, dst, src);
    }
}

static void leaf_range(const Reduce *r, int64_t k, int64_t *begin, int64_t *n) {
    int64_t within = k % r->segment_leaves * r->leaf;
    *begin = k / r->segment_leaves * r->segment + within;
    *n = min_i64(r->leaf, r->segment - within);
}

#define CT_f32
#include "kernels/reduce_tile.h"
#define CT_f64
#include "kernels/reduce_tile.h"
#define CT_i32
#include "kernels/reduce_tile.h"
#define CT_i64
#include "kernels/reduce_tile.h"
#define CT_u64
#include "kernels/reduce_tile.h"
#define CT_bool
#include "kernels/reduce_tile.h"

#define TABLE_NAME2(isa) reduce_loops_##isa
#define TABLE_NAME1(isa) TABLE_NAME2(isa)
extern const ReduceLoops TABLE_NAME1(ISA);
const ReduceLoops TABLE_NAME1(ISA) = {
    .tile = {[DT_f32] = run_program_any_f32,
             [DT_f64] = run_program_any_f64,
             [DT_i32] = run_program_any_i32,
             [DT_i64] = run_program_any_i64,
             [DT_u64] = run_program_any_u64,
             [DT_bool] = run_program_any_b8},
};
