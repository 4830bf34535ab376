/* The C base of nn.Cell: calling it runs construct() without a Python frame in between, and every
 * attribute write moves one process-wide counter, so that "did anything change?" is one compare. */
#include "core.h"
#include "eager/capture.h"

typedef struct CellObject {
    PyObject_HEAD vectorcallfunc vectorcall;
    char is_special; /* hooks, a bprop or casts: calls go through _call_special */
} CellObject;
#define CELL(o) ((CellObject *)(o))

static unsigned long long epoch = 1;
static bool graph_mode; /* the outermost call of a Cell is compiled */

enum { FEW = 8 };

/* self.method(*args, **names): args has `n` positional values, then one a name. */
static PyObject *call_method(PyObject *self, PyObject *method, PyObject *const *args, size_t n,
                             PyObject *names) {
    size_t all = n + (names ? (size_t)PyTuple_GET_SIZE(names) : 0);
    PyObject *few[FEW + 1], **stack = few;
    if (all > FEW) stack = PyMem_Malloc((all + 1) * sizeof *stack);
    if (!stack) return PyErr_NoMemory();
    stack[0] = self;
    memcpy(stack + 1, args, all * sizeof *stack);
    PyObject *result = PyObject_VectorcallMethod(method, stack, n + 1, names);
    if (stack != few) PyMem_Free(stack);
    return result;
}

static PyObject *method_of(PyObject *self) {
    if (DIP_UNLIKELY(graph_mode) && !capture_is_on()) return core.call_graph;
    return CELL(self)->is_special ? core.call_special : core.construct;
}

static PyObject *cell_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                 PyObject *names) {
    return call_method(self, method_of(self), args, (size_t)PyVectorcall_NARGS(nargsf), names);
}

static PyObject *cell_call(PyObject *self, PyObject *args, PyObject *keywords) {
    if (!keywords || !PyDict_GET_SIZE(keywords))
        return call_method(self, method_of(self), &PyTuple_GET_ITEM(args, 0),
                           (size_t)PyTuple_GET_SIZE(args), NULL);
    PyObject *method = PyObject_GetAttr(self, method_of(self));
    PyObject *result = method ? PyObject_Call(method, args, keywords) : NULL;
    Py_XDECREF(method);
    return result;
}

static PyObject *cell_make(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)args, (void)keywords;
    PyObject *o = type->tp_alloc(type, 0);
    if (o) CELL(o)->vectorcall = cell_vectorcall;
    return o;
}

/* Nothing to do: object.__init__ would refuse the arguments of subclasses. */
static int cell_init(PyObject *self, PyObject *args, PyObject *keywords) {
    (void)self, (void)args, (void)keywords;
    return 0;
}

static void cell_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Parameters, tensors and cells take part in naming: _set_special says whether to write as usual.
 */
static int cell_setattro(PyObject *self, PyObject *name, PyObject *value) {
    epoch++;
    bool is_special = value && (IS_TENSOR(value) || PyObject_TypeCheck(value, core.cell));
    if (!is_special) return PyObject_GenericSetAttr(self, name, value);
    PyObject *answer = PyObject_CallMethodObjArgs(self, core.set_special, name, value, NULL);
    if (!answer) return -1;
    bool as_usual = answer == Py_True;
    Py_DECREF(answer);
    return as_usual ? PyObject_GenericSetAttr(self, name, value) : 0;
}

unsigned long long cell_epoch(void) { return epoch; }

static PyObject *get_epoch(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return PyLong_FromUnsignedLongLong(epoch);
}

static PyObject *set_graph_mode(PyObject *module, PyObject *on) {
    (void)module;
    int truth = PyObject_IsTrue(on);
    if (truth < 0) return NULL;
    bool was = graph_mode;
    graph_mode = truth;
    return PyBool_FromLong(was);
}
static PyObject *in_graph_mode(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return PyBool_FromLong(graph_mode && !capture_is_on());
}

static PyMemberDef cell_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CellObject, vectorcall), READONLY, NULL},
    {"_is_special", T_BOOL, offsetof(CellObject, is_special), 0, NULL},
    {0},
};
static PyType_Slot cell_slots[] = {
    {Py_tp_new, cell_make},
    {Py_tp_init, cell_init},
    {Py_tp_dealloc, cell_dealloc},
    {Py_tp_call, cell_call},
    {Py_tp_members, cell_members},
    {Py_tp_setattro, cell_setattro},
    {Py_tp_doc, "The C base of nn.Cell."},
    {0},
};
static PyType_Spec cell_spec = {
    .name = "diptych._core.Cell",
    .basicsize = sizeof(CellObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = cell_slots,
};

static PyMethodDef cell_functions[] = {
    {"set_graph_mode", set_graph_mode, METH_O,
     "Whether outermost calls of Cells are compiled; returns the old state."},
    {"in_graph_mode", in_graph_mode, METH_NOARGS, "Whether a call made now would be compiled."},
    {"epoch", get_epoch, METH_NOARGS, "Grows with every attribute write to any Cell."},
    {0},
};

bool cell_type_init(PyObject *module) {
    core.cell = (PyTypeObject *)PyType_FromModuleAndSpec(module, &cell_spec, NULL);
    return core.cell && PyModule_AddObjectRef(module, "Cell", (PyObject *)core.cell) == 0 &&
           PyModule_AddFunctions(module, cell_functions) == 0;
}
