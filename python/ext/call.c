/* One way to call every op: positional and keyword arguments go to the slots of its table row
 * (inputs, then attributes), inputs become tensors, attributes their struct, then dispatch runs. */
#include "core.h"
#include "eager/capture.h"
#include "eager/record.h"
#include "kernels/kernel.h"

enum { FEW = 16 };

typedef struct Call {
    OpObject *o;
    PyObject *given[MAX_SLOTS]; /* borrowed; NULL: not given */
    PyObject *const *rest;      /* tensors given one by one for a variadic input */
    Py_ssize_t nrest;
    int64_t attrs[MAX_ATTR_WORDS];
    Tensor **in, **out;
    bool *owned; /* a converted input; tensors are borrowed from their handles (see take_inputs) */
    bool holds;  /* borrowed ones are held too */
    int nin, capacity, nout;
    Tensor *few_in[FEW], *few_out[FEW];
    bool few_owned[FEW];
} Call;

/* ---- arguments to slots */

static bool too_many(const OpObject *o, Py_ssize_t n) {
    PyErr_Format(PyExc_TypeError, "%s takes at most %d arguments, %zd were given", o->op->name,
                 o->nslots, n);
    return false;
}

static bool bind_positional(Call *c, PyObject *const *args, Py_ssize_t n) {
    int slot = 0;
    for (Py_ssize_t i = 0; i < n; i++, slot++) {
        if (slot >= c->o->nslots) return too_many(c->o, n);
        c->given[slot] = args[i];
        bool is_variadic = slot < c->o->nin && c->o->in[slot].is_variadic;
        if (!is_variadic || !IS_TENSOR(args[i])) continue;
        c->rest = args + i;
        while (i + 1 < n && IS_TENSOR(args[i + 1])) i++;
        c->nrest = args + i + 1 - c->rest;
    }
    return true;
}

/* Names that MindSpore gives the same argument elsewhere. */
static const char *const aliases[][2] = {
    {"x", "input"},         {"input_x", "input"},  {"y", "other"},
    {"dim", "axis"},        {"axis", "dim"},       {"keepdim", "keep_dims"},
    {"eps", "epsilon"},     {"epsilon", "eps"},    {"keepdims", "keep_dims"},
    {"mat2", "other"},      {"labels", "target"},  {"perm", "input_perm"},
    {"axes", "input_perm"}, {"multiples", "reps"}, {"size", "shape"},
    {"shape", "size"},      {"dims", "axis"},      {"logits", "input"},
};

static int slot_called(const OpObject *o, PyObject *name) {
    for (int i = 0; i < o->nslots; i++)
        if (!PyUnicode_Compare(o->names[i], name)) return i;
    return -1;
}

static int find_slot(const OpObject *o, PyObject *name) {
    for (int i = 0; i < o->nslots; i++)
        if (o->names[i] == name) return i;
    int slot = slot_called(o, name);
    for (size_t k = 0; slot < 0 && k < COUNT_OF(aliases); k++) {
        if (PyUnicode_CompareWithASCIIString(name, aliases[k][0])) continue;
        for (int i = 0; slot < 0 && i < o->nslots; i++)
            if (!PyUnicode_CompareWithASCIIString(o->names[i], aliases[k][1])) slot = i;
    }
    return slot;
}

static bool bind_keywords(Call *c, PyObject *const *values, PyObject *names) {
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        int slot = find_slot(c->o, name);
        if (slot < 0) {
            PyObject *known = PyObject_GetAttrString((PyObject *)c->o, "parameters");
            if (known)
                PyErr_Format(PyExc_TypeError, "%s has no argument %R; it takes (%U)",
                             c->o->op->name, name, known);
            Py_XDECREF(known);
            return false;
        }
        if (c->given[slot]) {
            PyErr_Format(PyExc_TypeError, "%s: argument %R is given twice", c->o->op->name, name);
            return false;
        }
        c->given[slot] = values[i];
    }
    return true;
}

/* ---- inputs */

/* The dtype that weak numbers meet: of all tensors that take part in promotion. */
static DType meeting_dtype(const Call *c) {
    const Op *op = c->o->op;
    DType d = DT_NONE;
    for (int i = op->ewclass == EW_WHERE && op->kind == K_EWISE; i < c->o->nin; i++) {
        PyObject *given = c->given[i];
        if (!given || !IS_TENSOR(given)) continue;
        DType own = TENSOR(given)->t->type.dtype;
        d = d == DT_NONE ? own : dtype_promote(d, own);
    }
    return d;
}

/* Numbers are weak where the op mixes its inputs; elsewhere (indices ...) integers are int64. */
static Tensor *number_input(const Call *c, int slot, PyObject *given, DType meet) {
    const Op *op = c->o->op;
    DKind kind;
    if (!scalar_kind(given, &kind)) return operand_tensor(given, meet, false);
    bool mixes = op->kind == K_EWISE || op->rule != RULE_FREE || c->o->in[slot].is_weak;
    if (meet == DT_NONE || (!mixes && kind != KIND_FLOAT))
        return scalar_tensor(given, default_dtype(kind));
    return scalar_tensor(given, dtype_promote_weak(meet, kind));
}

static Tensor *weak_default(const Call *c, int slot, DType meet) {
    double v = c->o->in[slot].weak_default;
    bool stays_integer = meet != DT_NONE && dtype_is_int(meet) && v == (double)(int64_t)v;
    if (meet == DT_NONE) meet = DT_f32;
    return scalar_tensor(c->o->weak[slot], stays_integer ? meet : dtype_to_float(meet));
}

static Tensor *converted(const Call *c, int slot, PyObject *given, DType meet) {
    Tensor *t = number_input(c, slot, given, meet);
    if (!t && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError,
                     "%s: argument '%s' is of type %s; it must be a Tensor, a number or an array",
                     c->o->op->name, c->o->in[slot].name, Py_TYPE(given)->tp_name);
    return t;
}

static bool grow(Call *c) {
    int bigger = c->capacity * 4;
    Tensor **in = PyMem_Malloc((size_t)bigger * (sizeof *in + sizeof(bool)));
    if (!in) return PyErr_NoMemory(), false;
    bool *owned = (bool *)(in + bigger);
    memcpy(in, c->in, (size_t)c->nin * sizeof *in);
    memcpy(owned, c->owned, (size_t)c->nin * sizeof *owned);
    if (c->in != c->few_in) PyMem_Free(c->in);
    c->in = in;
    c->owned = owned;
    c->capacity = bigger;
    return true;
}

static bool push(Call *c, Tensor *t, bool owned) {
    if (c->nin == c->capacity && !grow(c)) {
        if (owned) tensor_unref(t);
        return false;
    }
    c->owned[c->nin] = owned;
    c->in[c->nin++] = t;
    return true;
}

static bool push_input(Call *c, int slot, PyObject *given, DType meet) {
    if (DIP_LIKELY(IS_TENSOR(given))) {
        Tensor *t = TENSOR(given)->t;
        return push(c, c->holds ? tensor_ref(t) : t, c->holds);
    }
    Tensor *t = converted(c, slot, given, meet);
    return t && push(c, t, true);
}

static bool push_list(Call *c, int slot, PyObject *given, DType meet) {
    if (!given) return true;
    if (c->nrest) {
        for (Py_ssize_t i = 0; i < c->nrest; i++)
            if (!push_input(c, slot, c->rest[i], meet)) return false;
        return true;
    }
    if (!PyList_Check(given) && !PyTuple_Check(given)) {
        PyErr_Format(PyExc_TypeError,
                     "%s: argument '%s' is of type %s; it must be a list or tuple "
                     "of tensors",
                     c->o->op->name, c->o->in[slot].name, Py_TYPE(given)->tp_name);
        return false;
    }
    bool good = true;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(given) && good; i++) {
        PyObject *o = Py_NewRef(PySequence_Fast_GET_ITEM(given, i)); /* may change the list */
        good = push_input(c, slot, o, meet);
        Py_DECREF(o);
    }
    return good;
}

static bool missing(const Call *c, int slot) {
    PyErr_Format(PyExc_TypeError, "%s: argument %R is missing", c->o->op->name, c->o->names[slot]);
    return false;
}

static bool push_default(Call *c, int slot, DType meet) {
    Tensor *t = weak_default(c, slot, meet);
    return t && push(c, t, true);
}

/* Borrowing from the handles is safe while no foreign code runs: dispatch takes its own references
 * first. Converting anything but a number may run any code, which may re-point a handle. */
static bool runs_foreign_code(const Call *c) {
    for (int i = 0; i < c->o->nin; i++) {
        PyObject *o = c->given[i];
        bool is_plain = !o || o == Py_None || IS_TENSOR(o) || PyFloat_CheckExact(o) ||
                        PyLong_CheckExact(o) || PyBool_Check(o);
        if (!is_plain) return true;
    }
    return false;
}

static bool take_inputs(Call *c) {
    DType meet = meeting_dtype(c);
    c->holds = runs_foreign_code(c);
    for (int i = 0; i < c->o->nin; i++) {
        const SigInput *in = &c->o->in[i];
        PyObject *given = c->given[i];
        if (given == Py_None && (in->is_optional || in->is_weak)) given = NULL;
        if (!given && !in->is_optional && !in->is_weak) return missing(c, i);
        bool done = in->is_variadic ? push_list(c, i, given, meet)
                    : given         ? push_input(c, i, given, meet)
                    : in->is_weak   ? push_default(c, i, meet)
                                    : push(c, NULL, false);
        if (!done) return false;
    }
    return true;
}

static bool fill_attributes(Call *c) {
    const Op *op = c->o->op;
    memcpy(c->attrs, c->o->presets, op->attrs_size);
    for (int i = 0; c->o->nin + i < c->o->nslots; i++) {
        PyObject *given = c->given[c->o->nin + i];
        if (given && !attr_from_object(op, &op->attrs[i], given, c->attrs)) return false;
        if (!given && !attr_has_default(&op->attrs[i])) return missing(c, c->o->nin + i);
    }
    return true;
}

static bool take_attributes(Call *c) {
    if (DIP_LIKELY(!capture_is_on())) return fill_attributes(c);
    attrs_take_sizes(true);
    bool good = fill_attributes(c);
    attrs_take_sizes(false);
    return good;
}

/* ---- results */

static PyObject *wrap_results(Call *c) {
    bool is_part = c->o->op->kind == K_MAP && c->o->op->id != OP_broadcast_to;
    if (c->o->op->nout == 1) {
        PyObject *o = tensor_wrap(c->out[0]);
        if (o) TENSOR(o)->is_part = is_part;
        return o;
    }
    PyObject *tuple = PyTuple_New(c->nout);
    for (int i = 0; i < c->nout; i++) {
        PyObject *o = tuple ? tensor_wrap(c->out[i]) : NULL;
        if (!o) {
            if (!tuple) tensor_unref(c->out[i]);
            Py_CLEAR(tuple);
            continue;
        }
        TENSOR(o)->is_part = is_part;
        PyTuple_SET_ITEM(tuple, i, o);
    }
    return tuple;
}

static PyObject *run(Call *c) {
    const Op *op = c->o->op;
    if (c->nin < op->nin_min)
        return PyErr_Format(PyExc_TypeError, "%s: got %d inputs; it takes (%s)", op->name, c->nin,
                            op->sig);
    c->nout = dispatch_nout(op, c->attrs, c->nin, c->in);
    c->out = c->few_out;
    if (c->nout > FEW) c->out = PyMem_Malloc((size_t)c->nout * sizeof *c->out);
    if (!c->out) return PyErr_NoMemory();
    Status status = dispatch(op, c->attrs, c->nin, c->in, c->out);
    PyObject *result = status == OK ? wrap_results(c) : raise_status(status);
    if (c->out != c->few_out) PyMem_Free(c->out);
    return result;
}

static PyObject *call_op(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    OpObject *o = OPOBJECT(self);
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (n == 1 && !names && o->nslots == 1 && o->op->nout == 1 && IS_TENSOR(args[0]) &&
        !o->in[0].is_variadic && o->op->kind != K_MAP)
        return run1(o->op, o->presets, 1, &TENSOR(args[0])->t);
    Call c;
    c.o = o;
    memset(c.given, 0, (size_t)o->nslots * sizeof *c.given);
    c.nrest = 0;
    c.in = c.few_in;
    c.owned = c.few_owned;
    c.nin = 0;
    c.capacity = FEW;
    PyObject *result = NULL;
    uint32_t mark = capture_is_on() ? record_mark() : 0;
    if (bind_positional(&c, args, n) && bind_keywords(&c, args + n, names) && take_attributes(&c) &&
        take_inputs(&c))
        result = run(&c);
    if (capture_is_on()) record_reset(mark);
    for (int i = 0; i < c.nin; i++)
        if (c.owned[i]) tensor_unref(c.in[i]);
    if (c.in != c.few_in) PyMem_Free(c.in);
    return result;
}

/* ---- ops whose result sizes depend on values, in a capture */

static PyObject *measured; /* what is called for them, or NULL */

PyObject *set_measured(PyObject *module, PyObject *function) {
    (void)module;
    Py_XSETREF(measured, Py_NewRef(function));
    Py_RETURN_NONE;
}

/* The result that `measured` gives instead, or the error that stands. */
static PyObject *instead(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), nnames = names ? PyTuple_GET_SIZE(names) : 0;
    PyObject *given[1 + MAX_SLOTS];
    PyObject *result = NULL;
    if (n + nnames <= MAX_SLOTS) {
        given[0] = self;
        memcpy(given + 1, args, (size_t)(n + nnames) * sizeof *args);
        result = PyObject_Vectorcall(measured, given, (size_t)(n + 1), names);
    }
    if (result == Py_NotImplemented) Py_CLEAR(result);
    if (result || PyErr_Occurred()) {
        Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
        return result;
    }
    PyErr_Restore(type, value, trace);
    return NULL;
}

PyObject *op_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    PyObject *result = call_op(self, args, nargsf, names);
    if (DIP_LIKELY(result != NULL) || !measured || !capture_is_on()) return result;
    if (!kernel_measure(OPOBJECT(self)->op->id)) return result;
    return PyErr_ExceptionMatches(PyExc_NotImplementedError) ? instead(self, args, nargsf, names)
                                                             : result;
}
