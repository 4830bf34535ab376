/* The memory pool: alignment, reuse, counting, the limit, threads, and blocks that stay apart. */
#include <pthread.h>

#include "base/error.h"
#include "tensor/pool.h"
#include "tensor/tensor.h"
#include "test.h"

static const size_t sizes[] = {
    0, 1, 63, 64, 65, 4095, 4096, 4097, 100000, (2 << 20) - 1, 2 << 20, (9 << 20) + 5};
enum { NSIZES = sizeof sizes / sizeof *sizes };

static void test_blocks_are_aligned_and_apart(void) {
    char *blocks[NSIZES][3];
    for (int i = 0; i < NSIZES; i++)
        for (int k = 0; k < 3; k++) {
            void *p;
            if (!CHECK_OK(pool_get(sizes[i], "test", &p))) return;
            CHECK((uintptr_t)p % 64 == 0);
            blocks[i][k] = p;
            memset(p, i * 3 + k, sizes[i]);
        }
    for (int i = 0; i < NSIZES; i++)
        for (int k = 0; k < 3; k++) {
            bool same = true;
            for (size_t b = 0; b < sizes[i]; b++) same &= blocks[i][k][b] == (char)(i * 3 + k);
            CHECK(same);
            pool_put(blocks[i][k], sizes[i]);
        }
}

static void test_counts_return_to_zero(void) {
    int64_t before = pool_stats().allocated;
    pool_reset_peak();
    void *p, *q;
    CHECK_OK(pool_get(1000, "test", &p));
    CHECK_OK(pool_get(3 << 20, "test", &q));
    PoolStats s = pool_stats();
    CHECK(s.allocated - before == 1024 + (3 << 20));
    CHECK(s.reserved >= s.allocated);
    CHECK(s.peak >= s.allocated);
    pool_put(q, 3 << 20);
    pool_put(p, 1000);
    CHECK(pool_stats().allocated == before);
    CHECK(pool_stats().peak >= before + (3 << 20));
    pool_reset_peak();
    CHECK(pool_stats().peak == before);
}

static void test_many_small_blocks_reach_the_peak(void) {
    enum { N = 1000 };
    static void *blocks[N];
    int64_t before = pool_stats().allocated;
    pool_reset_peak();
    for (int i = 0; i < N; i++) CHECK_OK(pool_get(4096, "test", &blocks[i]));
    CHECK(pool_stats().allocated - before == N * 4096);
    for (int i = 0; i < N; i++) pool_put(blocks[i], 4096);
    CHECK(pool_stats().allocated == before);
    CHECK(pool_stats().peak - before >= N * 4096 - (1 << 17));
}

#if !defined(__SANITIZE_ADDRESS__)
static void test_pages_are_kept_and_trimmed(void) {
    void *p;
    pool_trim();
    int64_t before = pool_stats().reserved;
    CHECK_OK(pool_get(5 << 20, "test", &p));
    pool_put(p, 5 << 20);
    int64_t with = pool_stats().reserved;
    CHECK(with >= before + (5 << 20));
    void *again;
    CHECK_OK(pool_get((5 << 20) - 7, "test", &again));
    CHECK(again == p);
    CHECK(pool_stats().reserved == with);
    pool_put(again, (5 << 20) - 7);
    pool_trim();
    CHECK(pool_stats().reserved == before);
}
#endif

static void test_limit(void) {
    void *p, *q;
    pool_set_limit(pool_stats().allocated + (1 << 20));
    CHECK_FAILS(pool_get(2 << 20, "relu", &p), NOMEM, "relu: out of memory: 2097152 bytes asked");
    CHECK(strstr(error_message(), "limit"));
    CHECK_OK(pool_get(1 << 19, "test", &p));
    CHECK_FAILS(pool_get((1 << 19) + 64, "test", &q), NOMEM, "held in tensors");
    pool_put(p, 1 << 19);
    pool_set_limit(0);
    CHECK_OK(pool_get(2 << 20, "test", &p));
    pool_put(p, 2 << 20);
}

static void test_absurd_size(void) {
    void *p;
    CHECK_FAILS(pool_get((size_t)1 << 61, "test", &p), NOMEM, "2305843009213693952 bytes");
    CHECK_FAILS(pool_get(SIZE_MAX, "test", &p), NOMEM, "out of memory");
}

/* ---- threads */

enum { ROUNDS = 20000, SLOTS = 64 };

/* Each thread takes and gives blocks of many sizes, writing its mark into each. */
static void *churn(void *mark) {
    void *blocks[SLOTS] = {0};
    size_t held[SLOTS] = {0};
    uint64_t state = (uintptr_t)mark * 77 + 1;
    long bad = 0;
    for (int i = 0; i < ROUNDS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int slot = (int)(state >> 33) % SLOTS;
        if (blocks[slot]) {
            unsigned char *b = blocks[slot];
            bad += b[0] != (uintptr_t)mark || b[held[slot] - 1] != (uintptr_t)mark;
            pool_put(b, held[slot]);
            blocks[slot] = NULL;
        } else {
            held[slot] = 1 + (state >> 40) % (state >> 63 ? 10000 : 500);
            if (pool_get(held[slot], "test", &blocks[slot]) != OK) return (void *)1;
            memset(blocks[slot], (int)(uintptr_t)mark, held[slot]);
        }
    }
    for (int i = 0; i < SLOTS; i++)
        if (blocks[i]) pool_put(blocks[i], held[i]);
    return (void *)bad;
}

static void test_threads(void) {
    int64_t before = pool_stats().allocated;
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, churn, (void *)(i + 1));
    for (int i = 0; i < 4; i++) {
        void *bad = NULL;
        pthread_join(threads[i], &bad);
        CHECK(bad == NULL);
    }
    CHECK(pool_stats().allocated == before);
}

static void *give(void *block) {
    pool_put(block, 200);
    return NULL;
}

/* Blocks that another thread frees and leaves behind serve again. */
static void test_freed_by_another_thread(void) {
    int64_t before = pool_stats().allocated, reserved = 0;
    for (int i = 0; i < 3000; i++) {
        void *p;
        CHECK_OK(pool_get(200, "test", &p));
        pthread_t t;
        pthread_create(&t, NULL, give, p);
        pthread_join(t, NULL);
        if (i == 1000) reserved = pool_stats().reserved;
    }
    CHECK(pool_stats().allocated == before);
    CHECK(pool_stats().reserved <= reserved + (1 << 19));
}

int main(void) {
    RUN(test_blocks_are_aligned_and_apart);
    RUN(test_counts_return_to_zero);
    RUN(test_many_small_blocks_reach_the_peak);
#if !defined(__SANITIZE_ADDRESS__)
    RUN(test_pages_are_kept_and_trimmed);
#endif
    RUN(test_limit);
    RUN(test_absurd_size);
    RUN(test_threads);
    RUN(test_freed_by_another_thread);
    return test_done("pool");
}
