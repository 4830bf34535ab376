/* Element types, promotion, broadcasting and their error messages. */
#include "tensor/type.h"

#include <stdio.h>
#include <string.h>

const DTypeInfo dtype_info[NDTYPES] = {
#define DTYPE(token, ctype, nbytes, kind, compute, name)                                           \
    [DT_##token] = {#token, name, nbytes, KIND_##kind, DT_##compute},
#include "tensor/complex.def"
#include "tensor/dtype.def"
#undef DTYPE
};

DType dtype_find(const char *name) {
    for (int d = 0; d < NDTYPES; d++)
        if (!strcmp(name, dtype_info[d].name) || !strcmp(name, dtype_info[d].token)) return d;
    return DT_NONE;
}

/* Integers meet in the smallest signed type that holds both, or the wider of two of a kind. */
static DType promote_ints(DType a, DType b) {
    int sa = dtype_info[a].kind == KIND_INT, sb = dtype_info[b].kind == KIND_INT;
    int na = dtype_info[a].nbytes, nb = dtype_info[b].nbytes;
    if (sa == sb) return na >= nb ? a : b;
    DType u = sa ? b : a, s = sa ? a : b;
    if (dtype_info[s].nbytes > dtype_info[u].nbytes) return s;
    static const DType wider[] = {[1] = DT_i16, [2] = DT_i32, [4] = DT_i64, [8] = DT_f32};
    return wider[dtype_info[u].nbytes];
}

static DType promote_floats(DType a, DType b) {
    if (dtype_size(a) != dtype_size(b)) return dtype_size(a) > dtype_size(b) ? a : b;
    return DT_f32; /* f16 with bf16: neither holds the other */
}

DType dtype_promote(DType a, DType b) {
    if (a == b) return a;
    if (dtype_is_complex(a) || dtype_is_complex(b)) {
        bool wide = a == DT_f64 || b == DT_f64 || a == DT_c128 || b == DT_c128;
        return wide ? DT_c128 : DT_c64;
    }
    bool fa = dtype_is_float(a), fb = dtype_is_float(b);
    if (fa && fb) return promote_floats(a, b);
    if (fa || fb) return fa ? a : b;
    if (a == DT_bool || b == DT_bool) return a == DT_bool ? b : a;
    return promote_ints(a, b);
}

DType dtype_promote_weak(DType d, DKind k) {
    if (dtype_is_complex(d)) return dtype_info[d].compute;
    if (k == KIND_FLOAT) return dtype_to_float(d);
    if (k == KIND_INT || k == KIND_UINT) return d == DT_bool ? DT_i64 : d;
    return d;
}

Status type_check(const TensorType *t, const char *what) {
    int64_t n = dtype_size(t->dtype);
    for (int i = 0; i < t->rank; i++) {
        if (t->dims[i] < 0)
            return FAIL(VALUE, "%s: dim %d of the shape is %lld; it must be 0 or more", what, i,
                        (long long)t->dims[i]);
        if (__builtin_mul_overflow(n, max_i64(t->dims[i], 1), &n) || n > ((int64_t)1 << 62)) {
            char text[200];
            return FAIL(VALUE, "%s: %s has more than 2^62 bytes (sizes of 0 left out)", what,
                        type_text(t, text, sizeof text));
        }
    }
    return OK;
}

void type_strides(const TensorType *t, int64_t *strides) {
    int64_t s = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        strides[i] = s;
        s *= t->dims[i];
    }
}

bool type_strides_dense(const TensorType *type, const int64_t *strides) {
    int64_t want = 1;
    for (int i = type->rank - 1; i >= 0; i--) {
        if (type->dims[i] != 1 && strides[i] != want) return type_count(type) == 0;
        want *= type->dims[i];
    }
    return true;
}

Status type_broadcast(const char *op, const TensorType *a, const TensorType *b, TensorType *out) {
    int rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t dims[MAX_RANK];
    for (int i = 1; i <= rank; i++) {
        int64_t da = i <= a->rank ? a->dims[a->rank - i] : 1;
        int64_t db = i <= b->rank ? b->dims[b->rank - i] : 1;
        if (da != db && da != 1 && db != 1) {
            char ta[200], tb[200];
            return FAIL(
                VALUE,
                "%s: shapes do not broadcast: %s and %s differ at axis -%d (%lld and %lld); "
                "sizes must be equal or 1",
                op, type_text(a, ta, sizeof ta), type_text(b, tb, sizeof tb), i, (long long)da,
                (long long)db);
        }
        dims[rank - i] = da == 1 ? db : da;
    }
    out->rank = (uint8_t)rank;
    memcpy(out->dims, dims, (size_t)rank * sizeof *dims);
    return OK;
}

Status type_axis(const char *op, int64_t axis, int rank, int *out) {
    int r = rank ? rank : 1;
    if (axis < -r || axis >= r)
        return FAIL(INDEX, "%s: axis %lld is out of range for a tensor of rank %d; legal: [%d, %d]",
                    op, (long long)axis, rank, -r, r - 1);
    *out = (int)(axis < 0 ? axis + r : axis);
    return OK;
}

char *type_text(const TensorType *t, char *buf, size_t size) {
    size_t at = (size_t)snprintf(buf, size, "%s[", dtype_name(t->dtype));
    for (int i = 0; i < t->rank && at < size; i++) {
        const char *comma = i ? ", " : "";
        at += (size_t)(t->dims[i] == ANY_SIZES ? snprintf(buf + at, size - at, "...")
                       : t->dims[i] == UNKNOWN_SIZE
                           ? snprintf(buf + at, size - at, "%sNone", comma)
                           : snprintf(buf + at, size - at, "%s%lld", comma, (long long)t->dims[i]));
    }
    if (at < size) snprintf(buf + at, size - at, "]");
    return buf;
}
