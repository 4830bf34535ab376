/* Tensor values: making, viewing, freeing, copying out. */
#include "tensor/tensor.h"

#include <string.h>

#include "tensor/pool.h"

void (*tensor_link_release)(GradLink *link);

static Tensor *header(const TensorType *type) {
    Tensor *t = pool_small(sizeof *t);
    atomic_init(&t->refs, 1);
    t->type = *type;
    t->output = 0;
    t->link = NULL;
    t->symbol = 0;
    t->holder = NULL;
    return t;
}

Status tensor_new(const TensorType *type, const char *what, Tensor **out) {
    TRY(type_check(type, what));
    Storage *s;
    TRY(storage_new((size_t)(type_count(type) * dtype_size(type->dtype)), what, &s));
    Tensor *t = header(type);
    t->dense = true;
    type_strides(type, t->strides);
    t->data = s->data;
    t->storage = s;
    *out = t;
    return OK;
}

Tensor *tensor_over(Storage *storage, const TensorType *type, const int64_t *strides, void *data) {
    Tensor *t = header(type);
    memcpy(t->strides, strides, type->rank * sizeof *strides);
    t->dense = type_strides_dense(type, strides);
    t->data = data;
    t->storage = storage_ref(storage);
    return t;
}

Tensor *tensor_alias(const Tensor *t) {
    Tensor *made = tensor_over(t->storage, &t->type, t->strides, t->data);
    made->symbol = t->symbol;
    made->dense = t->dense;
    return made;
}

void tensor_free(Tensor *t) {
    if (t->link) tensor_link_release(t->link);
    storage_unref(t->storage);
    pool_small_free(t, sizeof *t);
}

static void nothing(void *ctx) { (void)ctx; }

Tensor *tensor_placeholder(const TensorType *type) {
    Storage *none;
    storage_lend(NULL, 0, nothing, NULL, &none);
    Tensor *t = tensor_over(none, type, (int64_t[MAX_RANK]){0}, NULL);
    storage_unref(none);
    t->dense = false;
    t->symbol = PLACEHOLDER_SYMBOL;
    return t;
}

Status tensor_check_placeholder(const Tensor *t) {
    if (DIP_LIKELY(!tensor_is_placeholder(t))) return OK;
    char text[200];
    return FAIL(VALUE,
                "The inputs shape can not be None in graph mode: %s is a placeholder without "
                "values; give it to set_inputs or input_signature and call with real tensors",
                type_text(&t->type, text, sizeof text));
}

Status tensor_check_values(const Tensor *t, const char *what) {
    if (DIP_LIKELY(!t->symbol)) return OK;
    TRY(tensor_check_placeholder(t));
    char text[200];
    return FAIL(TYPE,
                "%s: the values of this tensor (%s) are known only when the compiled function runs",
                what, type_text(&t->type, text, sizeof text));
}

/* One axis after the other; the innermost axis copies element by element or as a block. */
static char *copy_axis(const Tensor *t, int axis, const char *src, char *dst) {
    int64_t size = dtype_size(t->type.dtype);
    if (axis == t->type.rank) {
        memcpy(dst, src, (size_t)size);
        return dst + size;
    }
    int64_t n = t->type.dims[axis], step = t->strides[axis] * size;
    if (axis == t->type.rank - 1 && t->strides[axis] == 1) {
        memcpy(dst, src, (size_t)(n * size));
        return dst + n * size;
    }
    for (int64_t i = 0; i < n; i++) dst = copy_axis(t, axis + 1, src + i * step, dst);
    return dst;
}

void tensor_copy_dense(const Tensor *t, void *dst) {
    if (tensor_count(t) == 0) return;
    if (t->dense)
        memcpy(dst, t->data, (size_t)tensor_nbytes(t));
    else
        copy_axis(t, 0, t->data, dst);
}
