/* SPDX-License-Identifier: Apache-2.0 */
#include "layout_int.h"

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

sluice_status sli_layout_make(const sluice_column *columns, uint32_t column_count,
                              uint32_t batch_size, sli_layout *layout_out)
{
    sli_layout layout;
    size_t end = sizeof(sli_batch_header);
    bool fits;

    memset(&layout, 0, sizeof(layout));
    if (column_count == 0 || column_count > SLUICE_MAX_COLUMNS || batch_size == 0) {
        return sli_fail(SLUICE_E_INVALID, "a batch of %u rows and %u columns; want 1 to %d columns",
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
        fits = fits && place_column(batch_size, layout.row_bytes[i], &layout.offsets[i], &end);
    }
    fits = fits && place_column(0, 0, &layout.slot_bytes, &end);
    if (!fits || layout.slot_bytes > SLI_MAX_SLOT_BYTES) {
        return sli_fail(SLUICE_E_INVALID, "a batch of %u rows is larger than memory can be",
                        batch_size);
    }
    *layout_out = layout;
    return SLUICE_OK;
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
