/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples in the cache (sample_cache.h). An entry has the columns that the source writes into the
 * row, and the first image: the bytes of its file, or its pixels at the stage cache. Each mask and
 * each further image has an entry of its own, with the bytes of its file. If the cache comes after
 * a map (cached_samples.rows), an entry has the columns at the cache that are needed later.
 */
#ifndef SLUICE_SAMPLE_CACHED_H
#define SLUICE_SAMPLE_CACHED_H

#include "plan.h"
#include "sample_cache.h"
#include "sample_transform.h"

typedef struct sample_loader sample_loader; /* sample_loader.h */

/* The cache, as one worker uses it. */
typedef struct cached_samples {
    const sli_plan *plan;
    sample_cache *samples; /* of the dataset; NULL: there is none, or it keeps rows */
    sample_cache *rows;    /* of the dataset, after maps; NULL: there is none */
    image_index index;     /* of the encoded image of a cached sample */
    uint32_t width; /* of decoded pixels of a cached sample: the size of the image in the file */
    uint32_t height;
    applied_orientation applied; /* to these pixels */
    bool hit;                    /* the last sample was read from the cache */
    _Atomic uint64_t hits;       /* written by the worker, read by any thread; so is the next one */
    _Atomic uint64_t misses;
} cached_samples;

void cached_samples_init(cached_samples *cached, const sli_plan *plan);

/*
 * Does what source->read() does if the sample is in the cache: writes its columns, and returns its
 * image. Sets cached->hit. False: the sample is not in the cache.
 */
bool sample_cached_find(cached_samples *cached, uint64_t sample, void *const *buffers,
                        sample_data *data_out);

/* Writes the columns of a row, if the sample is in the cache of rows; all steps before that cache
 * are then done. Sets cached->hit. False: it is not there. */
bool sample_cached_find_row(cached_samples *cached, uint64_t sample, void *const *buffers);

/* Like one of these two, but only writes the columns, and counts nothing. False also without a
 * cache. */
bool sample_cached_columns(const cached_samples *cached, uint64_t sample, void *const *buffers);

/* True if an image of pixels of this size in bytes can be added. */
bool sample_cached_takes(const cached_samples *cached, uint32_t width, uint32_t height,
                         size_t pixel_bytes);

/*
 * Adds a sample as the source has read it, without an image (data is NULL) or with an encoded one;
 * buffers: its columns, still as read. If the cache is full, or the sample is in it, does nothing.
 * E_INVALID: the source has drawn random numbers for the sample.
 */
sluice_status sample_cached_keep(sample_loader *loader, uint64_t sample, const sample_data *data,
                                 void *const *buffers);

/* Adds a row, after the steps before the cache. If the cache is full, or the row is in it, does
 * nothing. E_INVALID: the source or a map has drawn random numbers for the sample. */
sluice_status sample_cached_keep_row(sample_loader *loader, uint64_t sample, void *const *buffers);

/* Adds a sample with the pixels of its image. transform: what they have gone through. */
sluice_status sample_cached_keep_pixels(sample_loader *loader, uint64_t sample,
                                        const image_view *image, const sample_transform *transform,
                                        void *const *buffers);

/* Finds a mask or further image in the cache; sets *data_out as source->read_other() does. False:
 * it is not in the cache. */
bool sample_cached_find_other(cached_samples *cached, uint64_t sample, uint32_t column,
                              sample_data *data_out);

/* Adds a mask or further image as the source has read it, with all bytes of its file. If the cache
 * is full, or the image is in it, does nothing. E_INVALID: as sample_cached_keep(). */
sluice_status sample_cached_keep_other(sample_loader *loader, uint64_t sample, uint32_t column,
                                       const sample_data *data);

/* Adds this worker's counts of the cache. Callable from any thread. */
void sample_add_cached(const cached_samples *cached, uint64_t *hits, uint64_t *misses);

#endif
