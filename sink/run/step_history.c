/* SPDX-License-Identifier: Apache-2.0 */
#include "step_history.h"

#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

/* Updates the records' pointers to their outputs after the outputs have moved. */
static void point_at_outputs(step_history *h, uint32_t output_count)
{
    for (uint64_t i = 0; i < h->count; i++) {
        h->records[i].outputs = h->outputs + i * output_count;
    }
}

/* Makes room for `more` records by dropping the oldest records, at least half of all. */
static void drop_oldest(step_history *h, uint64_t more, uint32_t output_count)
{
    const uint64_t half = h->count / 2;
    const uint64_t kept = half < STEP_HISTORY_MOST - more ? half : STEP_HISTORY_MOST - more;
    const uint64_t from = h->count - kept;

    memmove(h->records, h->records + from, kept * sizeof(*h->records));
    memmove(h->outputs, h->outputs + from * output_count,
            kept * output_count * sizeof(*h->outputs));
    h->count = kept;
    point_at_outputs(h, output_count);
}

static sluice_status reserve_records(step_history *h, uint64_t more, uint32_t output_count)
{
    const size_t before = h->outputs_capacity;
    sluice_step_record *records;
    float *outputs;

    if (h->count + more > STEP_HISTORY_MOST) {
        drop_oldest(h, more, output_count);
    }
    records = sli_grow(h->records, &h->capacity, h->count + more, sizeof(*records));
    if (records != NULL) {
        h->records = records;
    }
    outputs = sli_grow(h->outputs, &h->outputs_capacity, (h->count + more) * output_count,
                       sizeof(*outputs));
    if (outputs != NULL) {
        h->outputs = outputs;
    }
    if (h->outputs_capacity != before) {
        point_at_outputs(h, output_count);
    }
    return records != NULL && outputs != NULL ? SLUICE_OK
                                              : sli_fail(SLUICE_E_NO_MEMORY, "records of a sink");
}

sluice_status step_history_add(step_history *history, const sluice_step_record *records,
                               uint64_t count, uint32_t output_count)
{
    const sluice_status st = reserve_records(history, count, output_count);

    if (st != SLUICE_OK) {
        return st;
    }
    for (uint64_t i = 0; i < count; i++) {
        sluice_step_record *record = &history->records[history->count];
        float *outputs = history->outputs + history->count * output_count;

        memcpy(outputs, records[i].outputs, output_count * sizeof(*outputs));
        *record = records[i];
        record->outputs = outputs;
        record->samples = NULL;
        history->count++;
    }
    return SLUICE_OK;
}

void step_history_clear(step_history *history)
{
    history->count = 0;
}

void step_history_free(step_history *history)
{
    sli_free(history->records);
    sli_free(history->outputs);
    memset(history, 0, sizeof(*history));
}
