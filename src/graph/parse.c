/* Graphs from text: one pass over the characters, regions kept on a stack.
 *
 * Values get numbers in the order of their making while the text is read; at the end they take the
 * numbers that the text gives them. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "graph/literal.h"
#include "graph/text.h"

enum { MAX_NUMBER = 1 << 24, MAX_LIST = UINT16_MAX };

typedef struct List {
    uint32_t n, cap;
    uint32_t *v;
} List;

/* An If or a While whose regions are being read. */
typedef struct Open {
    NodeKind kind;
    RegionId regions[2];
    int which; /* the region that is open */
    List outs; /* numbers of the results */
    Value *in; /* the condition, or the first values */
    uint32_t nin;
} Open;

typedef struct Parser {
    const char *text, *at;
    Graph *g;
    List values;  /* number in the text -> value; 0: not defined */
    List numbers; /* value -> number in the text */
    Open *open;
    uint32_t depth, cap_open;
    NodeId last; /* the node just read, for its line */
} Parser;

static void list_set(List *l, uint32_t i, uint32_t value) {
    if (i >= l->cap) {
        uint32_t cap = 2 * i + 32;
        l->v = checked(realloc(l->v, cap * sizeof *l->v));
        memset(l->v + l->cap, 0, (cap - l->cap) * sizeof *l->v);
        l->cap = cap;
    }
    l->v[i] = value;
    if (i >= l->n) l->n = i + 1;
}
static void list_add(List *l, uint32_t value) { list_set(l, l->n, value); }
static uint32_t list_get(const List *l, uint32_t i) { return i < l->n ? l->v[i] : 0; }

/* ---- errors and characters */

static void place(const Parser *p, const char *at, int *line, int *column) {
    *line = 1;
    const char *start = p->text;
    for (const char *c = p->text; c < at; c++)
        if (*c == '\n') ++*line, start = c + 1;
    *column = (int)(at - start) + 1;
}

DIP_PRINTF(3, 4) static Status fail_at(const Parser *p, const char *at, const char *fmt, ...) {
    char what[400];
    int line, column;
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    place(p, at, &line, &column);
    return FAIL(VALUE, "graph text, line %d, column %d: %s", line, column, what);
}

/* The failure of something else, with the place in the text. */
static Status placed(const Parser *p, const char *at, Status status) {
    int line, column;
    if (status == OK) return OK;
    place(p, at, &line, &column);
    error_prefix("graph text, line %d, column %d: ", line, column);
    return status;
}

static void skip_blanks(Parser *p) { p->at += strspn(p->at, " \t\r"); }
static void skip_space(Parser *p) {
    for (;;) {
        p->at += strspn(p->at, " \t\r\n");
        if (*p->at != '#') return;
        p->at += strcspn(p->at, "\n");
    }
}

static bool accept(Parser *p, const char *word) {
    size_t n = strlen(word);
    skip_space(p);
    bool is_name = isalpha((unsigned char)word[n - 1]);
    if (strncmp(p->at, word, n) != 0) return false;
    if (is_name && (isalnum((unsigned char)p->at[n]) || p->at[n] == '_')) return false;
    p->at += n;
    return true;
}

static Status expect(Parser *p, const char *word) {
    return accept(p, word) ? OK : fail_at(p, p->at, "'%s' is expected here", word);
}

static Status read_name(Parser *p, char *name, size_t size) {
    skip_space(p);
    size_t n = 0;
    while (isalnum((unsigned char)p->at[n]) || p->at[n] == '_' || p->at[n] == '.') n++;
    if (!n || n >= size) return fail_at(p, p->at, "a name is expected here");
    memcpy(name, p->at, n);
    name[n] = 0;
    p->at += n;
    return OK;
}

/* ---- values and types */

static Status read_number(Parser *p, uint32_t *out) {
    TRY(expect(p, "%"));
    char *end;
    unsigned long n = strtoul(p->at, &end, 10);
    if (!isdigit((unsigned char)*p->at) || !n || n >= MAX_NUMBER)
        return fail_at(p, p->at, "the number of a value is expected: 1 to %d", MAX_NUMBER - 1);
    p->at = end;
    *out = (uint32_t)n;
    return OK;
}

static Status define(Parser *p, const char *at, uint32_t number, Value v) {
    if (list_get(&p->values, number)) return fail_at(p, at, "%%%u is defined twice", number);
    list_set(&p->values, number, v);
    list_set(&p->numbers, v, number);
    return OK;
}

/* A value in use, or `none`. */
static Status read_use(Parser *p, Value *out) {
    *out = 0;
    if (accept(p, "none")) return OK;
    const char *at = p->at;
    uint32_t number;
    TRY(read_number(p, &number));
    *out = list_get(&p->values, number);
    return *out ? OK : fail_at(p, at, "%%%u is used before its definition", number);
}

static Status read_type(Parser *p, TensorType *out) {
    char name[32];
    skip_space(p);
    const char *at = p->at;
    TRY(read_name(p, name, sizeof name));
    DType d = dtype_find(name);
    if (d == DT_NONE) return fail_at(p, at, "'%s' is no dtype", name);
    *out = (TensorType){.dtype = (uint8_t)d};
    TRY(expect(p, "["));
    while (!accept(p, "]")) {
        if (out->rank) TRY(expect(p, ","));
        skip_space(p);
        char *end;
        long long dim = strtoll(p->at, &end, 10);
        if (end == p->at || dim < 0 || dim == INT64_MAX)
            return fail_at(p, p->at, "a size is expected here");
        if (out->rank == MAX_RANK) return fail_at(p, p->at, "there are at most %d axes", MAX_RANK);
        out->dims[out->rank++] = dim;
        p->at = end;
    }
    return placed(p, at, type_check(out, "graph"));
}

/* ": type, type" for n results. */
static Status read_types(Parser *p, uint32_t n, TensorType *types) {
    for (uint32_t i = 0; i < n; i++) {
        TRY(expect(p, i ? "," : ":"));
        TRY(read_type(p, &types[i]));
    }
    return OK;
}

/* Values up to the closing word, which stays. */
static Status read_uses(Parser *p, List *out) {
    skip_space(p);
    while (*p->at == '%' || !strncmp(p->at, "none", 4)) {
        Value v;
        TRY(read_use(p, &v));
        if (out->n == MAX_LIST) return fail_at(p, p->at, "there are more than %d values", MAX_LIST);
        list_add(out, v);
        if (!accept(p, ",")) break;
        skip_space(p);
    }
    return OK;
}

/* ---- calls */

/* The length of an attribute's value: to the next comma or bracket that is not inside of it. */
static size_t value_length(const char *text) {
    size_t n = 0;
    int depth = 0;
    if (*text == '"') return strcspn(text + 1, "\"\n") + 2;
    for (; text[n] && text[n] != '\n' && (depth || (text[n] != ',' && text[n] != ')')); n++)
        depth += (text[n] == '(' || text[n] == '[') - (text[n] == ')' || text[n] == ']');
    return n;
}

static Status read_attr(Parser *p, const Op *op, void *attrs, uint64_t *given) {
    char name[64], value[400];
    const char *at = p->at;
    TRY(read_name(p, name, sizeof name));
    TRY(expect(p, "="));
    const AttrSpec *spec = attr_find(op, name);
    if (!spec) return fail_at(p, at, "%s has no attribute '%s'", op->name, name);
    size_t n = value_length(p->at), quoted = *p->at == '"';
    if (n >= sizeof value || (quoted && p->at[n - 1] != '"'))
        return fail_at(p, p->at, "the value of '%s' has no end", name);
    memcpy(value, p->at + quoted, n - 2 * quoted);
    value[n - 2 * quoted] = 0;
    TRY(placed(p, p->at, attr_parse(op, spec, value, attrs)));
    *given |= (uint64_t)1 << (spec - op->attrs);
    p->at += n;
    return OK;
}

typedef struct Call {
    const char *at; /* for messages */
    const Op *op;
    List in;
    bool draws;
    int64_t attrs[128];
} Call;

static uint32_t call_nin(const Call *c) { return c->in.n - c->draws; }

/* Optional inputs left out at the end. */
static void pad_inputs(Call *c) {
    while (c->op->nin_max != NIN_ANY && call_nin(c) < c->op->nin_max) list_add(&c->in, 0);
}

static Status read_call_draw(Parser *p, Call *c) {
    const char *at = p->at;
    Value v;
    uint32_t key, counter;
    TRY(read_use(p, &v));
    if (c->draws || !v || !op_draws(c->op, &key, &counter))
        return fail_at(p, at, "%s takes no draw here", c->op->name);
    uint64_t drawn[2] = {DRAWN_KEY, v};
    memcpy((char *)c->attrs + key, &drawn[0], sizeof *drawn);
    memcpy((char *)c->attrs + counter, &drawn[1], sizeof *drawn);
    pad_inputs(c);
    list_add(&c->in, v);
    c->draws = true;
    return OK;
}

/* What stands between the brackets of a call. */
static Status read_arguments(Parser *p, Call *c) {
    uint64_t given = 0;
    TRY(expect(p, "("));
    TRY(read_uses(p, &c->in));
    while (!accept(p, ")")) {
        TRY(accept(p, "draw=") ? read_call_draw(p, c) : read_attr(p, c->op, c->attrs, &given));
        if (!accept(p, ",")) {
            TRY(expect(p, ")"));
            break;
        }
    }
    for (int i = 0; i < c->op->nattrs; i++)
        if (!*c->op->attrs[i].preset && !c->draws && !(given >> i & 1))
            return fail_at(p, c->at, "%s: attribute '%s' must be given", c->op->name,
                           c->op->attrs[i].name);
    if (!c->draws) pad_inputs(c);
    return OK;
}

static Status check_inputs(const Parser *p, const Call *c) {
    uint32_t n = call_nin(c);
    if (n < c->op->nin_min || (c->op->nin_max != NIN_ANY && n > c->op->nin_max))
        return fail_at(p, c->at, "%s has %u inputs; it takes (%s)", c->op->name, n, c->op->sig);
    for (uint32_t i = 0; i < n; i++)
        if (!c->in.v[i] && (c->op->nin_max == NIN_ANY || i < c->op->nin_min))
            return fail_at(p, c->at, "%s: input %u is missing; it takes (%s)", c->op->name, i,
                           c->op->sig);
    return OK;
}

/* Results as many and of the types that the op gives. */
static Status check_results(const Parser *p, const Call *c, uint32_t nout,
                            const TensorType *types) {
    uint32_t n = call_nin(c);
    const TensorType **in = checked(malloc((n + 1) * sizeof *in));
    for (uint32_t i = 0; i < n; i++) in[i] = c->in.v[i] ? graph_type(p->g, c->in.v[i]) : NULL;
    OpCall call = {c->op, c->attrs, (int)n, (int)nout, in};
    TensorType *out = checked(calloc(nout + 1, sizeof *out));
    Status status = OK;
    if ((int)nout != op_nout(&call))
        status = fail_at(p, c->at, "%s has %d results", c->op->name, op_nout(&call));
    if (status == OK) status = placed(p, c->at, c->op->infer(&call, out));
    for (uint32_t i = 0; i < nout && status == OK; i++) {
        char text[200];
        if (!type_equal(&out[i], &types[i]))
            status = fail_at(p, c->at, "result %u of %s is %s", i, c->op->name,
                             type_text(&out[i], text, sizeof text));
    }
    free(out);
    free(in);
    return status;
}

static RegionId present(const Parser *p) {
    const Open *o = p->depth ? &p->open[p->depth - 1] : NULL;
    return o ? o->regions[o->which] : BODY;
}

static void append(Parser *p, NodeKind kind, const List *in, uint32_t nout,
                   const TensorType *types) {
    graph_append(p->g, present(p), kind, (int)in->n, in->v, (int)nout, types);
    p->last = p->g->nnodes - 1;
}

static Status read_call(Parser *p, const char *at, const char *name, uint32_t nout,
                        TensorType *types) {
    Call c = {.at = at, .op = op_find(name)};
    if (!c.op) return fail_at(p, at, "there is no op '%s'", name);
    attrs_init(c.op, c.attrs);
    Status status = read_arguments(p, &c);
    if (status == OK) status = read_types(p, nout, types);
    if (status == OK) status = check_inputs(p, &c);
    if (status == OK) status = check_results(p, &c, nout, types);
    if (status == OK) {
        append(p, N_CALL, &c.in, nout, types);
        graph_set_call(p->g, p->last, c.op, c.attrs);
        graph_node(p->g, p->last)->draws = c.draws;
    }
    free(c.in.v);
    return status;
}

/* ---- the other simple nodes */

static Status read_const(Parser *p, TensorType *type) {
    skip_space(p);
    const char *at = p->at, *end = at + strcspn(at, ":\n");
    p->at = end;
    TRY(read_types(p, 1, type));
    while (end > at && isspace((unsigned char)end[-1])) end--;
    Tensor *t;
    TRY(placed(p, at, literal_parse(at, (size_t)(end - at), type, &t)));
    graph_const(p->g, present(p), t);
    p->last = p->g->nnodes - 1;
    tensor_unref(t);
    return OK;
}

static Status read_count(Parser *p, int64_t most, int64_t *out) {
    char *end;
    skip_space(p);
    long long n = strtoll(p->at, &end, 10);
    if (end == p->at || n < 0 || n > most)
        return fail_at(p, p->at, "a number from 0 to %lld is expected here", (long long)most);
    p->at = end;
    *out = n;
    return OK;
}

static Status read_draw(Parser *p) {
    TensorType type = {.dtype = DT_u64, .rank = 1, .dims = {2}};
    int64_t count = 0;
    TRY(expect(p, "("));
    TRY(read_count(p, INT64_MAX, &count));
    TRY(expect(p, ")"));
    append(p, N_DRAW, &(List){0}, 1, &type);
    graph_node(p->g, p->last)->count = count;
    return OK;
}

/* push 0(%1, %2)   pop 0 : types   left 0 */
static Status read_stack(Parser *p, NodeKind kind, uint32_t nout, TensorType *types) {
    List in = {0};
    int64_t stack = 0;
    TRY(read_count(p, MAX_NUMBER, &stack));
    Status status = OK;
    if (kind == N_PUSH) {
        TRY(expect(p, "("));
        status = read_uses(p, &in);
        if (status == OK) status = expect(p, ")");
    }
    if (kind == N_POP) status = read_types(p, nout, types);
    if (kind == N_LEFT) types[0] = (TensorType){.dtype = DT_bool};
    if (status == OK) {
        append(p, kind, &in, nout, types);
        graph_node(p->g, p->last)->count = stack;
        if (stack >= p->g->nstacks) p->g->nstacks = (uint32_t)stack + 1;
    }
    free(in.v);
    return status;
}

static Status no_code(void *ctx, int nin, Tensor *const *in, int nout, Tensor **out) {
    (void)nin, (void)in, (void)nout, (void)out;
    return FAIL(RUNTIME, "the graph was read from text, where function %s has no code",
                (const char *)ctx);
}

static Status read_host(Parser *p, uint32_t nout, TensorType *types) {
    bool late = accept(p, "late");
    char name[64];
    List in = {0};
    TRY(read_name(p, name, sizeof name));
    TRY(expect(p, "("));
    Status status = read_uses(p, &in);
    for (uint32_t i = 0; i < in.n && status == OK; i++)
        if (!in.v[i]) status = fail_at(p, p->at, "none cannot be given to a function outside");
    if (status == OK) status = expect(p, ")");
    if (status == OK) status = read_types(p, nout, types);
    if (status == OK) {
        append(p, N_HOST, &in, nout, types);
        char *kept = strcpy(graph_alloc(p->g, strlen(name) + 1), name);
        Host *host = checked(malloc(sizeof *host));
        *host = (Host){.refs = 1, .is_late = late, .name = kept, .call = no_code, .ctx = kept};
        graph_node(p->g, p->last)->host = host;
    }
    free(in.v);
    return status;
}

/* ---- If and While */

static Open *push(Parser *p, NodeKind kind, List outs) {
    if (p->depth == p->cap_open) {
        p->cap_open = 2 * p->cap_open + 8;
        p->open = checked(realloc(p->open, p->cap_open * sizeof *p->open));
    }
    RegionId around = present(p);
    Open *o = &p->open[p->depth++];
    *o = (Open){.kind = kind, .outs = outs};
    o->regions[0] = graph_region(p->g, around);
    o->regions[1] = graph_region(p->g, kind == N_IF ? around : o->regions[0]);
    return o;
}

static Status open_if(Parser *p, List *outs) {
    Value condition;
    TRY(read_use(p, &condition));
    if (!condition) return fail_at(p, p->at, "none cannot be a condition");
    TRY(expect(p, "{"));
    Open *o = push(p, N_IF, *outs);
    *outs = (List){0};
    o->in = checked(malloc(sizeof *o->in));
    o->in[0] = condition;
    o->nin = 1;
    return OK;
}

static Status open_while(Parser *p, List *outs) {
    List first = {0};
    Status status = expect(p, "(");
    Open *o = push(p, N_WHILE, *outs);
    *outs = (List){0};
    while (status == OK && !accept(p, ")")) {
        uint32_t number;
        Value v = 0;
        if (first.n) status = expect(p, ",");
        skip_space(p);
        const char *at = p->at;
        if (status == OK) status = read_number(p, &number);
        if (status == OK) status = expect(p, "=");
        if (status == OK) status = read_use(p, &v);
        if (status == OK && !v) status = fail_at(p, at, "a loop cannot carry none");
        if (status != OK) break;
        TensorType type = *graph_type(p->g, v);
        status = define(p, at, number, graph_param(p->g, o->regions[0], &type));
        list_add(&first, v);
    }
    o->in = first.v;
    o->nin = first.n;
    return status == OK ? expect(p, "{") : status;
}

static Status define_results(Parser *p, const char *at, const List *numbers) {
    for (uint32_t i = 0; i < numbers->n; i++)
        TRY(define(p, at, numbers->v[i], graph_node(p->g, p->last)->out[i]));
    return OK;
}

/* After the second region: the node itself. */
static Status close_node(Parser *p, const char *at) {
    Open *o = &p->open[--p->depth];
    uint32_t n = o->outs.n;
    TensorType *types = checked(calloc(n + 1, sizeof *types));
    Status status = read_types(p, n, types);
    if (status == OK) {
        append(p, o->kind, &(List){.n = o->nin, .v = o->in}, n, types);
        graph_attach(p->g, p->last, o->regions[0], o->regions[1]);
        status = define_results(p, at, &o->outs);
    }
    free(types);
    free(o->outs.v);
    free(o->in);
    return status;
}

/* "yield %1" and what follows: the other region, or the end of the node. */
static Status close_region(Parser *p, bool *closed) {
    static const char *const words[2][2] = {{"yield", "yield"}, {"test", "next"}};
    static const char *const betweens[] = {"else", "do"};
    Open *o = p->depth ? &p->open[p->depth - 1] : NULL;
    const char *word = o ? words[o->kind == N_WHILE][o->which] : "return";
    *closed = accept(p, word);
    if (!*closed) return OK;
    const char *at = p->at;
    List results = {0};
    Status status = read_uses(p, &results);
    for (uint32_t i = 0; i < results.n && status == OK; i++)
        if (!results.v[i]) status = fail_at(p, at, "none cannot be a result");
    if (status == OK) graph_results(p->g, present(p), results.n, results.v);
    free(results.v);
    TRY(status);
    TRY(expect(p, "}"));
    if (!o) return OK;
    if (o->which) return close_node(p, at);
    o->which = 1;
    TRY(expect(p, betweens[o->kind == N_WHILE]));
    return expect(p, "{");
}

/* ---- statements */

/* One "net.py:12" of n characters; false: it is something else. */
static bool read_place(Parser *p, const char *from, size_t n, Line *line) {
    const char *colon = from + n;
    while (colon > from && *colon != ':') colon--;
    char *stop, *file;
    long number = *colon == ':' ? strtol(colon + 1, &stop, 10) : 0;
    if (number <= 0 || number > INT32_MAX || stop != from + n || colon - from > 255) return false;
    file = graph_alloc(p->g, (size_t)(colon - from) + 1);
    memcpy(file, from, (size_t)(colon - from));
    file[colon - from] = 0;
    *line = (Line){.file = file, .function = "", .line = (int)number};
    return true;
}

/* "# net.py:12, net.py:15" behind a node. */
static void read_line(Parser *p) {
    skip_blanks(p);
    if (*p->at != '#' || !p->last) return;
    const char *from = p->at + 1, *end = from + strcspn(from, "\n");
    uint32_t place = 0;
    Line line;
    for (p->at = end; from < end; from += strcspn(from, ",\n") + 1) {
        from += strspn(from, " ");
        if (!read_place(p, from, strcspn(from, ",\n"), &line)) return;
        place = graph_line_with(p->g, place, graph_line(p->g, &line));
    }
    graph_node(p->g, p->last)->line = place;
}

static Status read_outs(Parser *p, List *outs) {
    skip_space(p);
    if (*p->at != '%') return OK;
    do {
        uint32_t number;
        TRY(read_number(p, &number));
        if (outs->n == MAX_LIST)
            return fail_at(p, p->at, "there are more than %d results", MAX_LIST);
        list_add(outs, number);
    } while (accept(p, ","));
    return expect(p, "=");
}

static Status read_simple(Parser *p, const char *start, uint32_t nout, TensorType *types) {
    char name[64];
    skip_space(p);
    const char *at = p->at;
    TRY(read_name(p, name, sizeof name));
    static const char *const singles[] = {"const", "undef", "draw", "left", "push"};
    for (size_t i = 0; i < COUNT_OF(singles); i++)
        if (!strcmp(name, singles[i]) && nout != (strcmp(name, "push") != 0))
            return fail_at(p, start, "%s has %s", name, nout ? "other results" : "one result");
    if (!strcmp(name, "const")) return read_const(p, types);
    if (!strcmp(name, "draw")) return read_draw(p);
    if (!strcmp(name, "push")) return read_stack(p, N_PUSH, nout, types);
    if (!strcmp(name, "pop")) return read_stack(p, N_POP, nout, types);
    if (!strcmp(name, "left")) return read_stack(p, N_LEFT, nout, types);
    if (!strcmp(name, "host")) return read_host(p, nout, types);
    if (strcmp(name, "undef") != 0) {
        TRY(read_call(p, at, name, nout, types));
        skip_blanks(p);
        if (*p->at != 'a' && *p->at != 'k') return OK;
        bool kept = accept(p, "kept");
        if (!kept) TRY(expect(p, "again"));
        int64_t part;
        TRY(read_count(p, UINT32_MAX, &part));
        graph_node(p->g, p->last)->again = (uint32_t)part;
        graph_node(p->g, p->last)->kept = kept;
        return OK;
    }
    TRY(read_types(p, 1, types));
    append(p, N_UNDEF, &(List){0}, 1, types);
    return OK;
}

static Status read_statement(Parser *p) {
    List outs = {0};
    skip_space(p);
    const char *start = p->at;
    Status status = read_outs(p, &outs);
    p->last = 0;
    if (status == OK && accept(p, "if")) {
        status = open_if(p, &outs);
    } else if (status == OK && accept(p, "while")) {
        status = open_while(p, &outs);
    } else if (status == OK) {
        TensorType *types = checked(calloc(outs.n + 1, sizeof *types));
        status = read_simple(p, start, outs.n, types);
        free(types);
        if (status == OK) status = define_results(p, start, &outs);
    }
    free(outs.v);
    return status;
}

static Status read_inputs(Parser *p) {
    TRY(expect(p, "graph"));
    TRY(expect(p, "("));
    while (!accept(p, ")")) {
        uint32_t number;
        TensorType type;
        if (p->g->ninputs) TRY(expect(p, ","));
        skip_space(p);
        const char *at = p->at;
        TRY(read_number(p, &number));
        TRY(expect(p, ":"));
        TRY(read_type(p, &type));
        TRY(define(p, at, number, graph_input(p->g, &type)));
    }
    return expect(p, "{");
}

static Status read_all(Parser *p) {
    TRY(read_inputs(p));
    for (bool done = false; !done;) {
        bool closed;
        p->last = 0;
        TRY(close_region(p, &closed));
        if (closed && !p->depth && !p->last)
            done = true;
        else if (!closed)
            TRY(read_statement(p));
        read_line(p);
    }
    skip_space(p);
    return *p->at ? fail_at(p, p->at, "the text should end here") : OK;
}

/* ---- numbers as in the text */

static void renumber(uint32_t n, Value *v, const List *to) {
    for (uint32_t i = 0; i < n; i++) v[i] = list_get(to, v[i]);
}

static void take_numbers(Parser *p) {
    Graph *g = p->g;
    uint32_t last = 0;
    for (uint32_t v = 1; v < g->nvalues; v++)
        if (list_get(&p->numbers, v) > last) last = list_get(&p->numbers, v);
    ValueInfo *values = checked(calloc((size_t)last + 1, sizeof *values));
    values[0] = g->values[0];
    for (uint32_t v = 1; v < g->nvalues; v++) values[list_get(&p->numbers, v)] = g->values[v];
    free(g->values);
    g->values = values;
    g->nvalues = g->cap_values = last + 1;
    renumber(g->ninputs, g->inputs, &p->numbers);
    for (NodeId n = 1; n < g->nnodes; n++) {
        Node *node = graph_node(g, n);
        renumber(node->nin, node->in, &p->numbers);
        renumber(node->nout, node->out, &p->numbers);
        uint32_t key, counter;
        if (!node->draws || !op_draws(node->op, &key, &counter)) continue;
        int64_t draw = node->in[node->nin - 1];
        memcpy((char *)node->attrs + counter, &draw, sizeof draw);
    }
    for (RegionId r = 1; r < g->nregions; r++) {
        renumber(g->regions[r].nparams, g->regions[r].params, &p->numbers);
        renumber(g->regions[r].nresults, g->regions[r].results, &p->numbers);
    }
}

Status graph_parse(const char *text, Graph **out) {
    Parser p = {.text = text, .at = text, .g = graph_new()};
    Status status = read_all(&p);
    if (status == OK) take_numbers(&p);
    if (status == OK) status = graph_verify(p.g);
    while (p.depth) {
        free(p.open[--p.depth].outs.v);
        free(p.open[p.depth].in);
    }
    free(p.open);
    free(p.values.v);
    free(p.numbers.v);
    if (status == OK)
        *out = p.g;
    else
        graph_unref(p.g);
    return status;
}
