/* Every conversion between two dtypes (docs/semantics.md, Conversions) against plain arithmetic:
 * the ends of every range, halfway values, and random bits. meson.build runs the program once an
 * instruction set. */
#include "cases.h"
#include "oracle.h"
#include "test.h"

enum { RANDOM = 3000, SHOWN = 5, MOST_SPECIAL = 400 };

static int shown;

static Tensor *flat(DType d, int64_t n) {
    Tensor *t;
    if (tensor_new(&(TensorType){(uint8_t)d, 1, {n}}, "test", &t) != OK) abort();
    return t;
}

/* ---- what a cast gives */

static Wide top_of(DType d) {
    int bits = 8 * dtype_info[d].nbytes;
    return ((Wide)1 << (bits - (dtype_info[d].kind == KIND_INT))) - 1;
}
static Wide lowest_of(DType d) { return dtype_info[d].kind == KIND_INT ? -top_of(d) - 1 : 0; }

/* Truncated and saturated at the target's range; NaN gives 0. */
static Wide int_from_float(DType to, double v) {
    if (to == DT_bool) return v != 0;
    if (isnan(v)) return 0;
    if (fabs(v) > 1e30) return v > 0 ? top_of(to) : lowest_of(to);
    Wide w = (Wide)v;
    return w > top_of(to) ? top_of(to) : w < lowest_of(to) ? lowest_of(to) : w;
}

/* Rounded once, halves to even; a double cannot say so for 64-bit integers. */
static double float_from_int(DType to, Wide w) {
    static const int digits[NREAL] = {[DT_f16] = 11, [DT_bf16] = 8, [DT_f32] = 24, [DT_f64] = 53};
    Wide size = w < 0 ? -w : w;
    int shift = 0;
    while (size >> shift >= (Wide)1 << digits[to]) shift++;
    Wide half = shift ? (Wide)1 << (shift - 1) : 1;
    Wide kept = size >> shift, rest = size - (kept << shift);
    kept += rest > half || (rest == half && shift && (kept & 1));
    return oracle_round(to, ldexp((double)kept, shift)) * (w < 0 ? -1 : 1);
}

static void differ(DType from, DType to, double v, double got, double want) {
    CHECK(!"the cast and plain arithmetic agree");
    if (shown++ < SHOWN)
        fprintf(stderr, "  cast %s to %s(%.17g) = %.17g, expected %.17g\n", dtype_name(from),
                dtype_name(to), v, got, want);
}

static void check_cast(DType from, DType to, const Tensor *x, const Tensor *r, int64_t i) {
    const char *src = x->data + i * dtype_size(from), *got = r->data + i * dtype_size(to);
    bool is_int = !dtype_is_float(from);
    double v = oracle_get(from, src);
    if (dtype_is_float(to)) {
        double want = is_int ? float_from_int(to, oracle_get_int(from, src)) : oracle_round(to, v);
        double g = oracle_get(to, got);
        bool same = isnan(want) ? isnan(g) : g == want && signbit(g) == signbit(want);
        if (!same) differ(from, to, v, g, want);
        return;
    }
    Wide want = is_int ? oracle_wrap(to, oracle_get_int(from, src)) : int_from_float(to, v);
    Wide g = oracle_get_int(to, got);
    if (g != want) differ(from, to, v, (double)g, (double)want);
}

/* ---- what is cast */

static int put_floats(double *v) {
    static const double plain[] = {0.0,   0.5,  1,     1.5,    2.5, 1e-30,
                                   1e-40, 1e30, 1e300, 1e-300, NAN, INFINITY};
    /* Just above, on and below the middle of two neighbours in f16 and bf16; as f32 all are the
     * middle. 65520 and 0x1.ffp127 are where infinity begins. */
    static const double middles[] = {1 + 0x1p-11, 1 + 0x3p-11, 0x1p-25,  0x3p-25,  65520,
                                     1 + 0x1p-8,  1 + 0x3p-8,  0x1p-134, 0x3p-134, 0x1.ffp127};
    int n = 0;
    for (size_t i = 0; i < COUNT_OF(plain); i++) v[n++] = plain[i], v[n++] = -plain[i];
    for (size_t i = 0; i < COUNT_OF(middles); i++)
        for (int k = -1; k <= 1; k++) {
            v[n++] = middles[i] * (1 + k * 0x1p-40);
            v[n] = -v[n - 1];
            n++;
        }
    for (DType d = 0; d < NREAL; d++) {
        if (dtype_is_float(d) || d == DT_bool) continue;
        double ends[] = {(double)lowest_of(d), (double)top_of(d)};
        for (int e = 0; e < 2; e++) {
            for (int k = -4; k <= 4; k++) v[n++] = ends[e] + k * 0.5;
            v[n++] = nextafter(ends[e], -INFINITY), v[n++] = nextafter(ends[e], INFINITY);
            v[n++] = nextafterf((float)ends[e], -INFINITY);
        }
    }
    return n;
}

static Tensor *make_input(DType d) {
    double v[MOST_SPECIAL];
    int n = 0, size = dtype_info[d].nbytes;
    if (dtype_is_float(d)) n = put_floats(v);
    int powers = dtype_is_float(d) || d == DT_bool ? 0 : 8 * size;
    Tensor *x = flat(d, n + 4 * powers + RANDOM);
    char *at = x->data;
    for (int i = 0; i < n; i++, at += size) oracle_put(d, at, v[i]);
    for (int i = 0; i < powers; i++)
        for (int k = -2; k < 2; k++, at += size) {
            Wide p = (Wide)1 << i;
            oracle_put_int(d, at, k == -2 ? p / 2 * 3 : k == -1 ? -p : p + p / 256 + k);
        }
    uint64_t state = 3;
    for (int i = 0; i < RANDOM; i++, at += size) {
        uint64_t bits = (uint64_t)case_uniform(&state, 0, 0x1p32) << 32 |
                        (uint64_t)case_uniform(&state, 0, 0x1p32);
        if (d == DT_bool) bits &= 1;
        if (i % 2 && dtype_is_float(d))
            oracle_put(d, at, case_uniform(&state, -70000, 70000));
        else
            memcpy(at, &bits, (size_t)size);
    }
    return x;
}

static void test_casts(void) {
    shown = 0;
    for (DType from = 0; from < NREAL; from++)
        for (DType to = 0; to < NREAL; to++) {
            Tensor *x = make_input(from), *r;
            if (CHECK_OK(dispatch1(OP_cast, &(attrs_cast){.dtype = to}, x, &r))) {
                for (int64_t i = 0; i < tensor_count(x); i++) check_cast(from, to, x, r, i);
                tensor_unref(r);
            }
            tensor_unref(x);
        }
}

/* Every bit pattern of the half-width floats, there and back. */
static void test_half_patterns(void) {
    static const DType halves[] = {DT_f16, DT_bf16};
    shown = 0;
    for (int h = 0; h < 2; h++) {
        Tensor *x = flat(halves[h], 65536), *wide, *back;
        for (int i = 0; i < 65536; i++) memcpy(x->data + 2 * i, &(uint16_t){(uint16_t)i}, 2);
        CHECK_OK(dispatch1(OP_cast, &(attrs_cast){.dtype = DT_f32}, x, &wide));
        CHECK_OK(dispatch1(OP_cast, &(attrs_cast){.dtype = halves[h]}, wide, &back));
        for (int i = 0; i < 65536; i++) {
            check_cast(halves[h], DT_f32, x, wide, i);
            check_cast(DT_f32, halves[h], wide, back, i);
        }
        tensor_unref(x), tensor_unref(wide), tensor_unref(back);
    }
}

int main(void) {
    RUN(test_casts);
    RUN(test_half_patterns);
    return test_done("casts");
}
