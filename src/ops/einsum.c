/* einsum: the equation is read here and becomes transposes, reshapes, products and sums.
 *
 * Every axis gets a label: a letter, or for axes under "..." a number counted from the right. An
 * operand with a label twice gives its diagonal; axes of size 1 that stand for more are dropped;
 * labels that nobody needs later are summed; two operands meet in one batched matrix product over
 * (kept by both, only left, summed) and (kept by both, summed, only right). */
#include <ctype.h>
#include <string.h>

#include "ops/functions.h"

enum { NLABELS = 64, DOTS = 52 }; /* a-z, A-Z, then the axes under "..." */

/* Labels of one operand or of the result, one an axis. */
typedef struct Term {
    int rank;
    int8_t label[2 * MAX_RANK];
} Term;

typedef struct Equation {
    int n;
    Term in[16], out;
    int64_t sizes[NLABELS]; /* -1: not used */
} Equation;

static int letter(char c) { return islower((unsigned char)c) ? c - 'a' : c - 'A' + 26; }

/* One term of the text; `rank` axes, or -1 for the result, where "..." stands for `ndots` axes. */
static Status read_term(const char *text, size_t n, int rank, int ndots, Term *t) {
    int letters = 0;
    for (size_t i = 0; i < n; i++) letters += isalpha((unsigned char)text[i]) != 0;
    int under_dots = rank < 0 ? ndots : rank - letters;
    *t = (Term){0};
    for (size_t i = 0; i < n; i++) {
        if (isspace((unsigned char)text[i])) continue;
        bool dots = i + 2 < n && !strncmp(text + i, "...", 3);
        if (!dots && !isalpha((unsigned char)text[i]))
            return FAIL(VALUE,
                        "einsum: the equation has '%c'; it takes letters, '...', ',' and '->'",
                        text[i]);
        int more = dots ? max_i64(under_dots, 0) : 1;
        if (t->rank + more > MAX_RANK)
            return FAIL(VALUE, "einsum: a term has more than %d axes", MAX_RANK);
        for (int k = 0; k < more; k++)
            t->label[t->rank++] = (int8_t)(dots ? DOTS + more - 1 - k : letter(text[i]));
        if (dots) i += 2;
    }
    return OK;
}

/* Sizes agree wherever a label appears; under "..." a size of 1 gives way. */
static Status take_sizes(const OpCall *c, int operand, Equation *e) {
    const Term *t = &e->in[operand];
    const TensorType *x = c->in[operand];
    if (t->rank != x->rank)
        return FAIL(VALUE, "einsum: term %d of '%s' names %d axes, its tensor has %d", operand,
                    ((const attrs_einsum *)c->attrs)->equation, t->rank, x->rank);
    for (int i = 0; i < t->rank; i++) {
        int64_t *size = &e->sizes[t->label[i]], have = x->dims[i];
        bool gives_way = t->label[i] >= DOTS && (have == 1 || *size == 1);
        if (*size >= 0 && *size != have && !gives_way)
            return FAIL(VALUE,
                        "einsum: axis %d of tensor %d has size %lld, another tensor %lld there", i,
                        operand, (long long)have, (long long)*size);
        *size = *size < 0 || *size == 1 ? have : *size;
    }
    return OK;
}

/* Without "->": axes under "...", then the letters that appear once, in alphabetical order. */
static void implied_result(Equation *e) {
    int count[NLABELS] = {0};
    for (int k = 0; k < e->n; k++)
        for (int i = 0; i < e->in[k].rank; i++) count[e->in[k].label[i]]++;
    for (int l = NLABELS - 1; l >= DOTS; l--)
        if (count[l]) e->out.label[e->out.rank++] = (int8_t)l;
    for (int l = 0; l < DOTS; l++)
        if (count[l] == 1) e->out.label[e->out.rank++] = (int8_t)l;
}

static Status check_result(const Equation *e) {
    uint64_t seen = 0;
    if (e->out.rank > MAX_RANK)
        return FAIL(VALUE, "einsum: the result would have more than %d axes", MAX_RANK);
    for (int i = 0; i < e->out.rank; i++) {
        int l = e->out.label[i];
        if (e->sizes[l] < 0 || seen >> l & 1)
            return FAIL(VALUE, "einsum: axis %d of the result %s", i,
                        seen >> l & 1 ? "is named twice" : "appears in no tensor");
        seen |= (uint64_t)1 << l;
    }
    return OK;
}

static Status read_equation(const OpCall *c, Equation *e) {
    const char *text = ((const attrs_einsum *)c->attrs)->equation, *arrow = strstr(text, "->");
    *e = (Equation){.n = c->nin};
    for (int l = 0; l < NLABELS; l++) e->sizes[l] = -1;
    const char *end = arrow ? arrow : text + strlen(text), *at = text;
    int ndots = 0, terms = 1;
    for (const char *p = text; p < end; p++) terms += *p == ',';
    if (c->nin > 16 || terms != c->nin)
        return FAIL(VALUE, "einsum: '%s' has %d terms for %d tensors (at most 16)", text, terms,
                    c->nin);
    for (int k = 0; k < c->nin; k++) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        TRY(read_term(at, (size_t)(stop - at), c->in[k]->rank, 0, &e->in[k]));
        TRY(take_sizes(c, k, e));
        at = stop + 1;
    }
    for (int l = DOTS; l < NLABELS; l++) ndots += e->sizes[l] >= 0;
    if (arrow)
        TRY(read_term(arrow + 2, strlen(arrow + 2), -1, ndots, &e->out));
    else
        implied_result(e);
    return check_result(e);
}

Status infer_einsum(const OpCall *c, TensorType *out) {
    Equation e;
    TRY(read_equation(c, &e));
    *out = (TensorType){.dtype = c->in[0]->dtype, .rank = (uint8_t)e.out.rank};
    for (int i = 0; i < e.out.rank; i++) out->dims[i] = e.sizes[e.out.label[i]];
    return OK;
}

/* ---- the calls */

typedef struct Operand {
    Ref x;
    Term t;
} Operand;

static int find_label(const Term *t, int label) {
    for (int i = 0; i < t->rank; i++)
        if (t->label[i] == label) return i;
    return -1;
}

static void remove_axis(Term *t, int axis) {
    memmove(t->label + axis, t->label + axis + 1, (size_t)(t->rank - axis - 1));
    t->rank--;
}

static void take_diagonals(Builder *b, Operand *o) {
    for (int i = 0; i < o->t.rank; i++)
        for (int k = i + 1; k < o->t.rank; k++) {
            if (o->t.label[i] != o->t.label[k]) continue;
            int8_t label = o->t.label[i];
            o->x =
                b_op1(b, OP_diagonal, &(attrs_diagonal){.offset = 0, .dim1 = i, .dim2 = k}, o->x);
            remove_axis(&o->t, k);
            remove_axis(&o->t, i);
            o->t.label[o->t.rank++] = label;
            k = i; /* the axis at i is another one now */
        }
}

/* Sums the axes whose label is not in `needed`. */
static void sum_unneeded(Builder *b, Operand *o, uint64_t needed) {
    IntList axes = {0};
    for (int i = 0; i < o->t.rank; i++)
        if (!(needed >> o->t.label[i] & 1)) axes.v[axes.n++] = i;
    if (axes.n == 0) return;
    o->x = b_sum(b, o->x, axes, false);
    for (int i = (int)axes.n - 1; i >= 0; i--) remove_axis(&o->t, (int)axes.v[i]);
}

static uint64_t labels_of(const Term *t) {
    uint64_t set = 0;
    for (int i = 0; i < t->rank; i++) set |= (uint64_t)1 << t->label[i];
    return set;
}

/* x with its axes in the order of `order`, which has the same labels. */
static Ref arrange(Builder *b, const Operand *o, const Term *order) {
    int64_t perm[MAX_RANK];
    bool moved = false;
    for (int i = 0; i < order->rank; i++) {
        perm[i] = find_label(&o->t, order->label[i]);
        moved |= perm[i] != i;
    }
    return moved ? b_transpose(b, o->x, perm) : o->x;
}

/* Appends the labels of t that are in the set; returns the product of their sizes. */
static int64_t append(Term *order, const Term *t, uint64_t set, const int64_t *sizes) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        if (set >> t->label[i] & 1) {
            order->label[order->rank++] = t->label[i];
            n *= sizes[t->label[i]];
        }
    return n;
}

static Status too_many_axes(void) {
    return FAIL(UNSUPPORTED,
                "einsum: a product on the way has more than %d axes; "
                "give the tensors in another order",
                MAX_RANK);
}

/* left times right where nothing is summed: element by element, over the labels of left and then
 * those that right alone has. */
static Operand multiply_elements(Builder *b, const Operand *left, const Operand *right,
                                 const int64_t *sizes) {
    uint64_t l = labels_of(&left->t), r = labels_of(&right->t);
    Term z = left->t, y = {0};
    append(&z, &right->t, r & ~l, sizes);
    if (z.rank > MAX_RANK && b->status == OK) b->status = too_many_axes();
    if (b->status != OK) return *left;
    int64_t dims[MAX_RANK], ones[MAX_RANK];
    for (int i = 0; i < z.rank; i++) {
        bool in_left = l >> z.label[i] & 1, in_right = r >> z.label[i] & 1;
        dims[i] = in_left ? sizes[z.label[i]] : 1;
        ones[i] = in_right ? sizes[z.label[i]] : 1;
        if (in_right) y.label[y.rank++] = z.label[i];
    }
    Ref p = b_reshape(b, left->x, z.rank, dims);
    Ref q = b_reshape(b, arrange(b, right, &y), z.rank, ones);
    return (Operand){b_op2(b, OP_mul, NULL, p, q), z};
}

/* left times right, summed over what both have and nobody needs later. */
static Operand multiply(Builder *b, const Operand *left, const Operand *right, uint64_t needed,
                        const int64_t *sizes) {
    uint64_t l = labels_of(&left->t), r = labels_of(&right->t);
    uint64_t both = l & r & needed, summed = l & r & ~needed;
    if (!summed) return multiply_elements(b, left, right, sizes);
    Term x = {0}, y = {0}, z = {0};
    int64_t batch = append(&x, &left->t, both, sizes);
    append(&y, &left->t, both, sizes);
    append(&z, &left->t, both, sizes);
    int64_t rows = append(&x, &left->t, l & ~r, sizes);
    append(&z, &left->t, l & ~r, sizes);
    int64_t inner = append(&x, &left->t, summed, sizes);
    append(&y, &left->t, summed, sizes);
    int64_t columns = append(&y, &right->t, r & ~l, sizes);
    append(&z, &right->t, r & ~l, sizes);
    Ref p = b_reshape(b, arrange(b, left, &x), 3, (int64_t[]){batch, rows, inner});
    Ref q = b_reshape(b, arrange(b, right, &y), 3, (int64_t[]){batch, inner, columns});
    int64_t dims[2 * MAX_RANK];
    for (int i = 0; i < z.rank; i++) dims[i] = sizes[z.label[i]];
    if (z.rank > MAX_RANK && b->status == OK) b->status = too_many_axes();
    return (Operand){b_reshape(b, b_op2(b, OP_matmul, NULL, p, q), z.rank, dims), z};
}

/* Axes of size 1 where another operand has more elements: as if they were not there. */
static void drop_repeated(Builder *b, Operand *o, const TensorType *x, const int64_t *sizes) {
    int64_t dims[MAX_RANK];
    Term left = {0};
    for (int i = 0; i < x->rank; i++) {
        if (x->dims[i] != sizes[o->t.label[i]]) continue;
        dims[left.rank] = x->dims[i];
        left.label[left.rank++] = o->t.label[i];
    }
    if (left.rank == x->rank) return;
    *o = (Operand){b_reshape(b, o->x, left.rank, dims), left};
}

void expand_einsum(ExpandCtx *c) {
    Builder *b = c->b;
    const TensorType *types[16];
    for (int k = 0; k < c->nin && k < 16; k++) types[k] = b_type(b, c->x[k]);
    Equation e;
    b->status = read_equation(&(OpCall){c->op, c->attrs, c->nin, 1, types}, &e);
    if (b->status != OK) return;
    Operand have = {0};
    for (int k = 0; k < e.n; k++) {
        uint64_t needed = labels_of(&e.out);
        for (int m = k + 1; m < e.n; m++) needed |= labels_of(&e.in[m]);
        Operand next = {c->x[k], e.in[k]};
        drop_repeated(b, &next, types[k], e.sizes);
        take_diagonals(b, &next);
        sum_unneeded(b, &next, needed | (k ? labels_of(&have.t) : 0));
        have = k ? multiply(b, &have, &next, needed, e.sizes) : next;
    }
    sum_unneeded(b, &have, labels_of(&e.out));
    c->r[0] = arrange(b, &have, &e.out);
}
