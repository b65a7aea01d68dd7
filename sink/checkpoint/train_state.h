/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a run is, as a few lines of text: what a checkpoint keeps besides the user's files. Order,
 * augmentation and rates are functions of the position in the data and of the step, so these are
 * all that moves; the rest is there to refuse a state that belongs to other data.
 */
#ifndef SLUICE_TRAIN_STATE_H
#define SLUICE_TRAIN_STATE_H

#include <stdint.h>

#include "plan_int.h"
#include "text_int.h"

enum { TRAIN_STATE_VERSION = 2, TRAIN_STATE_SIZE = 65536 };

typedef struct train_state {
    uint64_t step;         /* the next one */
    sli_position position; /* of its first batch */
    uint64_t seed;
    uint64_t batch_size;
    uint64_t world;
    uint64_t best_name; /* a hash of the name of the result that chose the best; 0: none yet */
    uint64_t best_step;
    uint64_t best_value; /* the bits of a double */
    bool bound;          /* to batch size and world, by an order of the source's; not kept */
    bool deals;          /* samples to ranks by a stage of its pipeline; not kept */
    sli_dataset_identity data;
} train_state;

/* The state of a run of this plan at its beginning. E_NO_MEMORY; freed by train_state_free(). */
sluice_status train_state_make(const sli_plan *plan, train_state *state_out);
void train_state_free(train_state *state);

void train_state_print(const train_state *state, sli_text *text);

/* E_CORRUPT: the text is no state; E_UNSUPPORTED: of another version; E_NO_MEMORY. */
sluice_status train_state_parse(const char *text, train_state *state_out);

/* What of `kept` a run goes on with: all that moves, and in what batches that was begun. */
void train_state_take(train_state *mine, const train_state *kept);

/* May a run of `mine` go on from `kept`? With batches of another size, or other ranks, it may,
 * unless its source is bound to them. E_INVALID says what differs. */
sluice_status train_state_compare(const train_state *kept, const train_state *mine);

#endif
