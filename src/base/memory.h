/* Memory of bookkeeping: arrays that grow with what a program holds, not with its tensors. Such an
 * allocation that fails ends the process, as pool_small does. */
#ifndef DIP_MEMORY_H
#define DIP_MEMORY_H

#include <stdlib.h>

#include "base/base.h"

/* p, the result of malloc, calloc or realloc, when there is one. */
static inline void *checked(void *p) {
    if (DIP_UNLIKELY(!p)) abort();
    return p;
}

/* Room for one more of `size` bytes in the array at *p, which has n of cap entries; `first`: the
 * capacity it begins with. */
static inline void array_grow(void *p, uint32_t n, uint32_t *cap, uint32_t first, size_t size) {
    void **array = p;
    if (n < *cap) return;
    *cap = *cap ? *cap * 2 : first;
    *array = checked(realloc(*array, *cap * size));
}

#endif
