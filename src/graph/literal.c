/* Constants as text. Numbers are written only where they read back to the same bits. */
#include "graph/literal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { SHORT_LIST = 16, MAX_HEX = 65536, ELEMENT_TEXT = 40, MAX_ELEMENT = 16 };

/* ---- one element */

static bool read_float(DType d, const char *text, char **end, void *out) {
    if (d == DT_f64) {
        double x = strtod(text, end);
        memcpy(out, &x, sizeof x);
        return true;
    }
    float x = strtof(text, end);
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (d == DT_bf16) { /* the upper half of a float32 */
        uint16_t half = (uint16_t)(bits >> 16);
        memcpy(out, &half, sizeof half);
        return (bits & 0xffff) == 0;
    }
    memcpy(out, &bits, sizeof bits);
    return d == DT_f32;
}

static bool read_int(DType d, const char *text, char **end, void *out) {
    int64_t nbytes = dtype_size(d);
    errno = 0;
    if (dtype_info[d].kind == KIND_INT) {
        int64_t v = strtoll(text, end, 10), last = INT64_MAX >> (64 - 8 * nbytes);
        memcpy(out, &v, (size_t)nbytes);
        return !errno && v >= -last - 1 && v <= last;
    }
    uint64_t v = strtoull(text, end, 10);
    uint64_t last = d == DT_bool ? 1 : nbytes == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * nbytes) - 1;
    memcpy(out, &v, (size_t)nbytes);
    return !errno && *text != '-' && v <= last;
}

/* A number at *text, which moves behind it. */
static bool read_element(DType d, const char **text, void *out) {
    char *end;
    if (dtype_is_complex(d)) return false;
    bool good = dtype_is_float(d) ? read_float(d, *text, &end, out) : read_int(d, *text, &end, out);
    good &= end != *text;
    *text = end;
    return good;
}

static void print_float(DType d, const char *from, char *buf) {
    double x = 0;
    if (d == DT_f64) {
        memcpy(&x, from, sizeof x);
    } else {
        uint32_t bits = 0;
        memcpy((char *)&bits + (d == DT_bf16 ? 2 : 0), from, (size_t)dtype_size(d));
        float f;
        memcpy(&f, &bits, sizeof f);
        x = (double)f;
    }
    snprintf(buf, ELEMENT_TEXT, "%g", x);
    char *end, back[MAX_ELEMENT];
    if (!read_float(d, buf, &end, back) || memcmp(back, from, (size_t)dtype_size(d)) != 0)
        snprintf(buf, ELEMENT_TEXT, d == DT_f64 ? "%.17g" : "%.9g", x);
}

/* False: no number reads back to these bytes. */
static bool print_element(DType d, const char *from, char *buf) {
    char back[MAX_ELEMENT];
    uint64_t u = 0;
    size_t nbytes = (size_t)dtype_size(d);
    if (d == DT_f16 || dtype_is_complex(d)) return false;
    if (dtype_is_float(d)) {
        print_float(d, from, buf);
    } else {
        memcpy(&u, from, nbytes);
        int drop = 64 - 8 * (int)nbytes; /* brings the sign to its place */
        bool is_signed = dtype_info[d].kind == KIND_INT;
        if (is_signed) u = (uint64_t)((int64_t)(u << drop) >> drop);
        snprintf(buf, ELEMENT_TEXT, is_signed ? "%lld" : "%llu", (long long)u);
    }
    const char *at = buf;
    return read_element(d, &at, back) && !*at && !memcmp(back, from, nbytes);
}

/* ---- all of them */

static bool is_repeated(const char *data, int64_t n, size_t size) {
    for (int64_t i = 1; i < n; i++)
        if (memcmp(data, data + (size_t)i * size, size) != 0) return false;
    return n > 0;
}

static bool print_list(const Tensor *t, const char *data, int64_t n, char *text) {
    size_t at = 0;
    text[at++] = '[';
    for (int64_t i = 0; i < n; i++) {
        if (i) at += (size_t)sprintf(text + at, ", ");
        if (!print_element(t->type.dtype, data + i * dtype_size(t->type.dtype), text + at))
            return false;
        at += strlen(text + at);
    }
    strcpy(text + at, "]");
    return true;
}

static char *print_hex(const char *data, size_t nbytes) {
    char *text = checked(malloc(2 * nbytes + 8));
    strcpy(text, "hex ");
    for (size_t i = 0; i < nbytes; i++) sprintf(text + 4 + 2 * i, "%02x", (unsigned char)data[i]);
    return text;
}

char *literal_print(const Tensor *t) {
    int64_t n = tensor_count(t);
    size_t size = (size_t)dtype_size(t->type.dtype), nbytes = (size_t)n * size;
    char *data = checked(malloc(nbytes + 1)), *text = checked(malloc(ELEMENT_TEXT * SHORT_LIST));
    tensor_copy_dense(t, data);
    bool same = is_repeated(data, n, size), done = false;
    if (same)
        done = print_element(t->type.dtype, data, text);
    else if (n <= SHORT_LIST)
        done = print_list(t, data, n, text);
    if (!done) {
        free(text);
        text = same || nbytes <= MAX_HEX ? print_hex(data, same ? size : nbytes)
                                         : checked(strdup("hole"));
    }
    free(data);
    return text;
}

/* ---- reading */

static Status no_literal(const TensorType *type) {
    char text[200];
    return FAIL(VALUE, "this is no constant of type %s", type_text(type, text, sizeof text));
}

static void repeat(char *data, int64_t n, size_t size) {
    for (int64_t i = 1; i < n; i++) memcpy(data + (size_t)i * size, data, size);
}

static Status read_list(const char *text, const char *end, Tensor *t) {
    int64_t n = tensor_count(t);
    for (int64_t i = 0; i < n; i++) {
        text += strspn(text, i ? ", " : "[ ");
        if (text >= end ||
            !read_element(t->type.dtype, &text, t->data + i * dtype_size(t->type.dtype)))
            return no_literal(&t->type);
    }
    text += strspn(text, n ? "]" : "[]");
    return text == end ? OK : no_literal(&t->type);
}

static int hex_digit(char c) {
    return isdigit((unsigned char)c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static Status read_hex(const char *text, size_t digits, Tensor *t) {
    size_t nbytes = (size_t)tensor_nbytes(t), size = (size_t)dtype_size(t->type.dtype);
    bool same = digits == 2 * size;
    if ((!same && digits != 2 * nbytes) || !nbytes) return no_literal(&t->type);
    for (size_t i = 0; i < digits / 2; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0) return no_literal(&t->type);
        t->data[i] = (char)(16 * high + low);
    }
    if (same) repeat(t->data, tensor_count(t), size);
    return OK;
}

static Status read_number(const char *text, const char *end, Tensor *t) {
    char element[MAX_ELEMENT];
    size_t size = (size_t)dtype_size(t->type.dtype);
    if (!read_element(t->type.dtype, &text, element) || text != end) return no_literal(&t->type);
    if (!tensor_count(t)) return OK;
    memcpy(t->data, element, size);
    repeat(t->data, tensor_count(t), size);
    return OK;
}

Status literal_parse(const char *text, size_t n, const TensorType *type, Tensor **out) {
    const char *end = text + n;
    if (n == 4 && !memcmp(text, "hole", 4))
        return FAIL(VALUE, "the values of this constant are not in the text");
    Tensor *t;
    TRY(tensor_new(type, "const", &t));
    Status status = n > 4 && !memcmp(text, "hex ", 4) ? read_hex(text + 4, n - 4, t)
                    : n && *text == '['               ? read_list(text, end, t)
                                                      : read_number(text, end, t);
    if (status == OK)
        *out = t;
    else
        tensor_unref(t);
    return status;
}
