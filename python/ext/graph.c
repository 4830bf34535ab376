/* _core.Graph: capturing op calls into a graph, and running it. The staging interpreter
 * (diptych/stage) and tracing are written over it. */
#include <stdlib.h>

#include "core.h"
#include "eager/capture.h"
#include "eager/record.h"
#include "graph.h"
#include "graph/text.h"
#include "passes/passes.h"
#include "run/run.h"

typedef struct GraphObject {
    PyObject_HEAD Capture *capture; /* NULL after outputs() */
    Program *program;               /* NULL before */
} GraphObject;
#define GRAPH(o) ((GraphObject *)(o))

static PyTypeObject *graph_type_object;

bool tensor_has_values(const TensorObject *self, const char *what) {
    Status status = tensor_check_values(self->t, what);
    return status == OK || raise_status(status);
}

static PyObject *place_of(const Line *l) {
    return Py_BuildValue("(siiis)", l->file, l->line, l->column, l->end_column, l->function);
}

/* [(file, line, column, end column, function), ...]: where the failed call stands. */
static PyObject *places_of(const Line *at) {
    PyObject *list = PyList_New(0);
    for (; list && at; at = run_also_at(at)) {
        PyObject *place = place_of(at);
        if (!place || PyList_Append(list, place) < 0) Py_CLEAR(list);
        Py_XDECREF(place);
    }
    return list;
}

PyObject *raise_run_status(Status status) {
    const Line *at = run_failed_at();
    if (PyErr_Occurred() || !at) return raise_status(status);
    PyObject *f = callback("run_error"), *places = f ? places_of(at) : NULL;
    PyObject *text = places ? PyObject_CallFunction(f, "sO", error_message(), places) : NULL;
    Py_XDECREF(places);
    if (!text) return NULL;
    PyErr_SetObject(exception_class(status), text);
    Py_DECREF(text);
    return NULL;
}

Capture *capture_of(PyObject *self) {
    Capture *c = GRAPH(self)->capture;
    if (!c) PyErr_SetString(PyExc_RuntimeError, "Graph: the graph is finished");
    return c;
}

static PyObject *done(Status status) {
    if (status != OK) return raise_status(status);
    Py_RETURN_NONE;
}

/* ---- life */

static PyObject *graph_make(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)args, (void)keywords;
    PyObject *o = type->tp_alloc(type, 0);
    if (o) GRAPH(o)->capture = capture_new();
    return o;
}

static void graph_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    if (GRAPH(self)->capture) capture_free(GRAPH(self)->capture);
    program_unref(GRAPH(self)->program);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *graph_begin(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    Capture *c = capture_of(self);
    if (!c) return NULL;
    if (n > 1) return PyErr_SetString(PyExc_TypeError, "begin(borrow=False)"), NULL;
    int borrows = n ? PyObject_IsTrue(args[0]) : 0;
    if (borrows < 0) return NULL;
    Status status = capture_begin(c);
    if (status == OK && borrows) capture_borrow(c);
    return done(status);
}
/* lent() -> the values of the graph around that this one reads, in the order of its inputs */
static PyObject *graph_lent(PyObject *self, PyObject *none) {
    (void)none;
    Capture *c = capture_of(self);
    PyObject *list = c ? PyList_New(capture_nlent(c)) : NULL;
    for (uint32_t i = 0; list && i < capture_nlent(c); i++) {
        PyObject *o = tensor_wrap(capture_lent(c, i));
        if (!o) return Py_DECREF(list), NULL;
        PyList_SET_ITEM(list, i, o);
    }
    return list;
}
static PyObject *graph_end(PyObject *self, PyObject *none) {
    (void)none;
    Capture *c = capture_of(self);
    return c ? done(capture_end(c)) : NULL;
}

/* ---- Python sequences as arrays of tensors */

/* Borrowed tensors of a list or tuple (numbers are no tensors here); NULL with an exception. */
Tensor **tensors_of(PyObject *list, Py_ssize_t *n) {
    if (!PyList_Check(list) && !PyTuple_Check(list))
        return PyErr_SetString(PyExc_TypeError, "Graph: a list or tuple of tensors is needed"),
               NULL;
    *n = PySequence_Fast_GET_SIZE(list);
    Tensor **t = PyMem_Calloc((size_t)*n + 1, sizeof *t);
    if (!t) return (Tensor **)PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < *n; i++) {
        PyObject *o = PySequence_Fast_GET_ITEM(list, i);
        if (!IS_TENSOR(o)) {
            PyErr_Format(PyExc_TypeError, "Graph: entry %zd is of type %s; it must be a Tensor", i,
                         Py_TYPE(o)->tp_name);
            PyMem_Free(t);
            return NULL;
        }
        t[i] = TENSOR(o)->t;
    }
    return t;
}

/* Takes over n tensors and the array. */
PyObject *tuple_of(Tensor **t, Py_ssize_t n) {
    PyObject *tuple = PyTuple_New(n);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = tensor_wrap(t[i]);
        if (tuple && o) PyTuple_SET_ITEM(tuple, i, o);
        if (!o) Py_CLEAR(tuple);
    }
    PyMem_Free(t);
    return tuple;
}

Tensor **room(Py_ssize_t n) {
    Tensor **t = PyMem_Calloc((size_t)n + 1, sizeof *t);
    return t ? t : (Tensor **)PyErr_NoMemory();
}

/* ---- inputs, regions */

static bool type_of(PyObject *dtype, PyObject *shape, TensorType *out) {
    DType d;
    if (!dtype_from_object(dtype, &d)) return false;
    if (!PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) > MAX_RANK) {
        PyErr_Format(PyExc_TypeError, "Graph: a shape is a tuple of at most %d sizes", MAX_RANK);
        return false;
    }
    *out = (TensorType){.dtype = (uint8_t)d, .rank = (uint8_t)PyTuple_GET_SIZE(shape)};
    for (int i = 0; i < out->rank; i++) {
        out->dims[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
        if (PyErr_Occurred()) return false;
    }
    Status status = type_check(out, "Graph");
    return status == OK || raise_status(status);
}

static PyObject *graph_input_method(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    Capture *c = capture_of(self);
    TensorType type;
    if (!c) return NULL;
    if (n != 2 && n != 3)
        return PyErr_SetString(PyExc_TypeError, "input(dtype, shape, free_axes=0)"), NULL;
    unsigned long axes = n == 3 ? PyLong_AsUnsignedLong(args[2]) : 0;
    if (PyErr_Occurred() || !type_of(args[0], args[1], &type)) return NULL;
    Tensor *made = capture_input(c, &type);
    if (record_now()) record_free_axes((uint32_t)axes);
    return tensor_wrap(made);
}

static PyObject *graph_region_method(PyObject *self, PyObject *none) {
    (void)none;
    Capture *c = capture_of(self);
    return c ? PyLong_FromUnsignedLong(capture_region(c, 0)) : NULL;
}

static bool region_of(Capture *c, PyObject *o, RegionId *out) {
    unsigned long r = PyLong_AsUnsignedLong(o);
    if (PyErr_Occurred()) return false;
    *out = (RegionId)r;
    if (r >= 1 && r < capture_graph(c)->nregions) return true;
    PyErr_Format(PyExc_ValueError, "Graph: there is no region %lu", r);
    return false;
}

static PyObject *graph_enter(PyObject *self, PyObject *region) {
    Capture *c = capture_of(self);
    RegionId r;
    if (!c || !region_of(c, region, &r)) return NULL;
    capture_enter(c, r);
    Py_RETURN_NONE;
}
static PyObject *graph_leave(PyObject *self, PyObject *none) {
    (void)none;
    Capture *c = capture_of(self);
    if (!c) return NULL;
    capture_leave(c);
    Py_RETURN_NONE;
}

/* ---- If and While */

static PyObject *graph_if(PyObject *self, PyObject *args) {
    PyObject *cond, *then_region, *then_values, *else_region, *else_values;
    Capture *c = capture_of(self);
    if (!c || !PyArg_ParseTuple(args, "O!OOOO:if_", core.tensor, &cond, &then_region, &then_values,
                                &else_region, &else_values))
        return NULL;
    Side a, b;
    Py_ssize_t n, m;
    if (!region_of(c, then_region, &a.region) || !region_of(c, else_region, &b.region)) return NULL;
    Tensor **then = tensors_of(then_values, &n);
    Tensor **other = then ? tensors_of(else_values, &m) : NULL;
    Tensor **out = other ? room(n) : NULL;
    PyObject *made = NULL;
    if (out && n == m) {
        a.values = then, b.values = other;
        Status status = capture_if(c, TENSOR(cond)->t, a, b, (int)n, out);
        if (status != OK) raise_status(status);
        made = status == OK ? tuple_of(out, n) : NULL;
        if (status == OK) out = NULL;
    } else if (out) {
        PyErr_SetString(PyExc_ValueError, "if_: both sides must give the same number of values");
    }
    PyMem_Free(then);
    PyMem_Free(other);
    PyMem_Free(out);
    return made;
}

/* A loop on its way is a capsule. */
static void free_loop(PyObject *capsule) {
    Loop *loop = PyCapsule_GetPointer(capsule, "diptych loop");
    loop_done(loop);
    PyMem_Free(loop);
}

/* loop(init) -> (loop, params, condition region, body region) */
static PyObject *graph_loop(PyObject *self, PyObject *init) {
    Capture *c = capture_of(self);
    Py_ssize_t n;
    Tensor **first = c ? tensors_of(init, &n) : NULL;
    Tensor **params = first ? room(n) : NULL;
    Loop *loop = params ? PyMem_Calloc(1, sizeof *loop) : NULL;
    PyObject *made = NULL;
    if (loop) {
        Status status = capture_loop(c, (int)n, first, loop, params);
        if (status == OK) {
            PyObject *tuple = tuple_of(params, n);
            params = NULL;
            PyObject *capsule = PyCapsule_New(loop, "diptych loop", free_loop);
            made = tuple && capsule
                       ? Py_BuildValue("NNII", capsule, tuple, loop->condition, loop->body)
                       : NULL;
        } else {
            raise_status(status);
            PyMem_Free(loop);
        }
    }
    PyMem_Free(first);
    PyMem_Free(params);
    return made;
}

/* while_(loop, condition, next) */
static PyObject *graph_while(PyObject *self, PyObject *args) {
    PyObject *capsule, *cond, *next;
    Capture *c = capture_of(self);
    if (!c || !PyArg_ParseTuple(args, "OO!O:while_", &capsule, core.tensor, &cond, &next))
        return NULL;
    Loop *loop = PyCapsule_GetPointer(capsule, "diptych loop");
    Py_ssize_t n;
    Tensor **values = loop ? tensors_of(next, &n) : NULL;
    Tensor **out = values ? room(n) : NULL;
    PyObject *made = NULL;
    if (out && n == loop->n) {
        Status status = capture_while(c, loop, TENSOR(cond)->t, values, out);
        if (status != OK) raise_status(status);
        made = status == OK ? tuple_of(out, n) : NULL;
        if (status == OK) out = NULL;
    } else if (out) {
        PyErr_Format(PyExc_ValueError, "while_: %zd next values for %d carried ones", n, loop->n);
    }
    PyMem_Free(values);
    PyMem_Free(out);
    return made;
}

/* ---- host functions */

typedef struct HostCall {
    PyObject *function;
    int nout;
    TensorType types[];
} HostCall;

static void host_release(void *ctx) {
    HostCall *h = ctx;
    PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(h->function);
    PyGILState_Release(state);
    free(h);
}

static Status host_results(const HostCall *h, PyObject *result, Tensor **out) {
    for (int i = 0; i < h->nout; i++) {
        PyObject *o = PyTuple_Check(result) && PyTuple_GET_SIZE(result) == h->nout
                          ? PyTuple_GET_ITEM(result, i)
                          : NULL;
        if (o && IS_TENSOR(o) && type_equal(&TENSOR(o)->t->type, &h->types[i])) {
            out[i] = tensor_alias(TENSOR(o)->t);
            continue;
        }
        while (i--) tensor_unref(out[i]);
        return FAIL(TYPE, "a host function gave something else than the tensors it promised");
    }
    return OK;
}

static Status host_call(void *ctx, int nin, Tensor *const *in, int nout, Tensor **out) {
    (void)nout;
    const HostCall *h = ctx;
    PyGILState_STATE state = PyGILState_Ensure();
    Status status = OK;
    PyObject *args = PyTuple_New(nin);
    for (int i = 0; i < nin && args; i++) {
        PyObject *o = tensor_wrap(tensor_alias(in[i]));
        if (o)
            PyTuple_SET_ITEM(args, i, o);
        else
            Py_CLEAR(args);
    }
    PyObject *result = args ? PyObject_Call(h->function, args, NULL) : NULL;
    status = result ? (out ? host_results(h, result, out) : OK)
                    : status_of_exception("a function called from a graph");
    Py_XDECREF(result);
    Py_XDECREF(args);
    PyGILState_Release(state);
    return status;
}

/* The call of a Python function as a node of `c`: results are of the types in `specs`. */
static PyObject *host_node(Capture *c, PyObject *function, PyObject *list, PyObject *specs,
                           bool late) {
    Py_ssize_t n, nout = specs ? PyList_GET_SIZE(specs) : 0;
    HostCall *h = calloc(1, sizeof *h + (size_t)nout * sizeof *h->types);
    if (!h) return PyErr_NoMemory();
    h->nout = (int)nout;
    for (Py_ssize_t i = 0; i < nout; i++) {
        PyObject *dtype, *shape;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(specs, i), "OO", &dtype, &shape) ||
            !type_of(dtype, shape, &h->types[i]))
            return free(h), NULL;
    }
    Tensor **in = tensors_of(list, &n), **out = in ? room(nout) : NULL;
    if (!out) return free(h), PyMem_Free(in), NULL;
    h->function = Py_NewRef(function);
    Host host = {.is_late = late, .name = "python", .call = host_call, .release = host_release};
    host.ctx = h;
    Status status = capture_host(c, host, (int)n, in, (int)nout, h->types, out);
    PyMem_Free(in);
    if (status == OK) return tuple_of(out, nout);
    PyMem_Free(out);
    return raise_status(status);
}

/* host(function, tensors, [(dtype, shape), ...], deferred) */
static PyObject *graph_host(PyObject *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"function", "tensors", "results", "deferred", NULL};
    PyObject *function, *list, *specs;
    int late = 0;
    Capture *c = capture_of(self);
    if (!c || !PyArg_ParseTupleAndKeywords(args, keywords, "OOO!|p:host", names, &function, &list,
                                           &PyList_Type, &specs, &late))
        return NULL;
    if (late && PyList_GET_SIZE(specs))
        return PyErr_SetString(PyExc_ValueError, "host: a deferred call has no results"), NULL;
    return host_node(c, function, list, specs, late);
}

/* ---- parameters */

/* (Parameter, value, grad or None); takes the tensors over */
static PyObject *param_state(const Param *p, Tensor *value, Tensor *grad) {
    PyObject *v = tensor_wrap(value), *g = grad ? tensor_wrap(grad) : Py_NewRef(Py_None);
    if (v && g) return Py_BuildValue("ONN", p->handle, v, g);
    Py_XDECREF(v);
    Py_XDECREF(g);
    return NULL;
}

/* params() -> [(Parameter, value, grad or None), ...] of those the graph has touched */
static PyObject *graph_params(PyObject *self, PyObject *none) {
    (void)none;
    Capture *c = capture_of(self);
    PyObject *list = c ? PyList_New(0) : NULL;
    for (uint32_t i = 0; list && i < capture_nparams(c); i++) {
        Param *p = capture_param(c, i);
        if (!p->handle) continue;
        record_see(p);
        PyObject *item = param_state(p, tensor_ref(p->value), p->grad ? tensor_ref(p->grad) : NULL);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* entry(parameter) -> (Parameter, value, grad or None) as the graph found it */
static PyObject *graph_entry(PyObject *self, PyObject *o) {
    Capture *c = capture_of(self);
    if (!c) return NULL;
    if (!PyObject_TypeCheck(o, (PyTypeObject *)core.parameter))
        return PyErr_SetString(PyExc_TypeError, "entry: not a Parameter"), NULL;
    for (uint32_t i = 0; i < capture_nparams(c); i++) {
        Tensor *value, *grad;
        if (capture_param(c, i) != PARAMETER(o)->param) continue;
        capture_entry(c, i, &value, &grad);
        return param_state(PARAMETER(o)->param, value, grad);
    }
    return PyErr_SetString(PyExc_ValueError, "entry: the graph has not touched the parameter"),
           NULL;
}

/* set_param(parameter, value, grad) */
static PyObject *graph_set_param(PyObject *self, PyObject *args) {
    PyObject *o, *value, *grad = Py_None;
    if (!capture_of(self) ||
        !PyArg_ParseTuple(args, "O!O!|O:set_param", core.parameter, &o, core.tensor, &value, &grad))
        return NULL;
    if (grad != Py_None && !IS_TENSOR(grad))
        return PyErr_SetString(PyExc_TypeError, "set_param: grad must be a Tensor or None"), NULL;
    Param *p = PARAMETER(o)->param;
    if (!capture_is_on())
        return PyErr_SetString(PyExc_RuntimeError, "set_param: the capture does not run"), NULL;
    capture_touch(p);
    Status status = param_assign(p, TENSOR(value)->t);
    if (status == OK) status = param_set_grad(p, grad == Py_None ? NULL : TENSOR(grad)->t);
    TENSOR(o)->t = p->value;
    return done(status);
}

/* set_line(file, line, column, end_column, function) */
static PyObject *graph_set_line(PyObject *self, PyObject *args) {
    Line line = {0};
    Capture *c = capture_of(self);
    if (!c || !PyArg_ParseTuple(args, "siiis:set_line", &line.file, &line.line, &line.column,
                                &line.end_column, &line.function))
        return NULL;
    capture_line(c, &line);
    Py_RETURN_NONE;
}

/* ---- the end */

/* outputs(list, close=False, memory=0) */
static PyObject *graph_outputs(PyObject *self, PyObject *args) {
    Capture *c = capture_of(self);
    PyObject *list;
    int close = 0, memory = 0;
    if (!c || !PyArg_ParseTuple(args, "O|pi:outputs", &list, &close, &memory)) return NULL;
    Py_ssize_t n;
    Tensor **t = tensors_of(list, &n);
    if (!t) return NULL;
    Status status = capture_finish(c, (int)n, t, &GRAPH(self)->program);
    PyMem_Free(t);
    if (status == OK) status = program_optimize(GRAPH(self)->program, (PassLevels){close, memory});
    if (status != OK) {
        program_unref(GRAPH(self)->program);
        GRAPH(self)->program = NULL;
        return raise_status(status);
    }
    capture_free(c);
    GRAPH(self)->capture = NULL;
    Py_RETURN_NONE;
}

static Program *program_of(PyObject *self) {
    Program *p = GRAPH(self)->program;
    if (!p) PyErr_SetString(PyExc_RuntimeError, "Graph: outputs() was not called yet");
    return p;
}

/* run(inputs, plan=True) */
static PyObject *graph_run(PyObject *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"inputs", "plan", NULL};
    PyObject *list;
    int planned = 1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|p:run", names, &list, &planned))
        return NULL;
    Program *p = program_of(self);
    if (!p) return NULL;
    Py_ssize_t n;
    Tensor **in = tensors_of(list, &n), **out = in ? room(p->noutputs) : NULL;
    if (!out) return PyMem_Free(in), NULL;
    Status status = (planned ? program_run : program_run_nodes)(p, (int)n, in, out);
    PyMem_Free(in);
    if (status == OK) return tuple_of(out, p->noutputs);
    PyMem_Free(out);
    return raise_run_status(status);
}

/* plan_calls(): what the steps of the plan run, in order; None without a plan. */
static PyObject *graph_plan_calls(PyObject *self, PyObject *none) {
    (void)none;
    Program *program = GRAPH(self)->program;
    const Plan *p = program ? program_plan(program) : NULL;
    if (!p) Py_RETURN_NONE;
    PyObject *list = PyList_New(0);
    for (int32_t i = 0; list && i < p->nsteps; i++) {
        const Op *op = p->steps[i].args.op;
        if (!op || p->steps[i].kind == STEP_CHECK) continue;
        PyObject *name = PyUnicode_FromString(op->name);
        if (!name || PyList_Append(list, name) < 0) Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

/* plan_forks(): [(number of steps, number of tasks), ...]; None without a plan. */
static PyObject *graph_plan_forks(PyObject *self, PyObject *none) {
    (void)none;
    Program *program = GRAPH(self)->program;
    const Plan *p = program ? program_plan(program) : NULL;
    if (!p) Py_RETURN_NONE;
    PyObject *list = PyList_New(0);
    for (int32_t i = 0; list && i < p->nsteps; i++) {
        const Fork *f = p->steps[i].fork;
        PyObject *pair = f ? Py_BuildValue("ii", f->nsteps, f->ntasks) : NULL;
        if (f && (!pair || PyList_Append(list, pair) < 0)) Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

static PyObject *graph_memory_plan(PyObject *self, PyObject *none) {
    (void)none;
    Program *program = GRAPH(self)->program;
    const Plan *p = program ? program_plan(program) : NULL;
    if (!p) Py_RETURN_NONE;
    Status status = plan_check(p);
    if (status != OK) return raise_status(status);
    long long arena = p->arena, results = plan_results(p);
    return Py_BuildValue("{sLsLsLsLsIsi}", "peak", arena + results, "arena", arena, "results",
                         results, "floor", (long long)p->floor, "buffers", p->nbuffers - 1, "steps",
                         p->nsteps);
}

struct Program *graph_program(PyObject *o) {
    return Py_IS_TYPE(o, graph_type_object) ? GRAPH(o)->program : NULL;
}

static PyObject *graph_fits(PyObject *self, PyObject *none) {
    (void)none;
    const Program *p = program_of(self);
    return p ? PyBool_FromLong(program_fits(p)) : NULL;
}

/* keep(inputs) -> (the parameters' present values, handles of their own on the inputs' values), for
 * record() later: writes in place point the handles of a caller to other values */
static PyObject *graph_keep(PyObject *self, PyObject *list) {
    const Program *p = program_of(self);
    Py_ssize_t n;
    Tensor **inputs = p ? tensors_of(list, &n) : NULL;
    Tensor **values = inputs ? room(p->nparams) : NULL;
    if (!values) return PyMem_Free(inputs), NULL;
    for (uint32_t i = 0; i < p->nparams; i++) values[i] = tensor_ref(p->params[i].param->value);
    for (Py_ssize_t i = 0; i < n; i++) tensor_ref(inputs[i]);
    return Py_BuildValue("(NN)", tuple_of(values, p->nparams), tuple_of(inputs, n));
}

/* record(inputs, kept values of parameters) -> outputs, recorded by the eager tape */
static PyObject *graph_record(PyObject *self, PyObject *args) {
    Program *p = program_of(self);
    PyObject *inputs, *kept;
    Py_ssize_t n, nkept;
    if (!p || !PyArg_ParseTuple(args, "OO:record", &inputs, &kept)) return NULL;
    Tensor **in = tensors_of(inputs, &n), **values = in ? tensors_of(kept, &nkept) : NULL;
    Tensor **out = values ? room(p->noutputs) : NULL;
    Status status = OK;
    PyObject *made = NULL;
    if (out && nkept != p->nparams)
        PyErr_SetString(PyExc_ValueError, "record: one value a parameter is needed");
    else if (out)
        status = program_record(p, (int)n, in, values, out);
    if (status != OK) raise_run_status(status);
    if (out && status == OK && nkept == p->nparams) {
        made = tuple_of(out, p->noutputs);
        out = NULL;
    }
    PyMem_Free(in);
    PyMem_Free(values);
    PyMem_Free(out);
    return made;
}

static Graph *graph_of(PyObject *self) {
    return GRAPH(self)->program ? GRAPH(self)->program->graph : capture_graph(GRAPH(self)->capture);
}

static PyObject *graph_text(PyObject *self, PyObject *none) {
    (void)none;
    char *text = graph_print(graph_of(self));
    PyObject *o = PyUnicode_FromString(text);
    free(text);
    return o;
}
static PyObject *graph_verify_method(PyObject *self, PyObject *none) {
    (void)none;
    return done(graph_verify(graph_of(self)));
}
static PyObject *graph_nodes(PyObject *self, void *c) {
    (void)c;
    return PyLong_FromUnsignedLong(graph_of(self)->nnodes - 1);
}

static PyObject *is_symbolic(PyObject *module, PyObject *o) {
    (void)module;
    return PyBool_FromLong(IS_TENSOR(o) && TENSOR(o)->t->symbol);
}

static PyMethodDef graph_methods[] = {
    {"begin", CFUNC(graph_begin), METH_FASTCALL,
     "begin(borrow=False): op calls of this thread become nodes from now on. borrow: values of the "
     "graph around become inputs."},
    {"lent", graph_lent, METH_NOARGS, "Values of the graph around that this one reads."},
    {"end", graph_end, METH_NOARGS, "Op calls run again; parameters have their old values."},
    {"input", CFUNC(graph_input_method), METH_FASTCALL,
     "input(dtype, shape, free_axes=0): a symbolic Tensor; bits of free_axes: axes that may have "
     "other sizes when what is recorded is done again."},
    {"region", graph_region_method, METH_NOARGS, "A new region inside the present one."},
    {"enter", graph_enter, METH_O, "Nodes go into this region until leave()."},
    {"leave", graph_leave, METH_NOARGS, "Back to the region around."},
    {"if_", graph_if, METH_VARARGS,
     "if_(condition, then_region, then_values, else_region, else_values) -> tuple of Tensors"},
    {"loop", graph_loop, METH_O, "loop(init) -> (loop, params, condition region, body region)"},
    {"while_", graph_while, METH_VARARGS, "while_(loop, condition, next_values) -> tuple"},
    {"host", CFUNC(graph_host), METH_VARARGS | METH_KEYWORDS,
     "host(function, tensors, [(dtype, shape), ...], deferred=False) -> tuple of Tensors"},
    {"params", graph_params, METH_NOARGS, "[(Parameter, value, grad or None), ...] touched so far"},
    {"entry", graph_entry, METH_O, "entry(parameter) -> (Parameter, value, grad) as found"},
    {"set_param", graph_set_param, METH_VARARGS, "set_param(parameter, value, grad=None)"},
    {"set_line", graph_set_line, METH_VARARGS,
     "set_line(file, line, column, end_column, function): position of the nodes that follow"},
    {"outputs", graph_outputs, METH_VARARGS,
     "outputs(results, close=False, memory=0): ends the capture; close: with passes that may "
     "round differently; memory: 1 with those that save memory, 2 also by computing twice."},
    {"record_sizes", graph_record_sizes, METH_NOARGS,
     "What follows is recorded, to be done again for other sizes."},
    {"recorded", graph_recorded, METH_VARARGS,
     "recorded(inputs, outputs) -> (recording, None), or (None, why it cannot be done again)"},
    {"again", graph_again, METH_VARARGS,
     "again(recording, tensors) -> (inputs, outputs) of a graph for tensors of these sizes, or why "
     "they lead elsewhere"},
    {"run", CFUNC(graph_run), METH_VARARGS | METH_KEYWORDS,
     "run(inputs, plan=True) -> tuple of Tensors; plan=False: node by node"},
    {"plan_calls", graph_plan_calls, METH_NOARGS,
     "Names of the ops that the plan's steps run, in order; None without a plan."},
    {"plan_forks", graph_plan_forks, METH_NOARGS,
     "[(steps, tasks), ...]: where steps of the plan run at once; None without a plan."},
    {"memory_plan", graph_memory_plan, METH_NOARGS,
     "{'peak', 'arena', 'results', 'floor', 'buffers', 'steps'}: bytes and counts, None without a "
     "plan"},
    {"fits", graph_fits, METH_NOARGS,
     "Whether the parameters have the types and gradients they were captured with."},
    {"keep", graph_keep, METH_O, "keep(inputs): parameters and inputs as they are, for record()."},
    {"record", graph_record, METH_VARARGS,
     "record(inputs, kept): runs on the eager tape; nothing is written."},
    {"text", graph_text, METH_NOARGS, "The graph as text."},
    {"verify", graph_verify_method, METH_NOARGS, "Checks the graph's invariants."},
    {0},
};
static PyGetSetDef graph_getset[] = {{"nodes", graph_nodes, NULL, "Number of nodes.", NULL}, {0}};
static PyType_Slot graph_slots[] = {
    {Py_tp_new, graph_make},
    {Py_tp_dealloc, graph_dealloc},
    {Py_tp_methods, graph_methods},
    {Py_tp_getset, graph_getset},
    {Py_tp_doc, "A graph being captured, then run."},
    {0},
};
static PyType_Spec graph_spec = {
    .name = "diptych._core.Graph",
    .basicsize = sizeof(GraphObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = graph_slots,
};
static PyObject *symbol(PyObject *module, PyObject *o) {
    (void)module;
    return PyLong_FromUnsignedLong(IS_TENSOR(o) ? TENSOR(o)->t->symbol : 0);
}

static PyObject *call_now(PyObject *function, PyObject *tensors) {
    PyObject *tuple = PySequence_Tuple(tensors);
    PyObject *result = tuple ? PyObject_Call(function, tuple, NULL) : NULL;
    Py_XDECREF(tuple);
    return result;
}

/* call_later(function, tensors): in a running capture the call becomes a node, made after a run has
 * succeeded; otherwise it is made now. */
static PyObject *call_later(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    (void)module;
    if (n != 2) return PyErr_SetString(PyExc_TypeError, "call_later(function, tensors)"), NULL;
    if (!capture_is_on()) return call_now(args[0], args[1]);
    return host_node(capture_now, args[0], args[1], NULL, true);
}

/* call_host(function, tensors, [(dtype, shape), ...]): in a running capture the call becomes a node
 * with results of these types; otherwise it is made now. */
static PyObject *call_host(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    (void)module;
    if (n != 3 || !PyList_Check(args[2]))
        return PyErr_SetString(PyExc_TypeError, "call_host(function, tensors, [...])"), NULL;
    if (!capture_is_on()) return call_now(args[0], args[1]);
    return host_node(capture_now, args[0], args[1], args[2], false);
}

static PyObject *is_capturing(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return PyBool_FromLong(capture_is_on());
}

/* recompute() -> the number of the part that begins; 0 inside another one, or without a capture */
static PyObject *recompute(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return PyLong_FromUnsignedLong(capture_is_on() ? capture_recompute(capture_now) : 0);
}

/* recomputed(part, results) */
static PyObject *recomputed(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    (void)module;
    if (n != 2) return PyErr_SetString(PyExc_TypeError, "recomputed(part, results)"), NULL;
    unsigned long part = PyLong_AsUnsignedLong(args[0]);
    if (PyErr_Occurred()) return NULL;
    Py_ssize_t nout;
    Tensor **out = tensors_of(args[1], &nout);
    if (!out) return NULL;
    if (capture_is_on()) capture_recomputed(capture_now, (uint32_t)part, (int)nout, out);
    PyMem_Free(out);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"is_capturing", is_capturing, METH_NOARGS, "Whether calls of this thread become nodes."},
    {"set_measured", set_measured, METH_O,
     "set_measured(function): called as function(op, *args, **kwargs) for ops in a capture whose "
     "result sizes depend on values."},
    {"call_later", CFUNC(call_later), METH_FASTCALL,
     "call_later(function, tensors): calls now, or, while a graph is captured, after each run."},
    {"recompute", recompute, METH_NOARGS,
     "recompute(): gradients compute again what calls make until recomputed()."},
    {"recomputed", CFUNC(recomputed), METH_FASTCALL,
     "recomputed(part, results): ends the part that recompute() has begun."},
    {"call_host", CFUNC(call_host), METH_FASTCALL,
     "call_host(function, tensors, [(dtype, shape), ...]) -> tuple of Tensors: calls now, or, "
     "while a graph is captured, in each run."},
    {"symbol", symbol, METH_O, "Number of the tensor's value in its graph; 0: it is concrete."},
    {"is_symbolic", is_symbolic, METH_O, "Whether this is a tensor of a graph being captured."},
    {0},
};

static void show_param(Param *p) { TENSOR(p->handle)->t = p->value; }

bool graph_type_init(PyObject *module) {
    capture_shows = show_param;
    graph_type_object = (PyTypeObject *)PyType_FromModuleAndSpec(module, &graph_spec, NULL);
    return graph_type_object && PyModule_AddFunctions(module, functions) == 0 &&
           PyModule_AddObjectRef(module, "Graph", (PyObject *)graph_type_object) == 0;
}
