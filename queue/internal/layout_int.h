/* SPDX-License-Identifier: Apache-2.0 */
/* How a batch lies in a slot: a header, one flag byte a row, then the columns one after another. */
#ifndef SLUICE_LAYOUT_INT_H
#define SLUICE_LAYOUT_INT_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>
#include <sluice/tensor.h>

/* Columns start at multiples of this, as cudaMalloc's blocks do. */
enum { SLI_COLUMN_ALIGNMENT = 256 };

/*
 * No slot is larger, so that sums over all slots and columns fit 64 bits: more than an address
 * space holds.
 */
#define SLI_MAX_SLOT_BYTES (UINT64_C(1) << 48)

/* Flags of a row, for GetNext. */
enum {
    SLI_ROW_FLIP = 1, /* mirror it left to right */
    SLI_ROW_ZERO = 2  /* no sample stands here: zeros, whatever the conversion does */
};

/* What a slot begins with. Written by the producer, copied with the batch. */
typedef struct sli_batch_header {
    uint64_t seq;          /* place in the ring; catches a word that ran ahead of its data */
    uint64_t position;     /* of its pass: samples before it, over all ranks */
    uint64_t pass;         /* of the dataset, from 0 */
    uint64_t first_sample; /* index of row 0's sample; UINT64_MAX when the batch has no row */
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

/* E_INVALID for a column without a fixed size or a slot beyond SLI_MAX_SLOT_BYTES. */
sluice_status sli_layout_make(const sluice_column *columns, uint32_t column_count,
                              uint32_t batch_size, sli_layout *layout_out);

/* Index of the column of that name; -1 when there is none. */
int sli_layout_find(const sli_layout *layout, const char *name);

#endif
