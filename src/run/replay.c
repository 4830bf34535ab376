/* Replaying a plan: addresses are written, then the steps run one after the other.
 *
 * A device with memory of its own gets copies of the inputs and gives copies of the results; what
 * is in its memory is touched inside of its `run` only. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "eager/dispatch.h"
#include "plan/plan.h"
#include "run/device.h"
#include "run/effects.h"
#include "run/run.h"

typedef struct Replay {
    Plan *plan;
    const Device *device;
    char *arena;
    Tensor **bound; /* a buffer: the tensor it lies in; inputs and results */
    char **away;    /* a buffer: its copy in the device's memory; NULL: the device is the host */
    Effects effects;
} Replay;

/* ---- tensors of the steps' buffers */

/* A tensor of its own with the buffer's values. */
static Status copy_out(const Replay *r, const Buf *b, Tensor **out) {
    TRY(tensor_new(b->type, "graph", out));
    Place to = {b->type->dtype, (*out)->data, (*out)->strides};
    Place from = {b->type->dtype, b->data, b->strides};
    device_copy(r->device, b->type->rank, b->type->dims, to, from);
    return OK;
}

static void copy_in(const Replay *r, const Buf *b, const Tensor *t) {
    Place to = {b->type->dtype, b->data, b->strides};
    Place from = {b->type->dtype, t->data, t->strides};
    device_copy(r->device, b->type->rank, b->type->dims, to, from);
}

static Status copies_of_inputs(const Replay *r, const Step *s, Tensor **t) {
    for (int i = 0; i < s->args.nin; i++) {
        Status status = copy_out(r, &s->in[i], &t[i]);
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
    Status status = copies_of_inputs(r, s, t);
    if (status == OK && host->is_late) {
        effects_late(&r->effects, host, nin, t);
    } else if (status == OK) {
        status = host->call(host->ctx, nin, t, nout, out);
        for (int i = 0; i < nin; i++) tensor_unref(t[i]);
        for (int i = 0; i < nout && status == OK; i++) {
            copy_in(r, &s->args.out[i], out[i]);
            tensor_unref(out[i]);
        }
    }
    free(t);
    return status;
}

static Status push(Replay *r, const Step *s) {
    Tensor **t = checked(calloc((size_t)s->args.nin + 1, sizeof *t));
    Status status = copies_of_inputs(r, s, t);
    if (status == OK) effects_push(&r->effects, node_of(r, s)->count, s->args.nin, t);
    free(t);
    return status;
}

static Status pop(Replay *r, const Step *s) {
    Tensor **t = checked(calloc((size_t)s->args.nout + 1, sizeof *t));
    Status status = effects_pop(&r->effects, r->plan->program->graph, node_of(r, s), t);
    for (int i = 0; i < s->args.nout; i++) {
        if (status == OK) copy_in(r, &s->args.out[i], t[i]);
        tensor_unref(t[i]);
    }
    free(t);
    return status;
}

static void left(const Replay *r, const Step *s) {
    bool has = effects_left(&r->effects, node_of(r, s)->count);
    device_copy_bytes(r->device, s->args.out[0].data, &has, sizeof has);
}

static void draw(const Replay *r, const Step *s) {
    uint64_t place[2];
    random_take(node_of(r, s)->count, &place[0], &place[1]);
    device_copy_bytes(r->device, s->args.out[0].data, place, sizeof place);
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

static void run_fork(const Replay *r, const Fork *f) {
    Tasks tasks = {r, f};
    parallel_for(f->ntasks, 1, run_tasks, &tasks);
}

typedef struct Computing {
    const Replay *r;
    Step *s;
    Status status;
} Computing;

/* Everything that computes. */
static void compute(void *arg) {
    Computing *c = arg;
    Step *s = c->s;
    if (s->fork)
        run_fork(c->r, s->fork);
    else if (s->kind == STEP_LOOP)
        run_loop(s);
    else if (s->kind == STEP_KERNEL)
        c->status = run_kernel(s);
    else
        c->status = s->check(&s->args);
}

static Status run_on_device(const Replay *r, Step *s) {
    Computing c = {r, s, OK};
    r->device->run(compute, &c);
    return c.status;
}

static bool flag_of(const Replay *r, const Step *s) {
    bool flag;
    device_copy_bytes(r->device, &flag, s->in[0].data, sizeof flag);
    return flag;
}

/* Backwards: a loop's next turn. */
static Status jump(const Step *s, int32_t *at) {
    bool turns = s->target < *at;
    *at = s->target;
    return turns && long_run.turn ? long_run.turn() : OK;
}

/* *next: the step that comes after it. */
static Status run_other(Replay *r, Step *s, int32_t *next) {
    switch ((StepKind)s->kind) {
    case STEP_LOOP:
    case STEP_KERNEL:
    case STEP_CHECK:
        if (s->fork) *next += s->fork->nsteps - 1;
        return run_on_device(r, s);
    case STEP_UNLESS: *next = flag_of(r, s) ? *next : s->target; return OK;
    case STEP_JUMP: return jump(s, next);
    case STEP_DRAW: draw(r, s); return OK;
    case STEP_HOST: return run_host(r, s);
    case STEP_PUSH: return push(r, s);
    case STEP_POP: return pop(r, s);
    case STEP_LEFT: left(r, s); return OK;
    }
    return OK;
}

static Status run_steps(Replay *r) {
    Step *steps = r->plan->steps;
    bool at_once = r->device->is_host;
    for (int32_t i = 0, n = r->plan->nsteps; i < n;) {
        Step *s = &steps[i++];
        Status status = OK;
        if (s->kind == STEP_LOOP && at_once && !s->fork)
            run_loop(s);
        else if (s->kind == STEP_KERNEL && at_once && !s->fork)
            status = run_kernel(s);
        else
            status = run_other(r, s, &i);
        if (DIP_UNLIKELY(status != OK)) {
            run_note_failure(r->plan->program->graph, node_of(r, s)->line);
            return status;
        }
    }
    return OK;
}

/* ---- addresses */

static char *address(const Replay *r, const Buffer *b, BufferId id) {
    if (r->away && r->away[id]) return r->away[id];
    switch ((Home)b->home) {
    case AT_ARENA: return r->arena + b->at;
    case AT_CONST: return graph_node(r->plan->program->graph, b->index)->constant->data;
    default: return r->bound[id]->data;
    }
}

static void write_patches(const Replay *r) {
    Plan *p = r->plan;
    bool moved = p->arena_at != r->arena || r->away;
    for (uint32_t i = 0; i < p->npatches; i++) {
        const Patch *patch = &p->patches[i];
        const Buffer *b = &p->buffers[patch->buffer];
        if (b->home == AT_INPUT || b->home == AT_RESULT || moved)
            *patch->where = address(r, b, patch->buffer) + patch->offset;
    }
    p->arena_at = r->away ? NULL : r->arena; /* the next run may be on another device */
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

/* ---- a device with memory of its own */

static char *host_place(const Replay *r, BufferId id) {
    const Buffer *b = &r->plan->buffers[id];
    return b->home == AT_CONST ? graph_node(r->plan->program->graph, b->index)->constant->data
                               : r->bound[id]->data;
}

/* A constant may be one number repeated, of which there is only one. */
static size_t bytes_to_copy(const Replay *r, BufferId id) {
    const Buffer *b = &r->plan->buffers[id];
    if (b->home != AT_CONST) return (size_t)b->nbytes;
    const Tensor *t = graph_node(r->plan->program->graph, b->index)->constant;
    int64_t last = 0;
    for (int i = 0; i < t->type.rank; i++) last += (t->type.dims[i] - 1) * t->strides[i];
    return tensor_count(t) ? (size_t)((last + 1) * dtype_size(t->type.dtype)) : 0;
}

/* All buffers outside of the arena get a copy. */
static Status copy_to_device(Replay *r) {
    if (r->device->is_host) return OK;
    Plan *p = r->plan;
    r->away = checked(calloc(p->nbuffers, sizeof *r->away));
    for (BufferId b = 1; b < p->nbuffers; b++) {
        if (p->buffers[b].home == AT_ARENA) continue;
        size_t n = bytes_to_copy(r, b);
        void *at;
        TRY(r->device->allocate(n, "a graph's plan", &at));
        r->away[b] = at;
        if (p->buffers[b].home != AT_RESULT) device_copy_bytes(r->device, at, host_place(r, b), n);
    }
    return OK;
}

static void copy_from_device(const Replay *r) {
    const Plan *p = r->plan;
    for (BufferId b = 1; b < p->nbuffers && r->away; b++)
        if (p->buffers[b].home == AT_RESULT)
            device_copy_bytes(r->device, r->bound[b]->data, r->away[b],
                              (size_t)p->buffers[b].nbytes);
    for (uint32_t i = 0; i < p->program->nparams && r->away; i++) {
        BufferId b = p->in_place[i];
        if (b)
            device_copy_bytes(r->device, r->bound[b]->data, r->away[b],
                              (size_t)p->buffers[b].nbytes);
    }
}

static void release_device(const Replay *r) {
    const Plan *p = r->plan;
    for (BufferId b = 1; b < p->nbuffers && r->away; b++)
        if (r->away[b]) r->device->release(r->away[b], (size_t)p->buffers[b].nbytes);
    free(r->away);
    if (r->arena) r->device->release(r->arena, (size_t)p->arena);
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
    release_device(r);
}

static Status run_plan(Replay *r) {
    Plan *p = r->plan;
    for (uint32_t i = 0; i < p->program->nparams; i++)
        if (p->in_place[i]) TRY(make_exclusive(r, i));
    TRY(copy_to_device(r));
    write_patches(r);
    void *lock = p->is_long && long_run.begin ? long_run.begin() : NULL;
    Status status = run_steps(r);
    if (p->is_long && long_run.begin) long_run.end(lock);
    if (status == OK) copy_from_device(r);
    return status;
}

Status plan_replay(Plan *p, Tensor *const *inputs, Tensor **out) {
    const Device *device = device_now();
    void *arena = NULL;
    TRY(device->allocate((size_t)p->arena, "a graph's plan", &arena));
    Replay r = {.plan = p, .device = device, .arena = arena};
    r.bound = checked(calloc(p->nbuffers, sizeof *r.bound));
    effects_init(&r.effects, p->program->graph);
    Status status = bind(&r, inputs);
    if (status == OK) status = run_plan(&r);
    Outcome outcome = {&r, value_of, is_written_in_place};
    if (status == OK)
        status = run_commit(p->program, &outcome, out);
    else
        effects_undo(&r.effects);
    if (status == OK) status = effects_commit(&r.effects);
    replay_done(&r, inputs);
    return status;
}
