/* The inside of a recording, shared by record.c and record_again.c. */
#ifndef DIP_RECORDING_H
#define DIP_RECORDING_H

#include "eager/record.h"

typedef struct Operand {
    Slot slot;
    Tensor *constant; /* slot 0: owned, or NULL for an input left out */
} Operand;

/* An attribute that is a size. */
typedef struct SizePatch {
    uint32_t offset;
    SizeId size;
    bool is_float;
} SizePatch;

typedef struct Command {
    uint8_t kind;
    bool tape, failed, answer;
    uint32_t line;
    int nin, nout;
    uint32_t in;    /* place in operands */
    Slot out;       /* the first of nout */
    uint32_t patch; /* place in patches */
    int npatches;
    uint32_t param; /* place in params */
    int64_t a, b, c;
    const Op *op;
    void *attrs; /* owned */
    Host *host;  /* counted */
} Command;

typedef struct SlotInfo {
    Tensor *handle; /* while the recording is on, so that addresses stay unique; NULL: None */
    TensorType type, other;
    uint32_t varies; /* axes whose size may differ */
    uint32_t pinned; /* axes whose size is guarded */
    bool is_blurred; /* `other` is not known */
    bool is_none;
    Slot next; /* another slot of the same value */
} SlotInfo;

typedef struct Size {
    uint8_t op, axis;
    Slot slot;
    SizeId a, b;
    Number value, other;
} Size;

typedef struct PendingSize {
    const void *place;
    SizeId size;
    bool is_float;
} PendingSize;

struct Recording {
    int refs;
    uint64_t number;
    Capture *capture; /* while it is on */
    Graph *graph;     /* for its lines */
    const char *broken;
    int inside; /* depth of commands being carried out */
    Command *commands;
    Operand *operands;
    SizePatch *patches;
    SlotInfo *slots;
    Size *sizes;
    Param **params;
    PendingSize *pending;
    Slot *by_value;  /* of a value of the graph: its first slot */
    Slot *by_handle; /* open addressing over addresses */
    uint32_t ncommands, noperands, npatches, nslots, nsizes, nparams, npending;
    uint32_t cap_commands, cap_operands, cap_patches, cap_slots, cap_sizes, cap_params, cap_pending;
    uint32_t cap_values, cap_handles;
    Operand *inputs, *outputs; /* what is given back; in operands' form */
    int ninputs, noutputs;
};

/* Where a tensor comes from; may note commands that say so. A constant is a new reference. */
Operand recording_operand(Recording *r, Tensor *t);

/* Writes a size into the attributes. */
void size_patch(void *attrs, const SizePatch *p, Number value);
Number size_compute(SizeOp op, Number a, Number b, bool *good);
bool size_compare(Comparison how, Number a, Number b);

#endif
