/* The CPython extension diptych._core: it converts Python objects to tensors, attributes and back,
 * and calls the C library; it computes nothing and decides nothing.
 *
 * One interpreter owns the module (core_state); all entry points run with its lock held. */
#ifndef DIP_EXT_CORE_H
#define DIP_EXT_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "eager/dispatch.h"
#include "eager/node.h"
#include "eager/param.h"
#include "eager/tape.h"

/* ---- objects */

typedef struct TensorObject {
    PyObject_HEAD Tensor *t; /* never NULL; owned, but a Parameter borrows it from its Param */
    PyObject *weakrefs;
    bool is_param;
    bool is_part;  /* came from indexing or reshaping: an in-place write warns once */
    bool is_const; /* as an argument of a compiled function it is a constant, not an input */
} TensorObject;

typedef struct ParameterObject {
    TensorObject base; /* base.t == param->value */
    Param *param;
} ParameterObject;

typedef struct DTypeObject {
    PyObject_HEAD DType d;
} DTypeObject;

typedef struct CoreState {
    PyTypeObject *tensor, *parameter, *dtype, *op, *cell;
    PyObject *dtypes[NDTYPES];
    PyObject *construct; /* interned names */
    PyObject *call_special, *call_graph, *call_name, *run_name, *set_special, *item_name;
    PyObject *callbacks; /* dict of Python functions that slow paths call, set by the package */
} CoreState;
extern CoreState core;

#define TENSOR(o)           ((TensorObject *)(o))
#define PARAMETER(o)        ((ParameterObject *)(o))
#define IS_TENSOR(o)        (Py_IS_TYPE(o, core.tensor) || PyObject_TypeCheck(o, core.tensor))
#define IS_PARAMETER(o)     (IS_TENSOR(o) && TENSOR(o)->is_param)
#define IS_DTYPE(o)         Py_IS_TYPE(o, core.dtype)
#define CFUNC(f)            ((PyCFunction)(void (*)(void))(f))
#define WITH_KEYWORDS       (METH_FASTCALL | METH_KEYWORDS)
#define INTERNED(slot, txt) ((slot) || ((slot) = PyUnicode_InternFromString(txt)))

/* ---- error.c */

bool error_init(PyObject *module);
PyObject *exception_class(Status status); /* borrowed */
/* Raises the exception of `status`; a Python exception that is already set stays. Returns NULL. */
PyObject *raise_status(Status status);
/* The status of a failed callback into Python: keeps the exception, fills the error record. */
Status status_of_exception(const char *where);
/* The Python function the package registered under this name (borrowed); NULL with an exception. */
PyObject *callback(const char *name);

/* ---- tensor.c */

PyObject *tensor_wrap(Tensor *take); /* NULL in: NULL out, with the exception already set */
/* The handle's value becomes `take`. False with an exception: a Parameter refused it. */
bool tensor_repoint(TensorObject *self, Tensor *take);
/* Before an in-place write: warns once when others share the bytes and the handle is a part. */
bool tensor_warn_part(TensorObject *self);
PyObject *shape_tuple(const TensorType *type);
bool tensor_type_init(PyObject *module);

/* ---- sizes.c: sizes that are not known */

/* False with ValueError for a placeholder. */
bool tensor_has_sizes(const Tensor *t);
/* Sizes that vary are Size objects while a function is captured for any. */
PyObject *tensor_sizes(Tensor *t);
PyObject *tensor_elements(Tensor *t, int64_t each); /* their product, times each */
void tensor_fix_sizes(Tensor *t);                   /* they are needed as numbers */
bool is_size(PyObject *o);
bool size_is_float(PyObject *o);
/* Of a Size, or of a number while sizes are recorded; 0: it is none. */
uint32_t size_id(PyObject *o);
bool sizes_init(PyObject *module);

/* ---- convert.c: Python values to tensors */

/* bool, int, float and NumPy scalars. */
bool scalar_kind(PyObject *o, DKind *out);
/* A 0-d tensor of dtype d; shared between calls. NULL with an exception. */
Tensor *scalar_tensor(PyObject *number, DType d);
/* A new reference: `o` beside a tensor of dtype d; numbers are weak. `wide` lets an integer that d
 * cannot hold become int64 or float (comparisons). NULL without an exception: not convertible. */
Tensor *operand_tensor(PyObject *o, DType d, bool wide);
/* Numbers, nested lists, arrays: a fresh value. dtype DT_NONE: as the data says. */
Tensor *tensor_from_object(PyObject *o, DType d);
DType default_dtype(DKind k);
Tensor *cast_take(Tensor *take, DType d); /* NULL passes through */

/* ---- buffer.c, dlpack.c */

int tensor_getbuffer(PyObject *self, Py_buffer *view, int flags);
void tensor_releasebuffer(PyObject *self, Py_buffer *view);
/* Over the bytes of any object with a buffer; NULL with an exception. */
Tensor *tensor_from_buffer(PyObject *o, bool copy);
PyObject *tensor_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names);
PyObject *tensor_dlpack_device(PyObject *self, PyObject *none);
PyObject *core_from_dlpack(PyObject *module, PyObject *o);

/* ---- dtype.c */

/* A dtype from a dtype, a name, a Python type or a NumPy dtype. False with TypeError. */
bool dtype_from_object(PyObject *o, DType *out);
bool dtype_type_init(PyObject *module);

/* ---- number.c, index.c */

PyObject *tensor_subscript(PyObject *self, PyObject *key);
int tensor_ass_subscript(PyObject *self, PyObject *key, PyObject *value);
PyObject *run1(const Op *op, const void *attrs, int nin, Tensor *const *in);
PyObject *tensor_compare(PyObject *a, PyObject *b, int how);

/* ---- call.c, args.c, opinfo.c: ops called by the table */

enum { MAX_SLOTS = 48, MAX_ATTR_WORDS = 128 };
typedef struct OpObject {
    PyObject_HEAD vectorcallfunc vectorcall;
    const Op *op;
    int nin, nslots; /* slots: inputs, then attributes */
    SigInput in[16];
    PyObject *weak[16];         /* default numbers of weak inputs */
    PyObject *names[MAX_SLOTS]; /* interned */
    int64_t presets[MAX_ATTR_WORDS];
} OpObject;
#define OPOBJECT(o) ((OpObject *)(o))

PyObject *op_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names);
/* The function called for ops whose result sizes depend on values that a capture does not know:
 * function(op, *args, **kwargs), NotImplemented: there is nothing to do. */
PyObject *set_measured(PyObject *module, PyObject *function);
/* Writes `value` into the attribute block. False with an exception naming op and attribute. */
bool attr_from_object(const Op *op, const AttrSpec *spec, PyObject *value, void *attrs);
/* Between on and off: attributes may be Sizes. */
void attrs_take_sizes(bool on);
PyObject *attr_to_object(const AttrSpec *spec, const void *attrs);
bool attr_has_default(const AttrSpec *spec);
bool op_types_init(PyObject *module);

/* ---- graph.c */

/* raise_status for a run that has failed: names the user's line. */
PyObject *raise_run_status(Status status);

/* False with TypeError for a tensor of a graph being captured: it has no values yet. */
bool tensor_has_values(const TensorObject *self, const char *what);
bool graph_type_init(PyObject *module);
/* The program of a finished Graph, borrowed; NULL: it is something else. */
struct Program *graph_program(PyObject *o);
/* jit.c */
bool jit_type_init(PyObject *module);

/* ---- grad.c, param.c, cell.c, system.c */

extern PyMethodDef grad_functions[], system_functions[], file_functions[];
/* update.c */
PyObject *core_update_params(PyObject *module, PyObject *const *args, Py_ssize_t n,
                             PyObject *names);
bool parameter_type_init(PyObject *module);
bool cell_type_init(PyObject *module);
/* Grows with every attribute write to any Cell. */
unsigned long long cell_epoch(void);
/* How many recordings of grad and the like enclose this call. */
int grad_level(void);
void system_init(void);
PyObject *tensor_register_hook(PyObject *self, PyObject *function);
PyObject *tensor_backward(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names);

#endif
