/* The attributes that cumsum and cumprod share. */
#ifndef DIP_SCAN_H
#define DIP_SCAN_H

#include "ops/op.h"

typedef struct ScanAttrs {
    int64_t axis, exclusive, reverse;
} ScanAttrs;

#endif
