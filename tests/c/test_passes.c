/* The runner of the passes, and that passes take time and stack in proportion to the graph. What
 * each pass does stands in tests/golden. */
#include "passes/passes.h"

#include <stdarg.h>

#include "graph/text.h"
#include "test.h"

static const PassOptions by_table = {.limit = -1, .verify = true};

static Graph *parse(const char *text) {
    Graph *g = NULL;
    CHECK_OK(graph_parse(text, &g));
    return g;
}

/* The graph after passes, as text. */
static char *after(const char *text, const PassOptions *o, PassCount *counts) {
    Graph *g = parse(text);
    if (!g) return strdup("");
    CHECK_OK(passes_run(g, o, counts));
    char *out = graph_print(g);
    graph_unref(g);
    return out;
}

static const char *const sample = "graph(%1: float32[3]) {\n"
                                  "  %2 = exp(%1) : float32[3]\n"
                                  "  %3 = neg(%2) : float32[3]\n"
                                  "  %4 = neg(%3) : float32[3]\n"
                                  "  return %4\n}\n";

static void gives(const PassOptions *o, const char *part, bool is_there) {
    char *text = after(sample, o, NULL);
    if (!CHECK((strstr(text, part) != NULL) == is_there)) fprintf(stderr, "%s", text);
    free(text);
}

static void test_all(void) {
    PassCount counts[NPASSES] = {0};
    char *text = after(sample, &by_table, counts);
    CHECK(!strstr(text, "neg"));
    CHECK(counts[PASS_rules].changes == 1 && counts[PASS_rules].runs == 2);
    CHECK(counts[PASS_dead].changes == 1);
    CHECK(counts[PASS_unroll].changes == 0 && counts[PASS_unroll].seconds >= 0);
    free(text);
}

static void test_some(void) {
    PassOptions o = by_table;
    o.only = "rules";
    gives(&o, "return %2", true);
    gives(&o, "%3 = neg", true);
    o.only = "dead, rules, dead";
    gives(&o, "neg", false);
    o = by_table;
    o.skip = "rules";
    gives(&o, "%4 = neg", true);
    o.skip = "all";
    gives(&o, "%4 = neg", true);
    o = by_table;
    o.limit = 0;
    gives(&o, "%4 = neg", true);
    o.limit = PASS_rules + 1;
    gives(&o, "return %2", true);
    gives(&o, "%3 = neg", true);
}

static void test_unknown_names(void) {
    Graph *g = parse(sample);
    PassOptions o = by_table;
    o.skip = "fold,foo";
    CHECK_FAILS(passes_run(g, &o, NULL), VALUE, "there is no pass 'foo'; passes: branches, fold");
    o = by_table;
    o.dump = "x";
    CHECK_FAILS(passes_run(g, &o, NULL), VALUE, "there is no pass 'x'");
    o = by_table;
    o.only = "fold,al";
    CHECK_FAILS(passes_run(g, &o, NULL), VALUE, "there is no pass 'al'");
    graph_unref(g);
}

/* ---- large graphs */

enum { MANY = 20000 };

static char *buffer;
static size_t used;
DIP_PRINTF(1, 2) static void put(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    used += (size_t)vsprintf(buffer + used, fmt, args);
    va_end(args);
}

static void check_large(const char *part) {
    PassOptions all = by_table;
    all.levels = (PassLevels){.close = true, .memory = 2};
    const PassOptions *options[] = {&by_table, &all};
    for (int i = 0; i < 2; i++) {
        char *text = after(buffer, options[i], NULL);
        CHECK(strstr(text, part));
        free(text);
    }
}

static void test_long_chain(void) {
    used = 0;
    put("graph(%%1: float32[3]) {\n");
    for (int i = 1; i < MANY; i++) {
        put("  %%%d = %s(%%%d) : float32[3]\n", 2 * i, i % 3 ? "neg" : "exp", 2 * i - 1);
        put("  %%%d = add(%%%d, %%%d) : float32[3]\n", 2 * i + 1, 2 * i, 2 * i - 1);
    }
    put("  return %%%d\n}\n", 2 * MANY - 1);
    check_large("return");
}

static void test_deep_nesting(void) {
    used = 0;
    put("graph(%%1: float32[3], %%2: bool[]) {\n");
    for (int i = 0; i < MANY; i++) put("if %%2 {\n");
    put("host f(%%1)\n");
    for (int i = 0; i < MANY; i++) put("yield\n} else {\nyield\n}\n");
    put("  return %%1\n}\n");
    check_large("  if %2 {\n    host f(%1)\n    yield\n");
}

static void test_many_branches(void) {
    used = 0;
    put("graph(%%1: float32[3], %%2: bool[]) {\n");
    for (int i = 1; i < MANY; i++)
        put("%%%d = if %%2 {\n%%%d = exp(%%%d) : float32[3]\nyield %%%d\n} else {\nyield %%%d\n} : "
            "float32[3]\n",
            2 * i + 1, 2 * i + 2, i > 1 ? 2 * i - 1 : 1, 2 * i + 2, i > 1 ? 2 * i - 1 : 1);
    put("  return %%%d\n}\n", 2 * MANY - 1);
    check_large("yield");
}

/* Many values that are read at once, many nodes that are ready at once, many recomputed ones. */
static void test_wide(void) {
    used = 0;
    put("graph(%%1: float32[3]) {\n");
    for (int i = 1; i < MANY; i++) put("  %%%d = exp(%%1) : float32[3] again 1\n", i + 1);
    for (int i = 1; i < MANY; i++) put("  %%%d = sin(%%%d) : float32[3] kept 1\n", MANY + i, i + 1);
    for (int i = 1; i < MANY; i++)
        put("  %%%d = mul(%%%d, %%%d) : float32[3]\n", 2 * MANY + i, MANY + i, i + 1);
    put("  %%%d = concat(%%%d", 3 * MANY, 2 * MANY + 1);
    for (int i = 2; i < MANY; i++) put(", %%%d", 2 * MANY + i);
    put(", axis=0) : float32[%d]\n  return %%%d\n}\n", 3 * (MANY - 1), 3 * MANY);
    PassOptions o = by_table;
    o.only = "recompute,order,schedule";
    char *text = after(buffer, &o, NULL);
    CHECK(strstr(text, "concat"));
    free(text);
}

int main(void) {
    buffer = malloc(300 * MANY);
    RUN(test_all);
    RUN(test_some);
    RUN(test_unknown_names);
    RUN(test_long_chain);
    RUN(test_deep_nesting);
    RUN(test_many_branches);
    RUN(test_wide);
    free(buffer);
    return test_done("passes");
}
