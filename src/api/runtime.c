/* The public face of what belongs to the process: version, random state, memory, threads. */
#include "api/api.h"
#include "base/parallel.h"
#include "kernels/loops.h"
#include "tensor/pool.h"
#include "tensor/random.h"

#define TEXT2(x) #x
#define TEXT1(x) TEXT2(x)
#define VERSION  TEXT1(DIP_VERSION_MAJOR) "." TEXT1(DIP_VERSION_MINOR) "." TEXT1(DIP_VERSION_PATCH)
#ifdef DIP_DNN_VERSION
#define PARTS " oneDNN " DIP_DNN_VERSION
#else
#define PARTS ""
#endif

const char *dip_version(void) {
    static const char *const texts[NISAS] = {[ISA_BASE] = VERSION PARTS " base",
                                             [ISA_AVX2] = VERSION PARTS " avx2",
                                             [ISA_AVX512] = VERSION PARTS " avx512"};
    return texts[isa_level()];
}

/* ---- random numbers */

void dip_seed(uint64_t seed) { random_seed(seed); }

dip_RandomState dip_random_state(void) {
    RandomState s = random_state();
    return (dip_RandomState){s.key, s.counter};
}

void dip_random_restore(dip_RandomState s) { random_restore((RandomState){s.key, s.counter}); }

/* ---- memory */

dip_Memory dip_memory(void) {
    PoolStats s = pool_stats();
    return (dip_Memory){s.allocated, s.reserved, s.peak, s.limit};
}

void dip_memory_reset_peak(void) { pool_reset_peak(); }
void dip_memory_trim(void) { pool_trim(); }

dip_Status dip_memory_limit(int64_t nbytes) {
    if (nbytes < 0)
        return FAIL(VALUE, "memory_limit: %lld bytes; it must be at least 0 (0: no limit)",
                    (long long)nbytes);
    pool_set_limit(nbytes);
    return OK;
}

/* ---- threads */

dip_Status dip_set_threads(int n) {
    if (n < 0 || n > 1024)
        return FAIL(VALUE, "set_threads: %d; it must be 1 to 1024, or 0 for the default", n);
    parallel_set_threads(n);
    return OK;
}

int dip_threads(void) { return parallel_threads(); }
