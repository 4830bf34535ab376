/* See cases.h. */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernel.h"
#include "oracle.h"

const Case cases[] = {
#define CASE(name, tokens, attributes, error) {#name, tokens, attributes, error},
#include "../cases.def"
#undef CASE
};
const int ncases = (int)COUNT_OF(cases);

const char *const layout_names[NLAYOUTS] = {"dense", "as the row says", "axes reversed", "flipped",
                                            "spread"};

int case_index(const Case *c) {
    int n = 0;
    for (const Case *other = cases; other < c; other++) n += !strcmp(other->op, c->op);
    return n;
}

const char *case_text(const Case *c) {
    static char text[600];
    snprintf(text, sizeof text, "%s | %s | %s", c->op, c->inputs, c->attrs);
    return text;
}

/* ---- numbers: splitmix64 */

uint64_t case_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double case_uniform(uint64_t *state, double lo, double hi) {
    return lo + (hi - lo) * ((double)(case_random(state) >> 11) * 0x1p-53);
}

static uint64_t seed_of(const Case *c, int input) {
    uint64_t h = 14695981039346656037u;
    for (const char *at = c->op; *at; at++) h = (h ^ (uint8_t)*at) * 1099511628211u;
    return h + (uint64_t)case_index(c) * 1000003u + (uint64_t)input * 10007u;
}

/* ---- reading a row */

static bool bad(const Case *c, const char *what, const char *where) {
    fprintf(stderr, "tests/cases.def: %s: %s at \"%s\"\n", case_text(c), what, where);
    return false;
}

/* "f32[2,3]" */
static bool read_type(const char **text, TensorType *out) {
    char name[16] = "";
    size_t n = strcspn(*text, "[");
    if (!(*text)[n] || n >= sizeof name) return false;
    memcpy(name, *text, n);
    DType d = dtype_find(name);
    if (d == DT_NONE) return false;
    *out = (TensorType){.dtype = (uint8_t)d};
    const char *at = *text + n + 1;
    while (*at != ']') {
        char *end;
        if (out->rank == MAX_RANK) return false;
        out->dims[out->rank++] = strtoll(at, &end, 10);
        if (end == at || (*end != ',' && *end != ']')) return false;
        at = *end == ',' ? end + 1 : end;
    }
    *text = at + 1;
    return true;
}

/* The number in [at, end): strtod would take the first dot of "2..3" for a decimal point. */
static double number_before(const char *at, const char *end) {
    char text[32] = "";
    memcpy(text, at, (size_t)min_i64(end - at, sizeof text - 1));
    return strtod(text, NULL);
}

/* One token; *copies: how many inputs it stands for. */
static bool read_token(const char *at, CaseInput *in, int *copies) {
    *in = (CaseInput){0};
    *copies = 1;
    if (!strcmp(at, "-")) return in->is_absent = true;
    if (*at == '=') {
        char *end;
        in->is_number = true;
        in->lo = in->hi = strtod(at + 1, &end);
        in->type.dtype = strpbrk(at, ".enf") ? DT_f32 : DT_i64;
        return end != at + 1 && !*end;
    }
    if (!read_type(&at, &in->type)) return false;
    while (*at) {
        char *end;
        if (*at == '~' || *at == '@') {
            *(*at == '~' ? &in->is_reversed : &in->is_distinct) = true;
            at++;
        } else if (*at == '*') {
            *copies = (int)strtol(at + 1, &end, 10);
            at = end;
        } else if (*at == ':') {
            const char *dots = strstr(at, "..");
            if (!dots) return false;
            in->lo = number_before(at + 1, dots);
            in->hi = strtod(dots + 2, &end);
            at = end;
        } else {
            return false;
        }
    }
    return true;
}

static bool read_inputs(const Case *c, CasePlan *p) {
    char text[600];
    snprintf(text, sizeof text, "%s", c->inputs);
    for (char *token = strtok(text, " "); token; token = strtok(NULL, " ")) {
        CaseInput in;
        int copies;
        if (!read_token(token, &in, &copies)) return bad(c, "cannot read the input", token);
        for (; copies > 0; copies--) {
            if (p->nin == CASE_INPUTS) return bad(c, "too many inputs", token);
            p->in[p->nin++] = in;
        }
    }
    return true;
}

/* Takes "name=value" out of the attributes; false when it does not stand there. */
static bool take_number(char *attrs, const char *name, double *value) {
    size_t n = strlen(name);
    for (char *at = attrs; (at = strstr(at, name)); at++) {
        if ((at > attrs && at[-1] != ' ') || at[n] != '=') continue;
        char *end;
        *value = strtod(at + n + 1, &end);
        memset(at, ' ', (size_t)(end - at));
        return true;
    }
    return false;
}

/* Weak numbers of the signature that no token gives: from the attributes, or their defaults. */
static bool read_attrs(const Case *c, CasePlan *p) {
    char text[600];
    snprintf(text, sizeof text, "%s", c->attrs);
    SigInput sig[16];
    int n = op_signature(p->op, sig);
    for (int i = p->nin; i < n && i < CASE_INPUTS; i++) {
        if (!sig[i].is_weak) break;
        double value = sig[i].weak_default;
        take_number(text, sig[i].name, &value);
        p->in[p->nin++] =
            (CaseInput){.is_number = true, .lo = value, .hi = value, .type = {.dtype = DT_f32}};
    }
    if (p->op->attrs_size > sizeof p->attrs) return bad(c, "attributes are too large", text);
    attrs_init(p->op, p->attrs);
    if (attrs_parse(p->op, text, p->attrs) != OK) return bad(c, error_message(), text);
    return true;
}

bool case_plan(const Case *c, CasePlan *out) {
    memset(out, 0, sizeof *out);
    out->row = c;
    out->op = op_find(c->op);
    if (!out->op) return bad(c, "there is no such op", c->op);
    if (!read_inputs(c, out) || !read_attrs(c, out)) return false;
    case_draw(out);
    return true;
}

/* ---- values */

static void draw_distinct(const CaseInput *in, int64_t n, double *v, uint64_t *state) {
    double lo = in->lo, step = (in->hi - in->lo) / (double)(n ? n : 1);
    if (in->lo == in->hi) step = 0.25, lo = (double)(-n / 2) * step;
    if (!dtype_is_float(in->type.dtype)) step = ceil(step);
    for (int64_t i = 0; i < n; i++) v[i] = lo + (double)i * step;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t k = (int64_t)(case_random(state) % (uint64_t)(i + 1));
        double t = v[i];
        v[i] = v[k], v[k] = t;
    }
}

static void draw_input(const CaseInput *in, double *v, uint64_t state) {
    int64_t n = type_count(&in->type);
    DType d = in->type.dtype;
    double lo = in->lo, hi = in->hi;
    if (in->is_number) {
        v[0] = lo;
        return;
    }
    if (in->is_distinct) {
        draw_distinct(in, n, v, &state);
        return;
    }
    if (lo == hi) lo = -2, hi = 2;
    if (d == DT_bool || dtype_info[d].kind == KIND_UINT) lo = fmax(lo, 0);
    for (int64_t i = 0; i < n; i++) {
        double x = case_uniform(&state, lo, hi);
        v[i] = dtype_is_float(d) ? oracle_round(d, x) : floor(x);
    }
}

void case_draw(CasePlan *p) {
    for (int i = 0; i < p->nin; i++) {
        free(p->values[i]);
        p->values[i] = NULL;
        if (p->in[i].is_absent) continue;
        p->values[i] = calloc((size_t)type_count(&p->in[i].type) + 1, sizeof(double));
        draw_input(&p->in[i], p->values[i], seed_of(p->row, i));
    }
}

void case_done(CasePlan *p) {
    for (int i = 0; i < p->nin; i++) free(p->values[i]);
}

void case_resize(CasePlan *p, int64_t from, int64_t to) {
    for (int i = 0; i < p->nin; i++)
        for (int k = 0; k < p->in[i].type.rank; k++)
            if (p->in[i].type.dims[k] == from) p->in[i].type.dims[k] = to;
}

/* ---- tensors */

/* Strides of the layout, and where element 0 lies in a block of *room elements. */
static int64_t lay_out(const TensorType *t, Layout layout, int64_t *strides, int64_t *room) {
    int64_t start = 0, n = type_count(t);
    type_strides(t, strides);
    *room = n;
    if (layout == REVERSED) {
        int64_t s = 1;
        for (int i = 0; i < t->rank; i++) strides[i] = s, s *= t->dims[i];
    }
    if (layout == FLIPPED)
        for (int i = 0; i < t->rank; i++) {
            start += n ? strides[i] * (t->dims[i] - 1) : 0;
            strides[i] = -strides[i];
        }
    if (layout == SPREAD) {
        for (int i = 0; i < t->rank; i++) strides[i] *= 3;
        *room = 3 * n + 1;
        start = 1;
    }
    return start;
}

Tensor *tensor_of(const TensorType *type, const double *values, Layout layout) {
    int64_t strides[MAX_RANK], room, size = dtype_size(type->dtype), n = type_count(type);
    int64_t start = lay_out(type, layout, strides, &room);
    Tensor *block;
    if (tensor_new(&(TensorType){type->dtype, 1, {room}}, "test", &block) != OK) abort();
    double hole = dtype_is_float(type->dtype) ? NAN : type->dtype == DT_bool ? 1 : 77;
    for (int64_t i = 0; i < room; i++) oracle_put(type->dtype, block->data + i * size, hole);
    int64_t index[MAX_RANK] = {0};
    for (int64_t i = 0; i < n; i++) {
        int64_t at = start;
        for (int k = 0; k < type->rank; k++) at += index[k] * strides[k];
        oracle_put(type->dtype, block->data + at * size, values[i]);
        for (int k = type->rank - 1; k >= 0 && ++index[k] == type->dims[k]; k--) index[k] = 0;
    }
    Tensor *t = tensor_over(block->storage, type, strides, block->data + start * size);
    tensor_unref(block);
    return t;
}

double *values_of(const Tensor *t) {
    int64_t n = tensor_count(t), size = dtype_size(t->type.dtype);
    char *bytes = malloc((size_t)(n * size) + 1);
    double *v = calloc((size_t)n + 1, sizeof *v);
    tensor_copy_dense(t, bytes);
    for (int64_t i = 0; i < n; i++) v[i] = oracle_get(t->type.dtype, bytes + i * size);
    free(bytes);
    return v;
}

/* ---- calls */

/* What a Python number beside tensors becomes. */
static DType number_dtype(const CasePlan *p, const CaseInput *in, DType floats) {
    DType d = DT_NONE;
    for (int i = p->op->ewclass == EW_WHERE ? 1 : 0; i < p->nin; i++) {
        if (p->in[i].is_absent || p->in[i].is_number) continue;
        DType one = case_dtype(&p->in[i], floats);
        d = d == DT_NONE ? one : dtype_promote(d, one);
    }
    DKind kind = dtype_info[in->type.dtype].kind;
    if (in->lo == floor(in->lo) && d != DT_NONE && !dtype_is_float(d)) kind = KIND_INT;
    return d == DT_NONE ? in->type.dtype : dtype_promote_weak(d, kind);
}

DType case_dtype(const CaseInput *in, DType floats) {
    return dtype_is_float(in->type.dtype) && floats != DT_NONE ? floats : in->type.dtype;
}

static Tensor *make_input(const CasePlan *p, int i, DType floats, Layout layout) {
    const CaseInput *in = &p->in[i];
    TensorType type = in->type;
    type.dtype = (uint8_t)(in->is_number ? number_dtype(p, in, floats) : case_dtype(in, floats));
    if (layout == AS_ROW) layout = in->is_reversed ? REVERSED : DENSE;
    return tensor_of(&type, p->values[i], layout);
}

void case_run(const CasePlan *p, DType floats, Layout layout, uint32_t leaves, CaseRun *out) {
    memset(out, 0, sizeof *out);
    out->nin = p->nin;
    for (int i = 0; i < p->nin; i++) {
        if (p->in[i].is_absent) continue;
        out->in[i] = make_input(p, i, floats, layout);
        if (!(leaves >> i & 1) || p->in[i].is_number || !dtype_is_float(out->in[i]->type.dtype))
            continue;
        out->leaf[i] = tape_leaf();
        Tensor *t = tape_attach(out->in[i], out->leaf[i]);
        tensor_unref(out->in[i]);
        out->in[i] = t;
    }
    random_seed(7);
    bool countable = p->nin >= p->op->nin_min && (!p->nin || out->in[0]);
    int n = countable ? dispatch_nout(p->op, p->attrs, p->nin, out->in) : 0;
    if (n > CASE_OUTPUTS)
        out->status = FAIL(UNSUPPORTED, "%s: more results than a test takes", p->op->name);
    else
        out->status = dispatch(p->op, p->attrs, p->nin, out->in, out->out);
    out->nout = out->status == OK ? n : 0;
}

void run_free(CaseRun *r) {
    for (int i = 0; i < r->nin; i++) {
        tensor_unref(r->in[i]);
        if (r->leaf[i]) link_unref(r->leaf[i]);
    }
    for (int i = 0; i < r->nout; i++) tensor_unref(r->out[i]);
}

bool case_is_byproduct(const Op *op, int output) {
    static const struct {
        const char *op;
        int first; /* this result and all after it */
    } rows[] = {{"rnn_layer", 3},
                {"norm_rows", 1},
                {"cross_entropy_core", 1},
                {"ctc_loss", 1},
                {"ctc_loss_core", 1}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (!strcmp(rows[i].op, op->name)) return output >= rows[i].first;
    return false;
}

const char *case_kernel(const CasePlan *p, const CaseRun *r) {
    Buf in[CASE_INPUTS], out[CASE_OUTPUTS];
    for (int i = 0; i < r->nin; i++) {
        const Tensor *t = r->in[i];
        in[i] = t ? (Buf){&t->type, t->strides, t->data, t->dense} : (Buf){0};
    }
    for (int i = 0; i < r->nout; i++) out[i] = (Buf){.type = &r->out[i]->type, .dense = true};
    const Kernel *k;
    if (p->op->kind == K_MAP) return "";
    KernelArgs a = {.op = p->op, .attrs = p->attrs, .nin = r->nin, .nout = r->nout};
    a.in = in;
    a.out = out;
    return kernel_choose(&a, &k) == OK ? k->name : "";
}
