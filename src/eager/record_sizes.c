/* Sizes as expressions over the sizes of recorded tensors, and guards over them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eager/dispatch.h"
#include "eager/recording.h"

static SizeId new_size(Recording *r, Size size) {
    array_grow(&r->sizes, r->nsizes, &r->cap_sizes, 32, sizeof *r->sizes);
    r->sizes[r->nsizes] = size;
    return r->nsizes++;
}

SizeId record_const(Number n) {
    Recording *r = record_now();
    return r ? new_size(r, (Size){.op = SIZE_CONST, .value = n, .other = n}) : 0;
}

Number record_value(SizeId size) {
    const Recording *r = capture_now ? capture_recording(capture_now) : NULL;
    return r && size < r->nsizes ? r->sizes[size].value : number_int(0);
}

void size_patch(void *attrs, const SizePatch *p, Number value) {
    char *place = (char *)attrs + p->offset;
    memcpy(place, p->is_float ? (const void *)&value.d : (const void *)&value.i, sizeof value.i);
}

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t compute_int(SizeOp op, int64_t a, int64_t b, bool *good) {
    int64_t made = 0;
    switch (op) {
    case SIZE_ADD: *good = !__builtin_add_overflow(a, b, &made); break;
    case SIZE_SUB: *good = !__builtin_sub_overflow(a, b, &made); break;
    case SIZE_MUL: *good = !__builtin_mul_overflow(a, b, &made); break;
    case SIZE_FLOORDIV:
    case SIZE_MOD:
        *good = b != 0 && !(b == -1 && a == INT64_MIN);
        if (*good) made = op == SIZE_MOD ? a - floor_div(a, b) * b : floor_div(a, b);
        break;
    default: *good = false;
    }
    return made;
}

static double compute_float(SizeOp op, double a, double b, bool *good) {
    double made = 0;
    switch (op) {
    case SIZE_ADD: made = a + b; break;
    case SIZE_SUB: made = a - b; break;
    case SIZE_MUL: made = a * b; break;
    case SIZE_TRUEDIV: made = b != 0 ? a / b : INFINITY; break;
    case SIZE_POW: made = a > 0 ? pow(a, b) : INFINITY; break;
    default: made = INFINITY;
    }
    *good = isfinite(made);
    return made;
}

/* An integer that a double holds exactly, or a float. */
static bool is_exact(Number n) { return n.is_float || (n.i >= -(1LL << 53) && n.i <= 1LL << 53); }

Number size_compute(SizeOp op, Number a, Number b, bool *good) {
    bool ints = !a.is_float && !b.is_float;
    if (ints && op != SIZE_TRUEDIV) return number_int(compute_int(op, a.i, b.i, good));
    double made = compute_float(op, a.d, b.d, good);
    *good &= is_exact(a) && is_exact(b);
    return number_float(made);
}

static int order(Number a, Number b) {
    if (!a.is_float && !b.is_float) return (a.i > b.i) - (a.i < b.i);
    return (a.d > b.d) - (a.d < b.d);
}

bool size_compare(Comparison how, Number a, Number b) {
    int sign = order(a, b);
    switch (how) {
    case SIZE_LT: return sign < 0;
    case SIZE_LE: return sign <= 0;
    case SIZE_EQ: return sign == 0;
    case SIZE_NE: return sign != 0;
    case SIZE_GT: return sign > 0;
    default: return sign >= 0;
    }
}

SizeId record_size(SizeOp op, SizeId a, SizeId b) {
    Recording *r = record_now();
    if (!r || !a || !b) return 0;
    Size x = r->sizes[a], y = r->sizes[b];
    bool good, fits;
    Number value = size_compute(op, x.value, y.value, &good);
    Number other = size_compute(op, x.other, y.other, &fits);
    if (!good) return 0;
    return new_size(r, (Size){(uint8_t)op, 0, 0, a, b, value, fits ? other : value});
}

bool record_compare(Comparison how, SizeId a, SizeId b) {
    bool answer = size_compare(how, record_value(a), record_value(b));
    Recording *r = record_now();
    if (!r || !record_open(REC_GUARD, 0, NULL)) return answer;
    record_numbers(how, a, b);
    r->commands[r->ncommands - 1].answer = answer;
    record_close(OK, 0, NULL);
    return answer;
}

static Slot slot_of(Recording *r, Tensor *t) {
    Operand o = recording_operand(r, t);
    tensor_unref(o.constant);
    return r->broken ? 0 : o.slot;
}

SizeId record_dim(Tensor *t, int axis) {
    Recording *r = record_now();
    Slot s = r ? slot_of(r, t) : 0;
    if (!s) return 0;
    SlotInfo *info = &r->slots[s];
    bool varies = info->varies >> axis & 1;
    if (!varies && info->pinned >> axis & 1) return 0;
    int64_t n = info->type.dims[axis], other = info->is_blurred ? n : info->other.dims[axis];
    info->pinned |= varies ? 0 : 1u << axis;
    Size dim = {.op = SIZE_DIM, .axis = (uint8_t)axis, .slot = s};
    dim.value = number_int(n);
    dim.other = number_int(other);
    SizeId size = new_size(r, dim);
    if (varies) return size;
    record_compare(SIZE_EQ, size, record_const(dim.value));
    return 0;
}

bool record_pin(Tensor *t) {
    Recording *r = record_now();
    Slot s = r ? slot_of(r, t) : 0;
    if (!s) return true;
    for (int i = 0; i < t->type.rank; i++)
        if (r->slots[s].varies >> i & 1) return false;
    for (int i = 0; i < t->type.rank; i++) record_dim(t, i);
    return true;
}

void record_same(Tensor *a, Tensor *b) {
    if (!record_now() || a->type.rank != b->type.rank) return;
    for (int i = 0; i < a->type.rank; i++) {
        SizeId x = record_dim(a, i), y = record_dim(b, i);
        if (!x) x = record_const(number_int(a->type.dims[i]));
        if (!y) y = record_const(number_int(b->type.dims[i]));
        record_compare(SIZE_EQ, x, y);
    }
}

Status record_size_tensor(SizeId size, DType d, Tensor **out) {
    AUTO_TENSOR number = NULL;
    bool recorded = record_open(REC_NUMBER, 0, NULL);
    if (recorded) record_numbers(d, size, 0);
    TensorType type = {.dtype = (uint8_t)d};
    Status status = tensor_fill(&type, record_value(size).d, &number);
    if (status == OK) *out = capture_symbolic(number);
    if (recorded) record_close(status, status == OK, out);
    return status;
}
