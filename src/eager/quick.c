/* Small elementwise calls: no conversion, no strides, one thread, a third of the instructions.
 *
 * The bits are those of the general way: the same loop runs over the same values. */
#include "eager/quick.h"

#include "kernels/loops.h"
#include "kernels/walk.h"

enum { SMALL = 8192, BLOCK = 512, MAX_IN = 3 };

/* The shape all operands have, or that the 0-d ones broadcast to; NULL: not that simple. */
static const Tensor *common_shape(int nin, Tensor *const *in) {
    const Tensor *shape = in[0];
    for (int i = 1; i < nin; i++) {
        if (in[i]->type.dtype != in[0]->type.dtype) return NULL;
        if (in[i]->type.rank == 0) continue;
        if (shape->type.rank == 0)
            shape = in[i];
        else if (!type_same_dims(&shape->type, &in[i]->type))
            return NULL;
    }
    return shape;
}

/* 0-d operands stand repeated in a block; the loop runs block by block. */
static void run_blocks(EwLoop *loop, int64_t n, int nin, Tensor *const *in, Tensor *out) {
    _Alignas(64) char blocks[MAX_IN][BLOCK * sizeof(double)];
    int64_t size = dtype_size(in[0]->type.dtype), out_size = dtype_size(out->type.dtype);
    int64_t most = min_i64(n, BLOCK);
    for (int i = 0; i < nin; i++)
        if (in[i]->type.rank == 0) gather_strided(most, size, blocks[i], in[i]->data, 0);
    for (int64_t done = 0; done < n; done += BLOCK) {
        const void *src[MAX_IN];
        for (int i = 0; i < nin; i++)
            src[i] = in[i]->type.rank ? in[i]->data + done * size : blocks[i];
        loop(min_i64(n - done, BLOCK), out->data + done * out_size, src);
    }
}

static bool is_pow_by_number(const Op *op, const TensorType *last) {
    return op->ew_index == EW_ROW_pow && last->rank == 0;
}

EwLoop *quick_loop(const Op *op, int nin, const Buf *in) {
    if (op->ewclass == EW_LOG || op->ewclass == EW_WHERE) return NULL;
    const TensorType *first = in[0].type;
    for (int i = 0; i < nin; i++)
        if (!in[i].dense || !type_equal(in[i].type, first)) return NULL;
    if (is_pow_by_number(op, in[nin - 1].type)) return NULL; /* the number is not known yet */
    DType d = first->dtype;
    bool fits = dtype_info[d].compute == d && type_count(first) <= SMALL;
    return fits ? loops(d)->value[op->ew_index] : NULL;
}

bool quick_ewise(const Op *op, int nin, Tensor *const *in, Tensor **out) {
    if (nin < op->nin_min || nin > op->nin_max) return false;
    for (int i = 0; i < nin; i++)
        if (!in[i] || !in[i]->dense) return false;
    if (op->ewclass == EW_LOG || op->ewclass == EW_WHERE) return false;
    const Tensor *shape = common_shape(nin, in);
    DType d = in[0]->type.dtype;
    if (!shape || dtype_info[d].compute != d) return false;
    EwLoop *loop = NULL;
    if (is_pow_by_number(op, &in[nin - 1]->type)) loop = loops_power(d, in[1]->data, false);
    if (!loop) loop = loops(d)->value[op->ew_index];
    int64_t n = tensor_count(shape);
    if (!loop || n > SMALL) return false;
    TensorType type = shape->type;
    if (op->is_predicate) type.dtype = DT_bool;
    Tensor *made;
    if (tensor_new(&type, op->name, &made) != OK) return false;
    bool repeats = false;
    for (int i = 0; i < nin; i++) repeats |= in[i]->type.rank != type.rank;
    if (repeats) {
        run_blocks(loop, n, nin, in, made);
    } else {
        const void *src[MAX_IN] = {0};
        for (int i = 0; i < nin; i++) src[i] = in[i]->data;
        loop(n, made->data, src);
    }
    *out = made;
    return true;
}
