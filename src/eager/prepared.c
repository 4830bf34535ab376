/* A hash table from (kernel, attributes, types, strides) to prepared states, behind one lock. */
#include "eager/prepared.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "tensor/pool.h"

enum { MAX_KEY = 2048, NBUCKETS = 4096, MAX_ENTRIES = 8192 };

typedef struct Entry {
    struct Entry *next;
    const Kernel *kernel;
    uint64_t hash;
    size_t size;
    Prepared value;
    int pins;
    unsigned char key[];
} Entry;

static Entry *buckets[NBUCKETS];
static int nentries, nrunning;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

typedef struct Key {
    size_t size;
    unsigned char bytes[MAX_KEY];
} Key;

static bool put(Key *key, const void *data, size_t n) {
    if (key->size + n > MAX_KEY) return false;
    memcpy(key->bytes + key->size, data, n);
    key->size += n;
    return true;
}

static bool put_buf(Key *key, const Buf *b) {
    unsigned char head[2] = {b->type ? b->type->dtype : 255, b->type ? b->type->rank : 0};
    bool fits = put(key, head, sizeof head);
    if (!b->type) return fits;
    size_t n = b->type->rank * sizeof(int64_t);
    fits = fits && put(key, b->type->dims, n);
    return fits && put(key, b->strides, n);
}

static bool make_key(const KernelArgs *a, Key *key) {
    key->size = 0;
    int threads = parallel_threads(); /* a library lays its work out for them */
    bool fits = put(key, a->attrs, a->op->attrs_size) && put(key, &threads, sizeof threads);
    for (int i = 0; i < a->nin && fits; i++) fits = put_buf(key, &a->in[i]);
    return fits;
}

static uint64_t hash_bytes(const unsigned char *p, size_t n, uint64_t h) {
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t v;
        memcpy(&v, p, 8);
        h = (h ^ v) * 0x9fb21c651e98df25u;
        h ^= h >> 32;
    }
    for (; n; p++, n--) h = (h ^ *p) * 0x100000001b3u;
    return h ^ h >> 29;
}

static void drop_all(void) {
    for (int i = 0; i < NBUCKETS; i++) {
        for (Entry **at = &buckets[i]; *at;) {
            Entry *e = *at;
            if (e->pins) {
                at = &e->next;
                continue;
            }
            *at = e->next;
            if (e->kernel->release) e->kernel->release((void *)e->value.state);
            pool_small_free(e, sizeof *e + e->size);
            nentries--;
        }
    }
}

static Entry *find(const Kernel *k, const Key *key, uint64_t hash) {
    for (Entry *e = buckets[hash % NBUCKETS]; e; e = e->next)
        if (e->hash == hash && e->kernel == k && e->size == key->size &&
            !memcmp(e->key, key->bytes, key->size))
            return e;
    return NULL;
}

static Status add(const Kernel *k, const KernelArgs *a, const Key *key, uint64_t hash,
                  Entry **out) {
    void *state = NULL;
    size_t scratch = 0;
    TRY(k->prepare(a, &state, &scratch));
    if (nentries >= MAX_ENTRIES && nrunning == 0) drop_all();
    Entry *e = pool_small(sizeof *e + key->size);
    *e = (Entry){.kernel = k, .hash = hash, .size = key->size, .value = {state, scratch, NULL}};
    e->value.entry = e;
    memcpy(e->key, key->bytes, key->size);
    e->next = buckets[hash % NBUCKETS];
    buckets[hash % NBUCKETS] = e;
    nentries++;
    *out = e;
    return OK;
}

Status prepared_get(const Kernel *k, const KernelArgs *a, Prepared *out) {
    Key key;
    if (!make_key(a, &key))
        return FAIL(UNSUPPORTED, "%s: too many inputs for a prepared kernel", a->op->name);
    uint64_t hash = hash_bytes(key.bytes, key.size, (uint64_t)(uintptr_t)k);
    pthread_mutex_lock(&lock);
    Entry *e = find(k, &key, hash);
    Status status = e ? OK : add(k, a, &key, hash, &e);
    if (status == OK) {
        *out = e->value;
        nrunning++;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static void change_pins(const Prepared *p, int by) {
    pthread_mutex_lock(&lock);
    ((Entry *)p->entry)->pins += by;
    pthread_mutex_unlock(&lock);
}
void prepared_pin(const Prepared *p) { change_pins(p, 1); }
void prepared_unpin(const Prepared *p) { change_pins(p, -1); }

void prepared_done(void) {
    pthread_mutex_lock(&lock);
    nrunning--;
    pthread_mutex_unlock(&lock);
}
