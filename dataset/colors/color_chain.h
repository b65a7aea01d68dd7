/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The colour operations of one image, in order. Operations on single values of a channel are lookup
 * tables of 256 entries; consecutive tables are composed into one. Operations that depend on
 * statistics of the whole image, as contrast does on its mean, become tables after all lines have
 * been counted.
 */
#ifndef SLUICE_COLOR_CHAIN_H
#define SLUICE_COLOR_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

enum {
    COLOR_CHANNELS = 3,
    COLOR_VALUES = 256,
    COLOR_MAX_OPERATIONS = 32 /* of one image, from all stages */
};

typedef enum color_kind {
    COLOR_NOTHING, /* composed into the operation before it */
    COLOR_TABLE,
    COLOR_SATURATION,
    COLOR_HUE,
    COLOR_GRAY,
    /* those from here on need statistics of the whole image */
    COLOR_CONTRAST,
    COLOR_AUTOCONTRAST,
    COLOR_EQUALIZE
} color_kind;

typedef struct color_operation {
    color_kind kind;
    float factor; /* of COLOR_SATURATION, COLOR_HUE and COLOR_CONTRAST */
    float rest;   /* 1 - factor */
    bool bitwise; /* COLOR_TABLE whose entries are (v & keep) ^ flip in every channel */
    uint8_t keep;
    uint8_t flip;
    uint8_t table[COLOR_CHANNELS][COLOR_VALUES];
} color_operation;

/* Statistics of an image, which color_count() collects. */
typedef struct color_statistics {
    uint64_t pixels;
    uint64_t gray; /* sum of the lumas */
    uint32_t counts[COLOR_CHANNELS][COLOR_VALUES];
} color_statistics;

typedef struct color_chain {
    uint32_t count;
    color_operation operations[COLOR_MAX_OPERATIONS];
} color_chain;

/* ---- building; operations of an image of one channel that need colours have no effect ----------
 */

/* Multiplies all values by `factor`, 0 or more. */
void color_add_brightness(color_chain *chain, double factor);

/* Blends the image with the mean of its luma: 0 is gray, 1 is the image. */
void color_add_contrast(color_chain *chain, double factor);

/* Blends each pixel with its luma: 0 is gray, 1 is the image. No effect on one channel, as hue and
 * gray. */
void color_add_saturation(color_chain *chain, double factor);

/* Adds `shift` turns, -0.5 to 0.5, to the hue. */
void color_add_hue(color_chain *chain, double shift);

void color_add_gray(color_chain *chain);
void color_add_invert(color_chain *chain);

/* Keeps the upper `bits` bits, 0 to 8. */
void color_add_posterize(color_chain *chain, uint32_t bits);

/* Inverts the values of at least `threshold`. */
void color_add_solarize(color_chain *chain, double threshold);

/* Stretches each channel to 0..255. */
void color_add_autocontrast(color_chain *chain);

/* Equalizes the histogram of each channel. */
void color_add_equalize(color_chain *chain);

/* ---- running -----------------------------------------------------------------------------------
 */

/* Returns the first operation from `first` on that needs statistics; chain->count: none. */
uint32_t color_next_whole(const color_chain *chain, uint32_t first);

/*
 * Applies operations [first, end), none of which needs statistics, to a line of (pixels, channels)
 * bytes; channels is 1 or 3. `from` and `to` may be the same line; if there are no operations, the
 * line is copied.
 */
void color_apply(const color_chain *chain, uint32_t first, uint32_t end, const uint8_t *from,
                 uint8_t *to, uint32_t pixels, uint32_t channels);

/* Adds a line to the statistics that an operation needs; they start as zeros. */
void color_count(const color_operation *operation, const uint8_t *line, uint32_t pixels,
                 uint32_t channels, color_statistics *statistics);

/*
 * Turns operation `number` into a table, by the statistics of the image before this operation. A
 * table right after it is composed into it, and becomes COLOR_NOTHING.
 */
void color_settle(color_chain *chain, uint32_t number, const color_statistics *statistics);

#endif
