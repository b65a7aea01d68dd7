/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixes samples that come in sequence: it holds up to so many of them, and gives one of those at
 * random, where the next then stands.
 */
#ifndef SLUICE_SAMPLE_MIXER_H
#define SLUICE_SAMPLE_MIXER_H

#include "stage.h"

typedef struct sample_mixer {
    uint64_t samples_most;
    uint64_t bytes_most; /* of images; one sample may be more */
    stream_item *items;  /* [0, count) are held */
    size_t capacity;
    uint64_t count;
    uint64_t bytes; /* of the images that are held */
    uint64_t given; /* since it was begun */
    uint64_t key;
} sample_mixer;

/* Begins anew, with nothing in it; samples_most is at least 1. The key decides on the order. */
void sample_mixer_begin(sample_mixer *mixer, uint64_t samples_most, uint64_t bytes_most,
                        uint64_t key);
void sample_mixer_free(sample_mixer *mixer);

bool sample_mixer_is_full(const sample_mixer *mixer);

/* Takes the sample out of the item; of a mixer that is not full. E_NO_MEMORY. */
sluice_status sample_mixer_put(sample_mixer *mixer, stream_item *item);

/* Gives one of the samples that are held, of which there is at least one. */
void sample_mixer_take(sample_mixer *mixer, stream_item *item);

/* Bytes that it keeps in memory. */
uint64_t sample_mixer_memory(const sample_mixer *mixer);

#endif
