/* If and While in a captured graph. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eager/capture.h"
#include "eager/dispatch.h"
#include "eager/record.h"

/* ---- If */

static Status check_condition(const Tensor *t, const char *what) {
    if (t->type.dtype == DT_bool && t->type.rank == 0) return OK;
    char text[200];
    return FAIL(TYPE, "the condition of %s is %s; it must be bool[]", what,
                type_text(&t->type, text, sizeof text));
}

static Status side_values(Capture *c, Side s, int n, Value *v) {
    capture_enter(c, s.region);
    Status status = OK;
    for (int i = 0; i < n && status == OK; i++) status = capture_value(c, s.values[i], &v[i]);
    capture_leave(c);
    return status;
}

static Status check_same(int i, const TensorType *a, const TensorType *b, const char *what) {
    if (type_equal(a, b)) return OK;
    char one[200], two[200];
    return FAIL(TYPE, "%s: value %d is %s on one side and %s on the other", what, i,
                type_text(a, one, sizeof one), type_text(b, two, sizeof two));
}

static Status add_if(Capture *c, Tensor *condition, Side then, Side other, int n, Tensor **out) {
    TRY(check_condition(condition, "if"));
    for (int i = 0; i < n; i++)
        TRY(check_same(i, &then.values[i]->type, &other.values[i]->type, "if"));
    Value cond, *v = checked(calloc(2 * (size_t)n + 1, sizeof *v));
    TensorType *types = checked(calloc((size_t)n + 1, sizeof *types));
    Status status = capture_value(c, condition, &cond);
    if (status == OK) status = side_values(c, then, n, v);
    if (status == OK) status = side_values(c, other, n, v + n);
    if (status == OK) {
        for (int i = 0; i < n; i++) types[i] = then.values[i]->type;
        graph_results(capture_graph(c), then.region, (uint32_t)n, v);
        graph_results(capture_graph(c), other.region, (uint32_t)n, v + n);
        NodeId id = capture_node(c, N_IF, 1, &cond, n, types, out);
        graph_attach(capture_graph(c), id, then.region, other.region);
        Tensor **kept = checked(calloc(2 * (size_t)n + 1, sizeof *kept));
        kept[0] = condition;
        memcpy(kept + 1, then.values, (size_t)n * sizeof *kept);
        memcpy(kept + 1 + n, other.values, (size_t)n * sizeof *kept);
        capture_keep(c, id, 1 + 2 * n, kept);
        free(kept);
    }
    free(v);
    free(types);
    TRY(status);
    return capture_if_record(c, condition, then, other, n, out);
}

Status capture_if(Capture *c, Tensor *condition, Side then, Side other, int n, Tensor **out) {
    Tensor **in = NULL;
    bool recorded = false;
    if (record_now()) {
        in = checked(calloc(2 * (size_t)n + 1, sizeof *in));
        in[0] = condition;
        memcpy(in + 1, then.values, (size_t)n * sizeof *in);
        memcpy(in + 1 + n, other.values, (size_t)n * sizeof *in);
        recorded = record_open(REC_IF, 2 * n + 1, in);
    }
    if (recorded) record_numbers(then.region, other.region, 0);
    Status status = add_if(c, condition, then, other, n, out);
    if (recorded) record_close(status, n, out);
    free(in);
    return status;
}

/* ---- While */

/* Parameters are variables of their own, so that the tape sees what the body does with them: with
 * the tape off it may still hand them on. */
static Tensor *loop_param(Capture *c, const Loop *loop, const Tensor *init) {
    Tensor *t = capture_region_param(c, loop->condition, &init->type);
    DType d = init->type.dtype;
    bool may_differ = dtype_is_smooth(d) || (dtype_is_integer(d) && capture_follows_integers(c));
    if (tape_is_on() ? may_differ : init->link != NULL) t->link = tape_leaf();
    return t;
}

static Status open_loop(Capture *c, int n, Tensor *const *init, Loop *loop, Tensor **params) {
    size_t all = (size_t)n + 1;
    *loop = (Loop){.n = n, .first = checked(calloc(all, sizeof *loop->first))};
    loop->init = checked(calloc(all, sizeof *loop->init));
    loop->params = checked(calloc(all, sizeof *loop->params));
    for (int i = 0; i < n; i++) {
        Status status = capture_value(c, init[i], &loop->first[i]);
        if (status != OK) {
            loop_done(loop);
            return status;
        }
        loop->init[i] = tensor_ref(init[i]);
    }
    loop->condition = capture_region(c, 0);
    loop->body = capture_region(c, loop->condition);
    capture_region_loops(c, loop->condition);
    capture_region_loops(c, loop->body);
    for (int i = 0; i < n; i++) {
        params[i] = loop_param(c, loop, init[i]);
        loop->params[i] = tensor_ref(params[i]);
    }
    return OK;
}

Status capture_loop(Capture *c, int n, Tensor *const *init, Loop *loop, Tensor **params) {
    bool recorded = record_open(REC_LOOP, n, init);
    Status status = open_loop(c, n, init, loop, params);
    if (recorded) record_numbers(loop->condition, loop->body, 0);
    if (recorded) record_close(status, n, params);
    return status;
}

void loop_done(Loop *loop) {
    for (int i = 0; i < loop->n && loop->init; i++) {
        tensor_unref(loop->init[i]);
        tensor_unref(loop->params[i]);
    }
    free(loop->first);
    free(loop->init);
    free(loop->params);
    *loop = (Loop){0};
}

static Status check_loop(Capture *c, const Loop *loop, const Tensor *condition,
                         Tensor *const *next) {
    TRY(check_condition(condition, "while"));
    for (int i = 0; i < loop->n; i++)
        TRY(check_same(i, graph_type(capture_graph(c), loop->first[i]), &next[i]->type, "while"));
    return OK;
}

/* The handles of a loop in one list: first values, condition, next values. */
static void keep_loop(Capture *c, NodeId id, const Loop *loop, Tensor *condition,
                      Tensor *const *next) {
    size_t n = (size_t)loop->n;
    Tensor **kept = checked(calloc(2 * n + 1, sizeof *kept));
    memcpy(kept, loop->init, n * sizeof *kept);
    kept[n] = condition;
    memcpy(kept + n + 1, next, n * sizeof *kept);
    capture_keep(c, id, (int)(2 * n + 1), kept);
    free(kept);
}

static Status add_while(Capture *c, Loop *loop, Tensor *condition, Tensor *const *next,
                        Tensor **out) {
    Graph *g = capture_graph(c);
    TRY(check_loop(c, loop, condition, next));
    Value cond, *v = checked(calloc((size_t)loop->n + 1, sizeof *v));
    TensorType *types = checked(calloc((size_t)loop->n + 1, sizeof *types));
    for (int i = 0; i < loop->n; i++) types[i] = next[i]->type;
    Status status = side_values(c, (Side){loop->condition, &condition}, 1, &cond);
    if (status == OK) status = side_values(c, (Side){loop->body, next}, loop->n, v);
    NodeId id = 0;
    if (status == OK) {
        graph_results(g, loop->condition, 1, &cond);
        graph_results(g, loop->body, (uint32_t)loop->n, v);
        id = capture_node(c, N_WHILE, loop->n, loop->first, loop->n, types, out);
        graph_attach(g, id, loop->condition, loop->body);
        keep_loop(c, id, loop, condition, next);
    }
    free(v);
    free(types);
    return status == OK ? capture_loop_record(c, id, loop, next, out) : status;
}

Status capture_while(Capture *c, Loop *loop, Tensor *condition, Tensor *const *next, Tensor **out) {
    Tensor **in = NULL;
    bool recorded = false;
    if (record_now()) {
        in = checked(calloc((size_t)loop->n + 1, sizeof *in));
        in[0] = condition;
        memcpy(in + 1, next, (size_t)loop->n * sizeof *in);
        recorded = record_open(REC_WHILE, loop->n + 1, in);
    }
    if (recorded) record_numbers(loop->condition, 0, 0);
    Status status = add_while(c, loop, condition, next, out);
    if (recorded) record_close(status, loop->n, out);
    free(in);
    return status;
}
