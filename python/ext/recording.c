/* Methods of _core.Graph: recording a capture, and doing it again for other sizes. */
#include "core.h"
#include "eager/record.h"
#include "graph.h"

/* A recording is a capsule. */
static void free_recording(PyObject *capsule) {
    recording_unref(PyCapsule_GetPointer(capsule, "diptych recording"));
}

PyObject *graph_record_sizes(PyObject *self, PyObject *none) {
    (void)none;
    Capture *c = capture_of(self);
    if (!c) return NULL;
    if (capture_now != c || capture_recording(c))
        return PyErr_SetString(PyExc_RuntimeError, "record_sizes: right after begin()"), NULL;
    record_start(c);
    Py_RETURN_NONE;
}

/* recorded(inputs, outputs) -> (recording, None) or (None, why not) */
PyObject *graph_recorded(PyObject *self, PyObject *args) {
    PyObject *inputs, *outputs;
    Py_ssize_t nin, nout;
    Capture *c = capture_of(self);
    if (!c || !PyArg_ParseTuple(args, "OO:recorded", &inputs, &outputs)) return NULL;
    if (capture_now != c || !capture_recording(c))
        return PyErr_SetString(PyExc_RuntimeError, "recorded: nothing is recorded"), NULL;
    Tensor **in = tensors_of(inputs, &nin), **out = in ? tensors_of(outputs, &nout) : NULL;
    PyObject *made = NULL;
    if (out) {
        const char *why = NULL;
        Recording *r = record_stop(c, (int)nin, in, (int)nout, out, &why);
        PyObject *capsule = r ? PyCapsule_New(r, "diptych recording", free_recording) : NULL;
        if (r)
            made = capsule ? Py_BuildValue("(NO)", capsule, Py_None) : NULL;
        else
            made = Py_BuildValue("(Os)", Py_None, why);
    }
    PyMem_Free(in);
    PyMem_Free(out);
    return made;
}

/* again(recording, tensors) -> (inputs, outputs), or why it does not fit */
PyObject *graph_again(PyObject *self, PyObject *args) {
    PyObject *capsule, *list;
    Py_ssize_t n;
    Capture *c = capture_of(self);
    if (!c || !PyArg_ParseTuple(args, "OO:again", &capsule, &list)) return NULL;
    Recording *r = PyCapsule_GetPointer(capsule, "diptych recording");
    Tensor **given = r ? tensors_of(list, &n) : NULL;
    if (!given) return NULL;
    if (capture_now != c) {
        PyMem_Free(given);
        return PyErr_SetString(PyExc_RuntimeError, "again: the capture does not run"), NULL;
    }
    int nin = recording_ninputs(r), nout = recording_noutputs(r);
    Tensor **in = room(nin), **out = in ? room(nout) : NULL;
    if (!out) return PyMem_Free(given), PyMem_Free(in), NULL;
    Status status = record_again(r, c, (int)n, given, in, out);
    PyMem_Free(given);
    if (status != OK) {
        PyMem_Free(in);
        PyMem_Free(out);
        PyObject *why = PyUnicode_FromString(error_message());
        error_clear();
        return why;
    }
    PyObject *inputs = tuple_of(in, nin), *outputs = tuple_of(out, nout);
    return inputs && outputs ? Py_BuildValue("(NN)", inputs, outputs) : NULL;
}
