/* SPDX-License-Identifier: Apache-2.0 */
#include "mt19937_int.h"

enum { MIDDLE = 397 };

void sli_mt19937_seed(sli_mt19937 *generator, uint32_t seed)
{
    uint32_t *words = generator->words;

    words[0] = seed;
    for (uint32_t i = 1; i < SLI_MT19937_WORDS; i++) {
        words[i] = 1812433253u * (words[i - 1] ^ words[i - 1] >> 30) + i;
    }
    generator->next = SLI_MT19937_WORDS;
}

/*
 * Word i of the next generation, from the highest bit of word i and the lower 31 bits of word i +
 * 1.
 */
static uint32_t twist(const uint32_t *words, uint32_t i)
{
    const uint32_t y =
        (words[i] & 0x80000000u) | (words[(i + 1) % SLI_MT19937_WORDS] & 0x7fffffffu);

    return words[(i + MIDDLE) % SLI_MT19937_WORDS] ^ y >> 1 ^ ((y & 1) != 0 ? 0x9908b0dfu : 0);
}

uint32_t sli_mt19937_draw(sli_mt19937 *generator)
{
    uint32_t y;

    if (generator->next >= SLI_MT19937_WORDS) {
        for (uint32_t i = 0; i < SLI_MT19937_WORDS; i++) {
            generator->words[i] = twist(generator->words, i);
        }
        generator->next = 0;
    }
    y = generator->words[generator->next++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

void sli_mt19937_permute(sli_mt19937 *generator, uint32_t *elements, uint32_t count)
{
    for (uint32_t i = count; i-- > 1;) {
        const uint32_t k = sli_mt19937_draw(generator) % (i + 1);
        const uint32_t element = elements[i];

        elements[i] = elements[k];
        elements[k] = element;
    }
}
