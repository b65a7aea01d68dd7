/* SPDX-License-Identifier: Apache-2.0 */
/* Trainings with checkpoints, and what is in their folders. */
#ifndef SLUICE_CHECKPOINT_KIT_H
#define SLUICE_CHECKPOINT_KIT_H

#include "train_kit.h"

/* save and load of a kit's own state; its run has one rank. */
sluice_status kit_save(void *user, const char *folder, uint32_t rank, uint32_t world);
sluice_status kit_load(void *user, const char *folder, uint32_t rank, uint32_t world);

/* 250 steps of 100 a pass, in sinks of 30, with a checkpoint every 20 steps. */
void checkpointed_init(kit *k, const char *folder);

/* A folder with checkpoints of a run that ended after 50 steps; its name is good for the test. */
void begin_checkpoints(char folder[300]);

bool is_there(const char *folder, const char *name);

#endif
