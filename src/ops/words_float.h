/* words_float.h: the words of f32 or f64 in scalar C; included by words_c.h, once a type.
 * Everything is branch-free in effect: gcc and clang turn the selects into blends. */

WORD V vadd(V a, V b) { return a + b; }
WORD V vsub(V a, V b) { return a - b; }
WORD V vmul(V a, V b) { return a * b; }
WORD V vdiv(V a, V b) { return a / b; }
WORD V vneg(V a) { return -a; }
WORD V vabs(V a) { return WORD_LIBM(__builtin_fabs)(a); }
WORD V vsqrt(V a) { return WORD_LIBM(__builtin_sqrt)(a); }
WORD V vcopysign(V a, V b) { return WORD_LIBM(__builtin_copysign)(a, b); }

WORD V vfma(V a, V b, V c) {
#if WORDS_FUSED
    return WORD_LIBM(__builtin_fma)(a, b, c);
#else
    return a * b + c;
#endif
}

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
WORD B visnan(V a) { return a != a; }
WORD B visinf(V a) { return vabs(a) == (V)INFINITY; }

WORD I ibits(V v) {
    I i;
    memcpy(&i, &v, sizeof i);
    return i;
}
WORD V vbits(I i) {
    V v;
    memcpy(&v, &i, sizeof v);
    return v;
}
#define inum(c) ((I)(c))
WORD I iadd(I a, I b) { return (I)((U)a + (U)b); }
WORD I isub(I a, I b) { return (I)((U)a - (U)b); }
WORD I iand(I a, I b) { return a & b; }
WORD I ior(I a, I b) { return a | b; }
WORD I ixor(I a, I b) { return a ^ b; }
WORD I ishl(I a, int n) { return (I)((U)a << n); }
WORD I ishr(I a, int n) { return (I)((U)a >> n); }
WORD I isel(B m, I a, I b) { return m ? a : b; }

#define vtable(table, i)   (table)[i]
#define VTABLE(table, ...) static const V table[] = {__VA_ARGS__};

#ifdef CT_f32
/* Words on W, the next wider type, for reductions that need more digits. */
#define W       double
#define wnum(c) ((double)(c))
WORD W wide(V a) { return a; }
WORD V narrow(W a) { return (V)a; }
WORD W wadd(W a, W b) { return a + b; }
WORD W wsub(W a, W b) { return a - b; }
WORD W wmul(W a, W b) { return a * b; }
WORD B wge(W a, W b) { return a >= b; }
WORD W wsel(B m, W a, W b) { return m ? a : b; }
#endif

/* The two choices differ for equal values, -0 and +0, where "or" keeps the minus, and for NaN,
 * which "or" keeps as well: its exponent is all ones, and some bit behind it. */
WORD V vmin(V a, V b) {
    V first = a < b ? a : b, second = b < a ? b : a;
    return vbits(ibits(first) | ibits(second));
}
WORD V vmax(V a, V b) { return -vmin(-a, -b); }
WORD V vsign(V a) { return a != a ? a : (V)((a > 0) - (a < 0)); }

#if WORDS_ROUND
WORD V vround(V a) { return WORD_LIBM(__builtin_rint)(a); }
WORD V vfloor(V a) { return WORD_LIBM(__builtin_floor)(a); }
WORD V vceil(V a) { return WORD_LIBM(__builtin_ceil)(a); }
WORD V vtrunc(V a) { return WORD_LIBM(__builtin_trunc)(a); }
#else
/* Adding and taking away 2^23 (2^52) rounds to an integer, halves to even. */
WORD V vround(V a) {
    const V big = sizeof(V) == 4 ? (V)0x1p23 : (V)0x1p52;
    V r = (vabs(a) + big) - big;
    return vabs(a) < big ? vcopysign(r, a) : a;
}
WORD V vfloor(V a) {
    V r = vround(a);
    return r > a ? r - 1 : r;
}
WORD V vceil(V a) {
    V r = vround(a);
    return vcopysign(r < a ? r + 1 : r, a);
}
WORD V vtrunc(V a) {
    V r = vround(vabs(a));
    return vcopysign(r > vabs(a) ? r - 1 : r, a);
}
#endif

WORD V vmullo(V a, V b, V p) {
#if WORDS_FUSED
    return vfma(a, b, -p);
#else
    /* Dekker: split both factors into halves whose products are exact. */
    const V split = sizeof(V) == 4 ? (V)4097 : (V)134217729;
    V ta = a * split, tb = b * split;
    V ah = ta - (ta - a), bh = tb - (tb - b);
    V al = a - ah, bl = b - bh;
    return al * bl - (((p - ah * bh) - al * bh) - ah * bl);
#endif
}

WORD V vtruncdiv(V x, V y) { return vtrunc(x / y); }
#define mod_rest   WORD_NAME(mod_rest, CT_NAME)
#define mod_signed WORD_NAME(mod_signed, CT_NAME)
/* a - n b for the whole part n of a rounded quotient a / b: exact, see vis_mod_near. */
WORD V mod_rest(V a, V b, V n) {
#if !WORDS_FUSED && defined(CT_f32)
    return (V)((W)a - (W)n * b);
#else
    return vfma(-n, b, a);
#endif
}

/* Where a rounded quotient is below 2^24 (2^53), its whole part is the true one or one too large,
 * and what is left by either is a number of the type: no libm is needed. */
WORD B vis_mod_near(V x, V y) {
    const V limit = sizeof(V) == 4 ? (V)0x1p24 : (V)0x1p53;
    const V most = sizeof(V) == 4 ? (V)FLT_MAX : (V)DBL_MAX;
    B is_near = band(vlt(vabs(x), vabs(y) * limit), vle(vabs(y), most));
    return sizeof(V) == 4 || WORDS_FUSED ? is_near : (B)0;
}
WORD V vtruncmod_near(V x, V y) {
    V a = vabs(x), b = vabs(y), r = mod_rest(a, b, vtrunc(a / b));
    return vcopysign(r < 0 ? r + b : r, x);
}
WORD V vtruncmod(V x, V y) {
    return vis_mod_near(x, y) ? vtruncmod_near(x, y) : WORD_LIBM(fmod)(x, y);
}

/* The sign of the divisor for the remainder r of C. */
WORD V mod_signed(V r, V y) {
    I differ = -(I)((r < 0) != (y < 0)); /* signs are random: no branch */
    V moved = r + vbits(ibits(y) & differ);
    return r == 0 ? vcopysign(r, y) : moved;
}
WORD V vfloormod_near(V x, V y) { return mod_signed(vtruncmod_near(x, y), y); }
WORD V vfloormod(V x, V y) { return mod_signed(vtruncmod(x, y), y); }

/* The floor of the exact quotient: a rounded one may be the integer above it, or 0 from below. */
WORD V vfloordiv_near(V x, V y) {
    V a = vabs(x), b = vabs(y), n = vtrunc(a / b), r = mod_rest(a, b, n);
    B below = (x < 0) != (y < 0);
    V up = r < 0 ? n - 1 : n; /* of |x| / |y|, from here on */
    V away = (below & (r != 0)) ? up + 1 : up;
    return vbits(ibits(away) | ((ibits(x) ^ ibits(y)) & ibits((V)-0.0)));
}
#undef mod_rest
#undef mod_signed
WORD V vfloordiv(V x, V y) {
    V q = x / y;
    B below = (x != 0) & ((x < 0) != (y < 0));
#ifdef CT_f32
    V f = (below & (q == 0)) ? (V)-1 : vfloor(q);
    W product = (W)f * y; /* exact; beyond x it shows that f is too large */
    V whole = (y > 0 ? product > x : product < x) ? f - 1 : f;
#else
    V r = WORD_LIBM(fmod)(x, y);
    V n = vround((x - r) / y - ((r != 0) & below));
    V whole = n == 0 ? vcopysign(n, q) : n;
#endif
    V finite = visinf(x) ? (V)NAN : whole;
    return y == 0 ? q : finite;
}
