/* SPDX-License-Identifier: Apache-2.0 */
/* The cache stage: keeps samples as the stages before it leave them. The planner and the workers do
 * the work (plan_cache.c, sample_cached.c). */
#include <sluice/cache.h>

#include "cache_args.h"
#include "stage.h"
#include "status_int.h"

/* Refuses a position after a stage whose results differ between passes, or are larger. */
static sluice_status refuse_after(const stage_def *before)
{
    if (before->draws) {
        return sli_fail(SLUICE_E_INVALID,
                        "cache comes after %s, which is random, so that each pass would repeat its "
                        "results; put it before %s",
                        before->name, before->name);
    }
    return sli_fail(SLUICE_E_INVALID, "cache comes after %s; put it before %s%s", before->name,
                    before->name,
                    before->kind == STAGE_CONVERSION ? ", where a pixel is a byte" : "");
}

/* Refuses what the entries of a cache after maps cannot hold, or what differs between passes. */
static sluice_status check_rows(const stage_schema *schema)
{
    const char *map = schema->map_name;

    if (schema->random != NULL) {
        return refuse_after(schema->random);
    }
    if (schema->filter_count > 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "cache comes after a filter and a map, %s; put the filter after cache",
                        map);
    }
    if (schema->unversioned != NULL) {
        return sli_fail(
            SLUICE_E_INVALID,
            "cache comes after map %s, which has no version: a cache keeps what the map "
            "makes, and recognizes it by the version; set sluice_map.version if it makes "
            "the same of a sample in each pass, or put cache before %s",
            schema->unversioned, schema->unversioned);
    }
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const column_info *info = &schema->infos[i];

        if (schema->columns[i].dtype == SLUICE_ENCODED) {
            return sli_fail(SLUICE_E_INVALID,
                            "cache comes after map %s and before decode of %s; put cache before %s",
                            map, schema->columns[i].name, map);
        }
        if (schema_is_image(schema, i) && !info->is_fixed &&
            (schema->is_converted || info->buffer >= schema->source_buffers)) {
            return sli_fail(SLUICE_E_INVALID,
                            "cache comes after map %s and a conversion of %s that the map does not "
                            "read; put cache directly after %s",
                            map, schema->columns[i].name, map);
        }
    }
    return SLUICE_OK;
}

/* Makes the cache keep all columns. Later conversions write to other buffers. */
static sluice_status keep_rows(stage_schema *schema)
{
    const sluice_status st = check_rows(schema);

    if (st != SLUICE_OK) {
        return st;
    }
    for (uint32_t i = 0; i < schema->column_count; i++) {
        column_info *info = &schema->infos[i];

        info->is_fixed = info->is_fixed || schema_is_image(schema, i);
        schema->maps_followers = schema->maps_followers || info->role != ROLE_PLAIN;
    }
    schema->caches_rows = true;
    schema->is_cached = true;
    return SLUICE_OK;
}

static sluice_status cache_infer(const void *opaque, stage_schema *schema)
{
    (void)opaque;
    if (schema->is_cached) {
        return sli_fail(SLUICE_E_INVALID, "cache: a pipeline has one cache, this is the second");
    }
    if (schema->is_bucketed) {
        return sli_fail(SLUICE_E_INVALID, "cache comes after bucket; put it before bucket");
    }
    if (schema->is_mapped) {
        return keep_rows(schema);
    }
    if (schema->changes != NULL) {
        return refuse_after(schema->changes);
    }
    schema->is_cached = true;
    return SLUICE_OK;
}

static const stage_param cache_params[] = {
    PARAM_(cache_args, bytes, PARAM_BYTES, NULL, 4096, 1099511627776.0, NULL,
           "bound on its memory, as 8G"),
    PARAM_(cache_args, shared, PARAM_BOOL, "false", 0, 0, NULL,
           "one cache for all ranks of a machine, with this bound"),
};

const stage_def stage_cache = {
    .name = "cache",
    .summary = "Keeps samples in memory as the stages before it leave them, encoded or decoded, "
               "until its bytes are full; later passes take them from there.",
    .gives = "the same columns",
    .kind = STAGE_CACHE,
    STAGE_PARAMS(cache_params),
    .args_size = sizeof(cache_args),
    .infer = cache_infer,
};

sluice_status sluice_dataset_cache(sluice_dataset *dataset, uint64_t bytes)
{
    const cache_args args = {bytes, false};

    return dataset_append(dataset, &stage_cache, &args);
}

sluice_status sluice_dataset_cache_shared(sluice_dataset *dataset, uint64_t bytes)
{
    const cache_args args = {bytes, true};

    return dataset_append(dataset, &stage_cache, &args);
}
