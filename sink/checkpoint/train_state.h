/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a run as a few lines of text: the part of a checkpoint that is not the user's files.
 * Order, augmentation and rates are functions of the position in the data and of the step, so a run
 * continues from these two. The other fields serve to refuse a state of other data.
 */
#ifndef SLUICE_TRAIN_STATE_H
#define SLUICE_TRAIN_STATE_H

#include <stdint.h>

#include "plan_int.h"
#include "text_int.h"

enum { TRAIN_STATE_VERSION = 2, TRAIN_STATE_SIZE = 65536 };

typedef struct train_state {
    uint64_t step;         /* the next step */
    sli_position position; /* position of the step's first batch */
    uint64_t seed;
    uint64_t batch_size;
    uint64_t world;
    uint64_t best_name; /* hash of the name of the result that selects the best checkpoint; 0: none
                           yet */
    uint64_t best_step;
    uint64_t best_value; /* the bits of a double */
    bool bound;          /* the source's own order depends on batch size and world; not stored */
    bool deals;          /* a stage of the pipeline assigns samples to ranks; not stored */
    sli_dataset_identity data;
} train_state;

/* Makes the state at the beginning of a run of this plan. E_NO_MEMORY; freed by train_state_free().
 */
sluice_status train_state_make(const sli_plan *plan, train_state *state_out);
void train_state_free(train_state *state);

void train_state_print(const train_state *state, sli_text *text);

/* E_CORRUPT: the text is not a state; E_UNSUPPORTED: it is of another version; E_NO_MEMORY. */
sluice_status train_state_parse(const char *text, train_state *state_out);

/* Copies from `kept` the values that a resumed run continues from: step, position, best result, and
 * the batch size and world that its pass was begun with. */
void train_state_take(train_state *mine, const train_state *kept);

/* May a run with the state `mine` continue from `kept`? Batch size and world may differ, unless the
 * order depends on them. E_INVALID names the difference. */
sluice_status train_state_compare(const train_state *kept, const train_state *mine);

#endif
