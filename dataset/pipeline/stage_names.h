/* SPDX-License-Identifier: Apache-2.0 */
/* Lookup of stages and arguments by name: exact, by edit distance, by names of other libraries. */
#ifndef SLUICE_STAGE_NAMES_H
#define SLUICE_STAGE_NAMES_H

#include "stage.h"

/* The stage of that name in a table that ends with NULL; NULL: none. */
const stage_def *stage_find(const stage_def *const *table, const char *name);

/* The stage, or the argument, of the smallest edit distance; NULL when none is close. */
const char *stage_find_nearest(const stage_def *const *table, const char *name);
const char *stage_param_nearest(const stage_def *def, const char *name);

/* What DALI, MindSpore, torch, tf.data or FFCV call `name` is called this here; NULL: unknown. */
const char *stage_name_from_elsewhere(const char *name);

#endif
