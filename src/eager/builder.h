/* The builder that runs each call at once. */
#ifndef DIP_EAGER_BUILDER_H
#define DIP_EAGER_BUILDER_H

#include "ops/build.h"
#include "tensor/tensor.h"

typedef struct EagerBuilder {
    Builder base;    /* first */
    Tensor **values; /* values[ref - 1]: owned */
    int n, capacity;
    Tensor *few[16];
} EagerBuilder;

void eager_builder_init(EagerBuilder *e);
void eager_builder_done(EagerBuilder *e);
/* A Ref for t (takes a reference of its own); 0 for NULL. */
Ref eager_put(EagerBuilder *e, Tensor *t);
Tensor *eager_peek(EagerBuilder *e, Ref r);

#endif
