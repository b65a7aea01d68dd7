/* SPDX-License-Identifier: Apache-2.0 */
/* What a report must know of a pipeline (plan_traits_int.h). */
#include "plan_traits_int.h"

#include <stdio.h>
#include <string.h>

#include "dataset_state.h"
#include "plan.h"
#include "stage_kinds.h"
#include "tensor_int.h"

static void add_maps(const sli_plan *plan, uint32_t *stages)
{
    const plan_work *work = &plan->details->work;

    for (uint32_t i = 0; i < work->step_count; i++) {
        const plan_step *step = &work->steps[i];

        if (step->map != NULL) {
            stages[PLAN_MAPS + step->profiled] =
                SLI_STAGE_USER | (step->map->of.serial != 0 ? SLI_STAGE_SERIAL : 0);
        }
    }
    for (uint32_t i = 0; i < work->batch_map_count; i++) {
        const plan_batch_map *map = &work->batch_maps[i];

        if (map->map != NULL) {
            stages[PLAN_MAPS + map->profiled] = SLI_STAGE_USER | SLI_STAGE_BATCH |
                                                (map->map->of.serial != 0 ? SLI_STAGE_SERIAL : 0);
        }
    }
}

/* True if workers run conversions, and the device could run one of them: no map follows it, and the
 * pipeline does not say offload=host. */
static bool converts_on_host(const sli_plan *plan)
{
    const sluice_dataset *dataset = plan->dataset;
    bool found = false;

    for (uint32_t i = 0; i < dataset->stage_count; i++) {
        const stage_def *def = dataset->stages[i].def;

        if (def->kind == STAGE_MAP || def->kind == STAGE_ARRAY) {
            found = false;
        } else if (def->kind == STAGE_CONVERSION && !stage_moves(def)) {
            found = found ||
                    (!stage_erases(def) && plan_offload_of(&dataset->stages[i]) != OFFLOAD_HOST);
        }
    }
    return found && !sli_conversion_is_identity(&plan->host_conversion);
}

/* Bytes of a sample's columns after the first `count` stages; 0: not all have a fixed size. */
static uint64_t bytes_after(const sluice_dataset *dataset, uint32_t count)
{
    stage_schema schema;
    uint64_t all = 0;

    if (dataset_schema_after(dataset, count, &schema) != SLUICE_OK) {
        return 0;
    }
    for (uint32_t i = 0; i < schema.column_count; i++) {
        size_t bytes = 0;

        if (!sli_column_bytes(&schema.columns[i], &bytes) || bytes == 0) {
            return 0;
        }
        all += bytes;
    }
    return all;
}

/* Finds where `cache` would spare most: after the last stage that decides on no random numbers,
 * and calls no function of the user. */
static void find_cached(const sli_plan *plan, sli_plan_traits *traits)
{
    const sluice_dataset *dataset = plan->dataset;
    uint32_t last = 0;

    if (plan->details->dealing.is_stream || plan->details->geometry.decode == NULL) {
        return;
    }
    for (uint32_t i = 1; i < dataset->stage_count; i++) {
        const stage_def *def = dataset->stages[i].def;

        if (def->kind == STAGE_INDEX || def->kind == STAGE_COLUMNS || def->kind == STAGE_CACHE) {
            continue;
        }
        if (def->draws || (def->kind != STAGE_DECODE && def->kind != STAGE_GEOMETRY)) {
            break;
        }
        last = def->kind == STAGE_GEOMETRY ? i : last;
    }
    if (last > 0) {
        traits->cached_bytes = bytes_after(dataset, last + 1);
        snprintf(traits->cached_after, sizeof(traits->cached_after), "%s",
                 dataset->stages[last].def->name);
    }
}

void sli_plan_traits_get(const sli_plan *plan, sli_plan_traits *traits_out)
{
    const struct plan_details *details = plan->details;
    const bool is_user = strcmp(sli_plan_source(plan), "source") == 0;

    memset(traits_out, 0, sizeof(*traits_out));
    traits_out->stages[PLAN_READ] = SLI_STAGE_READ | (is_user ? SLI_STAGE_USER : 0) |
                                    (details->dealing.is_stream ? SLI_STAGE_SERIAL : 0);
    traits_out->stages[PLAN_DECODE] = SLI_STAGE_DECODE;
    traits_out->stages[PLAN_PIXELS] = SLI_STAGE_PIXELS;
    add_maps(plan, traits_out->stages);
    traits_out->converts_on_host = converts_on_host(plan);
    traits_out->packs = !is_user && !details->dealing.is_stream &&
                        details->geometry.decode != NULL &&
                        plan->dataset->source_schema.column_count <= 2;
    if (sli_plan_uncounted(plan) == NULL) {
        traits_out->samples_per_pass =
            plan->samples_per_pass / (plan->settings.world > 0 ? plan->settings.world : 1);
    }
    find_cached(plan, traits_out);
}
