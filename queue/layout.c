/* SPDX-License-Identifier: Apache-2.0 */
#include "layout_int.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "status_int.h"
#include "tensor_int.h"

/* Places count * bytes at the next aligned offset after *end: stores it in *offset and advances
 * *end. False: overflow. */
static bool place_column(size_t count, size_t bytes, size_t *offset, size_t *end)
{
    size_t start;
    size_t size;

    if (__builtin_add_overflow(*end, SLI_COLUMN_ALIGNMENT - 1, &start) ||
        __builtin_mul_overflow(count, bytes, &size)) {
        return false;
    }
    start -= start % SLI_COLUMN_ALIGNMENT;
    *offset = start;
    return !__builtin_add_overflow(start, size, end);
}

/* Places the ragged columns after the others, which end at *end. False: overflow. */
static bool place_ragged(sli_layout *layout, uint32_t ragged, size_t *end)
{
    bool fits = ragged == 0 || place_column(0, 0, &layout->ragged_offset, end);
    size_t bytes;

    for (uint32_t i = 0; i < layout->column_count && fits; i++) {
        if ((ragged >> i & 1) != 0) {
            layout->entry_bytes[i] = layout->row_bytes[i] / layout->columns[i].shape[0];
            layout->entry_before[i] = layout->ragged_bytes;
            fits = !__builtin_mul_overflow(layout->batch_size, layout->entry_bytes[i], &bytes) &&
                   !__builtin_add_overflow(layout->ragged_bytes, bytes, &layout->ragged_bytes);
        }
    }
    fits = fits && !__builtin_mul_overflow(layout->extent, layout->ragged_bytes, &bytes) &&
           !__builtin_add_overflow(*end, bytes, end);
    for (uint32_t i = 0; i < layout->column_count && fits; i++) {
        layout->offsets[i] = sli_layout_offset(layout, i, layout->extent);
    }
    return fits;
}

/* The largest extent: that of the longest ragged column. */
static uint32_t largest_extent(const sli_layout *layout, uint32_t ragged)
{
    uint64_t rows = 0;

    for (uint32_t i = 0; i < layout->column_count; i++) {
        if ((ragged >> i & 1) != 0 && layout->columns[i].shape[0] > rows) {
            rows = layout->columns[i].shape[0];
        }
    }
    assert(rows <= UINT32_MAX - SLI_EXTENT_UNIT);
    return (uint32_t)((rows + SLI_EXTENT_UNIT - 1) / SLI_EXTENT_UNIT * SLI_EXTENT_UNIT);
}

sluice_status sli_layout_make_ragged(const sluice_column *columns, uint32_t column_count,
                                     uint32_t batch_size, uint32_t ragged, sli_layout *layout_out)
{
    sli_layout layout;
    size_t end = sizeof(sli_batch_header);
    bool fits;

    memset(&layout, 0, sizeof(layout));
    if (column_count == 0 || column_count > SLUICE_MAX_COLUMNS || batch_size == 0) {
        return sli_fail(
            SLUICE_E_INVALID,
            "a batch of %u rows and %u columns must have at least 1 row and 1 to %d columns",
            batch_size, column_count, SLUICE_MAX_COLUMNS);
    }
    layout.batch_size = batch_size;
    layout.column_count = column_count;
    fits = place_column(batch_size, 1, &layout.row_flags_offset, &end);
    for (uint32_t i = 0; i < column_count; i++) {
        layout.columns[i] = columns[i];
        if (!sli_column_bytes(&columns[i], &layout.row_bytes[i])) {
            return sli_fail(SLUICE_E_INVALID, "column %s has no fixed size", columns[i].name);
        }
        if ((ragged >> i & 1) == 0) {
            fits = fits && place_column(batch_size, layout.row_bytes[i], &layout.offsets[i], &end);
        }
    }
    layout.extent = largest_extent(&layout, ragged);
    fits = fits && place_ragged(&layout, ragged, &end);
    fits = fits && place_column(0, 0, &layout.slot_bytes, &end);
    if (!fits || layout.slot_bytes > SLI_MAX_SLOT_BYTES) {
        return sli_fail(SLUICE_E_INVALID, "a batch of %u rows is larger than memory can be",
                        batch_size);
    }
    *layout_out = layout;
    return SLUICE_OK;
}

sluice_status sli_layout_make(const sluice_column *columns, uint32_t column_count,
                              uint32_t batch_size, sli_layout *layout_out)
{
    return sli_layout_make_ragged(columns, column_count, batch_size, 0, layout_out);
}

void sli_layout_widen(const sli_layout *layout, uint32_t i, const uint8_t *slot, void *tensor)
{
    const uint32_t extent = ((const sli_batch_header *)(const void *)slot)->extent;
    const uint8_t *from = slot + sli_layout_offset(layout, i, extent);
    const size_t stride = sli_layout_row(layout, i, extent);
    const size_t bytes = layout->row_bytes[i];
    const size_t filled = stride < bytes ? stride : bytes;
    uint8_t *to = tensor;

    for (uint32_t row = 0; row < layout->batch_size; row++, from += stride, to += bytes) {
        memcpy(to, from, filled);
        memset(to + filled, 0, bytes - filled);
    }
}

int sli_layout_find(const sli_layout *layout, const char *name)
{
    for (uint32_t i = 0; i < layout->column_count; i++) {
        if (strcmp(layout->columns[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}
