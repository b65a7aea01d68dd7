/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets from texts, and the files for them. What cannot be made fails the test. */
#ifndef SLUICE_DATASET_KIT_H
#define SLUICE_DATASET_KIT_H

#include <stdint.h>

#include <sluice/dataset.h>

sluice_dataset *parsed(const char *text);

/* "image_folder FOLDER | STAGES" */
sluice_dataset *folder_dataset(const char *folder, const char *stages);

/* The description, in a static buffer of its own for each of two calls. */
const char *described(sluice_dataset *dataset);

/* Checks that the text is refused as invalid, with these words in the error. */
void check_refused(const char *text, const char *words);

/* A JPEG file of a size; seed is its picture's. */
void make_jpeg(const char *folder, const char *name, uint32_t width, uint32_t height,
               uint32_t seed);

#endif
