/* The public calls of this folder: checks at the door, then the module that does the work. */
#include <stdlib.h>
#include <string.h>

#include "io/idx.h"
#include "io/safetensors.h"

dip_Status dip_read_idx(const char *path, dip_Tensor **out) {
    if (!path || !out) return FAIL(VALUE, "read_idx: path and out must not be NULL");
    return idx_read(path, out);
}

dip_Status dip_save(const char *path, int64_t n, const char *const *names,
                    dip_Tensor *const *tensors) {
    if (!path || n < 0 || (n && (!names || !tensors)))
        return FAIL(VALUE,
                    "save: path, names and tensors must not be NULL, the number not negative");
    NamedTensor *items = calloc((size_t)n + 1, sizeof *items);
    if (!items) return FAIL(NOMEM, "save: no memory for %lld tensors", (long long)n);
    Status s = OK;
    for (int64_t i = 0; i < n && s == OK; i++) {
        if (!tensors[i]) s = FAIL(VALUE, "save: tensor %lld is NULL", (long long)i);
        items[i] = (NamedTensor){names[i], tensors[i]};
    }
    if (s == OK) s = safetensors_save(path, n, items, NULL);
    free(items);
    return s;
}

dip_Status dip_load(const char *path, dip_Archive **out) {
    if (!path || !out) return FAIL(VALUE, "load: path and out must not be NULL");
    return safetensors_load(path, out);
}

void dip_archive_free(dip_Archive *archive) { archive_free(archive); }
int64_t dip_archive_count(const dip_Archive *archive) { return archive ? archive->n : 0; }

static const NamedTensor *entry(const dip_Archive *a, int64_t i) {
    return a && i >= 0 && i < a->n ? &a->items[i] : NULL;
}

const char *dip_archive_name(const dip_Archive *archive, int64_t i) {
    const NamedTensor *e = entry(archive, i);
    return e ? e->name : NULL;
}

dip_Tensor *dip_archive_peek(const dip_Archive *archive, int64_t i) {
    const NamedTensor *e = entry(archive, i);
    return e ? e->tensor : NULL;
}

dip_Tensor *dip_archive_find_peek(const dip_Archive *archive, const char *name) {
    for (int64_t i = 0; archive && name && i < archive->n; i++)
        if (!strcmp(archive->items[i].name, name)) return archive->items[i].tensor;
    return NULL;
}
