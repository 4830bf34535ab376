/* cast and contiguous: any strides and dtype to dense, block by block. */
#include <string.h>

#include "base/parallel.h"
#include "kernels/kernel.h"
#include "kernels/loops.h"
#include "kernels/walk.h"

enum { BLOCK = 512, GRAIN = 32768 };

typedef struct Copy {
    const Buf *in;
    Buf *out;
    Walk walk;
    DType ct;
} Copy;

static void convert(const Copy *c, int64_t n, char *dst, const char *src) {
    DType from = c->in->type->dtype, to = c->out->type->dtype;
    char block[BLOCK * 8];
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t m = min_i64(n - done, BLOCK);
        loops(c->ct)->load[from](m, block, src + done * dtype_size(from));
        loops(c->ct)->store[to](m, dst + done * dtype_size(to), block);
    }
}

static void copy_row(const Copy *c, int64_t n, char *dst, const char *src, int64_t stride) {
    DType from = c->in->type->dtype, to = c->out->type->dtype;
    int64_t size = dtype_size(from);
    if (stride == 1) {
        if (from == to)
            memcpy(dst, src, (size_t)(n * size));
        else
            convert(c, n, dst, src);
        return;
    }
    if (from == to) {
        gather_strided(n, size, dst, src, stride * size);
        return;
    }
    char block[BLOCK * 8];
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t m = min_i64(n - done, BLOCK);
        gather_strided(m, size, block, src + done * stride * size, stride * size);
        convert(c, m, dst + done * dtype_size(to), block);
    }
}

static void copy_range(void *ctx, int64_t begin, int64_t end) {
    const Copy *c = ctx;
    int64_t row = c->walk.dims[c->walk.rank - 1], stride = c->walk.strides[0][c->walk.rank - 1];
    WalkPlace p;
    walk_seek(&c->walk, begin, &p);
    while (begin < end) {
        int64_t n = min_i64(row - p.index[c->walk.rank - 1], end - begin);
        copy_row(c, n, c->out->data + begin * dtype_size(c->out->type->dtype),
                 c->in->data + p.offset[0] * dtype_size(c->in->type->dtype), stride);
        walk_step(&c->walk, &p, n);
        begin += n;
    }
}

void run_copy(const KernelArgs *a) {
    Copy c = {.in = &a->in[0], .out = &a->out[0]};
    c.ct = dtype_info[a->out[0].type->dtype].compute; /* the target's: integers stay exact */
    walk_init(&c.walk, a->out[0].type, 1, &a->in[0].type, &a->in[0].strides);
    if (c.walk.count) parallel_for(c.walk.count, GRAIN, copy_range, &c);
}
