/* What a C test program needs: checks that report their place, and a closing line.
 *
 *     static void test_add(void) { CHECK(1 + 1 == 2); }
 *     int main(void) {
 *         RUN(test_add);
 *         return test_done("arithmetic");
 *     }
 *
 * A failed check marks its test as failed and the test goes on; the program prints
 * `arithmetic: 1 passed, 0 failed` and returns 1 when a test failed. */
#ifndef DIP_TEST_H
#define DIP_TEST_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diptych.h"

static int test_passed, test_failed, test_bad_checks;

static inline bool test_check(bool good, const char *what, const char *file, int line) {
    if (good) return true;
    test_bad_checks++;
    fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
    return false;
}

/* The condition holds; its value is returned, so that a test can stop: if (!CHECK(p)) return; */
#define CHECK(condition) test_check(condition, #condition, __FILE__, __LINE__)

static inline bool test_check_ok(dip_Status s, const char *what, const char *file, int line) {
    if (s == DIP_OK) return true;
    fprintf(stderr, "%s: %s\n%s", dip_status_name(s), dip_error_message(), dip_error_trace());
    return test_check(false, what, file, line);
}

/* The call succeeds. */
#define CHECK_OK(call) test_check_ok(call, #call, __FILE__, __LINE__)

static inline bool test_check_fails(dip_Status s, dip_Status want, const char *part,
                                    const char *what, const char *file, int line) {
    if (s == want && strstr(dip_error_message(), part)) return true;
    fprintf(stderr, "%s: \"%s\", expected %s with \"%s\"\n", dip_status_name(s),
            s == DIP_OK ? "" : dip_error_message(), dip_status_name(want), part);
    return test_check(false, what, file, line);
}

/* The call fails with this status (VALUE, TYPE ...) and `part` stands in its message. */
#define CHECK_FAILS(call, kind, part)                                                              \
    test_check_fails(call, DIP_E_##kind, part, #call, __FILE__, __LINE__)

static inline bool test_check_near(double got, double want, double tolerance, const char *what,
                                   const char *file, int line) {
    bool good = got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= tolerance;
    if (!good) fprintf(stderr, "got %.17g, expected %.17g within %g\n", got, want, tolerance);
    return test_check(good, what, file, line);
}

/* Equal within an absolute tolerance; NaN equals NaN. */
#define CHECK_NEAR(got, want, tolerance)                                                           \
    test_check_near(got, want, tolerance, #got " near " #want, __FILE__, __LINE__)

static inline void test_run(void (*test)(void), const char *name) {
    test_bad_checks = 0;
    test();
    *(test_bad_checks ? &test_failed : &test_passed) += 1;
    if (test_bad_checks) fprintf(stderr, "FAILED %s (%d checks)\n", name, test_bad_checks);
}

#define RUN(test) test_run(test, #test)

static inline int test_done(const char *program) {
    printf("%s: %d passed, %d failed\n", program, test_passed, test_failed);
    return test_failed != 0;
}

#endif
