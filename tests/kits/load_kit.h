/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other processes take of the CPUs that this one may use. It is measured without the library,
 * so that a figure of the library that is wrong does not make the tests of that figure skip.
 */
#ifndef SLUICE_LOAD_KIT_H
#define SLUICE_LOAD_KIT_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct load_kit {
    cpu_set_t cpus;
    int64_t at_ns;
    double busy_s; /* of these CPUs, in all processes */
    double own_s;  /* of this process */
} load_kit;

void load_kit_start(load_kit *load);

/* True if others took at most a tenth of the time of the CPUs since the start. The work of this
 * process does not count. Also true if /proc/stat cannot be read: then no test skips. */
bool load_kit_is_calm(const load_kit *load);

typedef enum load_result {
    LOAD_RIGHT,
    LOAD_WRONG,
    LOAD_UNKNOWN /* others took the CPUs, or a sanitizer did */
} load_result;

/* Calls a function that runs something until it is right, a few times. It is wrong if it was not
 * right in three calm tries: a single one may be spoilt by what no clock shows. In a build with a
 * sanitizer, there is one try, and none is wrong. */
load_result load_kit_try(bool (*is_right)(void *arg), void *arg);

/* The same: ends the test with a failure if it is wrong, and skips the rest if that is unknown. */
void load_kit_needs_right(bool (*is_right)(void *arg));

/* True if the kernel counts the time that threads wait in the run queue. */
bool load_kit_has_schedstat(void);

#endif
