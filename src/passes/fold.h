/* Folding one node, for the passes that make constants. */
#ifndef DIP_FOLD_H
#define DIP_FOLD_H

#include "passes/edit.h"

/* Runs the call at node n if all its inputs are constants and its results are small: they become
 * constants in its place. The tape must be off. */
bool fold_node(Edit *e, NodeId n);

#endif
