/* SPDX-License-Identifier: Apache-2.0 */
#include "tile_marks.h"

#include <stdbool.h>
#include <string.h>

#include "show_columns.h"

enum { COLOURS = 8 };

static const uint8_t colours[COLOURS][3] = {
    {230, 60, 60},  {60, 200, 80},  {70, 110, 250}, {240, 200, 40},
    {200, 70, 220}, {50, 210, 220}, {250, 140, 40}, {180, 180, 180},
};

static uint8_t *find_pixel(const sheet_tile *tile, uint32_t x, uint32_t y)
{
    return tile->pixels + y * tile->stride + (size_t)x * 3;
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* True if the mask has the image's size, as (rows, H, W), (rows, H, W, 1) or (rows, 1, H, W). */
static bool is_mask(const sheet_tile *tile, const sluice_tensor *mask)
{
    const uint64_t *shape = mask->shape + 1;

    if (!show_is_integer(mask->dtype) || mask->rank < 3 || mask->rank > 4 ||
        (mask->rank == 4 && shape[0] != 1 && shape[2] != 1)) {
        return false;
    }
    shape += mask->rank == 4 && shape[2] != 1;
    return shape[0] == tile->height && shape[1] == tile->width;
}

void tile_mark_mask(const sheet_tile *tile, const sluice_batch *batch, uint32_t row)
{
    const sluice_tensor *mask = sluice_batch_input(batch, "mask");
    const uint32_t scale = tile->scale;

    if (mask == NULL || !is_mask(tile, mask)) {
        return;
    }
    for (uint32_t y = 0; y < tile->height * scale; y++) {
        for (uint32_t x = 0; x < tile->width * scale; x++) {
            const size_t i = ((size_t)row * tile->height + y / scale) * tile->width + x / scale;
            const int64_t value = show_integer(mask->dtype, mask->data, i);
            uint8_t *pixel = find_pixel(tile, x, y);

            for (int c = 0; value != 0 && c < 3; c++) {
                pixel[c] = (uint8_t)((pixel[c] + colours[(uint64_t)(value - 1) % COLOURS][c]) / 2);
            }
        }
    }
}

/* ---- boxes ----------------------------------------------------------------------------------- */

/* Clips one side of a box to pixels [low, high). Returns false if no pixels are left. */
static bool clip(float from, float to, uint32_t size, uint32_t scale, uint32_t *low, uint32_t *high)
{
    if (!(to > from) || !(to > 0) || !(from < (float)size)) {
        return false;
    }
    *low = from > 0 ? (uint32_t)(from * (float)scale) : 0;
    *high = to < (float)size ? (uint32_t)(to * (float)scale) : size * scale;
    return *high > *low;
}

static void draw_frame(const sheet_tile *tile, const float box[4], const uint8_t colour[3])
{
    uint32_t left, right, top, bottom;

    if (!clip(box[0], box[2], tile->width, tile->scale, &left, &right) ||
        !clip(box[1], box[3], tile->height, tile->scale, &top, &bottom)) {
        return;
    }
    for (uint32_t x = left; x < right; x++) {
        memcpy(find_pixel(tile, x, top), colour, 3);
        memcpy(find_pixel(tile, x, bottom - 1), colour, 3);
    }
    for (uint32_t y = top; y < bottom; y++) {
        memcpy(find_pixel(tile, left, y), colour, 3);
        memcpy(find_pixel(tile, right - 1, y), colour, 3);
    }
}

void tile_mark_boxes(const sheet_tile *tile, const sluice_batch *batch, uint32_t row)
{
    const sluice_tensor *boxes = sluice_batch_input(batch, "boxes");
    const sluice_tensor *length = sluice_batch_input(batch, "boxes_length");
    uint64_t count;

    if (boxes == NULL || boxes->dtype != SLUICE_F32 || boxes->rank != 3 || boxes->shape[2] != 4) {
        return;
    }
    count = boxes->shape[1];
    if (length != NULL && length->rank == 1 && show_is_integer(length->dtype)) {
        const int64_t given = show_integer(length->dtype, length->data, row);

        count = given < 0 ? 0 : (uint64_t)given < count ? (uint64_t)given : count;
    }
    for (uint64_t i = 0; i < count; i++) {
        draw_frame(tile, (const float *)boxes->data + (row * boxes->shape[1] + i) * 4,
                   colours[i % COLOURS]);
    }
}
