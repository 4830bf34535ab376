/* The sizes in the written order of reductions (lanes.h). */
#ifndef DIP_LANES_SIZES_H
#define DIP_LANES_SIZES_H

enum {
    LEAF = 4096,    /* elements of a leaf of a row */
    LEAF_ROWS = 32, /* rows of a leaf of columns */
    LANES = 64,     /* of rows of WIDE_ROW elements and more */
    FEW_LANES = 16, /* of shorter rows */
    WIDE_ROW = 256,
};

#endif
