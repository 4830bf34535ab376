/* Random state, memory figures, threads, and living with Python's lock and with fork. */
#include <pthread.h>
#include <time.h>

#include "core.h"

#include "base/parallel.h"
#include "kernels/loops.h"
#include "plan/plan.h"
#include "run/device.h"
#include "tensor/pool.h"
#include "tensor/random.h"

/* ---- long kernels run without Python's lock */

static void *let_go(void) { return PyGILState_Check() ? PyEval_SaveThread() : NULL; }
static void take_back(void *state) {
    if (state) PyEval_RestoreThread(state);
}

/* Signals are looked at and other threads let in a few times a second: that takes microseconds, the
 * clock some nanoseconds. */
static Status turn(void) {
    enum { PAUSE = 50 * 1000 * 1000 };
    static _Thread_local int64_t next;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    int64_t at = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    if (at < next) return OK;
    next = at + PAUSE;
    PyGILState_STATE state = PyGILState_Ensure();
    PyEval_RestoreThread(PyEval_SaveThread());
    Status status = PyErr_CheckSignals() ? status_of_exception("a signal's handler") : OK;
    PyGILState_Release(state);
    return status;
}

/* The compute threads do not survive a fork: the child works alone. */
static void in_child(void) { parallel_set_threads(1); }

void system_init(void) {
    long_run = (LongRunHooks){let_go, take_back, turn};
    pthread_atfork(NULL, NULL, in_child);
}

/* ---- random state */

static PyObject *seed(PyObject *module, PyObject *value) {
    (void)module;
    unsigned long long v = PyLong_AsUnsignedLongLong(value);
    if (v == (unsigned long long)-1 && PyErr_Occurred()) return NULL;
    random_seed(v);
    Py_RETURN_NONE;
}
static PyObject *rng_state(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    RandomState s = random_state();
    return Py_BuildValue("(KK)", (unsigned long long)s.key, (unsigned long long)s.counter);
}
static PyObject *set_rng_state(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *key, *counter;
    if (!PyArg_ParseTuple(args, "O!O!", &PyLong_Type, &key, &PyLong_Type, &counter)) return NULL;
    RandomState s = {PyLong_AsUnsignedLongLong(key), PyLong_AsUnsignedLongLong(counter)};
    if (PyErr_Occurred()) return NULL;
    random_restore(s);
    Py_RETURN_NONE;
}

/* ---- memory and threads */

static PyObject *memory_stats(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    PoolStats s = pool_stats();
    return Py_BuildValue("{sLsLsLsL}", "allocated", (long long)s.allocated, "reserved",
                         (long long)s.reserved, "peak", (long long)s.peak, "limit",
                         (long long)s.limit);
}
static PyObject *reset_peak(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    pool_reset_peak();
    Py_RETURN_NONE;
}
static PyObject *trim(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    pool_trim();
    Py_RETURN_NONE;
}
static PyObject *set_memory_limit(PyObject *module, PyObject *value) {
    (void)module;
    long long n = PyLong_AsLongLong(value);
    if (n == -1 && PyErr_Occurred()) return NULL;
    if (n < 0) return PyErr_SetString(PyExc_ValueError, "the limit is 0 (none) or positive"), NULL;
    pool_set_limit(n);
    Py_RETURN_NONE;
}
static PyObject *threads(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return PyLong_FromLong(parallel_threads());
}
static PyObject *set_threads(PyObject *module, PyObject *value) {
    (void)module;
    long n = PyLong_AsLong(value);
    if (n == -1 && PyErr_Occurred()) return NULL;
    if (n < 0 || n > 1024)
        return PyErr_SetString(PyExc_ValueError, "threads: 1 to 1024, or 0 for the default"), NULL;
    parallel_set_threads((int)n);
    Py_RETURN_NONE;
}
static PyObject *share_memory(PyObject *module, PyObject *on) {
    (void)module;
    int truth = PyObject_IsTrue(on);
    if (truth < 0) return NULL;
    plan_share_memory(truth);
    Py_RETURN_NONE;
}
static PyObject *use_test_device(PyObject *module, PyObject *on) {
    (void)module;
    int truth = PyObject_IsTrue(on);
    if (truth < 0) return NULL;
    device_test(truth);
    Py_RETURN_NONE;
}
static PyObject *run_branches(PyObject *module, PyObject *value) {
    (void)module;
    long n = PyLong_AsLong(value);
    if (n == -1 && PyErr_Occurred()) return NULL;
    plan_run_branches((int)n);
    Py_RETURN_NONE;
}

/* ---- raw bytes, for pickling and sharing */

static PyObject *tensor_bytes(PyObject *module, PyObject *o) {
    (void)module;
    if (!IS_TENSOR(o)) return PyErr_SetString(PyExc_TypeError, "not a Tensor"), NULL;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, tensor_nbytes(TENSOR(o)->t));
    if (bytes) tensor_copy_dense(TENSOR(o)->t, PyBytes_AS_STRING(bytes));
    return bytes;
}

/* tensor_from_bytes(bytes, dtype, shape) */
static PyObject *tensor_from_bytes(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer bytes;
    PyObject *dtype, *shape;
    DType d;
    if (!PyArg_ParseTuple(args, "y*OO!", &bytes, &dtype, &PyTuple_Type, &shape)) return NULL;
    Tensor *t = NULL;
    TensorType type = {.rank = (uint8_t)PyTuple_GET_SIZE(shape)};
    bool fine = dtype_from_object(dtype, &d) && PyTuple_GET_SIZE(shape) <= MAX_RANK;
    for (int i = 0; fine && i < type.rank; i++)
        type.dims[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
    if (fine && !PyErr_Occurred()) {
        type.dtype = (uint8_t)d;
        Status status = tensor_new(&type, "Tensor", &t);
        if (status != OK)
            raise_status(status);
        else if (tensor_nbytes(t) == bytes.len)
            memcpy(t->data, bytes.buf, (size_t)bytes.len);
        else {
            PyErr_SetString(PyExc_ValueError, "the bytes do not fit the shape");
            tensor_unref(t);
            t = NULL;
        }
    }
    PyBuffer_Release(&bytes);
    if (!t && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "too many axes");
    return tensor_wrap(t);
}

static PyObject *share_buffer(PyObject *module, PyObject *o) {
    (void)module;
    return tensor_wrap(tensor_from_buffer(o, false));
}

static PyObject *copy_object(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *data, *dtype = Py_None;
    DType d = DT_NONE;
    if (!PyArg_ParseTuple(args, "O|O", &data, &dtype)) return NULL;
    if (dtype != Py_None && !dtype_from_object(dtype, &d)) return NULL;
    return tensor_wrap(tensor_from_object(data, d));
}

/* Another handle on the same value: in-place operators on the one leave the other. */
static PyObject *alias(PyObject *module, PyObject *o) {
    (void)module;
    if (!IS_TENSOR(o)) return PyErr_SetString(PyExc_TypeError, "alias: not a Tensor"), NULL;
    return tensor_wrap(tensor_ref(TENSOR(o)->t));
}

/* The handle shows `value`, its gradient link included, from now on. */
static PyObject *repoint(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *handle, *value;
    if (!PyArg_ParseTuple(args, "O!O!", core.tensor, &handle, core.tensor, &value)) return NULL;
    if (!tensor_warn_part(TENSOR(handle))) return NULL;
    Tensor *t = tensor_ref(TENSOR(value)->t);
    return tensor_repoint(TENSOR(handle), t) ? Py_NewRef(handle) : NULL;
}

static PyObject *promote(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *a, *b;
    DType x, y;
    if (!PyArg_ParseTuple(args, "OO", &a, &b) || !dtype_from_object(a, &x) ||
        !dtype_from_object(b, &y))
        return NULL;
    return Py_NewRef(core.dtypes[dtype_promote(x, y)]);
}

/* While both live, two handles on the same value give the same number. */
static PyObject *value_id(PyObject *module, PyObject *o) {
    (void)module;
    if (!IS_TENSOR(o)) return PyErr_SetString(PyExc_TypeError, "value_id: not a Tensor"), NULL;
    return PyLong_FromVoidPtr(TENSOR(o)->t);
}

static PyObject *set_callbacks(PyObject *module, PyObject *dict) {
    (void)module;
    if (!PyDict_Check(dict)) return PyErr_SetString(PyExc_TypeError, "not a dict"), NULL;
    Py_XSETREF(core.callbacks, Py_NewRef(dict));
    Py_RETURN_NONE;
}

static PyObject *isa(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return PyUnicode_FromString(loops_isa());
}

PyMethodDef system_functions[] = {
    {"seed", seed, METH_O, NULL},
    {"rng_state", rng_state, METH_NOARGS, NULL},
    {"set_rng_state", set_rng_state, METH_VARARGS, NULL},
    {"memory_stats", memory_stats, METH_NOARGS, NULL},
    {"reset_peak", reset_peak, METH_NOARGS, NULL},
    {"trim", trim, METH_NOARGS, NULL},
    {"set_memory_limit", set_memory_limit, METH_O, NULL},
    {"threads", threads, METH_NOARGS, NULL},
    {"set_threads", set_threads, METH_O, NULL},
    {"use_test_device", use_test_device, METH_O,
     "Whether compiled functions run on the test device, whose memory only kernels reach."},
    {"run_branches", run_branches, METH_O,
     "How many independent parts of a graph run at once; 0, 1: none."},
    {"share_memory", share_memory, METH_O,
     "Whether values of a graph that are not alive at once share memory."},
    {"isa", isa, METH_NOARGS, NULL},
    {"tensor_bytes", tensor_bytes, METH_O, NULL},
    {"tensor_from_bytes", tensor_from_bytes, METH_VARARGS, NULL},
    {"share_buffer", share_buffer, METH_O, NULL},
    {"copy_object", copy_object, METH_VARARGS, NULL},
    {"from_dlpack", core_from_dlpack, METH_O, NULL},
    {"alias", alias, METH_O, NULL},
    {"repoint", repoint, METH_VARARGS, NULL},
    {"value_id", value_id, METH_O, "A number that handles on the same value share."},
    {"update_params", CFUNC(core_update_params), WITH_KEYWORDS,
     "update_params(op, groups, **attributes)"},
    {"promote", promote, METH_VARARGS, NULL},
    {"set_callbacks", set_callbacks, METH_O, NULL},
    {0},
};
