/* Attributes: defaults, reading from text, printing. One parser serves C text and table defaults.
 */
#include "ops/attrs.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/op.h"

const AttrSpec *attr_find(const Op *op, const char *name) {
    for (int i = 0; i < op->nattrs; i++)
        if (!strcmp(op->attrs[i].name, name)) return &op->attrs[i];
    return NULL;
}

static const char *const kind_names[] = {
    [ATTR_INT] = "an integer",           [ATTR_FLT] = "a number",
    [ATTR_BOOL] = "True or False",       [ATTR_DTYPE] = "a dtype",
    [ATTR_INTS] = "integers, as (1, 2)", [ATTR_STR] = "a short text",
};

static bool read_int(const char **text, int64_t *out) {
    char *end;
    errno = 0;
    *out = strtoll(*text, &end, 10);
    if (end == *text || errno) return false;
    *text = end;
    return true;
}

/* "3", "(1, 2)", "[1,2]", "()" or "None". */
static bool read_list(const char *text, IntList *out) {
    memset(out, 0, sizeof *out);
    if (!strcmp(text, "None")) {
        out->n = -1;
        return true;
    }
    if (*text != '(' && *text != '[') {
        out->n = 1;
        return read_int(&text, &out->v[0]) && !*text;
    }
    for (text++;;) {
        text += strspn(text, ", ");
        if (*text == ')' || *text == ']') return !text[1];
        if (out->n == ATTR_LIST_MAX || !read_int(&text, &out->v[out->n])) return false;
        out->n++;
    }
}

static bool read_bool(const char *text, int64_t *out) {
    if (!strcmp(text, "None"))
        *out = ATTR_NONE;
    else if (!strcmp(text, "True") || !strcmp(text, "true") || !strcmp(text, "1"))
        *out = 1;
    else if (!strcmp(text, "False") || !strcmp(text, "false") || !strcmp(text, "0"))
        *out = 0;
    else
        return false;
    return true;
}

static bool read_dtype(const char *text, int64_t *out) {
    *out = dtype_find(text); /* DT_NONE for "None" too */
    return *out != DT_NONE || !strcmp(text, "None");
}

static bool read_value(AttrKind kind, const char *text, void *field) {
    char *end;
    switch (kind) {
    case ATTR_INT:
        if (!strcmp(text, "None")) return *(int64_t *)field = ATTR_NONE, true;
        return read_int(&text, field) && !*text;
    case ATTR_FLT: *(double *)field = strtod(text, &end); return end != text && !*end;
    case ATTR_BOOL: return read_bool(text, field);
    case ATTR_DTYPE: return read_dtype(text, field);
    case ATTR_INTS: return read_list(text, field);
    case ATTR_STR:
        if (strlen(text) >= ATTR_STR_MAX) return false;
        memset(field, 0, ATTR_STR_MAX);
        strcpy(field, text);
        return true;
    }
    return false;
}

void attrs_init(const Op *op, void *attrs) {
    memset(attrs, 0, op->attrs_size);
    for (int i = 0; i < op->nattrs; i++) {
        const AttrSpec *spec = &op->attrs[i];
        if (*spec->preset) read_value(spec->kind, spec->preset, (char *)attrs + spec->offset);
    }
}

Status attr_parse(const Op *op, const AttrSpec *spec, const char *text, void *attrs) {
    if (!read_value(spec->kind, text, (char *)attrs + spec->offset))
        return FAIL(VALUE, "%s: attribute '%s' is '%s'; it must be %s", op->name, spec->name, text,
                    kind_names[spec->kind]);
    return OK;
}

static Status unknown_attr(const Op *op, const char *name) {
    char known[512] = "";
    size_t at = 0;
    for (int i = 0; i < op->nattrs && at < sizeof known; i++)
        at += (size_t)snprintf(known + at, sizeof known - at, i ? ", %s" : "%s", op->attrs[i].name);
    return FAIL(VALUE, "%s has no attribute '%s'; its attributes: %s", op->name, name,
                *known ? known : "none");
}

/* Length of a value: to the next space outside brackets. */
static size_t value_length(const char *text) {
    int depth = 0;
    size_t n = 0;
    for (; text[n] && (depth || !isspace((unsigned char)text[n])); n++)
        depth += (text[n] == '(' || text[n] == '[') - (text[n] == ')' || text[n] == ']');
    return n;
}

static Status check_given(const Op *op, uint64_t given) {
    for (int i = 0; i < op->nattrs; i++)
        if (!*op->attrs[i].preset && !(given >> i & 1))
            return FAIL(VALUE, "%s: attribute '%s' must be given; it has no default", op->name,
                        op->attrs[i].name);
    return OK;
}

Status attrs_parse(const Op *op, const char *text, void *attrs) {
    uint64_t given = 0; /* bit i: attribute i */
    for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " ")) {
        char name[64], value[256];
        size_t n = strcspn(at, "=");
        if (!at[n] || n >= sizeof name)
            return FAIL(VALUE, "%s: attributes are written name=value, got '%s'", op->name, at);
        memcpy(name, at, n);
        name[n] = 0;
        at += n + 1;
        n = value_length(at);
        if (n >= sizeof value)
            return FAIL(VALUE, "%s: the value of '%s' is longer than %zu characters", op->name,
                        name, sizeof value - 1);
        memcpy(value, at, n);
        value[n] = 0;
        at += n;
        const AttrSpec *spec = attr_find(op, name);
        if (!spec) return unknown_attr(op, name);
        TRY(attr_parse(op, spec, value, attrs));
        given |= (uint64_t)1 << (spec - op->attrs);
    }
    return check_given(op, given);
}

static int print_list(const IntList *list, char *buf, size_t size) {
    if (list->n < 0) return snprintf(buf, size, "None");
    int at = snprintf(buf, size, "(");
    for (int i = 0; i < list->n && (size_t)at < size; i++)
        at += snprintf(buf + at, size - (size_t)at, i ? ", %lld" : "%lld", (long long)list->v[i]);
    if ((size_t)at < size) at += snprintf(buf + at, size - (size_t)at, ")");
    return at;
}

/* As short as reads back to the same number. */
static int print_number(double x, char *buf, size_t size) {
    int n = snprintf(buf, size, "%g", x);
    return (size_t)n < size && strtod(buf, NULL) == x ? n : snprintf(buf, size, "%.17g", x);
}

static int print_value(const AttrSpec *spec, const void *field, char *buf, size_t size) {
    int64_t i = *(const int64_t *)field;
    switch (spec->kind) {
    case ATTR_FLT: return print_number(*(const double *)field, buf, size);
    case ATTR_INTS: return print_list(field, buf, size);
    case ATTR_STR: return snprintf(buf, size, "\"%s\"", (const char *)field);
    case ATTR_DTYPE: return snprintf(buf, size, "%s", i < 0 ? "None" : dtype_name((DType)i));
    case ATTR_BOOL:
        return snprintf(buf, size, "%s", i == ATTR_NONE ? "None" : i ? "True" : "False");
    case ATTR_INT: break;
    }
    return i == ATTR_NONE ? snprintf(buf, size, "None") : snprintf(buf, size, "%lld", (long long)i);
}

char *attr_text(const AttrSpec *spec, const void *attrs, char *buf, size_t size) {
    print_value(spec, (const char *)attrs + spec->offset, buf, size);
    return buf;
}

bool attr_is_default(const AttrSpec *spec, const void *attrs) {
    static const size_t sizes[] = {[ATTR_INT] = 8,
                                   [ATTR_FLT] = 8,
                                   [ATTR_BOOL] = 8,
                                   [ATTR_DTYPE] = 8,
                                   [ATTR_INTS] = sizeof(IntList),
                                   [ATTR_STR] = sizeof(AttrStr)};
    int64_t preset[(sizeof(IntList) > sizeof(AttrStr) ? sizeof(IntList) : sizeof(AttrStr)) / 8];
    memset(preset, 0, sizeof preset);
    if (!*spec->preset) return false;
    read_value(spec->kind, spec->preset, preset);
    return !memcmp((const char *)attrs + spec->offset, preset, sizes[spec->kind]);
}

char *attrs_text(const Op *op, const void *attrs, char *buf, size_t size) {
    size_t at = 0;
    buf[0] = 0;
    for (int i = 0; i < op->nattrs && at < size; i++) {
        const AttrSpec *spec = &op->attrs[i];
        at += (size_t)snprintf(buf + at, size - at, i ? ", %s=" : "%s=", spec->name);
        if (at < size)
            at +=
                (size_t)print_value(spec, (const char *)attrs + spec->offset, buf + at, size - at);
    }
    return buf;
}
