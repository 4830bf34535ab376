/* Running a captured program. */
#ifndef DIP_RUN_H
#define DIP_RUN_H

#include "eager/capture.h"
#include "plan/plan.h"

/* One run: in[nin] are the inputs that are not parameters, in the order of their making; out gets
 * the program's outputs. Parameters that the program writes get their new values after everything
 * has succeeded; after a failure they, the random state and what prints to the outside are as
 * before. By its plan, made at the first run; node by node when there is none, when an input is not
 * dense or while the same plan runs on another thread. */
Status program_run(Program *p, int nin, Tensor *const *in, Tensor **out);
/* The same, always node by node: the reference. */
Status program_run_nodes(Program *p, int nin, Tensor *const *in, Tensor **out);
/* Whether its parameters are as they were captured: dtype, sizes, wanted gradients and which of
 * them have one. */
bool program_fits(const Program *p);
/* One run through the eager tape: results depend on in[] and on values[nparams], which stand for
 * the parameters' values. Nothing is written, nothing is called late. */
Status program_record(Program *p, int nin, Tensor *const *in, Tensor *const *values, Tensor **out);
/* Where in the user's source the node stands that made the last run on this thread fail; NULL: not
 * known. Valid while the program lives. */
const Line *run_failed_at(void);
/* The next of the places where the call stands, when equal ones are computed once; NULL: no more.
 */
const Line *run_also_at(const Line *line);
void run_note_failure(const Graph *g, uint32_t line); /* for the executors */
/* Inputs that are not parameters. */
int program_inputs(const Program *p);
/* The plan, borrowed; NULL: the graph has none. */
const Plan *program_plan(Program *p);

/* What a run that has succeeded leaves behind. */
typedef struct Outcome {
    const void *run;
    Tensor *(*value_of)(const void *run, Value v); /* new reference */
    /* The new value of parameter i stands where the old one was. NULL: of none. */
    bool (*is_in_place)(const void *run, uint32_t i);
} Outcome;
/* The outputs, and new values and gradients of parameters. */
Status run_commit(const Program *p, const Outcome *o, Tensor **out);

/* interpret.c, replay.c: inputs[i] is the tensor of input i of the graph. */
Status program_interpret(const Program *p, Tensor *const *inputs, Tensor **out);
Status program_interpret_recorded(const Program *p, Tensor *const *inputs, Tensor **out);
Status plan_replay(Plan *p, Tensor *const *inputs, Tensor **out);

#endif
