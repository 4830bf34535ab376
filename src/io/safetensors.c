/* Safetensors: parse and check the header, then read; or lay out, then write. */
#include "io/safetensors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "io/json.h"

/* The format's own limit; it also bounds what a hostile length can make us allocate. */
enum { MAX_HEADER = 100 * 1000 * 1000, PREFIX = 8 };

static const char *const file_dtypes[NREAL] = {
    [DT_bool] = "BOOL", [DT_u8] = "U8",   [DT_u16] = "U16", [DT_u32] = "U32", [DT_u64] = "U64",
    [DT_i8] = "I8",     [DT_i16] = "I16", [DT_i32] = "I32", [DT_i64] = "I64", [DT_f16] = "F16",
    [DT_bf16] = "BF16", [DT_f32] = "F32", [DT_f64] = "F64",
};

/* One tensor as the header describes it; offsets count from the end of the header. */
typedef struct Entry {
    const char *name;
    TensorType type;
    int64_t begin, end;
    int64_t order; /* place in the file's header */
} Entry;

typedef struct Header {
    const char *path;
    char *text;
    Entry *entries;
    int64_t n, capacity;
    int64_t ndata; /* bytes after the header */
} Header;

/* ---- loading ------------------------------------------------------------------------------------
 */

static Status header_error(const Header *h, const Json *j, const char *problem) {
    return FAIL(VALUE, "load: %s is no valid safetensors file: header byte %lld: %s", h->path,
                (long long)(j->at - j->text), j->problem ? j->problem : problem);
}

static Status entry_error(const Header *h, const Entry *e, const char *problem) {
    return FAIL(VALUE, "load: %s is no valid safetensors file: tensor '%.200s': %s", h->path,
                e->name, problem);
}

static Status parse_dtype(Header *h, Json *j, Entry *e) {
    char *name = json_string(j);
    if (!name) return header_error(h, j, "a dtype is missing");
    for (int d = 0; d < NREAL; d++)
        if (!strcmp(name, file_dtypes[d])) {
            e->type.dtype = (uint8_t)d;
            return OK;
        }
    return FAIL(VALUE,
                "load: %s: tensor '%.200s' has dtype '%.40s'; legal are BOOL, U8 to U64, "
                "I8 to I64, F16, BF16, F32, F64",
                h->path, e->name, name);
}

static Status parse_shape(Header *h, Json *j, Entry *e) {
    int64_t dim;
    e->type.rank = 0;
    if (!json_take(j, '[')) return header_error(h, j, "");
    if (json_try(j, ']')) return OK;
    do {
        if (!json_count(j, &dim)) return header_error(h, j, "");
        if (e->type.rank == MAX_RANK) return entry_error(h, e, "more than 8 dimensions");
        e->type.dims[e->type.rank++] = dim;
    } while (json_try(j, ','));
    return json_take(j, ']') ? OK : header_error(h, j, "");
}

static Status parse_offsets(Header *h, Json *j, Entry *e) {
    if (!json_take(j, '[') || !json_count(j, &e->begin) || !json_take(j, ',') ||
        !json_count(j, &e->end) || !json_take(j, ']'))
        return header_error(h, j, "");
    return OK;
}

enum { HAS_DTYPE = 1, HAS_SHAPE = 2, HAS_OFFSETS = 4, HAS_ALL = 7 };

/* {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}; unknown keys are passed over. */
static Status parse_entry(Header *h, Json *j, Entry *e) {
    int seen = 0;
    if (!json_take(j, '{')) return header_error(h, j, "");
    do {
        char *key = json_string(j);
        if (!key || !json_take(j, ':')) return header_error(h, j, "");
        int part = !strcmp(key, "dtype")          ? HAS_DTYPE
                   : !strcmp(key, "shape")        ? HAS_SHAPE
                   : !strcmp(key, "data_offsets") ? HAS_OFFSETS
                                                  : 0;
        if (seen & part) return entry_error(h, e, "a key stands twice");
        seen |= part;
        if (part == HAS_DTYPE) TRY(parse_dtype(h, j, e));
        if (part == HAS_SHAPE) TRY(parse_shape(h, j, e));
        if (part == HAS_OFFSETS) TRY(parse_offsets(h, j, e));
        if (!part && !json_skip(j)) return header_error(h, j, "");
    } while (json_try(j, ','));
    if (!json_take(j, '}')) return header_error(h, j, "");
    if (seen != HAS_ALL) return entry_error(h, e, "dtype, shape or data_offsets is missing");
    return OK;
}

static Status add_entry(Header *h, const Entry *e) {
    if (h->n == h->capacity) {
        int64_t capacity = h->capacity ? 2 * h->capacity : 64;
        Entry *grown = realloc(h->entries, (size_t)capacity * sizeof *grown);
        if (!grown)
            return FAIL(NOMEM, "load: no memory for %lld header entries", (long long)capacity);
        h->entries = grown;
        h->capacity = capacity;
    }
    h->entries[h->n++] = *e;
    return OK;
}

static Status parse_header(Header *h, Json *j) {
    if (!json_take(j, '{')) return header_error(h, j, "");
    if (!json_try(j, '}')) {
        do {
            Entry e = {.name = json_string(j), .order = h->n};
            if (!e.name || !json_take(j, ':')) return header_error(h, j, "");
            if (!strcmp(e.name, "__metadata__")) {
                if (!json_skip(j)) return header_error(h, j, "");
                continue;
            }
            TRY(parse_entry(h, j, &e));
            TRY(add_entry(h, &e));
        } while (json_try(j, ','));
        if (!json_take(j, '}')) return header_error(h, j, "");
    }
    return json_at_end(j) ? OK : header_error(h, j, "more text after the last '}'");
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const Entry *)a)->name, ((const Entry *)b)->name);
}

static int by_order(const void *a, const void *b) {
    int64_t x = ((const Entry *)a)->order, y = ((const Entry *)b)->order;
    return (x > y) - (x < y);
}

static int by_place(const void *a, const void *b) {
    const Entry *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static void sort_entries(Entry *entries, int64_t n, int (*by)(const void *, const void *)) {
    if (n) qsort(entries, (size_t)n, sizeof *entries, by);
}

/* The tensors tile the data: no hole, no overlap, sizes as their shapes say, names different. */
static Status check_entries(Header *h) {
    int64_t at = 0;
    sort_entries(h->entries, h->n, by_place);
    for (int64_t i = 0; i < h->n; i++) {
        const Entry *e = &h->entries[i];
        if (type_check(&e->type, "load") != OK)
            return entry_error(h, e, "its shape has more than 2^62 bytes");
        if (e->begin != at) return entry_error(h, e, "its bytes overlap others or leave a hole");
        if (e->end < e->begin || e->end > h->ndata)
            return entry_error(h, e, "its bytes end outside the file");
        if (e->end - e->begin != type_count(&e->type) * dtype_size(e->type.dtype))
            return entry_error(h, e, "data_offsets do not fit dtype and shape");
        at = e->end;
    }
    if (at != h->ndata)
        return FAIL(VALUE, "load: %s has %lld bytes of data, its header describes %lld", h->path,
                    (long long)h->ndata, (long long)at);
    sort_entries(h->entries, h->n, by_name);
    for (int64_t i = 1; i < h->n; i++)
        if (!by_name(&h->entries[i - 1], &h->entries[i]))
            return entry_error(h, &h->entries[i], "the name stands twice");
    sort_entries(h->entries, h->n, by_order);
    return OK;
}

static Status read_header(const FileReader *f, Header *h) {
    unsigned char prefix[PREFIX];
    uint64_t n = 0;
    if (f->nbytes < PREFIX)
        return FAIL(VALUE, "load: %s has %" PRIu64 " bytes; a safetensors file has at least 10",
                    f->path, f->nbytes);
    TRY(file_read(f, 0, prefix, PREFIX));
    for (int i = PREFIX; i--;) n = n << 8 | prefix[i];
    if (n > MAX_HEADER || n > f->nbytes - PREFIX)
        return FAIL(VALUE,
                    "load: %s says its header has %" PRIu64
                    " bytes; legal here are at most %" PRIu64,
                    f->path, n, f->nbytes - PREFIX < MAX_HEADER ? f->nbytes - PREFIX : MAX_HEADER);
    h->path = f->path;
    h->ndata = (int64_t)(f->nbytes - PREFIX - n);
    h->text = malloc((size_t)n + 1);
    if (!h->text) return FAIL(NOMEM, "load: no memory for a header of %" PRIu64 " bytes", n);
    TRY(file_read(f, PREFIX, h->text, (size_t)n));
    h->text[n] = 0;
    Json j = json_over(h->text, (size_t)n);
    TRY(parse_header(h, &j));
    return check_entries(h);
}

static Status read_tensors(const FileReader *f, const Header *h, Archive *a) {
    uint64_t start = f->nbytes - (uint64_t)h->ndata;
    a->items = calloc((size_t)h->n + 1, sizeof *a->items);
    if (!a->items) return FAIL(NOMEM, "load: no memory for %lld tensors", (long long)h->n);
    for (; a->n < h->n; a->n++) {
        const Entry *e = &h->entries[a->n];
        AUTO_TENSOR t = NULL;
        TRY(tensor_new(&e->type, "load", &t));
        TRY(file_read(f, start + (uint64_t)e->begin, t->data, (size_t)(e->end - e->begin)));
        a->items[a->n] = (NamedTensor){e->name, tensor_keep(&t)};
    }
    return OK;
}

void archive_free(Archive *a) {
    if (!a) return;
    for (int64_t i = 0; i < a->n; i++) tensor_unref(a->items[i].tensor);
    free(a->items);
    free(a->text);
    free(a);
}

Status safetensors_load(const char *path, Archive **out) {
    FileReader f;
    TRY(file_open("load", path, &f));
    Archive *a = calloc(1, sizeof *a);
    Header h = {0};
    Status s = a ? read_header(&f, &h) : FAIL(NOMEM, "load: no memory");
    if (s == OK) s = read_tensors(&f, &h, a);
    file_close(&f);
    free(h.entries);
    if (a) a->text = h.text;
    if (s == OK)
        *out = a;
    else
        archive_free(a);
    TRY(s);
    return OK;
}

/* ---- saving -------------------------------------------------------------------------------------
 */

/* Text that grows; after a failed allocation it stays empty and `failed` tells. */
typedef struct Text {
    char *data;
    size_t n, capacity;
    bool failed;
} Text;

static void text_add(Text *t, const char *s, size_t n) {
    if (t->n + n > t->capacity) {
        size_t capacity = 2 * (t->n + n) + 256;
        char *grown = realloc(t->data, capacity);
        t->failed |= !grown;
        if (!grown) return;
        t->data = grown;
        t->capacity = capacity;
    }
    memcpy(t->data + t->n, s, n);
    t->n += n;
}

static void text_quoted(Text *t, const char *s) {
    text_add(t, "\"", 1);
    for (; *s; s++) {
        char escape[8];
        unsigned char c = (unsigned char)*s;
        bool plain = c >= 0x20 && c != '"' && c != '\\';
        int n = plain ? snprintf(escape, sizeof escape, "%c", c)
                      : snprintf(escape, sizeof escape, "\\u%04x", c);
        text_add(t, escape, (size_t)n);
    }
    text_add(t, "\"", 1);
}

static void text_entry(Text *t, const Entry *e) {
    char part[64];
    text_quoted(t, e->name);
    text_add(t, part,
             (size_t)snprintf(part, sizeof part, ":{\"dtype\":\"%s\",\"shape\":[",
                              file_dtypes[e->type.dtype]));
    for (int i = 0; i < e->type.rank; i++)
        text_add(t, part,
                 (size_t)snprintf(part, sizeof part, "%s%lld", i ? "," : "",
                                  (long long)e->type.dims[i]));
    text_add(t, part,
             (size_t)snprintf(part, sizeof part, "],\"data_offsets\":[%lld,%lld]}",
                              (long long)e->begin, (long long)e->end));
}

/* Wide elements first, so that each tensor stands aligned though the format has no padding. */
static int by_width(const void *a, const void *b) {
    const Entry *x = a, *y = b;
    int64_t nx = dtype_size(x->type.dtype), ny = dtype_size(y->type.dtype);
    return nx != ny ? (nx < ny) - (nx > ny) : by_order(a, b);
}

/* Names must be told apart and readable by others: UTF-8, not empty, not the reserved one. */
static Status check_names(Entry *entries, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const char *name = entries[i].name;
        if (!name || !*name || !strcmp(name, "__metadata__"))
            return FAIL(VALUE, "save: tensor %lld has the name '%s'; legal is any text but this",
                        (long long)i, name ? name : "");
        if (!json_is_utf8(name))
            return FAIL(VALUE, "save: the name of tensor %lld is no UTF-8 text", (long long)i);
        if (dtype_is_complex(entries[i].type.dtype))
            return FAIL(TYPE, "save: tensor '%.200s' is %s; the files hold no complex numbers",
                        name, dtype_name(entries[i].type.dtype));
    }
    sort_entries(entries, n, by_name);
    for (int64_t i = 1; i < n; i++)
        if (!by_name(&entries[i - 1], &entries[i]))
            return FAIL(VALUE, "save: two tensors have the name '%.200s'; names must differ",
                        entries[i].name);
    return OK;
}

/* What is written besides the tensors must be JSON itself. */
static Status check_metadata(const char *metadata) {
    char *text = strdup(metadata);
    if (!text) return FAIL(NOMEM, "save: no memory");
    Json j = json_over(text, strlen(text));
    bool good = json_skip(&j) && json_at_end(&j);
    free(text);
    return good ? OK : FAIL(VALUE, "save: the metadata are no JSON: %.200s", metadata);
}

static Status make_header(Entry *entries, int64_t n, const char *metadata, Text *t) {
    int64_t at = 0;
    TRY(check_names(entries, n));
    sort_entries(entries, n, by_width);
    text_add(t, "\0\0\0\0\0\0\0\0{", PREFIX + 1);
    if (metadata) {
        TRY(check_metadata(metadata));
        text_quoted(t, "__metadata__");
        text_add(t, ":", 1);
        text_add(t, metadata, strlen(metadata));
        if (n) text_add(t, ",", 1);
    }
    for (int64_t i = 0; i < n; i++) {
        Entry *e = &entries[i];
        e->begin = at;
        e->end = at += type_count(&e->type) * dtype_size(e->type.dtype);
        if (i) text_add(t, ",", 1);
        text_entry(t, e);
    }
    text_add(t, "}", 1);
    while (t->n % 8 && !t->failed) text_add(t, " ", 1);
    if (t->failed || t->n - PREFIX > MAX_HEADER)
        return FAIL(NOMEM, "save: the header has %zu bytes; at most %d are legal", t->n,
                    MAX_HEADER);
    for (size_t i = 0, length = t->n - PREFIX; i < PREFIX; i++)
        t->data[i] = (char)(length >> 8 * i);
    return OK;
}

static Status write_tensor(FileWriter *f, const Tensor *t) {
    size_t n = (size_t)tensor_nbytes(t);
    TRY(tensor_check_values(t, "save"));
    if (t->dense) return file_write(f, t->data, n);
    AUTO_TENSOR copy = NULL;
    TRY(tensor_new(&t->type, "save", &copy));
    tensor_copy_dense(t, copy->data);
    return file_write(f, copy->data, n);
}

static Status write_all(FileWriter *f, const Text *header, const Entry *entries, int64_t n,
                        const NamedTensor *items) {
    TRY(file_write(f, header->data, header->n));
    for (int64_t i = 0; i < n; i++) TRY(write_tensor(f, items[entries[i].order].tensor));
    return file_commit(f);
}

static Status save_entries(const char *path, Entry *entries, int64_t n, const NamedTensor *items,
                           Text *header) {
    FileWriter f;
    TRY(file_create("save", path, &f));
    Status s = write_all(&f, header, entries, n, items);
    file_abandon(&f);
    TRY(s);
    return OK;
}

Status safetensors_save(const char *path, int64_t n, const NamedTensor *items,
                        const char *metadata) {
    Entry *entries = calloc((size_t)n + 1, sizeof *entries);
    if (!entries) return FAIL(NOMEM, "save: no memory for %lld tensors", (long long)n);
    Text header = {0};
    for (int64_t i = 0; i < n; i++)
        entries[i] = (Entry){.name = items[i].name, .type = items[i].tensor->type, .order = i};
    Status s = make_header(entries, n, metadata, &header);
    if (s == OK) s = save_entries(path, entries, n, items, &header);
    free(header.data);
    free(entries);
    TRY(s);
    return OK;
}
