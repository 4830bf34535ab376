/* DLPack both ways (dmlc/dlpack, version 1.0): CPU memory shared without copies. What we export is
 * marked read-only where the protocol can say so; what we import is never written by us. */
#include "core.h"

/* ---- the protocol's own structs */

enum { DL_CPU = 1, DL_READ_ONLY = 1 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_COMPLEX = 5, DL_BOOL = 6 };

typedef struct DLTensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;

typedef struct DLManaged {
    DLTensor t;
    void *ctx;
    void (*deleter)(struct DLManaged *self);
} DLManaged;

typedef struct DLVersioned {
    uint32_t major, minor;
    void *ctx;
    void (*deleter)(struct DLVersioned *self);
    uint64_t flags;
    DLTensor t;
} DLVersioned;

static const uint8_t kind_codes[] = {[KIND_BOOL] = DL_BOOL,
                                     [KIND_UINT] = DL_UINT,
                                     [KIND_INT] = DL_INT,
                                     [KIND_FLOAT] = DL_FLOAT,
                                     [KIND_COMPLEX] = DL_COMPLEX};

/* ---- out */

/* One block for both forms: the struct, the sizes, the value. */
typedef struct Export {
    union {
        DLManaged plain;
        DLVersioned versioned;
    } as;
    Tensor *value;
    int64_t shape[MAX_RANK], strides[MAX_RANK];
} Export;

static void delete_plain(DLManaged *m) {
    Export *e = (Export *)m;
    tensor_unref(e->value);
    free(e);
}
static void delete_versioned(DLVersioned *m) {
    Export *e = (Export *)m;
    tensor_unref(e->value);
    free(e);
}

/* A capsule that nobody used gives its tensor back itself. */
static void capsule_done(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        DLManaged *m = PyCapsule_GetPointer(capsule, "dltensor");
        m->deleter(m);
    } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        DLVersioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        m->deleter(m);
    }
}

static void describe(Export *e, DLTensor *t) {
    const Tensor *v = e->value;
    DType d = v->type.dtype;
    memcpy(e->shape, v->type.dims, sizeof e->shape);
    memcpy(e->strides, v->strides, sizeof e->strides);
    *t = (DLTensor){.data = v->data, .device_type = DL_CPU, .ndim = v->type.rank, .lanes = 1};
    t->code = d == DT_bf16 ? DL_BFLOAT : kind_codes[dtype_info[d].kind];
    t->bits = (uint8_t)(dtype_size(d) * 8);
    t->shape = e->shape;
    t->strides = e->strides;
}

static PyObject *export(Tensor *t, bool versioned, bool copied) {
    Export *e = calloc(1, sizeof *e);
    if (!e) return PyErr_NoMemory();
    e->value = tensor_ref(t);
    if (!versioned) {
        e->as.plain.deleter = delete_plain;
        describe(e, &e->as.plain.t);
        return PyCapsule_New(e, "dltensor", capsule_done);
    }
    e->as.versioned.major = 1;
    e->as.versioned.deleter = delete_versioned;
    e->as.versioned.flags = copied ? 2 : DL_READ_ONLY;
    describe(e, &e->as.versioned.t);
    return PyCapsule_New(e, "dltensor_versioned", capsule_done);
}

typedef struct Wishes {
    bool versioned, copy, no_copy;
} Wishes;

static bool read_wish(Wishes *w, PyObject *name, PyObject *value) {
    if (value == Py_None) return true;
    if (!PyUnicode_CompareWithASCIIString(name, "copy")) {
        w->copy = PyObject_IsTrue(value) > 0;
        w->no_copy = !w->copy;
        return !PyErr_Occurred();
    }
    if (!PyUnicode_CompareWithASCIIString(name, "max_version")) {
        long major = PyTuple_Check(value) && PyTuple_GET_SIZE(value) == 2
                         ? PyLong_AsLong(PyTuple_GET_ITEM(value, 0))
                         : 0;
        w->versioned = major >= 1;
        return !PyErr_Occurred();
    }
    if (!PyUnicode_CompareWithASCIIString(name, "dl_device")) {
        bool is_cpu = PyTuple_Check(value) && PyTuple_GET_SIZE(value) == 2 &&
                      PyLong_AsLong(PyTuple_GET_ITEM(value, 0)) == DL_CPU;
        if (!is_cpu && !PyErr_Occurred())
            PyErr_SetString(PyExc_BufferError, "__dlpack__: the tensor is in CPU memory");
        return is_cpu;
    }
    if (!PyUnicode_CompareWithASCIIString(name, "stream")) return true; /* CPU has none */
    PyErr_Format(PyExc_TypeError, "__dlpack__ has no argument %R", name);
    return false;
}

PyObject *tensor_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    Wishes w = {0};
    if (n) return PyErr_SetString(PyExc_TypeError, "__dlpack__ takes keywords only"), NULL;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++)
        if (!read_wish(&w, PyTuple_GET_ITEM(names, i), args[i])) return NULL;
    Tensor *t = TENSOR(self)->t;
    if (!tensor_has_values(TENSOR(self), "__dlpack__")) return NULL;
    if (t->link && tape_is_on() && IS_PARAMETER(self) == false) {
        PyErr_SetString(PyExc_BufferError, "__dlpack__: gradients flow through this tensor; export "
                                           "ops.stop_gradient(x)");
        return NULL;
    }
    for (int i = 0; i < t->type.rank && !w.no_copy; i++)
        w.copy |= t->strides[i] < 0; /* which not every reader takes */
    if (!w.copy) return export(t, w.versioned, false);
    Tensor *own;
    Status status = tensor_new(&t->type, "__dlpack__", &own);
    if (status != OK) return raise_status(status);
    tensor_copy_dense(t, own->data);
    PyObject *capsule = export(own, w.versioned, true);
    tensor_unref(own);
    return capsule;
}

PyObject *tensor_dlpack_device(PyObject *self, PyObject *none) {
    (void)self, (void)none;
    return Py_BuildValue("(ii)", DL_CPU, 0);
}

/* ---- in */

static void release_plain(void *ctx) {
    DLManaged *m = ctx;
    if (m->deleter) m->deleter(m);
}
static void release_versioned(void *ctx) {
    DLVersioned *m = ctx;
    if (m->deleter) m->deleter(m);
}

static DType dtype_of(const DLTensor *t) {
    if (t->lanes != 1) return DT_NONE;
    if (t->code == DL_BFLOAT) return t->bits == 16 ? DT_bf16 : DT_NONE;
    for (int d = 0; d < NDTYPES; d++)
        if (d != DT_bf16 && kind_codes[dtype_info[d].kind] == t->code &&
            dtype_info[d].nbytes * 8 == t->bits)
            return d;
    return DT_NONE;
}

static bool check(const DLTensor *t, DType d) {
    if (t->device_type != DL_CPU)
        PyErr_Format(PyExc_BufferError, "from_dlpack: the memory is on device type %d, not the CPU",
                     t->device_type);
    else if (d == DT_NONE)
        PyErr_Format(PyExc_BufferError, "from_dlpack: no dtype for code %d, %d bits, %d lanes",
                     t->code, t->bits, t->lanes);
    else if (t->ndim < 0 || t->ndim > MAX_RANK)
        PyErr_Format(PyExc_BufferError, "from_dlpack: %d axes; at most %d are possible", t->ndim,
                     MAX_RANK);
    else
        return true;
    return false;
}

/* Takes the managed block over: it is released with the last reference to the bytes. */
static Tensor *import(const DLTensor *t, void (*release)(void *), void *ctx) {
    DType d = dtype_of(t);
    if (!check(t, d)) return NULL;
    TensorType type = {.dtype = (uint8_t)d, .rank = (uint8_t)t->ndim};
    int64_t strides[MAX_RANK];
    for (int i = 0; i < t->ndim; i++) type.dims[i] = t->shape[i];
    type_strides(&type, strides);
    for (int i = 0; t->strides && i < t->ndim; i++) strides[i] = t->strides[i];
    static char none[64];
    char *data = t->data ? (char *)t->data + t->byte_offset : none;
    Storage *storage;
    Status status =
        storage_lend(data, (size_t)(type_count(&type) * dtype_size(d)), release, ctx, &storage);
    if (status != OK) return raise_status(status), NULL;
    storage->read_only = true;
    Tensor *made = tensor_over(storage, &type, strides, data);
    storage_unref(storage);
    return made;
}

static PyObject *import_capsule(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        DLVersioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (m->major != 1)
            return PyErr_Format(PyExc_BufferError, "from_dlpack: protocol version %u", m->major);
        Tensor *t = import(&m->t, release_versioned, m);
        if (t) PyCapsule_SetName(capsule, "used_dltensor_versioned");
        return tensor_wrap(t);
    }
    if (!PyCapsule_IsValid(capsule, "dltensor"))
        return PyErr_SetString(PyExc_ValueError, "from_dlpack: the capsule was used before"), NULL;
    DLManaged *m = PyCapsule_GetPointer(capsule, "dltensor");
    Tensor *t = import(&m->t, release_plain, m);
    if (t) PyCapsule_SetName(capsule, "used_dltensor");
    return tensor_wrap(t);
}

static PyObject *ask_capsule(PyObject *o) {
    PyObject *method = PyObject_GetAttrString(o, "__dlpack__");
    if (!method) return NULL;
    PyObject *keywords = Py_BuildValue("{s(ii)}", "max_version", 1, 0), *none = PyTuple_New(0);
    PyObject *capsule = keywords && none ? PyObject_Call(method, none, keywords) : NULL;
    if (!capsule && none && PyErr_ExceptionMatches(PyExc_TypeError)) { /* before version 1.0 */
        PyErr_Clear();
        capsule = PyObject_CallNoArgs(method);
    }
    Py_XDECREF(none);
    Py_XDECREF(keywords);
    Py_DECREF(method);
    return capsule;
}

PyObject *core_from_dlpack(PyObject *module, PyObject *o) {
    (void)module;
    PyObject *capsule = PyCapsule_CheckExact(o) ? Py_NewRef(o) : ask_capsule(o);
    if (!capsule) return NULL;
    PyObject *made = PyCapsule_CheckExact(capsule) ? import_capsule(capsule) : NULL;
    if (!made && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "from_dlpack: __dlpack__ gave no capsule");
    Py_DECREF(capsule);
    return made;
}
