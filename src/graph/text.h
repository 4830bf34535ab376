/* The text form of graphs, and the verifier. */
#ifndef DIP_GRAPH_TEXT_H
#define DIP_GRAPH_TEXT_H

#include "graph/graph.h"

/* The graph as text, freed by the caller with free():
 *
 *     graph(%1: float32[2, 3]) {
 *       %2 = relu(%1) : float32[2, 3]                                        # net.py:12
 *       %3 = if %9 { ... yield %4 } else { ... yield %5 } : float32[]
 *       return %2, %3
 *     }
 */
char *graph_print(const Graph *g);

/* Checks what every pass may rely on: definitions come before uses and are in sight, regions belong
 * to one node, types agree with the ops' own rules. */
Status graph_verify(const Graph *g);

#endif
