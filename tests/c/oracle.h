/* The oracle: the rows of ewise.def read with V = double and libm, or V = a wide integer, and plain
 * conversions. Shares the rows with the library, but no word, no polynomial and no conversion. */
#ifndef DIP_ORACLE_H
#define DIP_ORACLE_H

#include "ops/op.h"

typedef __int128 Wide;

/* The row's value; predicates give 0 or 1. Absent operands are 0. `ct` is the type the row computes
 * in: quotients are rounded to it (before they are truncated). */
double oracle_float(const Op *op, DType ct, const double v[3]);
/* Integer and bool rows, before wrapping to the result's width. `is_bool`: computed in bool. */
Wide oracle_int(const Op *op, const Wide v[3], bool is_bool);
/* Whether the row can be read in that domain. */
bool oracle_has_float(const Op *op);
bool oracle_has_int(const Op *op, bool is_bool);

/* v rounded to a float dtype, halves to even. */
double oracle_round(DType d, double v);
/* One element between memory and numbers. */
double oracle_get(DType d, const void *p);
void oracle_put(DType d, void *p, double v);
Wide oracle_get_int(DType d, const void *p);
/* Wraps to the width of d; bool: not 0. */
Wide oracle_wrap(DType d, Wide v);
void oracle_put_int(DType d, void *p, Wide v);

#endif
