/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a column of boxes, and of the columns that belong to the boxes. */
#ifndef SLUICE_BOX_ROWS_H
#define SLUICE_BOX_ROWS_H

#include <sluice/status.h>

#include "stage_schema.h"

/*
 * In all functions `rows` has an entry for each column of the schema, the columns of a source;
 * NULL: the column is not needed.
 */

/* True if rows of column i belong to these boxes, or to points that do. */
bool box_rows_belong(const stage_schema *schema, uint32_t i, uint32_t boxes);

/* Moves box `from`, and what belongs to it, to position `to`. The box itself only if `with_box`. */
void box_rows_move(const stage_schema *schema, uint32_t boxes, void *const *rows, uint32_t from,
                   uint32_t to, bool with_box);

/* Sets the rows from `count` on to zero, and the length to `count`. */
void box_rows_end(const stage_schema *schema, uint32_t boxes, void *const *rows, uint32_t count);

/* Boxes of a sample that were changed, with the first one as an example. */
typedef struct changed_boxes {
    uint32_t count;
    uint32_t column; /* of the first one */
    uint32_t number; /* of the first one, from 1 */
    float box[4];    /* the first one as the source has it */
    uint32_t below;  /* boxes that were dropped since they are below the limits (box_limits) */
} changed_boxes;

void box_rows_note(changed_boxes *changed, uint32_t column, uint32_t i, const float *box);

/*
 * Applies box_rule.h to the boxes of a column: clips and drops them, with what belongs to them. Of
 * their image the size is known only if they are fractions of it. The rows of boxes and length are
 * not NULL. E_CORRUPT: a box is bad.
 */
sluice_status box_rows_judge(const stage_schema *schema, uint32_t boxes, void *const *rows,
                             uint32_t count, changed_boxes *clipped_out,
                             changed_boxes *dropped_out);

/* Bytes of one element of a column's first dimension. */
size_t box_rows_bytes(const sluice_column *column);

#endif
