/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds stages and arguments by exact name, by edit distance, or by their names in other libraries.
 */
#ifndef SLUICE_STAGE_NAMES_H
#define SLUICE_STAGE_NAMES_H

#include "stage.h"

/*
 * Returns the stage with that name in a NULL-terminated table, or NULL if there is no such stage.
 */
const stage_def *stage_find(const stage_def *const *table, const char *name);

/*
 * Return the name of the stage, or argument, with the smallest edit distance; NULL if no name is
 * close.
 */
const char *stage_find_nearest(const stage_def *const *table, const char *name);
const char *stage_param_nearest(const stage_def *def, const char *name);

/* Returns the current name of an argument; `name` may be its name in an earlier version. */
const char *stage_param_name(const stage_def *def, const char *name);

/* Returns the stage that another library calls `name` (stage_def.elsewhere); NULL: there is none.
 */
const stage_def *stage_find_elsewhere(const stage_def *const *table, const char *name);

/*
 * Returns our words for what DALI, MindSpore, torch, tf.data or FFCV call `name` and is not one
 * stage; NULL: it is unknown.
 */
const char *stage_name_from_elsewhere(const char *name);

#endif
