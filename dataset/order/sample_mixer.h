/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shuffle buffer of a stream: it holds a bounded number of samples, and returns a random one of
 * them.
 */
#ifndef SLUICE_SAMPLE_MIXER_H
#define SLUICE_SAMPLE_MIXER_H

#include "stage.h"

typedef struct sample_mixer {
    uint64_t max_samples;
    uint64_t max_bytes; /* bound on the bytes of images; the last one added may exceed it */
    stream_item *items; /* items [0, count) are buffered */
    size_t capacity;
    uint64_t count;
    uint64_t bytes;       /* of the buffered images */
    uint64_t taken_count; /* samples taken since the beginning of the pass */
    uint64_t key;
} sample_mixer;

/*
 * Empties the buffer and begins a pass; max_samples is at least 1. The order depends on the key
 * only.
 */
void sample_mixer_begin(sample_mixer *mixer, uint64_t max_samples, uint64_t max_bytes,
                        uint64_t key);
void sample_mixer_free(sample_mixer *mixer);

bool sample_mixer_is_full(const sample_mixer *mixer);

/* Adds the item's sample, which is moved out of it. The buffer must not be full. E_NO_MEMORY. */
sluice_status sample_mixer_put(sample_mixer *mixer, stream_item *item);

/* Takes a random sample. The buffer must not be empty. */
void sample_mixer_take(sample_mixer *mixer, stream_item *item);

/* An upper bound on the memory of a buffer of samples up to the size `largest`. */
uint64_t sample_mixer_most_memory(uint64_t max_samples, uint64_t max_bytes, uint64_t largest);

/* Bytes of memory in use. */
uint64_t sample_mixer_memory(const sample_mixer *mixer);

#endif
