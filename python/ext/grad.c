/* Gradients for Python: leaves, walking back, custom gradients and hooks. The functions here are
 * the bricks; grad, value_and_grad, vjp and jvp are written over them in diptych/common/grad.py. */
#include "core.h"
#include "eager/capture.h"
#include "eager/gradients.h"
#include "eager/record.h"

/* How many recordings enclose this call: gradients taken inside one are recorded themselves. */
static _Thread_local int depth;

int grad_level(void) { return depth; }

static PyObject *grad_enabled(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return PyBool_FromLong(tape_is_on());
}
static PyObject *set_grad_enabled(PyObject *module, PyObject *on) {
    (void)module;
    int truth = PyObject_IsTrue(on);
    return truth < 0 ? NULL : PyBool_FromLong(tape_set(truth));
}
/* note_cut(): the function being captured makes a constant of a value with a gradient, which the
 * nodes of its graph do not show. */
static PyObject *note_cut(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    if (capture_is_on()) capture_graph(capture_now)->has_custom = true;
    Py_RETURN_NONE;
}
static PyObject *grad_depth(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return PyLong_FromLong(depth);
}
static PyObject *add_grad_depth(PyObject *module, PyObject *change) {
    (void)module;
    long n = PyLong_AsLong(change);
    if (n == -1 && PyErr_Occurred()) return NULL;
    depth += (int)n;
    Py_RETURN_NONE;
}

/* ---- leaves */

/* A handle on x's value that is a variable of its own: a leaf, or, where x is recorded already, a
 * node that passes gradients on, so that an outer gradient still reaches x. */
static PyObject *variable(PyObject *module, PyObject *x) {
    (void)module;
    if (!IS_TENSOR(x)) return PyErr_SetString(PyExc_TypeError, "variable: not a Tensor"), NULL;
    Tensor *made;
    Status status = tape_variable(TENSOR(x)->t, &made);
    return status == OK ? tensor_wrap(made) : raise_status(status);
}

/* Whether gradients can be taken of it: recorded, and its tape has not been walked and emptied. */
static PyObject *has_tape(PyObject *module, PyObject *x) {
    (void)module;
    const GradLink *l = IS_TENSOR(x) ? TENSOR(x)->t->link : NULL;
    return PyBool_FromLong(l && !l->emptied);
}

/* Also nothing behind it has been walked and emptied. */
static PyObject *has_whole_tape(PyObject *module, PyObject *x) {
    (void)module;
    return PyBool_FromLong(IS_TENSOR(x) && TENSOR(x)->t->link && tape_is_whole(TENSOR(x)->t));
}

/* ---- walking back */

static bool tensors_of(PyObject *list, bool allow_none, Tensor **out, const char *what) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); i++) {
        PyObject *o = PySequence_Fast_GET_ITEM(list, i);
        bool is_none = allow_none && o == Py_None;
        if (!is_none && !IS_TENSOR(o)) {
            PyErr_Format(PyExc_TypeError,
                         "gradient: entry %zd of %s is of type %s; it must be a "
                         "Tensor",
                         i, what, Py_TYPE(o)->tp_name);
            return false;
        }
        out[i] = is_none ? NULL : TENSOR(o)->t;
    }
    return true;
}

/* gradients(roots, seeds, wrt, create_graph, keep, partial=False) -> list of Tensor or None */
static PyObject *gradients(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *roots, *seeds, *wrt;
    int create_graph, keep, partial = 0;
    if (!PyArg_ParseTuple(args, "O!O!O!pp|p", &PyList_Type, &roots, &PyList_Type, &seeds,
                          &PyList_Type, &wrt, &create_graph, &keep, &partial))
        return NULL;
    Py_ssize_t nroots = PyList_GET_SIZE(roots), nwrt = PyList_GET_SIZE(wrt);
    if (PyList_GET_SIZE(seeds) != nroots)
        return PyErr_SetString(PyExc_ValueError, "gradients: one seed or None a root"), NULL;
    Tensor **in = PyMem_Calloc(2 * (size_t)nroots + 2 * (size_t)nwrt + 1, sizeof *in);
    if (!in) return PyErr_NoMemory();
    Tensor **x = in + 2 * nroots, **out = x + nwrt;
    PyObject *list = NULL;
    if (tensors_of(roots, false, in, "roots") && tensors_of(seeds, true, in + nroots, "seeds") &&
        tensors_of(wrt, false, x, "variables")) {
        GradientsArgs a = {(int)nroots, (int)nwrt, in, in + nroots, x, create_graph, keep, partial};
        Status status = tape_gradients(&a, out);
        list = status == OK ? PyList_New(nwrt) : raise_status(status);
    }
    for (Py_ssize_t i = 0; i < nwrt; i++) {
        PyObject *o = out[i] ? tensor_wrap(out[i]) : Py_NewRef(Py_None);
        if (list && o)
            PyList_SET_ITEM(list, i, o);
        else
            Py_XDECREF(o);
        if (!o) Py_CLEAR(list);
    }
    PyMem_Free(in);
    return list;
}

PyObject *tensor_backward(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    static const char *const known[] = {"gradient", "retain_graph", "create_graph"};
    PyObject *given[3] = {Py_None, Py_False, Py_False};
    if (n > 3) return PyErr_SetString(PyExc_TypeError, "backward takes 3 arguments at most"), NULL;
    for (Py_ssize_t i = 0; i < n; i++) given[i] = args[i];
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        int at = 0;
        PyObject *name = PyTuple_GET_ITEM(names, i);
        while (at < 3 && PyUnicode_CompareWithASCIIString(name, known[at])) at++;
        if (at == 3)
            return PyErr_Format(PyExc_TypeError,
                                "backward has no argument %R; it takes gradient, "
                                "retain_graph, create_graph",
                                name);
        given[at] = args[n + i];
    }
    if (given[0] != Py_None && !IS_TENSOR(given[0]))
        return PyErr_Format(PyExc_TypeError,
                            "backward: gradient is of type %s; it must be a Tensor",
                            Py_TYPE(given[0])->tp_name);
    int keep = PyObject_IsTrue(given[1]), create = PyObject_IsTrue(given[2]);
    if (keep < 0 || create < 0) return NULL;
    Tensor *seed = given[0] == Py_None ? NULL : TENSOR(given[0])->t;
    Status status = param_backward(TENSOR(self)->t, seed, create || depth > 0, keep || create);
    if (status != OK) return raise_status(status);
    Py_RETURN_NONE;
}

/* ---- gradients written in Python */

static void drop(void *ctx) {
    if (!Py_IsInitialized()) return;
    PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF((PyObject *)ctx);
    PyGILState_Release(state);
}

static PyObject *wrap_all(int n, Tensor *const *tensors) {
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; i++) {
        PyObject *o = tensors[i] ? tensor_wrap(tensor_ref(tensors[i])) : Py_NewRef(Py_None);
        if (!o) return Py_DECREF(tuple), NULL;
        PyTuple_SET_ITEM(tuple, i, o);
    }
    return tuple;
}

static Status take_all(PyObject *answer, int nin, Tensor **dx) {
    if (!PyTuple_Check(answer) || PyTuple_GET_SIZE(answer) != nin)
        return FAIL(VALUE, "custom gradient: the function gave no tuple of %d gradients", nin);
    for (int i = 0; i < nin; i++) {
        PyObject *o = PyTuple_GET_ITEM(answer, i);
        if (o != Py_None && !IS_TENSOR(o))
            return FAIL(TYPE,
                        "custom gradient: gradient %d is of type %s; it must be a Tensor or "
                        "None",
                        i, Py_TYPE(o)->tp_name);
        dx[i] = o == Py_None ? NULL : tensor_ref(TENSOR(o)->t);
    }
    return OK;
}

static Status call_backward(void *ctx, int nout, Tensor *const *g, int nin, Tensor **dx) {
    PyObject *grads = wrap_all(nout, g);
    PyObject *answer = grads ? PyObject_CallOneArg(ctx, grads) : NULL;
    Py_XDECREF(grads);
    if (!answer) return status_of_exception("a custom gradient");
    Status status = take_all(answer, nin, dx);
    Py_DECREF(answer);
    return status;
}

/* The text of a name that lives as long as the process: tapes borrow it. */
static const char *lasting(PyObject *name) {
    static PyObject *names;
    if (!names) names = PyDict_New();
    PyObject *kept = names ? PyDict_SetDefault(names, name, name) : NULL;
    return kept ? PyUnicode_AsUTF8(kept) : NULL;
}

/* record(name, inputs, outputs, backward) -> outputs as new handles; backward(grads) -> tuple */
static PyObject *record(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *text, *inputs, *outputs, *backward;
    if (!PyArg_ParseTuple(args, "UO!O!O", &text, &PyList_Type, &inputs, &PyList_Type, &outputs,
                          &backward))
        return NULL;
    const char *name = lasting(text);
    if (!name) return NULL;
    Py_ssize_t nin = PyList_GET_SIZE(inputs), nout = PyList_GET_SIZE(outputs);
    Tensor **in = PyMem_Calloc((size_t)(nin + nout) + 1, sizeof *in), **out = in + nin;
    if (!in) return PyErr_NoMemory();
    PyObject *list = NULL;
    if (!tensors_of(inputs, false, in, "inputs") || !tensors_of(outputs, false, out, "outputs"))
        goto done;
    for (Py_ssize_t i = 0; i < nout; i++) out[i] = tensor_alias(out[i]);
    if (tape_wants((int)nin, in)) {
        if (capture_is_on()) capture_note_custom(capture_now);
        record_break("a gradient written in Python");
        CustomGrad custom = {
            .backward = call_backward, .release = drop, .ctx = Py_NewRef(backward)};
        Status status = tape_record_custom(name, custom, (int)nin, in, (int)nout, out);
        if (status != OK) {
            raise_status(status);
            for (Py_ssize_t i = 0; i < nout; i++) tensor_unref(out[i]);
            goto done;
        }
    }
    list = PyList_New(nout);
    for (Py_ssize_t i = 0; i < nout; i++) {
        PyObject *o = list ? tensor_wrap(out[i]) : NULL;
        if (!list)
            tensor_unref(out[i]);
        else if (!o)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, o);
    }
done:
    PyMem_Free(in);
    return list;
}

/* ---- hooks */

static Status call_hook(void *ctx, Tensor *grad, Tensor **out) {
    *out = NULL;
    PyObject *g = tensor_wrap(tensor_ref(grad));
    PyObject *answer = g ? PyObject_CallOneArg(ctx, g) : NULL;
    Py_XDECREF(g);
    if (!answer) return status_of_exception("a tensor hook");
    Status status = OK;
    if (answer != Py_None && !IS_TENSOR(answer))
        status = FAIL(TYPE, "a tensor hook gave a %s; it must give a Tensor or None",
                      Py_TYPE(answer)->tp_name);
    else if (answer != Py_None && !type_equal(&TENSOR(answer)->t->type, &grad->type))
        status = FAIL(VALUE, "a tensor hook changed the sizes or the dtype of the gradient");
    else if (answer != Py_None)
        *out = tensor_ref(TENSOR(answer)->t);
    Py_DECREF(answer);
    return status;
}

PyObject *tensor_register_hook(PyObject *self, PyObject *function) {
    if (!PyCallable_Check(function))
        return PyErr_SetString(PyExc_TypeError, "register_hook: the hook is not callable"), NULL;
    Tensor *t = TENSOR(self)->t;
    if (!t->link)
        return PyErr_SetString(PyExc_RuntimeError,
                               "register_hook: no gradient flows through this tensor"),
               NULL;
    record_break("a hook on a gradient");
    int64_t id = tape_hook(t, (GradHook){call_hook, drop, Py_NewRef(function)});
    PyObject *f = callback("hook_handle");
    PyObject *value = f ? tensor_wrap(tensor_ref(t)) : NULL; /* keeps the node the hook sits on */
    PyObject *handle = value ? PyObject_CallFunction(f, "OL", value, (long long)id) : NULL;
    Py_XDECREF(value);
    return handle;
}

static PyObject *unhook(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *tensor;
    long long id;
    if (!PyArg_ParseTuple(args, "O!L", core.tensor, &tensor, &id)) return NULL;
    tape_unhook(TENSOR(tensor)->t, id);
    Py_RETURN_NONE;
}

PyMethodDef grad_functions[] = {
    {"grad_enabled", grad_enabled, METH_NOARGS, "Whether calls are recorded on this thread."},
    {"note_cut", note_cut, METH_NOARGS, "A capture makes a constant of a value with a gradient."},
    {"set_grad_enabled", set_grad_enabled, METH_O, "Switches recording; returns the old state."},
    {"grad_depth", grad_depth, METH_NOARGS, "How many recordings enclose this call."},
    {"add_grad_depth", add_grad_depth, METH_O, NULL},
    {"variable", variable, METH_O, "A handle on the same value to take gradients for."},
    {"has_tape", has_tape, METH_O, "Whether gradients of this value can be taken."},
    {"has_whole_tape", has_whole_tape, METH_O, "Whether gradients through all of it can be taken."},
    {"gradients", gradients, METH_VARARGS,
     "gradients(roots, seeds, wrt, create_graph, keep, partial=False)"},
    {"record", record, METH_VARARGS, "record(name, inputs, outputs, backward)"},
    {"unhook", unhook, METH_VARARGS, NULL},
    {0},
};
