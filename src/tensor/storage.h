/* Storage: counted bytes, from the pool or lent by somebody else (NumPy, DLPack).
 *
 * A storage with one reference may be overwritten by its owner; with more it is shared and must be
 * copied first. That rule is all there is to in-place writing. */
#ifndef DIP_STORAGE_H
#define DIP_STORAGE_H

#include <stdatomic.h>

#include "base/error.h"

typedef struct Storage {
    atomic_int refs;
    bool read_only; /* lent without the right to write */
    size_t nbytes;
    char *data; /* 64-byte aligned when from the pool */
    void (*release)(void *ctx);
    void *ctx; /* release != NULL: the bytes are lent, release(ctx) gives them back */
} Storage;

/* Fresh uninitialised bytes from the pool. `what` says in the message who asked. */
Status storage_new(size_t nbytes, const char *what, Storage **out);
/* Takes over `data`; release(ctx) is called with the last reference. */
Status storage_lend(void *data, size_t nbytes, void (*release)(void *), void *ctx, Storage **out);
static inline Storage *storage_ref(Storage *s) {
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}
void storage_free(Storage *s);
static inline void storage_unref(Storage *s) {
    if (s && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1) storage_free(s);
}
static inline bool storage_is_shared(const Storage *s) {
    return s->read_only || atomic_load_explicit(&s->refs, memory_order_acquire) > 1;
}

#endif
