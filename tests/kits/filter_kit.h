/* SPDX-License-Identifier: Apache-2.0 */
/* Filters over the samples of a script (engine_kit.h), and the batches that they should make. */
#ifndef SLUICE_FILTER_KIT_H
#define SLUICE_FILTER_KIT_H

#include <sluice/custom.h>

#include "engine_kit.h"

/* What a filter looks at: the label before a sample is loaded or behind read, or the image. */
typedef enum filter_way { BY_LABEL, BY_PIXELS, FILTER_WAYS } filter_way;

/* Keeps samples whose number is not divisible by 3, but all that are bad. */
bool third_keeps(uint64_t sample);

/* The same as a function of filters that read `label` or `image`. */
sluice_status keep_by_label(sluice_sample *sample, uint32_t *keep_out, void *user);
sluice_status keep_by_pixels(sluice_sample *sample, uint32_t *keep_out, void *user);

/* Adds a filter that reads one column, NULL: none; version 1. */
void add_filter(sluice_dataset *dataset, const char *name,
                sluice_status (*filter)(sluice_sample *, uint32_t *, void *), const char *input,
                void *user);

/* A dataset of the script with these stages (NULL: none), that filter and a batch. */
sluice_dataset *filtered_dataset(const char *stages, filter_way way, uint32_t batch,
                                 bool drop_remainder);

/* The samples of a pass of the stages, before the filter; returns how many. */
uint64_t samples_of_pass(const char *stages, uint64_t seed, uint64_t pass, uint64_t *samples_out);

#endif
