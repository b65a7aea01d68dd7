/* SPDX-License-Identifier: Apache-2.0 */
/* A contact sheet: one picture of the images of batches, with class and sample number below those
 * of each sample. */
#ifndef SLUICE_CONTACT_SHEET_H
#define SLUICE_CONTACT_SHEET_H

#include <stdbool.h>
#include <stdint.h>

#include <sluice/channel.h>
#include <sluice/custom.h>

#include "pixel_view.h"

/* An image of each sample, or one of its views. */
typedef struct sheet_image {
    const char *column;
    pixel_view view;
    uint32_t views;  /* that the column has of each sample; 1: it is the image itself */
    uint32_t number; /* of this view */
} sheet_image;

/* A zeroed struct is an empty sheet. Functions that return false have printed an error. */
typedef struct contact_sheet {
    sluice_dataset *dataset; /* borrowed, for names */
    bool has_passes;         /* captions have the pass instead of the file */
    bool has_zeroed;         /* a row may be zero for a bad sample: show_is_zeroed() */
    uint32_t image_count;
    sheet_image images[SLUICE_MAX_COLUMNS]; /* side by side; all have the size of the first one */
    uint32_t mark_count;
    sluice_column_spec marks[SLUICE_MAX_COLUMNS]; /* drawn over the first image */
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
 * Finds the images of the batches of a channel, and what is drawn over the first one: by the roles
 * of columns; without images, the column `image` is one. False: there is no image.
 */
bool contact_sheet_find(contact_sheet *sheet, sluice_dataset *dataset,
                        const sluice_channel_info *info);

/*
 * Creates the sheet, for the images of `samples` samples. Up to 256 samples, or 64 million pixels,
 * get tiles. `info`: as for contact_sheet_find(), which has found an image.
 */
bool contact_sheet_create(contact_sheet *sheet, const sluice_channel_info *info, uint64_t samples,
                          bool has_passes);

/* Adds the samples of a batch. */
void contact_sheet_add(contact_sheet *sheet, const sluice_batch *batch);

/* Writes the tiles as PNG, and prints a summary on stdout. */
bool contact_sheet_write(const contact_sheet *sheet, const char *path);

void contact_sheet_destroy(contact_sheet *sheet);

#endif
