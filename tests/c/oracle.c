/* See oracle.h. The float reading comes first, then the integer one over the same rows. */
#include "oracle.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "ops/slopes.h"

/* ---- words of both readings; the value type and the arithmetic words differ */

#define vlt(a, b)     ((a) < (b))
#define vle(a, b)     ((a) <= (b))
#define vgt(a, b)     ((a) > (b))
#define vge(a, b)     ((a) >= (b))
#define veq(a, b)     ((a) == (b))
#define vne(a, b)     ((a) != (b))
#define band(a, b)    ((a) && (b))
#define bor(a, b)     ((a) || (b))
#define bnot(a)       (!(a))
#define vsel(m, a, b) ((m) ? (a) : (b))

enum {
#define EW1(name, ...) ROW_##name,
#define EW2(name, ...) ROW_##name,
#define EW3(name, ...) ROW_##name,
#define PR1(name, ...) ROW_##name,
#define PR2(name, ...) ROW_##name,
#include "ops/ewise.def"
    NROWS
};

#define YES(...) __VA_ARGS__
#define NO(...)
#define BODY(reading, n, v)                                                                        \
    static V reading##_##n(V x, V y, V z) {                                                        \
        (void)x, (void)y, (void)z;                                                                 \
        return v;                                                                                  \
    }

/* ---- double, libm */

#define V       double
#define vnum(c) ((double)(c))

static _Thread_local DType computes_in;

static double least(double a, double b) {
    if (isnan(a) || isnan(b)) return NAN;
    return a == b ? (signbit(a) ? a : b) : fmin(a, b);
}
static double most(double a, double b) {
    if (isnan(a) || isnan(b)) return NAN;
    return a == b ? (signbit(a) ? b : a) : fmax(a, b);
}
static double sign_of(double a) { return isnan(a) ? a : a > 0 ? 1 : a < 0 ? -1 : 0; }
static double quotient(double a, double b) { return oracle_round(computes_in, a / b); }
static double floor_mod(double a, double b) {
    double r = fmod(a, b);
    if (r == 0) return copysign(r, b);
    return (r < 0) != (b < 0) ? r + b : r;
}
/* What is left after the remainder is a multiple of b. */
static double floor_div(double a, double b) {
    if (b == 0) return a / b;
    double n = nearbyint((a - fmod(a, b)) / b), r = fmod(a, b);
    return n - (r != 0 && (r < 0) != (b < 0));
}
static double sigmoid(double a) { return a >= 0 ? 1 / (1 + exp(-a)) : exp(a) / (1 + exp(a)); }

/* Newton's steps on erf, or on erfc far out, from a rough start (Winitzki 2008). */
static double erf_inverse(double p) {
    if (isnan(p) || fabs(p) > 1) return NAN;
    if (fabs(p) == 1) return copysign(INFINITY, p);
    if (fabs(p) < 1e-8) return p * sqrt(M_PI) / 2;
    double l = log1p(-p * p), a = 2 / (M_PI * 0.147) + l / 2;
    double w = sqrt(sqrt(a * a - l / 0.147) - a), q = fabs(p);
    for (int i = 0; i < 6; i++) {
        double error = q > 0.5 ? (1 - q) - erfc(w) : erf(w) - q;
        w -= error * sqrt(M_PI) / 2 * exp(w * w);
    }
    return copysign(w, p);
}

/* Reflection, recurrence up to 12, asymptotic series. */
static double digamma(double a) {
    if (a == 0) return copysign(INFINITY, -a);
    if (a < 0 && a == floor(a)) return NAN;
    if (a < 0) return digamma(1 - a) - M_PI / tan(M_PI * (a - nearbyint(a)));
    double sum = 0;
    for (; a < 12; a++) sum -= 1 / a;
    double s = 1 / (a * a);
    double tail = s * (1. / 12 - s * (1. / 120 - s * (1. / 252 - s * (1. / 240 - s / 132))));
    return isinf(a) ? a : sum + log(a) - 0.5 / a - tail;
}

static double trigamma(double a) {
    if (a <= 0) return pow(M_PI / sin(M_PI * (a - nearbyint(a))), 2) - trigamma(1 - a);
    double sum = 0;
    for (; a < 60; a++) sum += 1 / (a * a);
    double s = 1 / (a * a);
    return sum + 1 / a + s / 2 + s / a * (1. / 6 - s * (1. / 30 - s * (1. / 42 - s / 30)));
}

#define vadd(a, b)      ((a) + (b))
#define vsub(a, b)      ((a) - (b))
#define vmul(a, b)      ((a) * (b))
#define vdiv(a, b)      ((a) / (b))
#define vfma(a, b, c)   fma(a, b, c)
#define vneg(a)         (-(a))
#define vabs(a)         fabs(a)
#define vsqrt(a)        sqrt(a)
#define vmin(a, b)      least(a, b)
#define vmax(a, b)      most(a, b)
#define vfloor(a)       floor(a)
#define vceil(a)        ceil(a)
#define vround(a)       nearbyint(a)
#define vtrunc(a)       trunc(a)
#define vsign(a)        sign_of(a)
#define vcopysign(a, b) copysign(a, b)
#define vfloordiv(a, b) oracle_round(computes_in, floor_div(a, b))
#define vfloormod(a, b) floor_mod(a, b)
#define vtruncdiv(a, b) trunc(quotient(a, b))
#define vtruncmod(a, b) fmod(a, b)
#define visnan(a)       (isnan(a) != 0)
#define visinf(a)       (isinf(a) != 0)
#define vexp(a)         exp(a)
#define vexp2(a)        exp2(a)
#define vexpm1(a)       expm1(a)
#define vlog(a)         log(a)
#define vlog2(a)        log2(a)
#define vlog10(a)       log10(a)
#define vlog1p(a)       log1p(a)
#define vtanh(a)        tanh(a)
#define vsigmoid(a)     sigmoid(a)
#define verf(a)         erf(a)
#define verfc(a)        erfc(a)
#define verfinv(a)      erf_inverse(a)
#define vsin(a)         sin(a)
#define vcos(a)         cos(a)
#define vtan(a)         tan(a)
#define vasin(a)        asin(a)
#define vacos(a)        acos(a)
#define vatan(a)        atan(a)
#define vatan2(a, b)    atan2(a, b)
#define vsinh(a)        sinh(a)
#define vcosh(a)        cosh(a)
#define vasinh(a)       asinh(a)
#define vacosh(a)       acosh(a)
#define vatanh(a)       atanh(a)
#define vpow(a, b)      pow(a, b)
#define vcbrt(a)        cbrt(a)
#define vlgamma(a)      lgamma(a)
#define vdigamma(a)     digamma(a)
#define vtrigamma(a)    trigamma(a)

#define IF_EW_ANY                         YES
#define IF_EW_NUM                         YES
#define IF_EW_FLT                         YES
#define IF_EW_INT                         NO
#define IF_EW_LOG                         NO
#define IF_EW_WHERE                       YES
#define EW1(n, p, c, s, v, gx, d)         IF_##c(BODY(float, n, v))
#define EW2(n, p, c, s, v, gx, gy, d)     IF_##c(BODY(float, n, v))
#define EW3(n, p, c, s, v, gx, gy, gz, d) IF_##c(BODY(float, n, v))
#define PR1(n, p, c, s, v, d)             IF_##c(BODY(float, n, v))
#define PR2(n, p, c, s, v, d)             IF_##c(BODY(float, n, v))
#include "ops/ewise.def"

static double (*const floats[NROWS])(double, double, double) = {
#define EW1(n, p, c, s, v, gx, d)         IF_##c([ROW_##n] = float_##n, )
#define EW2(n, p, c, s, v, gx, gy, d)     IF_##c([ROW_##n] = float_##n, )
#define EW3(n, p, c, s, v, gx, gy, gz, d) IF_##c([ROW_##n] = float_##n, )
#define PR1(n, p, c, s, v, d)             IF_##c([ROW_##n] = float_##n, )
#define PR2(n, p, c, s, v, d)             IF_##c([ROW_##n] = float_##n, )
#include "ops/ewise.def"
};

#undef V
#undef vnum
#undef vadd
#undef vsub
#undef vmul
#undef vfma
#undef vneg
#undef vabs
#undef vmin
#undef vmax
#undef vfloor
#undef vceil
#undef vround
#undef vtrunc
#undef vsign
#undef vcopysign
#undef vfloordiv
#undef vfloormod
#undef vtruncdiv
#undef vtruncmod
#undef visnan
#undef visinf
#undef vpow
#undef IF_EW_FLT
#undef IF_EW_INT
#undef IF_EW_LOG

/* ---- integers without a width: 128 bits, wrapped by the caller. `in_bool` selects the words of
 * bool: sum is or, product is and, not flips the one bit. */

#define V       Wide
#define vnum(c) ((Wide)(c))
typedef unsigned __int128 UWide;

static _Thread_local bool in_bool;

static Wide wide_mod(Wide a, Wide b) {
    Wide r = b ? a % b : 0;
    return r && (r < 0) != (b < 0) ? r + b : r;
}
static Wide wide_div(Wide a, Wide b) { return b ? (a - wide_mod(a, b)) / b : 0; }
static Wide wide_pow(Wide a, Wide n) {
    if (n < 0) return a == 1 ? 1 : a == -1 ? (n % 2 ? -1 : 1) : 0;
    UWide r = 1, base = (UWide)a;
    for (; n; n /= 2, base *= base)
        if (n % 2) r *= base;
    return (Wide)r;
}
static Wide shift_left(Wide a, Wide n) { return n < 0 || n > 63 ? 0 : (Wide)((UWide)a << n); }
static Wide shift_right(Wide a, Wide n) { return a >> (n < 0 || n > 63 ? 127 : n); }

#define vadd(a, b)      (in_bool ? ((a) || (b)) : (a) + (b))
#define vsub(a, b)      ((a) - (b))
#define vmul(a, b)      ((Wide)((UWide)(a) * (UWide)(b)))
#define vfma(a, b, c)   ((a) * (b) + (c))
#define vneg(a)         (-(a))
#define vabs(a)         ((a) < 0 ? -(a) : (a))
#define vmin(a, b)      ((a) < (b) ? (a) : (b))
#define vmax(a, b)      ((a) > (b) ? (a) : (b))
#define vfloor(a)       (a)
#define vceil(a)        (a)
#define vround(a)       (a)
#define vtrunc(a)       (a)
#define vsign(a)        (((a) > 0) - ((a) < 0))
#define vcopysign(a, b) ((b) < 0 ? -vabs(a) : vabs(a))
#define vfloordiv(a, b) wide_div(a, b)
#define vfloormod(a, b) wide_mod(a, b)
#define vtruncdiv(a, b) ((b) ? (a) / (b) : 0)
#define vtruncmod(a, b) ((b) ? (a) % (b) : 0)
#define visnan(a)       false
#define visinf(a)       false
#define vpow(a, b)      wide_pow(a, b)
#define vand(a, b)      ((a) & (b))
#define vor(a, b)       ((a) | (b))
#define vxor(a, b)      ((a) ^ (b))
#define vnot(a)         (in_bool ? !(a) : ~(a))
#define vshl(a, b)      (in_bool ? (a) && !(b) : shift_left(a, b))
#define vshr(a, b)      (in_bool ? (a) && !(b) : shift_right(a, b))

#define IF_EW_FLT                         NO
#define IF_EW_INT                         YES
#define IF_EW_LOG                         YES
#define EW1(n, p, c, s, v, gx, d)         IF_##c(BODY(int, n, v))
#define EW2(n, p, c, s, v, gx, gy, d)     IF_##c(BODY(int, n, v))
#define EW3(n, p, c, s, v, gx, gy, gz, d) IF_##c(BODY(int, n, v))
#define PR1(n, p, c, s, v, d)             IF_##c(BODY(int, n, v))
#define PR2(n, p, c, s, v, d)             IF_##c(BODY(int, n, v))
#include "ops/ewise.def"

static Wide (*const ints[NROWS])(Wide, Wide, Wide) = {
#define EW1(n, p, c, s, v, gx, d)         IF_##c([ROW_##n] = int_##n, )
#define EW2(n, p, c, s, v, gx, gy, d)     IF_##c([ROW_##n] = int_##n, )
#define EW3(n, p, c, s, v, gx, gy, gz, d) IF_##c([ROW_##n] = int_##n, )
#define PR1(n, p, c, s, v, d)             IF_##c([ROW_##n] = int_##n, )
#define PR2(n, p, c, s, v, d)             IF_##c([ROW_##n] = int_##n, )
#include "ops/ewise.def"
};
#undef V

/* ---- calls */

bool oracle_has_float(const Op *op) { return floats[op->ew_index]; }

bool oracle_has_int(const Op *op, bool is_bool) {
    if (is_bool) return ints[op->ew_index] && op->ewclass != EW_NUM;
    return ints[op->ew_index] && op->ewclass != EW_LOG;
}

double oracle_float(const Op *op, DType ct, const double v[3]) {
    computes_in = ct;
    return floats[op->ew_index](v[0], v[1], v[2]);
}

Wide oracle_int(const Op *op, const Wide v[3], bool is_bool) {
    in_bool = is_bool;
    return ints[op->ew_index](v[0], v[1], v[2]);
}

/* ---- numbers and memory */

double oracle_round(DType d, double v) {
    static const struct {
        int digits, least;
        double largest;
    } formats[NDTYPES] = {[DT_f16] = {11, -14, 65504},
                          [DT_bf16] = {8, -126, 0x1.fep127},
                          [DT_f32] = {24, -126, FLT_MAX}};
    if (!formats[d].digits || !isfinite(v) || v == 0) return v;
    int e;
    frexp(v, &e); /* |v| in [2^(e-1), 2^e) */
    int unit = (e - 1 < formats[d].least ? formats[d].least : e - 1) - formats[d].digits + 1;
    double r = ldexp(nearbyint(ldexp(v, -unit)), unit);
    return fabs(r) > formats[d].largest ? copysign(INFINITY, v) : copysign(r, v);
}

/* The bits of a half-width float from its value; v is representable. */
static uint16_t half_bits(double v, int exponent_bits) {
    int fraction = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1, e;
    uint16_t sign = signbit(v) ? 0x8000 : 0,
             top = (uint16_t)(((1 << exponent_bits) - 1) << fraction);
    if (isnan(v)) return (uint16_t)(top | 1 << (fraction - 1));
    if (isinf(v)) return sign | top;
    if (v == 0) return sign;
    frexp(v, &e);
    if (e - 1 < 1 - bias) return (uint16_t)(sign | (int)ldexp(fabs(v), bias - 1 + fraction));
    int mantissa = (int)ldexp(fabs(v), fraction - (e - 1)) - (1 << fraction);
    return (uint16_t)(sign | (e - 1 + bias) << fraction | mantissa);
}

static double half_value(uint16_t h, int exponent_bits) {
    int fraction = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    int e = h >> fraction & ((1 << exponent_bits) - 1), m = h & ((1 << fraction) - 1);
    double v = e == (1 << exponent_bits) - 1 ? (m ? NAN : INFINITY)
               : e                           ? ldexp((1 << fraction) + m, e - bias - fraction)
                                             : ldexp(m, 1 - bias - fraction);
    return h & 0x8000 ? -v : v;
}

static Wide get_int(const void *p, int nbytes, bool is_signed) {
    uint64_t u = 0;
    memcpy(&u, p, (size_t)nbytes); /* little-endian machines */
    Wide v = u;
    if (is_signed && u >> (8 * nbytes - 1)) v -= (Wide)1 << (8 * nbytes);
    return v;
}

Wide oracle_get_int(DType d, const void *p) {
    return get_int(p, dtype_info[d].nbytes, dtype_info[d].kind == KIND_INT);
}

double oracle_get(DType d, const void *p) {
    uint16_t h = 0;
    memcpy(&h, p, dtype_info[d].nbytes < 2 ? 1 : 2);
    float f;
    double v;
    switch (d) {
    case DT_f16: return half_value(h, 5);
    case DT_bf16: return half_value(h, 8);
    case DT_f32: memcpy(&f, p, sizeof f); return f;
    case DT_f64: memcpy(&v, p, sizeof v); return v;
    default: return (double)oracle_get_int(d, p);
    }
}

void oracle_put(DType d, void *p, double v) {
    double r = oracle_round(d, v);
    float f = (float)r;
    uint16_t h = d == DT_f16 || d == DT_bf16 ? half_bits(r, d == DT_f16 ? 5 : 8) : 0;
    switch (d) {
    case DT_f16:
    case DT_bf16: memcpy(p, &h, sizeof h); return;
    case DT_f32: memcpy(p, &f, sizeof f); return;
    case DT_f64: memcpy(p, &r, sizeof r); return;
    default: oracle_put_int(d, p, (Wide)v); return;
    }
}

Wide oracle_wrap(DType d, Wide v) {
    if (d == DT_bool) return v != 0;
    uint64_t u = (uint64_t)v;
    return get_int(&u, dtype_info[d].nbytes, dtype_info[d].kind == KIND_INT);
}

void oracle_put_int(DType d, void *p, Wide v) {
    uint64_t u = (uint64_t)oracle_wrap(d, v);
    memcpy(p, &u, dtype_info[d].nbytes);
}
