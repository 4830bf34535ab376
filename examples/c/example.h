/* What the example programs share: an end at the first failure, a clock, and a training step that
 * runs in either mode. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <diptych.h>
#include <diptych_ops.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline void must(dip_Status status) {
    if (status == DIP_OK) return;
    fprintf(stderr, "%s: %s\n", dip_status_name(status), dip_error_message());
    exit(1);
}

static inline double seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- tensors */

static inline void drop(int n, dip_Tensor **t) {
    for (int i = 0; i < n; i++) dip_unref(t[i]);
}

/* *t becomes `next`, which was made from it. */
static inline void replace(dip_Tensor **t, dip_Tensor *next) {
    dip_unref(*t);
    *t = next;
}

/* A parameter with values drawn uniformly from [-bound, bound). */
static inline dip_Param *new_param(const char *name, dip_Ints shape, double bound) {
    dip_uniform_args range = DIP_UNIFORM_ARGS;
    range.minval = -bound;
    range.maxval = bound;
    dip_Tensor *start;
    dip_Param *p;
    must(dip_uniform(shape, &range, &start));
    must(dip_param(name, start, &p));
    dip_unref(start);
    return p;
}

/* ---- the command line: [eager|graph] [PATH] [EPOCHS] [STEPS] */

typedef struct Args {
    bool graph;
    const char *path; /* of the data */
    int epochs;
    int64_t steps; /* at most so many an epoch */
} Args;

static inline Args read_args(int argc, char **argv, const char *path, int epochs) {
    Args args = {.path = path, .epochs = epochs, .steps = INT64_MAX};
    if (argc > 1) args.graph = strcmp(argv[1], "graph") == 0;
    if (argc > 2) args.path = argv[2];
    if (argc > 3) args.epochs = atoi(argv[3]);
    if (argc > 4) args.steps = atoll(argv[4]);
    if ((argc > 1 && !args.graph && strcmp(argv[1], "eager")) || args.epochs < 1 ||
        args.steps < 1) {
        fprintf(stderr, "usage: %s [eager|graph] [PATH] [EPOCHS] [STEPS]\n", argv[0]);
        exit(2);
    }
    printf("Diptych %s, %d threads, %s mode\n", dip_version(), dip_threads(),
           args.graph ? "graph" : "eager");
    return args;
}

/* ---- a training step in either mode */

/* The step is one function: inputs in, the loss and what else it gives out. Eager mode calls it;
 * Graph mode compiles it at the first step, with gradients and update, and replays that. */
typedef struct Trainer {
    dip_Function step;
    bool graph;
    dip_Graph *compiled;
} Trainer;

static inline void train_step(Trainer *t, int nin, dip_Tensor *const *in, int nout,
                              dip_Tensor **out) {
    if (!t->graph) {
        must(t->step.call(t->step.ctx, nin, in, nout, out));
        return;
    }
    if (!t->compiled) must(dip_compile(t->step, nin, in, nout, &t->compiled));
    must(dip_graph_run(t->compiled, nin, in, nout, out));
}

#endif
