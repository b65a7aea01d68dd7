/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints on disk: FOLDER/step-000000001200/ holds the user's files, `sluice_state`, and, once
 * all of that is safe on disk, `DONE`. Only folders with DONE count, so a kill at any moment leaves
 * the last complete one usable.
 */
#ifndef SLUICE_CHECKPOINT_H
#define SLUICE_CHECKPOINT_H

#include <sluice/train.h>

#include "train_state.h"

/*
 * Writes one, by model.save, and removes all but the newest `keep` and what kills have left.
 * E_IO names the file; the error of save. One that fails leaves nothing that counts.
 */
sluice_status checkpoint_write(const char *folder, uint32_t keep, const sluice_model *model,
                               const train_state *state);

/*
 * Loads the newest, by model.load, when it fits `mine`, which then is where it goes on
 * and in what batches that was begun. END_OF_DATA: there is none. Cleans up first, as writing does.
 * E_INVALID: it belongs to other data; E_CORRUPT, E_UNSUPPORTED, E_IO; the error of load.
 */
sluice_status checkpoint_load(const char *folder, uint32_t keep, const sluice_model *model,
                              train_state *mine);

/* Does the folder hold a complete one? */
bool checkpoint_is_there(const char *folder);

#endif
