/* SPDX-License-Identifier: Apache-2.0 */
#include "mix_stage.h"

#include "beta_draw_int.h"
#include "operators/array/array_values.h"
#include "status_int.h"

/* ---- columns --------------------------------------------------------------------------------- */

/* Checks an image, or that a column is none of those that cannot be mixed. */
static sluice_status check_column(const char *stage, const stage_schema *schema, uint32_t i)
{
    const sluice_column *column = &schema->columns[i];
    const column_role role = schema->infos[i].role;

    if (role == ROLE_MASK || role == ROLE_BOXES || role == ROLE_POINTS || role == ROLE_TIED) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: column %s is %s, which cannot be mixed; drop it before batch", stage,
                        column->name, schema_role_words(schema, i));
    }
    return !schema_is_image(schema, i) || mix_can_blend(column->dtype)
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID, "%s: column %s is %s, and must be u8, f32, f16 or bf16",
                          stage, column->name, sluice_dtype_name(column->dtype));
}

static sluice_status check_images(const char *stage, stage_schema *schema)
{
    column_set images;
    sluice_status st = schema_select_images(schema, stage, "", &images);

    if (st == SLUICE_OK && images == 0) {
        st = fail_missing_image(schema, stage);
    }
    for (uint32_t i = 0; i < schema->column_count && st == SLUICE_OK; i++) {
        st = check_column(stage, schema, i);
        schema->infos[i].is_mixed = schema->infos[i].is_mixed || schema_is_image(schema, i);
    }
    return st;
}

static sluice_status infer_label(const char *stage, const mix_args *args, stage_schema *schema)
{
    const int label = schema_find(schema, args->label);
    sluice_column *column;
    bool is_number;
    sluice_status st;

    if (label < 0) {
        return schema_no_column(schema, stage, args->label);
    }
    column = &schema->columns[label];
    is_number = column->rank == 0 && array_is_integer(column->dtype);
    if (!is_number && (column->rank != 1 || column->dtype != SLUICE_F32)) {
        return sli_fail(
            SLUICE_E_INVALID,
            "%s: label %s is %s with %u dimensions, and must be one integer, or a vector of "
            "f32 as of one_hot",
            stage, column->name, sluice_dtype_name(column->dtype), column->rank);
    }
    if (!is_number) {
        return args->classes == 0 || args->classes == column->shape[0]
                   ? SLUICE_OK
                   : sli_fail(SLUICE_E_INVALID,
                              "%s: classes=%llu, and label %s has %llu values; leave classes out",
                              stage, (unsigned long long)args->classes, column->name,
                              (unsigned long long)column->shape[0]);
    }
    if (args->classes == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: label %s is a class number: classes= is missing, the number of "
                        "classes; or put one_hot %s CLASSES before batch",
                        stage, column->name, column->name);
    }
    st = schema_array_column(schema, stage, args->label, &column);
    if (st == SLUICE_OK) {
        column->dtype = SLUICE_F32;
        column->rank = 1;
        column->shape[0] = args->classes;
    }
    return st;
}

sluice_status mix_infer(const char *stage, const mix_args *args, stage_schema *schema)
{
    sluice_status st = check_images(stage, schema);

    if (st == SLUICE_OK && schema->map_count == SCHEMA_MAX_MAPS) {
        st = sli_fail(SLUICE_E_INVALID, "%s: a pipeline has at most %d maps and filters", stage,
                      SCHEMA_MAX_MAPS);
    }
    if (st == SLUICE_OK) {
        st = infer_label(stage, args, schema);
    }
    schema->map_count++;
    schema->mixes++;
    return st;
}

static const char *label_column(const void *args)
{
    return ((const mix_args *)args)->label;
}

static sluice_status make_vector(const void *opaque, const sluice_column *from_type,
                                 const void *from, const sluice_column *to_type, void *to)
{
    const mix_args *args = opaque;

    (void)to_type;
    return array_one_hot(from_type, from, args->classes, 0, to);
}

const array_ops mix_array_ops = {.column = label_column, .compute = make_vector};

/* ---- a batch --------------------------------------------------------------------------------- */

double mix_draw_lambda(const mix_args *args, const batch_view *batch)
{
    uint32_t block = MIX_LAMBDA_BLOCK;

    return sli_draw_beta(&batch->draws, &block, args->alpha);
}

/* The rows of a column that have a sample. */
static mix_rows mix_rows_of(const batch_view *batch, uint32_t column)
{
    return (mix_rows){.type = &batch->schema->columns[column],
                      .data = batch->columns[column],
                      .rows = batch->rows,
                      .count = batch->count,
                      .saved = batch->saved};
}

/* Writes how GetNext mixes the rows of the first image into their programs. */
static void set_programs(const batch_view *batch, const sli_row_mix *mix)
{
    uint32_t partner = batch->rows[batch->count - 1];

    for (uint32_t i = 0; i < batch->count; i++) {
        const uint32_t row = batch->rows[i];

        batch->programs[row].mix = *mix;
        batch->programs[row].mix.partner = partner;
        partner = row;
    }
}

/* True if GetNext mixes this image. */
static bool is_on_device(const batch_view *batch, uint32_t column)
{
    return batch->programs != NULL && (int)column == batch->schema->image;
}

void mix_blend_image(const batch_view *batch, uint32_t column, double lambda)
{
    const mix_rows rows = mix_rows_of(batch, column);

    if (is_on_device(batch, column)) {
        set_programs(batch, &(sli_row_mix){.kind = SLI_ROW_BLEND,
                                           .a = sli_f32_bits((float)lambda),
                                           .b = sli_f32_bits((float)(1 - lambda))});
    } else {
        mix_blend(&rows, lambda);
    }
}

void mix_paste_image(const batch_view *batch, uint32_t column, const mix_box *box)
{
    const mix_rows rows = mix_rows_of(batch, column);

    if (is_on_device(batch, column)) {
        set_programs(batch, &(sli_row_mix){.kind = SLI_ROW_PASTE,
                                           .a = box->x0 | box->y0 << 16,
                                           .b = (box->x1 - box->x0) | (box->y1 - box->y0) << 16});
    } else {
        mix_paste(&rows, batch->schema->infos[column].is_chw, box);
    }
}

void mix_labels(const mix_args *args, const batch_view *batch, double lambda)
{
    const mix_rows rows = mix_rows_of(batch, (uint32_t)schema_find(batch->schema, args->label));

    mix_blend(&rows, lambda);
}
