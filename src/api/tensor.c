/* The public face of tensors: checks at the door, conversions, nothing else. */
#include <string.h>

#include "api/api.h"
#include "kernels/loops.h"

#define DTYPE(token, ctype, nbytes, kind, compute, name) +1
_Static_assert(0
#include "tensor/complex.def"
#include "tensor/dtype.def"
                   == NDTYPES,
               "every dtype has its number");
#undef DTYPE
_Static_assert((int)DIP_BOOL == DT_bool && (int)DIP_U64 == DT_u64 && (int)DIP_I64 == DT_i64 &&
                   (int)DIP_F16 == DT_f16 && (int)DIP_F64 == DT_f64 && (int)DIP_C128 == DT_c128,
               "dip_DType follows dtype.def");

const char *dip_error_message(void) { return error_message(); }
const char *dip_error_trace(void) { return error_trace(); }
const char *dip_status_name(dip_Status status) { return status_name(status); }

/* ---- making */

static bool is_dtype(dip_DType dtype) { return (int)dtype >= 0 && (int)dtype < NDTYPES; }

static Status check_dtype(const char *call, dip_DType dtype) {
    if (is_dtype(dtype)) return OK;
    return FAIL(TYPE, "%s: dtype %d is unknown; legal: 0 to %d", call, (int)dtype, NDTYPES - 1);
}

static Status make_type(const char *call, dip_DType dtype, int rank, const int64_t *dims,
                        TensorType *out) {
    TRY(check_dtype(call, dtype));
    if (rank < 0 || rank > MAX_RANK || (rank && !dims))
        return FAIL(VALUE, "%s: rank is %d; it must be 0 to %d, with dims", call, rank, MAX_RANK);
    *out = (TensorType){.dtype = (uint8_t)dtype, .rank = (uint8_t)rank};
    if (rank) memcpy(out->dims, dims, (size_t)rank * sizeof *dims);
    return type_check(out, call);
}

dip_Status dip_tensor(dip_DType dtype, int rank, const int64_t *dims, const void *data,
                      dip_Tensor **out) {
    NEED("tensor", out, "out");
    TensorType type;
    TRY(make_type("tensor", dtype, rank, dims, &type));
    Tensor *t;
    TRY(tensor_new(&type, "tensor", &t));
    if (data)
        memcpy(t->data, data, (size_t)tensor_nbytes(t));
    else
        memset(t->data, 0, (size_t)tensor_nbytes(t));
    *out = t;
    return OK;
}

static void nothing_to_release(void *ctx) { (void)ctx; }

dip_Status dip_wrap(dip_DType dtype, int rank, const int64_t *dims, const void *data,
                    void (*release)(void *ctx), void *ctx, dip_Tensor **out) {
    NEED("wrap", out, "out");
    NEED("wrap", data, "data");
    TensorType type;
    TRY(make_type("wrap", dtype, rank, dims, &type));
    if ((uintptr_t)data % (uintptr_t)dtype_size((DType)dtype))
        return FAIL(VALUE, "wrap: data is not aligned to its %s elements", dip_dtype_name(dtype));
    Storage *s;
    TRY(storage_lend((void *)data, (size_t)(type_count(&type) * dtype_size(type.dtype)),
                     release ? release : nothing_to_release, ctx, &s));
    s->read_only = true;
    int64_t strides[MAX_RANK];
    type_strides(&type, strides);
    *out = tensor_over(s, &type, strides, (void *)data);
    storage_unref(s);
    return OK;
}

dip_Status dip_number(dip_DType dtype, double value, dip_Tensor **out) {
    NEED("number", out, "out");
    TRY(check_dtype("number", dtype));
    if (dtype_is_complex((DType)dtype))
        return FAIL(TYPE, "number: the dtype is %s; a double is no complex number",
                    dtype_name((DType)dtype));
    Tensor *t;
    TRY(tensor_new(&(TensorType){.dtype = (uint8_t)dtype}, "number", &t));
    loops(DT_f64)->store[dtype](1, t->data, &value);
    *out = t;
    return OK;
}

dip_Tensor *dip_ref(dip_Tensor *t) { return t ? tensor_ref(t) : NULL; }
void dip_unref(dip_Tensor *t) { tensor_unref(t); }

/* ---- looking */

dip_DType dip_dtype(const dip_Tensor *t) { return (dip_DType)t->type.dtype; }
int dip_rank(const dip_Tensor *t) { return t->type.rank; }
int64_t dip_count(const dip_Tensor *t) { return tensor_count(t); }
size_t dip_nbytes(const dip_Tensor *t) { return (size_t)tensor_nbytes(t); }

int64_t dip_dim(const dip_Tensor *t, int axis) {
    int at = axis < 0 ? axis + t->type.rank : axis;
    return at < 0 || at >= t->type.rank ? -1 : t->type.dims[at];
}

const void *dip_data_peek(const dip_Tensor *t) { return t && t->dense ? t->data : NULL; }

dip_Status dip_copy_out(const dip_Tensor *t, void *dst, size_t nbytes) {
    NEED("copy_out", t, "t");
    NEED("copy_out", dst, "dst");
    TRY(tensor_check_values(t, "copy_out"));
    if (nbytes < dip_nbytes(t))
        return FAIL(VALUE, "copy_out: the buffer has %zu bytes, the tensor %zu", nbytes,
                    dip_nbytes(t));
    tensor_copy_dense(t, dst);
    return OK;
}

dip_Status dip_item(const dip_Tensor *t, double *out) {
    NEED("item", t, "t");
    NEED("item", out, "out");
    TRY(tensor_check_values(t, "item"));
    if (tensor_count(t) != 1)
        return FAIL(VALUE, "item: the tensor has %lld elements; it must have one",
                    (long long)tensor_count(t));
    if (dtype_is_complex(t->type.dtype))
        return FAIL(TYPE, "item: the tensor is %s; take it apart by real and imag",
                    dtype_name(t->type.dtype));
    loops(DT_f64)->load[t->type.dtype](1, out, t->data);
    return OK;
}

char *dip_type_text(const dip_Tensor *t, char *buf, size_t size) {
    if (!buf || size == 0) return buf;
    buf[0] = 0;
    return t ? type_text(&t->type, buf, size) : buf;
}

/* ---- dtypes */

const char *dip_dtype_name(dip_DType dtype) {
    return is_dtype(dtype) ? dtype_name((DType)dtype) : "unknown";
}
size_t dip_dtype_size(dip_DType dtype) {
    return is_dtype(dtype) ? (size_t)dtype_size((DType)dtype) : 0;
}
dip_DType dip_dtype_promote(dip_DType a, dip_DType b) {
    if (!is_dtype(a) || !is_dtype(b)) return is_dtype(a) ? a : b;
    return (dip_DType)dtype_promote((DType)a, (DType)b);
}
