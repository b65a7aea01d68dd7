/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_pixels.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

enum { DEFAULT_QUALITY = 90 };

static uint32_t scaled_side(uint32_t side, uint32_t from, uint32_t to)
{
    const uint64_t length = ((uint64_t)side * to + from / 2) / from;

    return length > 0 ? (uint32_t)length : 1;
}

bool pack_is_too_long(const pack_settings *settings, const image_view *image)
{
    const uint32_t longer = image->width > image->height ? image->width : image->height;

    return settings->max_side > 0 && longer > settings->max_side;
}

/* Shrinks the image so that its longer side has max_side pixels. */
static sluice_status shrink_image(pack_worker *worker, image_view *image)
{
    const uint32_t longer = image->width > image->height ? image->width : image->height;
    const uint32_t width = scaled_side(image->width, longer, worker->settings->max_side);
    const uint32_t height = scaled_side(image->height, longer, worker->settings->max_side);
    const resample_job job = {.channels = image->channels,
                              .in_width = image->width,
                              .in_height = image->height,
                              .out_width = width,
                              .out_height = height,
                              .window_width = width,
                              .window_height = height,
                              .filter = {FILTER_BILINEAR, true}};
    image_box needed;
    line_sink sink = {.line = NULL};
    sluice_status st = resample_prepare(&worker->resampler, &job, &needed);

    if (st == SLUICE_OK) {
        st = image_buffer_reserve(&worker->resized, (size_t)width * height * image->channels);
    }
    if (st == SLUICE_OK) {
        image->pixels += needed.y * image->stride + (size_t)needed.x * image->channels;
        image->width = needed.width;
        image->height = needed.height;
        sink.direct = worker->resized.data;
        st = resample_run(&worker->resampler, image, &sink);
    }
    *image = (image_view){worker->resized.data,
                          (size_t)width * image->channels,
                          width,
                          height,
                          image->channels,
                          IMAGE_U8};
    return st;
}

/* Converts an image with three equal channels to one channel, which has a third of the bytes. */
static sluice_status drop_equal_channels(pack_worker *worker, image_view *image)
{
    sluice_status st;

    for (uint32_t y = 0; y < image->height; y++) {
        const uint8_t *line = image->pixels + y * image->stride;

        for (uint32_t x = 0; x < image->width * 3; x += 3) {
            if (image->channels != 3 || line[x] != line[x + 1] || line[x] != line[x + 2]) {
                return SLUICE_OK;
            }
        }
    }
    st = image_buffer_reserve(&worker->gray, (size_t)image->width * image->height);
    for (uint32_t y = 0; st == SLUICE_OK && y < image->height; y++) {
        for (uint32_t x = 0; x < image->width; x++) {
            worker->gray.data[(size_t)y * image->width + x] =
                image->pixels[y * image->stride + (size_t)x * 3];
        }
    }
    if (st == SLUICE_OK) {
        *image =
            (image_view){worker->gray.data, image->width, image->width, image->height, 1, IMAGE_U8};
    }
    return st;
}

/* Stores the pixels as a binary PPM file; a single channel is repeated three times. */
static sluice_status store_raw(packed_sample *sample, const image_view *image)
{
    char header[48];
    const int length =
        snprintf(header, sizeof(header), "P6\n%u %u\n255\n", image->width, image->height);
    const size_t pixels = (size_t)image->width * image->height;
    uint8_t *to = sli_realloc_array(NULL, (size_t)length + 3 * pixels, 1);

    if (to == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "an image of %zu pixels", pixels);
    }
    sample->fate = SLUICE_PACK_RAW;
    sample->file = (jpeg_bytes){to, (size_t)length + 3 * pixels};
    snprintf(sample->field, sizeof(sample->field), "ppm");
    memcpy(to, header, (size_t)length);
    to += length;
    for (uint32_t y = 0; y < image->height; y++) {
        const uint8_t *line = image->pixels + y * image->stride;

        for (uint32_t x = 0; x < image->width; x++, to += 3, line += image->channels) {
            to[0] = line[0];
            to[1] = line[image->channels == 3 ? 1 : 0];
            to[2] = line[image->channels == 3 ? 2 : 0];
        }
    }
    return SLUICE_OK;
}

static sluice_status store_encoded(pack_worker *worker, packed_sample *sample, image_view *image)
{
    const pack_settings *settings = worker->settings;
    const jpeg_encoding encoding = {settings->quality > 0 ? settings->quality : DEFAULT_QUALITY,
                                    settings->subsampling != SLUICE_PACK_SUBSAMPLING_444,
                                    settings->interval, sample->orientation};
    sluice_status st = drop_equal_channels(worker, image);

    if (st == SLUICE_OK) {
        st = jpeg_encode(image, &encoding, &sample->file);
    }
    sample->fate = SLUICE_PACK_ENCODED;
    snprintf(sample->field, sizeof(sample->field), "jpg");
    return st;
}

sluice_status pack_store_pixels(pack_worker *worker, packed_sample *sample, image_view *image)
{
    sluice_status st = SLUICE_OK;

    if (image->channels != 1 && image->channels != 3) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "the image has %u channels; it must have 1 or 3",
                        image->channels);
    }
    if (pack_is_too_long(worker->settings, image)) {
        st = shrink_image(worker, image);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    return worker->settings->raw ? store_raw(sample, image) : store_encoded(worker, sample, image);
}
