/* The plain words of words_names.h in scalar C: what each says about rounding, NaN, signed zero,
 * wrap-around, division by zero and shift counts, for every compute type. The transcendental words:
 * test_math.c. */
#include "test.h"

#include <float.h>
#include <stdint.h>

static bool same(double a, double b) {
    return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

/* Halves go to even; signed zeros and infinities stay; libm is the reference. */
static const double round_case[] = {
    0.0,       -0.0,       0.3,  -0.3,     0.5,       -0.5,       0.7,      -0.7,
    1.5,       -1.5,       2.5,  -2.5,     1e6 + 0.5, -1e6 - 0.5, 0x1p23,   -0x1p23,
    8388607.5, -4194303.5, 1e30, INFINITY, -INFINITY, NAN,        0x1p-140, -0x1p-140};
/* a, b, min, max */
static const double order_case[][4] = {{1, 2, 1, 2},
                                       {-0.0, 0.0, -0.0, 0.0},
                                       {0.0, -0.0, -0.0, 0.0},
                                       {NAN, 1, NAN, NAN},
                                       {1, NAN, NAN, NAN},
                                       {INFINITY, 3, 3, INFINITY},
                                       {-INFINITY, NAN, NAN, NAN},
                                       {-0.0, -0.0, -0.0, -0.0}};
/* x, y, floordiv, floormod, truncdiv, truncmod */
static const double mod_case[][6] = {{7, 3, 2, 1, 2, 1},
                                     {-7, 3, -3, 2, -2, -1},
                                     {7, -3, -3, -2, -2, 1},
                                     {-7, -3, 2, -1, 2, -1},
                                     {6, 3, 2, 0.0, 2, 0},
                                     {-6, 3, -2, 0.0, -2, -0.0},
                                     {6, -3, -2, -0.0, -2, 0.0},
                                     {5.5, 2, 2, 1.5, 2, 1.5},
                                     {1, INFINITY, 0, 1, 0, 1},
                                     {-1, INFINITY, -1, INFINITY, -0.0, -1},
                                     {1, 0, INFINITY, NAN, INFINITY, NAN},
                                     {-1, 0.0, -INFINITY, NAN, -INFINITY, NAN},
                                     {0, -3, -0.0, -0.0, -0.0, 0},
                                     {-0x1p-149, 0x1p127, -1, 0x1p127, -0.0, -0x1p-149}};

/* One function a float type; the words expand to those of the type that is open. */
#define FLOAT_TEST(name)                                                                           \
    static void name(void) {                                                                       \
        for (size_t i = 0; i < sizeof round_case / sizeof *round_case; i++) {                      \
            V x = (V)round_case[i];                                                                \
            CHECK(same(vround(x), rint(x)) && same(vfloor(x), floor(x)));                          \
            CHECK(same(vceil(x), ceil(x)) && same(vtrunc(x), trunc(x)));                           \
            CHECK(same(vabs(x), fabs(x)) && same(vneg(x), -x));                                    \
            CHECK(visnan(x) == !!isnan(x) && visinf(x) == !!isinf(x));                             \
        }                                                                                          \
        for (size_t i = 0; i < sizeof order_case / sizeof *order_case; i++) {                      \
            V a = (V)order_case[i][0], b = (V)order_case[i][1];                                    \
            CHECK(same(vmin(a, b), order_case[i][2]) && same(vmax(a, b), order_case[i][3]));       \
        }                                                                                          \
        for (size_t i = 0; i < sizeof mod_case / sizeof *mod_case; i++) {                          \
            V x = (V)mod_case[i][0], y = (V)mod_case[i][1];                                        \
            CHECK(same(vfloormod(x, y), mod_case[i][3]) && same(vtruncmod(x, y), mod_case[i][5])); \
            CHECK(same(vfloordiv(x, y), mod_case[i][2]) && same(vtruncdiv(x, y), mod_case[i][4])); \
        }                                                                                          \
        CHECK(same(vsign(vnum(-2)), -1) && same(vsign(vnum(-0.0)), 0) && same(vsign(NAN), NAN));   \
        CHECK(same(vcopysign(vnum(2), vnum(-0.0)), -2) && vsqrt(vnum(9)) == 3);                    \
        CHECK(vadd(vnum(1), vnum(2)) == 3 && vsub(vnum(1), vnum(2)) == -1);                        \
        CHECK(vmul(vnum(3), vnum(2)) == 6 && vdiv(vnum(3), vnum(2)) == 1.5);                       \
        CHECK(vfma(vnum(3), vnum(2), vnum(1)) == 7 && vbits(ibits(vnum(-1.5))) == -1.5);           \
        CHECK(vlt(1, 2) && vle(2, 2) && vgt(2, 1) && vge(2, 2) && veq(2, 2) && vne(1, 2));         \
        CHECK(!vlt(1, NAN) && !vge(1, NAN) && !veq(NAN, NAN) && vne(NAN, NAN));                    \
        CHECK(band(true, true) && !band(true, false) && bor(false, true) && bnot(false));          \
        CHECK(vsel(true, 1, 2) == 1 && vsel(false, 1, 2) == 2);                                    \
        V p = vmul(vnum(1.1), vnum(1.3)), low = vmullo(vnum(1.1), vnum(1.3), p);                   \
        CHECK((long double)p + low == (long double)vnum(1.1) * vnum(1.3) || sizeof(V) == 8);       \
    }

/* x, y, floordiv, floormod, truncdiv, truncmod: also what unsigned types and wrap-around say. */
static const int64_t int_case[][6] = {
    {7, 3, 2, 1, 2, 1},    {-7, 3, -3, 2, -2, -1}, {7, -3, -3, -2, -2, 1}, {-7, -3, 2, -1, 2, -1},
    {6, -3, -2, 0, -2, 0}, {5, 0, 0, 0, 0, 0},     {-5, 0, 0, 0, 0, 0},    {9, -1, -9, 0, -9, 0}};

#define INT_TEST(name, least, most)                                                                \
    static void name(void) {                                                                       \
        bool is_signed = (V)-1 < (V)1;                                                             \
        for (size_t i = 0; i < sizeof int_case / sizeof *int_case; i++) {                          \
            const int64_t *c = int_case[i];                                                        \
            if (!is_signed && (c[0] < 0 || c[1] < 0)) continue;                                    \
            V x = (V)c[0], y = (V)c[1];                                                            \
            CHECK(vfloordiv(x, y) == (V)c[2] && vfloormod(x, y) == (V)c[3]);                       \
            CHECK(vtruncdiv(x, y) == (V)c[4] && vtruncmod(x, y) == (V)c[5]);                       \
        }                                                                                          \
        CHECK(vadd(most, 1) == least && vsub(least, 1) == most);                                   \
        CHECK(vmul(most, 2) == (V)-2 && vneg(least) == least && vfma(most, 2, 3) == 1);            \
        CHECK(vmin(3, 5) == 3 && vmax(3, 5) == 5 && vabs((V)7) == 7 && vsign((V)9) == 1);          \
        CHECK(vfloor(3) == 3 && vceil(3) == 3 && vround(3) == 3 && vtrunc(3) == 3);                \
        CHECK(vand(12, 10) == 8 && vor(12, 10) == 14 && vxor(12, 10) == 6);                        \
        CHECK(vnot(0) == (V)-1 && vcopysign(3, 1) == 3 && !visnan(3) && !visinf(3));               \
        CHECK(vshl(3, 2) == 12 && vshr(12, 2) == 3 && vshl(1, 64) == 0 && vshl(1, (V)-1) == 0);    \
        CHECK(vshr(12, 64) == 0 && vshr(12, (V)-1) == 0);                                          \
        CHECK(vshr((V)-8, 1) == (is_signed ? (V)-4 : most / 2 - 3));                               \
        CHECK(vshr((V)-8, 64) == (is_signed ? (V)-1 : 0));                                         \
        CHECK(vlt(1, 2) && vle(2, 2) && vgt(2, 1) && vge(2, 2) && veq(2, 2) && vne(1, 2));         \
        CHECK(band(true, true) && bor(false, true) && bnot(false) && vsel(false, 1, 2) == 2);      \
        if (!is_signed) return;                                                                    \
        CHECK(vfloordiv(least, (V)-1) == least && vfloormod(least, (V)-1) == 0);                   \
        CHECK(vtruncdiv(least, (V)-1) == least && vtruncmod(least, (V)-1) == 0);                   \
        CHECK(vabs((V)-7) == 7 && vabs(least) == least && vsign((V)-9) == (V)-1);                  \
        CHECK(vcopysign(3, (V)-1) == (V)-3);                                                       \
    }

#define CT_f32
#include "ops/words_c.h"
FLOAT_TEST(test_f32)
#include "ops/words_undef.h"
#define CT_f64
#include "ops/words_c.h"
FLOAT_TEST(test_f64)
#include "ops/words_undef.h"
#define CT_i32
#include "ops/words_c.h"
INT_TEST(test_i32, INT32_MIN, INT32_MAX)
#include "ops/words_undef.h"
#define CT_i64
#include "ops/words_c.h"
INT_TEST(test_i64, INT64_MIN, INT64_MAX)
#include "ops/words_undef.h"
#define CT_u64
#include "ops/words_c.h"
INT_TEST(test_u64, (V)0, UINT64_MAX)
#include "ops/words_undef.h"

#define CT_bool
#include "ops/words_c.h"
static void test_bool(void) {
    for (V x = 0; x < 2; x++) {
        for (V y = 0; y < 2; y++) {
            CHECK(vadd(x, y) == (x | y) && vmul(x, y) == (x & y) && vsub(x, y) == (x ^ y));
            CHECK(vmin(x, y) == (x & y) && vmax(x, y) == (x | y) && vxor(x, y) == (x ^ y));
            CHECK(vand(x, y) == (x & y) && vor(x, y) == (x | y) && vnot(x) == !x);
            CHECK(vfloordiv(x, y) == (y ? x : 0) && vfloormod(x, y) == 0);
            CHECK(vtruncdiv(x, y) == (y ? x : 0) && vtruncmod(x, y) == 0);
            CHECK(vshl(x, y) == (y ? 0 : x) && vshr(x, y) == (y ? 0 : x));
            CHECK(vlt(x, y) == (x < y) && vsel(x, y, !y) == (x ? y : !y));
        }
    }
    CHECK(vnum(7) == 1 && vnum(0) == 0);
}
#include "ops/words_undef.h"

int main(void) {
    RUN(test_f32);
    RUN(test_f64);
    RUN(test_i32);
    RUN(test_i64);
    RUN(test_u64);
    RUN(test_bool);
    return test_done("words");
}
