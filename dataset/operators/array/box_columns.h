/* SPDX-License-Identifier: Apache-2.0 */
/* The columns that an array stage of boxes reads: the boxes, and their classes. */
#ifndef SLUICE_BOX_COLUMNS_H
#define SLUICE_BOX_COLUMNS_H

#include "stage_schema.h"

/* Finds a column of boxes. E_INVALID: there is no such column, or it has no boxes. */
sluice_status box_columns_boxes(const stage_schema *schema, const char *stage, const char *name,
                                uint32_t *boxes_out);

/* Checks the argument `classes`: a column of one integer for each box of column `boxes`. */
sluice_status box_columns_classes(const stage_schema *schema, const char *stage, const char *name,
                                  uint32_t boxes);

#endif
