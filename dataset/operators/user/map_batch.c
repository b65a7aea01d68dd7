/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map_batch stage: calls a user function for each batch. Only sluice_dataset_map_batch() can
 * add it; its text form is for checkpoints.
 */
#include "custom_batch.h"
#include "status_int.h"

static sluice_status map_batch_infer(const void *opaque, stage_schema *schema)
{
    const batch_map_args *args = opaque;

    return args->map != NULL ? custom_batch_infer(args->map, schema)
                             : sli_fail(SLUICE_E_UNSUPPORTED,
                                        "map_batch %s: a text cannot add it; "
                                        "sluice_dataset_map_batch() does",
                                        args->name);
}

static const stage_param map_batch_params[] = {
    PARAM_(batch_map_args, name, PARAM_TEXT, NULL, 0, 0, NULL, "its name"),
    PARAM_(batch_map_args, version, PARAM_COUNT, "0", 0, UINT32_MAX, NULL, "of what it makes"),
};

const stage_def stage_map_batch = {
    .name = "map_batch",
    .summary = "A function of the program, on whole batches.",
    .gives = "the same columns, and those that the program declares",
    .kind = STAGE_BATCH_MAP,
    STAGE_PARAMS(map_batch_params),
    .args_size = sizeof(batch_map_args),
    .release = custom_batch_release,
    .infer = map_batch_infer,
};

sluice_status sluice_dataset_map_batch(sluice_dataset *dataset, const sluice_map_batch *map)
{
    static const char call[] = "sluice_dataset_map_batch";
    batch_map_args args = {0};
    sluice_map_batch own;
    sluice_status st = sli_struct_read(&custom_batch_struct, call, map, &own);

    if (st == SLUICE_OK) {
        st = custom_batch_make(&own, call, &args.map);
    }
    if (st != SLUICE_OK) {
        return dataset_keep(dataset, &stage_map_batch, st);
    }
    args.name = own.name;
    args.version = own.version;
    st = dataset_append(dataset, &stage_map_batch, &args);
    if (st != SLUICE_OK) {
        custom_batch_free(args.map);
        return st;
    }
    args.map->is_added = true;
    return SLUICE_OK;
}
