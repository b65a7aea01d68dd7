/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "alloc_int.h"
#include "record_format.h"
#include "status_int.h"

sluice_status record_index_add(record_index *index, const record_range *ranges)
{
    const size_t at = (size_t)index->count * index->per_record;
    record_range *grown =
        sli_grow(index->ranges, &index->capacity, at + index->per_record, sizeof(*grown));

    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "an index of %llu records",
                        (unsigned long long)index->count);
    }
    index->ranges = grown;
    memcpy(&grown[at], ranges, index->per_record * sizeof(*ranges));
    index->count++;
    return SLUICE_OK;
}

void record_index_free(record_index *index)
{
    sli_free(index->ranges);
    index->ranges = NULL;
    index->capacity = 0;
    index->count = 0;
}
