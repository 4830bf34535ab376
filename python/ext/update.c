/* One optimiser step over many parameters: _core.update_params.
 *
 * In: the name of an update op, groups, and attributes as keywords. A group is a tuple of its
 * parameters, their states (a sequence of Parameters for each state input), the gradients, and the
 * numbers after them. Each parameter and its states get new values, in place where nobody else
 * holds them; or, when anything fails, none of any group does. */
#include "core.h"

enum { MAX_ATTRS = 128 };

typedef struct Group {
    PyObject *params, *states, *grads; /* fast sequences, owned */
    PyObject *state[PARAM_STATES_MAX]; /* fast sequences, owned */
    int nstate, nnumbers;
    Tensor *numbers[PARAM_NUMBERS_MAX];
} Group;

typedef struct Step {
    const Op *op;
    int64_t attrs[MAX_ATTRS];
    Group *groups;
    Py_ssize_t ngroups;
} Step;

static void group_done(Group *g) {
    Py_XDECREF(g->params);
    Py_XDECREF(g->states);
    Py_XDECREF(g->grads);
    for (int i = 0; i < g->nstate; i++) Py_XDECREF(g->state[i]);
    for (int i = 0; i < g->nnumbers; i++) tensor_unref(g->numbers[i]);
}

static void step_done(Step *s) {
    for (Py_ssize_t i = 0; i < s->ngroups; i++) group_done(&s->groups[i]);
    PyMem_Free(s->groups);
}

static bool bad(const Step *s, const char *what, Py_ssize_t at) {
    PyErr_Format(PyExc_TypeError, "%s: %s (at place %zd)", s->op->name, what, at);
    return false;
}

/* A value that is lent twice at once would be given back twice. */
static bool is_taken(const Group *g, int k, Py_ssize_t i, PyObject *o) {
    if (o == PySequence_Fast_GET_ITEM(g->params, i)) return true;
    for (int before = 0; before < k; before++)
        if (o == PySequence_Fast_GET_ITEM(g->state[before], i)) return true;
    return false;
}

/* Every list has one entry a parameter, and of the right kind. */
static bool check_lists(const Step *s, const Group *g) {
    Py_ssize_t n = PySequence_Fast_GET_SIZE(g->params);
    if (PySequence_Fast_GET_SIZE(g->grads) != n) {
        PyErr_Format(PyExc_ValueError, "%s: %zd parameters but %zd gradients", s->op->name, n,
                     PySequence_Fast_GET_SIZE(g->grads));
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *grad = PySequence_Fast_GET_ITEM(g->grads, i);
        if (!IS_PARAMETER(PySequence_Fast_GET_ITEM(g->params, i)))
            return bad(s, "a parameter to update is no Parameter", i);
        if (grad != Py_None && !IS_TENSOR(grad)) return bad(s, "a gradient is no Tensor", i);
    }
    for (int k = 0; k < g->nstate; k++) {
        if (PySequence_Fast_GET_SIZE(g->state[k]) != n)
            return bad(s, "a state list has another length than the parameters", k);
        for (Py_ssize_t i = 0; i < n; i++) {
            PyObject *o = PySequence_Fast_GET_ITEM(g->state[k], i);
            if (!IS_PARAMETER(o)) return bad(s, "a state is no Parameter", i);
            if (is_taken(g, k, i, o)) return bad(s, "a state is given twice", i);
        }
    }
    return true;
}

static bool take_lists(const Step *s, Group *g, PyObject *tuple) {
    g->params = PySequence_Fast(PyTuple_GET_ITEM(tuple, 0), "the parameters must be a sequence");
    if (!g->params) return false;
    g->states = PySequence_Fast(PyTuple_GET_ITEM(tuple, 1), "the states must be a sequence");
    if (!g->states) return false;
    g->grads = PySequence_Fast(PyTuple_GET_ITEM(tuple, 2), "the gradients must be a sequence");
    if (!g->grads) return false;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(g->states);
    if (n > PARAM_STATES_MAX) return bad(s, "too many states", n);
    for (int i = 0; i < (int)n; i++) {
        PyObject *list = PySequence_Fast_GET_ITEM(g->states, i);
        g->state[i] = PySequence_Fast(list, "each state must be a sequence of Parameters");
        if (!g->state[i]) return false;
        g->nstate++;
    }
    return check_lists(s, g);
}

static bool take_numbers(const Step *s, Group *g, PyObject *tuple) {
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) > PARAM_NUMBERS_MAX)
        return bad(s, "the numbers must be a short tuple", 0);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        Tensor *t = IS_TENSOR(item) ? tensor_ref(TENSOR(item)->t) : scalar_tensor(item, DT_f64);
        if (!t) return false;
        g->numbers[g->nnumbers++] = t;
    }
    return true;
}

static bool take_groups(Step *s, PyObject *list) {
    if (!PyList_Check(list)) return bad(s, "the groups must be a list", 0);
    s->groups = PyMem_Calloc((size_t)PyList_GET_SIZE(list) + 1, sizeof *s->groups);
    if (!s->groups) return PyErr_NoMemory() != NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *tuple = PyList_GET_ITEM(list, i);
        if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != 4)
            return bad(s, "a group must be (params, states, grads, numbers)", i);
        Group *g = &s->groups[s->ngroups++];
        if (!take_lists(s, g, tuple) || !take_numbers(s, g, PyTuple_GET_ITEM(tuple, 3)))
            return false;
        if (g->nstate != s->groups[0].nstate || g->nnumbers != s->groups[0].nnumbers)
            return bad(s, "the groups differ in their states or numbers", i);
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

static ParameterObject *state_at(const Group *g, int k, Py_ssize_t i) {
    return PARAMETER(PySequence_Fast_GET_ITEM(g->state[k], i));
}

/* The parameters of a group that have a gradient; returns their number. */
static int list_updates(const Group *g, ParamUpdate *updates) {
    int n = 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(g->params); i++) {
        PyObject *grad = PySequence_Fast_GET_ITEM(g->grads, i);
        if (grad == Py_None) continue;
        ParamUpdate *u = &updates[n++];
        u->param = PARAMETER(PySequence_Fast_GET_ITEM(g->params, i))->param;
        u->grad = TENSOR(grad)->t;
        u->numbers = g->numbers;
        for (int k = 0; k < g->nstate; k++) u->state[k] = state_at(g, k, i)->param;
    }
    return n;
}

/* The objects show the values that their Params have now. */
static void show_results(const Group *g) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(g->params); i++) {
        ParameterObject *p = PARAMETER(PySequence_Fast_GET_ITEM(g->params, i));
        p->base.t = p->param->value;
        for (int k = 0; k < g->nstate; k++) {
            ParameterObject *holder = state_at(g, k, i);
            holder->base.t = holder->param->value;
        }
    }
}

static bool update_all(const Step *s) {
    Py_ssize_t count = 0;
    for (Py_ssize_t i = 0; i < s->ngroups; i++)
        count += PySequence_Fast_GET_SIZE(s->groups[i].params);
    ParamUpdate *updates = PyMem_Calloc((size_t)count + 1, sizeof *updates);
    if (!updates) return PyErr_NoMemory() != NULL;
    int n = 0;
    for (Py_ssize_t i = 0; i < s->ngroups; i++) n += list_updates(&s->groups[i], updates + n);
    UpdateRule rule = {s->op, s->attrs, s->groups[0].nstate, s->groups[0].nnumbers};
    Status status = params_update(&rule, n, updates);
    for (Py_ssize_t i = 0; i < s->ngroups; i++) show_results(&s->groups[i]);
    PyMem_Free(updates);
    return status == OK || raise_status(status);
}

/* update_params(op, groups, **attributes) */
PyObject *core_update_params(PyObject *module, PyObject *const *args, Py_ssize_t n,
                             PyObject *names) {
    (void)module;
    const char *name = n == 2 ? PyUnicode_AsUTF8(args[0]) : NULL;
    Step s = {.op = name ? op_find(name) : NULL};
    if (!s.op || !op_is_update(s.op)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "update_params(op, groups): op must be the name of an "
                                             "optimiser step");
        return NULL;
    }
    bool good = take_groups(&s, args[1]) && take_attrs(&s, args + n, names) && update_all(&s);
    step_done(&s);
    if (!good) return NULL;
    Py_RETURN_NONE;
}
