/* A reduction over any axes, laid out for the loops: what is walked, which leaves there are. */
#ifndef DIP_KERNELS_REDUCE_H
#define DIP_KERNELS_REDUCE_H

#include "kernels/kernel.h"
#include "kernels/loops.h"
#include "kernels/walk.h"

typedef enum ReducePass {
#define PASS(name, ...) PASS_ID_##name,
#include "ops/reduce.def"
    NPASSES
} ReducePass;

typedef enum ReduceProgram {
    RUN_PASS, /* one pass, as it is */
    RUN_MEAN,
    RUN_VAR,
    RUN_STD,
    RUN_NORM,
    RUN_LOGSUMEXP,
    NPROGRAMS
} ReduceProgram;

/* Results worked on together; a narrow rest of up to SPARE columns is taken along. */
enum { TILE_WIDTH = 256, SPARE = 64, TILE = TILE_WIDTH + SPARE, ABREAST = 128 };

typedef struct Reduce {
    ReduceProgram program;
    ReducePass pass;
    double p;             /* norm: the exponent; var, std: ddof */
    DType dtype, via, ct; /* of the input; converted to first (or ct); computed in */
    const char *data;
    /* kept: over the results, in the input and where they go; the innermost axis is one along which
     * the input lies dense, if that is quicker. along: over the elements of each result, row-major.
     */
    Walk kept, along;
    int64_t nout, n; /* results, and elements reduced into each */
    bool by_column;  /* leaves of LEAF_ROWS rows, one lane a column */
    bool turned;     /* by_column, but each column lies dense: it is read through turned blocks */
    bool abreast;    /* rows of which many lie side by side: each lane is made for many at once */
    bool wide;       /* 32 lanes instead of 16 */
    bool plain;      /* all can be read in place */
    bool rows_plain; /* what lies in one row of `along` can */
    int64_t segment; /* leaves do not pass multiples of it */
    int64_t leaf;    /* elements of a leaf */
    int64_t nleaves, segment_leaves;
} Reduce;

/* Results [first, first + width), width <= TILE, into out, as values of the compute type. split:
 * threads share the leaves. */
typedef void ReduceTile(const Reduce *r, int64_t first, int width, bool split, void *out);

/* Whether the op of a, a reduction, reads a transposed input about as quickly as a dense one. */
bool reduce_reads_turned(const KernelArgs *a);

typedef struct ReduceLoops {
    ReduceTile *tile[NDTYPES]; /* by compute type */
} ReduceLoops;

#endif
