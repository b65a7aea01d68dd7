/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks for tests: CUnit's, with both values printed, and a counted skip. A failed check ends its
 * test. Each helper can be called from any thread but T_SKIP.
 */
#ifndef SLUICE_TESTING_H
#define SLUICE_TESTING_H

#include <CUnit/CUnit.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <sluice/status.h>

typedef struct t_test {
    const char *name;
    void (*run)(void);
    int on_host_only; /* left out where all runs of the suite are on a device that enqueues steps */
} t_test;

typedef struct t_suite {
    const char *name;
    const t_test *tests; /* ends with a zero entry */
} t_suite;

/* Every suite of the executable, in tests/test_list.c or tests/api/api_list.c; zero entry last. */
extern const t_suite t_suites[];

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A test case of a suite's table, named as its function. */
#define T_TEST(function)                                                                           \
    {                                                                                              \
#function, function, 0                                                                     \
    }
/* One of what only a step that is called can do: answer, or have hooks around each in data mode. */
#define T_HOST_TEST(function)                                                                      \
    {                                                                                              \
#function, function, 1                                                                     \
    }
#define T_END                                                                                      \
    {                                                                                              \
        NULL, NULL, 0                                                                              \
    }

/* The step of a loop in which each of hundreds of calls fails once, each in a run of its own. The
 * thread sanitizer takes twenty times as long, and races hardly depend on the call that fails: it
 * gets every eleventh. */
#if defined(__SANITIZE_THREAD__)
enum { T_FAULT_STEP = 11 };
#else
enum { T_FAULT_STEP = 1 };
#endif

#define T_FAIL_(...)                                                                               \
    do {                                                                                           \
        char t_message[1600];                                                                      \
        snprintf(t_message, sizeof(t_message), __VA_ARGS__);                                       \
        CU_assertImplementation(CU_FALSE, __LINE__, t_message, __FILE__, "", CU_TRUE);             \
    } while (0)

#define T_TRUE(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            T_FAIL_("%s is false", #condition);                                                    \
        }                                                                                          \
    } while (0)

#define T_OK(call) T_STATUS(call, SLUICE_OK)

#define T_STATUS(call, want)                                                                       \
    do {                                                                                           \
        sluice_status t_got = (call);                                                              \
        if (t_got != (want)) {                                                                     \
            T_FAIL_("%s is %s, want %s: %s", #call, sluice_status_name(t_got),                     \
                    sluice_status_name(want), sluice_last_error());                                \
        }                                                                                          \
    } while (0)

#define T_EQ(got, want)                                                                            \
    do {                                                                                           \
        long long t_got = (long long)(got);                                                        \
        long long t_want = (long long)(want);                                                      \
        if (t_got != t_want) {                                                                     \
            T_FAIL_("%s is %lld, want %lld (%s)", #got, t_got, t_want, #want);                     \
        }                                                                                          \
    } while (0)

#define T_NEAR(got, want, tolerance)                                                               \
    do {                                                                                           \
        double t_got = (double)(got);                                                              \
        double t_want = (double)(want);                                                            \
        if (!(fabs(t_got - t_want) <= (double)(tolerance))) {                                      \
            T_FAIL_("%s is %.9g, want %.9g within %g", #got, t_got, t_want, (double)(tolerance));  \
        }                                                                                          \
    } while (0)

#define T_STR(got, want)                                                                           \
    do {                                                                                           \
        const char *t_got = (got);                                                                 \
        const char *t_want = (want);                                                               \
        if (strcmp(t_got, t_want) != 0) {                                                          \
            T_FAIL_("%s is \"%s\", want \"%s\"", #got, t_got, t_want);                             \
        }                                                                                          \
    } while (0)

#define T_CONTAINS(text, part)                                                                     \
    do {                                                                                           \
        const char *t_text = (text);                                                               \
        if (strstr(t_text, (part)) == NULL) {                                                      \
            T_FAIL_("%s has no \"%s\": \"%s\"", #text, (part), t_text);                            \
        }                                                                                          \
    } while (0)

/* Ends the test, counted as skipped; use where something of the machine is missing. */
#define T_SKIP(why)                                                                                \
    do {                                                                                           \
        t_skip(why);                                                                               \
        return;                                                                                    \
    } while (0)
void t_skip(const char *why);

/* The same, unless the condition holds. */
#define T_NEEDS(condition, why)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            T_SKIP(why);                                                                           \
        }                                                                                          \
    } while (0)

/* A folder of this test's own, empty, removed when the runner ends. */
const char *t_folder(void);

/* The path of a file of that name in such a folder. It can be used until the runner ends. */
const char *t_file(const char *name);

/* Writes a file of this many bytes; the path's folders are made. */
void t_write_file(const char *path, const void *data, size_t size);

/* "folder/name" in a ring of static buffers: good for one statement. */
const char *t_path(const char *folder, const char *name);

#endif
