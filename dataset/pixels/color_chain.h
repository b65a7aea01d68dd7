/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The colour operations and warps of one image, in order. Operations on single values of a channel
 * are lookup tables of 256 entries; consecutive tables are composed into one. Operations that
 * depend on statistics of the whole image, as contrast does on its mean, become tables after all
 * lines have been counted. A warp reads the lines of the whole image before it.
 */
#ifndef SLUICE_COLOR_CHAIN_H
#define SLUICE_COLOR_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "color_pixel_int.h"
#include "elastic_field.h"
#include "image_blur.h"
#include "image_jpeg.h"
#include "image_noise.h"
#include "image_warp.h"

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
    COLOR_TWIST,
    COLOR_HSV,
    COLOR_ERASE,
    COLOR_NOISE,
    COLOR_BITS, /* this and the next two replace COLOR_TABLE if color_chain.numbers is true */
    COLOR_SOLARIZE,
    COLOR_BRIGHTNESS,
    /* those from here on need statistics of the whole image */
    COLOR_CONTRAST,
    COLOR_AUTOCONTRAST,
    COLOR_EQUALIZE,
    /* those from here on need the pixels of the whole image */
    COLOR_WARP,
    COLOR_BLUR,
    COLOR_SHARPEN,
    /* those from here on are computed for the whole image before its first line */
    COLOR_JPEG, /* jpeg_run() */
    COLOR_MIX   /* of the image and copies that other chains changed: mix_run() */
} color_kind;

/* A rectangle of the image, [x, x + width) by [y, y + height), that is set to a value. */
typedef struct color_rectangle {
    uint32_t x;
    uint32_t y;
    uint32_t width;
    uint32_t height;
    uint8_t value[4]; /* of each channel */
} color_rectangle;

typedef struct color_operation {
    color_kind kind;
    float factor; /* of COLOR_SATURATION, COLOR_HUE, COLOR_CONTRAST, COLOR_SHARPEN and
                     COLOR_BRIGHTNESS; of COLOR_SOLARIZE the threshold, a whole number, 0 to 256 */
    float rest;   /* 1 - factor */
    bool bitwise; /* COLOR_TABLE whose entries are (v & keep) ^ flip in every channel; COLOR_BITS
                     has the same formula */
    uint8_t keep;
    uint8_t flip;
    bool same; /* COLOR_TABLE: the same table for each channel */
    union {
        uint8_t table[COLOR_CHANNELS][COLOR_VALUES];
        float matrix[3][COLOR_CHANNELS + 1]; /* of COLOR_TWIST: the last column is added */
        sli_hsv hsv;                         /* of COLOR_HSV */
        image_warp warp;                     /* of COLOR_WARP */
        image_blur blur;                     /* of COLOR_BLUR */
        color_rectangle erased;              /* of COLOR_ERASE */
        image_noise noise;                   /* of COLOR_NOISE */
        image_jpeg jpeg;                     /* of COLOR_JPEG */
        uint32_t mix;                        /* of COLOR_MIX: index in color_chain.mixes */
    };
} color_operation;

/* Statistics of an image, which color_count() collects. */
typedef struct color_statistics {
    uint64_t pixels;
    uint64_t gray;                                    /* sum of the lumas */
    uint32_t counts[2][COLOR_CHANNELS][COLOR_VALUES]; /* of the even and the odd pixels of lines:
                                                         neighbours often have the same value, and
                                                         would wait for each other's count */
} color_statistics;

typedef struct color_chain {
    uint32_t width; /* of the image */
    uint32_t height;
    bool flipped_x; /* earlier stages flip the image horizontally; flips run after all operations */
    bool flipped_y; /* the same, vertically */
    bool numbers;   /* for row programs (row_program_int.h): operations keep parameters, not tables;
                       such a chain cannot be applied to lines */
    uint32_t count;
    uint32_t mix_count;
    struct color_mix
        *mixes; /* memory of the stages' COLOR_MIX, of the caller; NULL: there are none */
    uint32_t field_count;
    elastic_field *fields; /* (field_count) for color_add_elastic(), of the caller: at least as many
                              as the chain has of these; NULL: there are none */
    uint8_t owners[COLOR_MAX_OPERATIONS]; /* (count) set by the caller: the stage of each one */
    color_operation operations[COLOR_MAX_OPERATIONS];
} color_chain;

/* The weighted sum of an image and its copies, each by a chain of its own. */
enum { COLOR_MIX_CHAINS = 8, COLOR_MAX_MIXES = 4 };

typedef struct color_mix {
    float share; /* weight of the image */
    uint32_t count;
    float weights[COLOR_MIX_CHAINS]; /* (count) of the copies */
    color_chain chains[COLOR_MIX_CHAINS];
} color_mix;

/* ---- building; operations of an image of one channel that need colours have no effect ----------
 */

/* Multiplies all values by `factor`, 0 or more. */
void color_add_brightness(color_chain *chain, double factor);

/* Replaces each value v by values[v], on the workers. */
void color_add_table(color_chain *chain, const uint8_t values[COLOR_VALUES]);

/* Blends the image with the mean of its luma: 0 is gray, 1 is the image. */
void color_add_contrast(color_chain *chain, double factor);

/* Blends each pixel with its luma: 0 is gray, 1 is the image. No effect on one channel, as hue and
 * gray. */
void color_add_saturation(color_chain *chain, double factor);

/* Adds `shift` turns, -0.5 to 0.5, to the hue. */
void color_add_hue(color_chain *chain, double shift);

/* The changes of color_add_twist(), DALI's. */
typedef struct color_twist {
    double brightness; /* factor */
    double contrast;   /* factor of the distance from 128 */
    double saturation; /* factor of I and Q of YIQ */
    double hue;        /* degrees by which I and Q are rotated */
} color_twist;

/* Multiplies each pixel by a matrix, which makes all four changes, and rounds once. */
void color_add_twist(color_chain *chain, const color_twist *twist);

/* Changes hue, saturation and value at once, and rounds once; of one channel only the value. */
void color_add_hsv(color_chain *chain, sli_hsv by);

/* Channel c of the result is channel order[c] of the image; one channel stays. */
void color_add_permutation(color_chain *chain, const uint32_t order[COLOR_CHANNELS]);

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

/*
 * Warps the image. The coordinates of `warp` are those of the image after the stages before it,
 * including their flips. Consecutive warps with the same filter, border and fills are fused: their
 * matrices are multiplied.
 */
void color_add_warp(color_chain *chain, const image_warp *warp);

/* Erases a rectangle; its coordinates are those of the image after the stages before it, including
 * their flips. */
void color_add_erase(color_chain *chain, const color_rectangle *erased);

/* Adds normal noise to each value. */
void color_add_noise(color_chain *chain, const image_noise *noise);

/* Encodes as JPEG of a quality, 1 to 100, and decodes again. Not for chains of a mix. */
void color_add_jpeg(color_chain *chain, uint32_t quality);

/* Blurs by a Gaussian filter of `taps` weights, odd and at most BLUR_TAPS, in both directions. */
void color_add_blur(color_chain *chain, uint32_t taps, double sigma);

/* Blends the image with its smoothed copy. `factor` 0 smooths, 1 changes nothing, 2 sharpens. */
void color_add_sharpness(color_chain *chain, double factor);

/*
 * Adds a mix without copies, which the caller fills. Returns the mix, an entry of chain->mixes; its
 * chains are empty, with the size and flips of `chain`. There must be room for it.
 */
color_mix *color_add_mix(color_chain *chain);

/* ---- running -----------------------------------------------------------------------------------
 */

/* Returns the first operation from `first` on that needs the whole image; chain->count: none. */
uint32_t color_next_whole(const color_chain *chain, uint32_t first);

/*
 * Applies operations [first, end), none of which needs the whole image, to line y of (pixels,
 * channels) bytes; channels is 1 or 3 if there are operations other than COLOR_ERASE. `from` and
 * `to` may be the same line; if there are no operations, the line is copied.
 */
void color_apply(const color_chain *chain, uint32_t first, uint32_t end, uint32_t y,
                 const uint8_t *from, uint8_t *to, uint32_t pixels, uint32_t channels);

/* True if the operation makes each line from the pixels of the whole image: color_line(). */
bool color_needs_pixels(const color_operation *operation);

/* Adds a line to the statistics that an operation needs, if any; they start as zeros. */
void color_count(const color_operation *operation, const uint8_t *line, uint32_t pixels,
                 uint32_t channels, color_statistics *statistics);

/*
 * Turns operation `number` into a table, by the statistics of the image before this operation. A
 * table right after it is composed into it, and becomes COLOR_NOTHING.
 */
void color_settle(color_chain *chain, uint32_t number, const color_statistics *statistics);

/* Bytes of memory that color_line() needs, for the largest of all operations. */
size_t color_line_bytes(const color_chain *chain, uint32_t channels);

/*
 * Writes line y of the result of an operation that needs the pixels of the image. Bytes after the
 * line may be overwritten, fewer than IMAGE_SLACK. `memory` is aligned to floats.
 */
void color_line(const color_operation *operation, const image_view *from, uint32_t y, void *memory,
                uint8_t *to);

#endif
