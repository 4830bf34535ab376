/* Index tensors as element offsets into a target: what gathers and scatters share.
 *
 * A position has three parts: outer (axes before the indexed ones), a tuple of indices, and the
 * rest, a row of elements. offset(outer, t) = outer * outer_step + sum of index * stride. */
#ifndef DIP_LOOKUP_H
#define DIP_LOOKUP_H

#include "kernels/kernel.h"
#include "kernels/walk.h"
#include "ops/index.h"

enum { LOOKUP_BLOCK = 512 };

typedef struct Lookup {
    int64_t outer, outer_step; /* how many, and elements of the target from one to the next */
    bool is_even;              /* whether it is the same step for all */
    int64_t tuples;
    Walk walk; /* over the tuples; operand k is index tensor k */
    DType dtype[MAX_RANK];
    const char *data[MAX_RANK];
    int64_t size[MAX_RANK]; /* of the axis each index counts in */
    int64_t step[MAX_RANK]; /* elements of the target from one index to the next */
    /* The rest: operand 0 steps in the target, operand 1 in the other tensor (value, result). */
    Walk rest;
    Walk lead; /* over outer and tuples: where the other tensor's rows begin */
} Lookup;

/* `other` has the type of index_result, or broadcasts to it. */
void lookup_init(Lookup *l, const Buf *target, const IndexPlan *p, const Buf *indices,
                 const Buf *other);
/* One index tensor whose last axis spells positions. */
void lookup_init_nd(Lookup *l, const Buf *target, const IndexPlan *p, const Buf *indices,
                    const Buf *other);

/* Target offsets of the tuples t .. t + n - 1; n <= LOOKUP_BLOCK. */
void lookup_offsets(const Lookup *l, int64_t t, int64_t n, int64_t *offsets);

/* n indices of any integer dtype, `step` elements apart, as int64_t in 0 .. size - 1. */
void load_indices(DType dtype, const char *src, int64_t step, int64_t size, int64_t n,
                  int64_t *out);
/* Likewise, as offsets: index i stands for start + i * along + index * by. */
typedef struct OffsetRule {
    int64_t start, along, by;
} OffsetRule;
void load_offsets(DType dtype, const char *src, int64_t step, int64_t size, OffsetRule rule,
                  int64_t n, int64_t *out);

/* n numbers of `size` bytes at offsets of src. */
void read_numbers(int64_t n, int64_t size, char *dst, const char *src, const int64_t *offsets);

/* Fails with the first entry of input i outside [-size, size): its place, value and legal range.
 * An `axis` of -1 leaves the axis out of the message. */
Status check_indices(const KernelArgs *a, int i, int64_t size, int axis);
/* Likewise for the entries k of the last axis of input i. */
Status check_indices_nd(const KernelArgs *a, int i, const IndexPlan *p, const TensorType *target);

#endif
