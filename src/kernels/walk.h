/* Walking several operands of one shape together: axes that all operands step through evenly are
 * joined, so that most calls become one long row. */
#ifndef DIP_WALK_H
#define DIP_WALK_H

#include "tensor/type.h"

enum { WALK_MAX = 8 };

typedef struct Walk {
    int rank; /* axes left after joining, at least 1 */
    int nops;
    int64_t count; /* all elements */
    int64_t dims[MAX_RANK];
    int64_t strides[WALK_MAX][MAX_RANK]; /* in elements; 0 where an operand is broadcast */
} Walk;

/* `shape` is what the operands broadcast to; operand i has type types[i] and strides[i]. */
void walk_init(Walk *w, const TensorType *shape, int nops, const TensorType *const *types,
               const int64_t *const *strides);

/* A place in the walk: the index along each axis and the element offset of each operand. */
typedef struct WalkPlace {
    int64_t index[MAX_RANK];
    int64_t offset[WALK_MAX];
} WalkPlace;

void walk_seek(const Walk *w, int64_t position, WalkPlace *p);
/* Moves n elements on; they must not pass the end of the innermost row. */
void walk_step(const Walk *w, WalkPlace *p, int64_t n);

/* The same elements tile by tile: the columns of a tile lie along the innermost axis, its rows
 * along the axis `down`. The axes between the two go fastest, then the tiles below each other:
 * where an operand lies transposed it is read much as it lies. Then come the tiles beside, and the
 * axes before `down`. */
typedef struct Tiling {
    const Walk *walk;
    int down;
    int64_t rows, cols; /* of most tiles */
    int64_t across, below;
    int64_t count; /* tiles */
} Tiling;

/* One tile: its sizes, and the element offset of each operand's first element. */
typedef struct TilePlace {
    int64_t rows, cols;
    int64_t offset[WALK_MAX];
} TilePlace;

void tiling_init(Tiling *t, const Walk *w, int down, int64_t rows, int64_t cols);
void tiling_seek(const Tiling *t, int64_t tile, TilePlace *p);

/* Brings the cache lines of a row near before it is written: stores to lines far away wait for each
 * other, and a tile is too narrow for the machine to see where they go. */
static inline void walk_call_for(const char *row, int64_t nbytes) {
    for (int64_t i = 0; i < nbytes; i += 64) __builtin_prefetch(row + i, 1);
    __builtin_prefetch(row + nbytes - 1, 1);
}

/* The axis along which operand k is contiguous, while its innermost axis steps further: the operand
 * lies transposed. -1: it does not, or hardly. */
int walk_turned_axis(const Walk *w, int k);

/* An element of 16 bytes, to be moved. */
typedef struct Pair {
    uint64_t half[2];
} Pair;

/* n elements of `size` bytes, `step` bytes apart, to dst, dense. */
void gather_strided(int64_t n, int64_t size, void *dst, const char *src, int64_t step);

#endif
