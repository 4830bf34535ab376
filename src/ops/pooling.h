/* Pooling regions: what each output of a pooling op reads, axis by axis; from windows or, in the
 * adaptive ops, from sizes alone. */
#ifndef DIP_OPS_POOLING_H
#define DIP_OPS_POOLING_H

#include "ops/conv.h"

typedef struct Pooling {
    Window w;
    int64_t n, c;
    bool adaptive;
    bool include_pad;
    int64_t divisor; /* 0: none given */
} Pooling;

/* For all pooling ops but the two that go by indices. */
Status pooling_read(const OpCall *c, Pooling *p);

/* Output o of an axis reads inputs begin, begin + step, ... below end; `size` counts for a mean. */
typedef struct Region {
    int64_t begin, end, step, size;
} Region;
Region pooling_region(const Pooling *p, int axis, int64_t o);

#endif
