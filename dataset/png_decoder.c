/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PNG files, through libpng's simplified API: any colour type and depth becomes 8-bit RGB or gray.
 * What is transparent is laid on black. The whole image is decoded; a region is a part of it.
 */
#include <png.h>
#include <string.h>

#include "alloc_int.h"
#include "image_decoder.h"
#include "status_int.h"

static const uint8_t magic[] = {0x89, 'P', 'N', 'G'};

typedef struct png_decoder {
    png_image image;
    image_buffer pixels;
    uint32_t channels;
} png_decoder;

static sluice_status png_create(void **state_out)
{
    png_decoder *decoder = sli_calloc(1, sizeof(*decoder));

    if (decoder == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a PNG decoder");
    }
    decoder->image.version = PNG_IMAGE_VERSION;
    *state_out = decoder;
    return SLUICE_OK;
}

static void png_destroy(void *state)
{
    png_decoder *decoder = state;

    png_image_free(&decoder->image);
    image_buffer_free(&decoder->pixels);
    sli_free(decoder);
}

/* libpng's message, whose cause may be memory. */
static sluice_status failed(const png_image *image)
{
    return sli_fail(strstr(image->message, "memory") != NULL ? SLUICE_E_NO_MEMORY
                                                             : SLUICE_E_CORRUPT,
                    "libpng: %s", image->message);
}

static sluice_status png_open(void *state, const uint8_t *bytes, size_t size, uint64_t max_pixels,
                              bool gray, uint32_t *width_out, uint32_t *height_out)
{
    png_decoder *decoder = state;
    png_image *image = &decoder->image;

    png_image_free(image);
    memset(image, 0, sizeof(*image));
    image->version = PNG_IMAGE_VERSION;
    if (png_image_begin_read_from_memory(image, bytes, size) == 0) {
        return failed(image);
    }
    if ((uint64_t)image->width * image->height > max_pixels) {
        return image_too_large(image->width, image->height, max_pixels);
    }
    image->format = gray ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    decoder->channels = gray ? 1 : 3;
    *width_out = image->width;
    *height_out = image->height;
    return SLUICE_OK;
}

static sluice_status png_region(void *state, const image_box *box, image_view *region_out)
{
    static const png_color black = {0, 0, 0};
    png_decoder *decoder = state;
    const size_t stride = (size_t)decoder->image.width * decoder->channels;
    sluice_status st = image_buffer_reserve(&decoder->pixels, stride * decoder->image.height);

    if (st != SLUICE_OK) {
        return st;
    }
    if (png_image_finish_read(&decoder->image, &black, decoder->pixels.data, (png_int_32)stride,
                              NULL) == 0) {
        return failed(&decoder->image);
    }
    /* libpng conceals some damage and says so only by a warning. */
    if ((decoder->image.warning_or_error & PNG_IMAGE_WARNING) != 0 &&
        strstr(decoder->image.message, "CRC") != NULL) {
        return failed(&decoder->image);
    }
    region_out->pixels =
        decoder->pixels.data + box->y * stride + (size_t)box->x * decoder->channels;
    region_out->stride = stride;
    region_out->width = box->width;
    region_out->height = box->height;
    region_out->channels = decoder->channels;
    return SLUICE_OK;
}

extern const image_format format_png;
const image_format format_png = {
    .name = "PNG",
    .magic = magic,
    .magic_size = sizeof(magic),
    .create = png_create,
    .destroy = png_destroy,
    .open = png_open,
    .region = png_region,
};
