/* The per-thread error record: one message, one status, the places it passed through. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FRAMES = 16, MAX_MESSAGE = 2048 };

typedef struct Record {
    Status status;
    int nframes;
    ErrorPlace frames[MAX_FRAMES];
    char message[MAX_MESSAGE];
    char trace[MAX_FRAMES * 160];
} Record;

static _Thread_local Record record;

#define STATUS(token, number, exception, meaning)                                                  \
    _Static_assert(DIP_E_##token == (number), "status.def and diptych.h agree");
#include "base/status.def"
#undef STATUS

static const char *const names[] = {
    "OK",
#define STATUS(token, number, exception, meaning) #token,
#include "base/status.def"
#undef STATUS
};
static const char *const exceptions[] = {
    "",
#define STATUS(token, number, exception, meaning) exception,
#include "base/status.def"
#undef STATUS
};

static bool is_known(Status s) { return (int)s >= 0 && (size_t)s < COUNT_OF(names); }

const char *status_name(Status s) { return is_known(s) ? names[s] : "unknown"; }
const char *status_exception(Status s) { return is_known(s) ? exceptions[s] : "RuntimeError"; }

void error_set(Status status, ErrorPlace place, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(record.message, sizeof record.message, fmt, args);
    va_end(args);
    record.status = status;
    record.frames[0] = place;
    record.nframes = 1;
}

void error_pass(ErrorPlace place) {
    if (record.nframes < MAX_FRAMES) record.frames[record.nframes++] = place;
}

void error_prefix(const char *fmt, ...) {
    char old[MAX_MESSAGE];
    memcpy(old, record.message, sizeof old);
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(record.message, sizeof record.message, fmt, args);
    va_end(args);
    if (n < 0 || n >= MAX_MESSAGE) return;
    snprintf(record.message + n, sizeof record.message - (size_t)n, "%s", old);
}

const char *error_message(void) { return record.status == OK ? "" : record.message; }
Status error_status(void) { return record.status; }

const char *error_trace(void) {
    size_t at = 0;
    record.trace[0] = 0;
    for (int i = 0; i < record.nframes && at + 1 < sizeof record.trace; i++) {
        const ErrorPlace *p = &record.frames[i];
        int n = snprintf(record.trace + at, sizeof record.trace - at, "%s:%d in %s\n", p->file,
                         p->line, p->function);
        if (n < 0) break;
        at += (size_t)n;
    }
    return record.trace;
}

void error_clear(void) {
    record.status = OK;
    record.nframes = 0;
}
