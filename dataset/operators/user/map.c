/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map stage: calls a function of the program. Only sluice_dataset_map() can add it; its text
 * form is for checkpoints.
 */
#include "custom_map.h"
#include "map_ops.h"
#include "status_int.h"
#include "struct_size_int.h"

static sluice_status map_infer(const void *opaque, stage_schema *schema)
{
    const map_args *args = opaque;

    return args->map != NULL ? custom_map_infer(args->map, schema)
                             : sli_fail(SLUICE_E_UNSUPPORTED,
                                        "map %s: a text cannot add a map; "
                                        "sluice_dataset_map() does",
                                        args->name);
}

static const stage_param map_params[] = {
    PARAM_(map_args, name, PARAM_TEXT, NULL, 0, 0, NULL, "its name"),
    PARAM_(map_args, version, PARAM_COUNT, "0", 0, UINT32_MAX, NULL, "of what it makes"),
};

const stage_def stage_map = {
    .name = "map",
    .summary = "A function of the program.",
    .gives = "the columns that the program declares",
    .kind = STAGE_MAP,
    STAGE_PARAMS(map_params),
    .args_size = sizeof(map_args),
    .release = custom_map_release,
    .map =
        &(const map_ops){
            .goes_before_geometry = custom_map_goes_before_geometry,
            .declares_size = custom_map_declares_size,
        },
    .infer = map_infer,
};

sluice_status sluice_dataset_map(sluice_dataset *dataset, const sluice_map *map)
{
    static const char call[] = "sluice_dataset_map";
    map_args args = {0};
    sluice_map own;
    sluice_status st = sli_struct_read(&custom_map_struct, call, map, &own);

    if (st == SLUICE_OK) {
        st = custom_map_make(&own, call, &args.map);
    }
    if (st != SLUICE_OK) {
        return dataset_keep(dataset, &stage_map, st);
    }
    args.name = own.name;
    args.version = own.version;
    return custom_map_add(dataset, &stage_map, &args);
}
