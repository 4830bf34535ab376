/* The random state: Philox 4x32-10 counters (Salmon et al., SC 2011). Each draw names a key and a
 * counter; value i of a draw is a pure function of both, whatever the number of threads. */
#ifndef DIP_RANDOM_H
#define DIP_RANDOM_H

#include "base/error.h"

typedef struct RandomState {
    uint64_t key, counter;
} RandomState;

void random_seed(uint64_t seed); /* of the whole process; starts the counter at 0 */
RandomState random_state(void);
void random_restore(RandomState state);
/* Reserves counters for `count` values of one draw (four 32-bit words each at most). */
void random_take(int64_t count, uint64_t *key, uint64_t *counter);
/* The four words of one counter. Values that need more than four take further streams, 1, 2 ... of
 * their counter. */
void philox_stream(uint64_t key, uint64_t counter, uint64_t stream, uint32_t out[4]);
static inline void philox(uint64_t key, uint64_t counter, uint32_t out[4]) {
    philox_stream(key, counter, 0, out);
}

#endif
