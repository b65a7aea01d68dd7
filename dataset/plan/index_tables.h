/* SPDX-License-Identifier: Apache-2.0 */
/* What opening a dataset computes for index stages that look at all samples. */
#ifndef SLUICE_INDEX_TABLES_H
#define SLUICE_INDEX_TABLES_H

#include "dataset_state.h"

/*
 * Fills in splits and tables of a dataset whose source is open and no stream. E_IO, E_CORRUPT,
 * E_INVALID, E_UNSUPPORTED: a file or column that a stage names; E_NO_MEMORY. What was made stays,
 * for index_tables_free().
 */
sluice_status index_tables_make(sluice_dataset *dataset);
void index_tables_free(sluice_dataset *dataset);

#endif
