/* Replaying a plan: addresses are written, then the steps run one after the other. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "eager/dispatch.h"
#include "kernels/copy.h"
#include "plan/plan.h"
#include "run/effects.h"
#include "run/run.h"
#include "tensor/pool.h"

typedef struct Replay {
    Plan *plan;
    char *arena;
    Tensor **bound; /* a buffer: the tensor it lies in; inputs and results */
    Effects effects;
} Replay;

/* ---- tensors of the steps' buffers */

/* A tensor of its own with the buffer's values. */
static Status copy_out(const Buf *b, Tensor **out) {
    TRY(tensor_new(b->type, "graph", out));
    Place to = {b->type->dtype, (*out)->data, (*out)->strides};
    Place from = {b->type->dtype, b->data, b->strides};
    copy_strided(b->type->rank, b->type->dims, to, from);
    return OK;
}

static void copy_in(const Buf *b, const Tensor *t) {
    Place to = {b->type->dtype, b->data, b->strides};
    Place from = {b->type->dtype, t->data, t->strides};
    copy_strided(b->type->rank, b->type->dims, to, from);
}

static Status copies_of_inputs(const Step *s, Tensor **t) {
    for (int i = 0; i < s->args.nin; i++) {
        Status status = copy_out(&s->in[i], &t[i]);
        if (status == OK) continue;
        while (i--) tensor_unref(t[i]);
        return status;
    }
    return OK;
}

/* ---- steps */

static const Node *node_of(const Replay *r, const Step *s) {
    return graph_node(r->plan->program->graph, s->node);
}

static Status run_host(Replay *r, const Step *s) {
    const Host *host = node_of(r, s)->host;
    int nin = s->args.nin, nout = s->args.nout;
    Tensor **t = checked(calloc((size_t)(nin + nout) + 1, sizeof *t)), **out = t + nin;
    Status status = copies_of_inputs(s, t);
    if (status == OK && host->is_late) {
        effects_late(&r->effects, host, nin, t);
    } else if (status == OK) {
        status = host->call(host->ctx, nin, t, nout, out);
        for (int i = 0; i < nin; i++) tensor_unref(t[i]);
        for (int i = 0; i < nout && status == OK; i++) {
            copy_in(&s->args.out[i], out[i]);
            tensor_unref(out[i]);
        }
    }
    free(t);
    return status;
}

static Status push(Replay *r, const Step *s) {
    Tensor **t = checked(calloc((size_t)s->args.nin + 1, sizeof *t));
    Status status = copies_of_inputs(s, t);
    if (status == OK) effects_push(&r->effects, node_of(r, s)->count, s->args.nin, t);
    free(t);
    return status;
}

static void pop(Replay *r, const Step *s) {
    Tensor **t = checked(calloc((size_t)s->args.nout + 1, sizeof *t));
    effects_pop(&r->effects, node_of(r, s)->count, s->args.nout, t);
    for (int i = 0; i < s->args.nout; i++) {
        copy_in(&s->args.out[i], t[i]);
        tensor_unref(t[i]);
    }
    free(t);
}

static void left(const Replay *r, const Step *s) {
    s->args.out[0].data[0] = effects_left(&r->effects, node_of(r, s)->count);
}

static void draw(const Replay *r, const Step *s) {
    uint64_t place[2];
    random_take(node_of(r, s)->count, &place[0], &place[1]);
    memcpy(s->args.out[0].data, place, sizeof place);
}

static Status run_kernel(Step *s) {
    if (s->check) TRY(s->check(&s->args));
    if (s->scratch) s->args.scratch = *s->scratch;
    if (s->draw) { /* the attributes are the step's own */
        char *attrs = (char *)s->args.attrs;
        memcpy(attrs + s->key_offset, *s->draw, sizeof(uint64_t));
        memcpy(attrs + s->counter_offset, *s->draw + sizeof(uint64_t), sizeof(uint64_t));
    }
    s->kernel->run(&s->args);
    return OK;
}

static void run_loop(const Step *s) {
    const void *src[4] = {0};
    for (int i = 0; i < s->args.nin; i++) src[i] = s->in[i].data;
    s->loop(s->n, s->args.out[0].data, src);
}

typedef struct Tasks {
    const Replay *r;
    const Fork *fork;
} Tasks;

static void run_tasks(void *ctx, int64_t begin, int64_t end) {
    const Replay *r = ((const Tasks *)ctx)->r;
    const Fork *f = ((const Tasks *)ctx)->fork;
    for (int32_t i = f->begin[begin]; i < f->begin[end]; i++) {
        Step *s = &r->plan->steps[f->order[i]];
        if (s->kind == STEP_LOOP)
            run_loop(s);
        else
            run_kernel(s);
    }
}

static int32_t run_fork(const Replay *r, const Fork *f) {
    Tasks tasks = {r, f};
    parallel_for(f->ntasks, 1, run_tasks, &tasks);
    return f->nsteps - 1;
}

static Status run_other(Replay *r, Step *s) {
    switch ((StepKind)s->kind) {
    case STEP_CHECK: return s->check(&s->args);
    case STEP_DRAW: draw(r, s); return OK;
    case STEP_HOST: return run_host(r, s);
    case STEP_PUSH: return push(r, s);
    case STEP_POP: pop(r, s); return OK;
    case STEP_LEFT: left(r, s); return OK;
    default: return OK;
    }
}

static Status run_steps(Replay *r) {
    Step *steps = r->plan->steps;
    for (int32_t i = 0, n = r->plan->nsteps; i < n;) {
        Step *s = &steps[i++];
        Status status = OK;
        if (DIP_UNLIKELY(s->fork != NULL))
            i += run_fork(r, s->fork);
        else if (s->kind == STEP_LOOP)
            run_loop(s);
        else if (s->kind == STEP_KERNEL)
            status = run_kernel(s);
        else if (s->kind == STEP_UNLESS)
            i = s->in[0].data[0] ? i : s->target;
        else if (s->kind == STEP_JUMP)
            i = s->target;
        else
            status = run_other(r, s);
        if (DIP_UNLIKELY(status != OK)) {
            run_note_failure(r->plan->program->graph, node_of(r, s)->line);
            return status;
        }
    }
    return OK;
}

/* ---- addresses */

static char *address(const Replay *r, const Buffer *b, BufferId id) {
    switch ((Home)b->home) {
    case AT_ARENA: return r->arena + b->at;
    case AT_CONST: return graph_node(r->plan->program->graph, b->index)->constant->data;
    default: return r->bound[id]->data;
    }
}

static void write_patches(const Replay *r) {
    Plan *p = r->plan;
    bool moved = p->arena_at != r->arena;
    for (uint32_t i = 0; i < p->npatches; i++) {
        const Patch *patch = &p->patches[i];
        const Buffer *b = &p->buffers[patch->buffer];
        if (b->home == AT_INPUT || b->home == AT_RESULT || moved)
            *patch->where = address(r, b, patch->buffer) + patch->offset;
    }
    p->arena_at = r->arena;
}

/* A parameter that is overwritten must belong to nobody else; otherwise a copy is. */
static Status make_exclusive(Replay *r, uint32_t i) {
    const Param *param = r->plan->program->params[i].param;
    Tensor *t = param->value;
    if (tensor_is_exclusive(t, 1) && t->dense && !t->storage->read_only) return OK;
    Tensor *own;
    TRY(tensor_new(&t->type, param->name, &own));
    tensor_copy_dense(t, own->data);
    r->bound[r->plan->in_place[i]] = own; /* the parameter's tensor was only borrowed */
    return OK;
}

/* inputs[i]: the tensor of input i of the graph, borrowed; parameters are not held, so that they
 * stay exclusive. */
static Status bind(Replay *r, Tensor *const *inputs) {
    Plan *p = r->plan;
    for (BufferId b = 1; b < p->nbuffers; b++) {
        const Buffer *buffer = &p->buffers[b];
        TensorType bytes = {.dtype = DT_u8, .rank = 1, .dims = {buffer->nbytes}};
        if (buffer->home == AT_INPUT) r->bound[b] = inputs[buffer->index];
        if (buffer->home == AT_RESULT) TRY(tensor_new(&bytes, "a graph's result", &r->bound[b]));
    }
    return OK;
}

/* ---- the end of a run */

static Tensor *value_of(const void *run, Value v) {
    const Replay *r = run;
    const Plan *p = r->plan;
    const Spot *s = &p->spots[v];
    const Buffer *b = &p->buffers[s->buffer];
    Tensor *t = b->home == AT_CONST ? graph_node(p->program->graph, b->index)->constant
                                    : r->bound[s->buffer];
    const TensorType *type = graph_type(p->program->graph, v);
    return tensor_over(t->storage, type, s->strides, t->data + s->offset);
}

static bool is_written_in_place(const void *run, uint32_t i) {
    const Replay *r = run;
    BufferId b = r->plan->in_place[i];
    return b && r->bound[b] == r->plan->program->params[i].param->value;
}

static void replay_done(Replay *r, Tensor *const *inputs) {
    Plan *p = r->plan;
    for (BufferId b = 1; b < p->nbuffers; b++) {
        bool is_input = p->buffers[b].home == AT_INPUT;
        if (is_input && r->bound[b] == inputs[p->buffers[b].index]) continue;
        tensor_unref(r->bound[b]);
    }
    free(r->bound);
    effects_done(&r->effects);
    if (r->arena) pool_put(r->arena, (size_t)p->arena);
}

Status plan_replay(Plan *p, Tensor *const *inputs, Tensor **out) {
    void *arena = NULL;
    TRY(pool_get((size_t)p->arena, "a graph's plan", &arena));
    Replay r = {.plan = p, .arena = arena};
    r.bound = checked(calloc(p->nbuffers, sizeof *r.bound));
    effects_init(&r.effects, p->program->graph);
    Status status = bind(&r, inputs);
    for (uint32_t i = 0; i < p->program->nparams && status == OK; i++)
        if (p->in_place[i]) status = make_exclusive(&r, i);
    if (status == OK) {
        write_patches(&r);
        void *lock = p->is_long && long_run.begin ? long_run.begin() : NULL;
        status = run_steps(&r);
        if (p->is_long && long_run.begin) long_run.end(lock);
    }
    Outcome outcome = {&r, value_of, is_written_in_place};
    if (status == OK)
        status = run_commit(p->program, &outcome, out);
    else
        effects_undo(&r.effects);
    if (status == OK) status = effects_commit(&r.effects);
    replay_done(&r, inputs);
    return status;
}
