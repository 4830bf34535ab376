/* Subnormal numbers as zeros, for this thread and a short time: on x86 each operation with one
 * takes over a hundred times as long. See docs/design/010-subnormals.md for where this is on. */
#ifndef DIP_SUBNORMAL_H
#define DIP_SUBNORMAL_H

#include <stdint.h>

/* How the thread's arithmetic rounds, traps and flushes: the register of its CPU. */
typedef uint64_t FloatMode;

#if defined(__x86_64__)
enum { FLUSHES = 1 << 15 | 1 << 6 }; /* MXCSR: results (FTZ) and operands (DAZ) */
static inline FloatMode float_mode(void) {
    uint32_t mode;
    __asm__ volatile("stmxcsr %0" : "=m"(mode));
    return mode;
}
static inline void float_set_mode(FloatMode mode) {
    uint32_t low = (uint32_t)mode;
    __asm__ volatile("ldmxcsr %0" : : "m"(low) : "memory");
}
#elif defined(__aarch64__)
enum { FLUSHES = 1 << 24 }; /* FPCR.FZ: both */
static inline FloatMode float_mode(void) {
    FloatMode mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
static inline void float_set_mode(FloatMode mode) {
    __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory");
}
#else
enum { FLUSHES = 0 };
static inline FloatMode float_mode(void) { return 0; }
static inline void float_set_mode(FloatMode mode) { (void)mode; }
#endif

/* Flushes from here on; gives the mode to go back to with float_set_mode. */
static inline FloatMode float_flush(void) {
    FloatMode mode = float_mode();
    float_set_mode(mode | FLUSHES);
    return mode;
}

#endif
