/* The memory pool behind every tensor: size classes, pages kept, statistics, a limit. */
#ifndef DIP_POOL_H
#define DIP_POOL_H

#include "base/error.h"

/* nbytes uninitialised bytes, 64-byte aligned (never NULL, also for 0). NOMEM says what was asked
 * for, by whom, and what is held. */
Status pool_get(size_t nbytes, const char *what, void **out);
void pool_put(void *data, size_t nbytes); /* the same nbytes as asked for */

/* Headers of a few hundred bytes: never fails (a small allocation that fails ends the process). */
void *pool_small(size_t nbytes);
void pool_small_free(void *p, size_t nbytes);

typedef struct PoolStats {
    int64_t allocated; /* bytes in live tensors */
    int64_t reserved;  /* bytes taken from the system, kept or in use */
    int64_t peak;      /* the largest `allocated` since the last reset */
    int64_t limit;     /* 0: none */
} PoolStats;
PoolStats pool_stats(void);
void pool_reset_peak(void);
void pool_set_limit(int64_t nbytes); /* 0 lifts it */
void pool_trim(void);                /* gives kept pages back to the system */

#endif
