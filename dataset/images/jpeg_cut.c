/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_cut.h"

#include <string.h>

enum { RST0 = 0xD0, EOI = 0xD9 };

/*
 * The grid of segments between restart markers. A segment is either `columns` MCUs of one row or
 * `rows` whole rows; a row is divided into `across` segments.
 */
typedef struct segment_grid {
    uint32_t columns;
    uint32_t rows;
    uint32_t across;
    uint32_t count;
} segment_grid;

static bool find_grid(const jpeg_layout *layout, segment_grid *grid)
{
    const uint32_t restart = layout->restart;

    if (restart == 0) {
        return false;
    }
    if (layout->columns % restart == 0) {
        *grid = (segment_grid){restart, 1, layout->columns / restart, 0};
    } else if (restart % layout->columns == 0) {
        *grid = (segment_grid){layout->columns, restart / layout->columns, 1, 0};
    } else {
        return false;
    }
    grid->count = grid->across * ((layout->rows + grid->rows - 1) / grid->rows);
    return true;
}

/* Returns the next marker in [at, end), ignoring stuffed bytes, or NULL if there is no marker. */
static const uint8_t *next_marker(const uint8_t *at, const uint8_t *end)
{
    while (end - at >= 2 && (at = memchr(at, 0xFF, (size_t)(end - at - 1))) != NULL) {
        if (at[1] != 0 && at[1] != 0xFF) {
            return at;
        }
        at += at[1] == 0 ? 2 : 1;
    }
    return NULL;
}

/*
 * Copies the segments of the cells to `to`. Each segment is followed by its restart marker,
 * renumbered; the last segment is followed by EOI. Returns the end of the copy, or NULL if the
 * markers are not where the headers imply.
 */
static uint8_t *copy_segments(const segment_grid *grid, const jpeg_cells *cells,
                              const uint8_t *from, const uint8_t *end, uint8_t *to)
{
    uint32_t copied = 0;
    uint32_t across = 0;
    uint32_t down = 0;

    for (uint32_t i = 0; down < cells->bottom; i++) {
        const uint8_t *marker = next_marker(from, end);
        const uint8_t want = i + 1 == grid->count ? EOI : (uint8_t)(RST0 + i % 8);

        if (marker == NULL || marker[1] != want) {
            return NULL;
        }
        if (down >= cells->top && across >= cells->left && across < cells->right) {
            const size_t size = (size_t)(marker - from) + 1;

            memcpy(to, from, size);
            to[size] = (uint8_t)(RST0 + copied++ % 8);
            to += size + 1;
        }
        from = marker + 2;
        if (++across == grid->across) {
            across = 0;
            down++;
        }
    }
    to[-1] = EOI;
    return to;
}

jpeg_part_result jpeg_cut(const jpeg_layout *layout, const uint8_t *bytes, size_t size,
                          const image_box *box, image_buffer *file, size_t *file_size_out,
                          jpeg_cells *cells_out)
{
    segment_grid grid;
    uint8_t *end;
    uint8_t *to;

    if (!find_grid(layout, &grid)) {
        return JPEG_PART_CANNOT;
    }
    *cells_out = jpeg_layout_cells(layout, grid.columns, grid.rows, box);
    if ((cells_out->right - cells_out->left) == grid.across && cells_out->top == 0 &&
        cells_out->bottom * grid.across == grid.count) {
        return JPEG_PART_IS_ALL;
    }
    if (image_buffer_reserve(file, layout->head_size + (size - layout->scan)) != SLUICE_OK) {
        return JPEG_PART_CANNOT;
    }
    end = copy_segments(&grid, cells_out, bytes + layout->scan, bytes + size,
                        file->data + layout->head_size);
    if (end == NULL) {
        return JPEG_PART_CANNOT;
    }
    to = file->data;
    for (uint32_t i = 0; i < layout->part_count; i++) {
        to = jpeg_layout_copy(layout, bytes, i, &cells_out->pixels, to);
    }
    *file_size_out = (size_t)(end - file->data);
    return JPEG_PART_MADE;
}
