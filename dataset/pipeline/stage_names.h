/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds stages and arguments by name: exactly, by edit distance, or by their names in other
 * libraries.
 */
#ifndef SLUICE_STAGE_NAMES_H
#define SLUICE_STAGE_NAMES_H

#include "stage.h"

/* The stage of that name in a NULL-terminated table; NULL: there is none. */
const stage_def *stage_find(const stage_def *const *table, const char *name);

/* The stage, or argument, with the smallest edit distance; NULL: none is close. */
const char *stage_find_nearest(const stage_def *const *table, const char *name);
const char *stage_param_nearest(const stage_def *def, const char *name);

/* Our name for what DALI, MindSpore, torch, tf.data or FFCV call `name`; NULL: unknown. */
const char *stage_name_from_elsewhere(const char *name);

#endif
