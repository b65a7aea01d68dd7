/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes pixels as the files of a pack: JPEG, or PPM. */
#ifndef SLUICE_PACK_PIXELS_H
#define SLUICE_PACK_PIXELS_H

#include "pack_worker.h"

/* True if the settings shrink this image. */
bool pack_is_too_long(const pack_settings *settings, const image_view *image);

/* Encodes pixels according to the settings; may change *image. E_UNSUPPORTED: they have neither 1
 * nor 3 channels. Also returns E_NO_MEMORY. */
sluice_status pack_store_pixels(pack_worker *worker, packed_sample *sample, image_view *image);

#endif
