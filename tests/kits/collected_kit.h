/* SPDX-License-Identifier: Apache-2.0 */
/* Trainings on datasets with collected assembly: passes whose length is not known beforehand. */
#ifndef SLUICE_COLLECTED_KIT_H
#define SLUICE_COLLECTED_KIT_H

#include "train_kit.h"

/* Direct mode, and the modes of a sink. */
enum { COLLECTED_MODES = 4 };
extern const sluice_mode collected_modes[COLLECTED_MODES];

/* Trains in a mode, AUTO without sinks, for epochs or steps; an error fails the test. */
void collected_run(kit *k, sluice_dataset *dataset, sluice_mode mode, uint64_t epochs,
                   uint64_t steps);

/* Frees the kit and its dataset. */
void collected_done(kit *k);

/*
 * Trains for 30 steps with a checkpoint after every fourth: a run resumed from any of them makes
 * the same steps. make(batch) makes the dataset.
 */
void collected_check_resumes(sluice_dataset *(*make)(const char *batch), const char *batch);

#endif
