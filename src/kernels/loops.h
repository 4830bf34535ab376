/* The contiguous loops behind elementwise ops and conversions, made from ewise.def: loops.c is
 * compiled once an instruction set and compute type, and each gives one CtLoops. */
#ifndef DIP_LOOPS_H
#define DIP_LOOPS_H

#include "tensor/type.h"

/* n elements; src[i] points to n elements of the compute type. For slopes src = g, x, y, z, r (only
 * those that the row needs are read). dst may be one of src; values of predicates are bytes. */
typedef void EwLoop(int64_t n, void *dst, const void *const *src);
/* n elements, dense, between a dtype and the compute type. */
typedef void ConvertLoop(int64_t n, void *dst, const void *src);

enum {
#define EW1(name, ...) EW_ROW_##name,
#define EW2(name, ...) EW_ROW_##name,
#define EW3(name, ...) EW_ROW_##name,
#define PR1(name, ...) EW_ROW_##name,
#define PR2(name, ...) EW_ROW_##name,
#include "ops/ewise.def"
    EW_ROWS
};

/* pow with an exponent that all elements share: number, exponent, the power in neutral words. Two
 * roundings stay within the bound of pow. */
/* clang-format off */
#define POWERS(X)                      \
    X(0, 1, x)                         \
    X(1, 2, vmul(x, x))                \
    X(2, 3, vmul(vmul(x, x), x))       \
    X(3, 0.5, root(x))                 \
    X(4, -1, vdiv(vnum(1), x))         \
    X(5, -0.5, vdiv(vnum(1), root(x)))
/* clang-format on */
enum { NPOWERS = 6 };

typedef struct CtLoops {
    EwLoop *value[EW_ROWS];                        /* NULL: the row does not compute in this type */
    EwLoop *slope[EW_ROWS][3];                     /* f32 and f64 only */
    EwLoop *power[NPOWERS], *power_slope[NPOWERS]; /* f32 and f64 only */
    EwLoop *const *narrow[NDTYPES]; /* like value, with elements of this dtype; NULL: none */
    ConvertLoop *load[NDTYPES], *store[NDTYPES];
} CtLoops;

/* The loops of a compute type (f32 f64 i32 i64 u64 bool) for the best instruction set of this
 * machine, or for the one that DIPTYCH_ISA=base|avx2|avx512 names if the machine has it. */
const CtLoops *loops(DType compute);
const char *loops_isa(void);

/* The loop of pow for the exponent *y, of the compute type; slope: of its derivative by the base.
 * NULL: nothing but the loop of any pow. */
EwLoop *loops_power(DType compute, const void *y, bool slope);

/* The instruction sets a file is compiled for, and picking: isa_level() is the index of the best.
 */
enum { ISA_BASE, ISA_AVX2, ISA_AVX512, NISAS };
int isa_level(void);

#endif
