/* SPDX-License-Identifier: Apache-2.0 */
/* Maps over a dataset of images and numbers in memory. */
#ifndef SLUICE_MAP_KIT_H
#define SLUICE_MAP_KIT_H

#include <stdint.h>

#include <sluice/custom.h>

enum { SAMPLES = 12, H = 6, W = 5, PIXELS = H * W * 3 };

extern uint8_t plain_images[SAMPLES][H][W][3];
extern uint8_t inverted_images[SAMPLES][H][W][3]; /* 255 less these */
extern int64_t numbers[SAMPLES];

/* Sets the three; call it first. */
void fill_arrays(void);

/* A dataset with the columns `image`, of one of the arrays of images, and `number`. */
sluice_dataset *arrays_of(const void *images);

/* Writes a scalar i64 of a sample. */
sluice_status give_i64(sluice_sample *sample, const char *column, int64_t value);

/* Adds a map of version 3. */
void add_map(sluice_dataset *dataset, const char *name,
             sluice_status (*map)(sluice_sample *, void *), const char *const *inputs,
             uint32_t input_count, const sluice_column_spec *outputs, uint32_t output_count,
             void *user);

#endif
