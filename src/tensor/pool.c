/* The memory pool: small blocks from slabs, large ones kept by size class and used again.
 *
 * `allocated` counts what tensors asked for, rounded to 64 bytes; `reserved` what was taken from
 * the system. Size classes of large blocks are eighths of powers of two, so that at most an eighth
 * is wasted. From 2 MB on blocks are mapped, aligned and advised for huge pages: the first touch of
 * 4 KB pages costs 24 ms per 64 MB. Under the address sanitizer every block is malloc's own, so
 * that use after free is found. */
#include "tensor/pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tensor/slab.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PASS_THROUGH 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define PASS_THROUGH 1
#endif
#ifndef PASS_THROUGH
#define PASS_THROUGH 0
#endif

enum { ALIGN = 64, HUGE = 1 << 21, DRIFT = 1 << 16 };
/* Kept blocks may come to this much plus half of the peak before some go back to the system. */
enum { KEEP = 1 << 28 };
enum { NCLASSES = 8 * 62 };
/* No machine has more; the address sanitizer ends the process when asked for too much. */
static const size_t MOST = (size_t)1 << (PASS_THROUGH ? 33 : 47);
/* Patterns of DIPTYCH_DEBUG_MEM=1: fresh bytes are NaN in every float type. */
enum { FRESH = 0xff, FREED = 0xfb };

typedef struct Block {
    struct Block *next;
} Block;

static atomic_llong allocated, peak, limit; /* without the drift of threads */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Block *kept[NCLASSES];
static int64_t reserved, kept_bytes; /* of large blocks */
static bool debug_fill;

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }

/* ---- counting */

static void raise_peak(long long now) {
    long long top = atomic_load_explicit(&peak, memory_order_relaxed);
    while (now > top && !atomic_compare_exchange_weak(&peak, &top, now)) {
    }
}

static void count(int64_t nbytes) {
    long long now = atomic_fetch_add_explicit(&allocated, nbytes, memory_order_relaxed) + nbytes;
    if (nbytes > 0) raise_peak(now);
}

__attribute__((constructor)) static void start(void) {
    const char *debug = getenv("DIPTYCH_DEBUG_MEM");
    debug_fill = debug && *debug && *debug != '0';
    slab_settle = count;
    pthread_atfork(before_fork, after_fork, after_fork);
}

static int64_t live_bytes(void) {
    return atomic_load_explicit(&allocated, memory_order_relaxed) + slab_drift();
}

/* Small blocks are counted by thread, and in the total now and then. */
static void count_small(int64_t nbytes) {
    SlabCache *c = slab_cache;
    if (!c) {
        count(nbytes);
        return;
    }
    long long drift = atomic_load_explicit(&c->drift, memory_order_relaxed) + nbytes;
    if (DIP_UNLIKELY(drift > DRIFT || drift < -DRIFT)) {
        count(drift);
        drift = 0;
    }
    atomic_store_explicit(&c->drift, drift, memory_order_relaxed);
}

static int64_t rounded(size_t nbytes) {
    return nbytes ? (int64_t)((nbytes + ALIGN - 1) / ALIGN * ALIGN) : ALIGN;
}

static DIP_COLD Status out_of_memory(size_t nbytes, const char *what) {
    long long cap = atomic_load_explicit(&limit, memory_order_relaxed);
    char text[64] = "none";
    if (cap) snprintf(text, sizeof text, "%lld bytes", cap);
    return FAIL(NOMEM, "%s: out of memory: %zu bytes asked for, %lld held in tensors, limit %s",
                what, nbytes, (long long)live_bytes(), text);
}

/* ---- large blocks: from the system */

/* Class c holds blocks of (8 + c % 8) << (c / 8) bytes. */
static int class_of(size_t nbytes) {
    int shift = 0;
    while (nbytes > 15) { /* rounds up at each halving */
        nbytes = (nbytes + 1) / 2;
        shift++;
    }
    return nbytes < 8 ? 0 : shift * 8 + (int)nbytes - 8;
}
static size_t class_size(int class) { return (size_t)(8 + class % 8) << (class / 8); }

static void *map_huge(size_t size) {
    char *p = mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    char *start_at = (char *)(((uintptr_t)p + HUGE - 1) / HUGE * HUGE);
    size_t before = (size_t)(start_at - p), after = HUGE - before;
    if (before) munmap(p, before);
    if (after) munmap(start_at + size, after);
    madvise(start_at, size, MADV_HUGEPAGE); /* advice: smaller pages do as well */
    return start_at;
}

static void *system_get(size_t size) {
    void *p;
    if (size >= HUGE && !PASS_THROUGH) return map_huge(size);
    return posix_memalign(&p, ALIGN, size) ? NULL : p;
}

static void system_put(void *p, size_t size) {
    if (size >= HUGE && !PASS_THROUGH)
        munmap(p, size);
    else
        free(p);
}

/* Gives kept blocks back until at most `most` bytes are kept, the largest first. The lock is held.
 */
static void give_back(int64_t most) {
    for (int c = NCLASSES - 1; c >= 0 && kept_bytes > most; c--)
        while (kept[c] && kept_bytes > most) {
            Block *b = kept[c];
            kept[c] = b->next;
            kept_bytes -= (int64_t)class_size(c);
            reserved -= (int64_t)class_size(c);
            system_put(b, class_size(c));
        }
}

/* A block that nobody keeps. The lock is held. */
static void *fresh_block(int class) {
    size_t size = class_size(class);
    long long cap = atomic_load_explicit(&limit, memory_order_relaxed);
    give_back(atomic_load_explicit(&peak, memory_order_relaxed) / 2 + KEEP);
    if (cap && reserved + (int64_t)size > cap) give_back(0);
    void *p = system_get(size);
    if (!p) {
        give_back(0);
        p = system_get(size);
    }
    if (p) reserved += (int64_t)size;
    return p;
}

static void *large_get(size_t nbytes) {
    int class = class_of(nbytes);
    if (PASS_THROUGH) return system_get(nbytes);
    pthread_mutex_lock(&lock);
    Block *b = kept[class];
    if (b) {
        kept[class] = b->next;
        kept_bytes -= (int64_t)class_size(class);
    } else {
        b = fresh_block(class);
    }
    pthread_mutex_unlock(&lock);
    return b;
}

static void large_put(void *p, size_t nbytes) {
    int class = class_of(nbytes);
    if (PASS_THROUGH) {
        system_put(p, nbytes);
        return;
    }
    Block *b = p;
    pthread_mutex_lock(&lock);
    b->next = kept[class];
    kept[class] = b;
    kept_bytes += (int64_t)class_size(class);
    pthread_mutex_unlock(&lock);
}

/* ---- the pool */

static bool is_small(size_t nbytes) { return nbytes <= SLAB_MAX && !PASS_THROUGH; }

Status pool_get(size_t nbytes, const char *what, void **out) {
    long long cap = atomic_load_explicit(&limit, memory_order_relaxed);
    if (DIP_UNLIKELY(nbytes > MOST || (cap && live_bytes() + rounded(nbytes) > cap)))
        return out_of_memory(nbytes, what);
    bool small = is_small(nbytes);
    void *p = small ? slab_get(slab_class(nbytes)) : large_get(nbytes ? nbytes : ALIGN);
    if (DIP_UNLIKELY(!p)) return out_of_memory(nbytes, what);
    if (small)
        count_small(rounded(nbytes));
    else
        count(rounded(nbytes));
    if (DIP_UNLIKELY(debug_fill)) memset(p, FRESH, nbytes);
    *out = p;
    return OK;
}

void pool_put(void *data, size_t nbytes) {
    if (DIP_UNLIKELY(debug_fill)) memset(data, FREED, nbytes);
    if (is_small(nbytes)) {
        count_small(-rounded(nbytes));
        slab_put(data, slab_class(nbytes));
    } else {
        count(-rounded(nbytes));
        large_put(data, nbytes ? nbytes : ALIGN);
    }
}

void *pool_small(size_t nbytes) {
    void *p = is_small(nbytes) ? slab_get(slab_class(nbytes)) : malloc(nbytes ? nbytes : 1);
    if (!p) {
        fprintf(stderr, "diptych: out of memory for %zu bytes of bookkeeping\n", nbytes);
        abort();
    }
    return p;
}

void pool_small_free(void *p, size_t nbytes) {
    if (!p) return;
    if (is_small(nbytes))
        slab_put(p, slab_class(nbytes));
    else
        free(p);
}

PoolStats pool_stats(void) {
    int64_t live = live_bytes();
    raise_peak(live);
    pthread_mutex_lock(&lock);
    int64_t large = reserved;
    pthread_mutex_unlock(&lock);
    return (PoolStats){.allocated = live,
                       .reserved = PASS_THROUGH ? live : large + slab_reserved(),
                       .peak = atomic_load(&peak),
                       .limit = atomic_load(&limit)};
}

void pool_reset_peak(void) { atomic_store(&peak, live_bytes()); }
void pool_set_limit(int64_t nbytes) { atomic_store(&limit, nbytes > 0 ? nbytes : 0); }

void pool_trim(void) {
    pthread_mutex_lock(&lock);
    give_back(0);
    pthread_mutex_unlock(&lock);
}
