/* What kernels prepare once for types, strides and attributes, kept by key. */
#ifndef DIP_PREPARED_H
#define DIP_PREPARED_H

#include "kernels/kernel.h"

typedef struct Prepared {
    const void *state;
    size_t scratch; /* bytes */
} Prepared;

/* The state of `k` for this call; made at the first call. Entries live until the library unloads or
 * the table is full, when all are dropped (at a moment when no call is running). */
Status prepared_get(const Kernel *k, const KernelArgs *a, Prepared *out);
/* After the run: the state may be dropped again. */
void prepared_done(void);

#endif
