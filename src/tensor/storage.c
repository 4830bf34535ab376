/* Counted bytes over the pool. */
#include "tensor/storage.h"

#include <stdlib.h>

#include "tensor/pool.h"

static Storage *header(void) {
    Storage *s = pool_small(sizeof *s);
    *s = (Storage){.refs = 1};
    return s;
}

Status storage_new(size_t nbytes, const char *what, Storage **out) {
    void *data;
    TRY(pool_get(nbytes, what, &data));
    Storage *s = header();
    s->data = data;
    s->nbytes = nbytes;
    *out = s;
    return OK;
}

Status storage_lend(void *data, size_t nbytes, void (*release)(void *), void *ctx, Storage **out) {
    Storage *s = header();
    s->data = data;
    s->nbytes = nbytes;
    s->release = release;
    s->ctx = ctx;
    *out = s;
    return OK;
}

void storage_free(Storage *s) {
    if (s->release)
        s->release(s->ctx);
    else
        pool_put(s->data, s->nbytes);
    pool_small_free(s, sizeof *s);
}
