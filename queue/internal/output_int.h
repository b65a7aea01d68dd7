/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The column program: how GetNext makes a tensor of the step from a plain column of the slot. From
 * each row of the column it takes a window of elements and widens them, without changing a value:
 *
 *     tensor[row][i] = (to)column[row][offset + i]
 *
 * Several tensors can be windows of one column: a window of seq + 1 tokens crosses the bus once and
 * provides both inputs and targets. u32 to i32 keeps the bits, so the values must be below 2^31.
 */
#ifndef SLUICE_OUTPUT_INT_H
#define SLUICE_OUTPUT_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout_int.h"

typedef struct sli_output {
    sluice_column type; /* name, type and shape of the tensor that steps receive */
    uint32_t column;    /* index of the column in the layout */
    uint64_t offset;    /* index of the window's first element in each row of the column */
} sli_output;

/* True if values of type `from` (u8, u16, u32, i32) can be widened to type `to` (i32, i64). */
bool sli_widens(sluice_dtype from, sluice_dtype to);

/* Widens `count` elements of types for which sli_widens() is true. */
void sli_widen(sluice_dtype from, const void *in, sluice_dtype to, void *out, size_t count);

/* Returns E_INVALID unless the output is a copy or a widened window of a column of the layout. */
sluice_status sli_output_check(const sli_output *output, const sli_layout *layout);

/* The number of elements in one row of a checked output. */
uint64_t sli_output_count(const sli_output *output);

/* True if the output is a bytewise copy of its column. */
bool sli_output_is_copy(const sli_output *output, const sli_layout *layout);

/* Makes the tensor of a checked output from its column. Both have batch_size rows. */
void sli_output_make(const sli_output *output, const sli_layout *layout, const uint8_t *column,
                     void *tensor);

#endif
