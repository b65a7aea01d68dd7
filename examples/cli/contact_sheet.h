/* SPDX-License-Identifier: Apache-2.0 */
/* A contact sheet: one picture of the images of batches, with class and sample number below each.
 */
#ifndef SLUICE_CONTACT_SHEET_H
#define SLUICE_CONTACT_SHEET_H

#include <stdbool.h>
#include <stdint.h>

#include <sluice/channel.h>

#include "pixel_view.h"

/* A zeroed struct is an empty sheet. Functions that return false have printed an error. */
typedef struct contact_sheet {
    sluice_dataset *dataset; /* borrowed, for names */
    bool has_passes;         /* captions have the pass instead of the file */
    pixel_view view;
    uint32_t scale; /* pixels of the sheet, in each direction, per pixel of an image */
    uint32_t cell_width, cell_height;
    uint32_t across; /* tiles in a row */
    uint64_t most;   /* maximum number of tiles */
    uint64_t tiles;  /* tiles so far */
    uint64_t left;   /* samples without a tile */
    uint32_t width, height;
    uint8_t *pixels; /* (height, width, 3) */
} contact_sheet;

/*
 * Creates a sheet for `samples` images of the column `image`. Up to 256 samples, or 64 million
 * pixels, get tiles.
 */
bool contact_sheet_create(contact_sheet *sheet, sluice_dataset *dataset,
                          const sluice_column *column, uint64_t samples, bool has_passes);

/* Adds the samples of a batch. */
void contact_sheet_add(contact_sheet *sheet, const sluice_batch *batch);

/* Writes the tiles as PNG, and prints a summary on stdout. */
bool contact_sheet_write(const contact_sheet *sheet, const char *path);

void contact_sheet_destroy(contact_sheet *sheet);

#endif
