/* The graph of a compiled function: nodes in the order they were captured, values with types,
 * regions for the sides of an If and the parts of a While.
 *
 * A value is defined once, by a node or as a parameter of a region, and may be used in its region
 * after its definition and in the regions inside. Nodes with an effect keep their order: a region
 * is a list, and passes move only nodes without one. What the function reads from outside
 * (arguments, captured tensors, parameters) are inputs; what it changes outside are writes, applied
 * after a successful run. Ids are 32-bit places in arrays; 0 is none. Nothing here recurses. */
#ifndef DIP_GRAPH_H
#define DIP_GRAPH_H

#include "ops/op.h"
#include "tensor/tensor.h"

typedef uint32_t Value;
typedef uint32_t NodeId;
typedef uint32_t RegionId;
enum { BODY = 1 }; /* the region of the function itself */

typedef enum NodeKind {
    N_CALL,  /* op(in...) */
    N_CONST, /* a tensor known now */
    N_DRAW,  /* reserves `count` places of the random stream: u64[2] = key, counter */
    N_IF,    /* in: condition; regions: then, else, whose results are those of the node */
    N_WHILE, /* in: first values of the carried ones; regions: condition, body. The parameters of
                the condition's region stand for the carried values in both; it results in one
                truth, the body in the next values */
    N_HOST,  /* calls a function outside with the inputs' values */
    N_UNDEF, /* a value that is never looked at */
    N_PUSH,  /* puts its inputs on stack `count`: what the gradient of a loop will read */
    N_POP,   /* takes the latest entry of stack `count` */
    N_LEFT,  /* whether stack `count` has entries: bool[] */
    NNODEKINDS
} NodeKind;

/* A function outside the graph. It gets the inputs and fills nout new references. Counted, so that
 * copies of a graph share it. */
typedef struct Host {
    int refs;
    bool is_late; /* run after everything else has succeeded: prints */
    const char *name;
    Status (*call)(void *ctx, int nin, Tensor *const *in, int nout, Tensor **out);
    void (*release)(void *ctx);
    void *ctx;
} Host;

/* Where the user wrote it. Texts are owned by the graph. */
typedef struct Line {
    const char *file, *function;
    int line, column, end_column; /* columns from 0; end_column 0: unknown */
    uint32_t also;                /* in lines: where the same call stands once more; 0: nowhere */
} Line;

typedef struct Node {
    uint8_t kind;
    bool draws; /* N_CALL: the last input is a draw that fills the attributes key and counter */
    uint16_t nin, nout;
    const Op *op;
    void *attrs; /* op->attrs_size bytes */
    Value *in;   /* nin; 0: an optional input left out */
    Value *out;  /* nout */
    RegionId region, regions[2];
    NodeId before, after; /* neighbours in the region */
    uint32_t line;        /* place in lines; 0: unknown */
    uint32_t again;       /* N_CALL: which recomputed part it belongs to; 0: none */
    bool kept;            /* it makes a result of that part */
    union {
        Tensor *constant;
        Host *host;
        int64_t count;
    };
} Node;

typedef struct ValueInfo {
    TensorType type;
    NodeId node;     /* 0: a parameter of a region, or an input */
    RegionId region; /* where it is defined */
    uint32_t index;  /* which result, parameter or input */
    Value exported;  /* the same value outside of its region, once asked for (graph_visible) */
} ValueInfo;

typedef struct Region {
    NodeId first, last, owner; /* owner 0: the body, or not attached yet */
    RegionId parent;           /* the region it stands in; 0: the body */
    uint32_t nparams, nresults;
    Value *params, *results;
} Region;

typedef struct Graph {
    int refs;
    Node *nodes;
    ValueInfo *values;
    Region *regions;
    Line *lines;
    Value *inputs;    /* of the body */
    uint32_t nstacks; /* numbers given to N_PUSH, N_POP and N_LEFT */
    bool has_custom;  /* gradients of its own stood on the tape, which its nodes do not show */
    uint32_t nnodes, nvalues, nregions, nlines, ninputs;
    uint32_t cap_nodes, cap_values, cap_regions, cap_lines, cap_inputs;
    struct GraphBlock *blocks; /* the arena of arrays, attributes and texts */
} Graph;

void host_unref(Host *h);

Graph *graph_new(void);
Graph *graph_ref(Graph *g);
void graph_unref(Graph *g); /* NULL is fine */

static inline Node *graph_node(const Graph *g, NodeId n) { return &g->nodes[n]; }
static inline const TensorType *graph_type(const Graph *g, Value v) { return &g->values[v].type; }

Value graph_input(Graph *g, const TensorType *type);
RegionId graph_region(Graph *g, RegionId parent);
Value graph_param(Graph *g, RegionId r, const TensorType *type);
void graph_results(Graph *g, RegionId r, uint32_t n, const Value *results);
uint32_t graph_line(Graph *g, const Line *line); /* texts are copied; equal to the last: the same */
/* The place of a node that stands for one at place b, too. */
uint32_t graph_line_with(Graph *g, uint32_t a, uint32_t b);

/* Appends a node with `nin` inputs (copied) and results of the given types at the end of region r.
 * The pointer holds until the next node is added. */
Node *graph_append(Graph *g, RegionId r, NodeKind kind, int nin, const Value *in, int nout,
                   const TensorType *out);
/* Makes an N_CALL node a call of `op`; the attributes are copied. */
void graph_set_call(Graph *g, NodeId n, const Op *op, const void *attrs);
Value graph_const(Graph *g, RegionId r, Tensor *t); /* takes a reference of its own */
/* Makes regions a and b (b may be 0) those of node n. */
void graph_attach(Graph *g, NodeId n, RegionId a, RegionId b);
/* `v` as region r may use it: itself where it is in sight; a value from inside a finished If is
 * handed out as one more result of it. 0: not possible (a value from inside a loop, or of a region
 * that is still open). */
Value graph_visible(Graph *g, Value v, RegionId r);
void graph_unlink(Graph *g, NodeId n); /* out of its region; its values are gone */
/* Puts an unlinked node into region r before another node of it (0: at the end). */
void graph_link(Graph *g, NodeId n, RegionId r, NodeId before);
/* Unlinks it for good: gives back what it holds. */
void graph_drop(Graph *g, NodeId n);

/* True when a pass must neither drop nor move it. */
bool node_has_effect(const Graph *g, NodeId n);

/* Bytes that live as long as the graph. */
void *graph_alloc(Graph *g, size_t nbytes);

/* Random ops and their gradients carry the place in the stream as attributes key and counter. While
 * a graph is captured that place is a value: this key says so, and counter is its number. */
#define DRAWN_KEY 0x44524157u
/* Places of the attributes in the block; false: the op has none. */
bool op_draws(const Op *op, uint32_t *key_offset, uint32_t *counter_offset);

#endif
