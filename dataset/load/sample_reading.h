/* SPDX-License-Identifier: Apache-2.0 */
/* Reads samples, and their masks and further images, from the cache or the source. */
#ifndef SLUICE_SAMPLE_READING_H
#define SLUICE_SAMPLE_READING_H

#include "sample_loader.h"

/* Reads a sample, and writes its plain columns. Without an image it is also added to the cache. */
sluice_status sample_read(sample_loader *loader, uint64_t sample, void *const *buffers,
                          sample_data *data);

/* Reads a mask or further image of a sample, by its column; `transform` is that of the image. */
sluice_status sample_read_other(sample_loader *loader, const sample_transform *transform,
                                uint64_t sample, uint32_t column, sample_data *data);

/* Moves and clips the boxes of a sample after its first image, and counts those that reach beyond
 * it. Errors: boxes_follow(). */
sluice_status sample_follow_boxes(sample_loader *loader, const sample_transform *transform,
                                  uint64_t sample, void *const *buffers);

/* Drops the sample's pages from the page cache. */
void sample_drop_pages(const sample_loader *loader, uint64_t sample);

/* Writes the name of a sample; for a stream, the name of the sample that was claimed last. */
void sample_name(sample_loader *loader, uint64_t sample, char *text, size_t size);

/* Prepends the name of a column to the last error. */
void sample_name_column(const char *column, sluice_status status);

#endif
