/* Kernels: the code that computes. Each op has an ordered list of candidates (kernels.def).
 *
 * The contract serves eager calls and plans alike: `can` says why not, `prepare` makes an immutable
 * state for these types and attributes, `run` cannot fail and reads nothing out of bounds. What
 * depends on values (indices) is checked before by the op's `check`; sizes that depend on values
 * come from its `measure`. */
#ifndef DIP_KERNEL_H
#define DIP_KERNEL_H

#include "ops/op.h"

/* A tensor as kernels see it. */
typedef struct Buf {
    const TensorType *type;
    const int64_t *strides; /* in elements */
    char *data;             /* NULL: an optional input that was not given */
    bool dense;
} Buf;

typedef struct KernelArgs {
    const Op *op;
    const void *attrs;
    int nin, nout;
    const Buf *in;
    /* Row-major or, where the kernel's flags say so, channels-last; distinct from the inputs except
     * where the kernel may write in place. */
    Buf *out;
    void *scratch;     /* as many bytes as prepare asked for, 64-byte aligned */
    const void *state; /* what prepare made */
} KernelArgs;

enum {
    TAKES_DENSE = 0,   /* the caller makes strided inputs dense first */
    TAKES_STRIDES = 1, /* any strides on inputs */
    /* out[i] may be in[i]'s memory: update ops. The caller does so when it owns in[i] alone. */
    UPDATES_IN_PLACE = 2,
    /* Results with channels stand channels-last (layout.h): always for result 0, or when an input
     * of this rank does. The others are row-major. */
    CHANNELS_LAST = 4,
    KEEPS_LAYOUT = 8,
    /* Beside TAKES_STRIDES, of reductions: large inputs that lie transposed are quicker turned
     * first, but for those that reduce_reads_turned. */
    PREFERS_ROWS = 16,
    FIRST_STRIDES = 32, /* any strides on input 0, which is copied to the result */
    /* Any strides on inputs much larger than the result: only a part of them is read. */
    READS_PART = 64,
};

typedef struct Kernel {
    const char *name, *doc;
    int flags;
    /* NULL, or the reason why this candidate does not fit. data pointers are not read. */
    const char *(*can)(const KernelArgs *a);
    /* State for these types, strides and attributes; scratch in bytes. NULL: nothing to prepare. */
    Status (*prepare)(const KernelArgs *a, void **state, size_t *scratch);
    void (*release)(void *state);
    void (*run)(const KernelArgs *a);
} Kernel;

/* The first candidate that fits. UNSUPPORTED lists the reasons of all. */
Status kernel_choose(const KernelArgs *a, const Kernel **out);

/* False: the op has no kernel and always runs as its expansion. */
bool kernel_exists(OpId op);

/* Whether k reads input i as it lies; if not, the caller makes it dense first. */
bool kernel_takes(const Kernel *k, const KernelArgs *a, int i);

/* Whether all its kernels give row-major results for any layout of the inputs. */
bool kernel_is_row_major(OpId op);

/* Looks at values before the run: indices in range ... NULL when the op has no such check. */
typedef Status (*CheckFn)(const KernelArgs *a);
CheckFn kernel_check(OpId op);
/* The result types of ops whose sizes depend on values (nonzero, unique). NULL for the others. */
typedef Status (*MeasureFn)(const KernelArgs *a, TensorType *out);
MeasureFn kernel_measure(OpId op);

/* Roughly the arithmetic of a call, in element operations: what decides about releasing locks. */
int64_t kernel_cost(const KernelArgs *a);

/* ---- the functions of kernels.def */
#define NO_CAN
#define NO_PREPARE
#define CAN(f) const char *can_##f(const KernelArgs *a);
#define PREPARE(f)                                                                                 \
    Status prepare_##f(const KernelArgs *a, void **state, size_t *scratch);                        \
    void release_##f(void *state);
#define KERNEL(op, fn, flags, can, prepare, doc)                                                   \
    void run_##fn(const KernelArgs *a);                                                            \
    can prepare
#define CHECK(op, fn)   Status check_##fn(const KernelArgs *a);
#define MEASURE(op, fn) Status measure_##fn(const KernelArgs *a, TensorType *out);
#include "kernels/kernels.def"
#undef NO_CAN
#undef NO_PREPARE
#undef CAN
#undef PREPARE

#endif
