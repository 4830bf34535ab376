/* Running one op now: convert, infer, choose a kernel, make outputs, run, record. */
#include "eager/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "eager/builder.h"
#include "eager/capture.h"
#include "eager/prepared.h"
#include "eager/quick.h"
#include "eager/record.h"
#include "eager/tape.h"
#include "kernels/layout.h"
#include "ops/complex.h"
#include "tensor/pool.h"
#include "tensor/random.h"

enum { FEW = 8, MAX_ATTRS = 1024 };

LongRunHooks long_run;

/* One call on its way: arrays live here when short. */
typedef struct Run {
    const Op *op;
    const void *attrs;
    int nin, nout;
    bool draws;
    bool is_idle; /* all results are empty, and nothing about the inputs is asked */
    Tensor **in;  /* owned references */
    const TensorType **types;
    Buf *inbufs, *outbufs;
    TensorType *outtypes;
    Tensor **out;
    KernelArgs args;
    const Kernel *kernel;
    Tensor *few_in[FEW];
    const TensorType *few_types[FEW];
    Buf few_bufs[2 * FEW];
    TensorType few_outtypes[FEW];
    void *heap;
    size_t heap_size;
} Run;

static void run_init(Run *r, const Op *op, const void *attrs, int nin, int nout) {
    r->op = op;
    r->attrs = attrs;
    r->nin = nin;
    r->nout = nout;
    r->heap = NULL;
    if (DIP_LIKELY(nin <= FEW && nout <= FEW)) {
        r->in = r->few_in;
        r->types = r->few_types;
        r->inbufs = r->few_bufs;
        r->outbufs = r->few_bufs + FEW;
        r->outtypes = r->few_outtypes;
        return;
    }
    size_t i = (size_t)nin, o = (size_t)nout;
    r->heap_size = i * (sizeof(Tensor *) + sizeof(TensorType *) + sizeof(Buf)) +
                   o * (sizeof(Buf) + sizeof(TensorType));
    char *p = r->heap = pool_small(r->heap_size);
    r->outtypes = (TensorType *)p;
    p += o * sizeof(TensorType);
    r->inbufs = (Buf *)p;
    p += i * sizeof(Buf);
    r->outbufs = (Buf *)p;
    p += o * sizeof(Buf);
    r->in = (Tensor **)p;
    p += i * sizeof(Tensor *);
    r->types = (const TensorType **)p;
}

static void run_done(Run *r) {
    for (int i = 0; i < r->nin; i++) tensor_unref(r->in[i]);
    if (r->heap) pool_small_free(r->heap, r->heap_size);
}

static Buf buf_of(const Tensor *t) {
    return t ? (Buf){&t->type, t->strides, t->data, t->dense} : (Buf){0};
}

/* ---- inputs */

static Status replace(Tensor **slot, OpId id, const void *attrs) {
    Tensor *made;
    TRY(dispatch1(id, attrs, *slot, &made));
    tensor_unref(*slot);
    *slot = made;
    return OK;
}

static Status convert_inputs(Run *r) {
    bool is_choice = r->op->kind == K_EWISE && r->op->ewclass == EW_WHERE;
    if (is_choice && r->in[0]->type.dtype != DT_bool) /* 0.5 is true, whatever is chosen from */
        TRY(replace(&r->in[0], OP_cast, &(attrs_cast){.dtype = DT_bool}));
    if (r->op->rule == RULE_FREE) return OK;
    DType d = DT_NONE;
    for (int i = 0; i < r->nin; i++)
        if (r->in[i])
            d = d == DT_NONE ? (DType)r->in[i]->type.dtype : dtype_promote(d, r->in[i]->type.dtype);
    if (r->op->rule == RULE_FLOAT && d != DT_NONE) d = dtype_to_float(d);
    for (int i = 0; i < r->nin; i++)
        if (r->in[i] && r->in[i]->type.dtype != d)
            TRY(replace(&r->in[i], OP_cast, &(attrs_cast){.dtype = d}));
    return OK;
}

static Status infer_types(Run *r) {
    for (int i = 0; i < r->nin; i++) r->types[i] = r->in[i] ? &r->in[i]->type : NULL;
    OpCall c = {r->op, r->attrs, r->nin, r->nout, r->types};
    return r->op->infer(&c, r->outtypes);
}

/* ---- running */

static Status make_dense(Run *r) {
    for (int i = 0; i < r->nin; i++)
        if (!kernel_takes(r->kernel, &r->args, i)) {
            TRY(replace(&r->in[i], OP_contiguous, NULL));
            r->inbufs[i] = buf_of(r->in[i]);
        }
    return OK;
}

static Status run_prepared(const Kernel *k, KernelArgs *a) {
    Prepared p;
    void *scratch = NULL;
    TRY(prepared_get(k, a, &p));
    Status status = p.scratch ? pool_get(p.scratch, a->op->name, &scratch) : OK;
    if (status == OK) {
        a->state = p.state;
        a->scratch = scratch;
        k->run(a);
        if (scratch) pool_put(scratch, p.scratch);
    }
    prepared_done();
    return status;
}

static Status run_kernel(Run *r) {
    const Kernel *k = r->kernel;
    KernelArgs *a = &r->args;
    if (r->is_idle) return OK;
    bool release = long_run.begin && kernel_cost(a) >= LONG_RUN;
    void *state = release ? long_run.begin() : NULL;
    Status status = OK;
    if (k->prepare)
        status = run_prepared(k, a);
    else
        k->run(a);
    if (release) long_run.end(state);
    return status;
}

/* A fresh result, row-major so far. */
static void tensor_set_last(Tensor *t) {
    layout_last_strides(&t->type, t->strides);
    t->dense = type_strides_dense(&t->type, t->strides);
}

static void drop_outputs(Run *r) {
    for (int i = 0; i < r->nout; i++) tensor_unref(r->out[i]);
}

/* Results of update ops take over the bytes of inputs that have no more than `holders` references
 * (0: all results are fresh). */
static Status make_outputs(Run *r, int holders) {
    const Kernel *k = r->kernel;
    bool in_place = holders && k->flags & UPDATES_IN_PLACE;
    for (int i = 0; i < r->nout; i++) {
        Tensor *x = in_place && i < r->nin ? r->in[i] : NULL;
        bool reuse = x && tensor_is_exclusive(x, holders) && x->dense && !x->storage->read_only &&
                     type_equal(&x->type, &r->outtypes[i]);
        Status s = OK;
        if (reuse)
            r->out[i] = tensor_alias(x);
        else
            s = tensor_new(&r->outtypes[i], r->op->name, &r->out[i]);
        if (s != OK) {
            while (i--) tensor_unref(r->out[i]);
            return s;
        }
        if (k->flags & (CHANNELS_LAST | KEEPS_LAYOUT) && layout_wants_last(k, &r->args, i))
            tensor_set_last(r->out[i]);
        r->outbufs[i] = buf_of(r->out[i]);
    }
    return OK;
}

static bool has_work(const Run *r) {
    for (int i = 0; i < r->nout; i++)
        if (type_count(&r->outtypes[i])) return true;
    return kernel_check(r->op->id) || kernel_measure(r->op->id);
}

/* All that comes before the kernel: which one, its inputs, checks of their values, its results. */
static Status get_ready(Run *r, int holders) {
    KernelArgs *a = &r->args;
    *a = (KernelArgs){.op = r->op, .attrs = r->attrs, .nin = r->nin, .nout = r->nout};
    a->in = r->inbufs;
    a->out = r->outbufs;
    for (int i = 0; i < r->nin; i++) r->inbufs[i] = buf_of(r->in[i]);
    for (int i = 0; i < r->nout; i++) r->outbufs[i] = (Buf){.type = &r->outtypes[i], .dense = true};
    TRY(kernel_choose(a, &r->kernel));
    r->is_idle = !has_work(r);
    if (!r->is_idle) TRY(make_dense(r));
    CheckFn check = kernel_check(r->op->id);
    if (check) TRY(check(a));
    MeasureFn measure = kernel_measure(r->op->id);
    if (measure) TRY(measure(a, r->outtypes));
    return make_outputs(r, holders);
}

static Status run_now(Run *r) {
    TRY(get_ready(r, 0));
    Status status = run_kernel(r);
    if (status != OK) drop_outputs(r);
    return status;
}

static Status view_result(Run *r, int k) {
    OpCall c = {r->op, r->attrs, r->nin, r->nout, r->types};
    const TensorType *type = &r->outtypes[k];
    int64_t strides[MAX_RANK], offset;
    TRY(type_check(type, r->op->name));
    if (!r->op->view(&c, k, type, r->in[0]->strides, strides, &offset)) {
        TRY(replace(&r->in[0], OP_contiguous, NULL));
        r->types[0] = &r->in[0]->type;
        if (!r->op->view(&c, k, type, r->in[0]->strides, strides, &offset))
            return FAIL(INTERNAL, "%s: a dense input cannot be viewed", r->op->name);
    }
    Tensor *x = r->in[0];
    r->out[k] =
        tensor_over(x->storage, type, strides, x->data + offset * dtype_size(x->type.dtype));
    return OK;
}

static Status run_view(Run *r) {
    for (int k = 0; k < r->nout; k++) {
        Status status = view_result(r, k);
        if (status == OK) continue;
        while (k--) tensor_unref(r->out[k]);
        return status;
    }
    return OK;
}

/* Random ops carry the place in the random stream as attributes `key` and `counter`; the gradient
 * replays the same draws from them. */
static void draw(const Op *op, void *attrs, int64_t count) {
    uint64_t key, counter;
    random_take(count, &key, &counter);
    memcpy((char *)attrs + attr_find(op, "key")->offset, &key, sizeof key);
    memcpy((char *)attrs + attr_find(op, "counter")->offset, &counter, sizeof counter);
}

static Status check_arity(const Op *op, int nin, Tensor *const *in) {
    for (int i = 0; i < nin; i++)
        if (in[i]) TRY(tensor_check_placeholder(in[i]));
    if (nin < op->nin_min || (op->nin_max != NIN_ANY && nin > op->nin_max))
        return FAIL(TYPE, "%s: got %d inputs; it takes (%s)", op->name, nin, op->sig);
    int required = op->nin_max == NIN_ANY ? nin : op->nin_min;
    for (int i = 0; i < required; i++)
        if (!in[i])
            return FAIL(TYPE, "%s: input %d is missing; it takes (%s)", op->name, i, op->sig);
    return OK;
}

int dispatch_nout(const Op *op, const void *attrs, int nin, Tensor *const *in) {
    if (op->nout >= 0) return op->nout;
    const TensorType *types[FEW] = {0};
    for (int i = 0; i < nin && i < FEW; i++) types[i] = in[i] ? &in[i]->type : NULL;
    return op->count(&(OpCall){op, attrs, nin, 0, types});
}

/* An op whose gradient is that of its expansion runs as that when a gradient is wanted. */
static Status run_expanded(Run *r, ExpandFn expand) {
    EagerBuilder e;
    eager_builder_init(&e);
    Ref few[2 * FEW] = {0};
    Ref *in = r->heap ? pool_small((size_t)(r->nin + r->nout) * sizeof *in) : few;
    Ref *out = in + r->nin;
    memset(out, 0, (size_t)r->nout * sizeof *out);
    for (int i = 0; i < r->nin; i++) in[i] = eager_put(&e, r->in[i]);
    ExpandCtx c = {&e.base, r->op, r->attrs, r->nin, r->nout, in, out};
    expand(&c);
    Status status = e.base.status;
    for (int i = 0; i < r->nout && status == OK; i++)
        r->out[i] = tensor_ref(eager_peek(&e, out[i]));
    eager_builder_done(&e);
    if (in != few) pool_small_free(in, (size_t)(r->nin + r->nout) * sizeof *in);
    return status;
}

/* Random ops are captured even when their inputs are known, for each run draws anew, and so are the
 * gradients that repeat a captured draw. */
static bool is_captured(const Run *r) {
    uint32_t key, counter;
    if (r->op->kind == K_RANDOM || capture_is_forced()) return true;
    if (op_draws(r->op, &key, &counter) &&
        *(const int64_t *)((const char *)r->attrs + key) == DRAWN_KEY)
        return true;
    for (int i = 0; i < r->nin; i++)
        if (r->in[i] && r->in[i]->symbol) return true;
    return false;
}

static Status capture_op(Run *r) {
    if (kernel_measure(r->op->id))
        return FAIL(UNSUPPORTED,
                    "%s: the size of its result depends on the values, which a compiled function "
                    "does not know while it is built",
                    r->op->name);
    return capture_call(r->op, r->attrs, r->nin, r->in, r->nout, r->outtypes, r->out);
}

static bool has_complex(const Run *r) {
    for (int i = 0; i < r->nin; i++)
        if (r->in[i] && dtype_is_complex(r->in[i]->type.dtype)) return true;
    return false;
}

/* Kernels know no complex numbers but by moving them. */
static Status check_complex(const Run *r, bool is_in) {
    bool is_out = false;
    for (int i = 0; i < r->nout; i++) is_out |= dtype_is_complex(r->outtypes[i].dtype);
    if (DIP_LIKELY(!is_in && !is_out)) return OK;
    TRY(complex_check(r->op, r->nin, r->types));
    for (int i = 0; i < r->nout; i++)
        TRY(complex_check(r->op, 1, (const TensorType *[]){&r->outtypes[i]}));
    return OK;
}

/* The steps after the inputs stand in r->in; record with the inputs as given. */
static Status run_steps(Run *r) {
    bool is_complex = has_complex(r);
    ExpandFn expand = is_complex ? complex_expansion(r->op) : NULL;
    if (DIP_UNLIKELY(expand != NULL)) return run_expanded(r, expand);
    TRY(convert_inputs(r));
    TRY(infer_types(r));
    TRY(check_complex(r, is_complex));
    int64_t drawn[MAX_ATTRS / sizeof(int64_t)];
    bool captured = capture_is_on() && is_captured(r);
    if (r->op->kind == K_RANDOM) {
        memcpy(drawn, r->attrs, r->op->attrs_size);
        if (!captured && r->draws) draw(r->op, drawn, type_count(&r->outtypes[0]));
        r->attrs = drawn;
    }
    bool wants = op_is_differentiable(r->op) && tape_wants(r->nin, r->in);
    if (r->op->expand && ((wants && !r->op->grad) || !kernel_exists(r->op->id)))
        return run_expanded(r, r->op->expand);
    if (captured)
        TRY(capture_op(r));
    else if (r->op->kind == K_MAP)
        TRY(run_view(r));
    else
        TRY(run_now(r));
    if (!wants) return OK;
    Status status = tape_record(r->op, r->attrs, r->nin, r->in, r->nout, r->out);
    if (status != OK) drop_outputs(r);
    return status;
}

/* draws: random ops take their place in the stream now; otherwise the attributes name it. */
static Status dispatch_general(const Op *op, const void *attrs, int nin, Tensor *const *in,
                               Tensor **out, bool draws) {
    TRY(check_arity(op, nin, in));
    Run r;
    /* Optional inputs left out at the end stand as absent: kernels look at all of the signature. */
    int all = op->nin_max == NIN_ANY ? nin : op->nin_max;
    run_init(&r, op, attrs, all, dispatch_nout(op, attrs, nin, in));
    r.out = out;
    r.draws = draws;
    for (int i = 0; i < all; i++) r.in[i] = i < nin && in[i] ? tensor_ref(in[i]) : NULL;
    Status status = run_steps(&r);
    run_done(&r);
    return status;
}

static Status dispatch_captured(const Op *op, const void *attrs, int nin, Tensor *const *in,
                                Tensor **out) {
    Tensor *few[2 * FEW], **mapped = few;
    size_t size = (size_t)nin * sizeof *mapped;
    if (nin > 2 * FEW) mapped = pool_small(size);
    bool recorded = record_call(op, attrs, nin, in);
    capture_inputs(nin, in, mapped);
    Status status = dispatch_general(op, attrs, nin, mapped, out, true);
    if (recorded)
        record_close(status, status == OK ? dispatch_nout(op, attrs, nin, mapped) : 0, out);
    if (mapped != few) pool_small_free(mapped, size);
    return status;
}

static inline Status dispatch_now(const Op *op, const void *attrs, int nin, Tensor *const *in,
                                  Tensor **out, bool draws) {
    if (op->kind == K_EWISE && quick_ewise(op, nin, in, out)) {
        bool wants = tape_wants(nin, in) && op_is_differentiable(op);
        return wants ? tape_record(op, attrs, nin, in, 1, out) : OK;
    }
    return dispatch_general(op, attrs, nin, in, out, draws);
}

Status dispatch(const Op *op, const void *attrs, int nin, Tensor *const *in, Tensor **out) {
    if (capture_is_on()) return dispatch_captured(op, attrs, nin, in, out);
    return dispatch_now(op, attrs, nin, in, out, true);
}

Status dispatch_drawn(const Op *op, const void *attrs, int nin, Tensor *const *in, Tensor **out) {
    return dispatch_now(op, attrs, nin, in, out, false);
}

/* ---- updates */

enum { OURS_AND_THE_CALLERS = 2 }; /* references to an input that nobody else holds */

static void start_update(Run *r, const UpdateCalls *u, int call) {
    run_init(r, u->op, u->attrs, u->nin, u->op->nout);
    r->out = u->out + (ptrdiff_t)call * u->op->nout;
    for (int i = 0; i < u->nin; i++) {
        Tensor *t = u->in[(ptrdiff_t)call * u->nin + i];
        r->in[i] = t ? tensor_ref(t) : NULL;
    }
}

static Status ready_update(Run *r) {
    TRY(check_arity(r->op, r->nin, r->in));
    TRY(infer_types(r));
    TRY(get_ready(r, OURS_AND_THE_CALLERS));
    if (!r->kernel->prepare) return OK;
    drop_outputs(r);
    return FAIL(INTERNAL, "%s: a kernel that prepares may fail while it runs", r->op->name);
}

/* Nodes change nothing yet: they need no care. */
static Status capture_updates(UpdateCalls *u) {
    for (int i = 0; i < u->n; i++) {
        Tensor *const *in = u->in + (ptrdiff_t)i * u->nin;
        Tensor **out = u->out + (ptrdiff_t)i * u->op->nout;
        Status status = dispatch(u->op, u->attrs, u->nin, in, out);
        if (status == OK) continue;
        u->failed = i;
        for (int k = 0; k < i * u->op->nout; k++) tensor_unref(u->out[k]);
        return status;
    }
    return OK;
}

Status dispatch_updates(UpdateCalls *u) {
    if (capture_is_on()) return capture_updates(u);
    size_t nbytes = (size_t)u->n * sizeof(Run);
    Run *runs = pool_small(nbytes);
    Status status = OK;
    int ready = 0;
    for (int i = 0; i < u->n; i++) start_update(&runs[i], u, i);
    while (ready < u->n && (status = ready_update(&runs[ready])) == OK) ready++;
    u->failed = ready;
    for (int i = 0; i < ready; i++) {
        if (status == OK)
            run_kernel(&runs[i]);
        else
            drop_outputs(&runs[i]);
    }
    for (int i = 0; i < u->n; i++) run_done(&runs[i]);
    pool_small_free(runs, nbytes);
    return status;
}

static Status dispatch_short(OpId id, const void *attrs, int nin, Tensor *const *in, Tensor **out) {
    const Op *op = op_get(id);
    int64_t preset[MAX_ATTRS / sizeof(int64_t)];
    if (!attrs) {
        attrs_init(op, preset);
        attrs = preset;
    }
    return dispatch(op, attrs, nin, in, out);
}

Status dispatch1(OpId id, const void *attrs, Tensor *x, Tensor **out) {
    return dispatch_short(id, attrs, 1, &x, out);
}
Status dispatch2(OpId id, const void *attrs, Tensor *x, Tensor *y, Tensor **out) {
    return dispatch_short(id, attrs, 2, (Tensor *[]){x, y}, out);
}

Status tensor_fill(const TensorType *type, double value, Tensor **out) {
    AUTO_TENSOR one = NULL;
    TRY(tensor_new(&(TensorType){.dtype = DT_f64}, "fill", &one));
    memcpy(one->data, &value, sizeof value);
    AUTO_TENSOR number = NULL;
    TRY(dispatch1(OP_cast, &(attrs_cast){.dtype = type->dtype}, one, &number));
    if (type->rank == 0) {
        *out = tensor_keep(&number);
        return OK;
    }
    attrs_broadcast_to wide = {.shape = {.n = type->rank}};
    memcpy(wide.shape.v, type->dims, sizeof wide.shape.v);
    return dispatch1(OP_broadcast_to, &wide, number, out);
}
