/* The loops of arg.h for every compute type, compiled once an instruction set. */
#include "kernels/arg.h"

#include <math.h>

#define CT_f32
#define I_OF int32_t
#include "kernels/arg_body.h"
#define CT_f64
#define I_OF int64_t
#include "kernels/arg_body.h"
#define CT_i32
#define I_OF int32_t
#include "kernels/arg_body.h"
#define CT_i64
#define I_OF int64_t
#include "kernels/arg_body.h"
#define CT_u64
#define I_OF int64_t
#include "kernels/arg_body.h"
#define CT_bool
#define I_OF int32_t
#include "kernels/arg_body.h"

#define NAME2(isa) arg_table_##isa
#define NAME1(isa) NAME2(isa)
#define LOOPS(ct)                                                                                  \
    { arg_row_any_##ct, arg_columns_any_##ct, arg_beats_any_##ct }
extern const ArgTable NAME1(ISA);
const ArgTable NAME1(ISA) = {.by_type = {[DT_f32] = LOOPS(f32),
                                         [DT_f64] = LOOPS(f64),
                                         [DT_i32] = LOOPS(i32),
                                         [DT_i64] = LOOPS(i64),
                                         [DT_u64] = LOOPS(u64),
                                         [DT_bool] = LOOPS(b8)}};
