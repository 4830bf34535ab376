/* The op type: one callable object a row of the table. It binds as a method like a Python function,
 * and tells help(), inspect and the stub generator what the row says. */
#include "core.h"

/* ---- what the row says */

static const char *const kind_texts[] = {
    [ATTR_INT] = "int",     [ATTR_FLT] = "float", [ATTR_BOOL] = "bool",
    [ATTR_DTYPE] = "dtype", [ATTR_INTS] = "ints", [ATTR_STR] = "str",
};

/* (name, kind, required, default) of slot i; kinds: tensor, tensors, optional, number, int ... */
static PyObject *slot_info(const OpObject *o, int i) {
    if (i < o->nin) {
        const SigInput *in = &o->in[i];
        const char *kind = in->is_variadic   ? "tensors"
                           : in->is_optional ? "optional"
                           : in->is_weak     ? "number"
                                             : "tensor";
        return Py_BuildValue("(OsOO)", o->names[i], kind,
                             in->is_optional || in->is_weak ? Py_False : Py_True,
                             in->is_weak ? o->weak[i] : Py_None);
    }
    const AttrSpec *spec = &o->op->attrs[i - o->nin];
    bool has = attr_has_default(spec);
    PyObject *preset = has ? attr_to_object(spec, o->presets) : Py_NewRef(Py_None);
    if (!preset) return NULL;
    return Py_BuildValue("(OsON)", o->names[i], kind_texts[spec->kind], has ? Py_False : Py_True,
                         preset);
}

static PyObject *get_slots(PyObject *self, void *c) {
    (void)c;
    const OpObject *o = OPOBJECT(self);
    PyObject *list = PyTuple_New(o->nslots);
    for (int i = 0; list && i < o->nslots; i++) {
        PyObject *info = slot_info(o, i);
        if (!info) return Py_DECREF(list), NULL;
        PyTuple_SET_ITEM(list, i, info);
    }
    return list;
}

static PyObject *get_name(PyObject *self, void *c) {
    (void)c;
    return PyUnicode_FromString(OPOBJECT(self)->op->name);
}
static PyObject *get_module(PyObject *self, void *c) {
    (void)self, (void)c;
    return PyUnicode_FromString("diptych.ops");
}
static PyObject *get_primitive(PyObject *self, void *c) {
    (void)c;
    const char *prim = OPOBJECT(self)->op->prim;
    return prim ? PyUnicode_FromString(prim) : Py_NewRef(Py_None);
}
static PyObject *get_hidden(PyObject *self, void *c) {
    (void)c;
    return PyBool_FromLong(OPOBJECT(self)->op->hidden);
}
static PyObject *get_summary(PyObject *self, void *c) {
    (void)c;
    return PyUnicode_FromString(OPOBJECT(self)->op->doc);
}
static PyObject *get_dtype_rule(PyObject *self, void *c) {
    (void)c;
    const Op *op = OPOBJECT(self)->op;
    static const char *const classes[] = {
        [EW_ANY] = "any", [EW_NUM] = "number",  [EW_FLT] = "float",
        [EW_INT] = "int", [EW_LOG] = "logical", [EW_WHERE] = "any",
    };
    static const char *const rules[] = {
        [RULE_FREE] = "free", [RULE_SAME] = "any", [RULE_FLOAT] = "float"};
    return PyUnicode_FromString(op->kind == K_EWISE ? classes[op->ewclass] : rules[op->rule]);
}
static PyObject *get_results(PyObject *self, void *c) {
    (void)c;
    return PyLong_FromLong(OPOBJECT(self)->op->nout);
}
static PyObject *get_differentiable(PyObject *self, void *c) {
    (void)c;
    return PyBool_FromLong(op_is_differentiable(OPOBJECT(self)->op));
}
static PyObject *ask(const char *what, PyObject *self) {
    PyObject *f = callback(what);
    return f ? PyObject_CallOneArg(f, self) : NULL;
}
static PyObject *get_doc(PyObject *self, void *c) {
    (void)c;
    return ask("op_doc", self);
}
static PyObject *get_signature(PyObject *self, void *c) {
    (void)c;
    return ask("op_signature", self);
}
static PyObject *get_parameters(PyObject *self, void *c) {
    (void)c;
    return ask("op_parameters", self);
}

static PyGetSetDef op_getset[] = {
    {"__name__", get_name, NULL, NULL, NULL},
    {"__qualname__", get_name, NULL, NULL, NULL},
    {"__module__", get_module, NULL, NULL, NULL},
    {"__doc__", get_doc, NULL, NULL, NULL},
    {"__signature__", get_signature, NULL, NULL, NULL},
    {"slots", get_slots, NULL, "(name, kind, required, default) of each argument.", NULL},
    {"parameters", get_parameters, NULL, "The arguments as text.", NULL},
    {"primitive", get_primitive, NULL, "Name of the primitive class, or None.", NULL},
    {"hidden", get_hidden, NULL, "A helper of gradients.", NULL},
    {"summary", get_summary, NULL, "What the op does.", NULL},
    {"dtype_rule", get_dtype_rule, NULL, "any, number, float, int, logical or free.", NULL},
    {"results", get_results, NULL, "Number of results; -1: the arguments decide.", NULL},
    {"is_differentiable", get_differentiable, NULL, "Whether gradients flow through it.", NULL},
    {0},
};

/* ---- the object */

static void op_dealloc(PyObject *self) {
    OpObject *o = OPOBJECT(self);
    PyTypeObject *type = Py_TYPE(self);
    for (int i = 0; i < o->nslots; i++) Py_XDECREF(o->names[i]);
    for (int i = 0; i < o->nin; i++) Py_XDECREF(o->weak[i]);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *op_repr(PyObject *self) {
    return PyUnicode_FromFormat("<op %s>", OPOBJECT(self)->op->name);
}

static PyObject *op_bind(PyObject *self, PyObject *instance, PyObject *type) {
    (void)type;
    return instance && instance != Py_None ? PyMethod_New(self, instance) : Py_NewRef(self);
}

static PyObject *op_reduce(PyObject *self, PyObject *none) {
    (void)none;
    return get_name(self, NULL);
}

static PyMethodDef op_methods[] = {
    {"__reduce__", op_reduce, METH_NOARGS, NULL},
    {0},
};
static PyMemberDef op_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpObject, vectorcall), READONLY, NULL},
    {0},
};
static PyType_Slot op_slots[] = {
    {Py_tp_dealloc, op_dealloc},     {Py_tp_repr, op_repr},
    {Py_tp_call, PyVectorcall_Call}, {Py_tp_descr_get, op_bind},
    {Py_tp_getset, op_getset},       {Py_tp_methods, op_methods},
    {Py_tp_members, op_members},     {0},
};
static PyType_Spec op_spec = {
    .name = "diptych._core.Op",
    .basicsize = sizeof(OpObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
             Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = op_slots,
};

static bool name_slots(OpObject *o) {
    for (int i = 0; i < o->nslots; i++) {
        const char *name = i < o->nin ? o->in[i].name : o->op->attrs[i - o->nin].name;
        if (!INTERNED(o->names[i], name)) return false;
    }
    for (int i = 0; i < o->nin; i++) {
        if (!o->in[i].is_weak) continue;
        o->weak[i] = PyFloat_FromDouble(o->in[i].weak_default);
        if (!o->weak[i]) return false;
    }
    return true;
}

static PyObject *op_make(const Op *op) {
    OpObject *o = PyObject_New(OpObject, core.op);
    if (!o) return NULL;
    memset((char *)o + sizeof(PyObject), 0, sizeof *o - sizeof(PyObject));
    o->vectorcall = op_vectorcall;
    o->op = op;
    int nin = op_signature(op, o->in);
    if (nin + op->nattrs > MAX_SLOTS || op->attrs_size > sizeof o->presets) {
        PyErr_Format(PyExc_SystemError, "op %s has too many arguments", op->name);
        return Py_DECREF(o), NULL;
    }
    o->nin = nin;
    /* the place in the random stream, last of a random op, is filled in by the call */
    o->nslots = nin + op->nattrs - (op->kind == K_RANDOM ? 2 : 0);
    if (op->attrs_size) attrs_init(op, o->presets);
    if (!name_slots(o)) return Py_DECREF(o), NULL;
    return (PyObject *)o;
}

/* _core.op_table: name -> op, hidden ones included, but for the slopes of elementwise rows. */
bool op_types_init(PyObject *module) {
    core.op = (PyTypeObject *)PyType_FromModuleAndSpec(module, &op_spec, NULL);
    if (!core.op || PyModule_AddObjectRef(module, "Op", (PyObject *)core.op) < 0) return false;
    PyObject *table = PyDict_New();
    if (!table) return false;
    for (int id = 1; id < NOPS; id++) {
        if (op_get((OpId)id)->kind == K_EWGRAD) continue;
        PyObject *o = op_make(op_get((OpId)id));
        int failed = o ? PyDict_SetItemString(table, op_get((OpId)id)->name, o) : -1;
        Py_XDECREF(o);
        if (failed) return Py_DECREF(table), false;
    }
    int failed = PyModule_AddObjectRef(module, "op_table", table);
    Py_DECREF(table);
    return !failed;
}
