/* The gradients of ewise.def as op calls: what create_graph and graphs differentiate further.
 *
 * Each row becomes a function per input, expand_<name>_<k>(b, like, x, y, z, r, g) -> Ref. */
#include "ops/functions.h"
#include "ops/slopes.h"
#include "ops/words_build.h"

typedef Ref SlopeFn(Builder *b, Ref like, Ref x, Ref y, Ref z, Ref r, Ref g);

#define SLOPE(name, k, e)                                                                          \
    static Ref name##_##k(Builder *b, Ref like, Ref x, Ref y, Ref z, Ref r, Ref g) {               \
        (void)b, (void)like, (void)x, (void)y, (void)z, (void)r, (void)g;                          \
        return e;                                                                                  \
    }
#define G(e)                              (e)
#define NG                                0
#define EW1(n, p, c, s, v, gx, d)         SLOPE(n, 0, gx)
#define EW2(n, p, c, s, v, gx, gy, d)     SLOPE(n, 0, gx) SLOPE(n, 1, gy)
#define EW3(n, p, c, s, v, gx, gy, gz, d) SLOPE(n, 0, gx) SLOPE(n, 1, gy) SLOPE(n, 2, gz)
#define PR1(n, p, c, s, v, d)
#define PR2(n, p, c, s, v, d)
#include "ops/ewise.def"

static SlopeFn *const slopes[][3] = {
#define EW1(n, p, c, s, v, gx, d)         {n##_0},
#define EW2(n, p, c, s, v, gx, gy, d)     {n##_0, n##_1},
#define EW3(n, p, c, s, v, gx, gy, gz, d) {n##_0, n##_1, n##_2},
#define PR1(n, p, c, s, v, d)             {0},
#define PR2(n, p, c, s, v, d)             {0},
#include "ops/ewise.def"
};

/* Inputs of the hidden op: g, x, y, z, r; absent ones are not read by the row. */
void expand_ewise_grad(ExpandCtx *c) {
    Ref in[5] = {0};
    for (int i = 0; i < c->nin; i++) in[i] = c->x[i];
    Ref slope =
        slopes[c->op->ew_index][c->op->ew_input](c->b, in[0], in[1], in[2], in[3], in[4], in[0]);
    TensorType g = *b_type(c->b, in[0]);
    c->r[0] = b_broadcast(c->b, slope, g.rank, g.dims); /* constant slopes are 0-d */
}
