/* parallel_for over libgomp's own entry point, one region at a time in the whole process.
 *
 * A `#pragma omp parallel` is this very call when gcc compiles it, while clang would bring its own
 * thread pool (libomp) beside the one oneDNN uses, or drop the pragma in silence. So the call is
 * written out, and there is one pool whichever compiler is used. */
#include "base/parallel.h"

#include <stdatomic.h>

/* libgomp's stable interface; its header belongs to gcc and clang does not find it. */
void GOMP_parallel(void (*work)(void *), void *ctx, unsigned nthreads, unsigned flags);
int omp_get_max_threads(void);
int omp_get_num_procs(void);
int omp_get_num_threads(void);
int omp_get_thread_num(void);
void omp_set_num_threads(int n);

/* libgomp is not instrumented, so the thread sanitizer is told where work changes hands. */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *address);
void __tsan_release(void *address);
static void hand_over(void *address) { __tsan_release(address); }
static void take_over(void *address) { __tsan_acquire(address); }
#else
static void hand_over(void *address) { (void)address; }
static void take_over(void *address) { (void)address; }
#endif

static atomic_int nthreads; /* 0: not asked yet */
static atomic_flag busy = ATOMIC_FLAG_INIT;

int parallel_threads(void) {
    int n = atomic_load_explicit(&nthreads, memory_order_relaxed);
    if (DIP_LIKELY(n > 0)) return n;
    n = omp_get_max_threads();
    atomic_store_explicit(&nthreads, n, memory_order_relaxed);
    return n;
}

void parallel_set_threads(int n) {
    if (n <= 0) n = omp_get_num_procs();
    atomic_store_explicit(&nthreads, n, memory_order_relaxed);
    omp_set_num_threads(n);
}

bool parallel_enter(void) {
    return !atomic_flag_test_and_set_explicit(&busy, memory_order_acquire);
}
void parallel_leave(void) { atomic_flag_clear_explicit(&busy, memory_order_release); }

typedef struct Region {
    int64_t n, nparts;
    ParallelBody body;
    void *ctx;
} Region;

/* What each thread of the team does: its share of the parts. */
static void run_member(void *region) {
    const Region *r = region;
    take_over(region);
    int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
    for (int64_t part = me; part < r->nparts; part += team) {
        int64_t begin = r->n / r->nparts * part + min_i64(part, r->n % r->nparts);
        int64_t end = begin + r->n / r->nparts + (part < r->n % r->nparts);
        r->body(r->ctx, begin, end);
    }
    hand_over(region);
}

void parallel_for(int64_t n, int64_t grain, ParallelBody body, void *ctx) {
    int64_t threads = parallel_threads();
    if (n <= 0) return;
    if (threads == 1 || n <= grain || !parallel_enter()) {
        body(ctx, 0, n);
        return;
    }
    Region region = {n, min_i64(threads, (n + grain - 1) / grain), body, ctx};
    hand_over(&region);
    GOMP_parallel(run_member, &region, (unsigned)threads, 0);
    take_over(&region);
    parallel_leave();
}
