/* Files by whole pieces over POSIX calls, interrupted and short transfers continued. */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One transfer moves at most this much; the kernel's own limit is a little below 2^31. */
enum { MAX_TRANSFER = 1 << 30 };

static Status os_error(const char *op, const char *path, const char *what, int number) {
    return FAIL(IO, "%s: %s %s: %s", op, what, path, strerror(number));
}

Status file_open(const char *op, const char *path, FileReader *out) {
    FileReader f = {path, open(path, O_RDONLY | O_CLOEXEC), 0};
    if (f.fd < 0) return os_error(op, path, "cannot open", errno);
    struct stat info;
    if (fstat(f.fd, &info)) {
        int number = errno;
        close(f.fd);
        return os_error(op, path, "cannot inspect", number);
    }
    if (!S_ISREG(info.st_mode)) {
        close(f.fd);
        return FAIL(IO, "%s: %s is not a regular file", op, path);
    }
    f.nbytes = (uint64_t)info.st_size;
    *out = f;
    return OK;
}

Status file_read(const FileReader *f, uint64_t offset, void *dst, size_t n) {
    char *at = dst;
    while (n) {
        ssize_t got = pread(f->fd, at, n < MAX_TRANSFER ? n : MAX_TRANSFER, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return os_error("read", f->path, "cannot read", errno);
        if (!got)
            return FAIL(IO, "read: %s ended early, at byte %llu", f->path,
                        (unsigned long long)offset);
        at += got, n -= (size_t)got, offset += (uint64_t)got;
    }
    return OK;
}

void file_close(FileReader *f) {
    if (f->fd >= 0) close(f->fd);
    f->fd = -1;
}

Status file_create(const char *op, const char *path, FileWriter *out) {
    static atomic_uint counter; /* two threads may save to one path: each has its own temporary */
    size_t size = strlen(path) + 40;
    FileWriter f = {path, malloc(size), -1};
    if (!f.temporary) return FAIL(NOMEM, "%s: no memory for a name of %zu bytes", op, size);
    snprintf(f.temporary, size, "%s.%ld-%u.tmp", path, (long)getpid(),
             atomic_fetch_add(&counter, 1));
    f.fd = open(f.temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (f.fd < 0) {
        int number = errno;
        free(f.temporary);
        return os_error(op, path, "cannot create a file beside", number);
    }
    *out = f;
    return OK;
}

Status file_write(FileWriter *f, const void *src, size_t n) {
    const char *at = src;
    while (n) {
        ssize_t put = write(f->fd, at, n < MAX_TRANSFER ? n : MAX_TRANSFER);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return os_error("write", f->path, "cannot write", errno);
        at += put, n -= (size_t)put;
    }
    return OK;
}

/* Makes the rename itself durable. A file system without directory syncs is no failure. */
static void sync_directory(char *path) {
    char *slash = strrchr(path, '/');
    if (slash) slash[slash == path] = 0;
    int fd = open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

Status file_commit(FileWriter *f) {
    if (fsync(f->fd)) return os_error("write", f->path, "cannot sync", errno);
    int closed = close(f->fd);
    f->fd = -1;
    if (closed) return os_error("write", f->path, "cannot close", errno);
    if (rename(f->temporary, f->path)) return os_error("write", f->path, "cannot rename to", errno);
    sync_directory(f->temporary);
    free(f->temporary);
    f->temporary = NULL;
    return OK;
}

void file_abandon(FileWriter *f) {
    if (f->fd >= 0) close(f->fd);
    if (f->temporary) unlink(f->temporary);
    free(f->temporary);
    *f = (FileWriter){.fd = -1};
}
