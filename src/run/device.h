/* Where plans run: memory, and a way to touch it. Nothing outside of `run` may read or write memory
 * that the device has given, so a device can keep it where the program cannot reach. */
#ifndef DIP_DEVICE_H
#define DIP_DEVICE_H

#include "kernels/copy.h"

typedef void DeviceWork(void *arg);

typedef struct Device {
    const char *name;
    bool is_host; /* its memory is the program's own: inputs and results are not copied */
    Status (*allocate)(size_t nbytes, const char *what, void **out); /* 64-byte aligned */
    void (*release)(void *p, size_t nbytes);
    void (*run)(DeviceWork *work, void *arg); /* kernels and copies */
} Device;

/* The device of runs that start now: the CPU, or the test device. */
const Device *device_now(void);
/* The test device computes with the CPU's kernels. Its memory is out of reach but while they run,
 * and ends where a page begins that nobody may touch: a stray access ends the process. */
void device_test(bool on);

/* Copies an array, from or to the device's memory. */
void device_copy(const Device *d, int rank, const int64_t *dims, Place to, Place from);
void device_copy_bytes(const Device *d, void *to, const void *from, size_t n);

#endif
