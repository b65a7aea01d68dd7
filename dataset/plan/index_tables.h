/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the data of index stages that depend on all samples. */
#ifndef SLUICE_INDEX_TABLES_H
#define SLUICE_INDEX_TABLES_H

#include "dataset_state.h"

/*
 * Sets the splits and tables of a dataset. Its source must be open, and not a stream. E_IO,
 * E_CORRUPT, E_INVALID, E_UNSUPPORTED: an error in a file or column that a stage names;
 * E_NO_MEMORY. After an error too, index_tables_free() frees what was made.
 */
sluice_status index_tables_make(sluice_dataset *dataset);
void index_tables_free(sluice_dataset *dataset);

#endif
