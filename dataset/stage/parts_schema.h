/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a group, from the columns of its parts. */
#ifndef SLUICE_PARTS_SCHEMA_H
#define SLUICE_PARTS_SCHEMA_H

#include "stage.h"

/*
 * Appends the columns of a part to those of its group. An image after the first one becomes a
 * further image. `part` is used in messages. E_INVALID: a name occurs twice, there are too many
 * columns, or boxes lack the column of their length, or a column of boxes is missing.
 */
sluice_status parts_schema_join(const char *part, const stage_schema *columns, stage_schema *group);

/*
 * Checks that a part has the columns of the first part: their names, types, shapes and roles, in
 * order. `part` is used in messages. E_INVALID: they differ.
 */
sluice_status parts_schema_agree(const char *part, const stage_schema *columns,
                                 const stage_schema *first);

#endif
