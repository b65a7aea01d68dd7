/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of a JPEG file in memory: its headers, and the MCU grid of its only scan (ITU-T T.81,
 * annexes A and B). It allows a subset of the MCUs to be made into a shorter standard JPEG file.
 */
#ifndef SLUICE_JPEG_LAYOUT_H
#define SLUICE_JPEG_LAYOUT_H

#include <stdbool.h>

#include "image.h"

enum { JPEG_MAX_PARTS = 40 };

/* A marker segment: its byte range in the file. */
typedef struct jpeg_part {
    size_t offset;
    size_t size;
} jpeg_part;

typedef struct jpeg_layout {
    uint32_t width;
    uint32_t height;
    uint32_t components; /* 1 or 3 */
    uint32_t h_max; /* largest horizontal sampling factor; 1 for one component, since its MCU is one
                       block */
    uint32_t v_max;
    uint32_t columns; /* number of MCUs in a row; each has 8 * h_max by 8 * v_max pixels */
    uint32_t rows;
    uint32_t restart;                /* MCUs between restart markers; 0: no restart markers */
    jpeg_part parts[JPEG_MAX_PARTS]; /* header segments that decoding depends on, in order */
    uint32_t part_count;
    size_t head_size; /* total size of parts */
    size_t frame;     /* offset of the SOF segment, which contains the image size */
    size_t scan;      /* offset of the entropy-coded data */
} jpeg_layout;

/*
 * Reads the headers. False: the file cannot be shortened, since it is not a single scan of 8-bit
 * Huffman-coded sequential data with 1 or 3 components, has no height (DNL), or has unexpected or
 * corrupt headers.
 */
bool jpeg_layout_read(const uint8_t *bytes, size_t size, jpeg_layout *layout_out);

/*
 * A rectangle of cells: [left, right) by [top, bottom). A cell is `columns` by `rows` MCUs, fewer
 * at the right and lower edge. `pixels` is the part of the image that the rectangle covers.
 */
typedef struct jpeg_cells {
    uint32_t left;
    uint32_t top;
    uint32_t right;
    uint32_t bottom;
    image_box pixels;
} jpeg_cells;

/* The outcome of shortening a file. */
typedef enum jpeg_part_result {
    JPEG_PART_MADE,
    JPEG_PART_IS_ALL, /* not made: the box needs every cell */
    JPEG_PART_CANNOT, /* not made: the file's structure is unsupported, or out of memory */
    JPEG_PART_WRONG   /* a shorter file was made, but decoding it fails */
} jpeg_part_result;

/*
 * Returns the smallest rectangle of cells that, decoded alone, gives the same pixels in the box as
 * the whole file. The box must be within the image.
 */
jpeg_cells jpeg_layout_cells(const jpeg_layout *layout, uint32_t columns, uint32_t rows,
                             const image_box *box);

/*
 * Copies a header segment; in the SOF segment the image size is replaced by the size of `pixels`.
 * Returns the end of the copy.
 */
uint8_t *jpeg_layout_copy(const jpeg_layout *layout, const uint8_t *bytes, uint32_t part,
                          const image_box *pixels, uint8_t *to);

#endif
