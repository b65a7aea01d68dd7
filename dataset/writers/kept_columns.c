/* SPDX-License-Identifier: Apache-2.0 */
#include "kept_columns.h"

#include <stdio.h>
#include <string.h>

#include "status_int.h"
#include "tensor_int.h"

enum { ALIGNMENT = 16 };

/* True if column i is the number of rows of another one. */
static bool is_length(const stage_schema *schema, uint32_t i)
{
    for (uint32_t k = 0; k < schema->column_count; k++) {
        if (k != i && schema_length_buffer(schema, k) == (int)schema->infos[i].buffer) {
            return true;
        }
    }
    return false;
}

/* Finds the columns that `drop` names. */
static sluice_status find_dropped(const stage_schema *schema, const char *drop,
                                  column_set *dropped_out)
{
    const char *list = drop != NULL && drop[0] != '\0' ? drop : NULL;
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

/* Finds the column with the number of rows of column i, which must have its name. */
static sluice_status find_length(const stage_schema *schema, uint32_t i, int *length_out)
{
    const int buffer = schema_length_buffer(schema, i);
    const int column = buffer >= 0 ? schema_find_buffer(schema, (uint32_t)buffer) : -1;
    const int owner = schema_owner(schema, i);
    char name[SLUICE_NAME_SIZE + 8];

    *length_out = column;
    snprintf(name, sizeof(name), "%s_length", schema->columns[owner >= 0 ? owner : (int)i].name);
    if (buffer < 0 || owner >= 0 ||
        (column >= 0 && strcmp(name, schema->columns[column].name) == 0)) {
        return SLUICE_OK;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "the number of rows of %s is in %s, and a pack has it as %s; drop %s, or leave "
                    "the names as they are",
                    schema->columns[i].name,
                    column >= 0 ? schema->columns[column].name : "no column", name,
                    schema->columns[i].name);
}

/* Finds the kept column of the boxes or points that the rows of column i belong to. */
static sluice_status find_owner(const stage_schema *schema, uint32_t i, const kept_columns *kept,
                                int *owner_out)
{
    const int owner = schema_owner(schema, i);

    *owner_out = -1;
    if (!schema_is_tied(&schema->infos[i])) {
        return SLUICE_OK;
    }
    for (uint32_t k = 0; k < kept->count && owner >= 0; k++) {
        if (kept->columns[k].column == (uint32_t)owner) {
            *owner_out = (int)k;
            return SLUICE_OK;
        }
    }
    return sli_fail(SLUICE_E_INVALID,
                    "the rows of %s belong to %s, which is dropped or follows it; drop %s, too",
                    schema->columns[i].name, owner >= 0 ? schema->columns[owner].name : "boxes",
                    schema->columns[i].name);
}

/* Sets the bytes of a column of values, and its place in the buffer. */
static sluice_status place_values(kept_columns *kept, kept_column *column)
{
    sluice_column row = column->type;
    size_t all = 0;

    if (!sli_column_bytes(&column->type, &all)) {
        char text[120];

        return sli_fail(
            SLUICE_E_UNSUPPORTED, "the column %s is %s, whose size varies between samples; %s",
            column->type.name, column_type_text(&column->type, text, sizeof(text)),
            column->is_pixels ? "`sluice pack --quality` stores pixels as JPEG files" : "drop it");
    }
    column->row_bytes = all;
    if (kept_is_ragged(column)) {
        row.shape[0] = 1;
        (void)sli_column_bytes(&row, &column->row_bytes);
        kept->lengths[column->length] = 0;
    }
    if (column->is_pixels) {
        return SLUICE_OK;
    }
    column->offset = kept->bytes;
    kept->bytes += (all + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return SLUICE_OK;
}

static sluice_status add_column(const stage_schema *schema, uint32_t i, bool encodes,
                                kept_columns *kept)
{
    kept_column *column = &kept->columns[kept->count];
    sluice_status st;

    *column = (kept_column){.type = schema->columns[i],
                            .info = schema->infos[i],
                            .column = i,
                            .length = -1,
                            .owner = -1};
    column->is_file = column->type.dtype == SLUICE_ENCODED || (encodes && (int)i == schema->image);
    column->is_pixels =
        !column->is_file && (schema_is_image(schema, i) || column->info.role == ROLE_MASK);
    st = find_owner(schema, i, kept, &column->owner);
    if (st == SLUICE_OK) {
        st = find_length(schema, i, &column->length);
    }
    if (st == SLUICE_OK && !column->is_file) {
        st = place_values(kept, column);
    }
    if ((int)i == schema->image) {
        kept->image = (int)kept->count;
    }
    if (strcmp(column->type.name, "label") == 0 && column->type.dtype == SLUICE_I32 &&
        column->type.rank == 0) {
        kept->label = (int)kept->count;
    }
    kept->count += st == SLUICE_OK;
    return st;
}

sluice_status kept_columns_find(const sluice_dataset *dataset, const char *drop, bool encodes,
                                kept_columns *kept_out)
{
    const stage_schema *schema = &dataset->source_schema;
    column_set dropped = 0;
    sluice_status st = find_dropped(schema, drop, &dropped);

    *kept_out = (kept_columns){.image = -1, .label = -1};
    memset(kept_out->lengths, 0xFF, sizeof(kept_out->lengths));
    for (uint32_t i = 0; i < schema->column_count && st == SLUICE_OK; i++) {
        if ((dropped >> i & 1) == 0 && !is_length(schema, i)) {
            st = add_column(schema, i, encodes, kept_out);
        }
    }
    if (dataset->source != NULL && dataset_source(dataset)->flip_pairs != NULL) {
        kept_out->pairs = dataset_source(dataset)->flip_pairs(dataset->source, &kept_out->pairs_of);
    }
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (kept_out->lengths[i] != SIZE_MAX) {
            kept_out->lengths[i] = kept_out->bytes;
            kept_out->bytes += ALIGNMENT;
        }
    }
    return st;
}

bool kept_columns_are_usual(const kept_columns *kept)
{
    for (uint32_t i = 0; i < kept->count; i++) {
        if ((int)i != kept->image && (int)i != kept->label) {
            return false;
        }
    }
    return kept_has_file(kept);
}
