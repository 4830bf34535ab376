/* The text form of graphs, and the verifier. */
#ifndef DIP_GRAPH_TEXT_H
#define DIP_GRAPH_TEXT_H

#include "graph/graph.h"

/* The graph as text, freed by the caller with free():
 *
 *     graph(%1: float32[2, 3], %2: bool[]) {
 *       %3 = relu(%1) : float32[2, 3]                                        # net.py:12
 *       %4 = const 0.5 : float32[3]
 *       %5 = draw(6)
 *       %6 = dropout(%3, draw=%5, p=0.1) : float32[2, 3]
 *       %9 = if %2 {
 *         yield %3
 *       } else {
 *         %7 = mul(%3, %4) : float32[2, 3]
 *         yield %7
 *       } : float32[2, 3]
 *       %13 = while (%10 = %9) {
 *         %11 = any(%10) : bool[]
 *         test %11
 *       } do {
 *         %12 = floor(%10) : float32[2, 3]
 *         next %12
 *       } : float32[2, 3]
 *       host print(%13)
 *       return %13, %6
 *     }
 *
 * `again 2` behind a call: it belongs to the second part of the function that gradients compute
 * again; `kept 2`: it makes a result of that part. Attributes with their default are left out; an
 * optional input left out before another is `none`. Constants are written as literal.h says. */
char *graph_print(const Graph *g);

/* Reads what graph_print wrote; printing the result gives the same text. `#` begins a comment; one
 * behind a node that is file:line, or several of them, is its place. Functions outside come back
 * without their code: running one fails. Errors name line and column. */
Status graph_parse(const char *text, Graph **out);

/* Checks what every pass may rely on: definitions come before uses and are in sight, regions belong
 * to one node, types agree with the ops' own rules. */
Status graph_verify(const Graph *g);

#endif
