/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_config.h"

#include <inttypes.h>
#include <string.h>

#include "dataset_state.h"
#include "placement_int.h"
#include "status_int.h"
#include "struct_size_int.h"
#include "tar_writer.h"

static const sli_struct config_struct = SLI_STRUCT(sluice_pack_config, user);

void sluice_pack_config_init_size(sluice_pack_config *config, size_t size)
{
    sli_struct_init(config, size);
    if (config != NULL && size >= config_struct.minimum) {
        config->interval = 32;
    }
}

static sluice_status check_numbers(const sluice_pack_config *config)
{
    if (config->quality > 100) {
        return sli_fail(SLUICE_E_INVALID, "quality %" PRIu32 ": want 1 to 100", config->quality);
    }
    if (config->subsampling != 0 && config->subsampling != 420 && config->subsampling != 444) {
        return sli_fail(SLUICE_E_INVALID, "subsampling %" PRIu32 ": want 420 or 444",
                        config->subsampling);
    }
    if (config->raw && (config->quality != 0 || config->subsampling != 0)) {
        return sli_fail(SLUICE_E_INVALID, "raw pixels have no quality and no subsampling");
    }
    if (config->interval > 65535 || config->max_side > 65535) {
        return sli_fail(SLUICE_E_INVALID, "%s %" PRIu32 ": want at most 65535 pixels",
                        config->interval > 65535 ? "interval" : "max_side",
                        config->interval > 65535 ? config->interval : config->max_side);
    }
    if (config->workers > SLI_MAX_WORKERS) {
        return sli_fail(SLUICE_E_INVALID, "workers %" PRIu32 ": want at most %d", config->workers,
                        SLI_MAX_WORKERS);
    }
    return SLUICE_OK;
}

/* Checks that the label is a single i32: a pack stores no other labels. */
static sluice_status check_label(const stage_schema *schema)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const sluice_column *column = &schema->columns[i];

        if (strcmp(column->name, "label") == 0 &&
            (column->dtype != SLUICE_I32 || column->rank != 0)) {
            return sli_fail(SLUICE_E_UNSUPPORTED,
                            "the column label is %s with %u dimensions; a pack has labels i32: "
                            "give the column another name, or that type",
                            sluice_dtype_name(column->dtype), column->rank);
        }
    }
    return SLUICE_OK;
}

/*
 * Checks the stages of the dataset. Only order stages may follow the source, since a pack stores
 * images as the source provides them.
 */
static sluice_status check_stages(const sluice_dataset *dataset)
{
    for (uint32_t i = 1; i < dataset->stage_count; i++) {
        if (dataset->stages[i].def->kind != STAGE_INDEX) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s has no place in what is packed: want a source and stages of order, "
                            "such as shuffle",
                            dataset->stages[i].def->name);
        }
    }
    if (dataset->schema.image < 0) {
        return sli_fail(SLUICE_E_INVALID, "%s has no images to pack", dataset->stages[0].def->name);
    }
    return check_label(&dataset->schema);
}

static sluice_status check_settings(const sluice_pack_config *config)
{
    sluice_status st;

    if (config->folder == NULL || config->folder[0] == '\0') {
        return sli_fail(SLUICE_E_INVALID, "sluice_pack: folder is not set");
    }
    st = dataset_status(config->dataset, "sluice_pack");
    if (st == SLUICE_OK) {
        st = check_numbers(config);
    }
    if (st == SLUICE_OK) {
        st = check_stages(config->dataset);
    }
    return st == SLUICE_OK ? tar_writer_check() : st;
}

sluice_status pack_read_config(const sluice_pack_config *config, sluice_pack_config *copy_out)
{
    const sluice_status st = sli_struct_read(&config_struct, "sluice_pack", config, copy_out);

    return st == SLUICE_OK ? check_settings(copy_out) : st;
}
