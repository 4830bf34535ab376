/* The C base of compiled functions: calls like an earlier one go straight to the captured program.
 *
 * The package (diptych/compile) compiles, and after a call tells here what made it right: the types
 * of the arguments and everything that was guarded. A later call for which all of that is the very
 * same is a Memo's; every other call goes to the method _call, which knows the whole truth. */
#include "core.h"
#include "eager/capture.h"
#include "run/run.h"

enum { MAX_ARGS = 8, MAX_INPUTS = 16, NMEMOS = 4 };

typedef enum GetKind { GET_ATTR, GET_ITEM, GET_GLOBAL, GET_CELL, GET_LENGTH } GetKind;

/* Where a value is looked up, and what must be found there. */
typedef struct Guard {
    GetKind kind;
    PyObject *owner, *key;
    PyObject *value; /* the very object; NULL: a tensor of `type`, which is an input */
    TensorType type;
} Guard;

typedef struct Argument {
    PyObject *object; /* the very object; NULL: a tensor of `type` */
    TensorType type;
    bool is_linked; /* it wants a gradient */
    int first;      /* of the arguments that are the same object */
} Argument;

typedef struct Memo {
    PyObject *entry; /* runs what is more than a program; NULL: the memo is empty */
    PyObject *graph;
    bool is_plain; /* inputs to outputs, the first of which is the result */
    bool keeps_guards;
    bool records, is_nested;
    unsigned long long epoch;
    int nargs, ninputs, nguards;
    Argument args[MAX_ARGS];
    int inputs[MAX_INPUTS]; /* which argument, or -1: the next guard that is an input */
    Guard *guards;
} Memo;

typedef struct JitObject {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *weakrefs;
    unsigned long long hits;
    int next;
    Memo memos[NMEMOS];
} JitObject;
#define JIT(o) ((JitObject *)(o))

static bool jit_is_on = true;

/* ---- life */

static void memo_clear(Memo *m) {
    PyObject *entry = m->entry, *graph = m->graph;
    Guard *guards = m->guards;
    int nguards = m->nguards, nargs = m->nargs;
    PyObject *objects[MAX_ARGS];
    for (int i = 0; i < nargs; i++) objects[i] = m->args[i].object;
    *m = (Memo){0};
    Py_XDECREF(entry);
    Py_XDECREF(graph);
    for (int i = 0; i < nargs; i++) Py_XDECREF(objects[i]);
    for (int i = 0; i < nguards; i++) {
        Py_XDECREF(guards[i].owner);
        Py_XDECREF(guards[i].key);
        Py_XDECREF(guards[i].value);
    }
    PyMem_Free(guards);
}

static int jit_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    for (int k = 0; k < NMEMOS; k++) {
        Memo *m = &JIT(self)->memos[k];
        Py_VISIT(m->entry);
        Py_VISIT(m->graph);
        for (int i = 0; i < m->nargs; i++) Py_VISIT(m->args[i].object);
        for (int i = 0; i < m->nguards; i++) {
            Py_VISIT(m->guards[i].owner);
            Py_VISIT(m->guards[i].key);
            Py_VISIT(m->guards[i].value);
        }
    }
    return 0;
}

static int jit_clear(PyObject *self) {
    for (int k = 0; k < NMEMOS; k++) memo_clear(&JIT(self)->memos[k]);
    return 0;
}

static void jit_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (JIT(self)->weakrefs) PyObject_ClearWeakRefs(self);
    jit_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- looking up */

/* A new reference; NULL without an exception: nothing is there. */
static PyObject *guard_get(const Guard *g) {
    PyObject *o = NULL;
    switch (g->kind) {
    case GET_ATTR: o = PyObject_GetAttr(g->owner, g->key); break;
    case GET_ITEM: o = PyObject_GetItem(g->owner, g->key); break;
    case GET_GLOBAL: o = Py_XNewRef(PyDict_GetItemWithError(g->owner, g->key)); break;
    case GET_CELL: o = Py_XNewRef(PyCell_GET(g->owner)); break;
    case GET_LENGTH: o = PyLong_FromSsize_t(PyObject_Size(g->owner)); break; /* small: shared */
    }
    if (!o) PyErr_Clear();
    return o;
}

static bool is_tensor_of(PyObject *o, const TensorType *type) {
    return Py_IS_TYPE(o, core.tensor) && type_equal(&TENSOR(o)->t->type, type);
}

/* Inputs found by guards go to in[], borrowed from held[]. False: something has changed. */
static bool guards_hold(const Memo *m, PyObject **held, int *nheld) {
    for (int i = 0; i < m->nguards; i++) {
        const Guard *g = &m->guards[i];
        PyObject *o = guard_get(g);
        bool good = o && (g->value ? o == g->value : is_tensor_of(o, &g->type));
        if (good && !g->value)
            held[(*nheld)++] = o;
        else
            Py_XDECREF(o);
        if (!good) return false;
    }
    return true;
}

static bool arguments_fit(const Memo *m, PyObject *const *args) {
    for (int i = 0; i < m->nargs; i++) {
        const Argument *a = &m->args[i];
        if (a->object) {
            if (args[i] != a->object) return false;
            continue;
        }
        if (!is_tensor_of(args[i], &a->type)) return false;
        if (m->records && (TENSOR(args[i])->t->link != NULL) != a->is_linked) return false;
        int first = 0;
        while (args[first] != args[i]) first++;
        if (first != a->first) return false;
    }
    return true;
}

/* ---- calls */

static PyObject *run_plain(Memo *m, Program *p, PyObject *const *args, PyObject *const *held) {
    Tensor *in[MAX_INPUTS], *out[MAX_INPUTS];
    for (int i = 0, k = 0; i < m->ninputs; i++)
        in[i] = TENSOR(m->inputs[i] < 0 ? held[k++] : args[m->inputs[i]])->t;
    Status status = program_run(p, m->ninputs, in, out);
    if (status != OK) return raise_run_status(status);
    for (uint32_t i = 1; i < p->noutputs; i++) tensor_unref(out[i]);
    return tensor_wrap(out[0]);
}

static PyObject *run_entry(Memo *m, PyObject *const *args) {
    PyObject *leaves = PyList_New(m->nargs);
    for (int i = 0; leaves && i < m->nargs; i++) PyList_SET_ITEM(leaves, i, Py_NewRef(args[i]));
    PyObject *entry = Py_NewRef(m->entry);
    PyObject *made = leaves ? PyObject_CallMethodOneArg(entry, core.run_name, leaves) : NULL;
    if (made && m->entry == entry && m->keeps_guards) m->epoch = cell_epoch();
    Py_DECREF(entry);
    Py_XDECREF(leaves);
    return made;
}

/* Whether the memo was right; *out is then the result, or NULL with an exception. */
static bool try_memo(JitObject *self, Memo *m, PyObject *const *args, PyObject **out) {
    PyObject *held[MAX_INPUTS];
    int nheld = 0;
    if (m->epoch != cell_epoch() || m->records != tape_is_on() ||
        m->is_nested != (grad_level() > 0))
        return false;
    PyObject *graph = Py_NewRef(m->graph); /* a call from inside may replace the memo */
    Program *p = graph_program(graph);
    bool good = arguments_fit(m, args) && program_fits(p) && guards_hold(m, held, &nheld);
    if (good) {
        self->hits++;
        *out = m->is_plain ? run_plain(m, p, args, held) : run_entry(m, args);
    }
    while (nheld) Py_DECREF(held[--nheld]);
    Py_DECREF(graph);
    return good;
}

static PyObject *jit_vectorcall(PyObject *o, PyObject *const *args, size_t nargsf,
                                PyObject *names) {
    JitObject *self = JIT(o);
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    PyObject *out = NULL;
    for (int k = 0; k < NMEMOS && !names && jit_is_on && !capture_is_on(); k++) {
        Memo *m = &self->memos[k];
        if (m->entry && m->nargs == n && try_memo(self, m, args, &out)) return out;
    }
    PyObject *method = PyObject_GetAttr(o, core.call_name);
    out = method ? PyObject_Vectorcall(method, args, (size_t)n, names) : NULL;
    Py_XDECREF(method);
    return out;
}

static PyObject *jit_call(PyObject *self, PyObject *args, PyObject *keywords) {
    if (!keywords || !PyDict_GET_SIZE(keywords))
        return jit_vectorcall(self, &PyTuple_GET_ITEM(args, 0), (size_t)PyTuple_GET_SIZE(args),
                              NULL);
    PyObject *method = PyObject_GetAttr(self, core.call_name);
    PyObject *out = method ? PyObject_Call(method, args, keywords) : NULL;
    Py_XDECREF(method);
    return out;
}

/* ---- remembering */

static bool take_guard(PyObject *item, Guard *g) {
    static const char *const kinds[] = {"attr", "item", "global", "cell", "length"};
    const char *kind;
    PyObject *owner, *key, *value;
    if (!PyArg_ParseTuple(item, "sOOO", &kind, &owner, &key, &value)) return false;
    int k = 0;
    while (k < 5 && strcmp(kind, kinds[k])) k++;
    if (k == 5) return PyErr_SetString(PyExc_ValueError, "remember: unknown guard"), false;
    *g = (Guard){(GetKind)k, Py_NewRef(owner), Py_NewRef(key), NULL, {0}};
    if (IS_TENSOR(value) && !IS_PARAMETER(value))
        g->type = TENSOR(value)->t->type;
    else
        g->value = Py_NewRef(value);
    return true;
}

static bool take_guards(Memo *m, PyObject *list) {
    Py_ssize_t n = PyList_GET_SIZE(list);
    m->guards = PyMem_Calloc((size_t)n + 1, sizeof *m->guards);
    if (!m->guards) return PyErr_NoMemory() != NULL;
    for (Py_ssize_t i = 0; i < n; i++, m->nguards++)
        if (!take_guard(PyList_GET_ITEM(list, i), &m->guards[i])) return false;
    return true;
}

static void take_arguments(Memo *m, PyObject *args) {
    m->nargs = (int)PyTuple_GET_SIZE(args);
    for (int i = 0; i < m->nargs; i++) {
        PyObject *o = PyTuple_GET_ITEM(args, i);
        Argument *a = &m->args[i];
        if (!Py_IS_TYPE(o, core.tensor)) {
            a->object = Py_NewRef(o);
            continue;
        }
        a->type = TENSOR(o)->t->type;
        a->is_linked = TENSOR(o)->t->link != NULL;
        while (PyTuple_GET_ITEM(args, a->first) != o) a->first++;
    }
}

static bool take_inputs(Memo *m, PyObject *list) {
    m->ninputs = (int)PyList_GET_SIZE(list);
    for (int i = 0; i < m->ninputs; i++) {
        m->inputs[i] = (int)PyLong_AsLong(PyList_GET_ITEM(list, i));
        if (PyErr_Occurred()) return false;
        if (m->inputs[i] >= m->nargs)
            return PyErr_SetString(PyExc_ValueError, "remember: no such argument"), false;
    }
    return true;
}

/* remember(args, entry, graph, inputs, guards, is_plain, keeps_guards) */
static PyObject *jit_remember(PyObject *o, PyObject *given) {
    JitObject *self = JIT(o);
    PyObject *args, *entry, *graph, *inputs, *guards;
    int is_plain, keeps_guards;
    if (!PyArg_ParseTuple(given, "O!OOO!O!pp:remember", &PyTuple_Type, &args, &entry, &graph,
                          &PyList_Type, &inputs, &PyList_Type, &guards, &is_plain, &keeps_guards))
        return NULL;
    Program *p = graph_program(graph);
    if (!p) return PyErr_SetString(PyExc_TypeError, "remember: a finished Graph is needed"), NULL;
    if (PyTuple_GET_SIZE(args) > MAX_ARGS || PyList_GET_SIZE(inputs) > MAX_INPUTS ||
        p->noutputs > MAX_INPUTS || (is_plain && !p->noutputs))
        Py_RETURN_FALSE;
    Memo made = {.is_plain = is_plain, .keeps_guards = keeps_guards};
    made.entry = Py_NewRef(entry);
    made.graph = Py_NewRef(graph);
    made.epoch = cell_epoch();
    made.records = tape_is_on();
    made.is_nested = grad_level() > 0;
    take_arguments(&made, args);
    if (!take_inputs(&made, inputs) || !take_guards(&made, guards)) return memo_clear(&made), NULL;
    int at = 0;
    while (at < NMEMOS && self->memos[at].entry != entry) at++;
    if (at == NMEMOS) at = self->next++ % NMEMOS;
    memo_clear(&self->memos[at]);
    self->memos[at] = made;
    Py_RETURN_TRUE;
}

static PyObject *jit_forget(PyObject *self, PyObject *none) {
    (void)none;
    jit_clear(self);
    Py_RETURN_NONE;
}

static PyObject *jit_make(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)args, (void)keywords;
    PyObject *o = type->tp_alloc(type, 0);
    if (o) JIT(o)->vectorcall = jit_vectorcall;
    return o;
}

static int jit_init(PyObject *self, PyObject *args, PyObject *keywords) {
    (void)self, (void)args, (void)keywords;
    return 0;
}

static PyObject *set_jit(PyObject *module, PyObject *on) {
    (void)module;
    int truth = PyObject_IsTrue(on);
    if (truth < 0) return NULL;
    jit_is_on = truth;
    Py_RETURN_NONE;
}

static PyMethodDef jit_methods[] = {
    {"_remember", jit_remember, METH_VARARGS,
     "_remember(args, entry, graph, inputs, guards, is_plain, keeps_guards)"},
    {"_forget", jit_forget, METH_NOARGS, "Every call goes to _call again."},
    {0},
};
static PyMemberDef jit_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(JitObject, vectorcall), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(JitObject, weakrefs), READONLY, NULL},
    {"_remembered", T_ULONGLONG, offsetof(JitObject, hits), READONLY,
     "Calls that were remembered."},
    {0},
};
static PyType_Slot jit_slots[] = {
    {Py_tp_new, jit_make},
    {Py_tp_init, jit_init},
    {Py_tp_dealloc, jit_dealloc},
    {Py_tp_traverse, jit_traverse},
    {Py_tp_clear, jit_clear},
    {Py_tp_call, jit_call},
    {Py_tp_members, jit_members},
    {Py_tp_methods, jit_methods},
    {Py_tp_doc, "The C base of compiled functions."},
    {0},
};
static PyType_Spec jit_spec = {
    .name = "diptych._core.Jit",
    .basicsize = sizeof(JitObject),
    .flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = jit_slots,
};
static PyMethodDef jit_functions[] = {
    {"set_jit", set_jit, METH_O, "False: every call of a compiled function goes to _call."},
    {0},
};

bool jit_type_init(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &jit_spec, NULL);
    bool good = type && PyModule_AddObjectRef(module, "Jit", type) == 0 &&
                PyModule_AddFunctions(module, jit_functions) == 0;
    Py_XDECREF(type);
    return good;
}
