/* SPDX-License-Identifier: Apache-2.0 */
/* filter: keeps the samples that a user function chooses. Only sluice_dataset_filter() adds it; its
 * text form exists for checkpoints.
 */
#include "custom_map.h"
#include "map_ops.h"
#include "status_int.h"
#include "struct_size_int.h"

static sluice_status filter_infer(const void *opaque, stage_schema *schema)
{
    const map_args *args = opaque;

    return args->map != NULL ? custom_map_infer(args->map, schema)
                             : sli_fail(SLUICE_E_UNSUPPORTED,
                                        "filter %s: a text cannot add a filter; "
                                        "sluice_dataset_filter() does",
                                        args->name);
}

static const stage_param filter_params[] = {
    PARAM_(map_args, name, PARAM_TEXT, NULL, 0, 0, NULL, "its name"),
    PARAM_(map_args, version, PARAM_COUNT, "0", 0, UINT32_MAX, NULL, "of what it keeps"),
};

const stage_def stage_filter = {
    .name = "filter",
    .summary = "Keeps the samples that a function of the program chooses.",
    .gives = "some of the samples",
    .kind = STAGE_MAP,
    STAGE_PARAMS(filter_params),
    .args_size = sizeof(map_args),
    .release = custom_map_release,
    .map =
        &(const map_ops){
            .goes_before_geometry = custom_map_goes_before_geometry,
            .is_filter = true,
        },
    .infer = filter_infer,
};

sluice_status sluice_dataset_filter(sluice_dataset *dataset, const sluice_filter *filter)
{
    static const char call[] = "sluice_dataset_filter";
    map_args args = {0};
    sluice_filter own;
    sluice_status st = sli_struct_read(&custom_filter_struct, call, filter, &own);

    if (st == SLUICE_OK) {
        st = custom_filter_make(&own, call, &args.map);
    }
    if (st != SLUICE_OK) {
        return dataset_keep(dataset, &stage_filter, st);
    }
    args.name = own.name;
    args.version = own.version;
    return custom_map_add(dataset, &stage_filter, &args);
}
