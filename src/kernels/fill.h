/* A number as an element of a dtype, and a block full of it. */
#ifndef DIP_FILL_H
#define DIP_FILL_H

#include "kernels/kernel.h"
#include "kernels/walk.h"

void number_bytes(DType dtype, double value, void *element);
void fill_number(const Buf *out, double value);

#endif
