/* Small blocks (up to 4 KB): free lists of each thread, in steps of 64 bytes, refilled in batches
 * from shared lists. Blocks are 64-byte aligned; their memory is never given back to the system. */
#ifndef DIP_SLAB_H
#define DIP_SLAB_H

#include <stdatomic.h>

#include "base/base.h"

enum { SLAB_STEP = 64, SLAB_MAX = 4096, SLAB_CLASSES = SLAB_MAX / SLAB_STEP };

typedef struct SlabBin {
    void *head; /* the first word of a free block points to the next one */
    int n;
} SlabBin;

/* Of one thread. */
typedef struct SlabCache {
    SlabBin bins[SLAB_CLASSES];
    /* Bytes this thread took minus bytes it gave since they were last added to the total. Written
     * by the owner only. */
    atomic_llong drift;
    struct SlabCache *next, *prev;
} SlabCache;

/* The cache of this thread; NULL before its first block and while the thread ends. */
extern _Thread_local SlabCache *slab_cache;

static inline int slab_class(size_t nbytes) { return nbytes ? (int)((nbytes - 1) / SLAB_STEP) : 0; }

/* NULL when memory is out. */
void *slab_get_slow(int class);
void slab_put_slow(void *p, int class);

enum { SLAB_KEEP = 64 }; /* blocks a bin holds at most */

static inline void *slab_get(int class) {
    SlabCache *c = slab_cache;
    void *p = c ? c->bins[class].head : NULL;
    if (DIP_UNLIKELY(!p)) return slab_get_slow(class);
    c->bins[class].head = *(void **)p;
    c->bins[class].n--;
    return p;
}

static inline void slab_put(void *p, int class) {
    SlabCache *c = slab_cache;
    if (DIP_UNLIKELY(!c || c->bins[class].n >= SLAB_KEEP)) {
        slab_put_slow(p, class);
        return;
    }
    *(void **)p = c->bins[class].head;
    c->bins[class].head = p;
    c->bins[class].n++;
}

int64_t slab_reserved(void); /* bytes taken from the system */
int64_t slab_drift(void);    /* of all threads together */
/* Called with the drift of a thread that ends. */
extern void (*slab_settle)(int64_t drift);

#endif
