/* SPDX-License-Identifier: Apache-2.0 */
/* Warps an image whose result has another size: the geometry of a group that turns it. */
#ifndef SLUICE_IMAGE_TURN_H
#define SLUICE_IMAGE_TURN_H

#include "image_warp.h"
#include "resample.h"

/*
 * Writes the lines of a result of this size to the sink. `from` is the whole image; `line` is
 * memory of the caller. Returns E_NO_MEMORY on failure.
 */
sluice_status image_turn(const image_warp *warp, const image_view *from, uint32_t width,
                         uint32_t height, image_buffer *line, const line_sink *sink);

#endif
