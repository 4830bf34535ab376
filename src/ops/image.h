/* Windows over an image, for unfold and fold. */
#ifndef DIP_OPS_IMAGE_H
#define DIP_OPS_IMAGE_H

#include "ops/op.h"

typedef struct Windows {
    int64_t kernel[2], dilation[2], padding[2], stride[2]; /* height, width */
    int64_t size[2];                                       /* of the image */
    int64_t count[2];                                      /* windows along each axis */
} Windows;

typedef struct WindowLists {
    const IntList *kernel, *dilation, *padding, *stride;
} WindowLists;

Status windows_read(const char *op, const WindowLists *lists, int64_t height, int64_t width,
                    Windows *out);

#endif
