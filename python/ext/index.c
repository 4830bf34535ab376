/* Indexing by ints, slices, None and Ellipsis as one slice call (and a reshape for None); every
 * other key (lists, tensors, masks) goes to the package, which writes it as gathers. */
#include "core.h"
#include "eager/record.h"

/* A basic key, resolved against the sizes. */
typedef struct Window {
    attrs_slice slice;
    IntList shape; /* of the result, with the axes None makes */
    bool is_whole, has_new_axes;
} Window;

typedef enum KeyKind { KEY_INT, KEY_SLICE, KEY_NONE, KEY_ELLIPSIS, KEY_OTHER } KeyKind;

static KeyKind kind_of(PyObject *o) {
    if (PyLong_CheckExact(o)) return KEY_INT;
    if (PySlice_Check(o)) return KEY_SLICE;
    if (o == Py_None) return KEY_NONE;
    if (o == Py_Ellipsis) return KEY_ELLIPSIS;
    if (PyBool_Check(o) || PyList_Check(o)) return KEY_OTHER;
    if (IS_TENSOR(o))
        return TENSOR(o)->t->type.rank == 0 && dtype_is_int(TENSOR(o)->t->type.dtype) ? KEY_INT
                                                                                      : KEY_OTHER;
    DKind kind;
    return PyLong_Check(o) || (scalar_kind(o, &kind) && kind == KIND_INT) ? KEY_INT : KEY_OTHER;
}

static bool put_int(Window *w, PyObject *o, int axis, int64_t n) {
    Py_ssize_t i = PyNumber_AsSsize_t(o, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred()) return false;
    if (i < -n || i >= n) {
        PyErr_Format(PyExc_IndexError, "index %zd is out of bounds for axis %d with size %lld", i,
                     axis, (long long)n);
        return false;
    }
    w->slice.begin.v[axis] = i < 0 ? i + n : i;
    w->slice.size.v[axis] = w->slice.step.v[axis] = 1;
    w->slice.drop.v[w->slice.drop.n++] = axis;
    w->is_whole = false;
    return true;
}

static bool put_slice(Window *w, PyObject *o, int axis, int64_t n) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(o, &start, &stop, &step) < 0) return false;
    Py_ssize_t count = PySlice_AdjustIndices(n, &start, &stop, step);
    w->slice.begin.v[axis] = count ? start : 0;
    w->slice.size.v[axis] = count;
    w->slice.step.v[axis] = count > 1 ? step : 1;
    if (count != n || w->slice.step.v[axis] != 1) w->is_whole = false;
    w->shape.v[w->shape.n++] = count;
    return true;
}

static void put_all(Window *w, int axis, int64_t n) {
    w->slice.size.v[axis] = n;
    w->slice.step.v[axis] = 1;
    w->shape.v[w->shape.n++] = n;
}

static bool put_new_axis(Window *w) {
    if (w->shape.n == MAX_RANK) {
        PyErr_Format(PyExc_IndexError, "the index gives more than %d axes", MAX_RANK);
        return false;
    }
    w->shape.v[w->shape.n++] = 1;
    w->has_new_axes = true;
    return true;
}

/* How many axes the items name; -1: an item is of another kind; -2: an exception. */
static int count_axes(PyObject *const *items, Py_ssize_t n) {
    int axes = 0, ellipses = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        KeyKind kind = kind_of(items[i]);
        if (kind == KEY_OTHER) return -1;
        axes += kind == KEY_INT || kind == KEY_SLICE;
        ellipses += kind == KEY_ELLIPSIS;
    }
    if (ellipses <= 1) return axes;
    PyErr_SetString(PyExc_IndexError, "an index can hold one ellipsis ('...') only");
    return -2;
}

static bool fill_window(Window *w, const TensorType *type, PyObject *const *items, Py_ssize_t n,
                        int named) {
    int axis = 0;
    bool fine = true;
    for (Py_ssize_t i = 0; i < n && fine; i++) {
        switch (kind_of(items[i])) {
        case KEY_INT: fine = put_int(w, items[i], axis, type->dims[axis]), axis++; break;
        case KEY_SLICE: fine = put_slice(w, items[i], axis, type->dims[axis]), axis++; break;
        case KEY_NONE: fine = put_new_axis(w); break;
        default:
            for (int k = type->rank - named; k > 0; k--, axis++) put_all(w, axis, type->dims[axis]);
        }
    }
    for (; fine && axis < type->rank; axis++) {
        if (w->shape.n == MAX_RANK) return put_new_axis(w);
        put_all(w, axis, type->dims[axis]);
    }
    return fine;
}

/* 1: done; 0: not a basic key; -1: an exception. */
static int window_from_key(Window *w, const TensorType *type, PyObject *key) {
    PyObject *const *items = PyTuple_Check(key) ? &PyTuple_GET_ITEM(key, 0) : &key;
    Py_ssize_t n = PyTuple_Check(key) ? PyTuple_GET_SIZE(key) : 1;
    int named = count_axes(items, n);
    if (named < 0) return named == -1 ? 0 : -1;
    if (named > type->rank) {
        PyErr_Format(PyExc_IndexError, "too many indices: the tensor has %d axes, %d are indexed",
                     type->rank, named);
        return -1;
    }
    memset(w, 0, sizeof *w);
    w->is_whole = true;
    w->slice.begin.n = w->slice.size.n = w->slice.step.n = type->rank;
    return fill_window(w, type, items, n, named) ? 1 : -1;
}

static Status take_window(const Window *w, Tensor *t, Tensor **out) {
    AUTO_TENSOR part = NULL;
    if (w->is_whole)
        part = tensor_ref(t);
    else
        TRY(dispatch1(OP_slice, &w->slice, t, &part));
    if (w->has_new_axes) return dispatch1(OP_reshape, &(attrs_reshape){w->shape, 0}, part, out);
    *out = tensor_keep(&part);
    return OK;
}

static PyObject *ask(const char *what, PyObject *a, PyObject *b, PyObject *c) {
    PyObject *f = callback(what);
    return f ? PyObject_CallFunctionObjArgs(f, a, b, c, NULL) : NULL;
}

/* A basic key for a tensor whose sizes vary: the package writes the window with Sizes. */
static bool is_for_any_size(PyObject *self, PyObject *key) {
    Tensor *t = TENSOR(self)->t;
    if (!t->symbol || !record_now() || record_pin(t)) return false;
    PyObject *const *items = PyTuple_Check(key) ? &PyTuple_GET_ITEM(key, 0) : &key;
    return count_axes(items, PyTuple_Check(key) ? PyTuple_GET_SIZE(key) : 1) >= 0;
}

PyObject *tensor_subscript(PyObject *self, PyObject *key) {
    Window w;
    if (!tensor_has_sizes(TENSOR(self)->t)) return NULL;
    if (is_for_any_size(self, key)) return ask("window_get", self, key, NULL);
    if (PyErr_Occurred()) return NULL;
    int is_basic = window_from_key(&w, &TENSOR(self)->t->type, key);
    if (is_basic < 0) return NULL;
    if (!is_basic) return ask("index_get", self, key, NULL);
    Tensor *out;
    Status status = take_window(&w, TENSOR(self)->t, &out);
    PyObject *o = status == OK ? tensor_wrap(out) : raise_status(status);
    if (o) TENSOR(o)->is_part = true;
    return o;
}

/* ---- writing */

static Tensor *value_tensor(PyObject *value, DType d) {
    DKind kind;
    if (IS_TENSOR(value)) return tensor_ref(TENSOR(value)->t);
    if (!scalar_kind(value, &kind)) return tensor_from_object(value, DT_NONE);
    bool keeps = kind != KIND_FLOAT || dtype_is_float(d);
    return scalar_tensor(value, keeps ? d : DT_f64);
}

/* `value` as slice_set wants it: broadcast over the axes that None makes, then without them. */
static Status fit_value(const Window *w, Tensor **value) {
    if (!w->has_new_axes) return OK;
    AUTO_TENSOR wide = NULL;
    TRY(dispatch1(OP_broadcast_to, &(attrs_broadcast_to){w->shape, 0}, *value, &wide));
    IntList plain = {0};
    for (int axis = 0, dropped = 0; axis < w->slice.size.n; axis++) {
        bool is_int = dropped < w->slice.drop.n && w->slice.drop.v[dropped] == axis;
        dropped += is_int;
        if (!is_int) plain.v[plain.n++] = w->slice.size.v[axis];
    }
    Tensor *made;
    TRY(dispatch1(OP_reshape, &(attrs_reshape){plain, 0}, wide, &made));
    tensor_unref(*value);
    *value = made;
    return OK;
}

int tensor_ass_subscript(PyObject *self, PyObject *key, PyObject *value) {
    if (!value)
        return PyErr_SetString(PyExc_TypeError, "elements of a tensor cannot be deleted"), -1;
    Window w;
    if (!tensor_has_sizes(TENSOR(self)->t)) return -1;
    bool any_size = is_for_any_size(self, key);
    if (PyErr_Occurred()) return -1;
    int is_basic = any_size ? 0 : window_from_key(&w, &TENSOR(self)->t->type, key);
    if (is_basic < 0 || !tensor_warn_part(TENSOR(self))) return -1;
    if (!is_basic) {
        PyObject *made = ask(any_size ? "window_set" : "index_set", self, key, value);
        if (!made) return -1;
        Tensor *t = IS_TENSOR(made) ? tensor_alias(TENSOR(made)->t) : NULL;
        if (t && TENSOR(made)->t->link) {
            t->link = link_ref(TENSOR(made)->t->link);
            t->output = TENSOR(made)->t->output;
        }
        Py_DECREF(made);
        return t && tensor_repoint(TENSOR(self), t) ? 0 : -1;
    }
    Tensor *made, *v = value_tensor(value, TENSOR(self)->t->type.dtype);
    if (!v) return -1;
    Status status = fit_value(&w, &v);
    if (status == OK) status = dispatch2(OP_slice_set, &w.slice, TENSOR(self)->t, v, &made);
    tensor_unref(v);
    if (status != OK) return raise_status(status), -1;
    return tensor_repoint(TENSOR(self), made) ? 0 : -1;
}
