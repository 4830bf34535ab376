/* The IDX reader. The size is checked against the file before memory is asked for. */
#include "io/idx.h"

#include <errno.h>
#include <string.h>

#include "io/file.h"

#ifdef DIP_HAVE_ZLIB
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#endif

/* Bytes in order, from a plain file or from the gzip stream in it. */
typedef struct Source {
    FileReader file;
    uint64_t at; /* bytes given so far */
#ifdef DIP_HAVE_ZLIB
    gzFile gzip; /* NULL: plain */
#endif
} Source;

/* Deflate shrinks at most 1032 to 1, so a file bounds what can come out of it. */
enum { MAX_RATIO = 1032, MAX_GET = 1 << 30 };

static bool is_gzip(const unsigned char *head) { return head[0] == 0x1f && head[1] == 0x8b; }

static Status source_open(const char *path, Source *s) {
    unsigned char head[2] = {0};
    TRY(file_open("read_idx", path, &s->file));
    if (s->file.nbytes >= sizeof head) TRY(file_read(&s->file, 0, head, sizeof head));
    if (!is_gzip(head)) return OK;
#ifdef DIP_HAVE_ZLIB
    int fd = dup(s->file.fd);
    s->gzip = fd < 0 ? NULL : gzdopen(fd, "rb");
    if (!s->gzip) {
        if (fd >= 0) close(fd);
        return FAIL(NOMEM, "read_idx: no memory to unpack %s", path);
    }
    gzbuffer(s->gzip, 1 << 17);
    return OK;
#else
    return FAIL(UNSUPPORTED,
                "read_idx: %s is gzip-compressed and this library was built without zlib; "
                "unpack the file first",
                path);
#endif
}

static void source_close(Source *s) {
#ifdef DIP_HAVE_ZLIB
    if (s->gzip) gzclose_r(s->gzip);
#endif
    file_close(&s->file);
}

/* At most n bytes; `got` tells how many, fewer only at the end. */
static Status source_get(Source *s, void *dst, size_t n, size_t *got) {
#ifdef DIP_HAVE_ZLIB
    for (*got = 0; s->gzip && *got < n;) {
        size_t left = n - *got;
        int r = gzread(s->gzip, (char *)dst + *got, left < MAX_GET ? (unsigned)left : MAX_GET);
        int problem;
        const char *message = gzerror(s->gzip, &problem);
        if (r < 0 || problem == Z_BUF_ERROR)
            return FAIL(VALUE, "read_idx: %s is a damaged gzip file: %s", s->file.path, message);
        if (!r) break;
        *got += (size_t)r;
    }
    s->at += *got;
    if (s->gzip) return OK;
#endif
    uint64_t left = s->file.nbytes - s->at;
    *got = left < n ? (size_t)left : n;
    TRY(file_read(&s->file, s->at, dst, *got));
    s->at += *got;
    return OK;
}

static uint64_t source_limit(const Source *s) {
#ifdef DIP_HAVE_ZLIB
    if (s->gzip) return s->file.nbytes * MAX_RATIO;
#endif
    return s->file.nbytes;
}

static Status find_dtype(const Source *s, int code, uint8_t *out) {
    static const struct {
        uint8_t code, dtype;
    } types[] = {{0x08, DT_u8},  {0x09, DT_i8},  {0x0b, DT_i16},
                 {0x0c, DT_i32}, {0x0d, DT_f32}, {0x0e, DT_f64}};
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (types[i].code == code) {
            *out = types[i].dtype;
            return OK;
        }
    return FAIL(VALUE,
                "read_idx: %s has element type 0x%02x; legal are 08 (uint8), 09 (int8), "
                "0b (int16), 0c (int32), 0d (float32), 0e (float64)",
                s->file.path, code);
}

static Status too_short(const Source *s, const char *what) {
    return FAIL(VALUE, "read_idx: %s ends inside its %s, after %llu bytes", s->file.path, what,
                (unsigned long long)s->at);
}

static Status read_type(Source *s, TensorType *type) {
    unsigned char head[4], sizes[4 * MAX_RANK];
    size_t got;
    TRY(source_get(s, head, sizeof head, &got));
    if (got < sizeof head) return too_short(s, "header");
    if (head[0] || head[1])
        return FAIL(VALUE,
                    "read_idx: %s begins with the bytes %02x %02x; an IDX file begins with 00 00",
                    s->file.path, head[0], head[1]);
    TRY(find_dtype(s, head[2], &type->dtype));
    if (head[3] > MAX_RANK)
        return FAIL(VALUE, "read_idx: %s has %d dimensions; legal are 0 to %d", s->file.path,
                    head[3], MAX_RANK);
    type->rank = head[3];
    TRY(source_get(s, sizes, 4 * (size_t)type->rank, &got));
    if (got < 4 * (size_t)type->rank) return too_short(s, "header");
    for (int i = 0; i < type->rank; i++) {
        const unsigned char *b = sizes + 4 * i;
        type->dims[i] = (int64_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
    }
    if (type_check(type, "read_idx") == OK) return OK;
    return FAIL(VALUE, "read_idx: %s describes more than 2^62 bytes", s->file.path);
}

/* Elements are big-endian in the file. */
static void swap_bytes(char *data, int64_t n, int64_t width) {
    for (int64_t i = 0; i < n; i++, data += width)
        for (int64_t a = 0, b = width - 1; a < b; a++, b--) {
            char c = data[a];
            data[a] = data[b];
            data[b] = c;
        }
}

static Status read_elements(Source *s, const TensorType *type, Tensor **out) {
    uint64_t nbytes = (uint64_t)(type_count(type) * dtype_size(type->dtype));
    char text[200], extra;
    size_t got;
    if (nbytes > source_limit(s))
        return FAIL(VALUE, "read_idx: %s says it holds %s; the file is too short for that",
                    s->file.path, type_text(type, text, sizeof text));
    AUTO_TENSOR t = NULL;
    TRY(tensor_new(type, "read_idx", &t));
    TRY(source_get(s, t->data, nbytes, &got));
    if (got < nbytes) return too_short(s, "elements");
    TRY(source_get(s, &extra, 1, &got));
    if (got)
        return FAIL(VALUE, "read_idx: %s goes on after the %s of its header", s->file.path,
                    type_text(type, text, sizeof text));
    swap_bytes(t->data, type_count(type), dtype_size(type->dtype));
    *out = tensor_keep(&t);
    return OK;
}

Status idx_read(const char *path, Tensor **out) {
    Source s = {.file = {.fd = -1}};
    TensorType type = {0};
    Status status = source_open(path, &s);
    if (status == OK) status = read_type(&s, &type);
    if (status == OK) status = read_elements(&s, &type, out);
    source_close(&s);
    TRY(status);
    return OK;
}
