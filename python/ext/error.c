/* Failures of the C library as Python exceptions, and failures of Python callbacks as statuses. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

static PyObject *out_of_range; /* for DIP_E_INDEX */

bool error_init(PyObject *module) {
    PyObject *bases = PyTuple_Pack(2, PyExc_IndexError, PyExc_ValueError);
    out_of_range = bases ? PyErr_NewExceptionWithDoc(
                               "diptych.OutOfRangeError",
                               "An index or an axis lies outside its range: an IndexError and a "
                               "ValueError, as NumPy's AxisError.",
                               bases, NULL)
                         : NULL;
    Py_XDECREF(bases);
    return out_of_range && PyModule_AddObjectRef(module, "OutOfRangeError", out_of_range) == 0;
}

PyObject *exception_class(Status status) {
    if (status == DIP_E_INDEX) return out_of_range;
    PyObject *builtins = PyEval_GetBuiltins(); /* borrowed */
    PyObject *found = PyDict_GetItemString(builtins, status_exception(status));
    return found ? found : PyExc_RuntimeError;
}

static bool wants_trace(void) {
    const char *setting = getenv("DIPTYCH_TRACE");
    return setting && !strcmp(setting, "full");
}

/* The C functions the failure passed through, as a note of the exception. */
static void add_trace(void) {
    PyObject *type, *value, *where;
    PyErr_Fetch(&type, &value, &where);
    PyErr_NormalizeException(&type, &value, &where);
    PyObject *done =
        value ? PyObject_CallMethod(
                    value, "add_note", "N",
                    PyUnicode_FromFormat("C frames, innermost first:\n%s", error_trace()))
              : NULL;
    if (!done) PyErr_Clear();
    Py_XDECREF(done);
    PyErr_Restore(type, value, where);
}

PyObject *raise_status(Status status) {
    if (PyErr_Occurred()) return NULL;
    const char *text = error_message(); /* cut anywhere, or with a byte of what the user gave */
    PyObject *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    if (!message) return NULL;
    PyErr_SetObject(exception_class(status), message);
    Py_DECREF(message);
    if (wants_trace()) add_trace();
    return NULL;
}

Status status_of_exception(const char *where) {
    return FAIL(RUNTIME, "%s raised a Python exception", where);
}

PyObject *callback(const char *name) {
    PyObject *found = core.callbacks ? PyDict_GetItemString(core.callbacks, name) : NULL;
    if (!found) PyErr_Format(PyExc_RuntimeError, "diptych: import the package, not diptych._core");
    return found;
}
