/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints on disk: FOLDER/step-000000001200/ holds the user's files, the list of them,
 * `sluice_state`, and, once all of that is safe on disk, `DONE`. Only folders with DONE count, so a
 * kill at any moment leaves the last complete one usable. FOLDER/best-000000001200/ is the same, of
 * the step whose validation was best. FOLDER/early-000000001200/ is the same before the validation
 * of that step, which a run that resumes from it does first; step- of the same step replaces it.
 *
 * Of several ranks each saves its own files into the same folder, which rank 0 makes before and
 * completes after; they wait for each other between.
 */
#ifndef SLUICE_CHECKPOINT_H
#define SLUICE_CHECKPOINT_H

#include "agree.h"
#include "train_state.h"

typedef enum checkpoint_kind {
    CHECKPOINT_STEP,
    CHECKPOINT_BEST,
    CHECKPOINT_EARLY,
    CHECKPOINT_KINDS
} checkpoint_kind;

/* Where the checkpoints of a run are, and what they are made with. */
typedef struct checkpoint_store {
    const char *folder;
    uint32_t keep;             /* complete ones of kind STEP, at least 1 */
    rank_group *ranks;         /* they share the folder */
    const sluice_model *model; /* save and load */
} checkpoint_store;

/*
 * Writes the state, and by save what the user keeps; removes all but the newest `keep` (of the
 * best: but the newest), early ones that are replaced, and what kills have left. Collective. E_IO
 * names the file; the error of save; E_RANK. One that fails leaves nothing that counts.
 */
sluice_status checkpoint_write(const checkpoint_store *store, checkpoint_kind kind,
                               const train_state *state);

/*
 * Loads the newest (not the best), by load, when it fits the state of this run, which then has the
 * step and the position of the checkpoint and the batches and ranks that its pass was begun with;
 * early_out: it is an early one. END_OF_DATA: there is none. Removes what writing removes first.
 * Collective. E_INVALID: it belongs to other data; E_CORRUPT, E_UNSUPPORTED, E_IO, E_RANK; the
 * error of load.
 */
sluice_status checkpoint_load(const checkpoint_store *store, train_state *state, bool *early_out);

/* Does the folder hold a complete one to resume from? */
bool checkpoint_is_there(const char *folder);

#endif
