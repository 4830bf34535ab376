/* A run: inputs are gathered and checked, then the plan or the graph itself is run. */
#include "run/run.h"

#include <stdlib.h>

static _Thread_local const Graph *failed_in;
static _Thread_local const Line *failed_at;

const Line *run_failed_at(void) { return failed_at; }
const Line *run_also_at(const Line *line) {
    return line->also ? &failed_in->lines[line->also] : NULL;
}
void run_note_failure(const Graph *g, uint32_t line) {
    failed_in = g;
    failed_at = line ? &g->lines[line] : NULL;
}

Status run_commit(const Program *p, const Outcome *o, Tensor **out) {
    const Value *results = p->graph->regions[BODY].results, *next = results + p->noutputs;
    for (uint32_t i = 0; i < p->noutputs; i++) out[i] = o->value_of(o->run, results[i]);
    for (uint32_t i = 0; i < p->nparams; i++) {
        const ParamTrace *t = &p->params[i];
        bool stays = t->new_value && o->is_in_place && o->is_in_place(o->run, i);
        if (t->new_value && !stays) param_take(t->param, o->value_of(o->run, *next));
        next += t->new_value != 0;
        AUTO_TENSOR grad = t->new_grad ? o->value_of(o->run, *next++) : NULL;
        if (t->new_grad || t->drops_grad) TRY(param_set_grad(t->param, grad));
        if (t->param->handle && capture_shows) capture_shows(t->param);
    }
    return OK;
}

static void free_plan(void *plan) { plan_free(plan); }

static bool is_up_to_date(const Plan *p) {
    PlanSettings now = plan_settings();
    return p->settings.threads == now.threads && p->settings.shares == now.shares &&
           p->settings.branches == now.branches;
}

const Plan *program_plan(Program *p) {
    Plan *plan = p->plan;
    if (plan && !is_up_to_date(plan) && !plan->is_running) {
        plan_free(plan);
        p->plan = plan = NULL;
        p->has_no_plan = false;
    }
    if (plan || p->has_no_plan) return plan;
    p->has_no_plan = plan_make(p, &plan) != OK;
    if (p->has_no_plan) return NULL;
    p->plan = plan;
    p->plan_free = free_plan;
    return plan;
}

int program_inputs(const Program *p) {
    int n = (int)p->graph->ninputs;
    for (uint32_t i = 0; i < p->nparams; i++) n -= 1 + (p->params[i].grad != 0);
    return n;
}

static Status check_input(const char *what, int i, const Tensor *t, const TensorType *want) {
    if (!t)
        return FAIL(RUNTIME, "a parameter has lost the gradient that a compiled function reads");
    TRY(tensor_check_values(t, "a compiled function"));
    if (type_equal(&t->type, want)) return OK;
    char one[200], two[200];
    return FAIL(VALUE, "%s %d of a compiled function is %s; it was compiled for %s", what, i,
                type_text(&t->type, one, sizeof one), type_text(want, two, sizeof two));
}

static Status gather(const Program *p, int nin, Tensor *const *in, Tensor **inputs) {
    int given = 0;
    if (nin != program_inputs(p))
        return FAIL(VALUE, "a compiled function takes %d inputs, %d were given", program_inputs(p),
                    nin);
    for (uint32_t i = 0; i < p->graph->ninputs; i++) {
        const TensorType *type = graph_type(p->graph, p->graph->inputs[i]);
        int32_t from = p->sources[i];
        if (from == SOURCE_CALLER) {
            inputs[i] = in[given++];
            TRY(check_input("input", given - 1, inputs[i], type));
            continue;
        }
        const Param *param = p->params[from / 2].param;
        inputs[i] = from % 2 ? param->grad : param->value;
        TRY(check_input("parameter", from / 2, inputs[i], type));
    }
    return OK;
}

static bool all_dense(uint32_t n, Tensor *const *t) {
    for (uint32_t i = 0; i < n; i++)
        if (!t[i]->dense) return false;
    return true;
}

static Status run(Program *p, int nin, Tensor *const *in, Tensor **out, bool planned) {
    if (capture_is_on())
        return FAIL(RUNTIME, "a compiled program cannot run while another one is captured");
    Tensor **inputs = malloc((p->graph->ninputs + 1) * sizeof *inputs);
    if (!inputs) abort(); /* bookkeeping: the pool_small policy */
    bool was = tape_set(false);
    failed_at = NULL;
    Status status = gather(p, nin, in, inputs);
    if (status == OK) {
        Plan *plan =
            planned && all_dense(p->graph->ninputs, inputs) ? (Plan *)program_plan(p) : NULL;
        if (plan && !atomic_exchange(&plan->is_running, true)) {
            status = plan_replay(plan, inputs, out);
            plan->is_running = false;
        } else {
            status = program_interpret(p, inputs, out);
        }
    }
    tape_set(was);
    free(inputs);
    return status;
}

Status program_run(Program *p, int nin, Tensor *const *in, Tensor **out) {
    return run(p, nin, in, out, true);
}
Status program_run_nodes(Program *p, int nin, Tensor *const *in, Tensor **out) {
    return run(p, nin, in, out, false);
}

bool program_fits(const Program *p) {
    for (uint32_t i = 0; i < p->nparams; i++) {
        const ParamTrace *t = &p->params[i];
        if (!type_equal(&t->param->value->type, graph_type(p->graph, t->value)) ||
            (t->param->grad != NULL) != (t->grad != 0) ||
            t->param->requires_grad != t->requires_grad)
            return false;
    }
    return true;
}

Status program_record(Program *p, int nin, Tensor *const *in, Tensor *const *values, Tensor **out) {
    if (capture_is_on())
        return FAIL(RUNTIME, "a compiled program cannot run while another one is captured");
    if (p->graph->has_custom)
        return FAIL(UNSUPPORTED,
                    "gradients of gradients, or of loops on tensors, of a compiled function: what "
                    "it makes constant (stop_gradient, no_grad) and gradients of its own (bprop, "
                    "vjp, hook) would be lost; compile the function that takes the gradient");
    Tensor **inputs = malloc((p->graph->ninputs + 1) * sizeof *inputs);
    if (!inputs) abort(); /* bookkeeping: the pool_small policy */
    failed_at = NULL;
    Status status = gather(p, nin, in, inputs);
    for (uint32_t i = 0; i < p->graph->ninputs; i++)
        if (p->sources[i] >= 0 && p->sources[i] % 2 == 0) inputs[i] = values[p->sources[i] / 2];
    if (status == OK) status = program_interpret_recorded(p, inputs, out);
    free(inputs);
    return status;
}
