/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes an image as JPEG and decodes it again: torchvision's jpeg. */
#ifndef SLUICE_IMAGE_JPEG_H
#define SLUICE_IMAGE_JPEG_H

#include <sluice/status.h>

#include "image.h"

typedef struct image_jpeg {
    uint32_t quality; /* 1 to 100 */
    bool flipped_x;   /* the image is encoded flipped, as the stages so far would have it */
    bool flipped_y;
} image_jpeg;

/* The memory of a worker; zero-initialise. */
typedef struct jpeg_buffers {
    struct image_decoder *decoder; /* NULL until the first image */
    image_buffer flipped;          /* (height, width, channels) */
    image_view result;             /* of the last jpeg_run(); flipped as it was encoded */
} jpeg_buffers;

/*
 * Encodes and decodes an image of 1 or 3 channels into buffers->result. E_INVALID: the image is too
 * large for a JPEG file. CLOSED: the thread was interrupted. Also returns E_NO_MEMORY.
 */
sluice_status jpeg_run(jpeg_buffers *buffers, const image_jpeg *jpeg, const image_view *image);

/* Writes line y of the result, as the image was before jpeg_run(). */
void jpeg_line(const jpeg_buffers *buffers, const image_jpeg *jpeg, uint32_t y, uint8_t *to);

void jpeg_free(jpeg_buffers *buffers);

#endif
