/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding JPEG files, whole or only a region, through libjpeg-turbo's libjpeg API. The one place
 * that knows the library. A region's pixels are those of a full decode (accurate integer DCT,
 * smooth chroma upsampling), for every chroma subsampling.
 *
 * Files may be hostile: sizes, scans and memory are limited, damage that changes pixels is an
 * error, and nothing of an earlier image can show up in a later one.
 */
#ifndef SLUICE_JPEG_DECODER_H
#define SLUICE_JPEG_DECODER_H

#include <stdbool.h>

#include "image.h"

typedef struct jpeg_decoder jpeg_decoder;

/* One for each worker. E_NO_MEMORY. */
sluice_status jpeg_decoder_create(jpeg_decoder **decoder_out);
void jpeg_decoder_destroy(jpeg_decoder *decoder);

/*
 * Reads the header of a file in memory, which must stay there until the region is decoded. gray:
 * one channel comes out instead of three. E_CORRUPT no JPEG, or a damaged header; E_UNSUPPORTED
 * a kind of JPEG the library cannot decode; E_INVALID more than max_pixels.
 */
sluice_status jpeg_decoder_open(jpeg_decoder *decoder, const uint8_t *bytes, size_t size,
                                uint64_t max_pixels, bool gray, uint32_t *width_out,
                                uint32_t *height_out);

/*
 * Decodes a box of the opened file, which lies within it; region_out borrows the decoder's memory
 * until the next call. E_CORRUPT damage within what had to be read; E_NO_MEMORY.
 */
sluice_status jpeg_decoder_region(jpeg_decoder *decoder, const image_box *box,
                                  image_view *region_out);

#endif
