/* SPDX-License-Identifier: Apache-2.0 */
/* The cache stage: keeps samples as the stages before it leave them. The planner and the workers do
 * the work (plan_cache.c, sample_cached.c). */
#include "cache_args.h"
#include "stage.h"
#include "status_int.h"

/* Refuses what the entries of a cache after maps cannot hold. */
static sluice_status check_rows(const stage_schema *schema)
{
    const char *map = schema->map_name;

    for (uint32_t i = 0; i < schema->column_count; i++) {
        const column_info *info = &schema->infos[i];

        if (schema->columns[i].dtype == SLUICE_ENCODED) {
            return sli_fail(SLUICE_E_INVALID,
                            "cache comes after map %s and before decode of %s; put cache before %s",
                            map, schema->columns[i].name, map);
        }
        if (schema_is_image(schema, i) && !info->is_fixed &&
            (schema_has(schema, STATE_CONVERTED) || info->buffer >= schema->source_buffers)) {
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
        if (info->role != ROLE_PLAIN) {
            schema_set_state(schema, STATE_MAPS_FOLLOWERS, schema->map_name);
        }
    }
    schema_set_state(schema, STATE_MAPPED, "cache");
    schema_set_state(schema, STATE_CACHED_ROWS, schema->map_name);
    return SLUICE_OK;
}

static sluice_status cache_infer(const void *opaque, stage_schema *schema)
{
    (void)opaque;
    return schema_has(schema, STATE_MAP) ? keep_rows(schema) : SLUICE_OK;
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
    .details = "Before decode it keeps the bytes of files; after decode and crops and resizes "
               "without random numbers, the pixels; after a map, the columns that later stages "
               "or the batch use. Stages of order are not part of that: the cache may be "
               "before or after shuffle. The values of batches do not change.\n"
               "Samples are added until the memory is full, and are never evicted: a pass "
               "reads each sample once, so eviction would not give more hits. A cache that "
               "holds half of the samples has hits for half of each pass. Bad samples are not "
               "cached. The memory is freed with the dataset.\n"
               "The first run or channel on a dataset creates the cache; later ones, and "
               "validations, use it, too. Encoded images take the bytes of their files, "
               "decoded ones height * width * channels. Unless a map comes before the cache, "
               "each mask and each further image has an entry of its own, with the bytes of "
               "its file. The table takes 8 bytes for each entry that the samples of the "
               "dataset can have; an entry takes about 300 bytes more.\n"
               "A map before the cache is called once for each sample that is kept. It must "
               "have a version, give the same for a sample in each pass, and must not draw "
               "random numbers (sluice_sample_random()), which ends the run with E_INVALID. "
               "Stages between the last map and the cache do not convert images.\n"
               "It is refused after a random stage, after bucket, after a map without a "
               "version, after a conversion if no map is before it, after a map and a filter, "
               "and a second time in a pipeline. bytes are at most 2^40. A run fails with "
               "E_INVALID if they are fewer than the table takes, or more than the process may "
               "use, and with E_UNSUPPORTED if the source is a stream.\n"
               "shared=true makes one cache of that size for all ranks of a machine: a sample "
               "that one of them has added is a hit for all. The memory is a memfd, without a "
               "name in any file system; the kernel frees it when the last process ends, also "
               "if it is killed. All ranks of the machine must open their first run or channel "
               "on the dataset within SLUICE_EXCHANGE_MS of each other (default 5 s). If they "
               "cannot share a cache, a warning says why, and each rank has a private cache of "
               "bytes / ranks, or none if that is too small. A process that is the only rank "
               "of its machine has a private cache. sluice_dataset_get() uses a shared cache "
               "after a run or channel has created it.",
    .kind = STAGE_CACHE,
    STAGE_PARAMS(cache_params),
    .args_size = sizeof(cache_args),
    .infer = cache_infer,
};
