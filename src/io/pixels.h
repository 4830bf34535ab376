/* Bytes of images to numbers by a table for each channel: what scaling, normalising and moving the
 * channels to the front come to, in one pass over a batch. */
#ifndef DIP_PIXELS_H
#define DIP_PIXELS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct PixelLookup {
    int64_t images, pixels, channels; /* src is [images][pixels][channels] */
    const uint8_t *src;
    const uint32_t *tables; /* [channels][256], elements of four bytes of any type */
    bool channels_first;    /* dst is [images][channels][pixels] instead of the layout of src */
} PixelLookup;

/* dst holds as many elements as src. */
void pixels_lookup(const PixelLookup *p, uint32_t *dst);

#endif
