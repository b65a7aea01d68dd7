/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The positions that a subset stage selects, in the order of its list, which may contain a position
 * several times.
 */
#ifndef SLUICE_SUBSET_TABLE_H
#define SLUICE_SUBSET_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* One block of memory, freed by sli_free(). */
typedef struct subset_table {
    uint64_t count;
    uint64_t bytes;              /* size of the block */
    const uint32_t *repetitions; /* for each member: how often it is listed before; NULL: each is
                                    listed once */
    uint32_t members[];
} subset_table;

/* Makes a table of the members, which must be below `limit`. Returns E_NO_MEMORY on failure. */
sluice_status subset_table_make(const uint32_t *members, uint64_t count, uint64_t limit,
                                subset_table **table_out);

/*
 * Returns the member at a position. *repetition_out is how often it is listed before that position.
 */
static inline uint64_t subset_table_at(const subset_table *table, uint64_t position,
                                       uint64_t *repetition_out)
{
    *repetition_out = table->repetitions != NULL ? table->repetitions[position] : 0;
    return table->members[position];
}

#endif
