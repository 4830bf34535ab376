/* Plans over oneDNN: building them, and running them. */
#include "kernels/dnn_plan.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "kernels/through.h"
#include "tensor/pool.h"

typedef enum SlotKind { SLOT_IN, SLOT_OUT, SLOT_SCRATCH } SlotKind;

typedef struct Slot {
    dnnl_memory_desc_t md;
    SlotKind kind;
    int index;      /* of the input or result */
    int64_t offset; /* in scratch */
} Slot;

typedef struct Step {
    dnnl_primitive_t primitive;
    int n;
    DnnArg args[DNN_ARGS];
} Step;

struct DnnPlan {
    int nslots, nsteps;
    int64_t scratch;
    Slot slots[DNN_SLOTS];
    Step steps[DNN_STEPS];
};

/* ---- the library's objects: one engine, one stream (which on CPUs has no state) */

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static dnnl_primitive_attr_t user_scratchpad;
static dnnl_status_t started;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start(void) {
    started = dnnl_engine_create(&engine, dnnl_cpu, 0);
    if (!started) started = dnnl_stream_create(&stream, engine, dnnl_stream_default_flags);
    if (!started) started = dnnl_primitive_attr_create(&user_scratchpad);
    if (!started)
        started =
            dnnl_primitive_attr_set_scratchpad_mode(user_scratchpad, dnnl_scratchpad_mode_user);
}

Status dnn_check(dnnl_status_t s, const char *what) {
    if (s == dnnl_success) return OK;
    if (s == dnnl_out_of_memory) return FAIL(NOMEM, "oneDNN has no memory for %s", what);
    return FAIL(INTERNAL, "oneDNN refuses %s (status %d)", what, (int)s);
}

static bool has_isa(unsigned need) {
    return ((unsigned)dnnl_get_effective_cpu_isa() & need) == need;
}

bool dnn_has_bf16(void) { return has_isa(dnnl_cpu_isa_avx512_core_bf16); }
bool dnn_has_tiles(void) { return has_isa(dnnl_cpu_isa_avx512_core_amx); }

const char *dnn_can_dtype(DType d) {
    if (d == DT_f32) return NULL;
    if (d != DT_bf16) return "oneDNN computes in float32 and bfloat16";
    return dnn_has_bf16() ? NULL : "this CPU has no bfloat16 instructions";
}

dnnl_data_type_t dnn_dtype(DType d) { return d == DT_bf16 ? dnnl_bf16 : dnnl_f32; }

Status dnn_layout(dnnl_data_type_t dt, int rank, const int64_t *dims, const int64_t *strides,
                  dnnl_memory_desc_t *md) {
    dnnl_dims_t d = {0}, s = {0}; /* the library's arrays are longer than ours */
    memcpy(d, dims, (size_t)rank * sizeof *dims);
    if (strides) memcpy(s, strides, (size_t)rank * sizeof *strides);
    return dnn_check(strides ? dnnl_memory_desc_init_by_strides(md, rank, d, dt, s)
                             : dnnl_memory_desc_init_by_tag(md, rank, d, dt, dnnl_format_tag_any),
                     "a layout");
}

/* ---- building */

DnnPlan *dnn_plan_new(void) {
    DnnPlan *p = pool_small(sizeof *p);
    p->nslots = p->nsteps = 0;
    p->scratch = 0;
    return p;
}

void dnn_plan_free(DnnPlan *p) {
    if (!p) return;
    for (int i = 0; i < p->nsteps; i++) dnnl_primitive_destroy(p->steps[i].primitive);
    pool_small_free(p, sizeof *p);
}

void release_dnn(void *state) { dnn_plan_free(state); }
size_t dnn_plan_scratch(const DnnPlan *p) { return (size_t)p->scratch; }

static int add_slot(DnnPlan *p, SlotKind kind, int index, const dnnl_memory_desc_t *md) {
    Slot *s = &p->slots[p->nslots];
    *s = (Slot){*md, kind, index, p->scratch};
    if (kind == SLOT_SCRATCH) p->scratch += align64((int64_t)dnnl_memory_desc_get_size(md));
    return p->nslots++;
}

int dnn_in(DnnPlan *p, int i, const dnnl_memory_desc_t *md) { return add_slot(p, SLOT_IN, i, md); }
int dnn_out(DnnPlan *p, int i, const dnnl_memory_desc_t *md) {
    return add_slot(p, SLOT_OUT, i, md);
}
int dnn_scratch(DnnPlan *p, const dnnl_memory_desc_t *md) {
    return add_slot(p, SLOT_SCRATCH, 0, md);
}

Status dnn_describe(const void *op_desc, const_dnnl_primitive_desc_t hint,
                    dnnl_primitive_desc_t *out) {
    pthread_once(&once, start);
    TRY(dnn_check(started, "to start"));
    return dnn_check(dnnl_primitive_desc_create(out, op_desc, user_scratchpad, engine, hint),
                     "this call");
}

const dnnl_memory_desc_t *dnn_wants(const_dnnl_primitive_desc_t pd, int arg) {
    return dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, arg);
}

Status dnn_step(DnnPlan *p, const_dnnl_primitive_desc_t pd, int n, const DnnArg *args) {
    Step *s = &p->steps[p->nsteps];
    s->n = 0;
    for (int i = 0; i < n; i++)
        if (args[i].slot >= 0) s->args[s->n++] = args[i];
    const dnnl_memory_desc_t *pad = dnn_wants(pd, DNNL_ARG_SCRATCHPAD);
    if (pad && dnnl_memory_desc_get_size(pad))
        s->args[s->n++] = (DnnArg){DNNL_ARG_SCRATCHPAD, dnn_scratch(p, pad)};
    TRY(dnn_check(dnnl_primitive_create(&s->primitive, pd), "a primitive"));
    p->nsteps++;
    return OK;
}

static Status reorder(DnnPlan *p, int from, int to) {
    pthread_once(&once, start);
    TRY(dnn_check(started, "to start"));
    dnnl_primitive_desc_t pd;
    TRY(dnn_check(dnnl_reorder_primitive_desc_create(&pd, &p->slots[from].md, engine,
                                                     &p->slots[to].md, engine, user_scratchpad),
                  "a reorder"));
    Status status = dnn_step(p, pd, 2, (DnnArg[]){{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
    dnnl_primitive_desc_destroy(pd);
    return status;
}

Status dnn_reordered(DnnPlan *p, int slot, const dnnl_memory_desc_t *want, int *out) {
    *out = slot;
    if (dnnl_memory_desc_equal(&p->slots[slot].md, want)) return OK;
    *out = dnn_scratch(p, want);
    return reorder(p, slot, *out);
}

int dnn_landing(DnnPlan *p, int slot, const dnnl_memory_desc_t *has) {
    return dnnl_memory_desc_equal(&p->slots[slot].md, has) ? slot : dnn_scratch(p, has);
}

Status dnn_finish(DnnPlan *p, int landing, int slot) {
    return landing == slot ? OK : reorder(p, landing, slot);
}

/* ---- running */

static void *address(const Slot *s, const KernelArgs *a) {
    switch (s->kind) {
    case SLOT_IN: return a->in[s->index].data;
    case SLOT_OUT: return a->out[s->index].data;
    default: return (char *)a->scratch + s->offset;
    }
}

/* Arguments were checked when the plan was made; what is left is the lack of a few bytes. */
static void must(dnnl_status_t s) {
    if (s != dnnl_success) abort();
}

void run_dnn(const KernelArgs *a) {
    const DnnPlan *p = a->state;
    dnnl_memory_t memory[DNN_SLOTS];
    for (int i = 0; i < p->nslots; i++)
        must(dnnl_memory_create(&memory[i], &p->slots[i].md, engine, address(&p->slots[i], a)));
    bool entered = parallel_enter();
    for (int i = 0; i < p->nsteps; i++) {
        const Step *s = &p->steps[i];
        dnnl_exec_arg_t args[DNN_ARGS];
        for (int k = 0; k < s->n; k++)
            args[k] = (dnnl_exec_arg_t){s->args[k].arg, memory[s->args[k].slot]};
        must(dnnl_primitive_execute(s->primitive, stream, s->n, args));
    }
    if (entered) parallel_leave();
    for (int i = 0; i < p->nslots; i++) dnnl_memory_destroy(memory[i]);
}
