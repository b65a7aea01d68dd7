/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a JPEG file lies in memory: its headers, and the grid of MCUs that its one scan holds (ITU-T
 * T.81, annexes A and B). What it takes to make a shorter standard file of a part of its MCUs.
 */
#ifndef SLUICE_JPEG_LAYOUT_H
#define SLUICE_JPEG_LAYOUT_H

#include <stdbool.h>

#include "image.h"

enum { JPEG_MAX_PARTS = 40 };

/* Bytes of the file: a marker with what belongs to it. */
typedef struct jpeg_part {
    size_t offset;
    size_t size;
} jpeg_part;

typedef struct jpeg_layout {
    uint32_t width;
    uint32_t height;
    uint32_t components; /* 1 or 3 */
    uint32_t h_max;      /* largest sampling factors; 1 for one component, whose MCU is a block */
    uint32_t v_max;
    uint32_t columns; /* of MCUs, each 8 * h_max by 8 * v_max pixels */
    uint32_t rows;
    uint32_t restart;                /* MCUs between restart markers; 0: there are none */
    jpeg_part parts[JPEG_MAX_PARTS]; /* the headers that decoding depends on, in order */
    uint32_t part_count;
    size_t head_size; /* all of them */
    size_t frame;     /* the one of them that says the size begins here */
    size_t scan;      /* the file's entropy-coded data begin here */
} jpeg_layout;

/*
 * Reads the headers. False for what cannot be cut: no single scan of 8-bit Huffman-coded sequential
 * data with 1 or 3 components, no height (DNL), or headers that are odd or damaged.
 */
bool jpeg_layout_read(const uint8_t *bytes, size_t size, jpeg_layout *layout_out);

/* Cells of the grid, each `columns` by `rows` MCUs (those at the right and below may be smaller):
 * [left, right) by [top, bottom), which are `pixels` of the image. */
typedef struct jpeg_cells {
    uint32_t left;
    uint32_t top;
    uint32_t right;
    uint32_t bottom;
    image_box pixels;
} jpeg_cells;

/* What came of making a shorter file. */
typedef enum jpeg_part_result {
    JPEG_PART_MADE,
    JPEG_PART_IS_ALL, /* every cell is needed */
    JPEG_PART_CANNOT, /* the file is not as it should be; out of memory */
    JPEG_PART_WRONG   /* made, and it does not decode */
} jpeg_part_result;

/*
 * The fewest cells whose decode as an image of their own has the box's pixels as the whole file
 * has them. The box lies within the image.
 */
jpeg_cells jpeg_layout_cells(const jpeg_layout *layout, uint32_t columns, uint32_t rows,
                             const image_box *box);

/* Copies a header of an image that has these pixels only. Returns its end. */
uint8_t *jpeg_layout_copy(const jpeg_layout *layout, const uint8_t *bytes, uint32_t part,
                          const image_box *pixels, uint8_t *to);

#endif
