/* Graphs for C programs: compiling by tracing, running, branches and loops. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/memory.h"
#include "eager/capture.h"
#include "graph/text.h"
#include "passes/passes.h"
#include "run/run.h"

struct dip_Graph {
    Program *program;
};

static Status check_tensors(const char *what, int n, Tensor *const *t) {
    if (n < 0 || (n && !t)) return FAIL(VALUE, "%s: a list of %d tensors is NULL", what, n);
    for (int i = 0; i < n; i++)
        if (!t[i]) return FAIL(VALUE, "%s: tensor %d is NULL", what, i);
    return OK;
}

static void drop(int n, Tensor **t) {
    for (int i = 0; i < n; i++) {
        tensor_unref(t[i]);
        t[i] = NULL;
    }
}

/* Calls f; what it left NULL is an error. On failure out holds nothing. */
static Status call(dip_Function f, int nin, Tensor *const *in, int nout, Tensor **out) {
    memset(out, 0, (size_t)nout * sizeof *out);
    Status status = f.call(f.ctx, nin, in, nout, out);
    for (int i = 0; i < nout && status == OK; i++)
        if (!out[i]) status = FAIL(VALUE, "a function left its result %d NULL", i);
    if (status != OK) drop(nout, out);
    return status;
}

/* ---- compiling */

static Status trace(Capture *c, dip_Function f, int nin, Tensor *const *like, int nout,
                    Program **out) {
    Tensor **in = checked(calloc((size_t)(nin + nout) + 1, sizeof *in)), **results = in + nin;
    for (int i = 0; i < nin; i++) in[i] = capture_input(c, &like[i]->type);
    Status status = capture_begin(c);
    if (status == OK) status = call(f, nin, in, nout, results);
    if (status == OK) status = capture_finish(c, nout, results, out);
    drop(nin + nout, in);
    free(in);
    return status;
}

dip_Status dip_compile(dip_Function f, int nin, dip_Tensor *const *like, int nout,
                       dip_Graph **out) {
    NEED("compile", out, "out");
    if (!f.call || nout < 0) return FAIL(VALUE, "compile: the function is NULL, or nout negative");
    TRY(check_tensors("compile", nin, like));
    Capture *c = capture_new();
    Program *program;
    Status status = trace(c, f, nin, like, nout, &program);
    capture_free(c);
    if (status == OK) status = program_optimize(program, (PassLevels){0});
    TRY(status);
    dip_Graph *g = checked(calloc(1, sizeof *g));
    g->program = program;
    *out = g;
    return OK;
}

void dip_graph_free(dip_Graph *g) {
    if (!g) return;
    program_unref(g->program);
    free(g);
}

dip_Status dip_graph_run(dip_Graph *g, int nin, dip_Tensor *const *in, int nout, dip_Tensor **out) {
    NEED("graph_run", g, "g");
    TRY(check_tensors("graph_run", nin, in));
    if (nout != (int)g->program->noutputs || (nout && !out))
        return FAIL(VALUE, "graph_run: room for %d results, the function has %u", nout,
                    g->program->noutputs);
    Status status = program_run(g->program, nin, in, out);
    const Line *line = run_failed_at();
    if (status != OK && line) error_prefix("%s:%d: ", line->file, line->line);
    return status;
}

dip_Status dip_graph_info(dip_Graph *g, dip_GraphInfo *out) {
    NEED("graph_info", g, "g");
    NEED("graph_info", out, "out");
    *out = (dip_GraphInfo){.nodes = g->program->graph->nnodes - 1};
    const Plan *p = program_plan(g->program);
    if (!p) return OK;
    out->steps = p->nsteps;
    out->arena = p->arena;
    out->results = plan_results(p);
    return OK;
}

char *dip_graph_text(const dip_Graph *g) { return g ? graph_print(g->program->graph) : NULL; }

/* ---- branches and loops */

static bool is_symbolic(Tensor *t) {
    Tensor *mapped;
    return capture_is_on() && capture_inputs(1, &t, &mapped);
}

typedef struct CondSide {
    dip_Function f;
    int nin, nout;
    Tensor *const *in;
} CondSide;

static Status run_side(void *ctx, Tensor **out) {
    const CondSide *s = ctx;
    return call(s->f, s->nin, s->in, s->nout, out);
}

dip_Status dip_cond(dip_Tensor *condition, dip_Function then, dip_Function otherwise, int nin,
                    dip_Tensor *const *in, int nout, dip_Tensor **out) {
    NEED("cond", condition, "condition");
    TRY(check_tensors("cond", nin, in));
    if (!then.call || !otherwise.call || nout < 0 || (nout && !out))
        return FAIL(VALUE, "cond: a function or out is NULL, or nout negative");
    if (condition->type.dtype != DT_bool || condition->type.rank)
        return FAIL(TYPE, "cond: the condition must be bool[]");
    if (!is_symbolic(condition))
        return call(condition->data[0] ? then : otherwise, nin, in, nout, out);
    CondSide a = {then, nin, nout, in}, b = {otherwise, nin, nout, in};
    return capture_branches(capture_now, condition, (Branch){run_side, &a}, (Branch){run_side, &b},
                            nout, out);
}

static Status eager_while(dip_Function test, dip_Function body, int n, Tensor *const *init,
                          Tensor **out) {
    Tensor **next = checked(calloc((size_t)n + 1, sizeof *next));
    for (int i = 0; i < n; i++) out[i] = tensor_ref(init[i]);
    Status status = OK;
    for (;;) {
        AUTO_TENSOR flag = NULL;
        status = call(test, n, out, 1, &flag);
        if (status == OK && (flag->type.dtype != DT_bool || flag->type.rank))
            status = FAIL(TYPE, "while: the test must give bool[]");
        if (status != OK || !flag->data[0]) break;
        status = call(body, n, out, n, next);
        if (status != OK) break;
        drop(n, out);
        memcpy(out, next, (size_t)n * sizeof *out);
    }
    if (status != OK) drop(n, out);
    free(next);
    return status;
}

static Status captured_while(dip_Function test, dip_Function body, int n, Tensor *const *init,
                             Tensor **out) {
    Capture *c = capture_now;
    Tensor **params = checked(calloc(2 * (size_t)n + 1, sizeof *params)), **next = params + n;
    AUTO_TENSOR flag = NULL;
    Loop loop;
    Status status = capture_loop(c, n, init, &loop, params);
    if (status == OK) {
        capture_enter(c, loop.condition);
        status = call(test, n, params, 1, &flag);
        capture_leave(c);
        capture_enter(c, loop.body);
        if (status == OK) status = call(body, n, params, n, next);
        capture_leave(c);
        if (status == OK) status = capture_while(c, &loop, flag, next, out);
        loop_done(&loop);
    }
    drop(2 * n, params);
    free(params);
    return status;
}

dip_Status dip_while(dip_Function test, dip_Function body, int n, dip_Tensor *const *init,
                     dip_Tensor **out) {
    TRY(check_tensors("while", n, init));
    if (!test.call || !body.call || (n && !out))
        return FAIL(VALUE, "while: a function or out is NULL");
    return capture_is_on() ? captured_while(test, body, n, init, out)
                           : eager_while(test, body, n, init, out);
}
