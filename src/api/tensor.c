/* The public face of tensors and op calls: checks at the door, conversions, nothing else. */
#include <string.h>

#include "eager/dispatch.h"
#include "kernels/loops.h"

#define DTYPE(token, ctype, nbytes, kind, compute, name) +1
_Static_assert(0
#include "tensor/dtype.def"
                   == NDTYPES,
               "every dtype has its number");
#undef DTYPE
_Static_assert((int)DIP_BOOL == DT_bool && (int)DIP_U64 == DT_u64 && (int)DIP_I64 == DT_i64 &&
                   (int)DIP_F16 == DT_f16 && (int)DIP_F64 == DT_f64,
               "dip_DType follows dtype.def");

const char *dip_error_message(void) { return error_message(); }
const char *dip_error_trace(void) { return error_trace(); }
const char *dip_status_name(dip_Status status) { return status_name(status); }

dip_Status dip_tensor(dip_DType dtype, int rank, const int64_t *dims, const void *data,
                      dip_Tensor **out) {
    if (!out) return FAIL(VALUE, "tensor: out is NULL");
    if ((int)dtype < 0 || (int)dtype >= NDTYPES)
        return FAIL(TYPE, "tensor: dtype %d is unknown; legal: 0 to %d", (int)dtype, NDTYPES - 1);
    if (rank < 0 || rank > MAX_RANK || (rank && !dims))
        return FAIL(VALUE, "tensor: rank is %d; it must be 0 to %d, with dims", rank, MAX_RANK);
    TensorType type = {.dtype = (uint8_t)dtype, .rank = (uint8_t)rank};
    if (rank) memcpy(type.dims, dims, (size_t)rank * sizeof *dims);
    Tensor *t;
    TRY(tensor_new(&type, "tensor", &t));
    if (data)
        memcpy(t->data, data, (size_t)tensor_nbytes(t));
    else
        memset(t->data, 0, (size_t)tensor_nbytes(t));
    *out = t;
    return OK;
}

dip_Tensor *dip_ref(dip_Tensor *t) { return tensor_ref(t); }
void dip_unref(dip_Tensor *t) { tensor_unref(t); }
dip_DType dip_dtype(const dip_Tensor *t) { return (dip_DType)t->type.dtype; }
int dip_rank(const dip_Tensor *t) { return t->type.rank; }
int64_t dip_count(const dip_Tensor *t) { return tensor_count(t); }
size_t dip_nbytes(const dip_Tensor *t) { return (size_t)tensor_nbytes(t); }
const char *dip_dtype_name(dip_DType dtype) {
    return (int)dtype >= 0 && (int)dtype < NDTYPES ? dtype_name((DType)dtype) : "unknown";
}

int64_t dip_dim(const dip_Tensor *t, int axis) {
    int at = axis < 0 ? axis + t->type.rank : axis;
    return at < 0 || at >= t->type.rank ? -1 : t->type.dims[at];
}

dip_Status dip_copy_out(const dip_Tensor *t, void *dst, size_t nbytes) {
    if (nbytes < dip_nbytes(t))
        return FAIL(VALUE, "copy_out: the buffer has %zu bytes, the tensor %zu", nbytes,
                    dip_nbytes(t));
    tensor_copy_dense(t, dst);
    return OK;
}

dip_Status dip_item(const dip_Tensor *t, double *out) {
    if (tensor_count(t) != 1)
        return FAIL(VALUE, "item: the tensor has %lld elements; it must have one",
                    (long long)tensor_count(t));
    loops(DT_f64)->load[t->type.dtype](1, out, t->data);
    return OK;
}
