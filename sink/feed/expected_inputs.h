/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the columns that a step or a loop expects with the columns of the dataset. */
#ifndef SLUICE_EXPECTED_INPUTS_H
#define SLUICE_EXPECTED_INPUTS_H

#include <sluice/dataset.h>

/* columns: (column_count) of a batch. Returns E_INVALID if the columns differ. inputs: if NULL,
 * nothing is checked. owner: name of the struct that contains `inputs`, "model" or "config", for
 * the error text. */
sluice_status expected_inputs_check(const sluice_column *columns, uint32_t column_count,
                                    const sluice_column *inputs, uint32_t count, const char *owner);

#endif
