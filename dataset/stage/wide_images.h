/* SPDX-License-Identifier: Apache-2.0 */
/* Images of 16 bits and of floats, before normalize or to_dtype: which stages work on them. */
#ifndef SLUICE_WIDE_IMAGES_H
#define SLUICE_WIDE_IMAGES_H

#include "stage.h"

/*
 * Refuses a stage that computes values of bytes, by the columns before it: warps, mosaics, mixes,
 * and fills other than 0. Colour stages are refused by schema_check_bytes(). E_INVALID.
 */
sluice_status stage_check_wide(const dataset_stage *stage, const stage_schema *schema);

#endif
