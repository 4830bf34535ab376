/* Of graph.c, for the files that hold methods of _core.Graph. */
#ifndef DIP_EXT_GRAPH_H
#define DIP_EXT_GRAPH_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "eager/capture.h"

/* The capture of a Graph, borrowed; NULL with an exception: it is finished. */
Capture *capture_of(PyObject *self);
/* Borrowed tensors of a list or tuple (numbers are no tensors here); NULL with an exception. */
Tensor **tensors_of(PyObject *list, Py_ssize_t *n);
/* Takes over n tensors and the array. */
PyObject *tuple_of(Tensor **t, Py_ssize_t n);
Tensor **room(Py_ssize_t n);

/* recording.c */
PyObject *graph_record_sizes(PyObject *self, PyObject *none);
PyObject *graph_recorded(PyObject *self, PyObject *args);
PyObject *graph_again(PyObject *self, PyObject *args);

#endif
