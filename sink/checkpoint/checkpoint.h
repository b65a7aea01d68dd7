/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints on disk: FOLDER/step-000000001200/ holds the user's files, the list of them,
 * `sluice_state`, and, once all of that is safe on disk, `DONE`. Only folders with DONE count, so a
 * kill at any moment leaves the last complete one usable. FOLDER/best-000000001200/ is the same, of
 * the step whose validation was best.
 *
 * Of several ranks each saves its own files into the same folder, which rank 0 makes before and
 * completes after; they wait for each other between.
 */
#ifndef SLUICE_CHECKPOINT_H
#define SLUICE_CHECKPOINT_H

#include "train_run.h"

typedef enum checkpoint_kind { CHECKPOINT_STEP, CHECKPOINT_BEST, CHECKPOINT_KINDS } checkpoint_kind;

/*
 * Writes run->state, and by save what the user keeps; removes all but the newest `keep` (of the
 * best: but the newest) and what kills have left. All ranks call it. E_IO names the file; the error
 * of save; E_RANK. One that fails leaves nothing that counts.
 */
sluice_status checkpoint_write(train_run *run, checkpoint_kind kind, const sluice_model *model);

/*
 * Loads the newest, by load, when it fits run->state, which then is where it goes on and in what
 * batches that was begun. END_OF_DATA: there is none. Cleans up first, as writing does. All ranks
 * call it. E_INVALID: it belongs to other data; E_CORRUPT, E_UNSUPPORTED, E_IO, E_RANK; the error
 * of load.
 */
sluice_status checkpoint_load(train_run *run, const sluice_model *model);

/* Does the folder hold a complete one? */
bool checkpoint_is_there(const char *folder);

#endif
