/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws with replacement, by weights: the alias method (Walker 1977; Vose 1991). Each entry has a
 * threshold and another entry, its alias; a draw takes an entry at random, and then it or its
 * alias.
 */
#ifndef SLUICE_WEIGHT_TABLE_H
#define SLUICE_WEIGHT_TABLE_H

#include <stdint.h>

#include <sluice/status.h>

typedef struct weight_entry {
    uint32_t threshold; /* 32 random bits below it: the entry itself */
    uint32_t alias;
} weight_entry;

/* One block of memory, freed by sli_free(). */
typedef struct weight_table {
    uint64_t n;
    uint64_t bytes; /* of the block */
    weight_entry entries[];
} weight_table;

/*
 * n is 1 to UINT32_MAX; weights are finite, from 0. The probability of an entry is its share of all
 * weights, to about 2^-32 / n; an entry of weight 0 is never drawn. E_INVALID: all weights are 0;
 * E_NO_MEMORY.
 */
sluice_status weight_table_make(const double *weights, uint64_t n, weight_table **table_out);

/* The entry that is drawn: a function of the key, the pass and the position alone. */
uint64_t weight_table_draw(const weight_table *table, uint64_t key, uint64_t pass,
                           uint64_t position);

#endif
