/* One optimiser step over many parameters: _core.update_params.
 *
 * In: the name of an update op, the parameters, their states (a sequence of Parameters for each
 * state input), the gradients, the numbers after them, and attributes as keywords. Each parameter
 * and its states get new values, in place where nobody else holds them; or, when anything fails,
 * none does. */
#include "core.h"

enum { MAX_ATTRS = 128 };

typedef struct Step {
    const Op *op;
    int64_t attrs[MAX_ATTRS];
    PyObject *params, *states, *grads; /* fast sequences, owned */
    PyObject *state[PARAM_STATES_MAX]; /* fast sequences, owned */
    int nstate, nnumbers;
    Tensor *numbers[PARAM_NUMBERS_MAX];
} Step;

static void step_done(Step *s) {
    Py_XDECREF(s->params);
    Py_XDECREF(s->states);
    Py_XDECREF(s->grads);
    for (int i = 0; i < s->nstate; i++) Py_XDECREF(s->state[i]);
    for (int i = 0; i < s->nnumbers; i++) tensor_unref(s->numbers[i]);
}

static bool bad(const Step *s, const char *what, Py_ssize_t at) {
    PyErr_Format(PyExc_TypeError, "%s: %s (at place %zd)", s->op->name, what, at);
    return false;
}

/* A value that is lent twice at once would be given back twice. */
static bool is_taken(const Step *s, int k, Py_ssize_t i, PyObject *o) {
    if (o == PySequence_Fast_GET_ITEM(s->params, i)) return true;
    for (int before = 0; before < k; before++)
        if (o == PySequence_Fast_GET_ITEM(s->state[before], i)) return true;
    return false;
}

/* Every list has one entry a parameter, and of the right kind. */
static bool check_lists(const Step *s) {
    Py_ssize_t n = PySequence_Fast_GET_SIZE(s->params);
    if (PySequence_Fast_GET_SIZE(s->grads) != n) {
        PyErr_Format(PyExc_ValueError, "%s: %zd parameters but %zd gradients", s->op->name, n,
                     PySequence_Fast_GET_SIZE(s->grads));
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *g = PySequence_Fast_GET_ITEM(s->grads, i);
        if (!IS_PARAMETER(PySequence_Fast_GET_ITEM(s->params, i)))
            return bad(s, "a parameter to update is no Parameter", i);
        if (g != Py_None && !IS_TENSOR(g)) return bad(s, "a gradient is no Tensor", i);
    }
    for (int k = 0; k < s->nstate; k++) {
        if (PySequence_Fast_GET_SIZE(s->state[k]) != n)
            return bad(s, "a state list has another length than the parameters", k);
        for (Py_ssize_t i = 0; i < n; i++) {
            PyObject *o = PySequence_Fast_GET_ITEM(s->state[k], i);
            if (!IS_PARAMETER(o)) return bad(s, "a state is no Parameter", i);
            if (is_taken(s, k, i, o)) return bad(s, "a state is given twice", i);
        }
    }
    return true;
}

static bool take_lists(Step *s, PyObject *const *args) {
    s->params = PySequence_Fast(args[1], "the parameters must be a sequence");
    s->states = s->params ? PySequence_Fast(args[2], "the states must be a sequence") : NULL;
    s->grads = s->states ? PySequence_Fast(args[3], "the gradients must be a sequence") : NULL;
    if (!s->grads) return false;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(s->states);
    if (n > PARAM_STATES_MAX) return bad(s, "too many states", n);
    for (int i = 0; i < (int)n; i++) {
        PyObject *list = PySequence_Fast_GET_ITEM(s->states, i);
        s->state[i] = PySequence_Fast(list, "each state must be a sequence of Parameters");
        if (!s->state[i]) return false;
        s->nstate++;
    }
    return check_lists(s);
}

static bool take_numbers(Step *s, PyObject *tuple) {
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) > PARAM_NUMBERS_MAX)
        return bad(s, "the numbers must be a short tuple", 0);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        Tensor *t = IS_TENSOR(item) ? tensor_ref(TENSOR(item)->t) : scalar_tensor(item, DT_f64);
        if (!t) return false;
        s->numbers[s->nnumbers++] = t;
    }
    return true;
}

static bool take_attrs(Step *s, PyObject *const *values, PyObject *names) {
    attrs_init(s->op, s->attrs);
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
        const AttrSpec *spec = name ? attr_find(s->op, name) : NULL;
        if (!spec) return bad(s, "unknown attribute", i);
        if (!attr_from_object(s->op, spec, values[i], s->attrs)) return false;
    }
    return true;
}

static ParameterObject *state_at(const Step *s, int k, Py_ssize_t i) {
    return PARAMETER(PySequence_Fast_GET_ITEM(s->state[k], i));
}

/* The parameters that have a gradient; returns their number. */
static int list_updates(const Step *s, Py_ssize_t count, ParamUpdate *updates) {
    int n = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *g = PySequence_Fast_GET_ITEM(s->grads, i);
        if (g == Py_None) continue;
        ParamUpdate *u = &updates[n++];
        u->param = PARAMETER(PySequence_Fast_GET_ITEM(s->params, i))->param;
        u->grad = TENSOR(g)->t;
        for (int k = 0; k < s->nstate; k++) u->state[k] = state_at(s, k, i)->param;
    }
    return n;
}

/* The objects show the values that their Params have now. */
static void show_results(const Step *s, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; i++) {
        ParameterObject *p = PARAMETER(PySequence_Fast_GET_ITEM(s->params, i));
        p->base.t = p->param->value;
        for (int k = 0; k < s->nstate; k++) {
            ParameterObject *holder = state_at(s, k, i);
            holder->base.t = holder->param->value;
        }
    }
}

static bool update_all(const Step *s) {
    Py_ssize_t count = PySequence_Fast_GET_SIZE(s->params);
    ParamUpdate *updates = PyMem_Calloc((size_t)count + 1, sizeof *updates);
    if (!updates) return PyErr_NoMemory() != NULL;
    int n = list_updates(s, count, updates);
    UpdateRule rule = {s->op, s->attrs, s->nstate, s->nnumbers, s->numbers};
    Status status = params_update(&rule, n, updates);
    show_results(s, count);
    PyMem_Free(updates);
    return status == OK || raise_status(status);
}

/* update_params(op, params, states, grads, numbers, **attributes) */
PyObject *core_update_params(PyObject *module, PyObject *const *args, Py_ssize_t n,
                             PyObject *names) {
    (void)module;
    const char *name = n == 5 ? PyUnicode_AsUTF8(args[0]) : NULL;
    Step s = {.op = name ? op_find(name) : NULL};
    if (!s.op || strncmp(s.op->sig, "param", 5)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError,
                            "update_params(op, params, states, grads, numbers): op must be the "
                            "name of an optimiser step");
        return NULL;
    }
    bool good = take_lists(&s, args) && take_numbers(&s, args[4]) &&
                take_attrs(&s, args + n, names) && update_all(&s);
    step_done(&s);
    if (!good) return NULL;
    Py_RETURN_NONE;
}
