/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_masks.h"

#include <string.h>

#include "exif.h"
#include "image_rules.h"
#include "image_turn.h"
#include "layout_int.h"
#include "opened_image.h"
#include "orientation.h"
#include "status_int.h"
#include "thread_interrupt_int.h"
#include "window_job.h"

/* Opens an encoded mask, and applies the orientation of its file. Returns it in *orientation_out;
 * 1: it has none, or pixels are used as stored. */
static sluice_status open_file(sample_loader *loader, const sample_data *data, image_view *mask,
                               uint32_t *orientation_out)
{
    const decode_args *args =
        (const decode_args *)(const void *)loader->plan->details->geometry.decode->args.bytes;
    image_decoder *decoder = loader->tools.decoder;
    sluice_status st;

    st = image_rules_open(decoder, data, args, args->max_pixels, true, mask);
    if (st != SLUICE_OK) {
        return opened_image_failed(loader, st);
    }
    st = image_rules_open_mask(decoder, args, mask, orientation_out, &loader->io.ends_run);
    return st == SLUICE_OK ? opened_image_check_resumed(loader, *orientation_out) : st;
}

/* Applies the orientation of the image to a mask of the size that the image has in its file. */
static sluice_status follow_orientation(sample_loader *loader, uint64_t sample,
                                        const sample_transform *transform, image_view *mask)
{
    image_tools *tools = &loader->tools;
    const image_view stored = *mask;

    if (transform->applied.labels == EXIF_UPRIGHT) { /* else the sample was counted */
        opened_image_note(loader, sample, SLI_IMAGE_LABELS_STORED);
    }
    if (mask->pixels != NULL) {
        return orientation_apply(transform->applied.image, &stored, &tools->upright, mask);
    }
    image_decoder_orient(tools->decoder, transform->applied.image, &mask->width, &mask->height);
    return SLUICE_OK;
}

/* Opens the mask if it is encoded, and checks that its size is that of its image. *mask_out: its
 * size; its pixels are NULL while it is encoded. */
static sluice_status open_mask(sample_loader *loader, uint64_t sample,
                               const sample_transform *transform, const sample_data *data,
                               image_view *mask_out)
{
    uint32_t own = EXIF_UPRIGHT;
    bool follows = false;
    image_view mask = data->image;
    sluice_status st = data->bytes != NULL ? open_file(loader, data, &mask, &own) : SLUICE_OK;

    if (st == SLUICE_OK) {
        st = image_rules_fit_mask(&mask, own, transform->width, transform->height,
                                  &transform->applied, &follows);
    }
    if (st == SLUICE_OK && follows) {
        st = follow_orientation(loader, sample, transform, &mask);
    }
    *mask_out = mask;
    return st;
}

/* The destination of flip_line(). */
typedef struct mask_line {
    uint8_t *row;
    size_t stride;
    uint32_t width;
    uint32_t height;
    uint8_t flips; /* sample_transform.flips */
} mask_line;

/* Writes a line at its position after the flips, flipped horizontally or not. */
static void flip_line(void *arg, uint32_t y, const uint8_t *pixels)
{
    const mask_line *line = arg;
    const uint32_t to_y = (line->flips & SLI_ROW_FLIP_LINES) != 0 ? line->height - 1 - y : y;
    uint8_t *to = line->row + to_y * line->stride;

    if ((line->flips & SLI_ROW_FLIP) == 0) {
        memcpy(to, pixels, line->width);
        return;
    }
    for (uint32_t x = 0; x < line->width; x++) {
        to[x] = pixels[line->width - 1 - x];
    }
}

/* Where a part of the transform writes the mask: into the row, or a buffer. */
typedef struct mask_target {
    uint8_t *row;  /* lines of `stride` bytes; NULL: further parts follow */
    size_t stride; /* at least the width */
    uint8_t flips;
    image_buffer *between;
} mask_target;

/*
 * Applies a window to the mask. `current` is the mask between two parts; its pixels are NULL while
 * it is encoded.
 */
static sluice_status run_window(const fused_geometry *g, image_tools *tools, image_view *current,
                                const mask_target *target)
{
    const resample_job job = window_job_of_mask(g);
    mask_line line = {target->row, target->stride, g->window_width, g->window_height,
                      target->flips};
    image_buffer *between = target->between;
    image_view pixels = {.channels = 1};
    line_sink sink = {NULL, NULL, target->row};
    image_box needed;
    sluice_status st = resample_prepare(&tools->resampler, &job, &needed);

    if (st == SLUICE_OK && target->row == NULL) {
        st = image_buffer_reserve(between, (size_t)g->window_width * g->window_height);
        sink.direct = between->data;
    } else if (target->flips != 0 || target->stride != g->window_width) {
        sink = (line_sink){flip_line, &line, NULL};
    }
    needed.x += (uint32_t)g->x;
    needed.y += (uint32_t)g->y;
    if (st == SLUICE_OK && needed.width > 0 && needed.height > 0) {
        if (current->pixels == NULL) {
            st = image_decoder_region(tools->decoder, &needed, &pixels);
        } else {
            pixels = *current;
            pixels.pixels += needed.y * current->stride + needed.x;
            pixels.width = needed.width;
            pixels.height = needed.height;
        }
    }
    if (st == SLUICE_OK && g->turns) {
        const image_warp nearest = warp_of_mask(&g->turn);

        st =
            image_turn(&nearest, &pixels, g->window_width, g->window_height, &tools->turned, &sink);
    } else if (st == SLUICE_OK) {
        st = resample_run(&tools->resampler, &pixels, &sink);
    }
    *current = (image_view){between->data, g->window_width, g->window_width, g->window_height, 1,
                            IMAGE_U8};
    return st;
}

/* Applies a warp to the mask. */
static sluice_status run_warp(const image_warp *warp, image_view *current,
                              const mask_target *target)
{
    const image_warp nearest = warp_of_mask(warp);
    image_buffer *to = target->between;
    const sluice_status st = image_buffer_reserve(to, (size_t)current->stride * current->height);

    if (st != SLUICE_OK) {
        return st;
    }
    for (uint32_t y = 0; y < current->height && !sli_is_interrupted_at(y); y++) {
        warp_line(&nearest, current, y, to->data + y * current->stride);
    }
    current->pixels = to->data;
    if (target->row != NULL) {
        mask_line line = {target->row, target->stride, current->width, current->height,
                          target->flips};

        for (uint32_t y = 0; y < current->height; y++) {
            flip_line(&line, y, current->pixels + y * current->stride);
        }
    }
    return sli_is_interrupted() ? SLUICE_CLOSED : SLUICE_OK;
}

sluice_status mask_follow(sample_loader *loader, uint64_t sample, const sample_transform *transform,
                          const sample_data *data, uint8_t *row, size_t stride)
{
    image_tools *tools = &loader->tools;
    image_view current;
    sluice_status st = open_mask(loader, sample, transform, data, &current);
    transform_place place = {0};
    transform_part next;
    bool has_next = transform_next(transform, &place, &next);

    for (uint32_t number = 0; has_next && st == SLUICE_OK; number++) {
        const transform_part part = next;
        mask_target target = {row, stride, transform->flips, &tools->between[number % 2]};

        has_next = transform_next(transform, &place, &next);
        if (has_next) {
            target.row = NULL;
        }
        st = part.window != NULL ? run_window(part.window, tools, &current, &target)
                                 : run_warp(part.warp, &current, &target);
    }
    return st;
}
