/* Sizes that are not known: placeholders, tensors that only say what others must be like, and
 * Size, the integer that stands for a size while a function is captured for any.
 *
 * A Size computes with numbers and other Sizes as an int does and gives Sizes again; quotients are
 * Sizes that are floats. Where one is compared, or its number is needed, the answer holds for the
 * present size and is guarded. */
#include "core.h"
#include "eager/record.h"

bool tensor_has_sizes(const Tensor *t) {
    if (DIP_LIKELY(!tensor_is_placeholder(t))) return true;
    raise_status(tensor_check_placeholder(t));
    return false;
}

/* placeholder(dtype, sizes); a size of None may be any, (...,) stands for any number of them */
static PyObject *placeholder(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *dtype, *sizes;
    DType d;
    if (!PyArg_ParseTuple(args, "OO!:placeholder", &dtype, &PyTuple_Type, &sizes) ||
        !dtype_from_object(dtype, &d))
        return NULL;
    Py_ssize_t rank = PyTuple_GET_SIZE(sizes);
    if (rank > MAX_RANK)
        return PyErr_Format(PyExc_ValueError,
                            "Tensor: shape has %zd sizes; at most %d are possible", rank, MAX_RANK);
    TensorType type = {.dtype = (uint8_t)d, .rank = (uint8_t)rank};
    for (int i = 0; i < type.rank; i++) {
        PyObject *n = PyTuple_GET_ITEM(sizes, i);
        if (n == Py_Ellipsis && rank == 1) {
            type.dims[i] = ANY_SIZES;
            break;
        }
        type.dims[i] = n == Py_None ? UNKNOWN_SIZE : PyLong_AsLongLong(n);
        if (PyErr_Occurred()) return NULL;
        if (n != Py_None && type.dims[i] < 0)
            return PyErr_Format(PyExc_ValueError,
                                "Tensor: shape[%d] is %lld; it must be 0 or more, or None", i,
                                (long long)type.dims[i]);
    }
    return tensor_wrap(tensor_placeholder(&type));
}

static PyObject *is_placeholder(PyObject *module, PyObject *o) {
    (void)module;
    return PyBool_FromLong(IS_TENSOR(o) && tensor_is_placeholder(TENSOR(o)->t));
}

static PyObject *check_placeholder(PyObject *module, PyObject *o) {
    (void)module;
    if (IS_TENSOR(o) && !tensor_has_sizes(TENSOR(o)->t)) return NULL;
    Py_RETURN_NONE;
}

/* ---- Size */

typedef struct SizeObject {
    PyObject_HEAD uint64_t of; /* number of its recording */
    SizeId id;
    Number value;
} SizeObject;
static PyTypeObject *size_type;
#define SIZE(o) ((SizeObject *)(o))

bool is_size(PyObject *o) { return Py_IS_TYPE(o, size_type); }

static PyObject *size_wrap(SizeId id) {
    SizeObject *o = PyObject_New(SizeObject, size_type);
    if (!o) return NULL;
    o->of = record_number_now();
    o->id = id;
    o->value = record_value(id);
    return (PyObject *)o;
}

static bool is_live(PyObject *o) { return is_size(o) && record_number_now() == SIZE(o)->of; }

SizeId size_id(PyObject *o) {
    if (is_live(o)) return SIZE(o)->id;
    if (PyFloat_Check(o)) return record_const(number_float(PyFloat_AS_DOUBLE(o)));
    if (!PyLong_Check(o)) return 0;
    int overflow;
    long long n = PyLong_AsLongLongAndOverflow(o, &overflow);
    return overflow ? 0 : record_const(number_int(n));
}

/* The number itself, good for this size only. */
static PyObject *size_number(PyObject *o) {
    Number n = SIZE(o)->value;
    if (is_live(o)) record_compare(SIZE_EQ, SIZE(o)->id, record_const(n));
    return n.is_float ? PyFloat_FromDouble(n.d) : PyLong_FromLongLong(n.i);
}

static PyObject *plain(PyObject *o) { return is_size(o) ? size_number(o) : Py_NewRef(o); }

typedef PyObject *(*Binary)(PyObject *, PyObject *);

/* With plain numbers. */
static PyObject *compute_now(Binary compute, PyObject *a, PyObject *b) {
    PyObject *x = plain(a), *y = x ? plain(b) : NULL;
    PyObject *made = y ? compute(x, y) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(y);
    return made;
}

static PyObject *compute(SizeOp op, Binary otherwise, PyObject *a, PyObject *b) {
    if (IS_TENSOR(a) || IS_TENSOR(b)) Py_RETURN_NOTIMPLEMENTED;
    SizeId x = size_id(a), y = x ? size_id(b) : 0;
    SizeId made = y ? record_size(op, x, y) : 0;
    return made ? size_wrap(made) : compute_now(otherwise, a, b);
}

#define COMPUTE(name, op, otherwise)                                                               \
    static PyObject *size_##name(PyObject *a, PyObject *b) { return compute(op, otherwise, a, b); }
COMPUTE(add, SIZE_ADD, PyNumber_Add)
COMPUTE(subtract, SIZE_SUB, PyNumber_Subtract)
COMPUTE(multiply, SIZE_MUL, PyNumber_Multiply)
COMPUTE(floordiv, SIZE_FLOORDIV, PyNumber_FloorDivide)
COMPUTE(mod, SIZE_MOD, PyNumber_Remainder)
COMPUTE(truediv, SIZE_TRUEDIV, PyNumber_TrueDivide)
#define LEAK(name, otherwise)                                                                      \
    static PyObject *size_##name(PyObject *a, PyObject *b) {                                       \
        if (IS_TENSOR(a) || IS_TENSOR(b)) Py_RETURN_NOTIMPLEMENTED;                                \
        return compute_now(otherwise, a, b);                                                       \
    }
LEAK(divmod, PyNumber_Divmod)
LEAK(lshift, PyNumber_Lshift)
LEAK(rshift, PyNumber_Rshift)
LEAK(and, PyNumber_And)
LEAK(or, PyNumber_Or)
LEAK(xor, PyNumber_Xor)

static PyObject *size_power(PyObject *a, PyObject *b, PyObject *mod) {
    if (IS_TENSOR(a) || IS_TENSOR(b)) Py_RETURN_NOTIMPLEMENTED;
    if (is_live(a) && PyLong_CheckExact(b) && PyLong_AsLong(b) == 2) return size_multiply(a, a);
    PyErr_Clear();
    SizeId power = mod == Py_None ? record_size(SIZE_POW, size_id(a), size_id(b)) : 0;
    if (power) return size_wrap(power);
    PyObject *x = plain(a), *y = x ? plain(b) : NULL;
    PyObject *made = y ? PyNumber_Power(x, y, mod) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(y);
    return made;
}

static PyObject *size_negative(PyObject *o) {
    PyObject *zero = PyLong_FromLong(0), *made = zero ? size_subtract(zero, o) : NULL;
    Py_XDECREF(zero);
    return made;
}
static PyObject *size_positive(PyObject *o) { return Py_NewRef(o); }

/* Whether a compares to b in this way, guarded where both are sizes or ints. */
static PyObject *size_richcompare(PyObject *a, PyObject *b, int how) {
    static const Comparison known[] = {
        [Py_LT] = SIZE_LT, [Py_LE] = SIZE_LE, [Py_EQ] = SIZE_EQ,
        [Py_NE] = SIZE_NE, [Py_GT] = SIZE_GT, [Py_GE] = SIZE_GE,
    };
    if (IS_TENSOR(b)) Py_RETURN_NOTIMPLEMENTED;
    if (!PyLong_Check(b) && !PyFloat_Check(b) && !is_size(b)) Py_RETURN_NOTIMPLEMENTED;
    SizeId x = size_id(a), y = x ? size_id(b) : 0;
    if (y) return PyBool_FromLong(record_compare(known[how], x, y));
    PyObject *n = plain(a), *m = n ? plain(b) : NULL;
    PyObject *made = m ? PyObject_RichCompare(n, m, how) : NULL;
    Py_XDECREF(n);
    Py_XDECREF(m);
    return made;
}

static int size_bool(PyObject *o) {
    if (is_live(o)) return record_compare(SIZE_NE, SIZE(o)->id, record_const(number_int(0)));
    return SIZE(o)->value.d != 0;
}

static PyObject *size_absolute(PyObject *o) {
    bool is_negative = SIZE(o)->value.d < 0;
    if (is_live(o)) is_negative = record_compare(SIZE_LT, SIZE(o)->id, record_const(number_int(0)));
    return is_negative ? size_negative(o) : Py_NewRef(o);
}

static PyObject *size_float(PyObject *o) {
    PyObject *n = size_number(o);
    Py_XDECREF(n);
    return n ? PyFloat_FromDouble(SIZE(o)->value.d) : NULL;
}
static PyObject *size_int(PyObject *o) {
    PyObject *n = size_number(o), *made = n ? PyNumber_Long(n) : NULL;
    Py_XDECREF(n);
    return made;
}
static PyObject *size_index(PyObject *o) {
    PyObject *n = size_number(o), *made = n ? PyNumber_Index(n) : NULL;
    Py_XDECREF(n);
    return made;
}
static Py_hash_t size_hash(PyObject *o) {
    PyObject *n = size_number(o);
    Py_hash_t h = n ? PyObject_Hash(n) : -1;
    Py_XDECREF(n);
    return h;
}
static PyObject *size_repr(PyObject *o) {
    PyObject *n = size_number(o), *text = n ? PyObject_Repr(n) : NULL;
    Py_XDECREF(n);
    return text;
}
static PyObject *size_format(PyObject *o, PyObject *spec) {
    PyObject *n = size_number(o), *text = n ? PyObject_Format(n, spec) : NULL;
    Py_XDECREF(n);
    return text;
}
static PyObject *size_reduce(PyObject *o, PyObject *none) {
    (void)none;
    PyObject *n = size_number(o);
    return n ? Py_BuildValue("O(N)", Py_TYPE(n), n) : NULL;
}
/* isinstance(size, int) holds, or float. */
static PyObject *size_class(PyObject *o, void *c) {
    (void)c;
    return Py_NewRef(SIZE(o)->value.is_float ? &PyFloat_Type : &PyLong_Type);
}

bool size_is_float(PyObject *o) { return SIZE(o)->value.is_float; }

static PyMethodDef size_methods[] = {
    {"__format__", size_format, METH_O, NULL},
    {"__reduce__", size_reduce, METH_NOARGS, NULL},
    {0},
};
static PyGetSetDef size_getset[] = {{"__class__", size_class, NULL, NULL, NULL}, {0}};
static PyType_Slot size_slots[] = {
    {Py_nb_add, size_add},
    {Py_nb_subtract, size_subtract},
    {Py_nb_multiply, size_multiply},
    {Py_nb_floor_divide, size_floordiv},
    {Py_nb_remainder, size_mod},
    {Py_nb_true_divide, size_truediv},
    {Py_nb_divmod, size_divmod},
    {Py_nb_lshift, size_lshift},
    {Py_nb_rshift, size_rshift},
    {Py_nb_and, size_and},
    {Py_nb_or, size_or},
    {Py_nb_xor, size_xor},
    {Py_nb_power, size_power},
    {Py_nb_negative, size_negative},
    {Py_nb_positive, size_positive},
    {Py_nb_absolute, size_absolute},
    {Py_nb_bool, size_bool},
    {Py_nb_int, size_int},
    {Py_nb_index, size_index},
    {Py_nb_float, size_float},
    {Py_tp_richcompare, size_richcompare},
    {Py_tp_hash, size_hash},
    {Py_tp_repr, size_repr},
    {Py_tp_str, size_repr},
    {Py_tp_methods, size_methods},
    {Py_tp_getset, size_getset},
    {Py_tp_doc, "A size while a function is captured for any: computes like an int."},
    {0},
};
static PyType_Spec size_spec = {
    .name = "diptych._core.Size",
    .basicsize = sizeof(SizeObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = size_slots,
};

/* ---- sizes of tensors */

static PyObject *size_of_axis(Tensor *t, int axis) {
    SizeId id = t->symbol && record_now() ? record_dim(t, axis) : 0;
    return id ? size_wrap(id) : PyLong_FromLongLong(t->type.dims[axis]);
}

PyObject *tensor_sizes(Tensor *t) {
    PyObject *shape = PyTuple_New(t->type.rank);
    for (int i = 0; shape && i < t->type.rank; i++) {
        PyObject *n = size_of_axis(t, i);
        if (!n) return Py_DECREF(shape), NULL;
        PyTuple_SET_ITEM(shape, i, n);
    }
    return shape;
}

PyObject *tensor_elements(Tensor *t, int64_t each) {
    PyObject *n = PyLong_FromLongLong(each);
    for (int i = 0; n && i < t->type.rank; i++) {
        PyObject *size = size_of_axis(t, i), *more = size ? PyNumber_Multiply(n, size) : NULL;
        Py_XDECREF(size);
        Py_SETREF(n, more);
    }
    return n;
}

void tensor_fix_sizes(Tensor *t) {
    for (int i = 0; record_now() && t->symbol && i < t->type.rank; i++) {
        SizeId id = record_dim(t, i);
        if (id) record_compare(SIZE_EQ, id, record_const(number_int(t->type.dims[i])));
    }
}

static PyMethodDef functions[] = {
    {"placeholder", placeholder, METH_VARARGS,
     "placeholder(dtype, sizes): a Tensor without values; None: any size."},
    {"is_placeholder", is_placeholder, METH_O, "Whether it has no values, and sizes may be None."},
    {"check_placeholder", check_placeholder, METH_O, "ValueError for a placeholder."},
    {0},
};

bool sizes_init(PyObject *module) {
    size_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &size_spec, NULL);
    return size_type && PyModule_AddFunctions(module, functions) == 0 &&
           PyModule_AddObjectRef(module, "Size", (PyObject *)size_type) == 0;
}
