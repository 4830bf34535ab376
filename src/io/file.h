/* Files by whole pieces: a reader that knows the size, and a writer that replaces the old file only
 * when the new one is complete and on disk. Every error names the file and what went wrong. */
#ifndef DIP_FILE_H
#define DIP_FILE_H

#include "base/error.h"

typedef struct FileReader {
    const char *path; /* borrowed; for messages */
    int fd;
    uint64_t nbytes;
} FileReader;

Status file_open(const char *op, const char *path, FileReader *out);
/* Exactly n bytes from `offset`; fails when the file ends before or cannot be read. */
Status file_read(const FileReader *f, uint64_t offset, void *dst, size_t n);
void file_close(FileReader *f); /* closing twice is fine */

typedef struct FileWriter {
    const char *path; /* borrowed: the name that the file gets in the end */
    char *temporary;  /* owned: where it is written */
    int fd;
} FileWriter;

Status file_create(const char *op, const char *path, FileWriter *out);
Status file_write(FileWriter *f, const void *src, size_t n);
/* Syncs, renames over `path`, syncs the directory. On failure the old file is untouched. */
Status file_commit(FileWriter *f);
void file_abandon(FileWriter *f); /* removes the temporary; nothing after a commit */

#endif
