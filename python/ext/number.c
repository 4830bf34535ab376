/* Operators of Tensor: the other operand may be a tensor, a weak Python number or an array. The
 * in-place forms compute a new value and re-point the handle, keeping its dtype and shape. */
#include "number.h"
#include "core.h"
#include "eager/record.h"

PyObject *run1(const Op *op, const void *attrs, int nin, Tensor *const *in) {
    Tensor *out;
    Status status = dispatch(op, attrs, nin, in, &out);
    if (DIP_UNLIKELY(status != OK)) return raise_status(status);
    return tensor_wrap(out);
}

/* ---- two operands */

/* The operands as tensors. What is made here goes to *made; tensors are borrowed from their
 * handles, which is safe because dispatch takes its own references before anything else can run. An
 * array is converted by code that may do anything, so then the tensor is held too, in *held. False:
 * an exception, or none for "not ours". */
typedef struct Operands {
    Tensor *in[2], *made, *held;
} Operands;

static bool take_operands(PyObject *a, PyObject *b, bool wide, Operands *o) {
    bool is_a = IS_TENSOR(a);
    o->made = o->held = NULL;
    if (DIP_LIKELY(is_a && IS_TENSOR(b))) {
        o->in[0] = TENSOR(a)->t;
        o->in[1] = TENSOR(b)->t;
        return true;
    }
    Tensor *t = o->held = tensor_ref(TENSOR(is_a ? a : b)->t);
    o->made = operand_tensor(is_a ? b : a, t->type.dtype, wide);
    o->in[0] = is_a ? t : o->made;
    o->in[1] = is_a ? o->made : t;
    if (o->made) return true;
    tensor_unref(t);
    return false;
}

static PyObject *run_operands(OpId id, const void *attrs, PyObject *a, PyObject *b, bool wide) {
    Operands o;
    if (!take_operands(a, b, wide, &o)) {
        if (PyErr_Occurred()) return NULL;
        Py_RETURN_NOTIMPLEMENTED;
    }
    PyObject *result = run1(op_get(id), attrs, 2, o.in);
    tensor_unref(o.made);
    tensor_unref(o.held);
    return result;
}

static PyObject *binary(OpId id, const void *attrs, PyObject *a, PyObject *b) {
    return run_operands(id, attrs, a, b, false);
}

static int category(DType d) {
    int kind = dtype_info[d].kind;
    return kind == KIND_COMPLEX ? 3 : kind == KIND_FLOAT ? 2 : kind == KIND_BOOL ? 0 : 1;
}

/* Makes what an in-place operator computed the value of `self`. Steals `result`. */
static PyObject *settle(PyObject *self, PyObject *result) {
    if (!result || !IS_TENSOR(result)) return result;
    TensorObject *handle = TENSOR(self);
    const TensorType *old = &handle->t->type, *new = &TENSOR(result)->t->type;
    char have[200], got[200];
    if (handle->t->symbol) record_same(handle->t, TENSOR(result)->t);
    if (!type_same_dims(old, new))
        PyErr_Format(PyExc_ValueError, "in-place operator: the result is %s, the target %s",
                     type_text(new, got, sizeof got), type_text(old, have, sizeof have));
    else if (category(new->dtype) > category(old->dtype))
        PyErr_Format(
            PyExc_TypeError,
            "in-place operator: a %s result cannot be kept in a %s tensor; write x = x + y",
            dtype_name(new->dtype), dtype_name(old->dtype));
    else if (tensor_warn_part(handle)) {
        Tensor *value = cast_take(tensor_ref(TENSOR(result)->t), old->dtype);
        if (tensor_repoint(handle, value)) {
            Py_DECREF(result);
            return Py_NewRef(self);
        }
    }
    Py_DECREF(result);
    return NULL;
}

#define BINARY(name, id)                                                                           \
    static PyObject *nb_##name(PyObject *a, PyObject *b) { return binary(id, NULL, a, b); }        \
    static PyObject *nb_inplace_##name(PyObject *a, PyObject *b) {                                 \
        return settle(a, binary(id, NULL, a, b));                                                  \
    }
BINARY(add, OP_add)
BINARY(sub, OP_sub)
BINARY(mul, OP_mul)
BINARY(div, OP_div)
BINARY(floor_div, OP_floor_div)
BINARY(remainder, OP_remainder)
BINARY(and, OP_bitwise_and)
BINARY(or, OP_bitwise_or)
BINARY(xor, OP_bitwise_xor)
BINARY(lshift, OP_bitwise_left_shift)
BINARY(rshift, OP_bitwise_right_shift)

static PyObject *power(PyObject *a, PyObject *b, PyObject *mod) {
    if (mod != Py_None) Py_RETURN_NOTIMPLEMENTED;
    bool is_two = PyLong_CheckExact(b) && PyLong_AsLong(b) == 2; /* an overflow is not 2 */
    PyErr_Clear();
    if (is_two && TENSOR(a)->t->type.dtype != DT_bool)
        return run1(op_get(OP_square), NULL, 1, &TENSOR(a)->t);
    return binary(OP_pow, NULL, a, b);
}
static PyObject *nb_pow(PyObject *a, PyObject *b, PyObject *mod) { return power(a, b, mod); }
static PyObject *nb_inplace_pow(PyObject *a, PyObject *b, PyObject *mod) {
    return settle(a, power(a, b, mod));
}

static PyObject *nb_matmul(PyObject *a, PyObject *b) {
    static const attrs_matmul plain = {0};
    if (!IS_TENSOR(a) || !IS_TENSOR(b)) {
        PyObject *other = IS_TENSOR(a) ? b : a;
        DKind kind;
        if (scalar_kind(other, &kind)) Py_RETURN_NOTIMPLEMENTED;
    }
    return binary(OP_matmul, &plain, a, b);
}
static PyObject *nb_inplace_matmul(PyObject *a, PyObject *b) { return settle(a, nb_matmul(a, b)); }

static PyObject *nb_divmod(PyObject *a, PyObject *b) {
    PyObject *q = nb_floor_div(a, b);
    if (!q || q == Py_NotImplemented) return q;
    PyObject *r = nb_remainder(a, b);
    if (!r) return Py_DECREF(q), NULL;
    return Py_BuildValue("(NN)", q, r);
}

/* ---- comparison */

PyObject *tensor_compare(PyObject *a, PyObject *b, int how) {
    static const OpId ids[] = {
        [Py_LT] = OP_less,      [Py_LE] = OP_less_equal, [Py_EQ] = OP_equal,
        [Py_NE] = OP_not_equal, [Py_GT] = OP_greater,    [Py_GE] = OP_greater_equal,
    };
    return run_operands(ids[how], NULL, a, b, true);
}

/* ---- one operand */

static PyObject *unary(OpId id, PyObject *x) { return run1(op_get(id), NULL, 1, &TENSOR(x)->t); }
static PyObject *nb_neg(PyObject *x) { return unary(OP_neg, x); }
static PyObject *nb_abs(PyObject *x) { return unary(OP_abs, x); }
static PyObject *nb_invert(PyObject *x) { return unary(OP_bitwise_not, x); }
static PyObject *nb_pos(PyObject *x) { return tensor_wrap(tensor_ref(TENSOR(x)->t)); }

/* ---- Python numbers */

static int nb_bool(PyObject *self) {
    Tensor *t = TENSOR(self)->t;
    if (tensor_count(t) != 1) {
        char text[200];
        PyErr_Format(PyExc_ValueError,
                     "the truth value of a tensor with other than one element is ambiguous (%s); "
                     "use x.any() or x.all()",
                     type_text(&t->type, text, sizeof text));
        return -1;
    }
    if (!tensor_has_values(TENSOR(self), "bool()")) return -1;
    if (dtype_is_smooth(t->type.dtype)) {
        PyObject *item = PyObject_CallMethodNoArgs(self, core.item_name);
        int truth = item ? PyObject_IsTrue(item) : -1;
        Py_XDECREF(item);
        return truth;
    }
    for (int64_t i = 0; i < dtype_size(t->type.dtype); i++)
        if (t->data[i]) return 1;
    return 0;
}

/* The element as a Python number; TypeError, as NumPy, for other than one element. */
static PyObject *number_of(PyObject *self, const char *what) {
    Tensor *t = TENSOR(self)->t;
    if (tensor_count(t) == 1) return PyObject_CallMethodNoArgs(self, core.item_name);
    char text[200];
    return PyErr_Format(PyExc_TypeError,
                        "only tensors with one element can be converted to %s, this one is %s",
                        what, type_text(&t->type, text, sizeof text));
}

static PyObject *convert(PyObject *self, PyTypeObject *type) {
    PyObject *item = number_of(self, type->tp_name);
    PyObject *made = item ? PyObject_CallOneArg((PyObject *)type, item) : NULL;
    Py_XDECREF(item);
    return made;
}
static PyObject *nb_int(PyObject *self) { return convert(self, &PyLong_Type); }
static PyObject *nb_float(PyObject *self) { return convert(self, &PyFloat_Type); }

static PyObject *nb_index(PyObject *self) {
    const TensorType *type = &TENSOR(self)->t->type;
    if (type_count(type) == 1 && (dtype_is_int(type->dtype) || type->dtype == DT_bool))
        return convert(self, &PyLong_Type);
    char text[200];
    return PyErr_Format(PyExc_TypeError,
                        "only integer tensors with one element can be an index, this one is %s",
                        type_text(type, text, sizeof text));
}

const PyType_Slot number_slots[NUMBER_SLOTS] = {
    {Py_nb_add, nb_add},
    {Py_nb_subtract, nb_sub},
    {Py_nb_multiply, nb_mul},
    {Py_nb_true_divide, nb_div},
    {Py_nb_floor_divide, nb_floor_div},
    {Py_nb_remainder, nb_remainder},
    {Py_nb_divmod, nb_divmod},
    {Py_nb_power, nb_pow},
    {Py_nb_matrix_multiply, nb_matmul},
    {Py_nb_and, nb_and},
    {Py_nb_or, nb_or},
    {Py_nb_xor, nb_xor},
    {Py_nb_lshift, nb_lshift},
    {Py_nb_rshift, nb_rshift},
    {Py_nb_inplace_add, nb_inplace_add},
    {Py_nb_inplace_subtract, nb_inplace_sub},
    {Py_nb_inplace_multiply, nb_inplace_mul},
    {Py_nb_inplace_true_divide, nb_inplace_div},
    {Py_nb_inplace_floor_divide, nb_inplace_floor_div},
    {Py_nb_inplace_remainder, nb_inplace_remainder},
    {Py_nb_inplace_power, nb_inplace_pow},
    {Py_nb_inplace_matrix_multiply, nb_inplace_matmul},
    {Py_nb_inplace_and, nb_inplace_and},
    {Py_nb_inplace_or, nb_inplace_or},
    {Py_nb_inplace_xor, nb_inplace_xor},
    {Py_nb_inplace_lshift, nb_inplace_lshift},
    {Py_nb_inplace_rshift, nb_inplace_rshift},
    {Py_nb_negative, nb_neg},
    {Py_nb_positive, nb_pos},
    {Py_nb_absolute, nb_abs},
    {Py_nb_invert, nb_invert},
    {Py_nb_bool, nb_bool},
    {Py_nb_int, nb_int},
    {Py_nb_float, nb_float},
    {Py_nb_index, nb_index},
};
