/* Passes: what makes a captured graph smaller and faster, one at a time, by passes.def.
 *
 * Settings of the environment, for hunting a pass that does wrong:
 *
 *     DIPTYCH_DUMP=NAME,...   prints the graph before and after these passes (all: every pass that
 *                             changed something) to stderr
 *     DIPTYCH_SKIP=NAME,...   leaves them out (all: every one)
 *     DIPTYCH_PASS_LIMIT=N    only the first N runs of passes in each graph
 *     DIPTYCH_LOG=passes      a line a pass that changed something: changes, nodes, milliseconds
 *     DIPTYCH_VERIFY=1        checks the graph after each pass (always in debug builds) */
#ifndef DIP_PASSES_H
#define DIP_PASSES_H

#include "eager/capture.h"

typedef enum PassId {
#define PASS(name, ...) PASS_##name,
#include "passes/passes.def"
    NPASSES
} PassId;

typedef enum PassWhen { ROUNDS, LAST } PassWhen;
typedef enum PassWhere { ALWAYS, MEMORY, AGAIN, CLOSE } PassWhere;

typedef struct Pass {
    const char *name, *doc;
    PassWhen when;
    PassWhere where;
    uint32_t (*run)(Graph *g); /* what it changed */
} Pass;
extern const Pass pass_table[NPASSES];

typedef struct PassCount {
    uint32_t runs, changes;
    double seconds;
} PassCount;

/* Passes beside those that always run. */
typedef struct PassLevels {
    bool close; /* jit_level O1 */
    int memory; /* memory_optimize_level: 0 to 2 */
} PassLevels;

typedef struct PassOptions {
    PassLevels levels;
    const char *only;        /* these and no others, once, in this order; NULL: by the table */
    const char *dump, *skip; /* NULL: none */
    long limit;              /* negative: none */
    bool verify, log;
} PassOptions;

/* The settings of the environment. */
PassOptions pass_options(void);
/* Runs passes over g. counts: NPASSES entries that are added to; NULL is fine. An error: an unknown
 * name, or a graph that a pass has broken. */
Status passes_run(Graph *g, const PassOptions *o, PassCount *counts);
/* The passes of these levels over a captured program, by the settings of the environment. */
Status program_optimize(Program *p, PassLevels levels);

#define PASS(name, ...) uint32_t pass_##name(Graph *g);
#include "passes/passes.def"

#endif
