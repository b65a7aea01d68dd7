/* SPDX-License-Identifier: Apache-2.0 */
#include "subset_table.h"

#include <stdbool.h>
#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

/*
 * Counts for each entry how often its sample is listed before it. *repeats_out becomes true if a
 * sample is listed more than once.
 */
static sluice_status count_repetitions(const uint32_t *members, uint64_t count, uint64_t limit,
                                       uint32_t *repetitions, bool *repeats_out)
{
    uint32_t *seen = sli_calloc((size_t)limit + 1, sizeof(*seen));

    if (seen == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a list of %llu samples", (unsigned long long)count);
    }
    *repeats_out = false;
    for (uint64_t i = 0; i < count; i++) {
        repetitions[i] = seen[members[i]]++;
        *repeats_out = *repeats_out || repetitions[i] > 0;
    }
    sli_free(seen);
    return SLUICE_OK;
}

sluice_status subset_table_make(const uint32_t *members, uint64_t count, uint64_t limit,
                                subset_table **table_out)
{
    const size_t bytes = sizeof(subset_table) + 2 * (size_t)count * sizeof(uint32_t);
    subset_table *table = sli_calloc(1, bytes);
    bool repeats = false;
    sluice_status st;

    if (table == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a list of %llu samples", (unsigned long long)count);
    }
    st = count_repetitions(members, count, limit, table->members + count, &repeats);
    if (st != SLUICE_OK) {
        sli_free(table);
        return st;
    }
    table->count = count;
    table->bytes = bytes;
    table->repetitions = repeats ? table->members + count : NULL;
    memcpy(table->members, members, (size_t)count * sizeof(*members));
    *table_out = table;
    return SLUICE_OK;
}
