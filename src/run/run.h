/* Running a captured program. */
#ifndef DIP_RUN_H
#define DIP_RUN_H

#include "eager/capture.h"

/* One run: in[nin] are the inputs that are not parameters, in the order of their making; out gets
 * the program's outputs. Parameters that the program writes get their new values after everything
 * has succeeded; after a failure they, the random state and what prints to the outside are as
 * before. */
Status program_run(Program *p, int nin, Tensor *const *in, Tensor **out);
/* Inputs that are not parameters. */
int program_inputs(const Program *p);

#endif
