/* SPDX-License-Identifier: Apache-2.0 */
/* What the header of an image means for its sample: an error. */
#ifndef SLUICE_OPENED_IMAGE_H
#define SLUICE_OPENED_IMAGE_H

#include "sample_loader.h"

/*
 * Checks the image that the loader's decoder has just opened, before it is decoded. E_UNSUPPORTED:
 * decoding would drop bits that the stage decode was not told to drop; this ends the run.
 */
sluice_status opened_image_check(sample_loader *loader, const decode_args *decode);

#endif
