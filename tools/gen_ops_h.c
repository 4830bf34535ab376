/* Writes diptych_ops.h and its definitions from the op tables: one typed function an op.
 *
 *     gen_ops_h header|source > FILE
 *
 * Runs while building, on the building machine; it reads the .def files through the C preprocessor
 * and needs nothing else of the library. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Attr {
    const char *name, *kind, *preset;
} Attr;

typedef struct Row {
    const char *name, *inputs, *results, *doc;
    const Attr *attrs; /* ends with name NULL */
} Row;

/* ---- the tables */

#define INT(n, d)  {#n, "int", d},
#define FLT(n, d)  {#n, "float", d},
#define BOOL(n, d) {#n, "bool", d},
#define DTY(n, d)  {#n, "dtype", d},
#define INTS(n, d) {#n, "ints", d},
#define STR(n, d)  {#n, "str", d},
#define ATTRS(...) __VA_ARGS__
#define NO_ATTRS
#define OP(name, prim, kind, sig, nout, rule, infer, grad, saves, attrs, doc)                      \
    static const Attr attrs_##name[] = {attrs{0}};
#include "ops/ops.def"
#undef OP

static const Attr no_attrs[] = {{0}};
static const Row rows[] = {
#define EW1(name, prim, class, sig, v, gx, doc)         {#name, sig, "1", doc, no_attrs},
#define EW2(name, prim, class, sig, v, gx, gy, doc)     {#name, sig, "1", doc, no_attrs},
#define EW3(name, prim, class, sig, v, gx, gy, gz, doc) {#name, sig, "1", doc, no_attrs},
#define PR1(name, prim, class, sig, v, doc)             {#name, sig, "1", doc, no_attrs},
#define PR2(name, prim, class, sig, v, doc)             {#name, sig, "1", doc, no_attrs},
#include "ops/ewise.def"
#define OP(name, prim, kind, sig, nout, rule, infer, grad, saves, attrs, doc)                      \
    {#name, sig, #nout, doc, attrs_##name},
#include "ops/ops.def"
#undef OP
};

/* Dtype names as Python writes them, and the C constants. */
static const char *const dtypes[][2] = {
#define DTYPE(token, ctype, nbytes, kind, compute, name) {name, #token},
#include "tensor/dtype.def"
#undef DTYPE
};

enum { NROWS = sizeof rows / sizeof *rows, MAX_INPUTS = 16, MAX_PLAIN = 3 };

/* ---- one row taken apart */

typedef struct Input {
    char name[32];
    bool variadic, weak;
} Input;

typedef struct Call {
    const Row *row;
    Input in[MAX_INPUTS];
    int nin, nnumbers, nattrs;
    bool variadic, in_struct; /* in_struct: more attributes than fit plain arguments */
    bool by_attrs;            /* the number of results */
} Call;

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n > m && !strcmp(text + n - m, end);
}

/* Gradient helpers are not for users. */
static bool is_hidden(const Row *row) { return ends_with(row->name, "_grad"); }

/* Words of C and C++ that a table may use as a name. */
static bool is_keyword(const char *name) {
    static const char *const words[] = {"default", "int",   "long",     "static", "register",
                                        "inline",  "new",   "delete",   "this",   "class",
                                        "and",     "or",    "not",      "bool",   "template",
                                        "float",   "const", "operator", "union",  "signed"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(name, words[i])) return true;
    return false;
}

static void print_name(const char *name) { printf("%s%s", name, is_keyword(name) ? "_" : ""); }

static void read_input(const char *text, size_t n, Input *in) {
    memset(in, 0, sizeof *in);
    in->variadic = *text == '*';
    if (in->variadic) text++, n--;
    const char *eq = memchr(text, '=', n);
    size_t length = eq ? (size_t)(eq - text) : n;
    if (length >= sizeof in->name) {
        fprintf(stderr, "gen_ops_h: the input '%.*s' is too long\n", (int)length, text);
        exit(1);
    }
    memcpy(in->name, text, length);
    in->weak = eq && strncmp(eq + 1, "None", 4) != 0;
}

/* Where random ops draw from: filled in by the call. */
static bool is_drawn(const Attr *a) {
    return !strcmp(a->name, "key") || !strcmp(a->name, "counter");
}

static Call read_row(const Row *row) {
    Call c = {.row = row, .by_attrs = !strcmp(row->results, "BY_ATTRS")};
    for (const char *at = row->inputs; *at && c.nin < MAX_INPUTS; at += strspn(at, ", ")) {
        size_t n = strcspn(at, ",");
        Input *in = &c.in[c.nin++];
        read_input(at, n, in);
        c.variadic = c.variadic || in->variadic;
        c.nnumbers += in->weak;
        at += n;
    }
    int visible = 0;
    for (; row->attrs[c.nattrs].name; c.nattrs++) visible += !is_drawn(&row->attrs[c.nattrs]);
    c.in_struct = visible > MAX_PLAIN;
    return c;
}

/* Attributes without a default are plain arguments always. */
static bool in_struct(const Call *c, const Attr *a) { return c->in_struct && *a->preset; }
static bool can_be_none(const Attr *a) { return !strcmp(a->preset, "None"); }

static const char *c_type(const Attr *a) {
    if (!strcmp(a->kind, "float")) return "double ";
    if (!strcmp(a->kind, "ints")) return "dip_Ints ";
    if (!strcmp(a->kind, "str")) return "const char *";
    if (!strcmp(a->kind, "dtype")) return can_be_none(a) ? "int " : "dip_DType ";
    if (!strcmp(a->kind, "bool") && !can_be_none(a)) return "bool ";
    return "int64_t ";
}

/* ---- the header */

/* In capitals; valid until the next call. */
static const char *upper(const char *text) {
    static char buf[64];
    size_t n = 0;
    for (; text[n] && n + 1 < sizeof buf; n++) buf[n] = (char)toupper((unsigned char)text[n]);
    buf[n] = 0;
    return buf;
}

static void print_dtype(const char *name) {
    for (size_t i = 0; name && i < sizeof dtypes / sizeof *dtypes; i++) {
        if (strcmp(dtypes[i][0], name)) continue;
        printf("DIP_%s", upper(dtypes[i][1]));
        return;
    }
    printf("-1");
}

/* The default as C writes it inside braces. */
static void print_default(const Attr *a) {
    const char *d = a->preset;
    bool none = can_be_none(a);
    if (!strcmp(a->kind, "str")) {
        printf("\"%s\"", d);
    } else if (!strcmp(a->kind, "ints")) {
        int n = 0;
        char list[128] = "";
        size_t at = 0;
        for (const char *p = none ? "" : d; *p;) {
            p += strcspn(p, "-0123456789");
            size_t digits = strspn(p, "-0123456789");
            if (!digits) break;
            at += (size_t)snprintf(list + at, sizeof list - at, n ? ", %.*s" : "%.*s", (int)digits,
                                   p);
            n++;
            p += digits;
        }
        printf("{%d, {%s}}", none ? -1 : n, n ? list : "0");
    } else if (!strcmp(a->kind, "dtype")) {
        print_dtype(none ? NULL : d);
    } else if (!strcmp(a->kind, "bool") && !none) {
        printf("%s", !strcmp(d, "True") ? "true" : "false");
    } else {
        printf("%s", none ? "DIP_NONE" : d);
    }
}

static void print_struct(const Call *c) {
    printf("typedef struct dip_%s_args {\n", c->row->name);
    for (int i = 0; i < c->nattrs; i++) {
        const Attr *a = &c->row->attrs[i];
        if (is_drawn(a) || !in_struct(c, a)) continue;
        printf("    %s", c_type(a));
        print_name(a->name);
        printf("; /* default %s */\n", a->preset);
    }
    printf("} dip_%s_args;\n", c->row->name);
    printf("#define DIP_%s_ARGS {", upper(c->row->name));
    for (int i = 0, first = 1; i < c->nattrs; i++) {
        const Attr *a = &c->row->attrs[i];
        if (is_drawn(a) || !in_struct(c, a)) continue;
        if (!first) printf(", ");
        first = 0;
        print_default(a);
    }
    printf("}\n");
}

/* ", " between the arguments, a new line where the next one would pass 100 columns. */
typedef struct ArgList {
    size_t column, indent;
    bool started;
} ArgList;

static void print_argument(ArgList *l, const char *type, const char *name, const char *end) {
    char text[160];
    snprintf(text, sizeof text, "%s%s%s%s", type, name, is_keyword(name) ? "_" : "", end);
    size_t n = strlen(text) + 2;
    if (l->started && l->column + n > 100) {
        printf(",\n%*s%s", (int)l->indent, "", text);
        l->column = l->indent + n;
    } else {
        printf("%s%s", l->started ? ", " : "", text);
        l->column += n;
    }
    l->started = true;
}

static void print_prototype(const Call *c, const char *before) {
    char text[80], end[8] = "";
    snprintf(text, sizeof text, "%sdip_Status dip_%s(", before, c->row->name);
    printf("%s", text);
    ArgList l = {strlen(text), strlen(text), false};
    for (int i = 0; i < c->nin; i++) {
        const Input *in = &c->in[i];
        if (in->variadic) print_argument(&l, "int ", "count", "");
        print_argument(&l,
                       in->variadic ? "dip_Tensor *const *"
                       : in->weak   ? "double "
                                    : "dip_Tensor *",
                       in->name, "");
    }
    for (int i = 0; i < c->nattrs; i++) {
        const Attr *a = &c->row->attrs[i];
        if (!is_drawn(a) && !in_struct(c, a)) print_argument(&l, c_type(a), a->name, "");
    }
    snprintf(text, sizeof text, "const dip_%s_args *", c->row->name);
    if (c->in_struct) print_argument(&l, text, "args", "");
    if (c->by_attrs) print_argument(&l, "int ", "nout", "");
    bool many = !c->by_attrs && strcmp(c->row->results, "1") != 0;
    if (many) snprintf(end, sizeof end, "[%s]", c->row->results);
    print_argument(&l, many ? "dip_Tensor *" : "dip_Tensor **", "out", end);
    printf(")");
}

/* Comment text wrapped at 96 columns. */
static void print_wrapped(const char *text) {
    size_t column = 2;
    while (*text) {
        size_t n = strcspn(text, " ");
        if (column + n > 96) {
            printf("\n *");
            column = 2;
        }
        printf(" %.*s", (int)n, text);
        column += n + 1;
        text += n;
        text += strspn(text, " ");
    }
}

static void print_doc(const Call *c) {
    printf("\n/*");
    print_wrapped(c->row->doc);
    if (strpbrk(c->row->inputs, "=*")) {
        printf("\n * Inputs:");
        print_wrapped(c->row->inputs);
        printf(".");
    }
    if (c->in_struct) printf("\n * args: NULL, or from DIP_%s_ARGS.", upper(c->row->name));
    for (int i = 0, first = 1; i < c->nattrs; i++) {
        const Attr *a = &c->row->attrs[i];
        if (is_drawn(a) || in_struct(c, a) || !*a->preset) continue;
        printf(first ? "\n * Usual: %s = %s" : ", %s = %s", a->name, a->preset);
        first = 0;
    }
    printf(" */\n");
}

static void print_header(void) {
    puts("/* One function an op, made from the op tables; docs/ops.md explains each op.\n"
         " *\n"
         " * Arguments: the inputs in the order of the table (NULL for an optional one left out,\n"
         " * `count, list` for any number, a double for a number), then the attributes: up to "
         "three as\n"
         " * plain arguments; of more, those with a default as a struct, NULL for all defaults:\n"
         " *\n"
         " *     dip_softmax(x, -1, &y);\n"
         " *     dip_one_hot_args args = DIP_ONE_HOT_ARGS;   the defaults\n"
         " *     args.dtype = DIP_F32;\n"
         " *     dip_one_hot(labels, 10, &args, &y);\n"
         " *\n"
         " * Results are new references, set only on success. \"Usual\" shows the defaults that\n"
         " * dip_call and Python use. */\n"
         "#ifndef DIPTYCH_OPS_H\n#define DIPTYCH_OPS_H\n\n#include \"diptych.h\"\n\n"
         "#ifdef __cplusplus\nextern \"C\" {\n#endif");
    for (int i = 0; i < NROWS; i++) {
        if (is_hidden(&rows[i])) continue;
        Call c = read_row(&rows[i]);
        print_doc(&c);
        if (c.in_struct) print_struct(&c);
        print_prototype(&c, "DIP_API ");
        printf(";\n");
    }
    puts("\n#ifdef __cplusplus\n}\n#endif\n#endif");
}

/* ---- the definitions */

static void print_attr(const Call *c, const Attr *a) {
    const char *from = in_struct(c, a) ? "args->" : "";
    if (is_drawn(a)) return;
    if (!strcmp(a->kind, "str") || !strcmp(a->kind, "ints")) {
        bool is_text = !strcmp(a->kind, "str");
        printf("    TRY(api_%s(\"%s\", \"%s\", %s%s", is_text ? "text" : "ints", c->row->name,
               a->name, is_text ? "" : "&", from);
        print_name(a->name);
        printf(", %sattrs.%s));\n", is_text ? "" : "&", a->name);
        return;
    }
    printf("    attrs.%s = %s", a->name, from);
    print_name(a->name);
    printf(";\n");
}

static void print_inputs(const Call *c) {
    printf("    dip_Tensor *in[] = {");
    for (int i = 0; i < c->nin - c->variadic; i++) {
        if (c->in[i].weak)
            printf("NULL");
        else
            print_name(c->in[i].name);
        printf(", ");
    }
    printf("NULL};\n");
    if (!c->nnumbers) return;
    printf("    const double numbers[] = {");
    for (int i = c->nin - c->nnumbers; i < c->nin; i++) {
        print_name(c->in[i].name);
        printf(i + 1 < c->nin ? ", " : "};\n");
    }
}

static void print_definition(const Call *c) {
    const char *name = c->row->name;
    printf("\n");
    print_prototype(c, "");
    printf(" {\n");
    if (c->in_struct) {
        printf("    static const dip_%s_args preset = DIP_%s_ARGS;\n", name, upper(name));
        printf("    if (!args) args = &preset;\n");
    }
    bool elementwise = c->row->attrs == no_attrs;
    if (!elementwise) printf("    attrs_%s attrs = {0};\n", name);
    for (int i = 0; i < c->nattrs; i++) print_attr(c, &c->row->attrs[i]);
    print_inputs(c);
    printf("    const ApiCall call = {op_get(OP_%s), %s, %d, in, %s, %d, %s};\n", name,
           elementwise ? "NULL" : "&attrs", c->nin - c->variadic, c->nnumbers ? "numbers" : "NULL",
           c->nnumbers, c->by_attrs ? "nout" : c->row->results);
    if (c->variadic) {
        printf("    return api_run_list(&call, count, ");
        print_name(c->in[c->nin - 1].name);
        printf(", out);\n}\n");
    } else {
        printf("    return api_run_numbers(&call, out);\n}\n");
    }
}

static void print_source(void) {
    puts("/* The functions of diptych_ops.h, made from the op tables. */\n"
         "#include \"diptych_ops.h\"\n\n#include \"api/api.h\"");
    for (int i = 0; i < NROWS; i++) {
        if (is_hidden(&rows[i])) continue;
        Call c = read_row(&rows[i]);
        print_definition(&c);
    }
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "header"))
        print_header();
    else if (argc == 2 && !strcmp(argv[1], "source"))
        print_source();
    else
        return fprintf(stderr, "usage: gen_ops_h header|source\n"), 2;
    return 0;
}
