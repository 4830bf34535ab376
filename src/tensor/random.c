/* Philox 4x32-10 and the process-wide state behind a lock. */
#include "tensor/random.h"

#include <pthread.h>

static RandomState state = {.key = 0x9e3779b97f4a7c15u};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void random_seed(uint64_t seed) { random_restore((RandomState){.key = seed}); }

RandomState random_state(void) {
    pthread_mutex_lock(&lock);
    RandomState s = state;
    pthread_mutex_unlock(&lock);
    return s;
}

void random_restore(RandomState s) {
    pthread_mutex_lock(&lock);
    state = s;
    pthread_mutex_unlock(&lock);
}

void random_take(int64_t count, uint64_t *key, uint64_t *counter) {
    pthread_mutex_lock(&lock);
    *key = state.key;
    *counter = state.counter;
    state.counter += (uint64_t)count;
    pthread_mutex_unlock(&lock);
}

void philox_stream(uint64_t key, uint64_t counter, uint64_t stream, uint32_t out[4]) {
    uint32_t c[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), (uint32_t)stream,
                     (uint32_t)(stream >> 32)};
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c[0], p1 = (uint64_t)0xCD9E8D57u * c[2];
        uint32_t c1 = c[1], c3 = c[3];
        c[0] = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c[1] = (uint32_t)p1;
        c[2] = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c[3] = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++) out[i] = c[i];
}
