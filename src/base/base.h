/* Compiler and platform words used everywhere: the only place where compiler extensions are named.
 *
 * DIP_API marks exported symbols (everything else is hidden), DIP_LIKELY guides branches,
 * DIP_CLEANUP runs a function on a variable when its scope ends. */
#ifndef DIP_BASE_H
#define DIP_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diptych.h"

#define DIP_LIKELY(x)       __builtin_expect(!!(x), 1)
#define DIP_UNLIKELY(x)     __builtin_expect(!!(x), 0)
#define DIP_CLEANUP(f)      __attribute__((cleanup(f), unused))
#define DIP_PRINTF(fmt, va) __attribute__((format(printf, fmt, va)))
#define DIP_COLD            __attribute__((cold, noinline))

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static inline int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

#endif
