/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many boxes of a dataset were clipped to their image or dropped without an area (box_rule.h).
 * The first one of each kind is logged immediately, and the numbers when the dataset is closed.
 * Each sample is counted once, however often it is read; those of a stream, and of a source with
 * very many samples, once in each pass that reads them.
 */
#ifndef SLUICE_BOX_TALLY_H
#define SLUICE_BOX_TALLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <sluice/status.h>

#include "source.h"

typedef enum box_change { BOX_CHANGE_CLIPPED, BOX_CHANGE_DROPPED, BOX_CHANGES } box_change;

typedef struct box_tally {
    _Atomic uint64_t boxes[BOX_CHANGES];
    _Atomic uint32_t said; /* bit for each box_change: its first box was logged */
    _Atomic uint8_t *seen; /* a bit for each sample, column of boxes and box_change; NULL: all
                              passes count */
    uint64_t samples;
    uint32_t columns; /* of boxes */
} box_tally;

/* `samples` is 0 for a stream. E_NO_MEMORY. */
sluice_status box_tally_init(box_tally *tally, uint64_t samples, uint32_t columns);

/* Logs the numbers, if there are any, and frees the tally. */
void box_tally_end(box_tally *tally);

/* Adds the numbers so far. */
void box_tally_read(const box_tally *tally, uint64_t *clipped, uint64_t *dropped);

/* Bytes of memory of the tally. */
uint64_t box_tally_memory(const box_tally *tally);

/* Adds changed boxes of a sample; `column` is a number among the columns of boxes. True: this is
 * the first box of its kind, which the caller logs by box_tally_say(). */
bool box_tally_add(box_tally *tally, uint64_t sample, sample_io *io, uint32_t column,
                   box_change change, uint32_t boxes);

/* Logs the first box. `name` is that of its sample, `number` the box's, from 1. */
void box_tally_say(box_change change, uint64_t sample, const char *name, const char *column,
                   uint64_t number, const float *box);

#endif
