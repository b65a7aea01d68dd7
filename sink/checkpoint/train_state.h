/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a run as a few lines of text: the library's part of a checkpoint, next to the user's
 * files. Its last line is the checksum of the lines before it. Order, augmentation and learning
 * rates are functions of step and position in the data, so a run can continue from these two. The
 * other fields serve to reject a state that belongs to other data.
 */
#ifndef SLUICE_TRAIN_STATE_H
#define SLUICE_TRAIN_STATE_H

#include <stdint.h>

#include "device_maps.h"
#include "plan_int.h"
#include "text_int.h"

/* The version that is written, and the last one without checksums, which is read as well. */
enum { TRAIN_STATE_VERSION = 3, TRAIN_STATE_UNSUMMED = 2, TRAIN_STATE_SIZE = 65536 };

typedef struct train_state {
    uint64_t step;         /* the next step */
    sli_position position; /* position of the step's first batch */
    uint64_t seed;
    uint64_t batch_size;
    uint64_t world;
    uint64_t best_name; /* hash of the name of the result that selects the best checkpoint; 0: no
                           best checkpoint yet */
    uint64_t best_step;
    uint64_t best_value; /* the bits of a double */
    bool bound;          /* the source's own order depends on batch size and world; not stored */
    bool deals;          /* a stage of the pipeline assigns samples to ranks; not stored */
    sli_dataset_identity data;
    char *maps; /* names and versions of the device maps, as device_maps_print() writes them; NULL:
                   no maps */
    uint64_t files;    /* CRC-32C of the list of files */
    uint64_t version;  /* of a parsed state */
    const char *allow; /* arguments that may differ from those of a state that the run continues
                          from (stages_allowed_int.h); NULL: none. Borrowed, not stored */
    bool keeps_stored; /* sli_stages_keep_stored() was true of the state that the run continues
                          from; not stored */
} train_state;

/* Creates the initial state of a run with this plan; freed by train_state_free(). Returns
 * E_NO_MEMORY if an allocation fails. */
sluice_status train_state_make(const sli_plan *plan, train_state *state_out);
void train_state_free(train_state *state);

/* Sets state->allow; NULL: none. E_INVALID: a name in it is no argument of the run's pipeline, or
 * one that may not differ. */
sluice_status train_state_allow(train_state *state, const char *allow);

/* Adds the device maps of the run to its initial state. Returns E_NO_MEMORY. */
sluice_status train_state_add_maps(train_state *state, const device_maps *maps);

void train_state_print(const train_state *state, sli_text *text);

/* Parses a stored state; messages call it `what`. Returns E_CORRUPT if the text is not a state or
 * not what was written, E_UNSUPPORTED if it has another format version, or E_NO_MEMORY. */
sluice_status train_state_parse(const char *text, const char *what, train_state *state_out);

/* Takes from `kept` the values that a resumed run continues from: step, position, best result, and
 * the batch size and world that its pass was begun with. */
void train_state_take(train_state *mine, train_state *kept);

/*
 * Takes the stages from `kept`, which train_state_compare() has accepted, if only files without an
 * Exif orientation give the same pixels as then (sli_stages_keep_stored()): states of the resumed
 * run must say so, too. Sets keeps_stored.
 */
void train_state_keep_stored(train_state *mine, train_state *kept);

/*
 * Checks that a run with the state `mine` may continue from `kept`. Batch size and world may
 * differ, unless the order depends on them, and the arguments in mine->allow. Returns E_INVALID if
 * other values differ, or E_UNSUPPORTED if `kept` is of version 0.1, whose stages gave other
 * pixels; the error text names the difference.
 */
sluice_status train_state_compare(const train_state *kept, const train_state *mine);

#endif
