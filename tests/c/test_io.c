/* Files: what is written is read back; foreign, truncated and hostile files give errors that name
 * the file, and never a crash. Reference bytes are written here by hand, not by the library. */
#include <dirent.h>
#include <unistd.h>

#include "test.h"

enum { MAX_BYTES = 4096 };

static char folder[] = "/tmp/diptych-io-XXXXXX";

/* A path in the folder of this test run; valid until the call after the next. */
static const char *in_folder(const char *name) {
    static char paths[2][512];
    static int turn;
    turn = !turn;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", folder, name);
    return paths[turn];
}

static const char *write_file(const char *name, const void *data, size_t n) {
    const char *path = in_folder(name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f)) abort();
    return path;
}

static size_t read_file(const char *path, unsigned char *data) {
    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    size_t n = fread(data, 1, MAX_BYTES, f);
    fclose(f);
    return n;
}

static uint32_t draw(uint32_t *state) { /* xorshift, for byte flips */
    *state ^= *state << 13, *state ^= *state >> 17, *state ^= *state << 5;
    return *state;
}

static dip_Tensor *make(dip_DType dtype, int rank, const int64_t *dims, const void *data) {
    dip_Tensor *t = NULL;
    CHECK_OK(dip_tensor(dtype, rank, dims, data, &t));
    return t;
}

/* ---- safetensors --------------------------------------------------------------------------------
 */

/* A file with this header text and `ndata` bytes 0, 1, 2 ... behind it. */
static size_t compose(unsigned char *file, const char *header, size_t ndata) {
    size_t n = strlen(header);
    for (size_t i = 0; i < 8; i++) file[i] = (unsigned char)(n >> 8 * i);
    memcpy(file + 8, header, n);
    for (size_t i = 0; i < ndata; i++) file[8 + n + i] = (unsigned char)i;
    return 8 + n + ndata;
}

static dip_Status load_text(const char *header, size_t ndata, dip_Archive **out) {
    unsigned char file[MAX_BYTES];
    return dip_load(write_file("made.safetensors", file, compose(file, header, ndata)), out);
}

static void test_load_by_hand(void) {
    dip_Archive *a = NULL;
    const char *header =
        "{\"__metadata__\":{\"made\":\"by hand\",\"deep\":[[{}],1.5e3,null]},"
        "\"b\\u00e4\\ud83d\\ude00\":{\"shape\":[2,1],\"dtype\":\"I16\",\"data_offsets\":[0,4],"
        "\"new key\":{\"x\":[true]}},"
        "\"a\" : { \"dtype\":\"U8\", \"shape\":[], \"data_offsets\":[4,5] },"
        "\"none\":{\"dtype\":\"F64\",\"shape\":[3,0],\"data_offsets\":[5,5]}}  ";
    if (!CHECK_OK(load_text(header, 5, &a))) return;
    CHECK(dip_archive_count(a) == 3);
    CHECK(!strcmp(dip_archive_name(a, 0), "b\xc3\xa4\xf0\x9f\x98\x80"));
    CHECK(dip_archive_name(a, 3) == NULL && dip_archive_peek(a, -1) == NULL);
    CHECK(dip_archive_find_peek(a, "nobody") == NULL && !dip_archive_find_peek(NULL, "a"));
    CHECK(dip_archive_count(NULL) == 0 && !dip_archive_name(NULL, 0) && !dip_archive_peek(NULL, 0));
    const dip_Tensor *b = dip_archive_peek(a, 0), *s = dip_archive_find_peek(a, "a");
    const dip_Tensor *none = dip_archive_find_peek(a, "none");
    int16_t values[2];
    CHECK(dip_dtype(b) == DIP_I16 && dip_rank(b) == 2 && dip_dim(b, 0) == 2 && dip_dim(b, 1) == 1);
    CHECK_OK(dip_copy_out(b, values, sizeof values));
    CHECK(values[0] == 0x0100 && values[1] == 0x0302);
    double item;
    CHECK_OK(dip_item(s, &item));
    CHECK(dip_rank(s) == 0 && item == 4);
    CHECK(dip_rank(none) == 2 && dip_count(none) == 0);
    dip_archive_free(a);
    CHECK_OK(load_text("{}", 0, &a));
    CHECK(dip_archive_count(a) == 0);
    dip_archive_free(a);
}

#define ENTRY(dtype, shape, offsets)                                                               \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void test_hostile_headers(void) {
    static const struct {
        const char *header, *part;
        size_t ndata;
    } cases[] = {
        {"", "an object '{' is missing", 0},
        {"[]", "an object '{' is missing", 0},
        {"{", "a string is missing", 0},
        {"{\"a\"}", "':' is missing", 0},
        {"{\"a\":1}", "an object '{' is missing", 0},
        {"{\"a\":{}}", "a string is missing", 0},
        {"{\"a\":{\"dtype\":\"U8\"}}", "is missing", 0},
        {"{} x", "more text", 0},
        {"{\"a\\u0000\":{}}", "malformed", 0},
        {"{\"a\\ud800\":{}}", "malformed", 0},
        {"{\"a\\x\":{}}", "malformed", 0},
        {"{\"\xc0\x80\":{}}", "malformed", 0},
        {"{\"\xed\xa0\x80\":{}}", "malformed", 0},
        {"{\"\xf5\x80\x80\x80\":{}}", "malformed", 0},
        {"{\"a\x01\":{}}", "malformed", 0},
        {"{\"a", "malformed", 0},
        {"{\"a\":" ENTRY("U9", "[]", "[0,1]") "}", "dtype 'U9'; legal are", 1},
        {"{\"a\":" ENTRY("U8", "[2]", "[0,1]") "}", "do not fit", 1},
        {"{\"a\":" ENTRY("U8", "[-1]", "[0,1]") "}", "whole number", 1},
        {"{\"a\":" ENTRY("U8", "[1.0]", "[0,1]") "}", "whole number", 1},
        {"{\"a\":" ENTRY("U8", "[01]", "[0,1]") "}", "whole number", 1},
        {"{\"a\":" ENTRY("U8", "[1 1]", "[0,1]") "}", "']' is missing", 1},
        {"{\"a\":" ENTRY("U8", "[1,]", "[0,1]") "}", "whole number", 1},
        {"{\"a\":" ENTRY("U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") "}", "8 dimensions", 1},
        {"{\"a\":" ENTRY("U8", "[9223372036854775808]", "[0,1]") "}", "too large", 1},
        {"{\"a\":" ENTRY("F32", "[4294967296,4294967296]", "[0,0]") "}", "2^62", 0},
        {"{\"a\":" ENTRY("F64", "[4611686018427387904,8]", "[0,0]") "}", "2^62", 0},
        {"{\"a\":" ENTRY("U8", "[1]", "[1,2]") "}", "hole", 2},
        {"{\"a\":" ENTRY("U8", "[1]", "[1,0]") "}", "hole", 2},
        {"{\"a\":" ENTRY("U8", "[2]", "[0,2]") "}", "outside", 1},
        {"{\"a\":" ENTRY("U8", "[1]", "[0,1]") "}", "2 bytes of data", 2},
        {"{\"a\":" ENTRY("U8", "[1]", "[0,9223372036854775807]") "}", "outside", 1},
        {"{\"a\":" ENTRY("U8", "[2]", "[0,2]") ",\"b\":" ENTRY("U8", "[2]", "[1,3]") "}", "overlap",
         3},
        {"{\"a\":" ENTRY("U8", "[2]", "[0,2]") ",\"b\":" ENTRY("U8", "[2]", "[0,2]") "}", "overlap",
         2},
        {"{\"a\":" ENTRY("U8", "[1]", "[0,1]") ",\"a\":" ENTRY("U8", "[1]", "[1,2]") "}", "twice",
         2},
        {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", "twice", 0},
        {"{\"__metadata__\":[}", "value is missing", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dip_Archive *a = NULL;
        if (!CHECK_FAILS(load_text(cases[i].header, cases[i].ndata, &a), VALUE, cases[i].part))
            fprintf(stderr, "case %zu: %s\n", i, cases[i].header);
        CHECK(strstr(dip_error_message(), "made.safetensors"));
        CHECK(a == NULL);
        dip_archive_free(a);
    }
}

static void test_deep_header(void) {
    enum { DEPTH = 1000 };
    char header[2 * DEPTH] = "{\"__metadata__\":";
    size_t n = strlen(header);
    memset(header + n, '[', DEPTH);
    dip_Archive *a = NULL;
    CHECK_FAILS(load_text(header, 0, &a), VALUE, "nested too deeply");
}

static void test_header_lengths(void) {
    dip_Archive *a = NULL;
    unsigned char file[16] = {255, 255, 255, 255, 255, 255, 255, 255, '{', '}'};
    CHECK_FAILS(dip_load(write_file("long", file, 10), &a), VALUE, "says its header has 1844674");
    memset(file, 0, 8);
    file[0] = 3;
    CHECK_FAILS(dip_load(write_file("long", file, 10), &a), VALUE, "at most 2");
    CHECK_FAILS(dip_load(write_file("long", file, 7), &a), VALUE, "has 7 bytes");
    CHECK_FAILS(dip_load(in_folder("absent"), &a), IO, "absent: No such file");
    CHECK_FAILS(dip_load(folder, &a), IO, "not a regular file");
    CHECK_FAILS(dip_load(NULL, &a), VALUE, "NULL");
}

enum { NDTYPES = DIP_F64 + 1 };

/* One tensor of each dtype, an empty one and a 0-d one, saved at `path`. */
static dip_Status save_zoo(const char *path) {
    static const char *const names[] = {
        "bool",  "u8",  "u16", "u32",  "u64", "i8",  "i16",
        "i32",   "i64", "f16", "bf16", "f32", "f64", "\"\\\n\xc3\xa4",
        "zero-d"};
    dip_Tensor *t[NDTYPES + 2];
    unsigned char data[64];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i & 1);
    for (int d = 0; d < NDTYPES; d++) t[d] = make((dip_DType)d, 2, (int64_t[]){2, 3}, data);
    t[NDTYPES] = make(DIP_F32, 3, (int64_t[]){2, 0, 5}, NULL);
    t[NDTYPES + 1] = make(DIP_I64, 0, NULL, &(int64_t){-42});
    dip_Status s = dip_save(path, NDTYPES + 2, names, t);
    for (int i = 0; i < NDTYPES + 2; i++) dip_unref(t[i]);
    return s;
}

static void test_round_trip(void) {
    dip_Archive *a = NULL;
    unsigned char file[MAX_BYTES], data[64];
    const char *path = in_folder("zoo.safetensors");
    if (!CHECK_OK(save_zoo(path)) || !CHECK_OK(dip_load(path, &a))) return;
    CHECK(dip_archive_count(a) == NDTYPES + 2);
    for (int d = 0; d < NDTYPES; d++) {
        int64_t at = 0;
        while (dip_archive_peek(a, at) && (dip_dtype(dip_archive_peek(a, at)) != (dip_DType)d ||
                                           dip_rank(dip_archive_peek(a, at)) != 2))
            at++;
        const dip_Tensor *t = dip_archive_peek(a, at);
        if (!CHECK(t)) continue;
        CHECK(dip_dim(t, 0) == 2 && dip_dim(t, 1) == 3);
        CHECK_OK(dip_copy_out(t, data, sizeof data));
        for (size_t i = 0; i < dip_nbytes(t); i++) CHECK(data[i] == (i & 1));
    }
    double item = 0;
    CHECK_OK(dip_item(dip_archive_find_peek(a, "zero-d"), &item));
    CHECK(item == -42);
    const dip_Tensor *empty = dip_archive_find_peek(a, "\"\\\n\xc3\xa4");
    CHECK(empty && dip_rank(empty) == 3 && dip_dim(empty, 2) == 5);
    dip_archive_free(a);
    /* What other readers rely on: a header of a multiple of 8 bytes, wide elements first. */
    size_t n = read_file(path, file);
    CHECK(n > 16 && file[0] % 8 == 0 && file[8] == '{');
    file[n < MAX_BYTES ? n : MAX_BYTES - 1] = 0;
    CHECK(strstr((char *)file + 8,
                 "\"u64\":{\"dtype\":\"U64\",\"shape\":[2,3],\"data_offsets\":[0,48]}"));
    CHECK(strstr((char *)file + 8, "\"\\u0022\\u005c\\u000a\xc3\xa4\":{"));
}

/* Any damage gives an error or other values, never a crash or an unset result. */
static void try_load(const void *file, size_t n) {
    dip_Archive *a = NULL;
    dip_Status s = dip_load(write_file("damaged", file, n), &a);
    CHECK(s == DIP_OK ? a != NULL : s == DIP_E_VALUE && a == NULL);
    dip_archive_free(a);
}

static void test_damaged(void) {
    unsigned char file[MAX_BYTES];
    CHECK_OK(save_zoo(in_folder("zoo.safetensors")));
    size_t n = read_file(in_folder("zoo.safetensors"), file);
    dip_Archive *a = NULL;
    for (size_t cut = 0; cut < n; cut++)
        CHECK_FAILS(dip_load(write_file("damaged", file, cut), &a), VALUE, "damaged");
    uint32_t seed = 2463534242u;
    for (int round = 0; round < 4000; round++) {
        unsigned char copy[MAX_BYTES];
        memcpy(copy, file, n);
        for (int flips = 1 + round % 3; flips--;) copy[draw(&seed) % n] ^= 1u << draw(&seed) % 8;
        try_load(copy, n);
    }
}

static int count_files(void) {
    int n = 0;
    DIR *d = opendir(folder);
    if (!d) return -1;
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

static void test_failed_save(void) {
    dip_Archive *a = NULL;
    dip_Tensor *one = make(DIP_F32, 0, NULL, &(float){1});
    const char *path = in_folder("kept.safetensors"), *const good[] = {"x"};
    CHECK_OK(dip_save(path, 1, good, &one));
    int files = count_files();
    dip_Tensor *two[] = {one, one}, *hole[] = {one, NULL};
    const char *same[] = {"x", "x"}, *reserved[] = {"__metadata__"}, *bad[] = {"\xff"},
               *empty[] = {""};
    const char *apart[] = {"x", "y"};
    CHECK_FAILS(dip_save(path, 2, same, two), VALUE, "two tensors have the name 'x'");
    CHECK_FAILS(dip_save(path, 2, apart, hole), VALUE, "tensor 1 is NULL");
    CHECK_FAILS(dip_save(path, 1, reserved, &one), VALUE, "__metadata__");
    CHECK_FAILS(dip_save(path, 1, bad, &one), VALUE, "UTF-8");
    CHECK_FAILS(dip_save(path, 1, empty, &one), VALUE, "name ''");
    CHECK_FAILS(dip_save(path, -1, good, &one), VALUE, "negative");
    CHECK_FAILS(dip_save(in_folder("no/such"), 1, good, &one), IO, "No such file");
    CHECK_FAILS(dip_save(folder, 1, good, &one), IO, "cannot rename");
    CHECK(count_files() == files);
    if (CHECK_OK(dip_load(in_folder("kept.safetensors"), &a))) CHECK(dip_archive_count(a) == 1);
    dip_archive_free(a);
    dip_unref(one);
}

/* ---- IDX ----------------------------------------------------------------------------------------
 */

static uint32_t crc32_of(const unsigned char *data, size_t n) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static unsigned char *put_little(unsigned char *to, uint32_t value, int nbytes) {
    while (nbytes--) *to++ = (unsigned char)value, value >>= 8;
    return to;
}

/* The gzip form of data: one stored block, so that no compressor is needed. */
static size_t gzip(unsigned char *to, const unsigned char *data, size_t n) {
    unsigned char *at = to;
    memcpy(at, "\x1f\x8b\x08\0\0\0\0\0\0\x03\x01", 11);
    at = put_little(at + 11, (uint32_t)n, 2);
    at = put_little(at, ~(uint32_t)n, 2);
    memcpy(at, data, n);
    at = put_little(at + n, crc32_of(data, n), 4);
    return (size_t)(put_little(at, (uint32_t)n, 4) - to);
}

static const unsigned char small[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6};

static void check_small(const char *path) {
    dip_Tensor *t = NULL;
    unsigned char data[6];
    if (!CHECK_OK(dip_read_idx(path, &t))) return;
    CHECK(dip_dtype(t) == DIP_U8 && dip_rank(t) == 2 && dip_dim(t, 0) == 2 && dip_dim(t, 1) == 3);
    CHECK_OK(dip_copy_out(t, data, sizeof data));
    CHECK(!memcmp(data, small + 12, 6));
    dip_unref(t);
}

static void test_idx(void) {
    check_small(write_file("plain", small, sizeof small));
    static const unsigned char f64[] = {0,    0,    0x0e, 1,    0,    0,    0,    1,
                                        0x40, 0x09, 0x21, 0xfb, 0x54, 0x44, 0x2d, 0x18};
    static const unsigned char i16[] = {0, 0, 0x0b, 0, 0xff, 0xfe};
    dip_Tensor *t = NULL;
    double item = 0;
    if (CHECK_OK(dip_read_idx(write_file("f64", f64, sizeof f64), &t))) {
        CHECK_OK(dip_item(t, &item));
        CHECK(item == 3.141592653589793);
    }
    dip_unref(t);
    t = NULL;
    if (CHECK_OK(dip_read_idx(write_file("i16", i16, sizeof i16), &t))) {
        CHECK_OK(dip_item(t, &item));
        CHECK(item == -2 && dip_rank(t) == 0 && dip_dtype(t) == DIP_I16);
    }
    dip_unref(t);
}

static void test_idx_refused(void) {
    dip_Tensor *t = NULL;
    unsigned char file[64];
    for (size_t cut = 0; cut < sizeof small; cut++)
        CHECK_FAILS(dip_read_idx(write_file("cut", small, cut), &t), VALUE, "cut");
    memcpy(file, small, sizeof small);
    file[sizeof small] = 7;
    CHECK_FAILS(dip_read_idx(write_file("idx", file, sizeof small + 1), &t), VALUE,
                "goes on after");
    file[2] = 0x0a;
    CHECK_FAILS(dip_read_idx(write_file("idx", file, sizeof small), &t), VALUE,
                "type 0x0a; legal are");
    file[2] = 8, file[3] = 9;
    CHECK_FAILS(dip_read_idx(write_file("idx", file, sizeof small), &t), VALUE, "9 dimensions");
    file[3] = 2, memset(file + 4, 255, 8);
    CHECK_FAILS(dip_read_idx(write_file("idx", file, sizeof small), &t), VALUE,
                "idx describes more");
    memset(file + 4, 0x7f, 8);
    CHECK_FAILS(dip_read_idx(write_file("idx", file, sizeof small), &t), VALUE,
                "too short for that");
    CHECK_FAILS(dip_read_idx(write_file("idx", "PNG!", 4), &t), VALUE,
                "begins with the bytes 50 4e");
    CHECK_FAILS(dip_read_idx(in_folder("absent"), &t), IO, "No such file");
    CHECK(t == NULL);
}

#ifdef DIP_HAVE_ZLIB
static void test_idx_gzip(void) {
    unsigned char file[128];
    size_t n = gzip(file, small, sizeof small);
    check_small(write_file("packed", file, n));
    dip_Tensor *t = NULL;
    for (size_t cut = 2; cut < n; cut++)
        CHECK_FAILS(dip_read_idx(write_file("cut", file, cut), &t), VALUE, "cut");
    uint32_t seed = 2463534242u;
    for (int round = 0; round < 500; round++) {
        unsigned char copy[128];
        memcpy(copy, file, n);
        copy[2 + draw(&seed) % (n - 2)] ^= 1u << draw(&seed) % 8;
        t = NULL;
        dip_Status s = dip_read_idx(write_file("damaged", copy, n), &t);
        CHECK(s == DIP_OK ? t != NULL : t == NULL);
        dip_unref(t);
    }
}
#else
static void test_idx_gzip(void) {
    unsigned char file[128];
    dip_Tensor *t = NULL;
    size_t n = gzip(file, small, sizeof small);
    CHECK_FAILS(dip_read_idx(write_file("packed", file, n), &t), UNSUPPORTED, "without zlib");
}
#endif

static void remove_folder(void) {
    DIR *d = opendir(folder);
    if (!d) return;
    for (struct dirent *e; (e = readdir(d));) unlink(in_folder(e->d_name));
    closedir(d);
    rmdir(folder);
}

int main(void) {
    if (!mkdtemp(folder)) return 1;
    RUN(test_load_by_hand);
    RUN(test_hostile_headers);
    RUN(test_deep_header);
    RUN(test_header_lengths);
    RUN(test_round_trip);
    RUN(test_damaged);
    RUN(test_failed_save);
    RUN(test_idx);
    RUN(test_idx_refused);
    RUN(test_idx_gzip);
    remove_folder();
    return test_done("io");
}
