/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets from texts, and the files for them. What cannot be made fails the test. */
#ifndef SLUICE_DATASET_KIT_H
#define SLUICE_DATASET_KIT_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/dataset.h>

sluice_dataset *parsed(const char *text);

/* The same of a formatted text, up to 8 KiB. */
__attribute__((format(printf, 1, 2))) sluice_dataset *parsedf(const char *format, ...);

/* "image_folder FOLDER | STAGES" */
sluice_dataset *folder_dataset(const char *folder, const char *stages);

/* "webdataset SHARDS ARGUMENTS" */
sluice_dataset *shards_dataset(const char *shards, const char *arguments);

/* The description, in a static buffer of its own for each of two calls. */
const char *described(sluice_dataset *dataset);

/* Checks that the text is refused as invalid, with these words in the error. */
void check_refused(const char *text, const char *words);

/* A pipeline, or stages of one, that is refused with these words. */
typedef struct refused_case {
    const char *text;
    const char *words;
} refused_case;

/* Checks that each case's stages are refused as invalid behind those of make(). */
void check_refused_stages(sluice_dataset *(*make)(void), const refused_case *cases, size_t count);

/* A JPEG file of a size; seed is its picture's. */
void make_jpeg(const char *folder, const char *name, uint32_t width, uint32_t height,
               uint32_t seed);

#endif
