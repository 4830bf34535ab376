/* grid_sample in one pass over the points: the elements around each and their weights are found
 * once, and read from every channel. Its gradient is that of the expansion in ops/infer_image.c. */
#include <string.h>

#include "base/parallel.h"
#include "kernels/grid.h"
#include "kernels/loops.h"

enum { GRAIN = 4096 };

extern const GridLoops grid_loops_base, grid_loops_avx2, grid_loops_avx512;
static const GridLoops *const tables[NISAS] = {
    &grid_loops_base,
#if defined(__x86_64__)
    &grid_loops_avx2,
    &grid_loops_avx512,
#endif
};

const char *can_grid_sample(const KernelArgs *a) {
    int d = a->in[0].type->dtype;
    return d == DT_f32 || d == DT_f64 ? NULL : "only float32 and float64";
}

static void sample(const KernelArgs *a, const char *input, const char *points, char *out,
                   bool is_double) {
    const attrs_grid_sample *at = a->attrs;
    const TensorType *r = a->out[0].type;
    Grid g = {.x = a->in[0].type,
              .r = r,
              .input = input,
              .points = points,
              .out = out,
              .align = at->align_corners == 1,
              .nearest = !strcmp(at->mode, "nearest"),
              .zeros = !strcmp(at->padding_mode, "zeros"),
              .reflection = !strcmp(at->padding_mode, "reflection")};
    const GridLoops *l = tables[isa_level()];
    int64_t n = r->dims[0] * r->dims[2] * r->dims[3];
    parallel_for(n, max_i64(GRAIN / max_i64(r->dims[1], 1), 1),
                 is_double ? l->sample_f64 : l->sample_f32, &g);
}

void run_grid_sample(const KernelArgs *a) {
    sample(a, a->in[0].data, a->in[1].data, a->out[0].data, a->out[0].type->dtype == DT_f64);
}

/* Other floats through float32 copies of everything. */
Status prepare_grid_sample_any(const KernelArgs *a, void **state, size_t *scratch) {
    int64_t n = type_count(a->in[0].type) + type_count(a->in[1].type) + type_count(a->out[0].type);
    *state = NULL;
    *scratch = (size_t)n * sizeof(float) + sizeof(float);
    return OK;
}
void release_grid_sample_any(void *state) { (void)state; }

void run_grid_sample_any(const KernelArgs *a) {
    const CtLoops *l = loops(DT_f32);
    DType d = (DType)a->in[0].type->dtype;
    int64_t n = type_count(a->in[0].type), points = type_count(a->in[1].type);
    float *x = a->scratch, *grid = x + n, *out = grid + points;
    l->load[d](n, x, a->in[0].data);
    l->load[d](points, grid, a->in[1].data);
    sample(a, (char *)x, (char *)grid, (char *)out, false);
    l->store[d](type_count(a->out[0].type), a->out[0].data, out);
}
