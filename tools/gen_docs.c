/* Prints docs/ops.md from the op tables, docs/passes.md from that of the passes.
 *
 *     gen_docs ops > docs/ops.md       write it
 *     gen_docs ops --check FILE        compare: a test, so that the file cannot be stale */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/passes.h"

/* ---- what only the rows know: family, and the value in words */

typedef struct Family {
    const char *title, *about;
    const OpId *ops;
    int n;
} Family;

#define EW1(name, ...) OP_##name,
#define EW2(name, ...) OP_##name,
#define EW3(name, ...) OP_##name,
#define PR1(name, ...) OP_##name,
#define PR2(name, ...) OP_##name,
static const OpId elementwise[] = {
#include "ops/ewise.def"
};
#define OP(name, ...) OP_##name,
static const OpId shape[] = {
#include "ops/shape.def"
};
static const OpId reductions[] = {
#include "ops/reductions.def"
};
static const OpId algebra[] = {
#include "ops/algebra.def"
};
static const OpId conv[] = {
#include "ops/conv.def"
};
static const OpId nn[] = {
#include "ops/nn.def"
};
static const OpId image[] = {
    OP_NONE,
#include "ops/image.def"
};
static const OpId create[] = {
#include "ops/create.def"
};
static const OpId indexing[] = {
#include "ops/index.def"
};
static const OpId random_ops[] = {
    OP_NONE,
#include "ops/random.def"
};
static const OpId update[] = {
#include "ops/update.def"
};
#undef OP

#define FAMILY(title, list, about)                                                                 \
    { title, about, list, (int)(sizeof(list) / sizeof *(list)) }
static const Family families[] = {
    FAMILY("Elementwise", elementwise,
           "Inputs broadcast against each other and meet in one dtype (semantics.md, Promotion). "
           "Values are in the words of src/ops/words_names.h, with x, y, z for the inputs."),
    FAMILY("Shape and movement", shape, "Views where the layout allows it; no arithmetic."),
    FAMILY("Reductions", reductions, "semantics.md, Reductions, says in which order they add up."),
    FAMILY("Algebra", algebra, ""),
    FAMILY("Convolution and pooling", conv, ""),
    FAMILY("Networks", nn, ""),
    FAMILY("Images", image, ""),
    FAMILY("Creation", create, ""),
    FAMILY("Indexing, sorting, scattering", indexing, ""),
    FAMILY("Random", random_ops, "semantics.md, Random numbers."),
    FAMILY("Optimiser steps", update,
           "New values of weights and state; the Python and C optimisers call them."),
};

#define EW1(name, prim, class, sig, value, ...) [OP_##name] = #value,
#define EW2(name, prim, class, sig, value, ...) [OP_##name] = #value,
#define EW3(name, prim, class, sig, value, ...) [OP_##name] = #value,
#define PR1(name, prim, class, sig, value, ...) [OP_##name] = #value,
#define PR2(name, prim, class, sig, value, ...) [OP_##name] = #value,
static const char *const values[NOPS] = {
#include "ops/ewise.def"
};

/* ---- one op */

/* "conv2d(input, weight, bias=None, *, stride=(1, 1))": attributes are keywords. */
static void print_call(FILE *f, const Op *op) {
    fprintf(f, "%s(%s", op->name, op->sig);
    const char *between = *op->sig ? ", " : "";
    for (int i = 0; i < op->nattrs; i++) {
        const AttrSpec *s = &op->attrs[i];
        if (op->kind == K_RANDOM && (!strcmp(s->name, "key") || !strcmp(s->name, "counter")))
            continue; /* filled in by the library */
        bool is_text = s->kind == ATTR_STR && *s->preset;
        fprintf(f, *s->preset ? "%s%s=%s%s%s" : "%s%s", between, s->name, is_text ? "\"" : "",
                s->preset, is_text ? "\"" : "");
        between = ", ";
    }
    fputc(')', f);
}

static const char *types_of(const Op *op) {
    static const char *const classes[] = {
        [EW_ANY] = "every dtype",
        [EW_NUM] = "every dtype but bool",
        [EW_FLT] = "floats; integers and bool become float32",
        [EW_INT] = "integers and bool",
        [EW_LOG] = "every dtype, read as truth values; gives bool",
        [EW_WHERE] = "every dtype; the condition takes no part in promotion",
    };
    if (op->kind == K_EWISE) return classes[op->ewclass];
    if (op->rule == RULE_SAME) return "inputs meet in one dtype";
    if (op->rule == RULE_FLOAT) return "inputs meet in one float dtype";
    return NULL;
}

static void print_gradient(FILE *f, const Op *op) {
    if (op->kind != K_EWISE) {
        fputs(op_is_differentiable(op) ? "Differentiable." : "No gradient.", f);
        return;
    }
    SigInput in[16];
    int n = op_signature(op, in), have = 0;
    for (int i = 0; i < n; i++) {
        if (!ewise_has_grad(op, i)) continue;
        fprintf(f, have++ ? ", `%s`" : "Gradient for `%s`", in[i].name);
    }
    fputs(have ? "." : "No gradient.", f);
}

static void print_op(FILE *f, const Op *op) {
    fprintf(f, "\n### %s\n\n`", op->name);
    print_call(f, op);
    fprintf(f, "`\n\n%s\n\n", op->doc);
    if (values[op->id]) fprintf(f, "Value `%s`. ", values[op->id]);
    const char *types = types_of(op);
    if (types) fprintf(f, "Dtypes: %s. ", types);
    print_gradient(f, op);
    if (op->prim) fprintf(f, " Primitive `%s`.", op->prim);
    fputc('\n', f);
}

static void print_family(FILE *f, const Family *family) {
    int n = 0;
    for (int i = 0; i < family->n; i++) {
        const Op *op = op_get(family->ops[i]);
        if (op->id == OP_NONE || op->hidden) continue;
        if (n++ == 0) fprintf(f, "\n## %s\n", family->title);
        if (n == 1 && *family->about) fprintf(f, "\n%s\n", family->about);
        print_op(f, op);
    }
}

static void print_ops(FILE *f) {
    int n = 0;
    for (int id = 1; id < NOPS; id++) n += !op_table[id].hidden;
    fprintf(f,
            "# Ops\n\n"
            "The %d ops of the table, made by `make docs` from `src/ops/*.def`. In Python "
            "`ms.ops.relu(x)`\nand, with a primitive's name, `ms.ops.ReLU()(x)`; in C "
            "`dip_relu(x, &y)` or `dip_call(\"relu\", ...)`.\nInputs come first: `=None` may be "
            "left out, `=1.0` is a Python number, `*` takes any number of\ntensors; then "
            "attributes by keyword. Wrong shapes, dtypes and values raise an error that names\n"
            "the op, the argument and the legal range.\n",
            n);
    for (size_t i = 0; i < COUNT_OF(families); i++) print_family(f, &families[i]);
}

/* ---- passes */

static void print_passes(FILE *f) {
    fprintf(
        f,
        "# Passes\n\n"
        "What happens to a captured graph before it runs, in this order; made by `make docs` from\n"
        "`src/passes/passes.def`. Results keep every bit unless a pass says otherwise. `jit_level` "
        "and\n"
        "`memory_optimize_level` are settings of `set_context`; `jit` takes `jit_level` too.\n\n"
        "| pass | what it does | when | bits |\n| --- | --- | --- | --- |\n");
    for (int i = 0; i < NPASSES; i++) {
        const Pass *p = &pass_table[i];
        fprintf(f, "| `%s` | %s | %s | %s |\n", p->name, p->doc,
                p->where == CLOSE    ? "in rounds, at `jit_level` O1"
                : p->where == MEMORY ? "once, last, at `memory_optimize_level` O1 and O2"
                : p->where == AGAIN  ? "once, last, at `memory_optimize_level` O2"
                : p->when == ROUNDS  ? "in rounds"
                                     : "once, last",
                p->where == CLOSE ? "may round differently" : "the same");
    }
    fputs(
        "\nThe passes that run in rounds start again while one of them finds something, four times "
        "at "
        "most.\n\n"
        "`dip-opt` runs passes over the text form of a graph: `dip-opt -p fold,dead FILE`. For a\n"
        "program that goes wrong, settings of the environment say which pass does it:\n\n"
        "| setting | effect |\n| --- | --- |\n"
        "| `DIPTYCH_DUMP=NAME,...` | prints the graph before and after these passes to stderr, "
        "where "
        "they changed it; `all`: every pass |\n"
        "| `DIPTYCH_SKIP=NAME,...` | leaves them out; `all`: every pass |\n"
        "| `DIPTYCH_PASS_LIMIT=N` | only the first N runs of passes in each graph: halve N to find "
        "the run that does wrong |\n"
        "| `DIPTYCH_LOG=passes` | a line for each pass that changed something: changes, time |\n"
        "| `DIPTYCH_VERIFY=1` | checks the graph after each pass; always so in debug builds |\n",
        f);
}

/* ---- the program */

typedef void (*PrintFn)(FILE *f);

static int check(PrintFn print, const char *path) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size), *f = fopen(path, "r");
    print(memory);
    fclose(memory);
    bool same = f != NULL;
    for (size_t i = 0; same && i <= size; i++) same = fgetc(f) == (i < size ? text[i] : EOF);
    if (f) fclose(f);
    free(text);
    if (!same) fprintf(stderr, "%s does not fit the tables: run `make docs`\n", path);
    printf("docs: %d passed, %d failed\n", same, !same);
    return !same;
}

int main(int argc, char **argv) {
    PrintFn print = NULL;
    if (argc > 1 && !strcmp(argv[1], "ops")) print = print_ops;
    if (argc > 1 && !strcmp(argv[1], "passes")) print = print_passes;
    if (print && argc == 4 && !strcmp(argv[2], "--check")) return check(print, argv[3]);
    if (!print || argc != 2) {
        fprintf(stderr, "usage: gen_docs ops|passes [--check FILE]\n");
        return 2;
    }
    print(stdout);
    return 0;
}
