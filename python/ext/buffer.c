/* The buffer protocol both ways. Tensors are values that others may share, so what they export is
 * read-only, and the exported bytes stay as they are whatever happens to the handle. */
#include "core.h"

static const char *const formats[NDTYPES] = {
    [DT_bool] = "?", [DT_u8] = "B",  [DT_u16] = "H",  [DT_u32] = "I",   [DT_u64] = "Q",
    [DT_i8] = "b",   [DT_i16] = "h", [DT_i32] = "i",  [DT_i64] = "q",   [DT_f16] = "e",
    [DT_f32] = "f",  [DT_f64] = "d", [DT_c64] = "Zf", [DT_c128] = "Zd",
};

/* ---- out */

typedef struct Export {
    Tensor *t;
    Py_ssize_t shape[MAX_RANK], strides[MAX_RANK];
} Export;

static int refuse(Py_buffer *view, const char *why) {
    view->obj = NULL;
    PyErr_SetString(PyExc_BufferError, why);
    return -1;
}

int tensor_getbuffer(PyObject *self, Py_buffer *view, int flags) {
    Tensor *t = TENSOR(self)->t;
    if (flags & PyBUF_WRITABLE)
        return refuse(view, "a tensor's bytes are read-only: take a copy, np.array(tensor)");
    if (!formats[t->type.dtype]) return refuse(view, "bfloat16 has no buffer format");
    Tensor *shown = tensor_ref(t);
    if (!t->dense && (flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
        tensor_unref(shown);
        Status status = dispatch1(OP_contiguous, NULL, t, &shown);
        if (status != OK) return raise_status(status), view->obj = NULL, -1;
    }
    if (shown->symbol) {
        tensor_unref(shown);
        view->obj = NULL;
        return tensor_has_values(TENSOR(self), "the buffer of a tensor") - 1;
    }
    Export *e = PyMem_Calloc(1, sizeof *e);
    if (!e) return tensor_unref(shown), PyErr_NoMemory(), view->obj = NULL, -1;
    int64_t size = dtype_size(t->type.dtype);
    e->t = shown;
    for (int i = 0; i < shown->type.rank; i++) {
        e->shape[i] = shown->type.dims[i];
        e->strides[i] = shown->strides[i] * size;
    }
    *view = (Py_buffer){.buf = shown->data, .obj = Py_NewRef(self), .len = tensor_nbytes(shown)};
    view->itemsize = size;
    view->readonly = 1;
    view->ndim = shown->type.rank;
    view->format = flags & PyBUF_FORMAT ? (char *)formats[t->type.dtype] : NULL;
    view->shape = flags & PyBUF_ND ? e->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? e->strides : NULL;
    view->internal = e;
    return 0;
}

void tensor_releasebuffer(PyObject *self, Py_buffer *view) {
    (void)self;
    Export *e = view->internal;
    tensor_unref(e->t);
    PyMem_Free(e);
}

/* ---- in */

static DType dtype_of(const Py_buffer *view) {
    const char *f = view->format ? view->format : "B";
    if (*f == '@' || *f == '=' || *f == '<') f++;
    if (!strcmp(f, "Zf") || !strcmp(f, "Zd")) return f[1] == 'f' ? DT_c64 : DT_c128;
    if (!*f || f[1]) return DT_NONE;
    if (*f == '?') return DT_bool;
    DKind kind = strchr("bhilqn", *f)   ? KIND_INT
                 : strchr("BHILQN", *f) ? KIND_UINT
                 : strchr("efd", *f)    ? KIND_FLOAT
                                        : KIND_BOOL;
    for (int d = 0; d < NDTYPES && kind != KIND_BOOL; d++)
        if (d != DT_bf16 && dtype_info[d].kind == kind && dtype_info[d].nbytes == view->itemsize)
            return d;
    return DT_NONE;
}

static void release(void *ctx) {
    if (!Py_IsInitialized()) return; /* the interpreter took the object with it */
    PyGILState_STATE state = PyGILState_Ensure();
    PyBuffer_Release(ctx);
    PyMem_Free(ctx);
    PyGILState_Release(state);
}

/* Type and strides of a view we can use as it stands. */
static bool describe(const Py_buffer *view, TensorType *type, int64_t *strides) {
    DType d = dtype_of(view);
    if (d == DT_NONE) {
        PyErr_Format(PyExc_BufferError, "elements of format '%s' have no dtype here",
                     view->format ? view->format : "");
        return false;
    }
    if (view->ndim > MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "the array has %d axes; at most %d are possible", view->ndim,
                     MAX_RANK);
        return false;
    }
    *type = (TensorType){.dtype = (uint8_t)d, .rank = (uint8_t)view->ndim};
    bool fits = (uintptr_t)view->buf % (uintptr_t)view->itemsize == 0;
    for (int i = 0; i < view->ndim; i++) {
        type->dims[i] = view->shape[i];
        strides[i] = view->strides[i] / view->itemsize;
        fits = fits && view->strides[i] % view->itemsize == 0;
    }
    if (!fits) PyErr_SetString(PyExc_BufferError, "the elements are not aligned");
    return fits;
}

Tensor *tensor_from_buffer(PyObject *o, bool copy) {
    Py_buffer *view = PyMem_Malloc(sizeof *view);
    if (!view) return PyErr_NoMemory(), NULL;
    if (PyObject_GetBuffer(o, view, PyBUF_RECORDS_RO) < 0) return PyMem_Free(view), NULL;
    TensorType type;
    int64_t strides[MAX_RANK];
    Storage *storage;
    if (!describe(view, &type, strides)) {
        PyBuffer_Release(view);
        PyMem_Free(view);
        return NULL;
    }
    Status status = storage_lend(view->buf, (size_t)view->len, release, view, &storage);
    if (status != OK) return release(view), raise_status(status), NULL;
    storage->read_only = true; /* the other side still writes as it likes; we never do */
    Tensor *t = tensor_over(storage, &type, strides, view->buf);
    storage_unref(storage);
    if (!copy) return t;
    Tensor *own;
    status = tensor_new(&type, "Tensor", &own);
    if (status == OK) tensor_copy_dense(t, own->data);
    tensor_unref(t);
    return status == OK ? own : (raise_status(status), NULL);
}
