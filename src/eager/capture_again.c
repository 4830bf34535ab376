/* Capturing a region a second time, with other values for those it defines: the body of a loop on
 * the way back. The nodes go through dispatch again, so the tape records them afresh. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eager/capture.h"
#include "eager/dispatch.h"

Tensor *capture_mapped(const Tensor *t, Tensor *const *map) {
    Tensor *to = t->symbol ? map[t->symbol] : NULL;
    if (!to) return tensor_ref((Tensor *)t);
    return t->link ? tensor_ref(to) : tensor_alias(to); /* an alias has no link */
}

/* The handles of a node, mapped; freed with drop_handles. */
static Tensor **mapped_handles(Tensor *const *handles, int n, Tensor *const *map) {
    Tensor **t = checked(calloc((size_t)n + 1, sizeof *t));
    for (int i = 0; i < n; i++) t[i] = handles[i] ? capture_mapped(handles[i], map) : NULL;
    return t;
}

static void drop_handles(Tensor **t, int n) {
    for (int i = 0; i < n; i++) tensor_unref(t[i]);
    free(t);
}

/* The results of node `id` (again) stand for its values from now on. */
static void take_results(Capture *c, NodeId id, Tensor **map, Tensor **made) {
    const Node *n = graph_node(capture_graph(c), id);
    for (int i = 0; i < n->nout; i++) {
        tensor_unref(map[n->out[i]]);
        map[n->out[i]] = made[i];
    }
}

static Status call_again(Capture *c, NodeId id, Tensor **map, Tensor **out) {
    const Node *n = graph_node(capture_graph(c), id);
    const Op *op = n->op;
    int nin = n->nin - n->draws;
    int64_t attrs[128];
    if (op->attrs_size) memcpy(attrs, n->attrs, op->attrs_size);
    uint32_t key, counter;
    if (n->draws && op_draws(op, &key, &counter)) { /* the same draw */
        int64_t *place = (int64_t *)((char *)attrs + counter);
        const Tensor *draw = map[*place];
        if (draw) *place = draw->symbol;
    }
    Tensor **in = mapped_handles(capture_kept(c, id), nin, map);
    Status status = dispatch(op, attrs, nin, in, out);
    drop_handles(in, nin);
    return status;
}

static Status if_again(Capture *c, NodeId id, Tensor **map, Tensor **out) {
    const Node node = *graph_node(capture_graph(c), id);
    Tensor *const *kept = capture_kept(c, id);
    int n = node.nout;
    Tensor *condition = capture_mapped(kept[0], map), **values[2] = {0};
    Side sides[2];
    Status status = OK;
    for (int i = 0; i < 2 && status == OK; i++) {
        sides[i].region = capture_region(c, 0);
        capture_enter(c, sides[i].region);
        status = capture_again(c, node.regions[i], map);
        values[i] = mapped_handles(kept + 1 + i * n, n, map);
        capture_leave(c);
        sides[i].values = values[i];
    }
    if (status == OK) status = capture_if(c, condition, sides[0], sides[1], n, out);
    for (int i = 0; i < 2; i++)
        if (values[i]) drop_handles(values[i], n);
    tensor_unref(condition);
    return status;
}

static Status part_again(Capture *c, RegionId from, RegionId to, Tensor **map) {
    capture_enter(c, to);
    Status status = capture_again(c, from, map);
    capture_leave(c);
    return status;
}

static Status while_again(Capture *c, NodeId id, Tensor **map, Tensor **out) {
    const Node node = *graph_node(capture_graph(c), id);
    Tensor *const *kept = capture_kept(c, id);
    int n = node.nout;
    Loop loop;
    Tensor **init = mapped_handles(kept, n, map);
    Tensor **params = checked(calloc((size_t)n + 1, sizeof *params));
    Status status = capture_loop(c, n, init, &loop, params);
    drop_handles(init, n);
    if (status == OK) {
        const Value *old = capture_graph(c)->regions[node.regions[0]].params;
        for (int i = 0; i < n; i++) {
            tensor_unref(map[old[i]]);
            map[old[i]] = params[i];
        }
        status = part_again(c, node.regions[0], loop.condition, map);
        if (status == OK) status = part_again(c, node.regions[1], loop.body, map);
        if (status == OK) {
            Tensor **ends = mapped_handles(kept + n, n + 1, map);
            status = capture_while(c, &loop, ends[0], ends + 1, out);
            drop_handles(ends, n + 1);
        }
        loop_done(&loop);
    }
    free(params);
    return status;
}

static Status node_again(Capture *c, NodeId id, Tensor **map) {
    const Node *n = graph_node(capture_graph(c), id);
    int nout = n->nout;
    Tensor **out = checked(calloc((size_t)nout + 1, sizeof *out));
    Status status = OK;
    switch ((NodeKind)n->kind) {
    case N_CALL: status = call_again(c, id, map, out); break;
    case N_IF: status = if_again(c, id, map, out); break;
    case N_WHILE: status = while_again(c, id, map, out); break;
    default: nout = 0; /* constants are in sight; draws and host results came through the stack */
    }
    if (status == OK && nout) take_results(c, id, map, out);
    free(out);
    return status;
}

Status capture_again(Capture *c, RegionId r, Tensor **map) {
    for (NodeId id = capture_graph(c)->regions[r].first; id;) {
        NodeId after = graph_node(capture_graph(c), id)->after; /* the region may grow meanwhile */
        TRY(node_again(c, id, map));
        id = after;
    }
    return OK;
}
