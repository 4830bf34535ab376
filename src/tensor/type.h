/* What a tensor is, without its data: element type and sizes. Also promotion and broadcasting. */
#ifndef DIP_TYPE_H
#define DIP_TYPE_H

#include "base/error.h"

typedef enum DType {
    DT_NONE = -1,
#define DTYPE(token, ctype, nbytes, kind, compute, name) DT_##token,
#include "tensor/dtype.def"
    NREAL, /* those that loops know */
    BEFORE_COMPLEX = NREAL - 1,
#include "tensor/complex.def"
#undef DTYPE
    NDTYPES
} DType;
enum {
    MAX_RANK = DIP_MAX_RANK,
    UNKNOWN_SIZE = -1, /* of a placeholder */
    ANY_SIZES = -2     /* the only size of a placeholder for any number of axes */
};

typedef enum DKind { KIND_BOOL, KIND_UINT, KIND_INT, KIND_FLOAT, KIND_COMPLEX } DKind;

typedef struct TensorType {
    uint8_t dtype;
    uint8_t rank;
    int64_t dims[MAX_RANK];
} TensorType;

typedef struct DTypeInfo {
    const char *token, *name;
    uint8_t nbytes, kind, compute;
} DTypeInfo;
extern const DTypeInfo dtype_info[NDTYPES];

static inline int64_t dtype_size(DType d) { return dtype_info[d].nbytes; }
static inline bool dtype_is_float(DType d) { return dtype_info[d].kind == KIND_FLOAT; }
static inline bool dtype_is_complex(DType d) { return dtype_info[d].kind == KIND_COMPLEX; }
/* Floats and complex numbers. */
static inline bool dtype_is_smooth(DType d) { return dtype_info[d].kind >= KIND_FLOAT; }
static inline bool dtype_is_int(DType d) {
    return dtype_info[d].kind == KIND_INT || dtype_info[d].kind == KIND_UINT;
}
static inline bool dtype_is_integer(DType d) { return dtype_is_int(d); }
static inline const char *dtype_name(DType d) { return dtype_info[d].name; }
/* "float32" or "f32" -> DT_f32; DT_NONE when unknown. */
DType dtype_find(const char *name);
/* The type two tensors meet in (docs/semantics.md, promotion table). */
DType dtype_promote(DType a, DType b);
/* A Python scalar of kind `k` beside a tensor of type `d`: weak, it only raises the category;
 * beside complex numbers it is a real number of their precision. */
DType dtype_promote_weak(DType d, DKind k);
/* f32 for integers and bool; floats and complex types stay. */
static inline DType dtype_to_float(DType d) { return dtype_is_smooth(d) ? d : DT_f32; }

static inline int64_t type_count(const TensorType *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) n *= t->dims[i];
    return n;
}
static inline bool type_same_dims(const TensorType *a, const TensorType *b) {
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return true;
}
static inline bool type_equal(const TensorType *a, const TensorType *b) {
    return a->dtype == b->dtype && type_same_dims(a, b);
}
/* Fails when a dim is negative or the byte count passes 2^62; sizes of 0 are left out of it, so
 * that the product of any of the sizes fits. `what` names the op in the message. */
Status type_check(const TensorType *t, const char *what);
void type_strides(const TensorType *t, int64_t *strides); /* dense, row-major, in elements */
/* Row-major without holes. */
bool type_strides_dense(const TensorType *t, const int64_t *strides);
/* NumPy rules; `op` names the op in the error. out->dtype is not touched. */
Status type_broadcast(const char *op, const TensorType *a, const TensorType *b, TensorType *out);
/* -rank <= axis < rank -> 0 <= axis < rank; a 0-d tensor accepts 0 and -1. */
Status type_axis(const char *op, int64_t axis, int rank, int *out);
/* "float32[2, 3]" into buf; returns buf. */
char *type_text(const TensorType *t, char *buf, size_t size);

#endif
