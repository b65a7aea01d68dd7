/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over a sluice_channel: opening one with all that it needs, and what its batches hold. */
#ifndef SLUICE_LOOP_KIT_H
#define SLUICE_LOOP_KIT_H

#include "train_kit.h"

/* 70 samples in batches of 8: the ninth of a pass has 6. */
extern const char *const loop_kit_padded;
enum { LOOP_KIT_PADDED_BATCHES = 9 };

/* A channel, its device and its dataset. */
typedef struct loop_kit {
    sluice_device *device;
    sluice_dataset *own; /* NULL: borrowed */
    sluice_channel *channel;
} loop_kit;

sluice_channel_config loop_kit_config(uint64_t first_batch, uint64_t batches);
loop_kit loop_kit_open_dataset(const char *device, sluice_dataset *dataset,
                               const sluice_channel_config *config);
loop_kit loop_kit_open(const char *device, const char *text, const sluice_channel_config *config);
void loop_kit_close(loop_kit *loop);

/* Waits for the next batch. */
sluice_status loop_kit_next(const loop_kit *loop, const sluice_batch **batch);

/* The report of the channel so far; the caller destroys it. */
sluice_report *loop_kit_report(const loop_kit *loop);

/* A batch as train_kit keeps a step: order by its samples, bytes by their digest. */
kit_step loop_kit_step(const sluice_batch *batch);
void loop_kit_check_same(const kit_step *got, const kit_step *want);

/* The next batch is that step. */
void loop_kit_check_next(const loop_kit *loop, const kit_step *want);

/* The next batches are these steps, and then the pass ends. */
void loop_kit_check_pass(const loop_kit *loop, const kit_step *want, size_t count);

/*
 * A channel on the dataset, with settings that vary by i, is rewound three times, each time after
 * `fetched` batches. Then it gives the first two passes of the steps, of these lengths. Destroys
 * the dataset.
 */
void loop_kit_check_rewinds(sluice_dataset *dataset, uint32_t i, size_t fetched,
                            const kit_step *steps, const size_t *lengths);

/* A training on `padded`, for `epochs` passes, on host:0; the caller frees it by kit_fini(). */
void loop_kit_train_padded(kit *k, uint64_t epochs, uint64_t seed);

#endif
