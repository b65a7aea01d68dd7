/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of a batch in a slot: a header, one flag byte per row, then one column after another.
 */
#ifndef SLUICE_LAYOUT_INT_H
#define SLUICE_LAYOUT_INT_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>
#include <sluice/tensor.h>

/* Alignment of columns in bytes, the same as for blocks of cudaMalloc(). */
enum { SLI_COLUMN_ALIGNMENT = 256 };

/*
 * Upper bound on the bytes of a slot: more than an address space holds, and small enough that sums
 * over all slots and columns fit in 64 bits.
 */
#define SLI_MAX_SLOT_BYTES (UINT64_C(1) << 48)

/* Row flags. GetNext applies all but SLI_ROW_FLIP_LINES, which is never in a batch. */
enum {
    SLI_ROW_FLIP = 1,      /* flip horizontally */
    SLI_ROW_ZERO = 2,      /* the row has no sample: output zeros, regardless of the conversion */
    SLI_ROW_FLIP_LINES = 4 /* flip vertically: workers write the lines in reverse order */
};

/* The header of a slot, written by the producer and copied with the batch. */
typedef struct sli_batch_header {
    uint64_t seq;          /* batch number; detects a ready word that is visible before its data */
    uint64_t position;     /* samples of the pass that precede the batch, over all ranks */
    uint64_t pass;         /* pass of the dataset, from 0 */
    uint64_t first_sample; /* sample index of row 0; UINT64_MAX: no row has a sample */
    uint32_t valid_rows;   /* rows [0, valid_rows) hold samples, the rest is padding */
    uint32_t padding;
} sli_batch_header;

typedef struct sli_layout {
    uint32_t batch_size;
    uint32_t column_count;
    sluice_column columns[SLUICE_MAX_COLUMNS];
    size_t row_bytes[SLUICE_MAX_COLUMNS];
    size_t offsets[SLUICE_MAX_COLUMNS]; /* from the start of the slot; (batch_size, ...) each */
    size_t row_flags_offset;            /* (batch_size) uint8 */
    size_t slot_bytes;
} sli_layout;

/* Returns E_INVALID if there are no rows, no columns or too many, if a column has no fixed size, or
 * if a slot would be larger than SLI_MAX_SLOT_BYTES. */
sluice_status sli_layout_make(const sluice_column *columns, uint32_t column_count,
                              uint32_t batch_size, sli_layout *layout_out);

/* The index of the column with this name; -1: no such column. */
int sli_layout_find(const sli_layout *layout, const char *name);

#endif
