/* Tensor: an immutable value = type + strides + a place in a storage.
 *
 * Values may share storage (reshape, transpose, slice are views without copying); nobody sees it,
 * because nobody writes into a value that is shared. Gradient recording hangs a link on the value.
 */
#ifndef DIP_TENSOR_H
#define DIP_TENSOR_H

#include "tensor/storage.h"
#include "tensor/type.h"

/* A node of the gradient tape, or a variable; the tensor layer only counts references. */
typedef struct GradLink GradLink;

typedef struct dip_Tensor Tensor;
struct dip_Tensor {
    atomic_int refs;
    TensorType type;
    bool dense;                /* row-major without holes */
    uint16_t output;           /* which result of `link` this is */
    uint32_t symbol;           /* not 0: a value of a graph being captured; it has no bytes */
    int64_t strides[MAX_RANK]; /* in elements; 0 = broadcast; may be negative */
    char *data;
    Storage *storage;
    GradLink *link; /* NULL: constant for the gradient */
    void *holder;   /* the Param whose present value this handle is, borrowed; NULL: none */
};

/* Uninitialised and dense. `what` names the asker in out-of-memory messages. */
Status tensor_new(const TensorType *type, const char *what, Tensor **out);
/* A value over `storage` (takes a reference of its own) at byte address `data`. */
Tensor *tensor_over(Storage *storage, const TensorType *type, const int64_t *strides, void *data);
/* The same value under a new handle, without its gradient link. */
Tensor *tensor_alias(const Tensor *t);
static inline Tensor *tensor_ref(Tensor *t) {
    atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}
void tensor_free(Tensor *t);
static inline void tensor_unref(Tensor *t) {
    if (t && atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1) tensor_free(t);
}
static inline void tensor_drop(Tensor **t) { tensor_unref(*t); }
#define AUTO_TENSOR DIP_CLEANUP(tensor_drop) Tensor *
/* Hands a scoped reference out: the scope no longer drops it. */
static inline Tensor *tensor_keep(Tensor **t) {
    Tensor *kept = *t;
    *t = NULL;
    return kept;
}

static inline int64_t tensor_count(const Tensor *t) { return type_count(&t->type); }
static inline int64_t tensor_nbytes(const Tensor *t) {
    return tensor_count(t) * dtype_size(t->type.dtype);
}
/* True when nothing but `holders` references to this handle leads to its bytes: whoever has them
 * all may write there. */
static inline bool tensor_is_exclusive(const Tensor *t, int holders) {
    return atomic_load_explicit(&t->refs, memory_order_acquire) == holders &&
           !storage_is_shared(t->storage);
}

/* A tensor that stands for others of its kind: it has no bytes, and sizes that are UNKNOWN_SIZE may
 * be any. */
#define PLACEHOLDER_SYMBOL UINT32_MAX
Tensor *tensor_placeholder(const TensorType *type);
static inline bool tensor_is_placeholder(const Tensor *t) {
    return t->symbol == PLACEHOLDER_SYMBOL;
}
/* VALUE for a placeholder: nothing can be computed from it. */
Status tensor_check_placeholder(const Tensor *t);

/* TYPE for a symbolic tensor, VALUE for a placeholder: it has no bytes to look at. `what` asks. */
Status tensor_check_values(const Tensor *t, const char *what);
/* Copies any layout to a dense row-major block of the same dtype. */
void tensor_copy_dense(const Tensor *t, void *dst);

/* Set by the gradient tape: called when a tensor with a link is freed. */
extern void (*tensor_link_release)(GradLink *link);

#endif
