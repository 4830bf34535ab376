/* Plans: places in the arena, steps that run at once, the test device. The reference is the graph
 * run node by node on one thread. */
#include "plan/plan.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/parallel.h"
#include "graph/text.h"
#include "run/device.h"
#include "run/run.h"
#include "test.h"

enum { N = 4096, NODES = 80 };

/* ---- graphs of elementwise calls on N numbers */

static char buffer[NODES * 160];
static size_t used;
DIP_PRINTF(1, 2) static void put(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    used += (size_t)vsnprintf(buffer + used, sizeof buffer - used, fmt, args);
    va_end(args);
}

static uint64_t state;
static uint32_t draw(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

static void put_call(uint32_t id, const char *op, uint32_t a, uint32_t b) {
    put("  %%%u = %s(%%%u", id, op, a);
    if (b) put(", %%%u", b);
    put(") : float32[%d]\n", N);
}

/* Eight chains of eight calls, added up. */
static void put_chains(void) {
    used = 0;
    put("graph(%%1: float32[%d]) {\n", N);
    uint32_t id = 1, end[8];
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 8; k++, id++) put_call(id + 1, k % 2 ? "sin" : "tanh", k ? id : 1, 0);
        end[i] = id;
    }
    put("  %%%u = stack(%%%u", id + 1, end[0]);
    for (int i = 1; i < 8; i++) put(", %%%u", end[i]);
    put(") : float32[8, %d]\n  return %%%u\n}\n", N, id + 1);
}

/* Calls over values that have been made at any time before: parts split and meet. */
static void put_random(uint64_t seed) {
    static const char *const one[] = {"sin", "neg", "relu", "tanh"}, *const two[] = {"add", "mul"};
    used = 0;
    state = seed;
    put("graph(%%1: float32[%d], %%2: float32[%d]) {\n", N, N);
    uint32_t near = 2 + draw(20);
    for (uint32_t id = 3; id < NODES; id++) {
        uint32_t from = id > near ? id - near : 1, a = from + draw(id - from),
                 b = from + draw(id - from);
        bool is_two = draw(3) == 0;
        put_call(id, is_two ? two[draw(2)] : one[draw(4)], a, is_two ? b : 0);
    }
    put("  return %%%d, %%%d, %%%d\n}\n", NODES - 1, NODES - 2, NODES / 2);
}

/* ---- running them */

static Program *program_of(const char *text) {
    Graph *g;
    if (!CHECK_OK(graph_parse(text, &g))) exit(1);
    Program *p = calloc(1, sizeof *p);
    *p = (Program){.refs = 1, .graph = g, .noutputs = g->regions[BODY].nresults};
    p->sources = calloc(g->ninputs + 1, sizeof *p->sources);
    for (uint32_t i = 0; i < g->ninputs; i++) p->sources[i] = SOURCE_CALLER;
    return p;
}

static Tensor *numbers(uint64_t seed) {
    Tensor *t;
    state = seed;
    if (!CHECK_OK(tensor_new(&(TensorType){.dtype = DT_f32, .rank = 1, .dims = {N}}, "test", &t)))
        exit(1);
    for (int i = 0; i < N; i++) ((float *)(void *)t->data)[i] = (float)draw(1000) / 500 - 1;
    return t;
}

static bool same_bits(const Tensor *a, const Tensor *b) {
    return type_equal(&a->type, &b->type) && !memcmp(a->data, b->data, (size_t)tensor_nbytes(a));
}

static int count_forks(const Plan *p) {
    int n = 0;
    for (int32_t i = 0; i < p->nsteps; i++) n += p->steps[i].fork != NULL;
    return n;
}

/* Runs by plan give what the nodes give; the number of forks. */
static int compare(const char *text, int times) {
    Tensor *in[2] = {numbers(1), numbers(2)}, *want[4], *got[4];
    Program *p = program_of(text);
    int nin = (int)p->graph->ninputs;
    bool same = CHECK_OK(program_run_nodes(p, nin, in, want));
    for (int k = 0; k < times && same; k++) {
        if (!CHECK_OK(program_run(p, nin, in, got))) break;
        for (uint32_t i = 0; i < p->noutputs; i++) {
            same = same && same_bits(want[i], got[i]);
            tensor_unref(got[i]);
        }
    }
    if (!CHECK(same)) fputs(text, stderr);
    const Plan *plan = program_plan(p);
    if (CHECK(plan)) CHECK_OK(plan_check(plan));
    int forks = plan ? count_forks(plan) : 0;
    for (uint32_t i = 0; i < p->noutputs; i++) tensor_unref(want[i]);
    program_unref(p);
    for (int i = 0; i < 2; i++) tensor_unref(in[i]);
    return forks;
}

static void set(int threads, int branches) {
    parallel_set_threads(threads);
    plan_run_branches(branches);
}

static void test_chains(void) {
    put_chains();
    set(4, 0);
    CHECK(compare(buffer, 1) == 0);
    set(4, 3);
    CHECK(compare(buffer, 20) > 0);
    set(1, 3);
    CHECK(compare(buffer, 1) == 0);
    set(0, 0);
}

static void test_random_parts(void) {
    int forks = 0;
    set(4, 4);
    for (uint64_t seed = 0; seed < 60; seed++) {
        put_random(seed);
        forks += compare(buffer, 3);
    }
    CHECK(forks > 10);
    set(0, 0);
}

static void test_memory_apart(void) {
    put_random(3);
    Program *p = program_of(buffer);
    const Plan *plan = program_plan(p);
    int64_t shared = plan->arena;
    CHECK(plan->arena >= plan->floor);
    plan_share_memory(false);
    plan = program_plan(p);
    CHECK(plan->arena > shared && plan->floor <= shared);
    CHECK_OK(plan_check(plan));
    compare(buffer, 1);
    plan_share_memory(true);
    program_unref(p);
}

static void test_device_runs(void) {
    device_test(true);
    CHECK(!strcmp(device_now()->name, "test"));
    put_chains();
    compare(buffer, 2);
    set(4, 4);
    for (uint64_t seed = 0; seed < 5; seed++) {
        put_random(seed);
        compare(buffer, 1);
    }
    set(0, 0);
    device_test(false);
}

int main(void) {
    RUN(test_chains);
    RUN(test_random_parts);
    RUN(test_memory_apart);
    RUN(test_device_runs);
    return test_done("plan");
}
