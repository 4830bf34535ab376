/* Recognising and choosing channels-last strides. */
#include "kernels/layout.h"

void layout_last_strides(const TensorType *t, int64_t *strides) {
    int64_t step = t->dims[1];
    strides[1] = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (i == 1) continue;
        strides[i] = step;
        step *= t->dims[i];
    }
}

bool layout_is_last(const TensorType *t, const int64_t *strides) {
    if (t->rank < 2) return false;
    int64_t want[MAX_RANK];
    layout_last_strides(t, want);
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] != 1 && strides[i] != want[i]) return false;
    return true;
}

static bool is_only_last(const Buf *b) {
    return b->type && !b->dense && b->type->rank >= 3 && layout_is_last(b->type, b->strides);
}

bool layout_wants_last(const Kernel *k, const KernelArgs *a, int i) {
    const TensorType *out = a->out[i].type;
    if (out->rank < 3) return false;
    if (k->flags & CHANNELS_LAST) return i == 0;
    if (!(k->flags & KEEPS_LAYOUT)) return false;
    bool ewise = a->op->ew_index >= 0;
    for (int j = 0; j < a->nin; j++) {
        bool counts = a->in[j].type && (!ewise || type_same_dims(a->in[j].type, out));
        if (counts && is_only_last(&a->in[j])) return true;
    }
    return false;
}

void layout_rotate(int rank, const Buf *b, TensorType *type, int64_t *strides) {
    *type = *b->type;
    if (b->type->rank == 0) return;
    int gap = rank - b->type->rank;
    type->rank = (uint8_t)rank;
    for (int i = 0; i < rank; i++) {
        int to = i == 0 ? 0 : i == 1 ? rank - 1 : i - 1;
        type->dims[to] = i < gap ? 1 : b->type->dims[i - gap];
        strides[to] = i < gap ? 0 : b->strides[i - gap];
    }
}
