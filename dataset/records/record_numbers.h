/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a record as elements of a column. */
#ifndef SLUICE_RECORD_NUMBERS_H
#define SLUICE_RECORD_NUMBERS_H

#include <sluice/status.h>

#include "record_values.h"

/*
 * Determines how many elements of a type a value has. A byte string is elements in little-endian
 * order. E_CORRUPT: it is a text, or its bytes are not whole elements.
 */
sluice_status record_numbers_count(const record_value *value, sluice_dtype dtype,
                                   uint64_t *count_out);

/*
 * Converts all numbers of a value to a type; `to` has room for record_numbers_count() of them, and
 * need not be aligned. NULL: only checks them. Real numbers are rounded to the nearest one of their
 * type; integers must be within its range. E_CORRUPT: a number does not fit; the error has its
 * position and value.
 */
sluice_status record_numbers_convert(const record_value *value, sluice_dtype dtype, void *to);

#endif
