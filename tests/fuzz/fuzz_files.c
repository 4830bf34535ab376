/* Damaged files and texts: safetensors and IDX files, attributes and settings with bytes changed at
 * random. A reader ends in tensors whose every byte can be read, or in an error with a message.
 *
 *     fuzz_files [-s seed] [-t seconds] [-n rounds] [-r round]
 *
 * -r runs one round again. A crash leaves the file of its round behind and prints its number. */
#include <inttypes.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"
#include "test.h"

enum { MOST_BYTES = 4096, MOST_CHANGES = 5, ROUND_SECONDS = 60 };
#define MEMORY_LIMIT ((int64_t)1 << 28)

/* Asking the sanitizer for too much is out of memory as elsewhere, not the end. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

static char path[] = "/tmp/diptych-fuzz-XXXXXX";
static char present[64]; /* the present round as text, for the signal handler */
static long results, refusals;

static void report(int number) {
    static const char text[] = "fuzz_files: crashed or hung in the round ";
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0 ||
        write(STDERR_FILENO, present, strlen(present)) < 0)
        _exit(2);
    signal(number, SIG_DFL);
    raise(number);
}

static uint64_t draw(uint64_t *state, uint64_t n) { return case_random(state) % n; }

/* ---- bytes and their changes */

typedef struct Bytes {
    size_t n;
    char v[MOST_BYTES];
} Bytes;

static void read_file(const char *from, Bytes *b) {
    FILE *f = fopen(from, "rb");
    if (!f) abort();
    b->n = fread(b->v, 1, sizeof b->v, f);
    fclose(f);
}

static void write_file(const Bytes *b) {
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(b->v, 1, b->n, f) != b->n || fclose(f)) abort();
}

/* `word` in place of what stands there, or between. */
static void put_word(Bytes *b, size_t at, const char *word, bool between) {
    size_t n = strlen(word), rest = b->n - at;
    if (b->n + n > sizeof b->v) return;
    if (between) {
        memmove(b->v + at + n, b->v + at, rest);
        b->n += n;
    }
    memcpy(b->v + at, word, n);
    if (at + n > b->n) b->n = at + n;
}

static void change(Bytes *b, uint64_t *state) {
    static const char *const words[] = {
        "{",       "}",       "[",  "]",   "\"",   ":",          ",",
        "\\u0000", "\\ud800", "\\", "0",   "-1",   "9",          "1e99",
        "true",    "=",       "(",  ")",   "None", " ",          "\xff",
        "\xc3",    "\x7f",    "U8", "F64", "nan",  "2147483648", "9223372036854775807",
        "'"};
    size_t at = (size_t)draw(state, b->n + 1);
    switch (draw(state, 6)) {
    case 0:
        if (at < b->n) b->v[at] ^= (char)(1 << draw(state, 8));
        break;
    case 1:
        if (at < b->n) b->v[at] = (char)draw(state, 256);
        break;
    case 2: b->n = draw(state, 4) ? b->n : at; break;
    case 3: { /* some bytes less */
        size_t n = (size_t)min_i64((int64_t)(b->n - at), 1 + (int64_t)draw(state, 12));
        memmove(b->v + at, b->v + at + n, b->n - at - n);
        b->n -= n;
        break;
    }
    default: put_word(b, at, words[draw(state, COUNT_OF(words))], draw(state, 2));
    }
}

/* ---- what is read */

static bool check_status(dip_Status s) {
    s == DIP_OK ? results++ : refusals++;
    if (s == DIP_OK) return true;
    if (!CHECK(*dip_error_message()) || !CHECK(s != DIP_E_INTERNAL))
        fprintf(stderr, "%s\n", dip_error_message());
    return false;
}

/* Every byte is there; the sanitizers see the rest. */
static void read_all(dip_Tensor *t) {
    double *v = values_of(t), sum = 0;
    for (int64_t i = 0; i < dip_count(t); i++) sum += v[i];
    CHECK(sum == sum || isnan(sum));
    free(v);
}

static void try_archive(const Bytes *b) {
    dip_Archive *a = NULL;
    write_file(b);
    if (!check_status(dip_load(path, &a))) return;
    for (int64_t i = 0; i < dip_archive_count(a); i++) {
        CHECK(dip_archive_name(a, i) != NULL);
        read_all(dip_archive_peek(a, i));
    }
    dip_archive_free(a);
}

static void try_idx(const Bytes *b) {
    dip_Tensor *t = NULL;
    write_file(b);
    if (check_status(dip_read_idx(path, &t))) read_all(t);
    dip_unref(t);
}

static const float ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static dip_Tensor *cube(void) {
    dip_Tensor *t = NULL;
    CHECK_OK(dip_tensor(DIP_F32, 4, (int64_t[]){1, 2, 2, 4}, ones, &t));
    return t;
}

/* The text as attributes of an op that takes one tensor. */
static void try_attrs(const Bytes *b, const char *op) {
    char text[MOST_BYTES + 1];
    snprintf(text, sizeof text, "%.*s", (int)b->n, b->v);
    dip_Tensor *x = cube(), *out = NULL;
    if (check_status(dip_call(op, 1, &x, text, 1, &out))) read_all(out);
    dip_unref(out);
    dip_unref(x);
}

static void try_settings(const Bytes *b, const char *rule) {
    char text[MOST_BYTES + 1];
    snprintf(text, sizeof text, "%.*s", (int)b->n, b->v);
    dip_Tensor *x = cube();
    dip_Param *p = NULL;
    dip_Optimizer *o = NULL;
    CHECK_OK(dip_param("p", x, &p));
    if (check_status(dip_optimizer(rule, text, 1, &p, &o)))
        check_status(dip_optimizer_apply(o, &x));
    dip_optimizer_free(o);
    dip_param_unref(p);
    dip_unref(x);
}

/* ---- rounds */

static Bytes archive;
static const char idx[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6};
static const char *const calls[][2] = {
    {"sum", "axis=(1,2) keep_dims=True dtype=float32"},
    {"avg_pool", "kernel_size=(2,2) stride=1 padding=0 ceil_mode=False"},
    {"pad", "padding=(1,1) mode=constant value=0.5"},
    {"transpose", "input_perm=(0,2,1,3)"},
    {"einsum", "equation=abcd->dcab"},
    {"slice", "begin=(0,0,0,1) size=(1,2,-1,2) step=(1,1,1,1)"},
    {"interpolate", "size=(3,5) mode=bilinear align_corners=False"},
    {"topk", "k=2 dim=-1 largest=True sorted=True"},
};

static void make_archive(void) {
    dip_Tensor *t[2] = {cube(), NULL};
    CHECK_OK(dip_tensor(DIP_I16, 0, NULL, &(int16_t){7}, &t[1]));
    CHECK_OK(dip_save(path, 2, (const char *const[]){"layer.weight", "n"}, t));
    read_file(path, &archive);
    for (int i = 0; i < 2; i++) dip_unref(t[i]);
}

static void set_text(Bytes *b, const char *text) {
    b->n = strlen(text);
    memcpy(b->v, text, b->n);
}

static void one_round(uint64_t seed, uint64_t round) {
    uint64_t state = seed * 0x9E3779B97F4A7C15u ^ round;
    Bytes b = archive;
    uint64_t kind = draw(&state, 4), row = draw(&state, COUNT_OF(calls));
    snprintf(present, sizeof present, "-s %" PRIu64 " -r %" PRIu64 "\n", seed, round);
    alarm(ROUND_SECONDS);
    test_bad_checks = 0;
    if (kind == 1) b.n = sizeof idx, memcpy(b.v, idx, sizeof idx);
    if (kind == 2) set_text(&b, calls[row][1]);
    if (kind == 3) set_text(&b, "lr=0.1 beta1=0.9 weight_decay=1e-2 use_nesterov=True");
    for (uint64_t n = draw(&state, MOST_CHANGES); n--;) change(&b, &state);
    switch (kind) {
    case 0: try_archive(&b); break;
    case 1: try_idx(&b); break;
    case 2: try_attrs(&b, calls[row][0]); break;
    default: try_settings(&b, "adam");
    }
    if (test_bad_checks) fprintf(stderr, "FAILED %s", present);
    *(test_bad_checks ? &test_failed : &test_passed) += 1;
}

int main(int argc, char **argv) {
    uint64_t seed = 1, seconds = 0, rounds = 20000, round = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t value = strtoull(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "-s")) seed = value;
        if (!strcmp(argv[i], "-t")) seconds = value;
        if (!strcmp(argv[i], "-n")) rounds = value;
        if (!strcmp(argv[i], "-r")) round = value, rounds = value + 1;
    }
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    for (size_t i = 0; i < COUNT_OF(signals); i++) signal(signals[i], report);
    int file = mkstemp(path);
    if (file < 0) return 2;
    close(file);
    CHECK_OK(dip_memory_limit(MEMORY_LIMIT));
    make_archive();
    time_t end = time(NULL) + (time_t)seconds;
    for (; seconds ? time(NULL) < end : round < rounds; round++) one_round(seed, round);
    unlink(path);
    printf("seed %" PRIu64 ": %" PRIu64 " rounds, %ld results, %ld refusals\n", seed, round,
           results, refusals);
    return test_done("fuzz_files");
}
