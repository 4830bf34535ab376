/* A plan: the graph as a flat list of steps over buffers with fixed places. Made once for a graph
 * whose sizes are all known; replayed by src/run/replay.c.
 *
 * Every buffer has one home: bound at each run (an input, a constant) or made at each run (a
 * result), or a place in an arena that is planned so that buffers alive at the same time do not
 * overlap. Views share the buffer of what they look at; elementwise results take over the buffer of
 * an input that dies. Steps hold addresses only while a run is on: they are written from the table
 * of patches, once for the arena as long as it does not move. */
#ifndef DIP_PLAN_H
#define DIP_PLAN_H

#include "eager/capture.h"
#include "eager/prepared.h"
#include "kernels/kernel.h"
#include "kernels/loops.h"

typedef uint32_t BufferId; /* place in Plan.buffers; 0 is none */

typedef enum Home {
    AT_ARENA,
    AT_INPUT,  /* index: of the graph's inputs */
    AT_CONST,  /* index: node of the constant */
    AT_RESULT, /* a fresh tensor at each run */
} Home;

typedef struct Buffer {
    uint8_t home;
    uint32_t index;
    int64_t nbytes, at;  /* at: offset in the arena */
    int32_t first, last; /* steps between which it is alive */
    RegionId region;     /* where it was made */
    int32_t uses;        /* uses of its values that are still to come, while lowering */
    bool is_shared;      /* it is used more than once */
} Buffer;

/* Where a value lies. */
typedef struct Spot {
    BufferId buffer;
    int64_t offset; /* bytes from the buffer's start */
    int64_t strides[MAX_RANK];
    bool dense;
} Spot;

typedef enum StepKind {
    STEP_KERNEL,
    STEP_LOOP,   /* a dense elementwise loop on one thread, without any looking around */
    STEP_CHECK,  /* the check of a kernel that runs later */
    STEP_UNLESS, /* to `target` unless *flag */
    STEP_JUMP,   /* to `target` */
    STEP_DRAW,
    STEP_HOST,
    STEP_PUSH,
    STEP_POP,
    STEP_LEFT,
} StepKind;

/* Steps that follow each other in the plan and may run at once: tasks, each one thread's. */
typedef struct Fork {
    int32_t nsteps, ntasks;
    int32_t *begin; /* ntasks + 1: places in order */
    int32_t *order; /* nsteps numbers of steps, task by task */
} Fork;

typedef struct Step {
    uint8_t kind;
    NodeId node;
    int32_t target;
    KernelArgs args; /* arrays in the plan's memory */
    Buf *in;         /* args.in, to be written */
    const Kernel *kernel;
    CheckFn check;
    EwLoop *loop;
    int64_t n; /* STEP_LOOP: elements */
    Prepared prepared;
    char **scratch, **draw; /* addresses in the plan's memory; NULL: none. draw: u64[2] */
    uint32_t key_offset, counter_offset;
    const Fork *fork; /* which begins here; NULL: none */
} Step;

/* An address in a step: where it is written, whose, how far from its start. */
typedef struct Patch {
    char **where;
    BufferId buffer;
    int64_t offset;
} Patch;

/* What set_context says about plans made from then on. */
typedef struct PlanSettings {
    bool shares;  /* values that are not alive at once share memory */
    int threads;  /* that the kernels are prepared for */
    int branches; /* independent small steps that run at once; 0, 1: none */
} PlanSettings;

typedef struct Plan {
    const Program *program;
    Step *steps;
    Buffer *buffers;
    Spot *spots; /* of each value of the graph */
    Patch *patches;
    BufferId
        *in_place; /* of each parameter: its input's buffer, which is its new value, too; 0: no */
    int32_t nsteps, cap_steps;
    uint32_t nbuffers, cap_buffers, npatches, cap_patches;
    int64_t arena, floor;  /* bytes; the most that is alive at once */
    PlanSettings settings; /* it was made with these */
    struct PlanBlock *blocks;
    char *arena_at; /* for which the patches are written */
    atomic_bool is_running;
    bool is_long; /* so much work that locks are worth releasing */
} Plan;

PlanSettings plan_settings(void);
void plan_share_memory(bool on);
void plan_run_branches(int n);

/* UNSUPPORTED when the graph holds something plans do not do; then it is run node by node. */
Status plan_make(const Program *p, Plan **out);
void plan_free(Plan *p); /* NULL is fine */
void *plan_alloc(Plan *p, size_t nbytes);

int64_t plan_results(const Plan *p); /* bytes of fresh results each run */

/* memory.c: gives buffers their places in the arena. */
void plan_memory(Plan *p);
/* check.c: looks again, by other means, whether buffers that are alive at once overlap. */
Status plan_check(const Plan *p);

#endif
