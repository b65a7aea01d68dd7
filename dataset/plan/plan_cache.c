/* SPDX-License-Identifier: Apache-2.0 */
/* The planner's pass over the stage cache: what it keeps, and what cannot be kept. */
#include <stdio.h>
#include <string.h>

#include "format_int.h"
#include "operators/columns/cache_args.h"
#include "plan.h"

/* ---- what is kept ---------------------------------------------------------------------------- */

/* Refuses sources whose samples cannot be found by number. */
static sluice_status check_source(const sli_plan *plan)
{
    if (plan->details->dealing.is_stream) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "cache: the samples of a stream come in sequence, and a cache finds them "
                        "by their numbers; give plain files without access=stream");
    }
    return SLUICE_OK;
}

/*
 * Refuses decode with fast_scale=true if the cache comes before the resize: that resize determines
 * the scale at which images are decoded.
 */
static sluice_status check_fast_scale(const sli_plan *plan)
{
    const struct plan_details *details = plan->details;
    const plan_group *first = (details->geometry.mosaic.tiles > 0 ? &details->geometry.mosaic.list
                                                                  : &details->geometry.list)
                                  ->groups;

    if (details->geometry.decode == NULL || !details->cache.is_decoded || details->cache.is_rows ||
        !((const decode_args *)(const void *)details->geometry.decode->args.bytes)->fast_scale) {
        return SLUICE_OK;
    }
    for (uint32_t i = 0; i < first->count && details->cache.groups > 0; i++) {
        if (details->geometry.stages[first->first + i].stage->def->geometry->resizes) {
            return SLUICE_OK;
        }
    }
    return sli_fail(SLUICE_E_INVALID,
                    "cache comes after decode fast_scale=true and before the resize, by which the "
                    "scale is chosen; put it after the resize or before decode, or leave "
                    "fast_scale out");
}

static void note_cache(sli_plan *plan)
{
    const struct plan_details *details = plan->details;
    const plan_cache *cache = &details->cache;
    const char *what = cache->is_rows              ? "all columns that are used"
                       : details->images.first < 0 ? "columns"
                       : cache->is_decoded         ? "pixels and columns"
                                                   : "bytes of files and columns";
    const char *after = plan->dataset->stages[cache->stage - 1].def->name;
    char note[300];

    sli_print(note, sizeof(note),
              "cache: %s as %s leaves them, of up to %llu samples, in at most %.6g MB%s", what,
              after, (unsigned long long)plan->dataset->source_count, (double)cache->bytes / 1e6,
              cache->is_shared ? ", shared by the ranks of a machine" : "");
    plan_note(plan, note);
}

sluice_status plan_cached(sli_plan *plan)
{
    plan_cache *cache = &plan->details->cache;
    const cache_args *args;
    stage_schema before;
    sluice_status st;

    if (cache->stage == 0) {
        return SLUICE_OK;
    }
    args = (const void *)plan->dataset->stages[cache->stage].args.bytes;
    cache->bytes = args->bytes;
    cache->is_shared = args->shared;
    st = dataset_schema_after(plan->dataset, cache->stage, &before);
    if (st == SLUICE_OK) {
        cache->is_decoded =
            before.image >= 0 && before.columns[before.image].dtype != SLUICE_ENCODED;
        st = check_source(plan);
    }
    if (st == SLUICE_OK) {
        st = check_fast_scale(plan);
    }
    if (st == SLUICE_OK) {
        note_cache(plan);
    }
    return st;
}
