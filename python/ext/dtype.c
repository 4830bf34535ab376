/* ms.float32 and the other element types: one immortal object each, printed as MindSpore does. */
#include <ctype.h>

#include "core.h"

static PyObject *dtype_repr(PyObject *self) {
    char text[16];
    snprintf(text, sizeof text, "%s", dtype_name(((DTypeObject *)self)->d));
    text[0] = (char)toupper((unsigned char)text[0]);
    if (!strncmp(text, "Uint", 4)) text[1] = 'I';
    if (!strncmp(text, "Bfloat", 6)) text[1] = 'F';
    return PyUnicode_FromString(text);
}

static PyObject *dtype_reduce(PyObject *self, PyObject *none) {
    (void)none;
    return Py_BuildValue("(O(s))", core.dtype, dtype_name(((DTypeObject *)self)->d));
}

static PyObject *dtype_self(PyObject *self, PyObject *ignored) {
    (void)ignored;
    return Py_NewRef(self);
}

static PyObject *dtype_make(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)type;
    static char *names[] = {"name", NULL};
    PyObject *given;
    DType d;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:dtype", names, &given)) return NULL;
    return dtype_from_object(given, &d) ? Py_NewRef(core.dtypes[d]) : NULL;
}

static PyObject *get_name(PyObject *self, void *closure) {
    (void)closure;
    return PyUnicode_FromString(dtype_name(((DTypeObject *)self)->d));
}
static PyObject *get_itemsize(PyObject *self, void *closure) {
    (void)closure;
    return PyLong_FromLongLong(dtype_size(((DTypeObject *)self)->d));
}
static PyObject *get_is_float(PyObject *self, void *closure) {
    (void)closure;
    return PyBool_FromLong(dtype_is_float(((DTypeObject *)self)->d));
}
static PyObject *get_is_complex(PyObject *self, void *closure) {
    (void)closure;
    return PyBool_FromLong(dtype_is_complex(((DTypeObject *)self)->d));
}
static PyObject *get_is_signed(PyObject *self, void *closure) {
    (void)closure;
    int kind = dtype_info[((DTypeObject *)self)->d].kind;
    return PyBool_FromLong(kind >= KIND_INT);
}

static PyGetSetDef dtype_getset[] = {
    {"name", get_name, NULL, "\"float32\"", NULL},
    {"itemsize", get_itemsize, NULL, "Bytes of one element.", NULL},
    {"is_floating_point", get_is_float, NULL, "A float type.", NULL},
    {"is_complex", get_is_complex, NULL, "A complex type.", NULL},
    {"is_signed", get_is_signed, NULL, "Negative values exist.", NULL},
    {0},
};
static PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, NULL},
    {"__copy__", dtype_self, METH_NOARGS, NULL},
    {"__deepcopy__", dtype_self, METH_O, NULL},
    {0},
};
static PyType_Slot dtype_slots[] = {
    {Py_tp_repr, dtype_repr},
    {Py_tp_new, dtype_make},
    {Py_tp_getset, dtype_getset},
    {Py_tp_methods, dtype_methods},
    {Py_tp_doc, "dtype(name)\n--\n\nAn element type: dtype('float32') is ms.float32."},
    {0},
};
static PyType_Spec dtype_spec = {
    .name = "diptych._core.dtype",
    .basicsize = sizeof(DTypeObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = dtype_slots,
};

/* ---- from what users write */

static DType from_python_type(PyObject *o) {
    if (o == (PyObject *)&PyBool_Type) return DT_bool;
    if (o == (PyObject *)&PyLong_Type) return DT_i64;
    if (o == (PyObject *)&PyFloat_Type) return DT_f32;
    if (o == (PyObject *)&PyComplex_Type) return DT_c64;
    return DT_NONE;
}

static DType from_name(PyObject *text) {
    const char *name = PyUnicode_AsUTF8(text);
    if (!name) {
        PyErr_Clear();
        return DT_NONE;
    }
    char lower[32];
    snprintf(lower, sizeof lower, "%s", name);
    for (char *c = lower; *c; c++) *c = (char)tolower((unsigned char)*c);
    if (!strcmp(lower, "bool_")) return DT_bool;
    return dtype_find(lower);
}

/* numpy.dtype and ml_dtypes have a text in .name, numpy.float32 (a class) in .__name__. */
static DType from_named_object(PyObject *o) {
    static const char *const attributes[] = {"name", "__name__"};
    DType d = DT_NONE;
    for (size_t i = 0; i < COUNT_OF(attributes) && d == DT_NONE; i++) {
        PyObject *text = PyObject_GetAttrString(o, attributes[i]);
        if (text && PyUnicode_Check(text)) d = from_name(text);
        if (!text) PyErr_Clear();
        Py_XDECREF(text);
    }
    return d;
}

bool dtype_from_object(PyObject *o, DType *out) {
    if (IS_DTYPE(o)) {
        *out = ((DTypeObject *)o)->d;
        return true;
    }
    DType d = PyUnicode_Check(o) ? from_name(o) : from_python_type(o);
    if (d == DT_NONE && !PyUnicode_Check(o)) d = from_named_object(o);
    if (d == DT_NONE) {
        PyErr_Format(PyExc_TypeError,
                     "%R is not a dtype; legal: bool, uint8, uint16, uint32, uint64, int8, int16, "
                     "int32, int64, float16, bfloat16, float32, float64, complex64, complex128",
                     o);
        return false;
    }
    *out = d;
    return true;
}

bool dtype_type_init(PyObject *module) {
    core.dtype = (PyTypeObject *)PyType_FromModuleAndSpec(module, &dtype_spec, NULL);
    if (!core.dtype || PyModule_AddObjectRef(module, "dtype", (PyObject *)core.dtype) < 0)
        return false;
    for (int d = 0; d < NDTYPES; d++) {
        DTypeObject *made = PyObject_New(DTypeObject, core.dtype);
        if (!made) return false;
        made->d = (DType)d;
        core.dtypes[d] = (PyObject *)made;
        const char *name = d == DT_bool ? "bool_" : dtype_name((DType)d);
        if (PyModule_AddObjectRef(module, name, core.dtypes[d]) < 0) return false;
    }
    return true;
}
