/* SPDX-License-Identifier: Apache-2.0 */
/* The suites of sluice_unit, lowest module first. */
#include "testing.h"

#define SUITES(X) X(status) X(alloc) X(text) X(rng) X(thread) X(profiler) X(device)

#define DECLARE(name) extern const t_test name##_tests[];
SUITES(DECLARE)

#define ENTRY(name) {#name, name##_tests},
const t_suite t_suites[] = {SUITES(ENTRY){NULL, NULL}};
