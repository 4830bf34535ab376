/* Which instruction set runs here, and its loop tables. */
#include <stdlib.h>
#include <string.h>

#include "kernels/loops.h"

static const char *const names[NISAS] = {"base", "avx2", "avx512"};

static int detect(void) {
    int best = ISA_BASE;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) best = ISA_AVX2;
    if (best == ISA_AVX2 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
        best = ISA_AVX512;
#endif
    const char *wanted = getenv("DIPTYCH_ISA");
    for (int i = 0; wanted && i <= best; i++)
        if (!strcmp(wanted, names[i])) return i;
    return best;
}

static int level = -1;
__attribute__((constructor)) static void choose(void) { level = detect(); }

int isa_level(void) { return level; }
const char *loops_isa(void) { return names[level]; }

#define DECLARE(isa)                                                                               \
    extern const CtLoops loops_##isa##_f32, loops_##isa##_f64, loops_##isa##_i32,                  \
        loops_##isa##_i64, loops_##isa##_u64, loops_##isa##_b8;
#define TABLE(isa)                                                                                 \
    {                                                                                              \
        [DT_f32] = &loops_##isa##_f32, [DT_f64] = &loops_##isa##_f64,                              \
        [DT_i32] = &loops_##isa##_i32, [DT_i64] = &loops_##isa##_i64,                              \
        [DT_u64] = &loops_##isa##_u64, [DT_bool] = &loops_##isa##_b8                               \
    }

DECLARE(base)
#if defined(__x86_64__)
DECLARE(avx2)
DECLARE(avx512)
#endif
static const CtLoops *const tables[NISAS][NDTYPES] = {
    TABLE(base),
#if defined(__x86_64__)
    TABLE(avx2),
    TABLE(avx512),
#endif
};

const CtLoops *loops(DType compute) { return tables[level][compute]; }

EwLoop *loops_power(DType compute, const void *y, bool slope) {
#define POWER(k, exponent, power) exponent,
    static const double exponents[NPOWERS] = {POWERS(POWER)};
#undef POWER
    if (compute != DT_f32 && compute != DT_f64) return NULL;
    float single;
    double exponent;
    memcpy(compute == DT_f32 ? (void *)&single : &exponent, y, (size_t)dtype_size(compute));
    if (compute == DT_f32) exponent = single;
    const CtLoops *l = loops(compute);
    for (int k = 0; k < NPOWERS; k++)
        if (exponent - slope == exponents[k]) return slope ? l->power_slope[k] : l->power[k];
    return NULL;
}
