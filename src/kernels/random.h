/* Draws of random numbers: value i is a pure function of key, counter and i (docs/semantics.md). */
#ifndef DIP_KERNELS_RANDOM_H
#define DIP_KERNELS_RANDOM_H

#include "tensor/type.h"

enum { RANDOM_LANES = 16 };

/* A word as a number below `range` (0: as it is): the high half of the product. */
static inline uint64_t random_below(uint64_t word, uint64_t range) {
    uint64_t low = (word & 0xffffffffu) * (range & 0xffffffffu);
    uint64_t mid1 = (word >> 32) * (range & 0xffffffffu) + (low >> 32);
    uint64_t mid2 = (word & 0xffffffffu) * (range >> 32) + (mid1 & 0xffffffffu);
    return range ? (word >> 32) * (range >> 32) + (mid1 >> 32) + (mid2 >> 32) : word;
}

/* `ngroups` groups from `counter` on; a group takes RANDOM_LANES counters. */
typedef void RandomLoop(uint64_t key, uint64_t counter, int64_t ngroups, void *dst);
typedef struct RandomLoops {
    int group; /* elements: 64 f32 or 32 f64 */
    RandomLoop *uniform, *normal;
    /* f32 only: 32 integers a group, below `range` (0: all 64 bits). Element 16 p + j is made of
     * words 2 p and 2 p + 1 of counter j. */
    void (*integers)(uint64_t key, uint64_t counter, int64_t ngroups, uint64_t range,
                     uint64_t *dst);
} RandomLoops;

/* For f32 or f64 and the instruction set of this machine. */
const RandomLoops *random_loops(DType float_type);

/* The place of a draw in the random stream: attributes `key` and `counter` of the op. */
typedef struct RandomPlace {
    uint64_t key, counter;
} RandomPlace;

/* Values begin .. begin + n - 1 of a draw of f32 numbers uniform in [0, 1). */
void random_uniform_f32(RandomPlace place, int64_t begin, int64_t n, float *out);

#endif
