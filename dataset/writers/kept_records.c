/* SPDX-License-Identifier: Apache-2.0 */
#include "kept_records.h"

#include <inttypes.h>
#include <string.h>

#include "status_int.h"

/* ---- kinds ----------------------------------------------------------------------------------- */

const char *kept_records_obstacle(const kept_columns *kept, uint32_t i)
{
    const kept_column *column = &kept->columns[i];
    const column_info *info = &column->info;

    if (column->is_pixels && column->type.dtype != SLUICE_U8) {
        return "it is pixels of more than 8 bits";
    }
    if (info->role == ROLE_POINTS && column->type.rank == 3 && !kept_is_ragged(column)) {
        return "it has a fixed number of rows of points";
    }
    return kept->pairs != NULL && kept->pairs->count > 0 && kept->pairs_of == column->column
               ? "a flip exchanges some of its points, which records do not say"
               : NULL;
}

/* True for a text, and for bytes that are one string. */
static bool is_string(const kept_column *column)
{
    return column->type.dtype == SLUICE_U8 && column->type.rank == 1 && kept_is_ragged(column) &&
           column->owner < 0 && column->info.role == ROLE_PLAIN;
}

/* The word of a column with a role; NULL: it has none. */
static const char *role_word(const kept_column *column)
{
    const column_info *info = &column->info;

    switch (info->role) {
    case ROLE_BOXES:
        return info->in_parts ? "fraction_boxes" : "boxes";
    case ROLE_POINTS:
        return info->in_parts ? "fraction_points" : "points";
    case ROLE_MASK:
        return "mask";
    default:
        return kept_is_image(column) ? "image" : info->numbers_mask ? "mask_numbers" : NULL;
    }
}

/* Writes the kind of a column: its role or type, and the lengths that these do not have, such as
 * "f32x2", "f32[N]x2" and "points[N]xK". */
static void print_kind(const kept_column *column, sli_text *text)
{
    const sluice_column *type = &column->type;
    const char *role = role_word(column);
    const uint32_t fixed = kept_is_ragged(column) ? 1 : 0;
    const bool ends_in_role =
        column->info.role == ROLE_BOXES || column->info.role == ROLE_POINTS; /* 4 or 2 numbers */

    sli_text_add(text, "%s",
                 role != NULL           ? role
                 : !is_string(column)   ? sluice_dtype_name(type->dtype)
                 : column->info.is_text ? "text"
                                        : "bytes");
    if (kept_is_ragged(column)) {
        sli_text_add(text, "[%" PRIu64 "]", type->shape[0]);
    }
    for (uint32_t i = fixed; !column->is_file && i + ends_in_role < type->rank; i++) {
        sli_text_add(text, "x%" PRIu64, type->shape[i]);
    }
}

void kept_records_print(const kept_columns *kept, sli_text *text)
{
    for (uint32_t i = 0; i < kept->count; i++) {
        const kept_column *column = &kept->columns[i];
        const char *name = column->type.name;

        sli_text_add(text, "%s%s:%s@", i > 0 ? "," : "", name, name);
        print_kind(column, text);
        if (column->owner >= 0) {
            sli_text_add(text, "@%s", kept->columns[column->owner].type.name);
        }
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

void kept_records_names(const kept_columns *kept, record_names *names_out)
{
    names_out->count = kept->count;
    for (uint32_t i = 0; i < kept->count; i++) {
        names_out->names[i] = kept->columns[i].type.name;
    }
}

void kept_records_values(const kept_columns *kept, const kept_value *values,
                         record_value *values_out)
{
    for (uint32_t i = 0; i < kept->count; i++) {
        const kept_column *column = &kept->columns[i];
        const sluice_column *type = &column->type;
        record_value *value = &values_out[i];

        *value = (record_value){
            .kind = RECORD_BYTES, .count = 1, .data = values[i].data, .size = values[i].size};
        if (is_string(column)) {
            value->kind = column->info.is_text ? RECORD_TEXT : RECORD_BYTES;
        } else if (!kept_is_image(column)) {
            value->kind = RECORD_NUMBERS;
            value->dtype = type->dtype;
            value->count = values[i].size / sluice_dtype_size(type->dtype);
            value->rank = type->rank;
            memcpy(value->shape, type->shape, sizeof(value->shape));
            if (kept_is_ragged(column)) {
                value->shape[0] = values[i].rows;
            }
        }
    }
}
