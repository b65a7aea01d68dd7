/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints on disk. FOLDER/step-000000001200/ contains the user's files, the list of these
 * files, `sluice_state`, and `DONE`, which is written once everything else is synced to disk. Only
 * folders with DONE count as complete, so after a kill at any moment the last complete checkpoint
 * is usable. FOLDER/best-000000001200/ has the same contents, at the step with the best validation.
 * FOLDER/early-000000001200/ has the same contents, written before the validation of that step. A
 * run that resumes from it validates first. The step- checkpoint of the same step replaces it.
 *
 * With several ranks each rank saves its own files into the same folder. Rank 0 creates the folder
 * beforehand and completes it afterwards, with a barrier before saving, after it, and after the
 * ranks have summed the files of all ranks, each its share.
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

/* Folder, ranks and model of a run's checkpoints. */
typedef struct checkpoint_store {
    const char *folder;
    uint32_t keep;             /* number of complete checkpoints of kind STEP to keep, at least 1 */
    rank_group *ranks;         /* all ranks share the folder */
    const sluice_model *model; /* model with save and load */
} checkpoint_store;

/*
 * Writes a checkpoint: the state, and the user's files by model.save. Then removes all but the
 * newest `keep` checkpoints (for the kind best, all but the newest one), replaced early
 * checkpoints, and leftovers of killed runs. Collective. Returns E_IO, whose text names the file,
 * the error of save, or E_RANK if another rank failed. On failure no complete checkpoint is added.
 */
sluice_status checkpoint_write(const checkpoint_store *store, checkpoint_kind kind,
                               const train_state *state);

/*
 * Loads the newest checkpoint (never a best one) by model.load, if it fits this run's state.
 * `state` then has the checkpoint's step and position, and the batch size and world that its pass
 * was begun with. early_out: the checkpoint is an early one. First removes leftovers of killed
 * runs. Collective. Returns END_OF_DATA if there is no checkpoint, E_INVALID if the
 * checkpoint belongs to other data, E_CORRUPT, E_UNSUPPORTED, E_IO, E_RANK, or the error of load.
 */
sluice_status checkpoint_load(const checkpoint_store *store, train_state *state, bool *early_out);

/* True if the folder contains a complete checkpoint to resume from. */
bool checkpoint_is_there(const char *folder);

#endif
