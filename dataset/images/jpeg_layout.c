/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_layout.h"

#include <string.h>

enum {
    SOF0 = 0xC0, /* baseline */
    SOF1 = 0xC1, /* extended sequential, Huffman-coded */
    DHT = 0xC4,
    SOF15 = 0xCF,
    RST0 = 0xD0,
    SOI = 0xD8,
    EOI = 0xD9,
    SOS = 0xDA,
    DNL = 0xDC,
    DRI = 0xDD,
    APP0 = 0xE0,
    APP14 = 0xEE,
    APP15 = 0xEF,
    COM = 0xFE,
    TEM = 0x01
};

static uint32_t two_bytes(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static void keep_segment(jpeg_layout *layout, size_t offset, size_t size)
{
    layout->parts[layout->part_count++] = (jpeg_part){offset, size};
    layout->head_size += size;
}

/*
 * Reads a SOF0 or SOF1 segment: precision, height, width, and components with their sampling
 * factors.
 */
static bool read_frame(jpeg_layout *layout, const uint8_t *body, size_t size)
{
    if (layout->width != 0 || size < 6 || body[0] != 8) {
        return false;
    }
    layout->height = two_bytes(body + 1);
    layout->width = two_bytes(body + 3);
    layout->components = body[5];
    if (layout->width == 0 || layout->height == 0 || size != 6 + 3 * (size_t)layout->components ||
        (layout->components != 1 && layout->components != 3)) {
        return false;
    }
    layout->h_max = 1;
    layout->v_max = 1;
    for (uint32_t i = 0; i < layout->components; i++) {
        const uint32_t h = body[7 + 3 * i] >> 4;
        const uint32_t v = body[7 + 3 * i] & 15;

        if (h < 1 || h > 4 || v < 1 || v > 4) {
            return false;
        }
        layout->h_max = h > layout->h_max ? h : layout->h_max;
        layout->v_max = v > layout->v_max ? v : layout->v_max;
    }
    if (layout->components == 1) {
        layout->h_max = 1;
        layout->v_max = 1;
    }
    layout->columns = (layout->width + 8 * layout->h_max - 1) / (8 * layout->h_max);
    layout->rows = (layout->height + 8 * layout->v_max - 1) / (8 * layout->v_max);
    return true;
}

/*
 * True if the marker begins application data or a comment, except for the two application segments
 * that determine the colour space.
 */
static bool is_removable(uint8_t marker)
{
    return marker == COM ||
           (marker >= APP0 && marker <= APP15 && marker != APP0 && marker != APP14);
}

/* True if the marker is not permitted in the headers, or has no length field. */
static bool is_unsupported(uint8_t marker)
{
    return (marker > SOF1 && marker <= SOF15 && marker != DHT) ||
           (marker >= RST0 && marker <= EOI) || marker == DNL || marker == TEM || marker == 0;
}

static bool read_marker(jpeg_layout *layout, uint8_t marker, const uint8_t *body, size_t size)
{
    if (is_unsupported(marker)) {
        return false;
    }
    if (marker == SOF0 || marker == SOF1) {
        return read_frame(layout, body, size);
    }
    if (marker == DRI) {
        layout->restart = size == 2 ? two_bytes(body) : 0;
        return size == 2;
    }
    /* Only a single scan with all components is accepted. */
    return marker != SOS || (layout->width != 0 && size > 0 && body[0] == layout->components);
}

bool jpeg_layout_read(const uint8_t *bytes, size_t size, jpeg_layout *layout_out)
{
    jpeg_layout *layout = layout_out;
    size_t at = 2;
    uint8_t marker = 0;

    memset(layout, 0, sizeof(*layout));
    if (size < 2 || bytes[0] != 0xFF || bytes[1] != SOI) {
        return false;
    }
    keep_segment(layout, 0, 2);
    while (marker != SOS) {
        size_t length;

        while (size - at >= 2 && bytes[at] == 0xFF && bytes[at + 1] == 0xFF) {
            at++; /* skips a fill byte */
        }
        if (size - at < 4 || bytes[at] != 0xFF) {
            return false;
        }
        marker = bytes[at + 1];
        length = two_bytes(bytes + at + 2);
        if (marker == SOF0 || marker == SOF1) {
            layout->frame = at;
        }
        if (length < 2 || length > size - at - 2 || layout->part_count == JPEG_MAX_PARTS ||
            !read_marker(layout, marker, bytes + at + 4, length - 2)) {
            return false;
        }
        if (!is_removable(marker)) {
            keep_segment(layout, at, 2 + length);
        }
        at += 2 + length;
    }
    layout->scan = at;
    return true;
}

/*
 * Converts the pixel range [low, high) of one axis, widened by a margin and clamped to the image,
 * to a range of cells of `cell` pixels.
 */
static void cover_cells(uint32_t low, uint32_t high, uint32_t margin, uint32_t extent,
                        uint32_t cell, uint32_t *first_out, uint32_t *end_out)
{
    low = low > margin ? low - margin : 0;
    high = extent - high > margin ? high + margin : extent;
    *first_out = low / cell;
    *end_out = (high + cell - 1) / cell;
}

/*
 * Smooth chroma upsampling reads one pixel beyond the box, in the directions in which chroma is
 * subsampled. Rows of one or two chroma samples are not smoothed, so a narrow last cell at the
 * right edge needs its neighbour.
 */
jpeg_cells jpeg_layout_cells(const jpeg_layout *layout, uint32_t columns, uint32_t rows,
                             const image_box *box)
{
    const uint32_t width = columns * 8 * layout->h_max;
    const uint32_t height = rows * 8 * layout->v_max;
    const uint32_t least = 2 * layout->h_max + 1;
    jpeg_cells cells;
    uint32_t right;
    uint32_t bottom;

    cover_cells(box->x, box->x + box->width, layout->h_max > 1, layout->width, width, &cells.left,
                &cells.right);
    cover_cells(box->y, box->y + box->height, layout->v_max > 1, layout->height, height, &cells.top,
                &cells.bottom);
    right = cells.right * width < layout->width ? cells.right * width : layout->width;
    bottom = cells.bottom * height < layout->height ? cells.bottom * height : layout->height;
    while (layout->h_max > 1 && cells.left > 0 && right - cells.left * width < least) {
        cells.left--;
    }
    cells.pixels = (image_box){cells.left * width, cells.top * height, right - cells.left * width,
                               bottom - cells.top * height};
    return cells;
}

uint8_t *jpeg_layout_copy(const jpeg_layout *layout, const uint8_t *bytes, uint32_t part,
                          const image_box *pixels, uint8_t *to)
{
    const jpeg_part *from = &layout->parts[part];

    memcpy(to, bytes + from->offset, from->size);
    if (from->offset == layout->frame) {
        to[5] = (uint8_t)(pixels->height >> 8);
        to[6] = (uint8_t)pixels->height;
        to[7] = (uint8_t)(pixels->width >> 8);
        to[8] = (uint8_t)pixels->width;
    }
    return to + from->size;
}
