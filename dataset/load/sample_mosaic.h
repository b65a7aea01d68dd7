/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stage mosaic: composes the images, masks and boxes of several samples. A canvas takes the
 * place of the image that the source gives, and the boxes are pixels of it; the stages after mosaic
 * then work as for any other sample.
 */
#ifndef SLUICE_SAMPLE_MOSAIC_H
#define SLUICE_SAMPLE_MOSAIC_H

#include "sample_loader.h"

/* A worker's memory for mosaics: canvases, and the columns of a partner. */
typedef struct sample_mosaic sample_mosaic;

/* Creates that memory for a plan with mosaic. Returns E_NO_MEMORY on failure. */
sluice_status sample_mosaic_create(const sli_plan *plan, sample_mosaic **mosaic_out);
void sample_mosaic_destroy(sample_mosaic *mosaic);

/*
 * Composes a sample that was read (*data and `buffers`) with its partners. Replaces *data by the
 * canvas of the first image, and the boxes in `buffers` by those of all samples. Under the policy
 * replace another partner is drawn for a bad one. An error of a partner has its name, and is in the
 * list of bad samples (loader->last.is_noted).
 */
sluice_status sample_mosaic_compose(sample_loader *loader, uint64_t sample, uint64_t pass,
                                    void *const *buffers, sample_data *data);

/* Returns the canvas of a mask or further image. */
void sample_mosaic_other(const sample_mosaic *mosaic, uint32_t column, sample_data *data_out);

#endif
