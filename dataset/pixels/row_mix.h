/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixes each row of a batch with another row, its partner, in place. The partner of a row is the
 * row before it; that of the first row is the last one.
 */
#ifndef SLUICE_ROW_MIX_H
#define SLUICE_ROW_MIX_H

#include <stdbool.h>
#include <stdint.h>

#include <sluice/tensor.h>

/* Some rows of one column of a batch. */
typedef struct mix_rows {
    const sluice_column *type; /* u8, f32, f16 or bf16 for mix_blend() */
    uint8_t *data;
    const uint32_t *rows; /* (count) indices of the rows, ascending */
    uint32_t count;       /* at least 1 */
    uint8_t *saved;       /* memory of one row */
} mix_rows;

/* True if mix_blend() can work on a column of this type. */
bool mix_can_blend(sluice_dtype dtype);

/*
 * Row = partner * (1 - lambda) + row * lambda, each product in single precision as torchvision's
 * MixUp computes it for float32; integers are rounded to nearest, halves to even.
 */
void mix_blend(const mix_rows *rows, double lambda);

/* A rectangle of an image, [x0, x1) by [y0, y1). */
typedef struct mix_box {
    uint32_t x0;
    uint32_t y0;
    uint32_t x1;
    uint32_t y1;
} mix_box;

/*
 * The box of torchvision's CutMix, with its centre at a pixel: its sides are sqrt(1 - lambda) of
 * those of the image, halves of them truncated to whole pixels, and it is clipped to the image.
 */
mix_box mix_box_around(uint32_t x, uint32_t y, double lambda, uint32_t width, uint32_t height);

/* The part of the image that is not in the box: the lambda of the labels. */
double mix_share_beside(const mix_box *box, uint32_t width, uint32_t height);

/* Copies a rectangle of the partner's image, of any type: (H, W, C), or (C, H, W) if is_chw. */
void mix_paste(const mix_rows *rows, bool is_chw, const mix_box *box);

#endif
