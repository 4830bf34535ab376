/* Converting the operands of a whole call. Tensors already in a compute type pass as they are. */
#include "kernels/through.h"

#include "base/parallel.h"
#include "kernels/loops.h"

enum { GRAIN = 32768 };

static DType compute_of(const TensorType *t) { return dtype_info[t->dtype].compute; }
static int64_t size_of(const TensorType *t) {
    return t && compute_of(t) != t->dtype ? align64(type_count(t) * dtype_size(compute_of(t))) : 0;
}

int64_t through_size(const KernelArgs *a) {
    int64_t total = 0;
    for (int i = 0; i < a->nin; i++) total += size_of(a->in[i].type);
    for (int i = 0; i < a->nout; i++) total += size_of(a->out[i].type);
    return total;
}

typedef struct Convert {
    ConvertLoop *loop;
    const char *src;
    char *dst;
    int64_t from, to;
} Convert;

static void convert_range(void *ctx, int64_t begin, int64_t end) {
    const Convert *c = ctx;
    c->loop(end - begin, c->dst + begin * c->to, c->src + begin * c->from);
}

static void load(const TensorType *t, char *dst, const char *src) {
    DType ct = compute_of(t);
    Convert c = {loops(ct)->load[t->dtype], src, dst, dtype_size(t->dtype), dtype_size(ct)};
    parallel_for(type_count(t), GRAIN, convert_range, &c);
}

static void save(const TensorType *t, char *dst, const char *src) {
    DType ct = compute_of(t);
    Convert c = {loops(ct)->store[t->dtype], src, dst, dtype_size(ct), dtype_size(t->dtype)};
    parallel_for(type_count(t), GRAIN, convert_range, &c);
}

/* The converted twin of b; takes its place in scratch. */
static void twin(const Buf *b, Buf *to, TensorType *type, char **scratch) {
    *to = *b;
    if (!b->type || size_of(b->type) == 0) return;
    *type = *b->type;
    type->dtype = (uint8_t)compute_of(b->type);
    to->type = type;
    if (!b->data) return;
    to->data = *scratch;
    *scratch += size_of(b->type);
}

void through_run(const KernelArgs *a, void (*run)(const KernelArgs *a)) {
    TensorType types[2 * THROUGH_MAX];
    Buf in[THROUGH_MAX], out[THROUGH_MAX];
    char *scratch = a->scratch;
    for (int i = 0; i < a->nin; i++) {
        twin(&a->in[i], &in[i], &types[i], &scratch);
        if (in[i].data != a->in[i].data) load(a->in[i].type, in[i].data, a->in[i].data);
    }
    for (int i = 0; i < a->nout; i++) twin(&a->out[i], &out[i], &types[THROUGH_MAX + i], &scratch);
    KernelArgs inner = *a;
    inner.in = in;
    inner.out = out;
    inner.scratch = scratch;
    run(&inner);
    for (int i = 0; i < a->nout; i++)
        if (out[i].data != a->out[i].data) save(a->out[i].type, a->out[i].data, out[i].data);
}

/* For kernels that need no scratch of their own. */
Status prepare_through(const KernelArgs *a, void **state, size_t *scratch) {
    (void)state;
    *scratch = (size_t)through_size(a);
    return OK;
}
void release_through(void *state) { (void)state; }
