/* The Tensor type: a handle on an immutable value. What the handle shows may be replaced by an
 * in-place operation; the value itself never changes. Most methods come from the op table and are
 * hung on the type by the package (diptych/common/tensor.py). */
#include "core.h"

#include "kernels/loops.h"
#include "number.h"

/* ---- life */

static Tensor *nothing; /* what a handle shows before __init__ */

PyObject *tensor_wrap(Tensor *take) {
    if (!take) return NULL;
    TensorObject *o = PyObject_New(TensorObject, core.tensor);
    if (!o) return tensor_unref(take), NULL;
    o->t = take;
    o->weakrefs = NULL;
    o->is_param = o->is_part = o->is_const = false;
    return (PyObject *)o;
}

static PyObject *tensor_make(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)args, (void)keywords;
    PyObject *o = type->tp_alloc(type, 0);
    if (o) TENSOR(o)->t = tensor_ref(nothing);
    return o;
}

static void tensor_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    if (TENSOR(self)->weakrefs) PyObject_ClearWeakRefs(self);
    tensor_unref(TENSOR(self)->t);
    type->tp_free(self);
    Py_DECREF(type);
}

bool tensor_repoint(TensorObject *self, Tensor *take) {
    if (!take) return false;
    self->is_part = false;
    if (!self->is_param) {
        tensor_unref(self->t);
        self->t = take;
        return true;
    }
    Param *p = PARAMETER(self)->param;
    Status status = param_assign(p, take);
    tensor_unref(take);
    self->t = p->value;
    return status == OK || raise_status(status);
}

bool tensor_warn_part(TensorObject *self) {
    if (!self->is_part) return true;
    self->is_part = false;
    bool is_shared = atomic_load(&self->t->refs) > 1 || storage_is_shared(self->t->storage);
    if (!is_shared) return true;
    PyObject *f = callback("warn_part");
    PyObject *done = f ? PyObject_CallNoArgs(f) : NULL;
    Py_XDECREF(done);
    return done != NULL;
}

static bool set_const(PyObject *self, const char *name, PyObject *value) {
    if (!PyBool_Check(value)) {
        PyErr_Format(PyExc_TypeError,
                     "For '%s', the type of 'const_arg' should be 'bool', but got type '%s'.", name,
                     Py_TYPE(value)->tp_name);
        return false;
    }
    TENSOR(self)->is_const = value == Py_True;
    return true;
}

/* Tensor(input_data, dtype, shape, init, const_arg): data is copied; shape with init is filled. */
static int tensor_init(PyObject *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"input_data", "dtype", "shape", "init", "const_arg", NULL};
    PyObject *data = Py_None, *dtype = Py_None, *shape = Py_None, *init = Py_None;
    PyObject *is_const = Py_False;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OOOOO:Tensor", names, &data, &dtype, &shape,
                                     &init, &is_const) ||
        !set_const(self, "Tensor", is_const))
        return -1;
    DType d = DT_NONE;
    if (dtype != Py_None && !dtype_from_object(dtype, &d)) return -1;
    Tensor *made;
    if (data != Py_None) {
        if (shape != Py_None || init != Py_None) {
            PyErr_SetString(PyExc_ValueError,
                            "Tensor: give either input_data, or shape (and init), not both");
            return -1;
        }
        made = tensor_from_object(data, d);
    } else {
        PyObject *f = callback("filled_tensor");
        PyObject *filled = f ? PyObject_CallFunctionObjArgs(f, shape, dtype, init, NULL) : NULL;
        if (!filled || !IS_TENSOR(filled)) return Py_XDECREF(filled), -1;
        made = tensor_alias(TENSOR(filled)->t);
        Py_DECREF(filled);
    }
    return tensor_repoint(TENSOR(self), made) ? 0 : -1;
}

/* ---- elements */

static PyObject *element(DType d, const char *at) {
    int64_t i;
    double f;
    switch (dtype_info[d].kind) {
    case KIND_BOOL: return PyBool_FromLong(*at != 0);
    case KIND_FLOAT: loops(DT_f64)->load[d](1, &f, at); return PyFloat_FromDouble(f);
    case KIND_COMPLEX: {
        double parts[2];
        DType part = dtype_info[d].compute;
        loops(DT_f64)->load[part](2, parts, at);
        return PyComplex_FromDoubles(parts[0], parts[1]);
    }
    default: break;
    }
    if (d == DT_u64) return PyLong_FromUnsignedLongLong(*(const uint64_t *)at);
    loops(DT_i64)->load[d](1, &i, at);
    return PyLong_FromLongLong(i);
}

static PyObject *tensor_item(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    Tensor *t = TENSOR(self)->t;
    if (n) {
        PyObject *key = n == 1 ? Py_NewRef(args[0]) : PyTuple_New(n);
        for (Py_ssize_t i = 0; n > 1 && key && i < n; i++)
            PyTuple_SET_ITEM(key, i, Py_NewRef(args[i]));
        bool is_flat = n == 1 && PyIndex_Check(args[0]) && t->type.rank != 1; /* as in NumPy */
        PyObject *line = is_flat ? PyObject_CallMethod(self, "reshape", "i", -1) : Py_NewRef(self);
        PyObject *part = key && line ? tensor_subscript(line, key) : NULL;
        Py_XDECREF(key);
        Py_XDECREF(line);
        PyObject *value = part ? tensor_item(part, NULL, 0) : NULL;
        Py_XDECREF(part);
        return value;
    }
    if (!tensor_has_values(TENSOR(self), "item")) return NULL;
    if (tensor_count(t) == 1) return element(t->type.dtype, t->data);
    char text[200];
    PyErr_Format(PyExc_ValueError, "item: the tensor is %s; it must have one element",
                 type_text(&t->type, text, sizeof text));
    return NULL;
}

static PyObject *list_axis(const Tensor *t, int axis, const char *at) {
    if (axis == t->type.rank) return element(t->type.dtype, at);
    PyObject *list = PyList_New(t->type.dims[axis]);
    int64_t step = t->strides[axis] * dtype_size(t->type.dtype);
    for (int64_t i = 0; list && i < t->type.dims[axis]; i++) {
        PyObject *o = list_axis(t, axis + 1, at + i * step);
        if (!o) return Py_DECREF(list), NULL;
        PyList_SET_ITEM(list, i, o);
    }
    return list;
}
static PyObject *tensor_tolist(PyObject *self, PyObject *none) {
    (void)none;
    if (!tensor_has_values(TENSOR(self), "tolist")) return NULL;
    return list_axis(TENSOR(self)->t, 0, TENSOR(self)->t->data);
}

PyObject *shape_tuple(const TensorType *type) {
    PyObject *shape = PyTuple_New(type->rank);
    for (int i = 0; shape && i < type->rank; i++) {
        PyObject *n = type->dims[i] == UNKNOWN_SIZE ? Py_NewRef(Py_None)
                      : type->dims[i] == ANY_SIZES  ? Py_NewRef(Py_Ellipsis)
                                                    : PyLong_FromLongLong(type->dims[i]);
        if (!n) return Py_DECREF(shape), NULL;
        PyTuple_SET_ITEM(shape, i, n);
    }
    return shape;
}

/* ---- attributes */

static PyObject *get_shape(PyObject *self, void *c) {
    (void)c;
    Tensor *t = TENSOR(self)->t;
    bool may_vary = t->symbol && !tensor_is_placeholder(t);
    return may_vary ? tensor_sizes(t) : shape_tuple(&t->type);
}
static PyObject *get_dtype(PyObject *self, void *c) {
    (void)c;
    return Py_NewRef(core.dtypes[TENSOR(self)->t->type.dtype]);
}
static PyObject *get_ndim(PyObject *self, void *c) {
    (void)c;
    return PyLong_FromLong(TENSOR(self)->t->type.rank);
}
static PyObject *get_size(PyObject *self, void *c) {
    (void)c;
    if (!tensor_has_sizes(TENSOR(self)->t)) return NULL;
    Tensor *t = TENSOR(self)->t;
    return t->symbol ? tensor_elements(t, 1) : PyLong_FromLongLong(tensor_count(t));
}
static PyObject *get_itemsize(PyObject *self, void *c) {
    (void)c;
    return PyLong_FromLongLong(dtype_size(TENSOR(self)->t->type.dtype));
}
static PyObject *get_nbytes(PyObject *self, void *c) {
    (void)c;
    if (!tensor_has_sizes(TENSOR(self)->t)) return NULL;
    Tensor *t = TENSOR(self)->t;
    if (t->symbol) return tensor_elements(t, dtype_size(t->type.dtype));
    return PyLong_FromLongLong(tensor_nbytes(t));
}
static PyObject *get_strides(PyObject *self, void *c) {
    (void)c;
    Tensor *t = TENSOR(self)->t;
    if (t->symbol) tensor_fix_sizes(t);
    TensorType bytes = {.rank = t->type.rank};
    for (int i = 0; i < t->type.rank; i++)
        bytes.dims[i] = t->strides[i] * dtype_size(t->type.dtype);
    return shape_tuple(&bytes);
}
static PyObject *get_reversed(PyObject *self, void *c) {
    (void)c;
    Tensor *out;
    Status status = dispatch1(OP_transpose, NULL, TENSOR(self)->t, &out);
    PyObject *o = status == OK ? tensor_wrap(out) : raise_status(status);
    if (o) TENSOR(o)->is_part = true;
    return o;
}
static PyObject *get_recorded(PyObject *self, void *c) {
    (void)c;
    return PyBool_FromLong(TENSOR(self)->t->link != NULL);
}

static PyObject *get_const(PyObject *self, void *c) {
    (void)c;
    return PyBool_FromLong(TENSOR(self)->is_const);
}
static PyObject *tensor_set_const(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    if (n > 1) return PyErr_SetString(PyExc_TypeError, "set_const_arg takes one argument"), NULL;
    return set_const(self, "set_const_arg", n ? args[0] : Py_True) ? Py_NewRef(self) : NULL;
}

static PyGetSetDef tensor_getset[] = {
    {"shape", get_shape, NULL, "Sizes, a tuple of ints.", NULL},
    {"dtype", get_dtype, NULL, "Element type.", NULL},
    {"ndim", get_ndim, NULL, "Number of axes.", NULL},
    {"size", get_size, NULL, "Number of elements.", NULL},
    {"itemsize", get_itemsize, NULL, "Bytes of one element.", NULL},
    {"nbytes", get_nbytes, NULL, "size * itemsize.", NULL},
    {"strides", get_strides, NULL, "Bytes between neighbours along each axis.", NULL},
    {"T", get_reversed, NULL, "Axes reversed.", NULL},
    {"requires_grad", get_recorded, NULL, "Whether gradients flow through this value.", NULL},
    {"const_arg", get_const, NULL, "Whether compiled functions take it as a constant.", NULL},
    {0},
};

static PyMemberDef tensor_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, NULL},
    {0},
};

/* ---- protocols */

static Py_hash_t tensor_hash(PyObject *self) {
    Py_hash_t h = (Py_hash_t)((uintptr_t)self >> 4);
    return h == -1 ? -2 : h;
}

/* A tensor of a graph being captured has a type only. */
static PyObject *symbol_text(PyObject *self) {
    Tensor *t = TENSOR(self)->t;
    char text[200];
    tensor_fix_sizes(t);
    return PyUnicode_FromFormat(tensor_is_placeholder(t) ? "<placeholder %s>" : "<%s of a graph>",
                                type_text(&t->type, text, sizeof text));
}

static PyObject *tensor_repr(PyObject *self) {
    if (TENSOR(self)->t->symbol) return symbol_text(self);
    PyObject *f = callback("tensor_repr");
    return f ? PyObject_CallOneArg(f, self) : NULL;
}
static PyObject *tensor_str(PyObject *self) {
    if (TENSOR(self)->t->symbol) return symbol_text(self);
    PyObject *f = callback("tensor_str");
    return f ? PyObject_CallOneArg(f, self) : NULL;
}

static Py_ssize_t tensor_length(PyObject *self) {
    const TensorType *type = &TENSOR(self)->t->type;
    if (!tensor_has_sizes(TENSOR(self)->t)) return -1;
    if (TENSOR(self)->t->symbol) tensor_fix_sizes(TENSOR(self)->t);
    if (type->rank) return type->dims[0];
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
}

static PyObject *tensor_row(PyObject *self, Py_ssize_t i) {
    PyObject *key = PyLong_FromSsize_t(i);
    PyObject *row = key ? tensor_subscript(self, key) : NULL;
    Py_XDECREF(key);
    return row;
}

static PyObject *tensor_iter(PyObject *self) {
    if (TENSOR(self)->t->type.rank) return PySeqIter_New(self);
    PyErr_SetString(PyExc_TypeError, "iteration over a 0-d tensor");
    return NULL;
}

static int tensor_contains(PyObject *self, PyObject *value) {
    PyObject *same = tensor_compare(self, value, Py_EQ);
    if (!same || !IS_TENSOR(same)) return Py_XDECREF(same), same ? 0 : -1;
    if (!tensor_has_values(TENSOR(same), "in")) return Py_DECREF(same), -1;
    const Tensor *t = TENSOR(same)->t;
    int found = memchr(t->data, 1, (size_t)tensor_nbytes(t)) != NULL;
    Py_DECREF(same);
    return found;
}

static PyMethodDef tensor_methods[] = {
    {"item", CFUNC(tensor_item), METH_FASTCALL,
     "item(*index)\n--\n\nThe one element as a Python number: at index, one int counts row-major."},
    {"tolist", tensor_tolist, METH_NOARGS, "tolist()\n--\n\nNested lists of Python numbers."},
    {"backward", CFUNC(tensor_backward), WITH_KEYWORDS,
     "backward(gradient=None, retain_graph=False, create_graph=False)\n--\n\n"
     "Adds the gradients of this value, seeded with gradient (ones), to the grad of every\n"
     "Parameter it depends on."},
    {"register_hook", tensor_register_hook, METH_O,
     "register_hook(hook)\n--\n\n"
     "hook(grad) sees the gradient of this value and may return another. Returns a handle with\n"
     "remove()."},
    {"set_const_arg", CFUNC(tensor_set_const), METH_FASTCALL,
     "set_const_arg(const_arg=True)\n--\n\n"
     "Whether compiled functions take this tensor as a constant: they are compiled once for each\n"
     "value, and may look at it. Returns the tensor."},
    {"__dlpack__", CFUNC(tensor_dlpack), WITH_KEYWORDS,
     "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, NULL},
    {0},
};

static PyType_Slot tensor_slots[] = {
    {Py_tp_new, tensor_make},
    {Py_tp_init, tensor_init},
    {Py_tp_dealloc, tensor_dealloc},
    {Py_tp_repr, tensor_repr},
    {Py_tp_str, tensor_str},
    {Py_tp_hash, tensor_hash},
    {Py_tp_richcompare, tensor_compare},
    {Py_tp_iter, tensor_iter},
    {Py_tp_getset, tensor_getset},
    {Py_tp_members, tensor_members},
    {Py_tp_methods, tensor_methods},
    {Py_mp_length, tensor_length},
    {Py_mp_subscript, tensor_subscript},
    {Py_mp_ass_subscript, tensor_ass_subscript},
    {Py_sq_length, tensor_length},
    {Py_sq_item, tensor_row},
    {Py_sq_contains, tensor_contains},
    {Py_bf_getbuffer, tensor_getbuffer},
    {Py_bf_releasebuffer, tensor_releasebuffer},
    {Py_tp_doc,
     "Tensor(input_data=None, dtype=None, shape=None, init=None, const_arg=False)\n--\n\n"
     "An array of numbers of one dtype.\n\n"
     "input_data: number, nested lists, array or tensor; it is copied.\n"
     "shape, init: instead of data, a shape filled by an initializer (zeros).\n"
     "const_arg: compiled functions take it as a constant (see set_const_arg)."},
    {0},
};
static PyType_Slot all_slots[COUNT_OF(tensor_slots) + NUMBER_SLOTS];
static PyType_Spec tensor_spec = {
    .name = "diptych._core.Tensor",
    .basicsize = sizeof(TensorObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = all_slots,
};

bool tensor_type_init(PyObject *module) {
    TensorType empty = {.dtype = DT_f32, .rank = 1};
    Status status = tensor_new(&empty, "Tensor", &nothing);
    if (status != OK) return raise_status(status), false;
    memcpy(all_slots, number_slots, sizeof number_slots);
    memcpy(all_slots + NUMBER_SLOTS, tensor_slots, sizeof tensor_slots);
    core.tensor = (PyTypeObject *)PyType_FromModuleAndSpec(module, &tensor_spec, NULL);
    return core.tensor && PyModule_AddObjectRef(module, "Tensor", (PyObject *)core.tensor) == 0 &&
           PyObject_SetAttrString((PyObject *)core.tensor, "__array_ufunc__", Py_None) == 0;
}
