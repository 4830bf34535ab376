/* Recording what a capture was asked for, so that it can be done again for other sizes.
 *
 * While a recording is on, every call that reaches the capture from outside (op calls, gradients,
 * steps of optimisers, branches, loops) is noted as a command over slots: the tensors that commands
 * give. Done again in another capture (record_again.c), with inputs of other sizes, the same
 * commands make the graph for those sizes: types are inferred afresh and everything that the
 * library decides by sizes is decided anew, so nothing has to be known here about any op.
 *
 * What the caller decided by sizes is noted too. Sizes that vary with those of the inputs are
 * handed out as expressions (SizeId) with their present value; where the caller compares one, or
 * needs its number, a guard is noted. A graph for other sizes is made only while all guards hold
 * and all results have the dtypes, ranks and numbers that they had.
 *
 * A tensor's `other` type is what it is for made-up other sizes of the inputs; it only says which
 * sizes are worth an expression: any that is handed out as a plain number is guarded. */
#ifndef DIP_RECORD_H
#define DIP_RECORD_H

#include "eager/capture.h"
#include "eager/param.h"

typedef struct Recording Recording;
typedef uint32_t Slot;   /* 0 is none */
typedef uint32_t SizeId; /* 0 is none */

typedef enum RecordKind {
    REC_INPUT,
    REC_CALL,
    REC_GUARD,     /* a: Comparison, b, c: sizes; answer */
    REC_NUMBER,    /* a: dtype, b: size; a 0-d tensor */
    REC_PARAM,     /* the value and gradient that a Param has now */
    REC_ENTRY,     /* ... had when the capture met it */
    REC_ALIAS,     /* the same value without its link */
    REC_VARIABLE,  /* tape_variable */
    REC_GRADIENTS, /* tape_gradients; in: a roots, a seeds, b variables */
    REC_BACKWARD,  /* param_backward */
    REC_UPDATE, /* params_update; a: parameters, b: states, c: numbers; in: for each parameter the
                   gradient and the numbers */
    REC_ASSIGN,
    REC_SET_GRAD,
    REC_REGION, /* a: the region made, b: its parent, 0: the present one */
    REC_ENTER,
    REC_LEAVE,
    REC_IF,    /* a, b: regions; in: condition, then the values of both */
    REC_LOOP,  /* a, b: the regions made */
    REC_WHILE, /* a: the condition's region; in: condition, next values */
    REC_HOST,
    REC_RECOMPUTE,  /* a: the part begun, 0: inside of another */
    REC_RECOMPUTED, /* a: the part; in: its results */
} RecordKind;

typedef enum Comparison { SIZE_LT, SIZE_LE, SIZE_EQ, SIZE_NE, SIZE_GT, SIZE_GE } Comparison;
typedef enum SizeOp {
    SIZE_CONST,
    SIZE_DIM, /* of a slot */
    SIZE_ADD,
    SIZE_SUB,
    SIZE_MUL,
    SIZE_FLOORDIV,
    SIZE_MOD,
    SIZE_TRUEDIV,
    SIZE_POW, /* of floats */
} SizeOp;
/* What a size expression gives: sizes are integers, quotients of them floats. */
typedef struct Number {
    bool is_float;
    int64_t i;
    double d; /* also of an integer */
} Number;
static inline Number number_int(int64_t i) { return (Number){false, i, (double)i}; }
static inline Number number_float(double d) { return (Number){true, 0, d}; }

/* ---- the whole */

/* Starts noting what capture c, which runs, is asked for. */
void record_start(Capture *c);
/* Ends it: `inputs` and `outputs` are what done-again captures give back. NULL: this cannot be done
 * again (*why says why). */
Recording *record_stop(Capture *c, int nin, Tensor *const *inputs, int nout, Tensor *const *outputs,
                       const char **why);
Recording *recording_ref(Recording *r);
void recording_unref(Recording *r); /* NULL is fine */
/* Of the capture of this thread, when calls from outside are noted now; NULL: they are not. */
Recording *record_now(void);
uint64_t record_number_now(void); /* of that recording, never given again; 0: none */

/* All of it again in capture c, which runs, with inputs like in[n]; inputs[] and outputs[] (room as
 * for record_stop) get new references. An error: these sizes lead elsewhere. */
Status record_again(Recording *r, Capture *c, int n, Tensor *const *in, Tensor **inputs,
                    Tensor **outputs);
int recording_ninputs(const Recording *r);
int recording_noutputs(const Recording *r);

/* ---- sizes, for whoever shows them to the user */

/* The size of axis `axis` of symbolic tensor t as an expression; 0: it does not vary (that is
 * guarded from now on). */
SizeId record_dim(Tensor *t, int axis);
/* All sizes of t are plain numbers, guarded. False: one of them varies, nothing is done. */
bool record_pin(Tensor *t);
SizeId record_const(Number n);
/* As Python computes with ints and floats. 0: the result does not fit, or a divisor is 0. */
SizeId record_size(SizeOp op, SizeId a, SizeId b);
Number record_value(SizeId size);
/* The answer for the present sizes, guarded. */
bool record_compare(Comparison how, SizeId a, SizeId b);
/* A 0-d tensor of dtype d that holds the size. */
Status record_size_tensor(SizeId size, DType d, Tensor **out);
/* The attribute at `place` (an int64_t or a double), of the op call that comes next, is this size.
 * record_mark, record_reset: around a call, so that none of those noted for it is left. */
void record_attribute(const void *place, SizeId size, bool is_float);
uint32_t record_mark(void);
void record_reset(uint32_t mark);
/* From outside: the value and gradient of p are seen. */
void record_see(Param *p);
/* From outside: a and b are equal in sizes, and this mattered. */
void record_same(Tensor *a, Tensor *b);
/* What happens now cannot be done again. */
void record_break(const char *why);

/* ---- for what is recorded */

/* Notes a command over in[nin]; false: nothing is noted (no recording, or inside of a command that
 * is). Otherwise record_close follows. */
bool record_open(RecordKind kind, int nin, Tensor *const *in);
void record_close(Status status, int nout, Tensor *const *out);
/* More about the open command. */
void record_numbers(int64_t a, int64_t b, int64_t c);
void record_param(Param *p);
void record_host(Host *host);
void record_update(const UpdateRule *rule, int n, const ParamUpdate *updates);
/* An op call; false as above, or because it computes a constant. */
bool record_call(const Op *op, const void *attrs, int nin, Tensor *const *in);
/* Axes (bits) of the input that may have other sizes. */
void record_free_axes(uint32_t axes);

#endif
