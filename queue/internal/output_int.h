/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The column program: how GetNext makes a tensor of the step from a plain column of the slot. Of
 * each row it takes a window of elements and widens them, without a change of value:
 *
 *     tensor[row][i] = (to)column[row][offset + i]
 *
 * Several tensors may be windows of one column: a window of seq + 1 tokens crosses the bus once,
 * and is inputs and targets. u32 to i32 keeps the bits, so the values must be below 2^31.
 */
#ifndef SLUICE_OUTPUT_INT_H
#define SLUICE_OUTPUT_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout_int.h"

typedef struct sli_output {
    sluice_column type; /* as steps see it */
    uint32_t column;    /* of the layout */
    uint64_t offset;    /* of the first element, in the column's row */
} sli_output;

/* Can values of `from` (u8, u16, u32, i32) be widened to `to` (i32, i64)? */
bool sli_widens(sluice_dtype from, sluice_dtype to);

/* Widens `count` elements of types for which sli_widens() is true. */
void sli_widen(sluice_dtype from, const void *in, sluice_dtype to, void *out, size_t count);

/* E_INVALID: it is neither a column of the layout nor a window of one, widened. */
sluice_status sli_output_check(const sli_output *output, const sli_layout *layout);

/* Elements of one row of a checked output. */
uint64_t sli_output_count(const sli_output *output);

/* Has the output the bytes of its column? */
bool sli_output_is_copy(const sli_output *output, const sli_layout *layout);

/* Makes the tensor of a checked output from its column, both (batch_size) rows. */
void sli_output_make(const sli_output *output, const sli_layout *layout, const uint8_t *column,
                     void *tensor);

#endif
