/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets of a generator whose passes have no known length, with the columns of train_kit.h. */
#ifndef SLUICE_COLLECTED_SETS_H
#define SLUICE_COLLECTED_SETS_H

#include "generator_kit.h"

/* The generator of the datasets: passes of 23 samples, 25, 27, ...; of buckets 43, 45, ... */
extern generator collected_generator;

/* The generator alone, which sets collected_generator anew, and then a stage `batch`. */
sluice_dataset *collected_stream(const char *batch);

/* The same with a filter that keeps two of three samples; documents in windows of 8; and filtered
 * samples in two buckets. */
sluice_dataset *collected_filtered(const char *batch);
sluice_dataset *collected_packed(const char *batch);
sluice_dataset *collected_bucketed(const char *batch);

typedef sluice_dataset *(*collected_maker)(const char *batch);

enum { COLLECTED_MAKERS = 4 };
extern const collected_maker collected_makers[COLLECTED_MAKERS];

#endif
