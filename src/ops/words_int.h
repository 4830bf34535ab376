/* words_int.h: the words of i32, i64 or u64 in scalar C; included by words_c.h, once a type.
 * Arithmetic goes through the unsigned type U: it wraps around, without undefined behaviour. */

WORD V vadd(V a, V b) { return (V)((U)a + (U)b); }
WORD V vsub(V a, V b) { return (V)((U)a - (U)b); }
WORD V vmul(V a, V b) { return (V)((U)a * (U)b); }
WORD V vfma(V a, V b, V c) { return (V)((U)a * (U)b + (U)c); }
WORD V vneg(V a) { return (V)(0 - (U)a); }
WORD V vmin(V a, V b) { return a < b ? a : b; }
WORD V vmax(V a, V b) { return a > b ? a : b; }
WORD V vfloor(V a) { return a; }
WORD V vceil(V a) { return a; }
WORD V vround(V a) { return a; }
WORD V vtrunc(V a) { return a; }

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
WORD V vnot(V a) { return ~a; }
WORD V vshl(V a, V n) {
    const U bits = 8 * sizeof(V);
    return (U)n < bits ? (V)((U)a << ((U)n & (bits - 1))) : 0;
}

#define power WORD_NAME(power, CT_NAME)
WORD U power(U x, U n) { /* by squaring; wraps around */
    U r = 1;
    for (; n; n >>= 1, x *= x) r *= n & 1 ? x : 1;
    return r;
}

#if WORD_SIGNED
WORD V vabs(V a) { return a < 0 ? (V)(0 - (U)a) : a; }
WORD V vsign(V a) { return (a > 0) - (a < 0); }
WORD V vcopysign(V a, V b) { return b < 0 ? vneg(vabs(a)) : vabs(a); }
WORD V vshr(V a, V n) {
    const U bits = 8 * sizeof(V);
    return a >> ((U)n < bits ? (U)n : bits - 1);
}
/* Division by 0 and -1 would trap: both divide by 1 instead and are put right after. */
WORD V vtruncdiv(V x, V y) {
    V q = x / (((y == 0) | (y == -1)) ? 1 : y);
    return y == 0 ? 0 : y == -1 ? vneg(x) : q;
}
WORD V vtruncmod(V x, V y) { return x % (((y == 0) | (y == -1)) ? 1 : y); }
WORD V vfloordiv(V x, V y) {
    V r = vtruncmod(x, y);
    return vsub(vtruncdiv(x, y), (r != 0) & ((r ^ y) < 0));
}
WORD V vfloormod(V x, V y) {
    V r = vtruncmod(x, y);
    return ((r != 0) & ((r ^ y) < 0)) ? r + y : r;
}
/* 1 / x^-n rounded towards zero: nothing is left but for 1 and -1 (and 0, as in 1 / 0 = 0). */
WORD V vpow(V x, V n) {
    if (n >= 0) return (V)power((U)x, (U)n);
    return x == 1 ? 1 : x == -1 ? (n & 1 ? -1 : 1) : 0;
}
#else
WORD V vabs(V a) { return a; }
WORD V vsign(V a) { return a != 0; }
WORD V vcopysign(V a, V b) { return (void)b, a; }
WORD V vshr(V a, V n) {
    const U bits = 8 * sizeof(V);
    return n < bits ? a >> (n & (bits - 1)) : 0;
}
WORD V vtruncdiv(V x, V y) { return y == 0 ? 0 : x / (y == 0 ? 1 : y); }
WORD V vtruncmod(V x, V y) { return x % (y == 0 ? 1 : y); }
WORD V vfloordiv(V x, V y) { return vtruncdiv(x, y); }
WORD V vfloormod(V x, V y) { return vtruncmod(x, y); }
WORD V vpow(V x, V n) { return power(x, n); }
#endif
#undef power
