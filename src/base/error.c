/* The per-thread error record: one message, one status, the places it passed through. */
#include "base/error.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FRAMES = 16, MAX_MESSAGE = 2048 };

typedef struct Record {
    Status status;
    int nframes;
    ErrorPlace frames[MAX_FRAMES];
    char message[MAX_MESSAGE];
    char trace[MAX_FRAMES * 160];
} Record;

/* On the heap, for room among a process's thread-local variables is small when the library comes
 * in by dlopen. Freed with its thread. */
static _Thread_local Record *own_record;
static pthread_key_t record_key;
static pthread_once_t record_once = PTHREAD_ONCE_INIT;

static void make_key(void) { pthread_key_create(&record_key, free); }

static Record *record_of_thread(void) {
    if (own_record) return own_record;
    own_record = calloc(1, sizeof *own_record);
    if (!own_record) abort(); /* not even room for the message */
    pthread_once(&record_once, make_key);
    pthread_setspecific(record_key, own_record);
    return own_record;
}

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
    Record *record = record_of_thread();
    va_list args;
    va_start(args, fmt);
    vsnprintf(record->message, sizeof record->message, fmt, args);
    va_end(args);
    record->status = status;
    record->frames[0] = place;
    record->nframes = 1;
}

void error_pass(ErrorPlace place) {
    Record *record = record_of_thread();
    if (record->nframes < MAX_FRAMES) record->frames[record->nframes++] = place;
}

void error_prefix(const char *fmt, ...) {
    Record *record = record_of_thread();
    char old[MAX_MESSAGE];
    memcpy(old, record->message, sizeof old);
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(record->message, sizeof record->message, fmt, args);
    va_end(args);
    if (n < 0 || n >= MAX_MESSAGE) return;
    snprintf(record->message + n, sizeof record->message - (size_t)n, "%s", old);
}

const char *error_message(void) {
    return own_record && own_record->status != OK ? own_record->message : "";
}
Status error_status(void) { return own_record ? own_record->status : OK; }

const char *error_trace(void) {
    Record *record = record_of_thread();
    size_t at = 0;
    record->trace[0] = 0;
    for (int i = 0; i < record->nframes && at + 1 < sizeof record->trace; i++) {
        const ErrorPlace *p = &record->frames[i];
        int n = snprintf(record->trace + at, sizeof record->trace - at, "%s:%d in %s\n", p->file,
                         p->line, p->function);
        if (n < 0) break;
        at += (size_t)n;
    }
    return record->trace;
}

void error_clear(void) {
    if (!own_record) return;
    Record *record = own_record;
    record->status = OK;
    record->nframes = 0;
}
