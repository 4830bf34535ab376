/* math.def against libm: f32 against double, f64 against long double, in ULP, for every instruction
 * set of this machine; special values; equal bits for AVX2 and AVX-512; the "near" variants.
 * All f32 inputs: tests/exhaustive/math_f32.c. */
#include "math_ref.h"
#include "test.h"

#include <stdint.h>

enum { N = 2048, ISAS = 3 };
static const char *const isa_name[ISAS] = {"base", "avx2", "avx512"};

static uint64_t seed = 88172645463325252u;

static uint64_t draw(void) { /* xorshift64* */
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return seed * 0x2545F4914F6CDD1Du;
}

static double uniform(double lo, double hi) {
    return lo + (hi - lo) * ((double)(draw() >> 11) * 0x1p-53);
}

static double from_bits(uint64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static const double special[] = {0.0,
                                 -0.0,
                                 INFINITY,
                                 -INFINITY,
                                 NAN,
                                 1,
                                 -1,
                                 0.5,
                                 -0.5,
                                 2,
                                 -2,
                                 3,
                                 -3,
                                 4,
                                 1.5,
                                 -1.5,
                                 -2.5,
                                 10,
                                 -10,
                                 100,
                                 1000,
                                 0x1p-149,
                                 FLT_MIN,
                                 -FLT_MIN,
                                 FLT_MAX,
                                 -FLT_MAX,
                                 DBL_MIN,
                                 DBL_MAX,
                                 -DBL_MAX,
                                 0x1p-1074,
                                 -0x1p-1074,
                                 0x1.fffffep-1,
                                 0x1.fffffffffffffp-1,
                                 0x1.000002p0,
                                 0x1.0000000000001p0,
                                 0x1p24,
                                 0x1p53,
                                 0x1.fffffep23,
                                 88.75,
                                 -103.98,
                                 709.79,
                                 -745.14};
enum { SPECIALS = sizeof special / sizeof *special };

/* Every kind of argument: any bits, wide ranges, near 0, near 1, where pow is near overflow. */
static void draw_block(int block, int arity, double *x, double *y) {
    for (int i = 0; i < N; i++) {
        double range = (double[]){2, 30, 120, 800}[block & 3];
        switch (i & 3) {
        case 0: x[i] = from_bits(draw()); break;
        case 1: x[i] = uniform(-range, range); break;
        case 2: x[i] = ldexp(uniform(-1, 1), (int)(draw() % 160) - 120); break;
        default: x[i] = 1 + ldexp(uniform(-1, 1), -(int)(draw() % 30));
        }
        y[i] = i & 4 ? uniform(-40, 40) : i & 8 ? from_bits(draw()) : x[i] * uniform(-4, 4);
        if (arity == 2 && (i & 48) == 0) y[i] = uniform(-1.06, 1.06) * 88 / log(fabs(x[i]));
        if (arity == 2 && (i & 48) == 16) y[i] = uniform(-1.06, 1.06) * 709 / log(fabs(x[i]));
    }
    if (block > 1) return;
    for (int i = 0; i < SPECIALS * (arity == 2 ? SPECIALS : 1); i++) {
        x[i] = special[i % SPECIALS];
        y[i] = special[i / SPECIALS];
    }
}

static bool same(double a, double b) {
    return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

/* Loop number `at` of each table on one block; the worst error goes to worst[0] (f32), [1] (f64).
 */
static void run_block(int at, const MathRef *r, const double *x, const double *y, double *worst) {
    static float x32[N], y32[N], got32[ISAS][N];
    static double got64[ISAS][N];
    static bool ran[ISAS];
    int differ = 0;
    for (int i = 0; i < N; i++) x32[i] = (float)x[i], y32[i] = (float)y[i];
    for (int s = 0; s < ISAS; s++) {
        const MathLoop *t = math_loops(isa_name[s]);
        ran[s] = t != NULL;
        if (!t) continue;
        t[at].f32(N, got32[s], x32, y32);
        t[at].f64(N, got64[s], x, y);
    }
    for (int i = 0; i < N; i++) {
        for (int s = 0; s < ISAS; s++) {
            if (!ran[s] || (s == 2 && ran[1])) continue;
            double e32 = math_err32(r, got32[s][i], x32[i], y32[i]);
            double e64 = math_err64(r, got64[s][i], x[i], y[i]);
            if (e32 > worst[0]) worst[0] = e32;
            if (e64 > worst[1]) worst[1] = e64;
            if (e32 > r->bound)
                printf("%s %s f32 %a %a: %g ULP\n", isa_name[s], r->name, x32[i], y32[i], e32);
            if (e64 > r->bound)
                printf("%s %s f64 %a %a: %g ULP\n", isa_name[s], r->name, x[i], y[i], e64);
        }
        if (ran[1] && ran[2])
            differ += !same(got32[1][i], got32[2][i]) + !same(got64[1][i], got64[2][i]);
    }
    CHECK(differ == 0); /* AVX2 and AVX-512 */
}

static void test_accuracy(void) {
    static double x[N], y[N];
    const MathLoop *t = math_loops("base");
    for (int at = 0; t[at].name; at++) {
        if (t[at].arity > 2) continue;
        const MathRef *r = math_ref(t[at].name);
        double worst[2] = {0, 0};
        for (int block = 0; block < 24; block++) {
            draw_block(block, t[at].arity, x, y);
            run_block(at, r, x, y, worst);
        }
        if (!CHECK(worst[0] <= r->bound) || !CHECK(worst[1] <= r->bound))
            printf("%s: f32 %g, f64 %g ULP, allowed %g\n", r->name, worst[0], worst[1], r->bound);
    }
}

/* sin_near and the like: the same bits as sin where they are defined. */
static void test_near(void) {
    static float x32[N], near32[N], full32[N];
    static double x64[N], near64[N], full64[N];
    for (int s = 0; s < ISAS; s++) {
        const MathLoop *t = math_loops(isa_name[s]);
        for (const MathLoop *near = t; near && near->name; near++) {
            if (near->arity != 3) continue;
            const MathLoop *full = t;
            while (strlen(full->name) != 3 || strncmp(full->name, near->name, 3) != 0) full++;
            for (int i = 0; i < N; i++) {
                x64[i] = i < N / 2 ? uniform(-49151, 49151) : ldexp(uniform(-1, 1), -(i % 64));
                x32[i] = (float)(x64[i] / 32);
            }
            near->f32(N, near32, x32, x32);
            full->f32(N, full32, x32, x32);
            near->f64(N, near64, x64, x64);
            full->f64(N, full64, x64, x64);
            int differ = 0;
            for (int i = 0; i < N; i++)
                differ += !same(near32[i], full32[i]) + !same(near64[i], full64[i]);
            CHECK(differ == 0);
        }
    }
}

/* Exact results that users expect: whole powers and logarithms, fixed points. */
static void test_exact(void) {
    const struct {
        const char *name;
        double x, y, want;
    } row[] = {{"exp", 0, 0, 1},       {"exp2", 10, 0, 1024},   {"exp2", -3, 0, 0.125},
               {"log", 1, 0, 0},       {"log2", 8, 0, 3},       {"log2", 0x1p-20, 0, -20},
               {"log10", 1000, 0, 3},  {"log10", 100000, 0, 5}, {"cbrt", 27, 0, 3},
               {"cbrt", -8, 0, -2},    {"pow", 2, 10, 1024},    {"pow", 3, 4, 81},
               {"pow", -2, 3, -8},     {"pow", 10, 5, 100000},  {"pow", 4, 0.5, 2},
               {"pow", 7, 1, 7},       {"tanh", 40, 0, 1},      {"erf", 7, 0, 1},
               {"sigmoid", 0, 0, 0.5}, {"cosh", 0, 0, 1},       {"lgamma", 1, 0, 0},
               {"lgamma", 2, 0, 0},    {"acos", 1, 0, 0},       {"acosh", 1, 0, 0}};
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        for (int s = 0; s < ISAS; s++) {
            const MathLoop *t = math_loops(isa_name[s]);
            if (!t) continue;
            while (strcmp(t->name, row[k].name) != 0) t++;
            float x32 = (float)row[k].x, y32 = (float)row[k].y, got32;
            double got64;
            t->f32(1, &got32, &x32, &y32);
            t->f64(1, &got64, &row[k].x, &row[k].y);
            if (!CHECK(got32 == row[k].want && got64 == row[k].want))
                printf("%s %s(%g): %.9g %.17g\n", isa_name[s], t->name, row[k].x, got32, got64);
        }
    }
}

int main(void) {
    RUN(test_accuracy);
    RUN(test_near);
    RUN(test_exact);
    return test_done("math");
}
