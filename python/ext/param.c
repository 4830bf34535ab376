/* The C base of Parameter: a Tensor whose value is that of a Param, the library's named, learning
 * value. The handle borrows the Param's present value, so that a step may overwrite its bytes. */
#include "core.h"
#include "eager/capture.h"
#include "eager/record.h"

static void show(ParameterObject *self) { self->base.t = self->param->value; }

/* A captured function looks at the value or gradient. */
static void see(PyObject *self) {
    capture_touch(PARAMETER(self)->param);
    record_see(PARAMETER(self)->param);
}

static bool is_ready(PyObject *self) {
    if (TENSOR(self)->is_param) return true;
    PyErr_SetString(PyExc_RuntimeError, "Parameter.__init__ was not called");
    return false;
}

static int parameter_init(PyObject *o, PyObject *args, PyObject *keywords) {
    static char *names[] = {"value", "name", "requires_grad", NULL};
    ParameterObject *self = PARAMETER(o);
    PyObject *value;
    const char *name;
    int requires_grad = true;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "Os|p:Parameter", names, &value, &name,
                                     &requires_grad))
        return -1;
    Tensor *t = tensor_from_object(value, DT_NONE);
    if (!t) return -1;
    if (!tensor_has_sizes(t)) return tensor_unref(t), -1;
    Param *made = param_new(name, t);
    tensor_unref(t);
    Status status = requires_grad ? OK : param_require_grad(made, false);
    if (status != OK) return param_unref(made), raise_status(status), -1;
    if (self->base.is_param) {
        self->param->handle = NULL;
        param_unref(self->param);
    } else {
        tensor_unref(self->base.t);
    }
    self->param = made;
    made->handle = o;
    self->base.is_param = true;
    show(self);
    return 0;
}

static void parameter_dealloc(PyObject *o) {
    ParameterObject *self = PARAMETER(o);
    PyTypeObject *type = Py_TYPE(o);
    if (self->base.weakrefs) PyObject_ClearWeakRefs(o);
    if (self->base.is_param) {
        self->param->handle = NULL;
        param_unref(self->param);
    } else {
        tensor_unref(self->base.t);
    }
    type->tp_free(o);
    Py_DECREF(type);
}

/* ---- attributes */

static PyObject *get_name(PyObject *self, void *c) {
    (void)c;
    return is_ready(self) ? PyUnicode_FromString(PARAMETER(self)->param->name) : NULL;
}
static int set_name(PyObject *self, PyObject *value, void *c) {
    (void)c;
    const char *name = value && PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : NULL;
    if (!name) return PyErr_SetString(PyExc_TypeError, "Parameter.name must be a str"), -1;
    if (!is_ready(self)) return -1;
    param_rename(PARAMETER(self)->param, name);
    return 0;
}

static PyObject *get_requires_grad(PyObject *self, void *c) {
    (void)c;
    return is_ready(self) ? PyBool_FromLong(PARAMETER(self)->param->requires_grad) : NULL;
}
static int set_requires_grad(PyObject *self, PyObject *value, void *c) {
    (void)c;
    if (!value || !PyBool_Check(value))
        return PyErr_SetString(PyExc_TypeError, "Parameter.requires_grad must be a bool"), -1;
    if (!is_ready(self)) return -1;
    Status status = param_require_grad(PARAMETER(self)->param, value == Py_True);
    show(PARAMETER(self));
    return status == OK ? 0 : (raise_status(status), -1);
}

static PyObject *get_grad(PyObject *self, void *c) {
    (void)c;
    if (!is_ready(self)) return NULL;
    if (capture_is_on()) see(self);
    Tensor *g = PARAMETER(self)->param->grad;
    return g ? tensor_wrap(tensor_ref(g)) : Py_NewRef(Py_None);
}
static int set_grad(PyObject *self, PyObject *value, void *c) {
    (void)c;
    if (value && value != Py_None && !IS_TENSOR(value))
        return PyErr_SetString(PyExc_TypeError, "Parameter.grad must be a Tensor or None"), -1;
    if (!is_ready(self)) return -1;
    Tensor *g = value && value != Py_None ? TENSOR(value)->t : NULL;
    Status status = param_set_grad(PARAMETER(self)->param, g);
    return status == OK ? 0 : (raise_status(status), -1);
}

/* ---- values */

static PyObject *parameter_value(PyObject *self, PyObject *none) {
    (void)none;
    if (!is_ready(self)) return NULL;
    if (capture_is_on()) see(self);
    return tensor_wrap(tensor_ref(TENSOR(self)->t));
}

/* assign(value): the same sizes; converted to the parameter's dtype. */
static PyObject *parameter_assign(PyObject *self, PyObject *value) {
    if (!is_ready(self)) return NULL;
    Tensor *t = cast_take(tensor_from_object(value, DT_NONE), TENSOR(self)->t->type.dtype);
    if (t && capture_is_on()) { /* a value of its own: what follows it follows the write */
        Tensor *made;
        Status status = dispatch1(OP_contiguous, NULL, t, &made);
        tensor_unref(t);
        if (status != OK) return raise_status(status);
        t = made;
    }
    return t && tensor_repoint(TENSOR(self), t) ? Py_NewRef(self) : NULL;
}

/* replace(value): any sizes and dtype. */
static PyObject *parameter_replace(PyObject *self, PyObject *value) {
    if (!is_ready(self)) return NULL;
    Tensor *t = tensor_from_object(value, DT_NONE);
    if (!t) return NULL;
    param_replace(PARAMETER(self)->param, t);
    tensor_unref(t);
    show(PARAMETER(self));
    return Py_NewRef(self);
}

static PyGetSetDef parameter_getset[] = {
    {"name", get_name, set_name, "The name, such as \"fc1.weight\".", NULL},
    {"requires_grad", get_requires_grad, set_requires_grad, "Whether training changes it.", NULL},
    {"grad", get_grad, set_grad, "The gradient gathered by backward(), or None.", NULL},
    {0},
};
static PyMethodDef parameter_methods[] = {
    {"value", parameter_value, METH_NOARGS, "value()\n--\n\nThe present value as a Tensor."},
    {"_assign", parameter_assign, METH_O, NULL},
    {"_replace", parameter_replace, METH_O, NULL},
    {0},
};
static PyType_Slot parameter_slots[] = {
    {Py_tp_init, parameter_init},
    {Py_tp_dealloc, parameter_dealloc},
    {Py_tp_getset, parameter_getset},
    {Py_tp_methods, parameter_methods},
    {Py_tp_doc, "The C base of Parameter."},
    {0},
};
static PyType_Spec parameter_spec = {
    .name = "diptych._core.Parameter",
    .basicsize = sizeof(ParameterObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = parameter_slots,
};

bool parameter_type_init(PyObject *module) {
    core.parameter =
        (PyTypeObject *)PyType_FromModuleAndSpec(module, &parameter_spec, (PyObject *)core.tensor);
    return core.parameter &&
           PyModule_AddObjectRef(module, "Parameter", (PyObject *)core.parameter) == 0;
}
