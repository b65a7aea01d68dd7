/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes image files, whole or a region only, in any format that was compiled in. Each format is
 * one image_format (image_format.h) in a file of its own, and one line in image_decoder.c.
 *
 * Files may be hostile: sizes and memory are limited, damage that changes pixels is an error, and
 * no data of an earlier image can appear in a later one.
 */
#ifndef SLUICE_IMAGE_DECODER_H
#define SLUICE_IMAGE_DECODER_H

#include <stdbool.h>

#include "image.h"

typedef struct image_decoder image_decoder;

/* One decoder per worker. E_NO_MEMORY. */
sluice_status image_decoder_create(image_decoder **decoder_out);
void image_decoder_destroy(image_decoder *decoder);

/*
 * Reads the header of an encoded image in memory. The bytes must stay valid until the region is
 * decoded. gray: decode to one channel instead of three. E_CORRUPT: not an image, or a damaged
 * header; E_UNSUPPORTED: a format that this build cannot decode; E_INVALID: more than max_pixels;
 * E_NO_MEMORY.
 */
sluice_status image_decoder_open(image_decoder *decoder, const uint8_t *bytes, size_t size,
                                 uint64_t max_pixels, bool gray, uint32_t *width_out,
                                 uint32_t *height_out);

/* Can regions of an image that begins with these bytes be read without the rest of the file? */
bool image_decoder_takes_head(const uint8_t *bytes, size_t size);

/*
 * Like image_decoder_open(), for an image of which only the first IMAGE_HEAD bytes are in memory.
 * image_decoder_takes_head() must hold. The region is later read from the file, which may fail with
 * E_IO. With rest->size 0 it is the same as image_decoder_open().
 */
sluice_status image_decoder_open_head(image_decoder *decoder, const uint8_t *bytes, size_t size,
                                      const image_rest *rest, uint64_t max_pixels, bool gray,
                                      uint32_t *width_out, uint32_t *height_out);

/*
 * Decodes a box of the open image; call it once for each opening. The box must be within the image.
 * The pixels are identical to those of a full decode. region_out borrows the decoder's memory until
 * the next call. E_CORRUPT: damage in the data that had to be read; E_UNSUPPORTED, E_NO_MEMORY.
 */
sluice_status image_decoder_region(image_decoder *decoder, const image_box *box,
                                   image_view *region_out);

/*
 * Scales the open image down by a divisor of 2, 4 or 8, if its format decodes that faster than the
 * full size. Its sides become the old ones divided by the divisor, rounded up; regions refer to the
 * scaled image. False: not supported, and nothing has changed.
 */
bool image_decoder_scale(image_decoder *decoder, uint32_t divisor, uint32_t *width_out,
                         uint32_t *height_out);

/*
 * Would an index have made the last region faster? True: the image was decoded from the beginning
 * of the file, but an index of the file, or restart markers in it, would have avoided decoding the
 * parts above and beside the region.
 */
bool image_decoder_lacks_index(const image_decoder *decoder);

/*
 * Requests the pixels of the open image as the numbers that are stored, not as colours: palette
 * indices, or gray values without scaling. The image must have been opened as gray. E_UNSUPPORTED:
 * a format, or a kind of file, that stores colours.
 */
sluice_status image_decoder_want_indices(image_decoder *decoder);

/* Sets the index of the open image; it must stay valid until the region is decoded. */
void image_decoder_use_index(image_decoder *decoder, image_index *index);

#endif
