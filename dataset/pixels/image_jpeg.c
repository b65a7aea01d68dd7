/* SPDX-License-Identifier: Apache-2.0 */
#include "image_jpeg.h"

#include <string.h>

#include "alloc_int.h"
#include "exif.h"
#include "image_decoder.h"
#include "jpeg_writer.h"

/* Copies line y of an image, which may be the line of its flipped image. */
static void copy_line(const image_view *image, const image_jpeg *jpeg, uint32_t y, uint8_t *to)
{
    const uint32_t channels = image->channels;
    const uint8_t *from =
        image->pixels + (jpeg->flipped_y ? image->height - 1 - y : y) * image->stride;

    if (!jpeg->flipped_x) {
        memcpy(to, from, (size_t)image->width * channels);
        return;
    }
    from += (size_t)image->width * channels;
    for (uint32_t x = 0; x < image->width; x++, to += channels) {
        from -= channels;
        memcpy(to, from, channels);
    }
}

/* Flips the image in place of *image, if it is encoded flipped. */
static sluice_status flip(jpeg_buffers *buffers, const image_jpeg *jpeg, image_view *image)
{
    const size_t stride = (size_t)image->width * image->channels;
    sluice_status st;

    if (!jpeg->flipped_x && !jpeg->flipped_y) {
        return SLUICE_OK;
    }
    st = image_buffer_reserve(&buffers->flipped, image->height * stride);
    if (st == SLUICE_OK) {
        for (uint32_t y = 0; y < image->height; y++) {
            copy_line(image, jpeg, y, buffers->flipped.data + y * stride);
        }
        image->pixels = buffers->flipped.data;
        image->stride = stride;
    }
    return st;
}

static sluice_status decode(jpeg_buffers *buffers, const jpeg_bytes *file, const image_view *image)
{
    image_box whole = {0, 0, 0, 0};
    sluice_status st = image_decoder_open(buffers->decoder, file->data, file->size,
                                          (uint64_t)image->width * image->height,
                                          image->channels == 1, &whole.width, &whole.height);

    return st == SLUICE_OK ? image_decoder_region(buffers->decoder, &whole, &buffers->result) : st;
}

sluice_status jpeg_run(jpeg_buffers *buffers, const image_jpeg *jpeg, const image_view *image)
{
    const jpeg_encoding encoding = {jpeg->quality, true, 0, EXIF_UPRIGHT};
    jpeg_bytes file = {NULL, 0};
    image_view upright = *image;
    sluice_status st = SLUICE_OK;

    if (buffers->decoder == NULL) {
        st = image_decoder_create(&buffers->decoder);
    }
    if (st == SLUICE_OK) {
        st = flip(buffers, jpeg, &upright);
    }
    if (st == SLUICE_OK) {
        st = jpeg_encode(&upright, &encoding, &file);
    }
    if (st == SLUICE_OK) {
        st = decode(buffers, &file, &upright);
    }
    sli_free(file.data);
    return st;
}

void jpeg_line(const jpeg_buffers *buffers, const image_jpeg *jpeg, uint32_t y, uint8_t *to)
{
    copy_line(&buffers->result, jpeg, y, to);
}

void jpeg_free(jpeg_buffers *buffers)
{
    if (buffers->decoder != NULL) {
        image_decoder_destroy(buffers->decoder);
    }
    image_buffer_free(&buffers->flipped);
}
