/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups positions by class, to draw from all classes equally often. The members of each class are
 * drawn in a random order. After the last one they are drawn again, in another random order. A pass
 * continues where the previous pass ended.
 */
#ifndef SLUICE_CLASS_TABLE_H
#define SLUICE_CLASS_TABLE_H

#include <stdint.h>

#include <sluice/status.h>

#include "permutation.h"

typedef struct class_range {
    uint64_t first; /* index of its first member */
    index_permutation permutation;
} class_range;

/* One block of memory, freed by sli_free(). */
typedef struct class_table {
    uint64_t classes;
    uint64_t bytes; /* size of the block */
    class_range *ranges;
    uint32_t *members; /* sorted by class, then in their original order */
} class_table;

/*
 * Makes one class for each distinct value in labels; n is 1 to UINT32_MAX. Returns E_NO_MEMORY on
 * failure.
 */
sluice_status class_table_make(const int64_t *labels, uint64_t n, class_table **table_out);

/*
 * Returns the member at a position of a pass of `length` positions; position p draws from class p
 * modulo the number of classes. *repetition_out counts from 0 how often the class began again in
 * this pass, so it differs each time a pass draws the same member.
 */
uint64_t class_table_at(const class_table *table, uint64_t key, uint64_t length, uint64_t pass,
                        uint64_t position, uint64_t *repetition_out);

#endif
