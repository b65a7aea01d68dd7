/* SPDX-License-Identifier: Apache-2.0 */
#include "wide_images.h"

#include "conversion_ops.h"
#include "geometry_ops.h"
#include "stage_kinds.h"
#include "status_int.h"

/* The first of these images with values that only moving stages and conversions work on; -1: there
 * is none. */
static int find_wide(const stage_schema *schema, column_set images)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if ((images >> i & 1) != 0 && schema_is_wide(schema, i)) {
            return (int)i;
        }
    }
    return -1;
}

/* The first value of the fill that is not 0; 0: all are, or the stage uses none. */
static float fill_of(const dataset_stage *stage)
{
    const geometry_ops *ops = stage->def->geometry;
    stage_padding padding = {0};

    if (ops->padding == NULL || !ops->padding(stage->args.bytes, &padding) ||
        padding.edge != EDGE_CONSTANT) {
        return 0;
    }
    for (uint32_t i = 0; i < IMAGE_CHANNELS; i++) {
        if (padding.parts[i] != 0) {
            return padding.parts[i];
        }
    }
    return 0;
}

/* True if a stage computes values, other than colours. */
static bool computes(const dataset_stage *stage)
{
    const stage_def *def = stage->def;

    return def->batch != NULL || tile_ops_of(def) != NULL || stage_erases(def) ||
           (def->kind == STAGE_GEOMETRY && def->flip == NULL &&
            (def->geometry->turns || stage_warps(def, stage->args.bytes)));
}

sluice_status stage_check_wide(const dataset_stage *stage, const stage_schema *schema)
{
    /* the arguments of a stage with `columns` begin as those of a conversion */
    const conversion_args *args = (const void *)stage->args.bytes;
    const bool is_computed = computes(stage);
    column_set images;
    const char *type;
    sluice_status st;
    int wide;

    if (!is_computed && stage->def->kind != STAGE_GEOMETRY) {
        return SLUICE_OK;
    }
    st = schema_select_images(schema, stage->def->name, stage->def->selects ? args->columns : "",
                              &images);
    wide = st == SLUICE_OK ? find_wide(schema, images) : -1;
    if (wide < 0) {
        return st;
    }
    type = sluice_dtype_name(schema->columns[wide].dtype);
    if (is_computed) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: column %s is %s; colours, warps, mosaics and mixes work on bytes; "
                        "leave %s out%s",
                        stage->def->name, schema->columns[wide].name, type, stage->def->name,
                        stage->def->batch != NULL || stage_erases(stage->def)
                            ? ", or put normalize before it"
                            : "");
    }
    if (fill_of(stage) != 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: column %s is %s, and the fill is %g; it must be 0 where images are "
                        "not bytes: write fill=0",
                        stage->def->name, schema->columns[wide].name, type, (double)fill_of(stage));
    }
    return SLUICE_OK;
}
