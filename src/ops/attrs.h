/* Attributes of ops: a plain struct an op, made from the table's ATTRS column, and its description.
 *
 * All fields are 8-byte wide and structs start zeroed, so attributes are compared and hashed as
 * bytes. One parser reads text ("stride=2 pad=1"), one setter takes typed values (from Python). */
#ifndef DIP_ATTRS_H
#define DIP_ATTRS_H

#include "tensor/type.h"

enum { ATTR_LIST_MAX = DIP_MAX_RANK, ATTR_STR_MAX = 64 };
#define ATTR_NONE INT64_MIN /* an INT, BOOL or DTYPE attribute that is None */

typedef struct IntList {
    int64_t n; /* -1: None */
    int64_t v[ATTR_LIST_MAX];
} IntList;
typedef char AttrStr[ATTR_STR_MAX];

typedef enum AttrKind { ATTR_INT, ATTR_FLT, ATTR_BOOL, ATTR_DTYPE, ATTR_INTS, ATTR_STR } AttrKind;

typedef struct AttrSpec {
    const char *name;
    AttrKind kind;
    uint32_t offset;
    const char *preset; /* the default as text: "1", "None", "(1, 1)", "mean"; "" = must be given */
} AttrSpec;

/* The structs: attrs_conv2d { IntList stride; ... }. The last field keeps empty structs legal. */
#define INT(n, d)  int64_t n;
#define FLT(n, d)  double n;
#define BOOL(n, d) int64_t n;
#define DTY(n, d)  int64_t n;
#define INTS(n, d) IntList n;
#define STR(n, d)  AttrStr n;
#define ATTRS(...) __VA_ARGS__
#define NO_ATTRS
#define OP(name, prim, kind, sig, nout, rule, infer, grad, saves, attrs, doc)                      \
    typedef struct attrs_##name {                                                                  \
        attrs int64_t end_;                                                                        \
    } attrs_##name;
#include "ops/ops.def"
#undef OP
#undef INT
#undef FLT
#undef BOOL
#undef DTY
#undef INTS
#undef STR

struct Op;
/* All defaults. Attributes without a default stay zero and must be set. */
void attrs_init(const struct Op *op, void *attrs);
/* Reads "axis=1 keep_dims=true shape=(2,3)" over the defaults; refuses when one without a default
 * is missing. */
Status attrs_parse(const struct Op *op, const char *text, void *attrs);
/* One value given as text; the name of the op stands in errors. */
Status attr_parse(const struct Op *op, const AttrSpec *spec, const char *text, void *attrs);
const AttrSpec *attr_find(const struct Op *op, const char *name);
/* The value of one attribute as attr_parse reads it (texts in quotes) into buf. */
char *attr_text(const AttrSpec *spec, const void *attrs, char *buf, size_t size);
/* Whether it has the value that it has when it is not given. */
bool attr_is_default(const AttrSpec *spec, const void *attrs);
/* "axis=1, keep_dims=True" into buf. */
char *attrs_text(const struct Op *op, const void *attrs, char *buf, size_t size);

#define INTLIST1(a)       ((IntList){1, {(a)}})
#define INTLIST2(a, b)    ((IntList){2, {(a), (b)}})
#define INTLIST3(a, b, c) ((IntList){3, {(a), (b), (c)}})
#define INTLIST_NONE      ((IntList){-1, {0}})

#endif
