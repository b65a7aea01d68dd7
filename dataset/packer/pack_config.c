/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dataset_state.h"
#include "placement_int.h"
#include "status_int.h"
#include "struct_size_int.h"
#include "tar_writer.h"

static const sli_struct config_struct = SLI_STRUCT(sluice_pack_config, drop);

enum { MOST_PIXELS = 65535, INTERVAL = 32 };

static sluice_status check_numbers(const sluice_pack_config *config)
{
    if (config->quality > 100) {
        return sli_fail(SLUICE_E_INVALID, "quality is %" PRIu32 "; it must be from 1 to 100",
                        config->quality);
    }
    if (config->subsampling != SLUICE_PACK_SUBSAMPLING_AUTO &&
        config->subsampling != SLUICE_PACK_SUBSAMPLING_420 &&
        config->subsampling != SLUICE_PACK_SUBSAMPLING_444) {
        return sli_fail(SLUICE_E_INVALID, "subsampling is %d; it must be 0, 420 or 444",
                        (int)config->subsampling);
    }
    if (config->raw &&
        (config->quality != 0 || config->subsampling != SLUICE_PACK_SUBSAMPLING_AUTO)) {
        return sli_fail(SLUICE_E_INVALID,
                        "raw pixels have no quality and no subsampling: quality is %" PRIu32
                        ", subsampling %d; both must be 0",
                        config->quality, (int)config->subsampling);
    }
    if (config->raw && config->interval != 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "raw pixels have no restart markers: interval is %" PRIu32 "; it must be 0",
                        config->interval);
    }
    if (config->interval > MOST_PIXELS && config->interval != SLUICE_PACK_NO_MARKERS) {
        return sli_fail(SLUICE_E_INVALID,
                        "interval is %" PRIu32 "; it must be at most %d pixels, or "
                        "SLUICE_PACK_NO_MARKERS",
                        config->interval, MOST_PIXELS);
    }
    if (config->max_side > MOST_PIXELS) {
        return sli_fail(SLUICE_E_INVALID, "max_side is %" PRIu32 "; it must be at most %d pixels",
                        config->max_side, MOST_PIXELS);
    }
    if (config->workers > SLI_MAX_WORKERS) {
        return sli_fail(SLUICE_E_INVALID, "workers is %" PRIu32 "; it must be at most %d",
                        config->workers, SLI_MAX_WORKERS);
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
                            "give the column another name, or that type, or drop it",
                            sluice_dtype_name(column->dtype), column->rank);
        }
    }
    return SLUICE_OK;
}

/* ---- columns ----------------------------------------------------------------------------------
 */

static bool is_label(const stage_schema *schema, uint32_t i)
{
    return strcmp(schema->columns[i].name, "label") == 0;
}

/* True if column i is the number of rows of another one. */
static bool is_length(const stage_schema *schema, uint32_t i)
{
    for (uint32_t k = 0; k < schema->column_count; k++) {
        if (schema_length_buffer(schema, k) == (int)schema->infos[i].buffer) {
            return true;
        }
    }
    return false;
}

/* Finds the columns that config->drop names. E_INVALID: there is no such column, or it is the image
 * that is packed. */
static sluice_status find_dropped(const sluice_pack_config *config, column_set *dropped_out)
{
    const stage_schema *schema = &config->dataset->schema;
    const char *list = config->drop != NULL && config->drop[0] != '\0' ? config->drop : NULL;
    sluice_status st = SLUICE_OK;

    *dropped_out = 0;
    while (list != NULL && st == SLUICE_OK) {
        uint32_t column = 0;

        st = schema_next_column(&list, schema, "drop", &column);
        if (st == SLUICE_OK && (int)column == schema->image) {
            st = sli_fail(SLUICE_E_INVALID, "drop=%s must not be the image, which is packed",
                          schema->columns[column].name);
        }
        if (st == SLUICE_OK) {
            *dropped_out |= (column_set)1 << column;
        }
    }
    return st;
}

int pack_label_column(const sluice_pack_config *config)
{
    const stage_schema *schema = &config->dataset->schema;
    column_set dropped;
    int label = -1;

    if (find_dropped(config, &dropped) != SLUICE_OK) {
        return -1;
    }
    for (uint32_t i = 0; i < schema->column_count; i++) {
        label = is_label(schema, i) && (dropped >> i & 1) == 0 ? (int)i : label;
    }
    return label;
}

/* Checks that the pack lacks no column but those that config->drop names. */
static sluice_status check_columns(const sluice_pack_config *config)
{
    const stage_schema *schema = &config->dataset->schema;
    char lost[SLUICE_MAX_COLUMNS * SLUICE_NAME_SIZE] = "";
    column_set dropped;
    size_t length = 0;
    const sluice_status st = find_dropped(config, &dropped);

    for (uint32_t i = 0; i < schema->column_count && st == SLUICE_OK; i++) {
        if ((int)i == schema->image || is_label(schema, i) || is_length(schema, i) ||
            (dropped >> i & 1) != 0) {
            continue;
        }
        length += (size_t)snprintf(lost + length, sizeof(lost) - length, "%s%s",
                                   length > 0 ? "," : "", schema->columns[i].name);
    }
    if (st != SLUICE_OK || length == 0) {
        return st == SLUICE_OK && pack_label_column(config) >= 0 ? check_label(schema) : st;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "a pack has the first image and a label, so these columns of %s would be lost: "
                    "%s; to pack without them, name them in drop (--drop %s%s%s)",
                    config->dataset->stages[0].def->name, lost,
                    config->drop != NULL ? config->drop : "",
                    config->drop != NULL && config->drop[0] != '\0' ? "," : "", lost);
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
                            "a pack must be of a source and stages of order, such as shuffle, and "
                            "the dataset has %s; leave it out",
                            dataset->stages[i].def->name);
        }
    }
    if (dataset->schema.image < 0) {
        return sli_fail(SLUICE_E_INVALID, "%s has no images to pack", dataset->stages[0].def->name);
    }
    return SLUICE_OK;
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
    if (st == SLUICE_OK) {
        st = check_columns(config);
    }
    return st == SLUICE_OK ? tar_writer_check() : st;
}

sluice_status pack_read_config(const sluice_pack_config *config, sluice_pack_config *copy_out)
{
    const sluice_status st = sli_struct_read(&config_struct, "sluice_pack", config, copy_out);

    return st == SLUICE_OK ? check_settings(copy_out) : st;
}

uint32_t pack_interval(const sluice_pack_config *config)
{
    return config->interval == 0                        ? INTERVAL
           : config->interval == SLUICE_PACK_NO_MARKERS ? 0
                                                        : config->interval;
}
