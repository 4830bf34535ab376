/* oneDNN 2.6 behind plans. A prepare function of a dnn_*.c file describes its call as slots (places
 * of data with a memory descriptor) and steps (primitives, reorders included); run_dnn only binds
 * addresses and executes, so no descriptor is made on the hot path. Several threads may run one
 * plan: memory objects live for one run, and scratchpads come from the caller's scratch. */
#ifndef DIP_DNN_PLAN_H
#define DIP_DNN_PLAN_H

#include <dnnl.h>

#include "kernels/kernel.h"

enum { DNN_SLOTS = 16, DNN_STEPS = 6, DNN_ARGS = 6 };

typedef struct DnnArg {
    int arg, slot; /* DNNL_ARG_SRC ... */
} DnnArg;

typedef struct DnnPlan DnnPlan;

DnnPlan *dnn_plan_new(void);
void dnn_plan_free(DnnPlan *p);
size_t dnn_plan_scratch(const DnnPlan *p);

/* Slots: input i, result i, or scratch. */
int dnn_in(DnnPlan *p, int i, const dnnl_memory_desc_t *md);
int dnn_out(DnnPlan *p, int i, const dnnl_memory_desc_t *md);
int dnn_scratch(DnnPlan *p, const dnnl_memory_desc_t *md);

/* A primitive descriptor with a user-mode scratchpad. */
Status dnn_describe(const void *op_desc, const_dnnl_primitive_desc_t hint,
                    dnnl_primitive_desc_t *out);
/* The descriptor of argument `arg` (DNNL_ARG_SRC ...). */
const dnnl_memory_desc_t *dnn_wants(const_dnnl_primitive_desc_t pd, int arg);

/* Appends the primitive; arguments with slot -1 are left out. */
Status dnn_step(DnnPlan *p, const_dnnl_primitive_desc_t pd, int n, const DnnArg *args);
/* `slot` in the layout `want`: the slot itself, or a reorder into scratch. */
Status dnn_reordered(DnnPlan *p, int slot, const dnnl_memory_desc_t *want, int *out);
/* A slot that a primitive writes in its layout `has`, and which `dnn_finish` brings to `slot`. */
int dnn_landing(DnnPlan *p, int slot, const dnnl_memory_desc_t *has);
Status dnn_finish(DnnPlan *p, int landing, int slot);

Status dnn_check(dnnl_status_t s, const char *what);
/* A layout by strides; strides NULL: the library chooses. */
Status dnn_layout(dnnl_data_type_t dt, int rank, const int64_t *dims, const int64_t *strides,
                  dnnl_memory_desc_t *md);
bool dnn_has_bf16(void);  /* in hardware */
bool dnn_has_tiles(void); /* matrix tiles: AMX */
/* f32, or bf16 where the hardware has it. */
const char *dnn_can_dtype(DType d);
dnnl_data_type_t dnn_dtype(DType d);

void run_dnn(const KernelArgs *a);
void release_dnn(void *state);

#endif
