/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes image files, completely or only a region, in every format. Each is one image_format
 * (image_format.h) in its own file, and one line in image_decoder.c, or in format_modules.c.
 *
 * Files may be hostile: sizes and memory are limited, damage that changes pixels is an error, and
 * no data of an earlier image can appear in a later one.
 */
#ifndef SLUICE_IMAGE_DECODER_H
#define SLUICE_IMAGE_DECODER_H

#include <stdbool.h>

#include "image.h"
#include "image_formats.h"

typedef struct image_decoder image_decoder;

/* Creates a decoder; each worker has its own. Returns E_NO_MEMORY on failure. */
sluice_status image_decoder_create(image_decoder **decoder_out);
void image_decoder_destroy(image_decoder *decoder);

/* Sets which formats may be opened. Until then: IMAGE_FORMATS_USUAL. */
void image_decoder_allow(image_decoder *decoder, image_formats allowed);

/*
 * Reads the header of an encoded image in memory. The bytes must stay valid until the region is
 * decoded. gray: decode to one channel instead of three. E_CORRUPT: the bytes are not an image, or
 * its header is corrupt; E_UNSUPPORTED: the format cannot be decoded here, or is not allowed;
 * E_INVALID: the image has more than max_pixels pixels. E_IO: no file descriptor was free to open a
 * format module. Also returns E_NO_MEMORY.
 */
sluice_status image_decoder_open(image_decoder *decoder, const uint8_t *bytes, size_t size,
                                 uint64_t max_pixels, bool gray, uint32_t *width_out,
                                 uint32_t *height_out);

/*
 * True if regions of an image that begins with these bytes can be read without the rest of the
 * file.
 */
bool image_decoder_takes_head(const uint8_t *bytes, size_t size);

/*
 * Like image_decoder_open(), for an image of which only the first IMAGE_HEAD bytes are in memory.
 * image_decoder_takes_head() must be true for these bytes. The region is later read from the file,
 * which may fail with E_IO. With rest->size 0 the call is the same as image_decoder_open().
 */
sluice_status image_decoder_open_head(image_decoder *decoder, const uint8_t *bytes, size_t size,
                                      const image_rest *rest, uint64_t max_pixels, bool gray,
                                      uint32_t *width_out, uint32_t *height_out);

/*
 * Applies an Exif orientation, 1 to 8, to the open image: from now on, sizes, boxes and pixels are
 * those of the upright image. The size is that after it. Only what a box needs is decoded, as
 * without an orientation. The caller decides on it: an image is opened as it is stored.
 */
void image_decoder_orient(image_decoder *decoder, uint32_t orientation, uint32_t *width_out,
                          uint32_t *height_out);

/*
 * The same with the orientation of the file itself, by which the size changes. Returns it. The
 * image must not be decoded yet.
 */
uint32_t image_decoder_make_upright(image_decoder *decoder, uint32_t *width, uint32_t *height);

/* The box of the image as it is stored that image_decoder_region() decodes for this box. */
image_box image_decoder_stored_box(const image_decoder *decoder, const image_box *box);

/*
 * Decodes a box of the open image; must be called once for each opening. The box must be within the
 * image. The pixels are identical to those of a full decode. region_out borrows the decoder's
 * memory until the next call; of an orientation other than 1 the decoder then holds the region
 * twice. E_CORRUPT: the data that had to be read are corrupt. Also returns E_UNSUPPORTED and
 * E_NO_MEMORY.
 */
sluice_status image_decoder_region(image_decoder *decoder, const image_box *box,
                                   image_view *region_out);

/*
 * Scales the open image down by a divisor of 2, 4 or 8, if its format can decode the reduced size
 * faster than the full size. Each side is divided by the divisor and rounded up; later regions
 * refer to the scaled image. False: scaling is not supported, and nothing has changed.
 */
bool image_decoder_scale(image_decoder *decoder, uint32_t divisor, uint32_t *width_out,
                         uint32_t *height_out);

/*
 * True if an index would have made the last region faster: the image was decoded from the beginning
 * of the file, but an index of the file, or restart markers in it, would have avoided decoding the
 * parts above and beside the region.
 */
bool image_decoder_lacks_index(const image_decoder *decoder);

/*
 * Selects the stored values of the open image instead of colours as pixels: palette indices, or
 * gray values without scaling. The image must have been opened as gray. E_UNSUPPORTED: the format,
 * or this kind of file, stores colours.
 */
sluice_status image_decoder_request_indices(image_decoder *decoder);

/*
 * Selects values of this element, IMAGE_U16 or IMAGE_F32, as pixels of the open image. It must have
 * been opened as gray unless `rgb`. E_UNSUPPORTED: the file does not store such values, or stores
 * gray where RGB is requested, or the reverse.
 */
sluice_status image_decoder_request_wide(image_decoder *decoder, image_element element, bool rgb);

/* Describes the open image, as it is stored, by its header. The image must not be decoded yet. */
void image_decoder_describe(const image_decoder *decoder, image_facts *facts_out);

/* Sets the index of the open image; it must stay valid until the region is decoded. */
void image_decoder_use_index(image_decoder *decoder, image_index *index);

#endif
