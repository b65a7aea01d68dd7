/* SPDX-License-Identifier: Apache-2.0 */
/* The planner's pass over what GetNext does by a program of each row, which is the last column of
 * the slot: colour stages after the stage device, and mixes of rows. */
#include <stdio.h>

#include "plan.h"
#include "row_program_int.h"
#include "status_int.h"

/* Adds the column of the row programs, which steps do not see. */
static sluice_status add_column(sli_plan *plan)
{
    static const sluice_column programs = {
        .name = "row programs", .dtype = SLUICE_U8, .rank = 1, .shape = {sizeof(sli_row_program)}};
    const sli_conversion *image = &plan->device_conversion;

    if (image->width > SLI_ROW_PROGRAM_SIDE || image->height > SLI_ROW_PROGRAM_SIDE) {
        return sli_fail(SLUICE_E_INVALID,
                        "device: images of %ux%u; colour stages on the device take images of at "
                        "most %d pixels in width and height; put device after them",
                        image->width, image->height, SLI_ROW_PROGRAM_SIDE);
    }
    if (plan->wire_count == SLUICE_MAX_COLUMNS) {
        return sli_fail(SLUICE_E_INVALID,
                        "device: no room for a column of row programs; drop a column, or put "
                        "device after the colour stages");
    }
    plan->program_column = (int)plan->wire_count;
    plan->wire[plan->wire_count++] = programs;
    return SLUICE_OK;
}

static void note_batch_maps(sli_plan *plan)
{
    for (uint32_t i = 0; i < plan->details->work.batch_map_count; i++) {
        const plan_batch_map *map = &plan->details->work.batch_maps[i];
        char text[240];

        snprintf(text, sizeof(text),
                 "%s: runs on whole batches, on the worker that writes the last row%s", map->name,
                 map->map == NULL && plan->device_mixes
                     ? "; the image in the device's GetNext, by a program of each row"
                     : "");
        plan_note(plan, text);
    }
}

sli_row_programs sli_plan_programs(const sli_plan *plan)
{
    return plan->program_column < 0 ? SLI_PROGRAMS_NONE
           : plan->device_mixes     ? SLI_PROGRAMS_MIX
                                    : SLI_PROGRAMS_ALONE;
}

sluice_status plan_programs(sli_plan *plan)
{
    const struct plan_details *details = plan->details;

    plan->program_column = -1;
    note_batch_maps(plan);
    for (uint32_t i = details->colors.host_count; plan->device_colors && i < details->colors.count;
         i++) {
        char text[200];

        snprintf(text, sizeof(text), "%s: in the device's GetNext, by a program of each row",
                 details->colors.stages[i].stage->def->name);
        plan_note(plan, text);
    }
    return plan->device_colors || plan->device_mixes ? add_column(plan) : SLUICE_OK;
}
