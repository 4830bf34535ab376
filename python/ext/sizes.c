/* Sizes that are not known: placeholders, tensors that only say what others must be like. */
#include "core.h"

bool tensor_has_sizes(const Tensor *t) {
    if (DIP_LIKELY(!tensor_is_placeholder(t))) return true;
    raise_status(tensor_check_placeholder(t));
    return false;
}

/* placeholder(dtype, sizes); a size of None may be any */
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

static PyMethodDef functions[] = {
    {"placeholder", placeholder, METH_VARARGS,
     "placeholder(dtype, sizes): a Tensor without values; None: any size."},
    {"is_placeholder", is_placeholder, METH_O, "Whether it has no values, and sizes may be None."},
    {"check_placeholder", check_placeholder, METH_O, "ValueError for a placeholder."},
    {0},
};

bool sizes_init(PyObject *module) { return PyModule_AddFunctions(module, functions) == 0; }
