/* Files: IDX data sets and safetensors, and pixels to numbers, with the lock released meanwhile. */
#include "core.h"
#include "io/idx.h"
#include "io/pixels.h"
#include "io/safetensors.h"

/* The file system's bytes of a str, bytes or PathLike; a new reference. */
static PyObject *path_bytes(PyObject *path) {
    PyObject *bytes = NULL;
    return PyUnicode_FSConverter(path, &bytes) ? bytes : NULL;
}

/* read_idx(path) -> Tensor */
static PyObject *read_idx(PyObject *module, PyObject *arg) {
    (void)module;
    PyObject *path = path_bytes(arg);
    if (!path) return NULL;
    Tensor *t = NULL;
    Status status;
    Py_BEGIN_ALLOW_THREADS;
    status = idx_read(PyBytes_AS_STRING(path), &t);
    Py_END_ALLOW_THREADS;
    Py_DECREF(path);
    return status == OK ? tensor_wrap(t) : raise_status(status);
}

static PyObject *archive_dict(const Archive *a) {
    PyObject *dict = PyDict_New();
    for (int64_t i = 0; dict && i < a->n; i++) {
        PyObject *t = tensor_wrap(tensor_ref(a->items[i].tensor));
        if (!t || PyDict_SetItemString(dict, a->items[i].name, t) < 0) Py_CLEAR(dict);
        Py_XDECREF(t);
    }
    return dict;
}

/* load_safetensors(path) -> {name: Tensor} */
static PyObject *load_safetensors(PyObject *module, PyObject *arg) {
    (void)module;
    PyObject *path = path_bytes(arg);
    if (!path) return NULL;
    Archive *archive = NULL;
    Status status;
    Py_BEGIN_ALLOW_THREADS;
    status = safetensors_load(PyBytes_AS_STRING(path), &archive);
    Py_END_ALLOW_THREADS;
    Py_DECREF(path);
    if (status != OK) return raise_status(status);
    PyObject *dict = archive_dict(archive);
    archive_free(archive);
    return dict;
}

/* One item of the dict; the tensor is a reference, the name lives as long as the dict. */
static bool take_item(PyObject *name, PyObject *value, NamedTensor *item) {
    if (!IS_TENSOR(value)) {
        PyErr_Format(PyExc_TypeError, "save: '%S' is of type %s; it must be a Tensor", name,
                     Py_TYPE(value)->tp_name);
        return false;
    }
    item->name = PyUnicode_AsUTF8(name); /* TypeError when it is no str */
    if (!item->name) return false;
    item->tensor = tensor_ref(TENSOR(value)->t);
    return true;
}

/* save_safetensors(path, {name: Tensor}, metadata=None): written beside, then renamed. The dict
 * must be the caller's own: others run meanwhile. */
static PyObject *save_safetensors(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *path, *dict, *name, *value;
    const char *metadata = NULL;
    if (!PyArg_ParseTuple(args, "O&O!|z", PyUnicode_FSConverter, &path, &PyDict_Type, &dict,
                          &metadata))
        return NULL;
    NamedTensor *items = PyMem_Calloc((size_t)PyDict_Size(dict) + 1, sizeof *items);
    bool good = items != NULL;
    Py_ssize_t at = 0, n = 0;
    while (good && PyDict_Next(dict, &at, &name, &value)) {
        good = take_item(name, value, &items[n]);
        n += good;
    }
    Status status = OK;
    if (good) {
        Py_BEGIN_ALLOW_THREADS;
        status = safetensors_save(PyBytes_AS_STRING(path), n, items, metadata);
        Py_END_ALLOW_THREADS;
    }
    for (Py_ssize_t i = 0; i < n; i++) tensor_unref(items[i].tensor);
    PyMem_Free(items);
    Py_DECREF(path);
    if (status != OK) return raise_status(status);
    if (good) Py_RETURN_NONE;
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

/* The shapes fit together, so that no access leaves a buffer. */
static bool pixels_fit(const Py_buffer *src, const Py_buffer *tables, const Py_buffer *dst,
                       Py_ssize_t images) {
    Py_ssize_t channels = tables->len / (4 * 256);
    bool fit = images > 0 && channels > 0 && tables->len == channels * 4 * 256 &&
               src->len % channels == 0 && src->len / channels % images == 0 &&
               dst->len / 4 == src->len && dst->len % 4 == 0;
    if (!fit)
        PyErr_Format(PyExc_ValueError,
                     "lookup_pixels: %zd bytes of %zd images, %zd of tables and %zd for the result "
                     "do not fit together",
                     src->len, images, tables->len, dst->len);
    return fit;
}

/* lookup_pixels(src, tables, dst, images, channels_first): dst gets an element of four bytes for
 * each byte of src; buffers must be dense. */
static PyObject *lookup_pixels(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer src, tables, dst;
    Py_ssize_t images;
    int first;
    if (!PyArg_ParseTuple(args, "y*y*w*np", &src, &tables, &dst, &images, &first)) return NULL;
    bool fit = pixels_fit(&src, &tables, &dst, images);
    if (fit) {
        int64_t channels = tables.len / (4 * 256);
        PixelLookup p = {images, src.len / channels / images, channels, src.buf, tables.buf, first};
        Py_BEGIN_ALLOW_THREADS;
        pixels_lookup(&p, dst.buf);
        Py_END_ALLOW_THREADS;
    }
    PyBuffer_Release(&src);
    PyBuffer_Release(&tables);
    PyBuffer_Release(&dst);
    if (!fit) return NULL;
    Py_RETURN_NONE;
}

PyMethodDef file_functions[] = {
    {"read_idx", read_idx, METH_O, NULL},
    {"lookup_pixels", lookup_pixels, METH_VARARGS, NULL},
    {"load_safetensors", load_safetensors, METH_O, NULL},
    {"save_safetensors", save_safetensors, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
