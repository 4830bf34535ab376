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

/* n elements of `size` bytes, `step` bytes apart, to dst, dense. */
void gather_strided(int64_t n, int64_t size, void *dst, const char *src, int64_t step);

#endif
