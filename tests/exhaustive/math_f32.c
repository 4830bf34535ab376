/* The accuracy table of math.def: every f32 argument of every function of one argument against
 * double libm, and samples of f64 and of the functions of two arguments against long double.
 *
 *     math_f32 [-t threads] [-s step] [-o docs/accuracy.md] [function ...]
 *
 * A step of 1 takes all 2^32 arguments (tens of minutes on two cores). Exit status 1 if an error
 * exceeds its bound in math_loops.h. */
#include "math_ref.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 4096, CLASSES = 2, MOST_THREADS = 64 };
/* AVX2 and AVX-512 give the same bits (test_math.c), so one of them stands for both. */
static const char *const isa_of[CLASSES] = {"avx2", "base"};

typedef struct Worst {
    double error, x, y;
} Worst;

typedef struct Job {
    const MathRef *ref;
    const MathLoop *loop[CLASSES];
    bool binary, erfinv, crosses; /* two arguments; how the reference and the ULP are taken */
    uint64_t step, samples;
    atomic_uint_fast64_t next;
    pthread_mutex_t lock;
    Worst f32[CLASSES], f64[CLASSES];
} Job;

static uint64_t hash(uint64_t i) { /* splitmix64 */
    i += 0x9E3779B97F4A7C15u;
    i = (i ^ (i >> 30)) * 0xBF58476D1CE4E5B9u;
    i = (i ^ (i >> 27)) * 0x94D049BB133111EBu;
    return i ^ (i >> 31);
}

static double uniform(uint64_t i, double lo, double hi) {
    return lo + (hi - lo) * ((double)(hash(i) >> 11) * 0x1p-53);
}

/* Argument number i: any bits, three ranges, near 0, near 1. */
static double sample(uint64_t i) {
    uint64_t bits = hash(3 * i);
    double any;
    memcpy(&any, &bits, sizeof any);
    switch (i % 6) {
    case 0: return any;
    case 1: return uniform(3 * i, -2, 2);
    case 2: return uniform(3 * i, -30, 30);
    case 3: return uniform(3 * i, -760, 760);
    case 4: return ldexp(uniform(3 * i, -1, 1), (int)(hash(3 * i + 1) % 160) - 120);
    default: return 1 + ldexp(uniform(3 * i, -1, 1), -(int)(hash(3 * i + 1) % 30));
    }
}

/* For pow half of the pairs have a result over the whole range of the type. */
static double sample_second(uint64_t i, double x, double log_largest) {
    return i % 2 ? uniform(3 * i + 2, -1.06, 1.06) * log_largest / log(fabs(x)) : sample(i + 77);
}

/* One Newton step from our own result: makes any right result better, and any wrong one stands out.
 */
static double reference_erfinv(float got, float x) {
    double g = got, a = fabs(x);
    if (!(a < 1) || !isfinite(got)) return erfinv(x);
    double miss = a < 0.5 ? erf(g) - x : copysign((1 - a) - erfc(fabs(g)), x);
    return g - miss * 0.8862269254527580 * exp(g * g);
}

/* math_ulp, faster for results within the normal range and for 0 and infinity where right. */
static double error_f32(const Job *job, float got, double want, float x) {
    bool plain = fabs(want) >= 0x1p-126 && fabs(want) <= 0x1.fffffep127 && isfinite(got);
    if (!plain && got == (float)want && !signbit(got) == !signbit(want)) return 0;
    if (!plain || (job->crosses && x < 0))
        return math_ulp(got, want, 24, math_least(job->ref, x, FLT_MIN_EXP, false), FLT_MAX);
    uint64_t bits;
    memcpy(&bits, &want, sizeof bits);
    bits = (uint64_t)(2046 + 23 - ((bits >> 52) & 2047)) << 52; /* 2^23 / 2^exponent */
    double inverse_ulp;
    memcpy(&inverse_ulp, &bits, sizeof inverse_ulp);
    return fabs(got - want) * inverse_ulp;
}

static void note(Worst *w, double error, double x, double y) {
    if (error > w->error) *w = (Worst){error, x, y};
}

static void block_f32(const Job *job, uint64_t first, Worst *worst) {
    static _Thread_local float x[BLOCK], y[BLOCK], got[BLOCK];
    static _Thread_local double want[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        uint32_t bits = (uint32_t)((first + (uint64_t)i) * job->step);
        memcpy(&x[i], &bits, sizeof bits);
        if (job->binary) y[i] = (float)sample_second(first + (uint64_t)i, x[i], 88.73);
    }
    for (int i = 0; !job->erfinv && i < BLOCK; i++) want[i] = job->ref->f64(x[i], y[i]);
    for (int c = 0; c < CLASSES; c++) {
        if (!job->loop[c]) continue;
        job->loop[c]->f32(BLOCK, got, x, y);
        for (int i = 0; job->erfinv && i < BLOCK; i++) want[i] = reference_erfinv(got[i], x[i]);
        for (int i = 0; i < BLOCK; i++)
            note(&worst[c], error_f32(job, got[i], want[i], x[i]), x[i], y[i]);
    }
}

static void block_f64(const Job *job, uint64_t first, Worst *worst) {
    static _Thread_local double x[BLOCK], y[BLOCK], got[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        x[i] = sample(first + (uint64_t)i);
        if (job->binary) y[i] = sample_second(first + (uint64_t)i, x[i], 709.8);
    }
    for (int c = 0; c < CLASSES; c++) {
        if (!job->loop[c]) continue;
        job->loop[c]->f64(BLOCK, got, x, y);
        for (int i = 0; i < BLOCK; i++)
            note(&worst[c], math_err64(job->ref, got[i], x[i], y[i]), x[i], y[i]);
    }
}

static void *work(void *arg) {
    Job *job = arg;
    Worst f32[CLASSES] = {{0}}, f64[CLASSES] = {{0}};
    uint64_t count = ((uint64_t)1 << 32) / job->step;
    for (;;) {
        uint64_t first = atomic_fetch_add(&job->next, BLOCK);
        if (first >= count && first >= job->samples) break;
        if (first < count) block_f32(job, first, f32);
        if (first < job->samples) block_f64(job, first, f64);
    }
    pthread_mutex_lock(&job->lock);
    for (int c = 0; c < CLASSES; c++) {
        note(&job->f32[c], f32[c].error, f32[c].x, f32[c].y);
        note(&job->f64[c], f64[c].error, f64[c].x, f64[c].y);
    }
    pthread_mutex_unlock(&job->lock);
    return NULL;
}

static void run(Job *job, int threads) {
    pthread_t thread[MOST_THREADS];
    for (int i = 1; i < threads; i++) pthread_create(&thread[i], NULL, work, job);
    work(job);
    for (int i = 1; i < threads; i++) pthread_join(thread[i], NULL);
}

static void head(FILE *out, uint64_t step) {
    fputs("# Accuracy of the transcendental functions\n\n"
          "Largest error in units of the last place (ULP) of `src/ops/math.def`; correct rounding\n"
          "gives 0.5. Written by `make exhaustive` (`tests/exhaustive/math_f32.c`).\n\n",
          out);
    if (step == 1)
        fputs("- f32, functions of one argument: all 2^32 arguments,", out);
    else
        fprintf(out, "- f32, functions of one argument: every %gth argument,", (double)step);
    fputs(" against double libm.\n"
          "- f64, and pow and atan2: samples, against long double libm.\n"
          "- \"fused\": the instruction sets with fused multiply-add (AVX2, AVX-512, ARM64; the "
          "same\n"
          "  bits in all); \"plain\": those without. The place of the largest error is that of\n"
          "  \"fused\".\n"
          "- Denormal numbers, infinities, NaN and signed zeros are as in libm.\n"
          "- lgamma and digamma cross zero between the poles of negative x; there the ULP is that "
          "of\n"
          "  the terms that cancel.\n\n"
          "| function | bound | f32 fused | at | f32 plain | f64 fused | at | f64 plain |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- |\n",
          out);
}

static bool row(FILE *out, const Job *job) {
    char at32[96], at64[96];
    const Worst *a = &job->f32[0], *b = &job->f64[0];
    snprintf(at32, sizeof at32, job->binary ? "%.9g, %.9g" : "%.9g", a->x, a->y);
    snprintf(at64, sizeof at64, job->binary ? "%.17g, %.17g" : "%.17g", b->x, b->y);
    fprintf(out, "| %s | %g | %.3f | %s | %.3f | %.3f | %s | %.3f |\n", job->ref->name,
            job->ref->bound, a->error, at32, job->f32[1].error, b->error, at64, job->f64[1].error);
    bool good = true;
    for (int c = 0; c < CLASSES; c++)
        good &= job->f32[c].error <= job->ref->bound && job->f64[c].error <= job->ref->bound;
    return good;
}

static bool wanted(const char *name, char **names) {
    if (!*names) return true;
    for (; *names; names++)
        if (strcmp(name, *names) == 0) return true;
    return false;
}

int main(int argc, char **argv) {
    const char *path = NULL;
    int threads = 2, at = 1, failed = 0, passed = 0;
    uint64_t step = 1;
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
        if (argv[at][1] == 't') threads = atoi(argv[at + 1]);
        if (argv[at][1] == 's') step = strtoull(argv[at + 1], NULL, 10);
        if (argv[at][1] == 'o') path = argv[at + 1];
    }
    threads = threads < 1 ? 1 : threads > MOST_THREADS ? MOST_THREADS : threads;
    FILE *out = path ? fopen(path, "w") : stdout;
    if (!out || step == 0) return fprintf(stderr, "cannot write %s\n", path ? path : "-"), 1;
    head(out, step);
    const MathLoop *base = math_loops("base");
    for (int i = 0; base[i].name; i++) {
        if (base[i].arity > 2 || !wanted(base[i].name, argv + at)) continue;
        const char *name = base[i].name;
        Job job = {.ref = math_ref(name), .step = step, .samples = step < 100 ? 1000000 : 20000};
        job.binary = base[i].arity == 2;
        job.erfinv = strcmp(name, "erfinv") == 0;
        job.crosses = strcmp(name, "lgamma") == 0 || strcmp(name, "digamma") == 0;
        for (int c = 0; c < CLASSES; c++)
            job.loop[c] = math_loops(isa_of[c]) ? &math_loops(isa_of[c])[i] : NULL;
        if (job.binary && step < 100) job.step = 101; /* pairs are samples in any case */
        pthread_mutex_init(&job.lock, NULL);
        run(&job, threads);
        bool good = row(out, &job);
        *(good ? &passed : &failed) += 1;
        if (out != stdout) row(stdout, &job);
        fflush(stdout);
        fflush(out);
    }
    if (out != stdout) fclose(out);
    printf("exhaustive: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
