/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Mersenne Twister MT19937 (Matsumoto and Nishimura, "Mersenne Twister: a 623-dimensionally
 * equidistributed uniform pseudo-random number generator", 1998; seeding of 2002).
 */
#ifndef SLUICE_MT19937_INT_H
#define SLUICE_MT19937_INT_H

#include <stdint.h>

enum { SLI_MT19937_WORDS = 624 };

typedef struct sli_mt19937 {
    uint32_t words[SLI_MT19937_WORDS];
    uint32_t next; /* index of the next word to return; SLI_MT19937_WORDS: new words have to be
                      generated first */
} sli_mt19937;

void sli_mt19937_seed(sli_mt19937 *generator, uint32_t seed);
uint32_t sli_mt19937_draw(sli_mt19937 *generator);

/*
 * Fisher-Yates shuffle from the last element down: element i is swapped with element (draw modulo i
 * + 1). Draws count - 1 numbers.
 */
void sli_mt19937_permute(sli_mt19937 *generator, uint32_t *elements, uint32_t count);

#endif
