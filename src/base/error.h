/* Errors: a status return and a record of the failing thread.
 *
 * FAIL formats the message into the thread's record and notes the place; TRY passes a failure on
 * and adds its own place to the return trace. A successful call costs one predictable branch. */
#ifndef DIP_ERROR_H
#define DIP_ERROR_H

#include "base/base.h"

typedef dip_Status Status;
#define OK DIP_OK

typedef struct ErrorPlace {
    const char *file, *function;
    int line;
} ErrorPlace;

/* Starts a new record: message by printf rules. */
void error_set(Status status, ErrorPlace place, const char *fmt, ...) DIP_PRINTF(3, 4);
/* Adds a frame to the return trace (at most 16 are kept). */
void error_pass(ErrorPlace place);
/* Puts "prefix" before the message of the present record. */
void error_prefix(const char *fmt, ...) DIP_PRINTF(1, 2);

const char *error_message(void); /* "" when nothing failed on this thread */
Status error_status(void);
/* The frames of the last failure, innermost first, one a line; valid until the next failure. */
const char *error_trace(void);
void error_clear(void);
const char *status_name(Status status);
const char *status_exception(Status status); /* the Python class */

#define ERROR_HERE                                                                                 \
    (ErrorPlace) { __FILE__, __func__, __LINE__ }
/* The status is written out again so that the compiler sees a failure. */
#define FAIL(kind, ...) (error_set(DIP_E_##kind, ERROR_HERE, __VA_ARGS__), DIP_E_##kind)
#define TRY(call)                                                                                  \
    do {                                                                                           \
        Status try_status_ = (call);                                                               \
        if (DIP_UNLIKELY(try_status_ != DIP_OK)) {                                                 \
            error_pass(ERROR_HERE);                                                                \
            return try_status_;                                                                    \
        }                                                                                          \
    } while (0)

#endif
