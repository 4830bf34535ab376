/* The memory pool: live bytes counted, a limit kept, everything 64-byte aligned. */
#include "tensor/pool.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { ALIGN = 64 };

static atomic_llong allocated, peak, limit;

static size_t rounded(size_t nbytes) {
    return nbytes ? (nbytes + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
}

Status pool_get(size_t nbytes, const char *what, void **out) {
    long long size = (long long)rounded(nbytes);
    long long now = atomic_fetch_add_explicit(&allocated, size, memory_order_relaxed) + size;
    long long cap = atomic_load_explicit(&limit, memory_order_relaxed);
    void *p = cap && now > cap ? NULL : aligned_alloc(ALIGN, (size_t)size);
    if (!p) {
        atomic_fetch_sub_explicit(&allocated, size, memory_order_relaxed);
        return FAIL(NOMEM,
                    "%s: out of memory: %zu bytes asked for, %lld held in tensors, limit %lld",
                    what, nbytes, now - size, cap);
    }
    long long top = atomic_load_explicit(&peak, memory_order_relaxed);
    while (now > top && !atomic_compare_exchange_weak(&peak, &top, now)) {
    }
    *out = p;
    return OK;
}

void pool_put(void *data, size_t nbytes) {
    atomic_fetch_sub_explicit(&allocated, (long long)rounded(nbytes), memory_order_relaxed);
    free(data);
}

void *pool_small(size_t nbytes) {
    void *p = malloc(nbytes);
    if (!p) {
        fprintf(stderr, "diptych: out of memory for %zu bytes of bookkeeping\n", nbytes);
        abort();
    }
    return p;
}

void pool_small_free(void *p, size_t nbytes) {
    (void)nbytes;
    free(p);
}

PoolStats pool_stats(void) {
    return (PoolStats){.allocated = allocated, .reserved = allocated, .peak = peak, .limit = limit};
}

void pool_reset_peak(void) { peak = allocated; }
void pool_set_limit(int64_t nbytes) { limit = nbytes; }
void pool_trim(void) {}
