/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digest of a batch, computed from the tensors that the step receives. It depends on the
 * position of each word. It is a sum, so that any device can compute it in any order.
 *
 *     column = sum mod 2^64 of mix64(word[i] + i * K) over its 8-byte little-endian words
 *     step   = hash chain over the columns' digests, in column order, and valid_rows
 *
 * with K = 0x9E3779B97F4A7C15 and mix64 the finaliser of splitmix64. If the size of a column is not
 * a multiple of 8, its last word is padded with zeros.
 */
#ifndef SLUICE_DIGEST_INT_H
#define SLUICE_DIGEST_INT_H

#include <stddef.h>
#include <stdint.h>

#include "rng_int.h"

/* The contribution of word i to a column's digest. */
SLI_DEVICE_FN uint64_t sli_digest_word(uint64_t word, uint64_t i)
{
    return sli_mix64(word + i * UINT64_C(0x9E3779B97F4A7C15));
}

uint64_t sli_digest_bytes(const void *data, size_t bytes);

#endif
