/* SPDX-License-Identifier: Apache-2.0 */
/* Applies an image's geometry to its boxes. */
#ifndef SLUICE_SAMPLE_BOXES_H
#define SLUICE_SAMPLE_BOXES_H

#include "box_rows.h"
#include "sample_transform.h"

/*
 * Stores the boxes of a sample, in pixels of its image, for stages of geometry that depend on them.
 * `buffers` as for boxes_follow(), with the boxes as the source has them.
 */
void boxes_begin(const stage_schema *schema, const sample_transform *transform,
                 void *const *buffers, plan_boxes *boxes);

/*
 * Moves these boxes by the warps among the operations after a window, and clips them to the image.
 * Those of which nothing is left are dropped. Makes the displacements of elastic warps: also
 * returns E_NO_MEMORY, and CLOSED if the thread is interrupted.
 */
sluice_status boxes_warp(const color_chain *lines, plan_boxes *boxes);

/*
 * Applies box_rule.h with the size of the image to the boxes of a column of a sample. Moves and
 * clips them. Boxes without remaining area, those that a stage has dropped, and those below the
 * limits of the transform are dropped; the others keep their order. Elements that belong to a
 * dropped box are also dropped. Rows after the last box are zeroed, and the length is updated.
 * `buffers` has one entry for each column of `schema`, the columns of the source; NULL: the column
 * is not needed. E_CORRUPT: a box is wholly outside its image.
 */
sluice_status boxes_follow(const stage_schema *schema, const sample_transform *transform,
                           uint32_t column, void *const *buffers, changed_boxes *clipped_out);

/* The same for all boxes of a sample. Counts those that are clipped. *below_out: boxes that were
 * dropped by the limits. */
sluice_status boxes_follow_all(const sluice_dataset *dataset, const sample_transform *transform,
                               uint64_t sample, sample_io *io, void *const *buffers,
                               uint32_t *below_out);

/*
 * Adds the boxes of the columns `from`, and what belongs to them, after those of the columns `to`.
 * If a column has no room for all of them, the largest are kept, of equal ones the earlier; the
 * order stays. Returns how many are left out.
 */
uint32_t boxes_join(const stage_schema *schema, void *const *from, void *const *to);

/* Removes all boxes of a sample, and what belongs to them. */
void boxes_drop_all(const stage_schema *schema, void *const *buffers);

#endif
