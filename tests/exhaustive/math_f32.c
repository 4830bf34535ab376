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

/* The reference in double for f32. erfinv: one Newton step from our own result, which makes any
 * right result better and any wrong one stand out. */
static double reference(const MathRef *r, float got, float x, float y) {
    if (strcmp(r->name, "erfinv") != 0 || !(fabsf(x) < 1) || !isfinite(got)) return r->f64(x, y);
    double g = got, a = fabs(x);
    double miss = a < 0.5 ? erf(g) - x : copysign((1 - a) - erfc(fabs(g)), x);
    return g - miss * 0.8862269254527580 * exp(g * g);
}

static double error_f32(const MathRef *r, float got, float x, float y) {
    double want = reference(r, got, x, y);
    bool plain = fabs(want) >= 0x1p-126 && fabs(want) <= 0x1.fffffep127 && isfinite(got);
    int least = math_least(r, x, FLT_MIN_EXP, false);
    if (!plain || least != FLT_MIN_EXP) return math_ulp(got, want, 24, least, FLT_MAX);
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
    for (int i = 0; i < BLOCK; i++) {
        uint32_t bits = (uint32_t)((first + (uint64_t)i) * job->step);
        memcpy(&x[i], &bits, sizeof bits);
        y[i] = (float)sample_second(first + (uint64_t)i, x[i], 88.73);
    }
    for (int c = 0; c < CLASSES; c++) {
        if (!job->loop[c]) continue;
        job->loop[c]->f32(BLOCK, got, x, y);
        for (int i = 0; i < BLOCK; i++)
            note(&worst[c], error_f32(job->ref, got[i], x[i], y[i]), x[i], y[i]);
    }
}

static void block_f64(const Job *job, uint64_t first, Worst *worst) {
    static _Thread_local double x[BLOCK], y[BLOCK], got[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        x[i] = sample(first + (uint64_t)i);
        y[i] = sample_second(first + (uint64_t)i, x[i], 709.8);
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

static const char head[] =
    "# Accuracy of the transcendental functions\n\n"
    "Largest error in units of the last place (ULP) of `src/ops/math.def`; correct rounding gives\n"
    "0.5. Written by `make exhaustive` (`tests/exhaustive/math_f32.c`). The f32 columns of "
    "functions\n"
    "of one argument cover all 2^32 arguments, against double libm; f64, and pow and atan2, cover\n"
    "samples, against long double libm. \"fused\" is the class of instruction sets with fused\n"
    "multiply-add (AVX2, AVX-512, ARM64; the same bits in all), \"plain\" the one without.\n\n"
    "Denormal numbers, infinities, NaN and signed zeros are as in libm. lgamma and digamma cross\n"
    "zero between the poles of negative x; there the ULP is that of the terms that cancel.\n\n"
    "| function | bound | f32 fused | at | f32 plain | f64 fused | at | f64 plain |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |\n";

static bool row(FILE *out, const Job *job, bool binary) {
    char at32[96], at64[96];
    const Worst *a = &job->f32[0], *b = &job->f64[0];
    snprintf(at32, sizeof at32, binary ? "%.9g, %.9g" : "%.9g", a->x, a->y);
    snprintf(at64, sizeof at64, binary ? "%.17g, %.17g" : "%.17g", b->x, b->y);
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
    fputs(head, out);
    const MathLoop *base = math_loops("base");
    for (int i = 0; base[i].name; i++) {
        if (base[i].arity > 2 || !wanted(base[i].name, argv + at)) continue;
        Job job = {.ref = math_ref(base[i].name), .step = step, .samples = 10000000 / step + 1};
        for (int c = 0; c < CLASSES; c++)
            job.loop[c] = math_loops(isa_of[c]) ? &math_loops(isa_of[c])[i] : NULL;
        if (base[i].arity == 2 && step < 100) job.step = 101; /* pairs are samples in any case */
        pthread_mutex_init(&job.lock, NULL);
        run(&job, threads);
        bool good = row(out, &job, base[i].arity == 2);
        *(good ? &passed : &failed) += 1;
        if (out != stdout) row(stdout, &job, base[i].arity == 2);
        fflush(stdout);
        fflush(out);
    }
    if (out != stdout) fclose(out);
    printf("exhaustive: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
