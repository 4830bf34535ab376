/* What results picked along an axis share. */
#ifndef DIP_SORT_H
#define DIP_SORT_H

#include "ops/build.h"

/* Zeros in the sizes of input 0 with g added along `axis` at `index`; 0 for integer inputs. */
Ref scatter_back(GradCtx *c, Ref index, Ref g, int64_t axis);

#endif
