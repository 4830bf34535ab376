/* Random typed graphs: calls of the rows of cases.def over each other's results, with ifs, loops,
 * draws, constants and what the passes look for. The results of a graph, of the graph after all
 * passes, and of its plan have the same bits, or all three fail.
 *
 *     fuzz_graphs [-s seed] [-t seconds] [-n graphs] [-r graph]
 *
 * -r builds one graph again and prints it. A failing graph is made smaller as long as it fails, and
 * printed as text for dip-opt. */
#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "cases.h"
#include "graph/text.h"
#include "passes/edit.h"
#include "passes/passes.h"
#include "run/run.h"
#include "test.h"

enum {
    MOST_VALUES = 400,
    MOST_OUTPUTS = 16,
    MOST_DEPTH = 2,
    MOST_INPUTS = 200,
    MOST_NODES = 300,
    SHRINK_SECONDS = 10
};

typedef struct Fuzz {
    uint64_t seed, round, state;
    Graph *g;
    RegionId region;
    int depth;
    bool baits;              /* mostly what the passes look for */
    Value pool[MOST_VALUES]; /* in sight */
    int n;
} Fuzz;

static uint64_t draw(Fuzz *f, uint64_t n) { return case_random(&f->state) % n; }
static bool one_in(Fuzz *f, uint64_t n) { return draw(f, n) == 0; }

/* ---- building */

static void offer(Fuzz *f, Value v) {
    if (f->n < MOST_VALUES) f->pool[f->n++] = v;
}

static double odd_number(uint64_t *state, DType d) {
    static const double odd[] = {0, -0.0, 1, -1, INFINITY, NAN};
    if (!dtype_is_float(d)) return (double)(case_random(state) % 3);
    if (case_random(state) % 5 == 0) return odd[case_random(state) % COUNT_OF(odd)];
    return case_uniform(state, -2, 2);
}

static Tensor *random_tensor(const TensorType *type, uint64_t *state, Layout layout) {
    int64_t n = type_count(type);
    double *values = malloc(((size_t)n + 1) * sizeof *values),
           same = odd_number(state, type->dtype);
    bool repeated = case_random(state) % 3 == 0;
    for (int64_t i = 0; i < n; i++) values[i] = repeated ? same : odd_number(state, type->dtype);
    Tensor *t = tensor_of(type, values, layout);
    free(values);
    return t;
}

static Value add_const(Fuzz *f, const TensorType *type) {
    Tensor *t = random_tensor(type, &f->state, DENSE);
    Value v = graph_const(f->g, f->region, t);
    tensor_unref(t);
    return v;
}

/* A number that rules look for. */
static Value add_neutral(Fuzz *f, DType d) {
    static const double neutral[] = {0, -0.0, 1, -1};
    TensorType type = {.dtype = (uint8_t)d};
    Tensor *t = tensor_of(&type, &neutral[draw(f, COUNT_OF(neutral))], DENSE);
    Value v = graph_const(f->g, f->region, t);
    tensor_unref(t);
    return v;
}

static Value add_source(Fuzz *f, const TensorType *type) {
    bool large = type_count(type) > 4096; /* its values would not be in the text */
    bool given = large || (!one_in(f, 4) && f->g->ninputs < MOST_INPUTS);
    Value v = given ? graph_input(f->g, type) : add_const(f, type);
    offer(f, v);
    return v;
}

static bool is_integer(const TensorType *t) { return dtype_is_int(t->dtype); }

/* A value of this type: mostly one that is there, where it may be any. */
static Value find_value(Fuzz *f, const TensorType *type, bool any_values) {
    for (int tries = 0; tries < 30 && f->n && any_values; tries++) {
        Value v = f->pool[draw(f, (uint64_t)f->n)];
        if (type_equal(graph_type(f->g, v), type)) return v;
    }
    return add_source(f, type);
}

/* Inputs are of the types that dispatch would have made of them. */
static bool are_converted(const Op *op, int n, const TensorType *const *types) {
    const TensorType *first = NULL;
    for (int i = 0; i < n && op->rule != RULE_FREE; i++) {
        if (!types[i]) continue;
        if (!first) first = types[i];
        if (types[i]->dtype != first->dtype) return false;
        if (op->rule == RULE_FLOAT && !dtype_is_float(first->dtype)) return false;
    }
    return true;
}

/* Appends a call; 0 where its types do not fit. */
static NodeId add_call(Fuzz *f, const Op *op, const void *attrs, int nin, const Value *in) {
    Value all[CASE_INPUTS + 2];
    const TensorType *types[CASE_INPUTS];
    TensorType out[CASE_OUTPUTS];
    int n = op->nin_max == NIN_ANY ? nin : op->nin_max;
    for (int i = 0; i < n; i++) {
        all[i] = i < nin ? in[i] : 0;
        types[i] = all[i] ? graph_type(f->g, all[i]) : NULL;
    }
    OpCall call = {op, attrs, n, 0, types};
    call.nout = op_nout(&call);
    if (!are_converted(op, n, types) || call.nout > CASE_OUTPUTS || op->infer(&call, out) != OK)
        return 0;
    for (int i = 0; i < call.nout; i++)
        if (type_check(&out[i], "fuzz") != OK || type_count(&out[i]) > 4096) return 0;
    int64_t kept[CASE_ATTR_WORDS];
    memcpy(kept, attrs, op->attrs_size);
    uint32_t key, counter;
    bool draws = op->kind == K_RANDOM && op_draws(op, &key, &counter);
    if (draws) {
        TensorType place = {.dtype = DT_u64, .rank = 1, .dims = {2}};
        Node *d = graph_append(f->g, f->region, N_DRAW, 0, NULL, 1, &place);
        d->count = type_count(&out[0]);
        all[n++] = d->out[0];
        int64_t drawn[2] = {DRAWN_KEY, d->out[0]};
        memcpy((char *)kept + key, &drawn[0], sizeof *drawn);
        memcpy((char *)kept + counter, &drawn[1], sizeof *drawn);
    }
    graph_append(f->g, f->region, N_CALL, n, all, call.nout, out);
    NodeId id = f->g->nnodes - 1;
    graph_set_call(f->g, id, op, kept);
    graph_node(f->g, id)->draws = draws;
    for (int i = 0; i < call.nout; i++)
        if (!case_is_byproduct(op, i)) offer(f, graph_node(f->g, id)->out[i]);
    return id;
}

static void add_case(Fuzz *f) {
    CasePlan p;
    Value in[CASE_INPUTS];
    if (case_plan(&cases[draw(f, (uint64_t)ncases)], &p) && kernel_exists(p.op->id) &&
        !kernel_measure(p.op->id)) {
        bool any = p.op->kind == K_EWISE || p.op->kind == K_MAP || p.op->kind == K_REDUCE;
        for (int i = 0; i < p.nin; i++) {
            const TensorType *t = &p.in[i].type;
            in[i] = p.in[i].is_absent ? 0 : find_value(f, t, any || !is_integer(t));
        }
        add_call(f, p.op, p.attrs, p.nin, in);
    }
    case_done(&p);
}

static Value add_op(Fuzz *f, OpId id, const void *attrs, int nin, const Value *in) {
    int64_t preset[CASE_ATTR_WORDS];
    const Op *op = op_get(id);
    if (!attrs) attrs_init(op, preset);
    NodeId n = add_call(f, op, attrs ? attrs : preset, nin, in);
    return n ? graph_node(f->g, n)->out[0] : 0;
}

/* v and others of its type, one after the other, on either side. */
static void add_sum(Fuzz *f, Value v) {
    TensorType type = *graph_type(f->g, v);
    for (int n = 1 + (int)draw(f, 6); n-- && v;) {
        Value pair[2] = {v, find_value(f, &type, true)};
        if (one_in(f, 4)) pair[0] = pair[1], pair[1] = v;
        v = add_op(f, OP_add, NULL, 2, pair);
    }
}

/* What passes look for: there and back, neutral elements, the same again, sums. */
static void add_bait(Fuzz *f) {
    static const OpId unary[] = {OP_neg,         OP_abs,         OP_relu,       OP_floor,
                                 OP_logical_not, OP_bitwise_not, OP_zeros_like, OP_ones_like,
                                 OP_contiguous,  OP_round};
    static const OpId binary[] = {OP_add,         OP_sub,         OP_mul,        OP_div,
                                  OP_maximum,     OP_bitwise_and, OP_bitwise_or, OP_bitwise_xor,
                                  OP_logical_and, OP_logical_or};
    if (!f->n) return;
    Value v = f->pool[draw(f, (uint64_t)f->n)];
    TensorType type = *graph_type(f->g, v);
    if (one_in(f, 4)) { /* zeros of both signs */
        Value zeros = add_op(f, OP_mul, NULL, 2, (Value[]){v, add_neutral(f, type.dtype)});
        if (zeros) v = zeros;
        type = *graph_type(f->g, v);
    }
    if (one_in(f, 6)) return add_sum(f, v);
    if (one_in(f, 3)) {
        OpId op = unary[draw(f, COUNT_OF(unary))];
        for (int i = 0; i < 2 && v; i++) v = add_op(f, op, NULL, 1, &v);
    } else if (one_in(f, 2)) {
        Value pair[2] = {v, one_in(f, 4) ? v : add_neutral(f, type.dtype)};
        if (one_in(f, 2)) pair[0] = pair[1], pair[1] = v;
        add_op(f, binary[draw(f, COUNT_OF(binary))], NULL, 2, pair);
    } else if (one_in(f, 2)) {
        attrs_cast there = {.dtype = (int64_t)draw(f, NREAL)}, back = {.dtype = type.dtype};
        Value w = add_op(f, OP_cast, &there, 1, &v);
        if (w) add_op(f, OP_cast, &back, 1, &w);
    } else {
        attrs_reshape flat = {.shape = INTLIST1(type_count(&type))}, back = {.shape.n = type.rank};
        memcpy(back.shape.v, type.dims, type.rank * sizeof *type.dims);
        Value w = add_op(f, one_in(f, 2) ? OP_transpose : OP_reshape, NULL, 1, &v);
        if (!w) w = add_op(f, OP_reshape, &flat, 1, &v);
        if (w && one_in(f, 2)) w = add_op(f, OP_transpose, NULL, 1, &w);
        if (w) add_op(f, OP_reshape, &back, 1, &w);
    }
}

static void add_again(Fuzz *f) {
    if (!f->n) return;
    NodeId id = f->g->values[f->pool[draw(f, (uint64_t)f->n)]].node;
    const Node n = *graph_node(f->g, id);
    if (!id || n.kind != N_CALL || n.draws) return;
    add_call(f, n.op, n.attrs, n.nin, n.in);
}

static void add_nodes(Fuzz *f, int n);

static Value find_truth(Fuzz *f) {
    TensorType type = {.dtype = DT_bool};
    Value v = find_value(f, &type, true), w = find_value(f, &type, true);
    if (one_in(f, 4)) v = add_op(f, OP_logical_not, NULL, 1, &v);
    if (one_in(f, 4)) v = add_op(f, OP_logical_and, NULL, 2, (Value[]){v, w});
    return v;
}

/* A region with nodes of its own; results of the given types. */
static void fill_region(Fuzz *f, RegionId r, int n, const TensorType *types, Value *results) {
    RegionId around = f->region;
    f->region = r;
    add_nodes(f, (int)draw(f, 6));
    for (int i = 0; i < n; i++) results[i] = find_value(f, &types[i], true);
    f->region = around;
}

static int some_types(Fuzz *f, TensorType *types) {
    int n = (int)draw(f, 3);
    for (int i = 0; i < n; i++)
        types[i] = f->n ? *graph_type(f->g, f->pool[draw(f, (uint64_t)f->n)])
                        : (TensorType){.dtype = DT_f32};
    return n;
}

static void add_if(Fuzz *f) {
    TensorType types[4];
    Value results[4], condition = find_truth(f);
    int n = some_types(f, types), seen = f->n;
    RegionId regions[2];
    for (int k = 0; k < 2; k++) {
        regions[k] = graph_region(f->g, f->region);
        fill_region(f, regions[k], n, types, results);
        graph_results(f->g, regions[k], (uint32_t)n, results);
        f->n = seen;
    }
    graph_append(f->g, f->region, N_IF, 1, &condition, n, types);
    NodeId id = f->g->nnodes - 1;
    graph_attach(f->g, id, regions[0], regions[1]);
    for (int i = 0; i < n; i++) offer(f, graph_node(f->g, id)->out[i]);
}

/* A loop that counts to a small number, which is a constant or an input. */
static void add_while(Fuzz *f) {
    TensorType types[5] = {{.dtype = DT_i32}}, count = types[0];
    Value first[5], params[5], next[5];
    first[0] = one_in(f, 4) ? graph_input(f->g, &count) : add_const(f, &count);
    Value limit = add_const(f, &count), one = add_const(f, &count);
    int n = 1 + some_types(f, types + 1), seen = f->n;
    for (int i = 1; i < n; i++) first[i] = find_value(f, &types[i], true);
    seen = f->n;
    RegionId condition = graph_region(f->g, f->region), body = graph_region(f->g, condition);
    for (int i = 0; i < n; i++) params[i] = graph_param(f->g, condition, &types[i]);
    for (int i = 1; i < n; i++) offer(f, params[i]);
    RegionId around = f->region;
    f->region = condition;
    Value truth = add_op(f, OP_less, NULL, 2, (Value[]){params[0], limit});
    graph_results(f->g, condition, 1, &truth);
    f->region = body;
    one = add_op(f, OP_ones_like, NULL, 1, &one);
    next[0] = add_op(f, OP_add, NULL, 2, (Value[]){params[0], one});
    f->region = around;
    fill_region(f, body, n - 1, types + 1, next + 1);
    graph_results(f->g, body, (uint32_t)n, next);
    f->n = seen;
    graph_append(f->g, f->region, N_WHILE, n, first, n, types);
    NodeId id = f->g->nnodes - 1;
    graph_attach(f->g, id, condition, body);
    for (int i = 0; i < n; i++) offer(f, graph_node(f->g, id)->out[i]);
}

static void add_nodes(Fuzz *f, int n) {
    f->depth++;
    while (n-- && f->g->nnodes < MOST_NODES) {
        uint64_t kind = draw(f, 20);
        bool opens = f->depth <= MOST_DEPTH;
        if (kind == 0 && opens)
            add_if(f);
        else if (kind == 1 && opens)
            add_while(f);
        else if (kind < (f->baits ? 16 : 7))
            add_bait(f);
        else if (kind < (f->baits ? 18 : 10))
            add_again(f);
        else
            add_case(f);
    }
    f->depth--;
}

static char *random_graph(Fuzz *f) {
    Value results[MOST_OUTPUTS];
    f->g = graph_new();
    f->region = BODY;
    f->n = f->depth = 0;
    f->baits = one_in(f, 2);
    if (f->baits) add_source(f, &(TensorType){.dtype = DT_f32, .rank = 1, .dims = {6}});
    add_nodes(f, 3 + (int)draw(f, 25));
    uint32_t n = 0;
    while (n < MOST_OUTPUTS && f->n) results[n++] = f->pool[draw(f, (uint64_t)f->n)];
    if (n) results[0] = f->pool[f->n - 1];
    graph_results(f->g, BODY, n, results);
    char *text = graph_print(f->g);
    graph_unref(f->g);
    return text;
}

/* ---- running */

static Tensor **draw_inputs(const Graph *g, uint64_t seed) {
    Tensor **in = calloc(g->ninputs + 1, sizeof *in);
    for (uint32_t i = 0; i < g->ninputs; i++) {
        uint64_t state = seed + i;
        case_random(&state);
        Layout layout = case_random(&state) % 3 ? DENSE : (Layout)(case_random(&state) % NLAYOUTS);
        in[i] = random_tensor(graph_type(g, g->inputs[i]), &state, layout);
    }
    return in;
}

typedef Status (*RunFn)(Program *p, int nin, Tensor *const *in, Tensor **out);

/* Every run begins with the same random numbers and ends with as many drawn. */
static Status run(RunFn how, Graph *g, Tensor *const *in, Tensor **out, RandomState *end) {
    Program *p = calloc(1, sizeof *p);
    *p = (Program){.refs = 1, .graph = graph_ref(g), .noutputs = g->regions[BODY].nresults};
    p->sources = calloc(g->ninputs + 1, sizeof *p->sources);
    for (uint32_t i = 0; i < g->ninputs; i++) p->sources[i] = SOURCE_CALLER;
    random_seed(7);
    Status status = how(p, (int)g->ninputs, in, out);
    *end = random_state();
    program_unref(p);
    return status;
}

static bool same_element(DType d, const char *a, const char *b) {
    if (!memcmp(a, b, (size_t)dtype_size(d))) return true;
    if (!dtype_is_float(d)) return false;
    TensorType type = {.dtype = (uint8_t)d};
    double values[2];
    for (int i = 0; i < 2; i++) {
        Tensor *t;
        if (tensor_new(&type, "fuzz", &t) != OK) return false;
        memcpy(t->data, i ? b : a, (size_t)dtype_size(d));
        double *v = values_of(t);
        values[i] = *v;
        free(v);
        tensor_unref(t);
    }
    return isnan(values[0]) && isnan(values[1]);
}

static bool same_bits(const Tensor *a, const Tensor *b) {
    size_t n = (size_t)tensor_nbytes(a), size = (size_t)dtype_size(a->type.dtype);
    if (!type_equal(&a->type, &b->type)) return false;
    char *one = malloc(n + 1), *two = malloc(n + 1);
    tensor_copy_dense(a, one);
    tensor_copy_dense(b, two);
    bool same = true;
    for (size_t i = 0; i < n && same; i += size)
        same = same_element(a->type.dtype, one + i, two + i);
    free(one);
    free(two);
    return same;
}

/* What differs; NULL: nothing. Outputs of `got` are dropped. */
static const char *compare(Status want, Tensor **wanted, RandomState end, RunFn how, Graph *g,
                           Tensor *const *in, const char *what) {
    static char text[300];
    uint32_t n = g->regions[BODY].nresults;
    Tensor **out = calloc(n + 1, sizeof *out);
    RandomState after;
    Status status = run(how, g, in, out, &after);
    bool good = (status == OK) == (want == OK);
    if (!good) snprintf(text, sizeof text, "%s: %s", what, status == OK ? "OK" : error_message());
    if (good && status == OK && (after.key != end.key || after.counter != end.counter)) {
        good = false;
        snprintf(text, sizeof text, "%s draws other random numbers", what);
    }
    for (uint32_t i = 0; i < n && status == OK; i++) {
        if (good && want == OK && !same_bits(wanted[i], out[i])) {
            good = false;
            snprintf(text, sizeof text, "%s: result %u differs", what, i);
        }
        tensor_unref(out[i]);
    }
    free(out);
    return good ? NULL : text;
}

static long results, refusals;

/* What is wrong with this graph; NULL: nothing. */
static const char *check_runs(Graph *before, Graph *after, uint64_t seed) {
    Tensor **in = draw_inputs(before, seed);
    uint32_t n = before->regions[BODY].nresults;
    Tensor **out = calloc(n + 1, sizeof *out);
    RandomState end;
    Status status = run(program_run_nodes, before, in, out, &end);
    status == OK ? results++ : refusals++;
    const char *wrong =
        compare(status, out, end, program_run_nodes, after, in, "the graph after the passes");
    if (!wrong) wrong = compare(status, out, end, program_run, after, in, "the plan");
    for (uint32_t i = 0; i < n && status == OK; i++) tensor_unref(out[i]);
    free(out);
    for (uint32_t i = 0; i < before->ninputs; i++) tensor_unref(in[i]);
    free(in);
    return wrong;
}

static const char *check_text(const char *text, uint64_t seed) {
    static char message[400];
    Graph *before = NULL, *after = NULL;
    PassOptions o = pass_options();
    o.verify = true;
    o.levels.memory = seed % 2;
    const char *wrong = NULL;
    if (graph_parse(text, &before) != OK || graph_parse(text, &after) != OK ||
        passes_run(after, &o, NULL) != OK) {
        snprintf(message, sizeof message, "%s", error_message());
        wrong = message;
    }
    char *again = before ? graph_print(before) : NULL;
    if (!wrong && strcmp(again, text) != 0) wrong = "the text does not print as it was";
    if (!wrong) wrong = check_runs(before, after, seed);
    free(again);
    graph_unref(before);
    graph_unref(after);
    return wrong;
}

/* ---- making a failing graph smaller */

typedef struct Cut {
    NodeId node;
    uint32_t result; /* keep only this one; UINT32_MAX: all */
} Cut;

/* Results of the node become inputs of the graph. */
static void cut_node(Edit *e, NodeId id, void *ctx) {
    if (id != ((const Cut *)ctx)->node) return;
    for (int i = 0; i < graph_node(e->g, id)->nout; i++) {
        TensorType type = *graph_type(e->g, graph_node(e->g, id)->out[i]);
        edit_replace(e, graph_node(e->g, id)->out[i], graph_input(e->g, &type));
    }
    graph_drop(e->g, id);
}

static char *smaller(const char *text, Cut cut) {
    Graph *g;
    if (graph_parse(text, &g) != OK) return NULL;
    if (cut.result != UINT32_MAX && g->regions[BODY].nresults > 1)
        graph_results(g, BODY, 1, &(Value){g->regions[BODY].results[cut.result]});
    Edit e;
    edit_init(&e, g);
    if (cut.node) edit_walk(&e, &(Visitor){.node = cut_node, .ctx = &cut});
    edit_done(&e);
    pass_dead(g);
    char *made = graph_print(g);
    graph_unref(g);
    return made;
}

static bool try_cut(char **text, uint64_t seed, Cut cut) {
    char *made = smaller(*text, cut);
    bool good = made && strcmp(made, *text) != 0 && check_text(made, seed);
    if (good) {
        free(*text);
        *text = made;
    } else {
        free(made);
    }
    return good;
}

static void shrink(char **text, uint64_t seed) {
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++)
        if (try_cut(text, seed, (Cut){.result = i})) break;
    bool found = true;
    time_t end = time(NULL) + SHRINK_SECONDS;
    while (found && time(NULL) < end) {
        Graph *g;
        if (graph_parse(*text, &g) != OK) return;
        uint32_t n = g->nnodes;
        graph_unref(g);
        found = false;
        for (NodeId id = n; --id && time(NULL) < end;)
            found |= try_cut(text, seed, (Cut){id, UINT32_MAX});
    }
}

/* ---- rounds */

static void one_round(Fuzz *f, bool loud) {
    f->state = f->seed * 0x9E3779B97F4A7C15u ^ f->round;
    case_random(&f->state);
    uint64_t seed = case_random(&f->state);
    char *text = random_graph(f);
    if (loud) printf("%s", text);
    const char *wrong = check_text(text, seed);
    *(wrong ? &test_failed : &test_passed) += 1;
    if (wrong) {
        fprintf(stderr, "FAILED -s %" PRIu64 " -r %" PRIu64 ": %s\n", f->seed, f->round, wrong);
        shrink(&text, seed);
        wrong = check_text(text, seed);
        fprintf(stderr, "%s\n%s", wrong ? wrong : "", text);
    }
    free(text);
}

static bool number(const char *text, uint64_t *out) {
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return !errno && end != text && !*end;
}

int main(int argc, char **argv) {
    Fuzz f = {.seed = 1};
    uint64_t seconds = 0, graphs = 2000, only = UINT64_MAX;
    for (int i = 1; i < argc; i += 2) {
        uint64_t *target = !strcmp(argv[i], "-s")   ? &f.seed
                           : !strcmp(argv[i], "-t") ? &seconds
                           : !strcmp(argv[i], "-n") ? &graphs
                           : !strcmp(argv[i], "-r") ? &only
                                                    : NULL;
        if (!target || i + 1 == argc || !number(argv[i + 1], target)) {
            fprintf(stderr, "usage: fuzz_graphs [-s seed] [-t seconds] [-n graphs] [-r graph]\n");
            return 2;
        }
    }
    time_t end = time(NULL) + (time_t)seconds;
    bool loud = only != UINT64_MAX;
    if (loud) f.round = only, graphs = only + 1, seconds = 0;
    for (; seconds ? time(NULL) < end : f.round < graphs; f.round++) one_round(&f, loud);
    printf("seed %" PRIu64 ": %" PRIu64 " graphs, %ld runs, %ld refusals\n", f.seed, f.round,
           results, refusals);
    return test_done("fuzz_graphs");
}
