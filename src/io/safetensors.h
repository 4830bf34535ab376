/* Named tensors in one safetensors file: 8 bytes of header length, a JSON header, then the bytes of
 * the tensors without holes. Loading trusts nothing: lengths, types, offsets and names are checked
 * against each other and against the size of the file before any tensor is made. */
#ifndef DIP_SAFETENSORS_H
#define DIP_SAFETENSORS_H

#include "tensor/tensor.h"

typedef struct NamedTensor {
    const char *name;
    Tensor *tensor;
} NamedTensor;

/* dip_Archive: what a file held, in file order. */
struct dip_Archive {
    int64_t n;
    NamedTensor *items; /* n of them, each tensor owned */
    char *text;         /* owned: the header; the names stand in it */
};
typedef struct dip_Archive Archive;

/* metadata: a JSON object of strings for the entry "__metadata__", or NULL. */
Status safetensors_save(const char *path, int64_t n, const NamedTensor *items,
                        const char *metadata);
Status safetensors_load(const char *path, Archive **out);
void archive_free(Archive *a);

#endif
