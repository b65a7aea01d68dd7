/* SPDX-License-Identifier: Apache-2.0 */
/* Converts images of batches to 8-bit pixels for display: from any layout and type, with
 * normalisation undone. */
#ifndef SLUICE_PIXEL_VIEW_H
#define SLUICE_PIXEL_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/tensor.h>

enum { PIXEL_CHANNELS = 4 };

/* byte = value * gain + offset, per channel */
typedef struct pixel_map {
    double gain[PIXEL_CHANNELS];
    double offset[PIXEL_CHANNELS];
} pixel_map;

typedef struct pixel_view {
    uint32_t height, width, channels;
    bool is_chw;
    bool is_known;     /* `undo` is known from the pipeline */
    bool is_undone;    /* `undo` is known and not the identity */
    bool is_stretched; /* a batch was scaled to 0..255 by its minimum and maximum */
    pixel_map undo;    /* inverse of the pipeline's stages */
    pixel_map map;     /* map of the current batch */
} pixel_view;

/*
 * Reads layout and normalisation of an image column from the text of sluice_dataset_describe().
 * False: the column is not an image of 1 to 4 channels, or a side is larger than 32768.
 */
bool pixel_view_init(pixel_view *view, const sluice_column *column, const char *described);

/* Sets `map` for the next batch; its first `rows` rows hold samples. */
void pixel_view_fit(pixel_view *view, const sluice_tensor *tensor, uint32_t rows);

/* Gets pixel (y, x) of a row of the current batch as red, green, blue. */
void pixel_view_get(const pixel_view *view, const sluice_tensor *tensor, uint32_t row, uint32_t y,
                    uint32_t x, uint8_t rgb[3]);

#endif
