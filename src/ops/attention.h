/* The sizes of fused attention, for shapes and kernels. */
#ifndef DIP_OPS_ATTENTION_H
#define DIP_OPS_ATTENTION_H

#include "ops/op.h"

typedef struct AttentionShape {
    int64_t n, heads, kv_heads; /* heads is a multiple of kv_heads */
    int64_t t, keys;            /* lengths of query and key */
    int64_t d, dv;              /* sizes of query and value */
} AttentionShape;

Status attention_shape(const char *op, const TensorType *q, const TensorType *k,
                       const TensorType *v, const TensorType *mask, AttentionShape *s);
double attention_scale(double given, int64_t d); /* 0: 1 / sqrt(d) */

#endif
