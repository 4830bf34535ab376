/* Diptych: tensors, gradients and training from C.
 *
 * Conventions
 * - A function that can fail returns dip_Status; DIP_OK is 0. The message of the last failure on
 * this thread is dip_error_message(). Out parameters come last and are set only on success.
 * - Tensors are counted values: they never change once made. Arguments are borrowed; a returned or
 *   out-parameter tensor is a new reference that the caller gives back with dip_unref().
 *   Functions named ..._peek return a borrowed reference.
 * - Shapes are arrays of int64_t, row-major; sizes count elements unless the name says bytes.
 * - Thread safety: different threads may use the library at once and share tensors. A dip_Param, a
 *   dip_Optimizer and a dip_Tape-recorded computation belong to one thread at a time.
 *   The gradient tape and the error record are per thread.
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
    DIP_BOOL,
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
} dip_DType;

typedef struct dip_Tensor dip_Tensor;

/* Copies `dims[rank]` elements of `dtype` from `data` (dense, row-major). data NULL: zeros. */
DIP_API dip_Status dip_tensor(dip_DType dtype, int rank, const int64_t *dims, const void *data,
                              dip_Tensor **out);

DIP_API dip_Tensor *dip_ref(dip_Tensor *t); /* one more reference; returns t */
DIP_API void dip_unref(dip_Tensor *t);      /* NULL is fine */

DIP_API dip_DType dip_dtype(const dip_Tensor *t);
DIP_API int dip_rank(const dip_Tensor *t);
DIP_API int64_t dip_dim(const dip_Tensor *t,
                        int axis);              /* negative counts from the end; -1 if none */
DIP_API int64_t dip_count(const dip_Tensor *t); /* number of elements */
DIP_API size_t dip_nbytes(const dip_Tensor *t); /* elements x element size */
/* Copies the elements, dense and row-major, into `dst` of `nbytes` >= dip_nbytes(t). */
DIP_API dip_Status dip_copy_out(const dip_Tensor *t, void *dst, size_t nbytes);
/* The one element of a tensor, as double (integers beyond 2^53 are rounded). */
DIP_API dip_Status dip_item(const dip_Tensor *t, double *out);
DIP_API const char *dip_dtype_name(dip_DType dtype);

/* ---- ops ------------------------------------------------------------------------------------- */

/* Runs the op `name` (docs/ops.md). in[nin] may hold NULL for optional tensors; attrs is text like
 * "stride=2 pad=1" or NULL for the defaults; out[nout] gets new references, nout as the op gives.
 * diptych_ops.h has one typed function an op. */
DIP_API dip_Status dip_call(const char *name, int nin, dip_Tensor *const *in, const char *attrs,
                            int nout, dip_Tensor **out);

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
