/* The text form of graphs: what is printed parses back, what is wrong is refused with its place. */
#include "graph/text.h"
#include "tensor/random.h"
#include "test.h"

/* A text that is its own print. */
static void same(const char *text) {
    Graph *g;
    if (!CHECK_OK(graph_parse(text, &g))) return;
    char *again = graph_print(g);
    if (!CHECK(!strcmp(text, again))) fprintf(stderr, "%s\nbecame\n%s\n", text, again);
    free(again);
    graph_unref(g);
}

/* A body with one input; a `wrong` one is refused with `part` in the message. */
static void body(const char *statements) {
    char text[4096];
    snprintf(text, sizeof text, "graph(%%1: float32[2, 3], %%2: bool[]) {\n%s}\n", statements);
    same(text);
}
static void wrong(const char *text, const char *part) {
    Graph *g = NULL;
    CHECK_FAILS(graph_parse(text, &g), VALUE, part);
}

static void test_calls(void) {
    body("  return\n");
    body("  %3 = relu(%1) : float32[2, 3]\n  return %3, %1, %3\n");
    body("  %7 = sum(%1, axis=(1), keep_dims=True) : float32[2, 1]\n  return %7\n");
    body("  %3, %4 = split(%1, split_size_or_sections=(2, 1), axis=1) : float32[2, 2], "
         "float32[2, 1]\n  return %4\n");
    body("  %3 = einsum(%1, %1, equation=\"ij,kj->ik\") : float32[2, 2]\n  return %3\n");
    body("  %3 = full(size=(4), fill_value=0.1) : float32[4]\n  return %3\n");
    body("  %3 = layer_norm(%1, none, %1, normalized_shape=(2, 3), eps=1e-06) : float32[2, 3]\n"
         "  return %3\n");
    body("  %3 = relu(%1) : float32[2, 3]                                         # net.py:12\n"
         "  return %3\n");
    body(
        "  %3 = relu(%1) : float32[2, 3] again 2                                 # a.py:1, b.py:2\n"
        "  %4 = relu(%3) : float32[2, 3] kept 2\n  return %4\n");
}

static void test_constants(void) {
    body("  %3 = const 1.5 : float32[2, 3]\n  return %3\n");
    body("  %3 = const [1, 0.1, -0, inf] : float64[2, 2]\n  return %3\n");
    body("  %3 = const [-5, 127, 0] : int8[3]\n  return %3\n");
    body("  %3 = const 18446744073709551615 : uint64[]\n  return %3\n");
    body("  %3 = const -9223372036854775808 : int64[4]\n  return %3\n");
    body("  %3 = const [1, 0] : bool[2]\n  return %3\n");
    body("  %3 = const [1.5, -2] : bfloat16[2]\n  return %3\n");
    body("  %3 = const hex 003c : float16[5]\n  return %3\n");
    body("  %3 = const hex 003c0040 : float16[2]\n  return %3\n");
    body("  %3 = const hex 0100807f : float32[1]\n  return %3\n");
    body("  %3 = const [] : int32[0, 4]\n  return %3\n");
    body("  %3 = const hex 000102030405060708090a0b0c0d0e0f10 : uint8[17]\n  return %3\n");
}

static void test_effects(void) {
    body("  %3 = draw(6)\n  %4 = dropout(%1, draw=%3, p=0.1) : float32[2, 3]\n  return %4\n");
    body("  %3 = draw(6)\n  %4 = normal(draw=%3, shape=(2, 3)) : float32[2, 3]\n  return %4\n");
    body("  host late print(%1, %2)\n  return\n");
    body("  %3, %5 = host f(%1) : float32[], int32[2]\n  return %5, %3\n");
    body("  push 0(%1, %2)\n  %3 = left 0\n  %4, %5 = pop 0 : float32[2, 3], bool[]\n"
         "  return %4\n");
    body("  %9 = undef : float32[7]\n  return %9\n");
}

static void test_regions(void) {
    body("  %8 = if %2 {\n    %3 = relu(%1) : float32[2, 3]\n    yield %3\n  } else {\n"
         "    yield %1\n  } : float32[2, 3]\n  return %8\n");
    body("  if %2 {\n    host f(%1)\n    yield\n  } else {\n    yield\n  }\n  return\n");
    body("  %9 = while (%3 = %1) {\n    %4 = any(%3) : bool[]\n    test %4\n  } do {\n"
         "    %7 = if %2 {\n      %5 = floor(%3) : float32[2, 3]\n      yield %5\n    } else {\n"
         "      yield %3\n    } : float32[2, 3]\n    next %7\n"
         "  } : float32[2, 3]                                                     # a.py:3\n"
         "  return %9\n");
}

static void test_refusals(void) {
    wrong("", "line 1, column 1: 'graph' is expected");
    wrong("graph() {\n  return %1\n}", "line 2, column 10: %1 is used before its definition");
    wrong("graph(%1: float32[2], %1: float32[2]) {", "line 1, column 23: %1 is defined twice");
    wrong("graph(%1: float33[2]) {", "column 11: 'float33' is no dtype");
    wrong("graph(%1: f32[-2]) {", "column 15: a size is expected");
    wrong("graph(%0: f32[2]) {", "the number of a value is expected");
    wrong("graph(%16777216: f32[2]) {", "the number of a value is expected");
    wrong("graph(%1: f32[2]) {\n %2 = rel(%1) : f32[2]", "line 2, column 7: there is no op 'rel'");
    wrong("graph(%1: f32[2]) {\n %2 = relu() : f32[2]\n", "relu: input 0 is missing");
    wrong("graph(%1: f32[2]) {\n %2 = add(%1, none) : f32[2]\n", "input 1 is missing");
    wrong("graph(%1: f32[2]) {\n %2, %3 = relu(%1) : f32[2], f32[2]\n", "relu has 1 results");
    wrong("graph(%1: f32[2]) {\n %2 = relu(%1) : f32[3]\n", "result 0 of relu is float32[2]");
    wrong("graph(%1: f32[2]) {\n %2 = relu(%1, alpha=1) : f32[2]\n", "no attribute 'alpha'");
    wrong("graph(%1: f32[2]) {\n %2 = cumsum(%1) : f32[2]\n", "'axis' must be given");
    wrong("graph(%1: f32[2]) {\n %2 = cumsum(%1, axis=x) : f32[2]\n", "it must be an integer");
    wrong("graph(%1: f32[2]) {\n %2 = relu(%1, draw=%1) : f32[2]\n", "takes no draw here");
    wrong("graph() {\n %2 = const [1, 2] : i32[3]\n", "no constant of type int32[3]");
    wrong("graph() {\n %2 = const 300 : u8[]\n", "no constant of type uint8[]");
    wrong("graph() {\n %2 = const hole : u8[]\n", "not in the text");
    wrong("graph(%1: bool[]) {\n %2 = if %1 {\n yield %1\n } do {", "'else' is expected");
    wrong("graph(%1: bool[]) {\n %2 = while (%3 = none) {", "cannot carry none");
    wrong("graph() {\n return\n}\nx", "line 4, column 1: the text should end here");
    Graph *g;
    CHECK_FAILS(graph_parse("graph(%1: f32[2]) {\n %2 = softmax(%1, axis=7) : f32[2]\n", &g), INDEX,
                "graph text, line 2, column 7: softmax: axis 7");
    CHECK_FAILS(
        graph_parse("graph(%1: f32[]) {\n if %1 {\n yield\n } else {\n yield\n }\n return\n}\n",
                    &g),
        INTERNAL, "it must be bool[]");
}

/* Any text gives a graph or an error. */
static void test_damaged_texts(void) {
    const char *whole =
        "graph(%1: float32[2, 3], %2: bool[]) {\n"
        "  %3 = const [1, 2, 3] : float32[3]\n"
        "  %8, %9 = while (%4 = %1, %5 = %2) {\n    test %5\n  } do {\n"
        "    %6 = add(%4, %3) : float32[2, 3]\n    next %6, %2\n"
        "  } : float32[2, 3], bool[]\n"
        "  %11 = if %9 {\n    %10 = dense(%8, %8) : float32[2, 2]\n"
        "    yield %10\n  } else {\n"
        "    %12 = draw(4)\n    %13 = normal(draw=%12, shape=(2, 2)) : float32[2, 2]\n"
        "    yield %13\n  } : float32[2, 2]\n  return %11\n}\n";
    static const char letters[] = "%(){}[]=,:1290abx\n# -";
    same(whole);
    uint64_t state = 1;
    for (int i = 0; i < 20000; i++) {
        char text[1024];
        strcpy(text, whole);
        for (int k = 0; k < 1 + i % 3; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            text[(state >> 33) % strlen(whole)] = letters[(state >> 20) % (sizeof letters - 1)];
        }
        Graph *g;
        if (graph_parse(text, &g) == DIP_OK)
            graph_unref(g);
        else
            CHECK(*dip_error_message());
    }
}

int main(void) {
    RUN(test_calls);
    RUN(test_constants);
    RUN(test_effects);
    RUN(test_regions);
    RUN(test_refusals);
    RUN(test_damaged_texts);
    return test_done("graph");
}
