/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a sink's latest steps, for the hook step_end. */
#ifndef SLUICE_STEP_HISTORY_H
#define SLUICE_STEP_HISTORY_H

#include <sluice/train.h>

/* Maximum number of records of a history, and of steps of one launch. */
enum { STEP_HISTORY_MOST = 1048576 };

/* A zeroed struct is an empty history. */
typedef struct step_history {
    sluice_step_record
        *records;   /* (count), in order of steps; each points to its row of `outputs` */
    float *outputs; /* (capacity, output_count) */
    size_t capacity;
    size_t outputs_capacity;
    uint64_t count;
} step_history;

/*
 * Appends copies of the records and their outputs. Drops the oldest records if there would be more
 * than STEP_HISTORY_MOST. Returns E_NO_MEMORY if an allocation fails.
 */
sluice_status step_history_add(step_history *history, const sluice_step_record *records,
                               uint64_t count, uint32_t output_count);

/* Removes all records; the memory stays allocated. */
void step_history_clear(step_history *history);

void step_history_free(step_history *history);

#endif
