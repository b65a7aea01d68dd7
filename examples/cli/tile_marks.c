/* SPDX-License-Identifier: Apache-2.0 */
#include "tile_marks.h"

#include <stdio.h>
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

static void mark_mask(const sheet_tile *tile, const sluice_tensor *mask, uint32_t row)
{
    const uint32_t scale = tile->scale;

    if (!is_mask(tile, mask)) {
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

static void mark_boxes(const sheet_tile *tile, const sluice_tensor *boxes, uint32_t row,
                       uint64_t count)
{
    if (boxes->dtype != SLUICE_F32 || boxes->rank != 3 || boxes->shape[2] != 4) {
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        draw_frame(tile, (const float *)boxes->data + (row * boxes->shape[1] + i) * 4,
                   colours[i % COLOURS]);
    }
}

/* ---- points ---------------------------------------------------------------------------------- */

enum { ARM = 3 }; /* pixels of a cross on each side of its centre */

static void draw_dot(const sheet_tile *tile, int64_t x, int64_t y, const uint8_t colour[3])
{
    if (x >= 0 && y >= 0 && x < (int64_t)tile->width * tile->scale &&
        y < (int64_t)tile->height * tile->scale) {
        memcpy(find_pixel(tile, (uint32_t)x, (uint32_t)y), colour, 3);
    }
}

static void draw_cross(const sheet_tile *tile, const float point[2], const uint8_t colour[3])
{
    int64_t x, y;

    if (!(point[0] >= 0 && point[0] < (float)tile->width && point[1] >= 0 &&
          point[1] < (float)tile->height)) {
        return;
    }
    x = (int64_t)(point[0] * (float)tile->scale);
    y = (int64_t)(point[1] * (float)tile->scale);
    for (int64_t i = -ARM; i <= ARM; i++) {
        draw_dot(tile, x + i, y, colour);
        draw_dot(tile, x, y + i, colour);
    }
}

static void mark_points(const sheet_tile *tile, const sluice_tensor *points, uint32_t row,
                        uint64_t count)
{
    const bool is_flat = points->rank == 3;
    uint64_t in_row;

    if (points->dtype != SLUICE_F32 || points->rank < 3 || points->rank > 4 ||
        points->shape[points->rank - 1] != 2) {
        return;
    }
    in_row = is_flat ? 1 : points->shape[2];
    for (uint64_t i = 0; i < count * in_row; i++) {
        draw_cross(tile, (const float *)points->data + (row * points->shape[1] * in_row + i) * 2,
                   colours[(is_flat ? i : i % in_row) % COLOURS]);
    }
}

/* ---- columns --------------------------------------------------------------------------------- */

/* The number of rows of a sample in a column. */
static uint64_t count_rows(const sluice_batch *batch, const sluice_column_spec *spec,
                           const sluice_tensor *tensor, uint32_t row)
{
    const uint64_t most = tensor->rank > 1 ? tensor->shape[1] : 0;
    const sluice_tensor *length;
    char name[SLUICE_NAME_SIZE + 8];
    int64_t given;

    snprintf(name, sizeof(name), "%s_length", spec->boxes != NULL ? spec->boxes : spec->name);
    length = sluice_batch_input(batch, name);
    if (length == NULL || length->rank != 1 || !show_is_integer(length->dtype)) {
        return most;
    }
    given = show_integer(length->dtype, length->data, row);
    return given < 0 ? 0 : (uint64_t)given < most ? (uint64_t)given : most;
}

bool tile_is_marked(sluice_column_spec *spec)
{
    if (spec->role == SLUICE_ROLE_PLAIN) {
        spec->role = strcmp(spec->name, "mask") == 0    ? SLUICE_ROLE_MASK
                     : strcmp(spec->name, "boxes") == 0 ? SLUICE_ROLE_BOXES
                                                        : SLUICE_ROLE_PLAIN;
    }
    return spec->role == SLUICE_ROLE_MASK || spec->role == SLUICE_ROLE_BOXES ||
           spec->role == SLUICE_ROLE_POINTS;
}

void tile_mark(const sheet_tile *tile, const sluice_batch *batch, const sluice_column_spec *spec,
               uint32_t row)
{
    const sluice_tensor *tensor = sluice_batch_input(batch, spec->name);

    if (tensor == NULL) {
        return;
    }
    if (spec->role == SLUICE_ROLE_MASK) {
        mark_mask(tile, tensor, row);
    } else if (spec->role == SLUICE_ROLE_BOXES) {
        mark_boxes(tile, tensor, row, count_rows(batch, spec, tensor, row));
    } else {
        mark_points(tile, tensor, row, count_rows(batch, spec, tensor, row));
    }
}
