/* Diptych: tensors, gradients and training from C.
 *
 * Conventions
 * - A function that can fail returns dip_Status; DIP_OK is 0. The message of the last failure on
 * this thread is dip_error_message(). Out parameters come last and are set only on success.
 * - Tensors are counted values: they never change once made. Arguments are borrowed; a returned or
 *   out-parameter tensor is a new reference that the caller gives back with dip_unref().
 *   Functions named ..._peek return a borrowed reference.
 * - Shapes are arrays of int64_t, row-major; sizes count elements unless the name says bytes.
 * - NULL where a tensor, text or out parameter is needed is an error, not a crash; text is UTF-8.
 * - Thread safety: different threads may use the library at once and share tensors. A dip_Param, a
 *   dip_Optimizer and a recorded computation belong to one thread at a time. The error record and
 *   whether calls are recorded are per thread.
 *
 * diptych_ops.h declares one function an op on top of this header.
 */
#ifndef DIPTYCH_H
#define DIPTYCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DIP_VERSION_MAJOR 0
#define DIP_VERSION_MINOR 1
#define DIP_VERSION_PATCH 0
#define DIP_MAX_RANK      8

#if defined(__GNUC__)
#define DIP_API __attribute__((visibility("default")))
#else
#define DIP_API
#endif

/* "0.1.0 oneDNN 2.6.3 avx512": version, library, instruction set in use. Static text. */
DIP_API const char *dip_version(void);

/* ---- errors ---------------------------------------------------------------------------------- */

typedef enum dip_Status {
    DIP_OK = 0,
    DIP_E_VALUE = 1,       /* a value outside its legal range */
    DIP_E_TYPE = 2,        /* wrong kind or dtype */
    DIP_E_INDEX = 3,       /* an index outside its axis */
    DIP_E_NOMEM = 4,       /* memory could not be had */
    DIP_E_IO = 5,          /* a file could not be read or written */
    DIP_E_UNSUPPORTED = 6, /* no implementation for this combination */
    DIP_E_RUNTIME = 7,     /* not legal in this state */
    DIP_E_INTERRUPT = 8,   /* the user asked to stop */
    DIP_E_INTERNAL = 9,    /* a fault in the library itself */
} dip_Status;

/* Text of the last failure on this thread ("" if none); valid until the next failing call. */
DIP_API const char *dip_error_message(void);
/* The C functions it passed through, innermost first, one a line. */
DIP_API const char *dip_error_trace(void);
DIP_API const char *dip_status_name(dip_Status status);

/* ---- tensors --------------------------------------------------------------------------------- */

typedef enum dip_DType {
    DIP_BOOL, /* one byte, 0 or 1 */
    DIP_U8,
    DIP_U16,
    DIP_U32,
    DIP_U64,
    DIP_I8,
    DIP_I16,
    DIP_I32,
    DIP_I64,
    DIP_F16,
    DIP_BF16,
    DIP_F32,
    DIP_F64,
    DIP_C64, /* float real and imaginary part */
    DIP_C128,
} dip_DType;

typedef struct dip_Tensor dip_Tensor;

/* Copies `dims[rank]` elements of `dtype` from `data` (dense, row-major). data NULL: zeros.
 * rank 0 (dims may be NULL) is one number; a size of 0 makes an empty tensor. */
DIP_API dip_Status dip_tensor(dip_DType dtype, int rank, const int64_t *dims, const void *data,
                              dip_Tensor **out);
/* The same over the caller's memory without a copy. The bytes must stay unchanged until
 * release(ctx) is called, with the last reference, on whatever thread drops it; release NULL: they
 * outlive every tensor made from them. The library never writes into them. */
DIP_API dip_Status dip_wrap(dip_DType dtype, int rank, const int64_t *dims, const void *data,
                            void (*release)(void *ctx), void *ctx, dip_Tensor **out);
/* A 0-d tensor of one number, converted as the op `cast` does. */
DIP_API dip_Status dip_number(dip_DType dtype, double value, dip_Tensor **out);

DIP_API dip_Tensor *dip_ref(dip_Tensor *t); /* one more reference; returns t */
DIP_API void dip_unref(dip_Tensor *t);      /* NULL is fine */

/* Of a tensor that is not NULL. */
DIP_API dip_DType dip_dtype(const dip_Tensor *t);
DIP_API int dip_rank(const dip_Tensor *t);
DIP_API int64_t dip_dim(const dip_Tensor *t,
                        int axis);              /* negative counts from the end; -1 if none */
DIP_API int64_t dip_count(const dip_Tensor *t); /* number of elements */
DIP_API size_t dip_nbytes(const dip_Tensor *t); /* elements x element size */
/* Copies the elements, dense and row-major, into `dst` of `nbytes` >= dip_nbytes(t). */
DIP_API dip_Status dip_copy_out(const dip_Tensor *t, void *dst, size_t nbytes);
/* The elements where they are, row-major, for reading while the tensor lives; NULL when they do not
 * lie densely (a transposed or broadcast view): run the op `contiguous` first. */
DIP_API const void *dip_data_peek(const dip_Tensor *t);
/* The one element of a tensor, as double (integers beyond 2^53 are rounded). */
DIP_API dip_Status dip_item(const dip_Tensor *t, double *out);
/* "float32[2, 3]" into buf of `size` bytes, cut where it does not fit; returns buf. */
DIP_API char *dip_type_text(const dip_Tensor *t, char *buf, size_t size);

DIP_API const char *dip_dtype_name(dip_DType dtype); /* "float32"; "unknown" outside the list */
DIP_API size_t dip_dtype_size(dip_DType dtype);      /* bytes an element; 0 outside the list */
/* The type that two tensors of these types meet in (docs/semantics.md). */
DIP_API dip_DType dip_dtype_promote(dip_DType a, dip_DType b);

/* ---- ops ------------------------------------------------------------------------------------- */

/* A list attribute: n entries, or n = -1 for None. DIP_INTS(2, 3) writes one. */
typedef struct dip_Ints {
    int64_t n;
    int64_t v[DIP_MAX_RANK];
} dip_Ints;
#define DIP_COUNT9_(a, b, c, d, e, f, g, h, n, ...) n
#define DIP_COUNT_(...)                             DIP_COUNT9_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#ifdef __cplusplus
#define DIP_INTS(...)  (dip_Ints{DIP_COUNT_(__VA_ARGS__), {__VA_ARGS__}})
#define DIP_INTS_NONE  (dip_Ints{-1, {0}})
#define DIP_INTS_EMPTY (dip_Ints{0, {0}})
#else
#define DIP_INTS(...)  ((dip_Ints){DIP_COUNT_(__VA_ARGS__), {__VA_ARGS__}})
#define DIP_INTS_NONE  ((dip_Ints){-1, {0}})
#define DIP_INTS_EMPTY ((dip_Ints){0, {0}})
#endif
#define DIP_NONE INT64_MIN /* an int or bool attribute that is None; dtype attributes: -1 */

/* Runs the op `name` (docs/ops.md). in[nin] holds NULL for optional tensors left out, and may end
 * early; numbers left out ("alpha=1.0") take their default. attrs is text like "stride=2 pad=1",
 * NULL for the defaults. out[nout] gets new references, as many as the op gives. */
DIP_API dip_Status dip_call(const char *name, int nin, dip_Tensor *const *in, const char *attrs,
                            int nout, dip_Tensor **out);

/* What the table says about an op; static texts. */
typedef struct dip_OpInfo {
    const char *name;
    const char *primitive; /* MindSpore's class, NULL if none */
    const char *inputs;    /* "input, weight, bias=None, *tensors, alpha=1.0" */
    const char *doc;
    int results; /* their number; -1: it depends on the attributes */
    int nattrs;
    bool differentiable;
} dip_OpInfo;
typedef struct dip_AttrInfo {
    const char *name;
    const char *kind;   /* "int", "float", "bool", "dtype", "ints", "str" */
    const char *preset; /* the default as text; "" when the attribute must be given */
} dip_AttrInfo;
DIP_API int64_t dip_op_count(void);
/* Op i of 0 .. dip_op_count() - 1, sorted by name. */
DIP_API dip_Status dip_op_info(int64_t i, dip_OpInfo *out);
DIP_API dip_Status dip_op_attr(int64_t i, int attr, dip_AttrInfo *out);

/* ---- gradients ------------------------------------------------------------------------------- */

/* Calls whose inputs depend on a variable or on a parameter that requires a gradient are recorded,
 * so that gradients of the results can be asked for. The record lives as long as the results. */

/* Turns recording on or off for this thread; returns how it was. It is on at the start. */
DIP_API bool dip_record(bool on);
/* The same value under a new handle that gradients can be asked for. Float dtypes only. */
DIP_API dip_Status dip_variable(const dip_Tensor *t, dip_Tensor **out);
/* The same value under a new handle that is a constant for gradients. */
DIP_API dip_Status dip_detach(const dip_Tensor *t, dip_Tensor **out);

enum {
    DIP_KEEP_RECORD = 1,     /* gradients may be taken again; otherwise the record is emptied */
    DIP_RECORD_GRADIENT = 2, /* the gradients are recorded themselves: higher order */
};
/* Gradients of the outputs (summed, each times its seed) for each input: variables made by
 * dip_variable or values of parameters. seeds NULL or seeds[i] NULL: ones. grads[i] gets a new
 * reference, or NULL where no output depends on input i. flags: the words above, or-ed. */
typedef struct dip_GradArgs {
    int noutputs;
    dip_Tensor *const *outputs;
    dip_Tensor *const *seeds;
    int ninputs;
    dip_Tensor *const *inputs;
    unsigned flags;
} dip_GradArgs;
DIP_API dip_Status dip_grad(const dip_GradArgs *args, dip_Tensor **grads);
/* The gradient of `loss` (seeded with ones) added to the grad of every parameter behind it. */
DIP_API dip_Status dip_backward(dip_Tensor *loss);

/* A computation whose gradient the caller knows. `out` are fresh results computed from `in` with
 * recording off; afterwards they depend on `in`. backward(ctx, g, dx) gets the gradients of the
 * results (g[nout], NULL where none came) and sets dx[nin] to new references or NULL; what it
 * returns is passed on. release(ctx) is called when the record is dropped or a walk back has
 * emptied it; on failure never. */
typedef struct dip_CustomGrad {
    dip_Status (*backward)(void *ctx, dip_Tensor *const *g, dip_Tensor **dx);
    void (*release)(void *ctx); /* NULL: nothing to release */
    void *ctx;
} dip_CustomGrad;
DIP_API dip_Status dip_custom_grad(dip_CustomGrad grad, int nin, dip_Tensor *const *in, int nout,
                                   dip_Tensor *const *out);

/* ---- parameters and optimisers --------------------------------------------------------------- */

/* A named value that learns. Counted, as tensors are. */
typedef struct dip_Param dip_Param;

/* Over the tensor's value without a copy; it requires a gradient when the dtype is a float. */
DIP_API dip_Status dip_param(const char *name, const dip_Tensor *value, dip_Param **out);
DIP_API dip_Param *dip_param_ref(dip_Param *p);
DIP_API void dip_param_unref(dip_Param *p); /* NULL is fine */
DIP_API const char *dip_param_name(const dip_Param *p);
/* The present value, to be used in calls; borrowed until the next assignment or step. A reference
 * taken with dip_ref keeps the old value, and costs the next step a copy. */
DIP_API dip_Tensor *dip_param_peek(const dip_Param *p);
/* The gradient gathered so far, borrowed; NULL: none. */
DIP_API dip_Tensor *dip_param_grad_peek(const dip_Param *p);
/* A new value of the same dtype and sizes. */
DIP_API dip_Status dip_param_assign(dip_Param *p, const dip_Tensor *value);
DIP_API dip_Status dip_param_require_grad(dip_Param *p, bool on);
/* Drops the gradients of n parameters. */
DIP_API dip_Status dip_zero_grad(int n, dip_Param *const *params);
/* Values by name, as safetensors. Loading needs every name, with its dtype and sizes; extra names
 * in the file are skipped. On failure no parameter has changed. */
DIP_API dip_Status dip_params_save(const char *path, int n, dip_Param *const *params);
DIP_API dip_Status dip_params_load(const char *path, int n, dip_Param *const *params);

typedef struct dip_Optimizer dip_Optimizer;

/* The update op `rule` ("sgd", "momentum", "adam", "adamw" ...; docs/ops.md) over n parameters,
 * which it keeps a reference of. Settings are the op's numbers and attributes, as in
 * "lr=0.001 weight_decay=0.01 use_nesterov=True"; NULL for the defaults. States start at zero, in
 * the parameter's dtype, float32 for half precision. */
DIP_API dip_Status dip_optimizer(const char *rule, const char *settings, int n,
                                 dip_Param *const *params, dip_Optimizer **out);
DIP_API void dip_optimizer_free(dip_Optimizer *o); /* NULL is fine */
/* Applies the gradients that the parameters hold and drops them. Parameters without one stay as
 * they are; when none has one, the step fails. */
DIP_API dip_Status dip_optimizer_step(dip_Optimizer *o);
/* Applies grads[n] (NULL: leave that parameter), in the order of the parameters. */
DIP_API dip_Status dip_optimizer_apply(dip_Optimizer *o, dip_Tensor *const *grads);
/* One of the rule's numbers: "lr", "weight_decay", ..., "step" (the number of the next step). */
DIP_API dip_Status dip_optimizer_set(dip_Optimizer *o, const char *number, double value);
DIP_API dip_Status dip_optimizer_get(const dip_Optimizer *o, const char *number, double *out);
/* The states and the step number, as safetensors under the parameters' names. */
DIP_API dip_Status dip_optimizer_save(const dip_Optimizer *o, const char *path);
DIP_API dip_Status dip_optimizer_load(dip_Optimizer *o, const char *path);

/* ---- graphs ---------------------------------------------------------------------------------- */

/* A function of tensors: fills out[nout] with new references. Called with symbolic tensors while it
 * is compiled: their types are known, their values are not (looking at them fails with TYPE). */
typedef struct dip_Function {
    dip_Status (*call)(void *ctx, int nin, dip_Tensor *const *in, int nout, dip_Tensor **out);
    void *ctx;
} dip_Function;

/* A compiled function: optimised, planned, replayed. One thread at a time may run it. */
typedef struct dip_Graph dip_Graph;

/* Calls f once; its op calls become a graph for inputs of the types of like[nin]. Gradients and
 * optimiser steps inside become part of it: a training step is one graph. The parameters it reads
 * are read anew at each run, those it changes are changed by each run. Other tensors that f uses
 * are constants. When f fails, so does the call, and nothing has changed. */
DIP_API dip_Status dip_compile(dip_Function f, int nin, dip_Tensor *const *like, int nout,
                               dip_Graph **out);
DIP_API void dip_graph_free(dip_Graph *g); /* NULL is fine */
/* Inputs have the dtypes and sizes the graph was compiled for. On failure no parameter, optimiser
 * or random state has changed. */
DIP_API dip_Status dip_graph_run(dip_Graph *g, int nin, dip_Tensor *const *in, int nout,
                                 dip_Tensor **out);
typedef struct dip_GraphInfo {
    int64_t nodes, steps; /* of the graph; of the plan that is replayed, 0: there is none */
    int64_t arena;        /* bytes of intermediate values, in use while it runs */
    int64_t results;      /* bytes of fresh results each run */
} dip_GraphInfo;
DIP_API dip_Status dip_graph_info(dip_Graph *g, dip_GraphInfo *out);
/* The graph as text, to be freed with free(). */
DIP_API char *dip_graph_text(const dip_Graph *g);

/* then(in) or otherwise(in) by a bool[] value. Inside a compiled function both are captured, and
 * one of them runs; their results must have equal types. Parameters and gradients that one of them
 * changes stay as they are where the other runs. Differentiable. */
DIP_API dip_Status dip_cond(dip_Tensor *condition, dip_Function then, dip_Function otherwise,
                            int nin, dip_Tensor *const *in, int nout, dip_Tensor **out);
/* values = body(values) while test(values) (one bool[]), from init[n]; out[n] are the last values.
 * The types stay. Differentiable. The body of a compiled loop may not change parameters: carry such
 * values along. */
DIP_API dip_Status dip_while(dip_Function test, dip_Function body, int n, dip_Tensor *const *init,
                             dip_Tensor **out);

/* ---- random numbers, memory, threads --------------------------------------------------------- */

/* One state for the process: every random op takes the next numbers of it. */
typedef struct dip_RandomState {
    uint64_t key, counter;
} dip_RandomState;
DIP_API void dip_seed(uint64_t seed);
DIP_API dip_RandomState dip_random_state(void);
DIP_API void dip_random_restore(dip_RandomState state);

/* Bytes. */
typedef struct dip_Memory {
    int64_t allocated; /* in live tensors */
    int64_t reserved;  /* taken from the system, kept or in use */
    int64_t peak;      /* the largest `allocated` since the last reset */
    int64_t limit;     /* 0: none */
} dip_Memory;
DIP_API dip_Memory dip_memory(void);
DIP_API void dip_memory_reset_peak(void);
/* What would pass the limit fails with NOMEM. 0 lifts it. */
DIP_API dip_Status dip_memory_limit(int64_t nbytes);
/* Gives kept pages back to the system. */
DIP_API void dip_memory_trim(void);

/* Threads that one call computes with: 1 to 1024; 0 returns to the CPUs of this process. Results
 * do not depend on it. */
DIP_API dip_Status dip_set_threads(int n);
DIP_API int dip_threads(void);

/* ---- files ----------------------------------------------------------------------------------- */

/* The tensor in an IDX file (the MNIST family), plain or gzip-compressed: u8, i8, i16, i32, f32,
 * f64. A file that is truncated, too long or of another kind fails with VALUE; IO when it cannot be
 * read. */
DIP_API dip_Status dip_read_idx(const char *path, dip_Tensor **out);

/* Writes n tensors under their names (different, UTF-8) as safetensors. The file is written beside
 * `path`, synced and renamed, so that an interruption leaves the old file whole. */
DIP_API dip_Status dip_save(const char *path, int64_t n, const char *const *names,
                            dip_Tensor *const *tensors);

/* The content of a safetensors file, given back with dip_archive_free. May be read by many threads.
 */
typedef struct dip_Archive dip_Archive;
DIP_API dip_Status dip_load(const char *path, dip_Archive **out);
DIP_API void dip_archive_free(dip_Archive *archive); /* NULL is fine */
DIP_API int64_t dip_archive_count(const dip_Archive *archive);
/* Entry i of 0 .. count - 1 in file order; NULL outside. Names and tensors live with the archive.
 */
DIP_API const char *dip_archive_name(const dip_Archive *archive, int64_t i);
DIP_API dip_Tensor *dip_archive_peek(const dip_Archive *archive, int64_t i);
/* The tensor of this name, borrowed; NULL when there is none. */
DIP_API dip_Tensor *dip_archive_find_peek(const dip_Archive *archive, const char *name);

#ifdef __cplusplus
}
#endif
#endif
