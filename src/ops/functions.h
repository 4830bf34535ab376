/* Prototypes of the functions that rows of ops.def name: infer_*, grad_*, expand_*, view_*,
 * count_*. A row that names a function nobody wrote fails at link time. */
#ifndef DIP_FUNCTIONS_H
#define DIP_FUNCTIONS_H

#include "ops/build.h"

#define GRAD(f)   void grad_##f(GradCtx *c);
#define EXPAND(f) void expand_##f(ExpandCtx *c);
#define NO_GRAD
#define COUNT_0(name)
#define COUNT_1(name)
#define COUNT_2(name)
#define COUNT_3(name)
#define COUNT_4(name)
#define COUNT_5(name)
#define COUNT_BY_ATTRS(name) int count_##name(const OpCall *c);
#define VIEW_K_MAP(name)                                                                           \
    bool view_##name(const OpCall *c, int k, const TensorType *out, const int64_t *xs, int64_t *s, \
                     int64_t *offset);
#define VIEW_K_REDUCE(name)
#define VIEW_K_GATHER(name)
#define VIEW_K_SCATTER(name)
#define VIEW_K_HERO(name)
#define VIEW_K_RANDOM(name)
#define OP(name, prim, kind, sig, nout, rule, infer, grad, saves, attrs, doc)                      \
    Status infer_##infer(const OpCall *c, TensorType *out);                                        \
    COUNT_##nout(name) VIEW_##kind(name) grad
#include "ops/ops.def"
#undef OP
#undef GRAD
#undef EXPAND
#undef NO_GRAD
#undef COUNT_0
#undef COUNT_1
#undef COUNT_2
#undef COUNT_3
#undef COUNT_4
#undef COUNT_5
#undef COUNT_BY_ATTRS
#undef VIEW_K_MAP
#undef VIEW_K_REDUCE
#undef VIEW_K_GATHER
#undef VIEW_K_SCATTER
#undef VIEW_K_HERO
#undef VIEW_K_RANDOM

#endif
