/* Attributes of ops from Python values and back, by the table's description. */
#include "core.h"
#include "eager/record.h"

static bool wrong(const Op *op, const AttrSpec *spec, PyObject *value, const char *must) {
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Format(PyExc_OverflowError, "%s: argument '%s' is %R; it does not fit into %s",
                     op->name, spec->name, value, spec->kind == ATTR_FLT ? "float64" : "int64");
        return false;
    }
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) return false;
    PyErr_Format(PyExc_TypeError, "%s: argument '%s' is %R (%s); it must be %s", op->name,
                 spec->name, value, Py_TYPE(value)->tp_name, must);
    return false;
}

bool attr_has_default(const AttrSpec *spec) { return spec->preset[0] || spec->kind == ATTR_STR; }

static bool allows_none(const AttrSpec *spec) { return !strcmp(spec->preset, "None"); }

/* Whether numbers among attributes may be sizes that vary: they are those of the op call that comes
 * next. */
static bool takes_sizes;

void attrs_take_sizes(bool on) { takes_sizes = on; }

static bool int_from_object(PyObject *o, int64_t *out) {
    if (PyLong_CheckExact(o)) {
        *out = PyLong_AsLongLong(o);
    } else if (takes_sizes && is_size(o) && size_id(o) && !record_value(size_id(o)).is_float) {
        record_attribute(out, size_id(o), false);
        *out = record_value(size_id(o)).i;
        return true;
    } else {
        PyObject *integer = PyNumber_Index(o);
        if (!integer) return false;
        *out = PyLong_AsLongLong(integer);
        Py_DECREF(integer);
    }
    return *out != -1 || !PyErr_Occurred();
}

static bool ints_from_object(const Op *op, const AttrSpec *spec, PyObject *o, IntList *out) {
    memset(out, 0, sizeof *out);
    PyObject *list;
    if (PyTuple_Check(o) || PyList_Check(o)) {
        list = PySequence_Tuple(o); /* which no __index__ of an entry can change */
    } else if (IS_TENSOR(o) && TENSOR(o)->t->type.rank == 1) {
        list = PyObject_CallMethod(o, "tolist", NULL);
    } else {
        out->n = 1;
        return int_from_object(o, &out->v[0]) ||
               wrong(op, spec, o, "an int or a tuple or list of ints");
    }
    if (!list) return false;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
    bool fits = n <= ATTR_LIST_MAX;
    if (!fits)
        PyErr_Format(PyExc_ValueError, "%s: argument '%s' has %zd entries; at most %d are possible",
                     op->name, spec->name, n, ATTR_LIST_MAX);
    for (Py_ssize_t i = 0; i < n && fits; i++)
        fits = int_from_object(PySequence_Fast_GET_ITEM(list, i), &out->v[i]) ||
               wrong(op, spec, o, "an int or a tuple or list of ints");
    out->n = n;
    Py_DECREF(list);
    return fits;
}

static bool text_from_object(const Op *op, const AttrSpec *spec, PyObject *o, char *out) {
    Py_ssize_t n;
    const char *text = PyUnicode_Check(o) ? PyUnicode_AsUTF8AndSize(o, &n) : NULL;
    if (!text || n >= ATTR_STR_MAX || strlen(text) != (size_t)n)
        return wrong(op, spec, o, "a short str");
    memset(out, 0, ATTR_STR_MAX);
    memcpy(out, text, (size_t)n);
    return true;
}

static bool truth_from_object(const Op *op, const AttrSpec *spec, PyObject *o, int64_t *out) {
    if (PyBool_Check(o)) return *out = o == Py_True, true;
    if (int_from_object(o, out) && (*out == 0 || *out == 1)) return true;
    return wrong(op, spec, o, "True or False");
}

static bool none_from_object(const AttrSpec *spec, void *field) {
    if (spec->kind == ATTR_INTS) {
        memset(field, 0, sizeof(IntList));
        ((IntList *)field)->n = -1;
    } else if (spec->kind == ATTR_STR) {
        memset(field, 0, ATTR_STR_MAX);
        strcpy(field, "None");
    } else {
        *(int64_t *)field = spec->kind == ATTR_DTYPE ? DT_NONE : ATTR_NONE;
    }
    return true;
}

bool attr_from_object(const Op *op, const AttrSpec *spec, PyObject *o, void *attrs) {
    void *field = (char *)attrs + spec->offset;
    DType d;
    if (o == Py_None && allows_none(spec)) return none_from_object(spec, field);
    if (o == Py_None && attr_has_default(spec)) return true; /* the preset stands there */
    switch (spec->kind) {
    case ATTR_INT: return int_from_object(o, field) || wrong(op, spec, o, "an int");
    case ATTR_BOOL: return truth_from_object(op, spec, o, field);
    case ATTR_INTS: return ints_from_object(op, spec, o, field);
    case ATTR_STR: return text_from_object(op, spec, o, field);
    case ATTR_FLT:
        if (takes_sizes && is_size(o) && size_id(o)) {
            record_attribute(field, size_id(o), true);
            *(double *)field = record_value(size_id(o)).d;
            return true;
        }
        *(double *)field = PyFloat_AsDouble(o);
        return *(double *)field != -1 || !PyErr_Occurred() || wrong(op, spec, o, "a number");
    case ATTR_DTYPE:
        if (!dtype_from_object(o, &d)) return wrong(op, spec, o, "a dtype");
        *(int64_t *)field = d;
        return true;
    }
    return false;
}

PyObject *attr_to_object(const AttrSpec *spec, const void *attrs) {
    const void *field = (const char *)attrs + spec->offset;
    int64_t i = *(const int64_t *)field;
    const IntList *list = field;
    switch (spec->kind) {
    case ATTR_FLT: return PyFloat_FromDouble(*(const double *)field);
    case ATTR_STR:
        if (!strcmp(field, "None")) Py_RETURN_NONE;
        return PyUnicode_FromString(field);
    case ATTR_DTYPE:
        if (i == DT_NONE) Py_RETURN_NONE;
        return Py_NewRef(core.dtypes[i]);
    case ATTR_BOOL:
        if (i != ATTR_NONE) return PyBool_FromLong((long)i);
        Py_RETURN_NONE;
    case ATTR_INTS:
        if (list->n < 0) Py_RETURN_NONE;
        PyObject *tuple = PyTuple_New(list->n);
        for (int k = 0; tuple && k < list->n; k++)
            PyTuple_SET_ITEM(tuple, k, PyLong_FromLongLong(list->v[k]));
        return tuple;
    case ATTR_INT: break;
    }
    if (i == ATTR_NONE) Py_RETURN_NONE;
    return PyLong_FromLongLong(i);
}
