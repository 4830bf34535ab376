/* The geometry of convolution and pooling windows, read from attributes once for shapes, kernels
 * and gradients alike. Axes that are missing in 1-d and 2-d cases have size 1 in front. */
#ifndef DIP_OPS_CONV_H
#define DIP_OPS_CONV_H

#include "ops/op.h"

enum { MAX_SPATIAL = 3 };

typedef struct Window {
    int nd; /* spatial axes: 1 to 3 */
    int64_t in[MAX_SPATIAL], out[MAX_SPATIAL], kernel[MAX_SPATIAL];
    int64_t stride[MAX_SPATIAL], dilation[MAX_SPATIAL], begin[MAX_SPATIAL], end[MAX_SPATIAL];
} Window;

typedef struct ConvShape {
    Window w;
    int64_t n, ci, co, groups;
} ConvShape;

/* One number or one an axis; at least `low`. `out` gets MAX_SPATIAL entries, missing ones `fill`.
 */
Status window_list(const char *op, const char *what, const IntList *list, int nd, int64_t low,
                   int64_t fill, int64_t *out);
/* One number, one an axis, or begin and end of each. */
Status window_padding(const char *op, const IntList *list, int nd, int64_t *begin, int64_t *end);
/* Spatial sizes of a tensor (n, c, ...), 1 in front. */
void window_sizes(const TensorType *t, int64_t *out);
/* Fills w->out from the rest; fails when the kernel does not fit. */
Status window_outputs(const char *op, Window *w);

/* For conv, conv_input_grad and conv_weight_grad. */
Status conv_shape(const OpCall *c, ConvShape *s);

static inline int64_t window_count(const int64_t *sizes) { return sizes[0] * sizes[1] * sizes[2]; }

#endif
