/* SPDX-License-Identifier: Apache-2.0 */
/* The image of a sample on its way through geometry: reading its header, decoding, counting. */
#ifndef SLUICE_CURRENT_IMAGE_H
#define SLUICE_CURRENT_IMAGE_H

#include "exif.h"
#include "image_rules.h"
#include "loader_stage.h"
#include "opened_image.h"
#include "orientation.h"

/* The steps of an image have two callers, for images and for tiles of mosaics. Inlined, they cost
 * an image no calls. */
#define INLINED static inline __attribute__((always_inline))

/*
 * The current image between two geometry groups: pixels, or an encoded image whose header was read.
 */
typedef struct current_image {
    bool encoded;
    bool from_pack;
    bool follows;  /* a further image of a sample: it has the geometry of the first one */
    bool is_extra; /* a further image, or an image of a partner: the profile does not count it */
    const decode_args *decode; /* valid while encoded */
    applied_orientation applied;
    image_view image; /* while encoded, only the size, the channels and the element are valid */
} current_image;

INLINED sluice_status open_image(sample_loader *loader, uint64_t sample, const sample_data *data,
                                 const dataset_stage *decode, current_image *current)
{
    const decode_args *args;
    sluice_status st;

    current->encoded = data->bytes != NULL;
    current->from_pack = data->from_pack;
    current->image = data->image;
    current->applied = nothing_applied;
    if (!current->encoded) {
        return SLUICE_OK;
    }
    args = (const decode_args *)(const void *)decode->args.bytes;
    current->decode = args;
    current->image.channels = decode_channels(args);
    current->image.element = decode_element(args);
    st = image_rules_open(loader->tools.decoder, data, args, args->max_pixels,
                          current->image.channels == 1, &current->image);
    if (st != SLUICE_OK) {
        return opened_image_failed(loader, st);
    }
    st = image_rules_mode(loader->tools.decoder, args, &loader->io.ends_run);
    if (st == SLUICE_OK) {
        st = opened_image_check(loader, sample, data, args, &current->image, &current->applied);
    }
    if (st == SLUICE_OK && data->index != NULL) {
        image_decoder_use_index(loader->tools.decoder, data->index);
    }
    return st;
}

/*
 * Converts one axis of a box to scaled-image pixels, rounded to the nearest pixel. The pixels of
 * the scaled image begin where the file does: on a mirrored axis, at the end of the upright image.
 */
static inline void scale_axis(int64_t *at, uint32_t *length, uint32_t divisor, uint32_t whole,
                              uint32_t extent, bool is_mirrored)
{
    const int64_t start = is_mirrored ? (int64_t)whole - *at - *length : *at;
    int64_t scaled = (start + divisor / 2) / divisor;

    *length = (*length + divisor / 2) / divisor;
    scaled = scaled + *length > extent ? extent - *length : scaled;
    *at = is_mirrored ? (int64_t)extent - scaled - *length : scaled;
}

/*
 * Selects a decoder scale of 1/2, 1/4 or 1/8. The scaled crop is at least as large as the output of
 * the resize.
 */
static inline void scale_down(image_decoder *decoder, fused_geometry *window,
                              current_image *current)
{
    const uint32_t width = current->image.width;
    const uint32_t height = current->image.height;
    const orientation_axes axes = orientation_axes_of(current->applied.image);
    image_margins *margins = &window->margins;
    uint32_t divisor = 1;

    while (divisor < 8 && fused_full_width(window) / (divisor * 2) >= window->new_width &&
           fused_full_height(window) / (divisor * 2) >= window->new_height) {
        divisor *= 2;
    }
    if (divisor > 1 &&
        image_decoder_scale(decoder, divisor, &current->image.width, &current->image.height)) {
        scale_axis(&window->x, &window->width, divisor, width, current->image.width,
                   axes.exchanges ? axes.mirrors_y : axes.mirrors_x);
        scale_axis(&window->y, &window->height, divisor, height, current->image.height,
                   axes.exchanges ? axes.mirrors_x : axes.mirrors_y);
        margins->left = (margins->left + divisor / 2) / divisor;
        margins->top = (margins->top + divisor / 2) / divisor;
        margins->right = (margins->right + divisor / 2) / divisor;
        margins->bottom = (margins->bottom + divisor / 2) / divisor;
    }
}

/* Decodes a box of the image, and counts the pixels that an index would have avoided decoding. */
INLINED sluice_status decode_box(sample_loader *loader, const current_image *current,
                                 const image_box *box, image_view *pixels_out)
{
    worker_indexes *counts = &loader->report.indexes;
    sluice_status st = image_decoder_region(loader->tools.decoder, box, pixels_out);

    if (st == SLUICE_OK && !current->from_pack && !current->is_extra &&
        image_decoder_lacks_index(loader->tools.decoder)) {
        const image_box stored = image_decoder_stored_box(loader->tools.decoder, box);
        const uint32_t width = exif_exchanges_sides(current->applied.image) ? current->image.height
                                                                            : current->image.width;

        sli_counter_add(&counts->lacking, 1);
        sli_counter_add(&counts->above, (uint64_t)width * (stored.y + stored.height));
        sli_counter_add(&counts->needed, (uint64_t)box->width * box->height);
    }
    return st;
}

/* Returns the pixels of a box, and decodes them if the image is still encoded. */
INLINED sluice_status find_pixels(sample_loader *loader, const current_image *current,
                                  const image_box *box, image_view *pixels_out)
{
    if (box->width == 0 || box->height == 0) {
        *pixels_out = (image_view){NULL, 0, 0, 0, current->image.channels, current->image.element};
        return SLUICE_OK;
    }
    if (current->encoded) {
        return decode_box(loader, current, box, pixels_out);
    }
    *pixels_out = current->image;
    pixels_out->pixels += box->y * current->image.stride + box->x * image_pixel_bytes(pixels_out);
    pixels_out->width = box->width;
    pixels_out->height = box->height;
    return SLUICE_OK;
}

/* Counts the work on an image. An extra image is not counted as a sample. */
static inline void count_image(sample_loader *loader, uint32_t stage, const current_image *current,
                               uint64_t ticks, uint64_t bytes)
{
    sli_counters *counters = loader->report.counters[stage];

    if (!current->is_extra) {
        count_item(loader, stage, ticks, bytes);
        return;
    }
    sli_counter_add(&counters->busy_ticks, ticks);
    sli_counter_add(&counters->bytes, bytes);
}

/* Counts a decoded box, and enters the next stage of the profile. */
static inline void count_decoded(sample_loader *loader, const current_image *current,
                                 const image_view *pixels, uint64_t *ticks)
{
    const uint64_t now = change_stage(loader, PLAN_PIXELS);

    count_image(loader, PLAN_DECODE, current, now - *ticks, pixels->stride * pixels->height);
    *ticks = now;
}

/* Decodes all of the current image, if it is encoded. */
static inline sluice_status decode_whole(sample_loader *loader, current_image *current,
                                         uint64_t *ticks)
{
    const image_box whole = {0, 0, current->image.width, current->image.height};
    image_view pixels;
    sluice_status st;

    if (!current->encoded) {
        return SLUICE_OK;
    }
    st = decode_box(loader, current, &whole, &pixels);
    if (st == SLUICE_OK) {
        count_decoded(loader, current, &pixels, ticks);
        current->encoded = false;
        current->image = pixels;
    }
    return st;
}

#endif
