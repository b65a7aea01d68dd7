/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner's pass over extents: with bucket a batch has only as many entries of a ragged column
 * as the edge of its bucket, if batches are copied to a device. GetNext then makes the declared
 * shapes, whose further entries are zeros (layout_int.h).
 */
#include <stdio.h>
#include <string.h>

#include "plan.h"

/* True if a map of whole batches reads or writes the buffer: it gets columns of declared shape. */
static bool is_mapped(const struct plan_details *details, uint32_t buffer)
{
    for (uint32_t i = 0; i < details->work.batch_map_count; i++) {
        const plan_batch_map *map = &details->work.batch_maps[i];

        for (uint32_t k = 0; map->map != NULL && k < map->map->column_count; k++) {
            if (map->buffers[k] == buffer) {
                return true;
            }
        }
    }
    return false;
}

/* The columns whose number of rows is the length of bucket, so at most the edge of the bucket. */
static uint32_t ragged_columns(const sli_plan *plan)
{
    const stage_schema *schema = &plan->dataset->opened_schema;
    uint32_t ragged = 0;

    for (uint32_t i = 0; i < schema->column_count; i++) {
        const column_info *info = &schema->infos[i];

        if (info->role == ROLE_PLAIN && info->rows == plan->details->bucket.length + 1 &&
            schema->columns[i].shape[0] > 0 && schema->columns[i].shape[0] <= INT32_MAX &&
            !is_mapped(plan->details, info->buffer)) {
            ragged |= (uint32_t)1 << i;
        }
    }
    return ragged;
}

static void note_extents(sli_plan *plan)
{
    char note[200];
    int length = 0;

    for (uint32_t i = 0; i < plan->wire_count && length < (int)sizeof(note); i++) {
        if ((plan->wire_ragged >> i & 1) != 0) {
            length += snprintf(note + length, sizeof(note) - (size_t)length, "%s%s",
                               length > 0 ? ", " : "", plan->wire[i].name);
        }
    }
    if (length < (int)sizeof(note)) {
        snprintf(note + length, sizeof(note) - (size_t)length,
                 ": copied up to the edge of the batch's bucket");
    }
    plan_note(plan, note);
}

sluice_status plan_extents(sli_plan *plan)
{
    plan_bucket *bucket = &plan->details->bucket;
    sli_layout layout;
    sluice_status st;

    /* Without device_widens the columns of wire are those of the schema, and the mask. GetNext
     * either converts an image or widens rows. */
    if (!plan->settings.copies || bucket->count == 0 || plan->device_widens ||
        plan->device_converts) {
        return SLUICE_OK;
    }
    plan->wire_ragged = ragged_columns(plan);
    st = sli_plan_layout(plan, &layout);
    if (st != SLUICE_OK || layout.extent == 0) {
        return st;
    }
    for (uint32_t i = 0; i < bucket->count; i++) {
        bucket->extents[i] =
            sli_layout_extent(&layout, i + 1 < bucket->count ? bucket->edges[i] : UINT64_MAX);
    }
    note_extents(plan);
    return SLUICE_OK;
}

sluice_status sli_plan_layout(const sli_plan *plan, sli_layout *layout_out)
{
    return sli_layout_make_ragged(plan->wire, plan->wire_count, plan->batch_size, plan->wire_ragged,
                                  layout_out);
}
