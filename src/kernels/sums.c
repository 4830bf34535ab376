/* Sums of many terms of one type, one after the other as calls of add would make them: the same
 * loop, so the same bits, over blocks whose sum stays in the cache. */
#include "base/parallel.h"
#include "kernels/ewise.h"
#include "kernels/loops.h"

enum { BLOCK_BYTES = 8192, GRAIN = 32768 };

typedef struct Sum {
    const KernelArgs *a;
    EwLoop *add;
    int64_t size;
    uint64_t turned;
} Sum;

static void add_block(const Sum *s, int64_t at, int64_t n) {
    char *dst = s->a->out[0].data + at * s->size;
    const void *sum = s->a->in[0].data + at * s->size;
    for (int i = 1; i < s->a->nin; i++, sum = dst) {
        const void *term = s->a->in[i].data + at * s->size;
        bool is_turned = s->turned >> i & 1;
        s->add(n, dst, is_turned ? (const void *[]){term, sum} : (const void *[]){sum, term});
    }
}

static void add_range(void *ctx, int64_t begin, int64_t end) {
    const Sum *s = ctx;
    int64_t block = BLOCK_BYTES / s->size;
    for (int64_t at = begin; at < end; at += block) add_block(s, at, min_i64(block, end - at));
}

/* All elements lie in the same places: row-major, or all of them channels-last. */
static bool lie_alike(const KernelArgs *a) {
    const Buf *r = &a->out[0];
    for (int i = 0; i < a->nin; i++) {
        if (a->in[i].dense && r->dense) continue;
        for (int k = 0; k < r->type->rank; k++)
            if (r->type->dims[k] != 1 && a->in[i].strides[k] != r->strides[k]) return false;
    }
    return true;
}

/* Terms in different layouts: whole sums of two. */
static void add_calls(const Sum *s) {
    Buf in[2] = {s->a->in[0]}, sum = s->a->out[0];
    KernelArgs call = {.op = op_get(OP_add), .nin = 2, .nout = 1, .in = in, .out = &sum};
    for (int i = 1; i < s->a->nin; i++) {
        int first = s->turned >> i & 1;
        in[first] = i == 1 ? s->a->in[0] : sum;
        in[1 - first] = s->a->in[i];
        run_ewise(&call);
    }
}

void run_sums_core(const KernelArgs *a) {
    DType d = a->out[0].type->dtype;
    uint64_t turned = (uint64_t)((const attrs_sums_core *)a->attrs)->turned;
    Sum s = {a, loops(d)->value[op_get(OP_add)->ew_index], dtype_size(d), turned};
    if (lie_alike(a))
        parallel_for(type_count(a->out[0].type), GRAIN, add_range, &s);
    else
        add_calls(&s);
}
