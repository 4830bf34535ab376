/* The op table: what can be computed. One row an op (ewise.def, and the *.def files that ops.def
 * lists); this header turns rows into ids, attribute structs and the Op records all stages read. */
#ifndef DIP_OP_H
#define DIP_OP_H

#include "ops/attrs.h"
#include "tensor/type.h"

typedef enum OpId {
    OP_NONE,
#define OP(name, ...) OP_##name,
#include "ops/ops.def"
#undef OP
#define EW1(name, ...) OP_##name, OP_##name##_d0,
#define EW2(name, ...) OP_##name, OP_##name##_d0, OP_##name##_d1,
#define EW3(name, ...) OP_##name, OP_##name##_d0, OP_##name##_d1, OP_##name##_d2,
#define PR1(name, ...) OP_##name,
#define PR2(name, ...) OP_##name,
#include "ops/ewise.def"
    NOPS
} OpId;

typedef enum OpKind {
    K_EWISE,  /* one value of each input at a time, broadcast */
    K_EWGRAD, /* hidden: the gradient of an EWISE row for one input */
    K_REDUCE,
    K_MAP,     /* the result is a view of the input: an index map */
    K_GATHER,  /* moves elements by position or index */
    K_SCATTER, /* writes elements by index */
    K_HERO,    /* a kernel of its own */
    K_RANDOM,  /* draws from the random state: attributes `key` and `counter` are filled in */
} OpKind;

/* What inputs are converted to before infer sees them. EWISE inputs are not converted: loops do. */
typedef enum DtypeRule {
    RULE_FREE,  /* as they come; infer checks */
    RULE_SAME,  /* the promoted type of all of them */
    RULE_FLOAT, /* promoted, integers to f32 */
} DtypeRule;

/* Classes of elementwise rows: which types they compute in. */
typedef enum EwClass {
    EW_ANY,   /* every type, bool included */
    EW_NUM,   /* every type but bool */
    EW_FLT,   /* f32, f64; integers become f32 */
    EW_INT,   /* integers and bool */
    EW_LOG,   /* truth values: computed in bool */
    EW_WHERE, /* the first input is a mask and takes no part in promotion */
} EwClass;

/* What the tape keeps for the gradient: bit i = input i (i < 16), bit 16 + i = result i. */
#define SAVE_X(i)    (1u << (i))
#define SAVE_R(i)    (1u << (16 + (i)))
#define SAVE_NOTHING 0u
#define SAVE_X_ALL   0xffffu

typedef struct Op Op;

/* A call as infer sees it. in[i] is NULL for an optional tensor that was not given. */
typedef struct OpCall {
    const Op *op;
    const void *attrs;
    int nin, nout;
    const TensorType *const *in;
} OpCall;

typedef Status (*InferFn)(const OpCall *c, TensorType *out);
typedef struct GradCtx GradCtx;
typedef void (*GradFn)(GradCtx *c);
typedef struct Builder Builder;
/* Writes the op as calls of simpler ops. */
typedef struct ExpandCtx ExpandCtx;
typedef void (*ExpandFn)(ExpandCtx *c);
/* For MAP ops: strides and byte-free offset (in elements) of result k, of type *out, over the
 * input's strides. False: this layout cannot be viewed, copy the input to dense first. */
typedef bool (*ViewFn)(const OpCall *c, int k, const TensorType *out, const int64_t *xstrides,
                       int64_t *strides, int64_t *offset);

enum { NOUT_BY_ATTRS = -1, NIN_ANY = 255 };

struct Op {
    const char *name; /* the Python function, the C function dip_<name> */
    const char *prim; /* MindSpore's primitive class, NULL if none */
    const char *sig;  /* inputs: "input, weight, bias=None, *tensors, alpha=1.0" */
    const char *doc;
    OpId id;
    OpKind kind;
    DtypeRule rule;
    EwClass ewclass;
    int16_t ew_index; /* row of ewise.def; -1 otherwise */
    int8_t ew_input;  /* K_EWGRAD: for which input */
    bool hidden;      /* not shown to users: gradient helpers */
    bool is_predicate;
    bool takes_numbers;       /* some input has a number as its default */
    uint8_t nin_min, nin_max; /* tensors; nin_max NIN_ANY: any number */
    int8_t nout;
    uint32_t saves;
    const AttrSpec *attrs;
    int nattrs;
    size_t attrs_size;
    InferFn infer;
    GradFn grad;                   /* NULL: expand, or no gradient */
    ExpandFn expand;               /* NULL: none */
    ViewFn view;                   /* K_MAP */
    int (*count)(const OpCall *c); /* nout == NOUT_BY_ATTRS */
};

extern Op op_table[NOPS]; /* written only while the library loads */
static inline const Op *op_get(OpId id) { return &op_table[id]; }
/* NULL when there is none. */
const Op *op_find(const char *name);
/* A step of an optimiser: result i is the new value of input i. */
bool op_is_update(const Op *op);
/* Ops that users see, sorted by name: their number, and number i (NULL outside). */
int op_public_count(void);
const Op *op_public(int64_t i);
/* Whether the tape records it: a rule, an expansion, or an elementwise row with gradients. */
bool op_is_differentiable(const Op *op);

/* Inputs of the signature, in order. */
typedef struct SigInput {
    char name[32];
    bool is_variadic, is_optional; /* "*tensors"; "bias=None" */
    bool is_weak;                  /* "alpha=1.0": a Python number, default below */
    double weak_default;
} SigInput;
/* Splits op->sig; returns the number of inputs (at most 16). */
int op_signature(const Op *op, SigInput *out);

/* Number of results of this call. */
static inline int op_nout(const OpCall *c) {
    return c->op->nout >= 0 ? c->op->nout : c->op->count(c);
}

/* Shape and dtype of elementwise calls; other infer_ functions stand in infer_*.c. */
Status infer_ewise(const OpCall *c, TensorType *out);
Status infer_ewgrad(const OpCall *c, TensorType *out);
/* The type the loop computes in. */
DType ewise_compute_type(const Op *op, int nin, const TensorType *const *in);
/* Which operands the gradient of row `op` for input k reads: bits 1 x, 2 y, 4 z, 8 result, 16 g. */
uint32_t ewise_needs(const Op *op, int k);
bool ewise_has_grad(const Op *op, int k); /* false: NG in the row */
/* The hidden op that computes it. */
static inline const Op *ewise_grad_op(const Op *op, int k) {
    return op_get((OpId)(op->id + 1 + k));
}

#endif
