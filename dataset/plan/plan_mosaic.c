/* SPDX-License-Identifier: Apache-2.0 */
/* The planner's pass over the stage mosaic, and the draws of its partners. */
#include <stdio.h>

#include "plan.h"

/* The draws of partners begin at this block; those of the stage itself are before. */
enum { FIRST_BLOCK = 16 };

/* Refuses pipelines in which the samples of a pass are not known by their positions. */
static sluice_status check_order(const sli_plan *plan)
{
    const struct plan_details *details = plan->details;
    const stage_schema *schema = &plan->dataset->opened_schema;
    const char *name = details->geometry.mosaic.planned->stage->def->name;

    if (details->dealing.is_stream) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "%s draws tiles by their numbers, and the samples of a stream come in "
                        "sequence; %s",
                        name, dataset_source(plan->dataset)->instead);
    }
    if (details->dealing.has_choices) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "%s draws tiles from the samples of a pass, and with %s these are not "
                        "known beforehand; leave one of the two out, or choose samples by subset, "
                        "weights or split",
                        name,
                        schema_has(schema, STATE_PACKED)     ? "pack"
                        : schema_has(schema, STATE_BUCKETED) ? "bucket"
                                                             : "a filter");
    }
    return SLUICE_OK;
}

/* Notes what happens if the boxes of the samples are more than their column holds. */
static void note_boxes(sli_plan *plan)
{
    const stage_schema *source = &plan->dataset->source_schema;
    char note[200];

    for (uint32_t i = 0; i < source->column_count; i++) {
        if (source->infos[i].role == ROLE_BOXES) {
            snprintf(note, sizeof(note),
                     "%s: mosaic joins those of all its samples; of more than %llu the largest are "
                     "kept",
                     source->columns[i].name, (unsigned long long)source->columns[i].shape[0]);
            plan_note(plan, note);
        }
    }
}

sluice_status plan_mosaics(sli_plan *plan)
{
    plan_mosaic *mosaic = &plan->details->geometry.mosaic;
    const sli_draws none = {0};
    const dataset_stage *stage;
    stage_window window = {0};
    sluice_status st;

    if (mosaic->tiles == 0) {
        return SLUICE_OK;
    }
    st = check_order(plan);
    if (st != SLUICE_OK) {
        return st;
    }
    stage = mosaic->planned->stage;
    stage->def->geometry->tiles->place(stage->args.bytes, &none, 0, 1, 1, &window);
    mosaic->width = window.window_width;
    mosaic->height = window.window_height;
    note_boxes(plan);
    return SLUICE_OK;
}

void plan_draw_tile(const sli_plan *plan, const sli_draws *draws, uint64_t pass, uint32_t tile,
                    uint32_t try, uint64_t *sample_out, uint64_t *pass_out)
{
    const sample_order *all = &plan->details->orders.all_ranks;
    const uint64_t high = UINT64_C(1)
                          << 39; /* no run reaches such a pass; sli_draw() uses 40 bits */
    uint64_t sample_pass;
    uint32_t bits[4];

    sli_draw(draws, FIRST_BLOCK + tile * PLAN_TILE_TRIES + try, bits);
    order_at(all, pass, ((uint64_t)bits[0] << 32 | bits[1]) % all->length, sample_out,
             &sample_pass);
    *pass_out = high | (sli_mix_in(sample_pass, (uint64_t)bits[2] << 32 | bits[3]) & (high - 1));
}
