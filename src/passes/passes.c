/* The runner of the passes. */
#include "passes/passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph/text.h"

enum { MOST_ROUNDS = 4 };

const Pass pass_table[NPASSES] = {
#define PASS(name, when, where, doc) {#name, doc, when, where, pass_##name},
#include "passes/passes.def"
};

/* ---- lists of names */

/* The next name of "a,b" at *list, which moves behind it; false: there is none. */
static bool next_name(const char **list, const char **name, size_t *n) {
    *list += strspn(*list, ", ");
    *name = *list;
    *n = strcspn(*list, ", ");
    *list += *n;
    return *n > 0;
}

static bool is_name(const char *name, size_t n, const char *of) {
    return strlen(of) == n && !memcmp(name, of, n);
}

static bool is_listed(const char *list, const char *pass) {
    const char *name;
    size_t n;
    while (list && next_name(&list, &name, &n))
        if (is_name(name, n, pass) || is_name(name, n, "all")) return true;
    return false;
}

static const Pass *find_pass(const char *name, size_t n) {
    for (int i = 0; i < NPASSES; i++)
        if (is_name(name, n, pass_table[i].name)) return &pass_table[i];
    return NULL;
}

static Status unknown_pass(const char *name, size_t n) {
    char known[400] = "";
    size_t at = 0;
    for (int i = 0; i < NPASSES && at < sizeof known; i++)
        at +=
            (size_t)snprintf(known + at, sizeof known - at, i ? ", %s" : "%s", pass_table[i].name);
    return FAIL(VALUE, "there is no pass '%.*s'; passes: %s", (int)n, name, known);
}

static Status check_names(const char *list) {
    const char *name;
    size_t n;
    while (list && next_name(&list, &name, &n))
        if (!is_name(name, n, "all") && !find_pass(name, n)) return unknown_pass(name, n);
    return OK;
}

/* ---- one pass */

typedef struct Run {
    Graph *g;
    const PassOptions *o;
    PassCount *counts;
    long left; /* runs still allowed; negative: any number */
} Run;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void dump(const Pass *p, const char *before, const Graph *g) {
    char *after = graph_print(g);
    fprintf(stderr, "# before %s\n%s# after %s\n%s", p->name, before, p->name, after);
    free(after);
}

static Status run_pass(Run *r, const Pass *p, uint32_t *changes) {
    *changes = 0;
    if (is_listed(r->o->skip, p->name) || r->left == 0) return OK;
    r->left--;
    char *before = is_listed(r->o->dump, p->name) ? graph_print(r->g) : NULL;
    double start = now();
    *changes = p->run(r->g);
    double seconds = now() - start;
    if (before && *changes) dump(p, before, r->g);
    free(before);
    if (r->o->log && *changes)
        fprintf(stderr, "pass %-10s %6u changes, %.3f ms\n", p->name, *changes, 1e3 * seconds);
    PassCount *c = r->counts ? &r->counts[p - pass_table] : NULL;
    if (c) c->runs++, c->changes += *changes, c->seconds += seconds;
    Status status = r->o->verify ? graph_verify(r->g) : OK;
    if (status != OK) error_prefix("after pass %s: ", p->name);
    return status;
}

/* ---- all of them */

static Status run_only(Run *r) {
    const char *list = r->o->only, *name;
    size_t n;
    uint32_t changes;
    while (next_name(&list, &name, &n)) {
        const Pass *p = find_pass(name, n);
        if (!p) return unknown_pass(name, n);
        TRY(run_pass(r, p, &changes));
    }
    return OK;
}

static bool is_asked_for(const Run *r, PassWhere where) {
    switch (where) {
    case ALWAYS: return true;
    case CLOSE: return r->o->levels.close;
    case MEMORY: return r->o->levels.memory >= 1;
    case AGAIN: return r->o->levels.memory >= 2;
    }
    return false;
}

static Status run_all(Run *r, PassWhen when, uint32_t *changes) {
    *changes = 0;
    for (int i = 0; i < NPASSES; i++) {
        uint32_t more;
        if (pass_table[i].when != when || !is_asked_for(r, pass_table[i].where)) continue;
        TRY(run_pass(r, &pass_table[i], &more));
        *changes += more;
    }
    return OK;
}

Status passes_run(Graph *g, const PassOptions *o, PassCount *counts) {
    Run r = {g, o, counts, o->limit};
    uint32_t changes = 1;
    TRY(check_names(o->dump));
    TRY(check_names(o->skip));
    if (o->only) return run_only(&r);
    for (int round = 0; round < MOST_ROUNDS && changes; round++) TRY(run_all(&r, ROUNDS, &changes));
    return run_all(&r, LAST, &changes);
}

PassOptions pass_options(void) {
    const char *limit = getenv("DIPTYCH_PASS_LIMIT"), *log = getenv("DIPTYCH_LOG");
    const char *verify = getenv("DIPTYCH_VERIFY");
    PassOptions o = {.dump = getenv("DIPTYCH_DUMP"), .skip = getenv("DIPTYCH_SKIP"), .limit = -1};
    if (limit && *limit) o.limit = strtol(limit, NULL, 10);
    o.log = log && strstr(log, "passes");
    o.verify = verify && !strcmp(verify, "1");
#ifndef NDEBUG
    o.verify = true;
#endif
    return o;
}

/* New values of parameters are results of the body, behind the outputs. */
static void update_params(Program *p) {
    const Value *result = p->graph->regions[BODY].results + p->noutputs;
    for (uint32_t i = 0; i < p->nparams; i++) {
        if (p->params[i].new_value) p->params[i].new_value = *result++;
        if (p->params[i].new_grad) p->params[i].new_grad = *result++;
    }
}

Status program_optimize(Program *p, PassLevels levels) {
    PassOptions o = pass_options();
    o.levels = levels;
    TRY(passes_run(p->graph, &o, NULL));
    update_params(p);
    return OK;
}
