/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs that check the network of the examples share. */
#ifndef SLUICE_CONVNET_KIT_H
#define SLUICE_CONVNET_KIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int passed;
static int failed;

static inline void check(bool condition, const char *what)
{
    printf("%s: %s\n", condition ? "passed" : "FAILED", what);
    passed += condition ? 1 : 0;
    failed += condition ? 0 : 1;
}

/* Prints the last line; what main() returns. */
static inline int end_of_checks(const char *name)
{
    printf("%s: %d passed, %d failed, 0 skipped\n", name, passed, failed);
    return failed > 0 ? 1 : 0;
}

static inline void *need(void *memory)
{
    if (memory == NULL) {
        fputs("no memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* Returns the next number of a fixed series, at least -1 and below 1. */
static inline float next_number(void)
{
    static uint32_t state = 1;

    state = state * UINT32_C(1664525) + UINT32_C(1013904223);
    return (float)(state >> 8) * 0x1p-23f - 1.0f;
}

#endif
