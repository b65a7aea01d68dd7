/* SPDX-License-Identifier: Apache-2.0 */
/* What the header of an image means for its sample: an error, or a note of the run. */
#ifndef SLUICE_OPENED_IMAGE_H
#define SLUICE_OPENED_IMAGE_H

#include "sample_loader.h"

/*
 * Checks the image that the loader's decoder has just opened, before it is decoded; width and
 * height are those of the file. Counts what decoding leaves out, and logs it once for the dataset.
 *
 * Pixels are used as they are stored. A stage that applies the Exif orientation
 * (image_facts.orientation) would exchange width and height here, before the geometry is drawn.
 *
 * E_UNSUPPORTED: decoding would drop bits that the stage decode was not told to drop; this ends the
 * run. E_CORRUPT: the annotations are for an image of another size.
 */
sluice_status opened_image_check(sample_loader *loader, uint64_t sample, const sample_data *data,
                                 const decode_args *decode, uint32_t width, uint32_t height);

/*
 * Selects class numbers as pixels of the image that the decoder has just opened. E_UNSUPPORTED: the
 * file stores colours, or numbers of more than 8 bits. As in opened_image_check(), the latter sets
 * *ends_run: a policy for bad samples would leave out every image of such a dataset.
 */
sluice_status opened_image_request_indices(image_decoder *decoder, bool *ends_run);

#endif
