/* narrow_body.h: the loops of one dtype narrower than the compute type; included by loops.c, once a
 * dtype. A value is widened, computed and cut off in one loop, and the compiler stays in narrow
 * lanes where the low bits suffice.
 *
 * In: NARROW (the dtype's token), S (its C type). Out: NARROW_NAME(table), and both undefined. */
#define NARROW_NAME2(token, name) token##_##name
#define NARROW_NAME1(token, name) NARROW_NAME2(token, name)
#define NARROW_NAME(name)         NARROW_NAME1(NARROW, name)

#define EW1(n, p, c, s, v, gx, d)         IF_##c(LOOP1(NARROW_NAME(n), S, S, v))
#define EW2(n, p, c, s, v, gx, gy, d)     IF_##c(LOOP2(NARROW_NAME(n), S, S, v))
#define EW3(n, p, c, s, v, gx, gy, gz, d) IF_##c(LOOP3(NARROW_NAME(n), S, S, v))
#define PR1(n, p, c, s, v, d)             IF_##c(LOOP1(NARROW_NAME(n), S, uint8_t, v))
#define PR2(n, p, c, s, v, d)             IF_##c(LOOP2(NARROW_NAME(n), S, uint8_t, v))
#include "ops/ewise.def"

static EwLoop *const NARROW_NAME(table)[EW_ROWS] = {
#define EW1(n, p, c, s, v, gx, d)         IF_##c([EW_ROW_##n] = NARROW_NAME(n), )
#define EW2(n, p, c, s, v, gx, gy, d)     IF_##c([EW_ROW_##n] = NARROW_NAME(n), )
#define EW3(n, p, c, s, v, gx, gy, gz, d) IF_##c([EW_ROW_##n] = NARROW_NAME(n), )
#define PR1(n, p, c, s, v, d)             IF_##c([EW_ROW_##n] = NARROW_NAME(n), )
#define PR2(n, p, c, s, v, d)             IF_##c([EW_ROW_##n] = NARROW_NAME(n), )
#include "ops/ewise.def"
};

#undef NARROW
#undef S
