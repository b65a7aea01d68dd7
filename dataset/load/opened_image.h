/* SPDX-License-Identifier: Apache-2.0 */
/* What the header of an image means for its sample: an error, or a note of the run. */
#ifndef SLUICE_OPENED_IMAGE_H
#define SLUICE_OPENED_IMAGE_H

#include "sample_loader.h"

/*
 * Notes the fault of an image that the loader's decoder could not open: a format module that is
 * missing ends the run, whatever the policy for bad samples is. Returns the status.
 */
sluice_status opened_image_failed(sample_loader *loader, sluice_status status);

/* Counts an image, and logs the first one of its kind. */
void opened_image_note(sample_loader *loader, uint64_t sample, sli_image_note note);

/*
 * Fails with E_UNSUPPORTED if an orientation other than 1 is to be applied, and the run continues
 * one that used pixels as stored; this ends the run.
 */
sluice_status opened_image_check_resumed(sample_loader *loader, uint32_t orientation);

/*
 * Checks the image that the loader's decoder has just opened, before it is decoded, and applies its
 * Exif orientation, unless the stage uses pixels as stored: `image` has the size of the file, and
 * then that of the upright image. Annotations that fit only the size of the file are said to follow
 * it. Counts what decoding changes or leaves out, and logs it once for the dataset.
 *
 * E_UNSUPPORTED: decoding would drop bits that the stage decode was not told to drop; this ends the
 * run, as opened_image_check_resumed() does. E_CORRUPT: the annotations are for an image of another
 * size.
 */
sluice_status opened_image_check(sample_loader *loader, uint64_t sample, const sample_data *data,
                                 const decode_args *decode, image_view *image,
                                 applied_orientation *applied_out);

#endif
