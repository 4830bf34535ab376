/* Walks the op tables and refuses what a row may lack: a doc, a case, a kernel, an oracle reading,
 * a gradient decision, a signature and attributes that are well formed, a name of its own. (The
 * NumPy reference of each op is demanded by tests/python/test_cases.py.) */
#include <ctype.h>

#include "cases.h"
#include "kernels/kernel.h"
#include "oracle.h"
#include "test.h"

/* One complaint about one op. */
static void demand(bool good, const Op *op, const char *what) {
    if (CHECK(good)) return;
    fprintf(stderr, "  %s: %s\n", op->name, what);
}

static bool is_name(const char *s) {
    if (!islower((unsigned char)*s) && *s != '_') return false;
    for (; *s; s++)
        if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s) && *s != '_') return false;
    return true;
}

static int cases_of(const Op *op) {
    int n = 0;
    for (int i = 0; i < ncases; i++) n += !strcmp(cases[i].op, op->name);
    return n;
}

static void check_doc(const Op *op) {
    size_t n = strlen(op->doc);
    demand(n >= 4, op, "no doc");
    demand(n && op->doc[n - 1] == '.', op, "the doc does not end with a full stop");
    demand(op->hidden || cases_of(op), op, "no row in tests/cases.def");
}

/* Required inputs come first, then optional and weak ones, a variadic one last or alone. */
static void check_signature(const Op *op) {
    SigInput in[16];
    int n = op_signature(op, in);
    bool optional = false;
    for (int i = 0; i < n; i++) {
        demand(is_name(in[i].name), op, "an input name is not lower_case");
        demand(!in[i].is_variadic || i == n - 1, op, "a variadic input is not the last");
        bool may_miss = in[i].is_optional || in[i].is_weak || in[i].is_variadic;
        demand(may_miss || !optional, op, "a required input follows an optional one");
        optional |= may_miss;
        demand(!attr_find(op, in[i].name), op, "an input and an attribute share a name");
        for (int k = 0; k < i; k++)
            demand(strcmp(in[i].name, in[k].name) != 0, op, "two inputs share a name");
    }
    if (op->kind == K_EWISE) demand(n == op->nin_min, op, "the signature has another arity");
}

static void check_attrs(const Op *op) {
    int64_t attrs[CASE_ATTR_WORDS];
    demand(op->attrs_size <= sizeof attrs, op, "the attributes are larger than callers expect");
    attrs_init(op, attrs);
    for (int i = 0; i < op->nattrs; i++) {
        const AttrSpec *s = &op->attrs[i];
        demand(is_name(s->name), op, "an attribute name is not lower_case");
        demand(attr_find(op, s->name) == s, op, "two attributes share a name");
        demand(s->offset % 8 == 0 && s->offset < op->attrs_size, op, "an attribute is misplaced");
        if (*s->preset)
            demand(attr_parse(op, s, s->preset, attrs) == OK, op, "a default cannot be read");
    }
}

static void check_functions(const Op *op) {
    demand(op->infer, op, "no infer");
    demand(op->nout >= 0 || op->count, op, "results by attributes without a count");
    if (op->kind == K_MAP) demand(op->view, op, "a MAP op without a view");
    if (op->kind == K_RANDOM)
        demand(attr_find(op, "key") && attr_find(op, "counter"), op,
               "a random op without the attributes key and counter");
    if (op->kind != K_MAP && op->ew_index < 0)
        demand(kernel_exists(op->id) || op->expand, op,
               "neither a row in kernels.def nor an expansion");
    if (op->kind == K_EWISE) {
        bool in_float = op->ewclass != EW_INT && op->ewclass != EW_LOG;
        demand(!in_float || oracle_has_float(op), op, "no oracle in double");
        demand(op->ewclass == EW_FLT || oracle_has_int(op, false) || oracle_has_int(op, true), op,
               "no oracle for integers");
    }
}

/* Optimiser steps make new weights: not functions to differentiate. */
static bool is_update(const Op *op) {
    static const OpId updates[] = {
#define OP(name, ...) OP_##name,
#include "ops/update.def"
#undef OP
    };
    for (size_t i = 0; i < COUNT_OF(updates); i++)
        if (updates[i] == op->id) return true;
    return false;
}

/* Users see that an op has no gradient: visible rows without one say so by the nature of the op
 * (integers, truth values, positions, draws, optimisers), in the doc, or in this list. */
static const struct {
    const char *op, *why;
} without_gradient[] = {
    {"floor_div", "piecewise constant"},
    {"trunc_div", "piecewise constant"},
    {"trigamma", "its slope is not among the ops"},
    {"full_like", "does not read the values"},
    {"zeros_like", "does not read the values"},
    {"ones_like", "does not read the values"},
};

static bool gives_floats(const Op *op) {
    CasePlan p;
    bool floats = false;
    for (int i = 0; i < ncases && !floats; i++) {
        if (strcmp(cases[i].op, op->name) != 0 || !case_plan(&cases[i], &p)) continue;
        CaseRun r;
        case_run(&p, DT_NONE, DENSE, NO_LEAVES, &r);
        bool has_float_input = false;
        for (int k = 0; k < r.nin; k++)
            has_float_input |= r.in[k] && dtype_is_float(r.in[k]->type.dtype);
        for (int k = 0; k < r.nout; k++)
            floats |= has_float_input && dtype_is_float(r.out[k]->type.dtype);
        run_free(&r);
        case_done(&p);
    }
    return floats;
}

static void check_gradient(const Op *op) {
    demand(!op->grad || !op->expand || op->kind != K_EWISE, op, "two gradients");
    if (op->hidden || op->kind == K_RANDOM || is_update(op)) return;
    if (op_is_differentiable(op) || !gives_floats(op)) return;
    bool listed = strstr(op->doc, "o gradient") != NULL;
    for (size_t i = 0; i < COUNT_OF(without_gradient); i++)
        listed |= !strcmp(without_gradient[i].op, op->name);
    demand(listed, op,
           "floats in, floats out, and neither a gradient nor \"no gradient\" in its doc");
}

static void test_op(const Op *op) {
    demand(is_name(op->name), op, "the name is not lower_case");
    demand(op_find(op->name) == op, op, "another row has its name");
    check_signature(op);
    check_attrs(op);
    check_functions(op);
    check_doc(op);
    check_gradient(op);
    CLOSE(op->name);
}

static void test_case_ops(void) {
    for (int i = 0; i < ncases; i++) {
        const Op *op = op_find(cases[i].op);
        if (!CHECK(op)) fprintf(stderr, "  there is no op %s\n", case_text(&cases[i]));
        CHECK(cases[i].tolerance >= 0 && cases[i].tolerance < 0.1);
    }
}

static void test_primitives(void) {
    for (int i = 1; i < NOPS; i++)
        for (int k = 1; k < i; k++)
            if (op_table[i].prim && op_table[k].prim)
                demand(strcmp(op_table[i].prim, op_table[k].prim) != 0, &op_table[i],
                       "another row has its primitive class");
}

int main(void) {
    for (int id = 1; id < NOPS; id++) test_op(op_get((OpId)id));
    RUN(test_case_ops);
    RUN(test_primitives);
    return test_done("tables");
}
