/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a sink's latest steps, kept for the hook step_end. */
#ifndef SLUICE_STEP_HISTORY_H
#define SLUICE_STEP_HISTORY_H

#include <sluice/train.h>

/* Records of a history at most, and steps of one launch at most. */
enum { STEP_HISTORY_MOST = 1048576 };

/* Zeroed it is empty. */
typedef struct step_history {
    sluice_step_record *records; /* (count), their outputs in `outputs` */
    float *outputs;              /* (capacity, output_count) */
    size_t capacity;
    size_t outputs_capacity;
    uint64_t count;
} step_history;

/*
 * Copies records with their outputs behind those that are there; of more than STEP_HISTORY_MOST
 * the oldest are dropped. E_NO_MEMORY.
 */
sluice_status step_history_add(step_history *history, const sluice_step_record *records,
                               uint64_t count, uint32_t output_count);

/* Empties it and keeps its memory. */
void step_history_clear(step_history *history);

void step_history_free(step_history *history);

#endif
