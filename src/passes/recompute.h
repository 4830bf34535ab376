/* Values that are computed again where they are read late. */
#ifndef DIP_RECOMPUTE_H
#define DIP_RECOMPUTE_H

#include "passes/edit.h"

/* A node of the body that may run once more. */
bool recompute_can(const Graph *g, NodeId id);
/* part[id]: the part of a node, of those that can; 0: its values are kept. Reads of its values by
 * nodes whose place in the body is behind end[part] read copies. The number of copies. */
uint32_t recompute_parts(Graph *g, const uint32_t *part, const uint32_t *end);

#endif
