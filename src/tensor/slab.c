/* The shared side of small blocks: batches for threads, chunks from the system, threads that end.
 *
 * Everything here runs behind one lock; the fast paths in slab.h touch only what belongs to the
 * thread. A block may be freed by another thread than the one that took it. */
#include "tensor/slab.h"

#include <pthread.h>
#include <stdlib.h>

enum { CHUNK = 1 << 18, BATCH = SLAB_KEEP / 2 };

_Thread_local SlabCache *slab_cache;
void (*slab_settle)(int64_t drift);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static SlabBin shared[SLAB_CLASSES];
static char *chunk, *chunk_end; /* what is left of the last chunk */
static int64_t reserved;
static SlabCache *caches; /* of all threads */
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void push(SlabBin *bin, void *p) {
    *(void **)p = bin->head;
    bin->head = p;
    bin->n++;
}

static void *pop(SlabBin *bin) {
    void *p = bin->head;
    if (!p) return NULL;
    bin->head = *(void **)p;
    bin->n--;
    return p;
}

/* ---- threads */

static void thread_ends(void *cache) {
    SlabCache *c = cache;
    slab_cache = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < SLAB_CLASSES; i++)
        for (void *p; (p = pop(&c->bins[i]));) push(&shared[i], p);
    if (c->prev)
        c->prev->next = c->next;
    else
        caches = c->next;
    if (c->next) c->next->prev = c->prev;
    pthread_mutex_unlock(&lock);
    if (slab_settle) slab_settle(atomic_load_explicit(&c->drift, memory_order_relaxed));
    free(c);
}

/* A child process must not inherit the lock while another thread held it. */
static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }

static void start(void) {
    pthread_key_create(&key, thread_ends);
    pthread_atfork(before_fork, after_fork, after_fork);
}

/* NULL while the thread ends (its key's destructor has run or runs) and when memory is out. */
static SlabCache *own_cache(void) {
    static _Thread_local bool had_one;
    if (slab_cache || had_one) return slab_cache;
    pthread_once(&once, start);
    SlabCache *c = calloc(1, sizeof *c);
    if (!c || pthread_setspecific(key, c)) {
        free(c);
        return NULL;
    }
    had_one = true;
    pthread_mutex_lock(&lock);
    c->next = caches;
    if (caches) caches->prev = c;
    caches = c;
    pthread_mutex_unlock(&lock);
    return slab_cache = c;
}

/* ---- blocks; the lock is held */

static void *cut(size_t size) {
    if ((size_t)(chunk_end - chunk) < size) {
        while (chunk_end - chunk >= SLAB_STEP) { /* the rest serves smaller blocks */
            push(&shared[0], chunk);
            chunk += SLAB_STEP;
        }
        char *fresh = aligned_alloc(SLAB_STEP, CHUNK);
        if (!fresh) return NULL;
        reserved += CHUNK;
        chunk = fresh;
        chunk_end = fresh + CHUNK;
    }
    char *p = chunk;
    chunk += size;
    return p;
}

static void *take(int class) {
    void *p = pop(&shared[class]);
    return p ? p : cut((size_t)(class + 1) * SLAB_STEP);
}

void *slab_get_slow(int class) {
    SlabCache *c = own_cache();
    pthread_mutex_lock(&lock);
    void *p = take(class);
    for (int i = 1; c && p && i < BATCH; i++) {
        void *more = take(class);
        if (!more) break;
        push(&c->bins[class], more);
    }
    pthread_mutex_unlock(&lock);
    return p;
}

void slab_put_slow(void *p, int class) {
    SlabCache *c = own_cache();
    pthread_mutex_lock(&lock);
    push(&shared[class], p);
    for (int i = 1; c && i < BATCH; i++) {
        void *more = pop(&c->bins[class]);
        if (!more) break;
        push(&shared[class], more);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- figures */

int64_t slab_reserved(void) {
    pthread_mutex_lock(&lock);
    int64_t n = reserved;
    pthread_mutex_unlock(&lock);
    return n;
}

int64_t slab_drift(void) {
    int64_t n = 0;
    pthread_mutex_lock(&lock);
    for (const SlabCache *c = caches; c; c = c->next)
        n += atomic_load_explicit(&c->drift, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
    return n;
}
