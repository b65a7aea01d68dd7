/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random draws with replacement, by weight: the alias method (Walker 1977; Vose 1991). Each entry
 * has a threshold and refers to another entry, its alias. A draw picks an entry uniformly; by the
 * threshold, it then chooses between this entry and its alias.
 */
#ifndef SLUICE_WEIGHT_TABLE_H
#define SLUICE_WEIGHT_TABLE_H

#include <stdint.h>

#include <sluice/status.h>

typedef struct weight_entry {
    uint32_t threshold; /* the entry itself if 32 random bits are below this, else the alias */
    uint32_t alias;
} weight_entry;

/* One block of memory, freed by sli_free(). */
typedef struct weight_table {
    uint64_t n;
    uint64_t bytes; /* size of the block */
    weight_entry entries[];
} weight_table;

/*
 * Makes a table of n weights, n from 1 to UINT32_MAX; weights must be finite and at least 0. The
 * probability of an entry is its weight divided by the sum of all, with an error of about 2^-32 /
 * n. An entry of weight 0 is never drawn. E_INVALID: all weights are 0; E_NO_MEMORY.
 */
sluice_status weight_table_make(const double *weights, uint64_t n, weight_table **table_out);

/*
 * Returns the entry that is drawn. It depends only on the table, the key, the pass and the
 * position.
 */
uint64_t weight_table_draw(const weight_table *table, uint64_t key, uint64_t pass,
                           uint64_t position);

#endif
