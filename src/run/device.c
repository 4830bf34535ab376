/* The CPU and the test device. */
#include "run/device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "tensor/pool.h"

/* ---- the CPU */

static Status host_allocate(size_t nbytes, const char *what, void **out) {
    return pool_get(nbytes, what, out);
}
static void host_release(void *p, size_t nbytes) {
    if (p) pool_put(p, nbytes);
}
static void host_run(DeviceWork *work, void *arg) { work(arg); }

static const Device cpu = {"cpu", true, host_allocate, host_release, host_run};

/* ---- the test device */

typedef struct Pages {
    char *at;
    size_t nbytes; /* with the guard page */
    void *given;
    struct Pages *next;
} Pages;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Pages *all;

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* The bytes end at the guard page, as near as the alignment lets them. */
static Status test_allocate(size_t nbytes, const char *what, void **out) {
    size_t page = page_bytes(), room = (nbytes + 63) / 64 * 64;
    Pages *p = checked(malloc(sizeof *p));
    p->nbytes = (room + page - 1) / page * page + page;
    p->at = mmap(NULL, p->nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p->at == MAP_FAILED) {
        free(p);
        return FAIL(NOMEM, "the test device has no %zu bytes for %s", nbytes, what);
    }
    *out = p->given = p->at + p->nbytes - page - room;
    pthread_mutex_lock(&lock);
    p->next = all;
    all = p;
    pthread_mutex_unlock(&lock);
    return OK;
}

static void test_release(void *given, size_t nbytes) {
    (void)nbytes;
    pthread_mutex_lock(&lock);
    Pages **at = &all;
    while (*at && (*at)->given != given) at = &(*at)->next;
    Pages *p = *at;
    if (p) *at = p->next;
    pthread_mutex_unlock(&lock);
    if (p) munmap(p->at, p->nbytes);
    free(p);
}

static void protect(int how) {
    for (const Pages *p = all; p; p = p->next)
        if (mprotect(p->at, p->nbytes - page_bytes(), how) != 0) abort();
}

static void test_run(DeviceWork *work, void *arg) {
    pthread_mutex_lock(&lock);
    protect(PROT_READ | PROT_WRITE);
    work(arg);
    protect(PROT_NONE);
    pthread_mutex_unlock(&lock);
}

static const Device test = {"test", false, test_allocate, test_release, test_run};

static _Atomic(const Device *) chosen = &cpu;

const Device *device_now(void) { return chosen; }
void device_test(bool on) { chosen = on ? &test : &cpu; }

/* ---- copies */

typedef struct Copy {
    int rank;
    const int64_t *dims;
    Place to, from;
} Copy;

static void run_copy(void *arg) {
    const Copy *c = arg;
    copy_strided(c->rank, c->dims, c->to, c->from);
}

void device_copy(const Device *d, int rank, const int64_t *dims, Place to, Place from) {
    Copy c = {rank, dims, to, from};
    d->run(run_copy, &c);
}

void device_copy_bytes(const Device *d, void *to, const void *from, size_t n) {
    int64_t dims[1] = {(int64_t)n}, strides[1] = {1};
    Place target = {DT_u8, to, strides};
    Place source = {DT_u8, (char *)(uintptr_t)from, strides};
    device_copy(d, 1, dims, target, source);
}
