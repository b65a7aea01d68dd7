/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ragged arrays of source `npy`: the rows of all samples in one array, one sample after another,
 * and how many rows each sample has in the array NAME_length.
 */
#ifndef SLUICE_NPY_RAGGED_H
#define SLUICE_NPY_RAGGED_H

#include "npy_arrays.h"

/*
 * Makes the arrays of a list ragged: "NAME[N]" has up to N rows a sample, and "NAME[N]@ROWS" as
 * many as the column ROWS, with the same N. NAME becomes (N, ...), and NAME_length i32. "" makes
 * none. E_INVALID: the list has another form, or names arrays that do not fit; E_CORRUPT: the
 * lengths do not add up to the rows. Also returns E_IO and E_NO_MEMORY.
 */
sluice_status npy_ragged_make(const char *list, npy_arrays *arrays);

#endif
