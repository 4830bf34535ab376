/* Finding the place of a largest or smallest element; arg_loops.c is compiled once an instruction
 * set. */
#ifndef DIP_ARG_H
#define DIP_ARG_H

#include "kernels/loops.h"

enum { ARG_COLUMNS = 64 }; /* worked on side by side */

/* NaN counts as larger and as smaller than all; of equal elements the first wins. */
typedef struct ArgLoops {
    /* The index in n dense elements. */
    int64_t (*row)(int64_t n, bool smallest, const void *x);
    /* For each of w <= ARG_COLUMNS columns of n elements, `stride` apart. */
    void (*columns)(int64_t n, int64_t stride, int w, bool smallest, const void *x, int64_t *index);
    /* Element i beats element j, which comes before. */
    bool (*beats)(const void *x, int64_t i, int64_t j, bool smallest);
} ArgLoops;

typedef struct ArgTable {
    ArgLoops by_type[NDTYPES]; /* compute types */
} ArgTable;

#endif
