/* Capturing a region a second time, with other values for those it defines: the body of a loop on
 * the way back. The nodes go through dispatch again, so the tape records them afresh. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eager/capture.h"
#include "eager/dispatch.h"

Tensor *capture_mapped(const Tensor *t, const Mapping *m) {
    Tensor *to = t->symbol ? m->values[t->symbol] : NULL;
    if (!to) return tensor_ref((Tensor *)t);
    return t->link ? tensor_ref(to) : tensor_alias(to); /* an alias has no link */
}

/* The handles of a node, mapped; freed with drop_handles. */
static Tensor **mapped_handles(Tensor *const *handles, int n, const Mapping *m) {
    Tensor **t = checked(calloc((size_t)n + 1, sizeof *t));
    for (int i = 0; i < n; i++) t[i] = handles[i] ? capture_mapped(handles[i], m) : NULL;
    return t;
}

static void drop_handles(Tensor **t, int n) {
    for (int i = 0; i < n; i++) tensor_unref(t[i]);
    free(t);
}

/* The results of node `id` (again) stand for its values from now on. */
static void take_results(Capture *c, NodeId id, Mapping *m, int nout, Tensor **made) {
    const Node *n = graph_node(capture_graph(c), id);
    for (int i = 0; i < nout; i++) {
        tensor_unref(m->values[n->out[i]]);
        m->values[n->out[i]] = made[i];
    }
}

static Status call_again(Capture *c, NodeId id, Mapping *m, Tensor **out) {
    const Node *n = graph_node(capture_graph(c), id);
    const Op *op = n->op;
    int nin = n->nin - n->draws;
    int64_t attrs[128];
    if (op->attrs_size) memcpy(attrs, n->attrs, op->attrs_size);
    uint32_t key, counter;
    if (n->draws && op_draws(op, &key, &counter)) { /* the same draw */
        int64_t *place = (int64_t *)((char *)attrs + counter);
        const Tensor *draw = m->values[*place];
        if (draw) *place = draw->symbol;
    }
    Tensor **in = mapped_handles(capture_kept(c, id), nin, m);
    Status status = dispatch(op, attrs, nin, in, out);
    drop_handles(in, nin);
    return status;
}

static Status region_again(Capture *c, RegionId r, Mapping *m, bool has_stacks);

/* Values that were handed out of its sides later are handed out anew where they are read. */
static int if_results(const Capture *c, NodeId id) { return (capture_nkept(c, id) - 1) / 2; }

static Status if_again(Capture *c, NodeId id, Mapping *m, Tensor **out) {
    const Node node = *graph_node(capture_graph(c), id);
    Tensor *const *kept = capture_kept(c, id);
    int n = if_results(c, id);
    Tensor *condition = capture_mapped(kept[0], m), **values[2] = {0};
    Side sides[2];
    Status status = OK;
    for (int i = 0; i < 2 && status == OK; i++) {
        sides[i].region = capture_region(c, 0);
        capture_enter(c, sides[i].region);
        status = region_again(c, node.regions[i], m, true);
        values[i] = mapped_handles(kept + 1 + i * n, n, m);
        capture_leave(c);
        sides[i].values = values[i];
    }
    if (status == OK) status = capture_if(c, condition, sides[0], sides[1], n, out);
    for (int i = 0; i < 2; i++)
        if (values[i]) drop_handles(values[i], n);
    tensor_unref(condition);
    return status;
}

static Status part_again(Capture *c, RegionId from, RegionId to, Mapping *m) {
    capture_enter(c, to);
    Status status = region_again(c, from, m, true);
    capture_leave(c);
    return status;
}

static Status while_again(Capture *c, NodeId id, Mapping *m, Tensor **out) {
    const Node node = *graph_node(capture_graph(c), id);
    Tensor *const *kept = capture_kept(c, id);
    int n = node.nout;
    Loop loop;
    Tensor **init = mapped_handles(kept, n, m);
    Tensor **params = checked(calloc((size_t)n + 1, sizeof *params));
    Status status = capture_loop(c, n, init, &loop, params);
    drop_handles(init, n);
    if (status == OK) {
        const Value *old = capture_graph(c)->regions[node.regions[0]].params;
        for (int i = 0; i < n; i++) {
            tensor_unref(m->values[old[i]]);
            m->values[old[i]] = params[i];
        }
        status = part_again(c, node.regions[0], loop.condition, m);
        if (status == OK) status = part_again(c, node.regions[1], loop.body, m);
        if (status == OK) {
            Tensor **ends = mapped_handles(kept + n, n + 1, m);
            status = capture_while(c, &loop, ends[0], ends + 1, out);
            drop_handles(ends, n + 1);
        }
        loop_done(&loop);
    }
    free(params);
    return status;
}

/* Loops inside keep stacks among themselves: these get new ones. */
static Status stack_again(Capture *c, NodeId id, Mapping *m, Tensor **out) {
    const Node node = *graph_node(capture_graph(c), id);
    int64_t *to = &m->stacks[node.count];
    if (node.kind == N_PUSH) {
        *to = 1 + capture_stack(c);
        Tensor **t = mapped_handles(capture_stack_note(c, node.count)->handles, node.nin, m);
        Status status = capture_push(c, 0, *to - 1, node.nin, t);
        drop_handles(t, node.nin);
        return status;
    }
    if (!*to) return FAIL(RUNTIME, "the gradient of a loop was taken inside of another loop");
    if (node.kind == N_POP)
        capture_pop(c, *to - 1, out);
    else
        capture_left(c, *to - 1, out);
    return OK;
}

static void undefined_again(Capture *c, NodeId id, Tensor **out) {
    const TensorType type = *graph_type(capture_graph(c), graph_node(capture_graph(c), id)->out[0]);
    capture_node(c, N_UNDEF, 0, NULL, 1, &type, out);
}

static Status node_again(Capture *c, NodeId id, Mapping *m, bool has_stacks) {
    const Node *n = graph_node(capture_graph(c), id);
    int nout = n->kind == N_IF ? if_results(c, id) : n->nout;
    Tensor **out = checked(calloc((size_t)nout + 1, sizeof *out));
    Status status = OK;
    switch ((NodeKind)n->kind) {
    case N_CALL: status = call_again(c, id, m, out); break;
    case N_IF: status = if_again(c, id, m, out); break;
    case N_WHILE: status = while_again(c, id, m, out); break;
    case N_UNDEF: undefined_again(c, id, out); break;
    case N_PUSH:
    case N_POP:
    case N_LEFT:
        if (has_stacks)
            status = stack_again(c, id, m, out);
        else
            nout = 0;
        break;
    default: nout = 0; /* constants are in sight; draws and host results came through the stack */
    }
    if (status == OK && nout) take_results(c, id, m, nout, out);
    free(out);
    return status;
}

static Status region_again(Capture *c, RegionId r, Mapping *m, bool has_stacks) {
    for (NodeId id = capture_graph(c)->regions[r].first; id;) {
        NodeId after = graph_node(capture_graph(c), id)->after; /* the region may grow meanwhile */
        TRY(node_again(c, id, m, has_stacks));
        id = after;
    }
    return OK;
}

Status capture_again(Capture *c, RegionId r, Mapping *m) { return region_again(c, r, m, false); }
