/* Python numbers, nested lists and arrays as tensors. Numbers beside tensors are weak: they take
 * the tensor's dtype and only raise its category (docs/semantics.md). Small tensors made of numbers
 * are kept in a table, for the same few constants come again in every step. */
#include "core.h"
#include "eager/record.h"

#include "kernels/loops.h"

/* ---- one number */

static bool is_numpy(PyObject *o) { return !strncmp(Py_TYPE(o)->tp_name, "numpy.", 6); }

bool scalar_kind(PyObject *o, DKind *out) {
    if (PyFloat_Check(o)) return *out = KIND_FLOAT, true;
    if (PyBool_Check(o)) return *out = KIND_BOOL, true;
    if (PyLong_Check(o)) return *out = KIND_INT, true;
    if (is_size(o)) return *out = size_is_float(o) ? KIND_FLOAT : KIND_INT, true;
    if (!is_numpy(o) || !strncmp(Py_TYPE(o)->tp_name + 6, "ndarray", 7)) return false;
    if (!strncmp(Py_TYPE(o)->tp_name + 6, "bool", 4)) return *out = KIND_BOOL, true;
    if (PyIndex_Check(o)) return *out = KIND_INT, true;
    PyNumberMethods *number = Py_TYPE(o)->tp_as_number;
    return *out = KIND_FLOAT, number && number->nb_float;
}

static bool out_of_range(PyObject *o, DType d) {
    PyErr_Format(PyExc_OverflowError, "%R does not fit into %s", o, dtype_name(d));
    return false;
}

static bool encode_integer(PyObject *o, DType d, void *dst) {
    int overflow;
    PyObject *integer = PyNumber_Index(o);
    if (!integer) return false;
    long long v = PyLong_AsLongLongAndOverflow(integer, &overflow);
    if (overflow > 0 && d == DT_u64) {
        uint64_t u = PyLong_AsUnsignedLongLong(integer);
        Py_DECREF(integer);
        if (PyErr_Occurred()) return PyErr_Clear(), out_of_range(o, d);
        memcpy(dst, &u, sizeof u);
        return true;
    }
    Py_DECREF(integer);
    int bits = (int)dtype_size(d) * 8;
    bool is_signed = dtype_info[d].kind == KIND_INT;
    long long high = d == DT_u64 || bits == 64 ? INT64_MAX
                     : is_signed               ? ((long long)1 << (bits - 1)) - 1
                                               : ((long long)1 << bits) - 1;
    long long low = !is_signed ? 0 : bits == 64 ? INT64_MIN : -high - 1;
    if (overflow || v < low || v > high) return out_of_range(o, d);
    int64_t wide = v;
    loops(DT_i64)->store[d](1, dst, &wide);
    return true;
}

static bool encode_float(PyObject *o, DType d, void *dst) {
    double v = PyFloat_CheckExact(o) ? PyFloat_AS_DOUBLE(o) : PyFloat_AsDouble(o);
    if (v == -1 && PyErr_Occurred()) return false;
    loops(DT_f64)->store[d](1, dst, &v);
    return true;
}

/* One number into the bytes of one element. */
static bool encode(PyObject *o, DKind kind, DType d, void *dst) {
    if (d == DT_bool) {
        int truth = PyObject_IsTrue(o);
        *(uint8_t *)dst = truth > 0;
        return truth >= 0;
    }
    if (kind == KIND_BOOL && is_numpy(o)) {
        int truth = PyObject_IsTrue(o);
        if (truth < 0) return false;
        return encode(truth ? Py_True : Py_False, KIND_INT, d, dst);
    }
    if (dtype_is_float(d) || kind == KIND_FLOAT) return encode_float(o, d, dst);
    return encode_integer(o, d, dst);
}

enum { KEPT = 64 };
typedef struct KeptNumber {
    uint64_t bits;
    DType d;
    Tensor *t;
} KeptNumber;
static KeptNumber kept[KEPT];

/* A size as a number of the graph. */
static Tensor *size_tensor(PyObject *o, DType d) {
    Tensor *made;
    Status status = record_size_tensor(size_id(o), d, &made);
    return status == OK ? made : (raise_status(status), NULL);
}

static Tensor *number_tensor(PyObject *o, DKind kind, DType d) {
    if (is_size(o) && size_id(o)) return size_tensor(o, d);
    if (dtype_is_complex(d)) return cast_take(number_tensor(o, kind, dtype_info[d].compute), d);
    uint64_t bits = 0;
    if (!encode(o, kind, d, &bits)) return NULL;
    KeptNumber *slot = &kept[((bits * 0x9e3779b97f4a7c15u) >> 56 ^ (unsigned)d * 37u) % KEPT];
    if (DIP_LIKELY(slot->t && slot->bits == bits && slot->d == d)) return tensor_ref(slot->t);
    Tensor *made;
    Status status = tensor_new(&(TensorType){.dtype = (uint8_t)d}, "number", &made);
    if (status != OK) return raise_status(status), NULL;
    memcpy(made->data, &bits, (size_t)dtype_size(d));
    tensor_unref(slot->t);
    *slot = (KeptNumber){bits, d, tensor_ref(made)};
    return made;
}

/* A Python or NumPy complex number. */
static bool is_complex(PyObject *o) {
    return PyComplex_Check(o) || !strcmp(Py_TYPE(o)->tp_name, "numpy.complex64");
}

/* In the precision of a tensor of dtype d beside it; NONE: complex64. */
static Tensor *complex_tensor(PyObject *o, DType d) {
    Py_complex v = PyComplex_AsCComplex(o);
    if (v.real == -1 && PyErr_Occurred()) return NULL;
    Tensor *made;
    Status status = tensor_new(&(TensorType){.dtype = DT_c128}, "number", &made);
    if (status != OK) return raise_status(status), NULL;
    memcpy(made->data, &v.real, sizeof v.real);
    memcpy(made->data + sizeof v.real, &v.imag, sizeof v.imag);
    return cast_take(made, d == DT_NONE ? DT_c64 : dtype_promote(d, DT_c64));
}

Tensor *scalar_tensor(PyObject *number, DType d) {
    DKind kind;
    if (is_complex(number)) return complex_tensor(number, d);
    if (!scalar_kind(number, &kind))
        return PyErr_Format(PyExc_TypeError, "%s is not a number", Py_TYPE(number)->tp_name), NULL;
    return number_tensor(number, kind, d);
}

DType default_dtype(DKind k) {
    return k == KIND_FLOAT ? DT_f32 : k == KIND_BOOL ? DT_bool : DT_i64;
}

static bool is_array(PyObject *o) {
    return PyList_Check(o) || PyTuple_Check(o) || is_numpy(o) ||
           (PyObject_CheckBuffer(o) && !PyBytes_Check(o) && !PyByteArray_Check(o));
}

Tensor *operand_tensor(PyObject *o, DType d, bool wide) {
    DKind kind;
    if (is_complex(o)) return complex_tensor(o, d);
    if (!scalar_kind(o, &kind)) return is_array(o) ? tensor_from_object(o, DT_NONE) : NULL;
    DType weak = dtype_promote_weak(d, kind);
    Tensor *made = number_tensor(o, kind, weak);
    if (made || !wide || !PyErr_ExceptionMatches(PyExc_OverflowError)) return made;
    PyErr_Clear();
    made = number_tensor(o, kind, DT_i64);
    if (made) return made;
    PyErr_Clear();
    return number_tensor(o, KIND_FLOAT, DT_f64);
}

Tensor *cast_take(Tensor *take, DType d) {
    if (!take || d == DT_NONE || take->type.dtype == d) return take;
    Tensor *made;
    Status status = dispatch1(OP_cast, &(attrs_cast){.dtype = d}, take, &made);
    tensor_unref(take);
    if (status != OK) return raise_status(status), NULL;
    return made;
}

/* ---- nested lists */

typedef struct Nest {
    TensorType type;
    DKind kind;
    bool is_mixed; /* holds tensors or arrays: NumPy puts it together */
    int depth_of_leaves;
} Nest;

static bool is_list(PyObject *o) { return PyList_Check(o) || PyTuple_Check(o); }

static bool uneven(int depth) {
    PyErr_Format(PyExc_ValueError,
                 "Tensor: the nested lists do not form a block: lengths differ at depth %d", depth);
    return false;
}

/* Sizes along the first elements. */
static bool nest_shape(PyObject *o, Nest *nest) {
    while (is_list(o)) {
        if (nest->type.rank == MAX_RANK)
            return PyErr_Format(PyExc_ValueError, "Tensor: lists nest deeper than %d", MAX_RANK),
                   false;
        Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
        nest->type.dims[nest->type.rank++] = n;
        if (n == 0) break;
        o = PySequence_Fast_GET_ITEM(o, 0);
    }
    return true;
}

/* Checks the sizes and finds the category of the leaves. */
static bool nest_look(PyObject *o, int depth, Nest *nest) {
    if (nest->is_mixed) return true;
    if (is_list(o)) {
        if (depth == nest->type.rank || PySequence_Fast_GET_SIZE(o) != nest->type.dims[depth])
            return uneven(depth);
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++)
            if (!nest_look(PySequence_Fast_GET_ITEM(o, i), depth + 1, nest)) return false;
        return true;
    }
    DKind kind;
    if (!scalar_kind(o, &kind)) {
        nest->is_mixed = IS_TENSOR(o) || is_array(o);
        if (nest->is_mixed) return true;
        PyErr_Format(PyExc_TypeError,
                     "Tensor: an element is of type %s; elements are bool, int, float, tensors or "
                     "arrays",
                     Py_TYPE(o)->tp_name);
        return false;
    }
    if (depth != nest->type.rank) return uneven(depth);
    if (kind > nest->kind) nest->kind = kind;
    return true;
}

/* The numbers of o into the bytes from *dst to end. What they run may change the list. */
static bool nest_fill(PyObject *o, DType d, char **dst, const char *end) {
    if (is_list(o)) {
        bool good = true;
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o) && good; i++) {
            PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(o, i));
            good = nest_fill(item, d, dst, end);
            Py_DECREF(item);
        }
        return good;
    }
    DKind kind = KIND_INT;
    if (*dst == end || !scalar_kind(o, &kind)) {
        PyErr_SetString(PyExc_RuntimeError, "Tensor: a list changed while it was read");
        return false;
    }
    bool done = encode(o, kind, d, *dst);
    *dst += dtype_size(d);
    return done;
}

static Tensor *from_python(const char *function, PyObject *o, DType d) {
    PyObject *f = callback(function);
    PyObject *made = f ? PyObject_CallOneArg(f, o) : NULL;
    if (!made) return NULL;
    Tensor *t = NULL;
    if (IS_TENSOR(made))
        t = cast_take(tensor_ref(TENSOR(made)->t), d);
    else
        PyErr_Format(PyExc_TypeError, "%s gave no tensor", function);
    Py_DECREF(made);
    return t;
}

static Tensor *from_list(PyObject *o, DType d) {
    Nest nest = {.kind = KIND_BOOL};
    if (!nest_shape(o, &nest) || !nest_look(o, 0, &nest)) return NULL;
    if (nest.is_mixed) return from_python("from_mixed_list", o, d);
    if (type_count(&nest.type) == 0) nest.kind = KIND_FLOAT;
    nest.type.dtype = (uint8_t)(d == DT_NONE ? default_dtype(nest.kind) : d);
    if (dtype_is_complex(nest.type.dtype)) nest.type.dtype = dtype_info[d].compute;
    Tensor *made;
    Status status = tensor_new(&nest.type, "Tensor", &made);
    if (status != OK) return raise_status(status), NULL;
    char *dst = made->data;
    const char *end = dst + type_count(&nest.type) * dtype_size((DType)nest.type.dtype);
    if (nest_fill(o, nest.type.dtype, &dst, end)) {
        if (dst == end) return cast_take(made, d);
        PyErr_SetString(PyExc_RuntimeError, "Tensor: a list changed while it was read");
    }
    tensor_unref(made);
    return NULL;
}

/* ---- anything */

Tensor *tensor_from_object(PyObject *o, DType d) {
    DKind kind;
    if (IS_TENSOR(o)) return cast_take(tensor_alias(TENSOR(o)->t), d);
    if (is_complex(o)) return cast_take(complex_tensor(o, DT_c128), d == DT_NONE ? DT_c64 : d);
    if (scalar_kind(o, &kind))
        return number_tensor(o, kind, d == DT_NONE ? default_dtype(kind) : d);
    if (is_list(o)) return from_list(o, d);
    if (PyObject_CheckBuffer(o) && !PyBytes_Check(o)) {
        Tensor *t = tensor_from_buffer(o, true);
        if (t || !PyErr_ExceptionMatches(PyExc_BufferError)) return cast_take(t, d);
        PyErr_Clear(); /* NumPy knows more formats */
    }
    if (PyObject_HasAttrString(o, "__array__")) return from_python("from_array_like", o, d);
    PyErr_Format(PyExc_TypeError,
                 "Tensor: data is of type %s; it must be a tensor, a number, nested lists or an "
                 "array",
                 Py_TYPE(o)->tp_name);
    return NULL;
}
