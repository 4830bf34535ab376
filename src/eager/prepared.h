/* What kernels prepare once for types, strides and attributes, kept by key. */
#ifndef DIP_PREPARED_H
#define DIP_PREPARED_H

#include "kernels/kernel.h"

typedef struct Prepared {
    const void *state;
    size_t scratch; /* bytes */
    void *entry;
} Prepared;

/* The state of `k` for this call; made at the first call. Entries live until the library unloads or
 * the table is full, when all that are not pinned are dropped (at a moment when no call is
 * running). */
Status prepared_get(const Kernel *k, const KernelArgs *a, Prepared *out);
/* Keeps the state beyond the run, for a plan; until it is unpinned. */
void prepared_pin(const Prepared *p);
void prepared_unpin(const Prepared *p);
/* After the run: the state may be dropped again. */
void prepared_done(void);

#endif
