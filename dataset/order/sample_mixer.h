/* SPDX-License-Identifier: Apache-2.0 */
/* The shuffle buffer of a stream: holds a bounded number of samples and returns random ones. */
#ifndef SLUICE_SAMPLE_MIXER_H
#define SLUICE_SAMPLE_MIXER_H

#include "source.h"
#include "stage.h"

typedef struct sample_mixer {
    uint64_t max_samples;
    uint64_t max_bytes; /* limit on the bytes of images; the last image added may exceed it */
    stream_item *items; /* items [0, count) are buffered */
    size_t capacity;
    uint64_t count;
    uint64_t bytes;       /* bytes of the buffered images */
    uint64_t taken_count; /* number of samples taken since the beginning of the pass */
    uint64_t key;
} sample_mixer;

/*
 * Empties the buffer and begins a pass; max_samples must be at least 1. The random choices depend
 * on the key only.
 */
void sample_mixer_begin(sample_mixer *mixer, uint64_t max_samples, uint64_t max_bytes,
                        uint64_t key);
void sample_mixer_free(sample_mixer *mixer);

bool sample_mixer_is_full(const sample_mixer *mixer);

/*
 * Adds the item's sample to the buffer; ownership of its bytes is transferred. The buffer must not
 * be full. Returns E_NO_MEMORY on failure.
 */
sluice_status sample_mixer_put(sample_mixer *mixer, stream_item *item);

/* Removes a random sample from the buffer. The buffer must not be empty. */
void sample_mixer_take(sample_mixer *mixer, stream_item *item);

/* An upper bound on the memory of a buffer whose samples have up to `largest` bytes. */
uint64_t sample_mixer_most_memory(uint64_t max_samples, uint64_t max_bytes, uint64_t largest);

/* Bytes of memory in use. */
uint64_t sample_mixer_memory(const sample_mixer *mixer);

#endif
