/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of a batch in a slot: a header, one flag byte per row, then one column after another.
 *
 * Rows of *ragged* columns have a number of entries along the first dimension that differs between
 * batches: the extent of the batch. Further entries of the declared shape are zeros and are not in
 * the slot. Ragged columns come after the others, so a batch is the first sli_layout_used() bytes
 * of its slot:
 *
 *     header, flags, columns of fixed size | extent * entry_before[i]: column i of (batch_size,
 *                                          | extent) entries of entry_bytes[i] bytes, and so on
 */
#ifndef SLUICE_LAYOUT_INT_H
#define SLUICE_LAYOUT_INT_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>
#include <sluice/tensor.h>

/* Alignment of columns in bytes, the same as for blocks of cudaMalloc(). */
enum { SLI_COLUMN_ALIGNMENT = 256 };

/* Extents are multiples of this, so that rows of any element type begin at multiples of 16 bytes.
 */
enum { SLI_EXTENT_UNIT = 16 };

/*
 * Upper bound on the bytes of a slot: more than an address space holds, and small enough that sums
 * over all slots and columns fit in 64 bits.
 */
#define SLI_MAX_SLOT_BYTES (UINT64_C(1) << 48)

/* Row flags, which GetNext applies. SLI_ROW_FLIP_LINES is in batches with row programs only. */
enum {
    SLI_ROW_FLIP = 1,      /* flip horizontally */
    SLI_ROW_ZERO = 2,      /* the row has no sample: output zeros, regardless of the conversion */
    SLI_ROW_FLIP_LINES = 4 /* flip vertically; without row programs workers do it: they write the
                              lines in reverse order */
};

/* The header of a slot, written by the producer and copied with the batch. */
typedef struct sli_batch_header {
    uint64_t seq;          /* batch number; detects a ready word that is visible before its data */
    uint64_t position;     /* samples of the pass that precede the batch, over all ranks */
    uint64_t pass;         /* pass of the dataset, from 0 */
    uint64_t first_sample; /* sample index of row 0; UINT64_MAX: no row has a sample */
    uint32_t valid_rows;   /* rows [0, valid_rows) hold samples, the rest is padding */
    uint32_t extent;       /* entries in each row of ragged columns; 0 for a batch to discard */
} sli_batch_header;

typedef struct sli_layout {
    uint32_t batch_size;
    uint32_t column_count;
    sluice_column columns[SLUICE_MAX_COLUMNS];
    size_t row_bytes[SLUICE_MAX_COLUMNS];
    size_t offsets[SLUICE_MAX_COLUMNS]; /* from the start of the slot; (batch_size, ...) each */
    size_t row_flags_offset;            /* (batch_size) uint8 */
    size_t slot_bytes;                  /* of a batch of the largest extent */
    uint32_t extent;                    /* the largest one; 0: no column is ragged */
    size_t ragged_offset;               /* from the start of the slot: the first ragged column */
    size_t ragged_bytes;                /* bytes of all ragged columns, for an extent of 1 */
    size_t entry_bytes[SLUICE_MAX_COLUMNS]; /* of one entry of a row; 0: the column is not ragged */
    size_t entry_before[SLUICE_MAX_COLUMNS]; /* bytes of the ragged columns before it, for an extent
                                                of 1 */
} sli_layout;

/* Returns E_INVALID if there are no rows, no columns or too many, if a column has no fixed size, or
 * if a slot would be larger than SLI_MAX_SLOT_BYTES. */
sluice_status sli_layout_make(const sluice_column *columns, uint32_t column_count,
                              uint32_t batch_size, sli_layout *layout_out);

/*
 * The same, with these ragged columns (bit i: column i, which has at least one dimension). Their
 * row_bytes are those of the declared shape, and their offsets those for the largest extent.
 */
sluice_status sli_layout_make_ragged(const sluice_column *columns, uint32_t column_count,
                                     uint32_t batch_size, uint32_t ragged, sli_layout *layout_out);

/* The extent of batches whose rows have up to `rows` entries: a multiple of SLI_EXTENT_UNIT, at
 * most layout->extent. */
static inline uint32_t sli_layout_extent(const sli_layout *layout, uint64_t rows)
{
    const uint64_t extent = (rows < layout->extent ? rows : layout->extent) + SLI_EXTENT_UNIT - 1;

    return (uint32_t)(extent - extent % SLI_EXTENT_UNIT);
}

/* The bytes of a row of column i in a batch of this extent, the offset of the column from the start
 * of the slot, and the bytes of the slot that the batch uses. */
static inline size_t sli_layout_row(const sli_layout *layout, uint32_t i, uint32_t extent)
{
    return layout->entry_bytes[i] > 0 ? extent * layout->entry_bytes[i] : layout->row_bytes[i];
}

static inline size_t sli_layout_offset(const sli_layout *layout, uint32_t i, uint32_t extent)
{
    return layout->entry_bytes[i] > 0 ? layout->ragged_offset + extent * layout->entry_before[i]
                                      : layout->offsets[i];
}

static inline size_t sli_layout_used(const sli_layout *layout, uint32_t extent)
{
    return layout->extent > 0 ? layout->ragged_offset + extent * layout->ragged_bytes
                              : layout->slot_bytes;
}

/* Makes the tensor of ragged column i of a batch, of the declared shape: further entries are
 * zeros. */
void sli_layout_widen(const sli_layout *layout, uint32_t i, const uint8_t *slot, void *tensor);

/* The index of the column with this name; -1: no such column. */
int sli_layout_find(const sli_layout *layout, const char *name);

#endif
