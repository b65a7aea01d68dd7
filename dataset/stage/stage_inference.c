/* SPDX-License-Identifier: Apache-2.0 */
/* The columns after a stage, from those before it. */
#include "array_ops.h"
#include "color_ops.h"
#include "conversion_ops.h"
#include "stage_kinds.h"
#include "stage_order.h"
#include "status_int.h"
#include "wide_images.h"

/* Updates an image that a conversion works on. */
static sluice_status convert_column(const dataset_stage *stage, stage_schema *schema, uint32_t i)
{
    const conversion_ops *ops = stage->def->conversion;
    column_info *info = &schema->infos[i];
    sluice_status st = SLUICE_OK;

    if (info->is_fixed) {
        info->is_erased = false;
    }
    if (info->is_erased && !ops->moves && ops->erases == NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s comes after random_erasing, whose values it would change; put "
                        "random_erasing after it",
                        stage->def->name);
    }
    if (ops->infer_image != NULL) {
        st = ops->infer_image(stage->args.bytes, &schema->columns[i], info);
    }
    if (st == SLUICE_OK && info->is_fixed) {
        if (schema->buffer_count == SCHEMA_MAX_BUFFERS) {
            return sli_fail(SLUICE_E_INVALID, "%s: too many stages that compute columns",
                            stage->def->name);
        }
        info->buffer = schema->buffer_count++;
        info->is_fixed = false;
    }
    return st;
}

/* Updates the images that a conversion works on. */
static sluice_status infer_conversion(const dataset_stage *stage, stage_schema *schema)
{
    const char *name = stage->def->name;
    const conversion_args *args = (const void *)stage->args.bytes;
    column_set images;
    sluice_status st =
        schema_select_images(schema, name, stage->def->selects ? args->columns : "", &images);

    if (st == SLUICE_OK && images == 0) {
        return fail_missing_image(schema, name);
    }
    if (st == SLUICE_OK && args->offload == OFFLOAD_DEVICE && schema->image >= 0 &&
        (images >> schema->image & 1) == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s offload=device: the workers convert further images; leave offload out, "
                        "or name %s in columns, too",
                        name, schema->columns[schema->image].name);
    }
    for (uint32_t i = 0; i < schema->column_count && st == SLUICE_OK; i++) {
        if ((images >> i & 1) == 0) {
            continue;
        }
        st = schema->columns[i].dtype != SLUICE_ENCODED ? convert_column(stage, schema, i)
                                                        : fail_missing_image(schema, name);
    }
    return st;
}

/* Checks that images have one size before a stage that computes with it. */
static sluice_status check_size(const stage_def *def, const stage_schema *schema)
{
    return def->array == NULL || def->array->columns == NULL || schema->random_size == NULL
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "%s comes after %s, which gives images of random sizes; put `resize H,W` "
                          "before %s",
                          def->name, schema->random_size, def->name);
}

sluice_status stage_infer_columns(const dataset_stage *stage, stage_schema *schema)
{
    const stage_def *def = stage->def;
    const color_ops *color = def->color;
    /* the arguments of a colour stage begin as those of a conversion, which it may become */
    const conversion_args *args = (const void *)stage->args.bytes;
    sluice_status st = stage_check_wide(stage, schema);

    if (st == SLUICE_OK) {
        st = check_size(def, schema);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (def->infer != NULL) {
        return def->infer(args, schema);
    }
    return color == NULL ? SLUICE_OK
                         : schema_add_colors(schema, def->name, args->columns, !color->any_channels,
                                             color->operations > 0 ? color->operations : 1);
}

sluice_status stage_infer(const dataset_stage *stage, stage_schema *schema)
{
    const stage_kind kind = stage->def->kind;
    const stage_schema before = *schema;
    sluice_status st = stage_order_check(stage, schema);

    if (st != SLUICE_OK) {
        return st;
    }
    st = stage_infer_columns(stage, schema);
    if (kind == STAGE_CONVERSION && st == SLUICE_OK) {
        st = infer_conversion(stage, schema);
    }
    if (schema_has(&before, STATE_ON_DEVICE) && st == SLUICE_OK) {
        st = schema_check_device(stage->def, stage->args.bytes, &before, schema);
    }
    if (!schema_has(schema, STATE_MAPPED)) {
        schema_size_followers(schema);
    }
    if (!schema_lacks_size(schema)) {
        schema->random_size = NULL;
    }
    stage_order_note(stage, schema);
    return st;
}
