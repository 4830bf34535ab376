/* dip-opt: a graph as text in, passes over it, the graph as text out.
 *
 *     dip-opt [-p PASS,...] [-s] [FILE]
 *
 * Without -p all exact passes run as they do over a compiled function, with the settings of the
 * environment (src/passes/passes.h); with it these and no others, in this order. -s prints what
 * each pass changed to stderr, -l lists the passes. The graph is verified after each pass. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/text.h"
#include "passes/passes.h"

static int usage(void) {
    fputs("usage: dip-opt [-p PASS,...] [-s] [FILE]   or   dip-opt -l\n", stderr);
    return 2;
}

static char *read_all(FILE *f) {
    size_t n = 0, cap = 65536, got;
    char *text = malloc(cap);
    while (text && (got = fread(text + n, 1, cap - n - 1, f)) > 0) {
        n += got;
        if (cap - n > 1) continue;
        char *more = realloc(text, cap *= 2);
        if (!more) free(text);
        text = more;
    }
    if (text) text[n] = 0;
    return text;
}

static void print_counts(const PassCount *counts) {
    for (int i = 0; i < NPASSES; i++)
        if (counts[i].runs)
            fprintf(stderr, "%-10s %3u runs %6u changes\n", pass_table[i].name, counts[i].runs,
                    counts[i].changes);
}

static int list_passes(void) {
    for (int i = 0; i < NPASSES; i++) printf("%-10s %s\n", pass_table[i].name, pass_table[i].doc);
    return 0;
}

static Status optimize(const char *text, const PassOptions *o, bool stats) {
    Graph *g;
    PassCount counts[NPASSES] = {0};
    TRY(graph_parse(text, &g));
    Status status = passes_run(g, o, counts);
    if (status == OK) {
        char *out = graph_print(g);
        fputs(out, stdout);
        free(out);
        if (stats) print_counts(counts);
    }
    graph_unref(g);
    return status;
}

int main(int argc, char **argv) {
    PassOptions o = pass_options();
    bool stats = false;
    const char *path = NULL;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-l") && argc == 2) return list_passes();
        if (!strcmp(argv[i], "-p") && i + 1 < argc)
            o.only = argv[++i];
        else if (!strcmp(argv[i], "-s"))
            stats = true;
        else if (*argv[i] == '-' || path)
            return usage();
        else
            path = argv[i];
    }
    o.verify = true;
    FILE *f = path ? fopen(path, "r") : stdin;
    char *text = f ? read_all(f) : NULL;
    if (!text) {
        perror(path ? path : "dip-opt");
        return 1;
    }
    Status status = optimize(text, &o, stats);
    if (status != OK) fprintf(stderr, "dip-opt: %s\n", error_message());
    free(text);
    if (path) fclose(f);
    return status != OK;
}
