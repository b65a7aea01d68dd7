/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dataset_state.h"
#include "placement_int.h"
#include "status_int.h"
#include "struct_size_int.h"
#include "tensor_int.h"

static const sli_struct config_struct = SLI_STRUCT(sluice_pack_config, format);

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

/*
 * Checks the stages of the dataset. Only order stages may follow the source, since a pack stores
 * images as the source provides them.
 */
static sluice_status check_stages(const sluice_dataset *dataset, bool is_pack)
{
    for (uint32_t i = 1; i < dataset->stage_count; i++) {
        if (dataset->stages[i].def->kind != STAGE_INDEX && !dataset->stages[i].def->declares) {
            return sli_fail(SLUICE_E_INVALID,
                            "a %s must be of a source and stages of order, such as shuffle, and "
                            "the dataset has %s; leave it out",
                            is_pack ? "pack" : "conversion", dataset->stages[i].def->name);
        }
    }
    if (dataset->schema.image < 0 && is_pack) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s has no images to pack; `sluice convert` (format) writes other samples",
                        dataset->stages[0].def->name);
    }
    return SLUICE_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* True if the pixels of an image become files: if a setting says how, or sizes vary. */
static bool encodes_pixels(const sluice_pack_config *config)
{
    const stage_schema *schema = &config->dataset->source_schema;
    size_t bytes;

    return config->format == NULL && schema->image >= 0 &&
           (config->raw || config->quality != 0 || config->max_side != 0 ||
            config->subsampling != SLUICE_PACK_SUBSAMPLING_AUTO ||
            !sli_column_bytes(&schema->columns[schema->image], &bytes));
}

sluice_status pack_columns(const sluice_pack_config *config, kept_columns *kept_out)
{
    return kept_columns_find(config->dataset, config->drop, encodes_pixels(config), kept_out);
}

const sample_writer *pack_writer(const sluice_pack_config *config)
{
    return sample_writer_find(config->format != NULL ? config->format : web_writer.format);
}

/* Checks that the format exists, and that no setting says how to encode images, which are stored as
 * they are. */
static sluice_status check_format(const sluice_pack_config *config)
{
    char names[200];

    if (config->format == NULL) {
        return SLUICE_OK;
    }
    if (pack_writer(config) == NULL) {
        sample_writer_names(names, sizeof(names));
        return sli_fail(SLUICE_E_INVALID, "format=%.100s must be one of %s", config->format, names);
    }
    if (config->shard_bytes != 0 && pack_writer(config)->is_single) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s has all samples in one file, so shard_bytes (--shard-size) is %" PRIu64
                        " and must be 0; leave it out",
                        config->format, config->shard_bytes);
    }
    return !config->raw && config->quality == 0 && config->interval == 0 && config->max_side == 0 &&
                   config->subsampling == SLUICE_PACK_SUBSAMPLING_AUTO && !config->verify
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "with a format images are stored as they are: interval, max_side, "
                          "quality, subsampling, raw and verify must be 0; without it they are "
                          "packed");
}

/* Checks that no column has pixels of images that max_side may resize. */
static sluice_status check_resized(const sluice_pack_config *config, const kept_columns *kept)
{
    for (uint32_t i = 0; i < kept->count && config->max_side > 0; i++) {
        const kept_column *column = &kept->columns[i];

        if (schema_follows(column->info.role) && !column->info.in_parts) {
            return sli_fail(SLUICE_E_INVALID,
                            "max_side resizes images, and %s has positions in them, or pixels of "
                            "their size; leave max_side out, or drop %s",
                            column->type.name, column->type.name);
        }
    }
    return SLUICE_OK;
}

static sluice_status check_settings(const sluice_pack_config *config)
{
    kept_columns kept;
    sluice_status st;

    if (config->folder == NULL || config->folder[0] == '\0') {
        return sli_fail(SLUICE_E_INVALID, "sluice_pack: folder is not set");
    }
    st = dataset_status(config->dataset, "sluice_pack");
    if (st == SLUICE_OK) {
        st = check_numbers(config);
    }
    if (st == SLUICE_OK) {
        st = check_format(config);
    }
    if (st == SLUICE_OK) {
        st = check_stages(config->dataset, config->format == NULL);
    }
    if (st == SLUICE_OK) {
        st = pack_columns(config, &kept);
    }
    if (st == SLUICE_OK) {
        st = check_resized(config, &kept);
    }
    return st == SLUICE_OK ? sample_writer_check(pack_writer(config), &kept) : st;
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
