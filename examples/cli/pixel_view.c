/* SPDX-License-Identifier: Apache-2.0 */
#include "pixel_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "described_text.h"
#include "show_columns.h"

enum { MOST_SIDE = 32768 };

/* ---- the stages ------------------------------------------------------------------------------ */

/* Reads "0.5,0.4,0.3"; a single number applies to all channels. */
static void read_numbers(const char *text, double numbers[PIXEL_CHANNELS])
{
    char *end;
    int count = 0;

    while (text != NULL && count < PIXEL_CHANNELS) {
        numbers[count++] = strtod(text, &end);
        text = *end == ',' ? end + 1 : NULL;
    }
    for (int c = count; c < PIXEL_CHANNELS; c++) {
        numbers[c] = count == 1 ? numbers[0] : 0;
    }
}

/*
 * Undoes value = (x - mean) / std, with x in 0..range; for a second normalize x is the output of
 * the first one.
 */
static void undo_normalize(pixel_map *undo, const char *stage, size_t length, bool is_second)
{
    const char *range_text = text_stage_value(stage, length, "range");
    const double range = range_text != NULL ? strtod(range_text, NULL) : 1;
    double mean[PIXEL_CHANNELS];
    double std[PIXEL_CHANNELS];

    read_numbers(text_stage_value(stage, length, "mean"), mean);
    read_numbers(text_stage_value(stage, length, "std"), std);
    for (int c = 0; c < PIXEL_CHANNELS; c++) {
        const double gain = is_second ? undo->gain[c] : 255 / range;
        const double offset = is_second ? undo->offset[c] : 0;

        undo->gain[c] = std[c] * gain;
        undo->offset[c] = mean[c] * gain + offset;
    }
}

/* undoes value = byte / 255 */
static void undo_scale(pixel_view *view)
{
    for (int c = 0; c < PIXEL_CHANNELS; c++) {
        view->undo.gain[c] = 255;
    }
    view->is_undone = true;
}

/* True if the stage works on the column: it names no columns, or this one among others. */
static bool works_on(const char *stage, size_t length, const char *column)
{
    const char *names = text_stage_value(stage, length, "columns");
    const size_t size = strlen(column);

    if (names == NULL) {
        return true;
    }
    while (strncmp(names, column, size) != 0 || strchr(", |", names[size]) == NULL) {
        names += strcspn(names, ", |");
        if (*names != ',') {
            return false;
        }
        names++;
    }
    return true;
}

static void read_stages(pixel_view *view, const char *text, const char *column)
{
    bool is_normalized = false;

    while (text != NULL) {
        const char *stage = text;
        size_t length;

        text = text_next_stage(stage, &length);
        if (!works_on(stage, length, column)) {
            continue;
        }
        if (text_stage_is(stage, "to_chw")) {
            view->is_chw = true;
        } else if (text_stage_is(stage, "normalize")) {
            undo_normalize(&view->undo, stage, length, is_normalized);
            is_normalized = true;
            view->is_known = true;
            view->is_undone = true;
        } else if (text_stage_is(stage, "to_dtype")) {
            const char *scale = text_stage_value(stage, length, "scale");

            if (scale != NULL && *scale == 't') {
                undo_scale(view);
            }
            view->is_known = true;
        }
    }
}

bool pixel_view_init(pixel_view *view, const sluice_column *column, const char *described)
{
    const uint64_t *shape = column->shape;

    *view = (pixel_view){.is_known = column->dtype == SLUICE_U8};
    for (int c = 0; c < PIXEL_CHANNELS; c++) {
        view->undo.gain[c] = 1;
    }
    if (column->rank != 2 && column->rank != 3) {
        return false;
    }
    read_stages(view, described, column->name);
    view->is_chw = column->rank == 2 || view->is_chw ||
                   (shape[2] > PIXEL_CHANNELS && shape[0] <= PIXEL_CHANNELS);
    if (column->rank == 2) {
        view->channels = 1;
    } else {
        const uint64_t channels = shape[view->is_chw ? 0 : 2];

        view->channels = channels <= PIXEL_CHANNELS ? (uint32_t)channels : 0;
        shape += view->is_chw;
    }
    if (view->channels == 0 || shape[0] - 1 >= MOST_SIDE || shape[1] - 1 >= MOST_SIDE) {
        return false;
    }
    view->height = (uint32_t)shape[0];
    view->width = (uint32_t)shape[1];
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Index of the tensor element that holds channel c of a pixel. */
static size_t find_element(const pixel_view *view, uint32_t row, uint32_t y, uint32_t x, uint32_t c)
{
    const size_t pixels = (size_t)view->height * view->width;
    const size_t pixel = (size_t)y * view->width + x;

    return row * pixels * view->channels +
           (view->is_chw ? c * pixels + pixel : pixel * view->channels + c);
}

/* Finds the minimum and maximum of a batch's mapped values, ignoring non-finite values. */
static void find_range(const pixel_view *view, const pixel_map *map, const sluice_tensor *tensor,
                       uint32_t rows, double *least, double *most)
{
    const size_t pixels = (size_t)view->height * view->width;

    *least = (double)INFINITY;
    *most = -(double)INFINITY;
    for (size_t i = 0; i < rows * pixels * view->channels; i++) {
        const size_t c = view->is_chw ? i / pixels % view->channels : i % view->channels;
        const double value =
            show_real(tensor->dtype, tensor->data, i) * map->gain[c] + map->offset[c];

        if (isfinite(value)) {
            *least = fmin(*least, value);
            *most = fmax(*most, value);
        }
    }
}

void pixel_view_fit(pixel_view *view, const sluice_tensor *tensor, uint32_t rows)
{
    double least;
    double most;

    view->map = view->undo;
    if (tensor->dtype == SLUICE_U8 && view->is_known) {
        return;
    }
    find_range(view, &view->undo, tensor, rows, &least, &most);
    if (view->is_known && least > -1 && most < 256) {
        return;
    }
    view->is_stretched = true;
    for (int c = 0; c < PIXEL_CHANNELS; c++) {
        const double gain = most > least ? 255 / (most - least) : 0;

        view->map.gain[c] = view->undo.gain[c] * gain;
        view->map.offset[c] = (view->undo.offset[c] - least) * gain;
    }
}

static uint8_t to_byte(double value)
{
    return value >= 255 ? 255 : value > 0 ? (uint8_t)(value + 0.5) : 0; /* NaN: 0 */
}

void pixel_view_get(const pixel_view *view, const sluice_tensor *tensor, uint32_t row, uint32_t y,
                    uint32_t x, uint8_t rgb[3])
{
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t c = view->channels >= 3 ? i : 0; /* else gray, maybe with alpha */
        const size_t element = find_element(view, row, y, x, c);

        rgb[i] = to_byte(show_real(tensor->dtype, tensor->data, element) * view->map.gain[c] +
                         view->map.offset[c]);
    }
}
