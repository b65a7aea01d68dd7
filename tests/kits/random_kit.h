/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for tests that draw: the same on every machine. Fuzzing and the makers use it, too. */
#ifndef SLUICE_RANDOM_KIT_H
#define SLUICE_RANDOM_KIT_H

#include <stdint.h>

/* The next number of a small generator (xorshift); state is not 0. */
static inline uint32_t test_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* In [0, range). */
static inline uint32_t test_below(uint32_t *state, uint32_t range)
{
    return (uint32_t)((uint64_t)test_random(state) * range >> 32);
}

#endif
