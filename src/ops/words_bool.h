/* words_bool.h: the words of bool in scalar C, values 0 and 1 in a byte; included by words_c.h. */

WORD V vadd(V a, V b) { return a | b; }
WORD V vsub(V a, V b) { return a ^ b; }
WORD V vmul(V a, V b) { return a & b; }
WORD V vfma(V a, V b, V c) { return (a & b) | c; }
WORD V vneg(V a) { return a; }
WORD V vabs(V a) { return a; }
WORD V vmin(V a, V b) { return a & b; }
WORD V vmax(V a, V b) { return a | b; }
WORD V vfloor(V a) { return a; }
WORD V vceil(V a) { return a; }
WORD V vround(V a) { return a; }
WORD V vtrunc(V a) { return a; }
WORD V vsign(V a) { return a; }
WORD V vcopysign(V a, V b) { return (void)b, a; }

WORD B vlt(V a, V b) { return a < b; }
WORD B vle(V a, V b) { return a <= b; }
WORD B vgt(V a, V b) { return a > b; }
WORD B vge(V a, V b) { return a >= b; }
WORD B veq(V a, V b) { return a == b; }
WORD B vne(V a, V b) { return a != b; }
WORD B band(B a, B b) { return a & b; }
WORD B bor(B a, B b) { return a | b; }
WORD B bnot(B a) { return !a; }
WORD V vsel(B m, V a, V b) { return m ? a : b; }
WORD B visnan(V a) { return (void)a, false; }
WORD B visinf(V a) { return (void)a, false; }

WORD V vand(V a, V b) { return a & b; }
WORD V vor(V a, V b) { return a | b; }
WORD V vxor(V a, V b) { return a ^ b; }
WORD V vnot(V a) { return a ^ 1; }
WORD V vshl(V a, V n) { return a & (n ^ 1); }
WORD V vshr(V a, V n) { return a & (n ^ 1); }
/* x // 0 = 0 and x % 0 = 0; x // 1 = x and x % 1 = 0. */
WORD V vtruncdiv(V x, V y) { return x & y; }
WORD V vtruncmod(V x, V y) { return (void)x, (void)y, 0; }
WORD V vfloordiv(V x, V y) { return x & y; }
WORD V vfloormod(V x, V y) { return (void)x, (void)y, 0; }
