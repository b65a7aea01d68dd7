/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "alloc_int.h"
#include "format_int.h"
#include "mindrecord_encode.h"
#include "status_int.h"

static sluice_status refuse(const mindrecord_field *field, const char *why)
{
    return sli_fail(SLUICE_E_UNSUPPORTED, "mindrecord cannot keep the column %.60s: %s",
                    field->name, why);
}

/* MindSpore takes no other names. */
static bool is_name(const char *name)
{
    size_t i = 0;

    while ((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') ||
           (name[i] >= '0' && name[i] <= '9') || name[i] == '_') {
        i++;
    }
    return i > 0 && name[i] == '\0';
}

/* Determines the type of a column of numbers. */
static sluice_status choose_number(const mindrecord_field *field, mindrecord_column *column)
{
    switch (field->dtype) {
    case SLUICE_U8:
        column->type = field->rank > 0 ? MINDRECORD_BYTES : MINDRECORD_INT32;
        return SLUICE_OK;
    case SLUICE_I8:
    case SLUICE_U16:
    case SLUICE_I16:
    case SLUICE_I32:
        column->type = MINDRECORD_INT32;
        return SLUICE_OK;
    case SLUICE_U32:
    case SLUICE_I64:
        column->type = MINDRECORD_INT64;
        return SLUICE_OK;
    case SLUICE_F32:
        column->type = MINDRECORD_FLOAT32;
        return SLUICE_OK;
    case SLUICE_F64:
        column->type = MINDRECORD_FLOAT64;
        return SLUICE_OK;
    default:
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "mindrecord cannot keep the column %.60s: it has no type for %s",
                        field->name, sluice_dtype_name(field->dtype));
    }
}

static sluice_status choose_column(const mindrecord_field *field, mindrecord_column *column)
{
    uint32_t varying = 0;
    sluice_status st = SLUICE_OK;

    if (!is_name(field->name)) {
        return refuse(field, "its names have only letters, digits and _");
    }
    column->blob = -1;
    column->type = field->kind == RECORD_TEXT ? MINDRECORD_STRING : MINDRECORD_BYTES;
    if (field->kind == RECORD_NUMBERS) {
        st = choose_number(field, column);
    }
    if (st == SLUICE_OK && mindrecord_type_size(column->type) > 0) {
        column->rank = field->rank;
        memcpy(column->shape, field->shape, sizeof(column->shape));
    }
    for (uint32_t i = 0; i < column->rank; i++) {
        varying += column->shape[i] == 0;
    }
    if (st == SLUICE_OK && varying > 1) {
        return refuse(field, "at most one dimension may vary");
    }
    return st;
}

/* Orders columns by name. */
static int compare_columns(const void *a, const void *b)
{
    return strcmp(((const mindrecord_column *const *)a)[0]->name,
                  ((const mindrecord_column *const *)b)[0]->name);
}

static void sort_blobs(mindrecord_layout *layout)
{
    mindrecord_column *sorted[SLUICE_MAX_COLUMNS];

    for (uint32_t i = 0; i < layout->count; i++) {
        if (layout->columns[i].type == MINDRECORD_BYTES || layout->columns[i].rank > 0) {
            sorted[layout->blob_count++] = &layout->columns[i];
        }
    }
    qsort(sorted, layout->blob_count, sizeof(sorted[0]), compare_columns);
    for (uint32_t i = 0; i < layout->blob_count; i++) {
        sorted[i]->blob = (int)i;
        layout->blobs[i] = (uint32_t)(sorted[i] - layout->columns);
    }
}

/* True if a column of the index can have this name: SQL knows no capitals, and INC_0 is taken. */
static bool can_index(const mindrecord_layout *layout, uint32_t column)
{
    const char *name = layout->columns[column].name;

    for (uint32_t i = 0; i < layout->indexed_count; i++) {
        if (sli_same_word(layout->columns[layout->indexed[i]].name, name)) {
            return false;
        }
    }
    return !sli_same_word(name, "inc");
}

static void choose_indexed(mindrecord_layout *layout)
{
    for (uint32_t i = 0; i < layout->count; i++) {
        const mindrecord_column *column = &layout->columns[i];

        if (column->rank == 0 &&
            (column->type == MINDRECORD_INT32 || column->type == MINDRECORD_INT64) &&
            can_index(layout, i)) {
            layout->indexed[layout->indexed_count++] = i;
        }
    }
}

sluice_status mindrecord_layout_make(const mindrecord_schema *schema, mindrecord_layout *layout)
{
    sluice_status st = SLUICE_OK;

    *layout = (mindrecord_layout){0};
    for (uint32_t i = 0; i < schema->count && st == SLUICE_OK; i++) {
        layout->fields[i] = schema->fields[i];
        for (uint32_t k = 0; k < i && st == SLUICE_OK; k++) {
            if (strcmp(schema->fields[k].name, schema->fields[i].name) == 0) {
                st = refuse(&schema->fields[i], "there is another one of this name");
            }
        }
        st = st == SLUICE_OK ? choose_column(&schema->fields[i], &layout->columns[i]) : st;
        if (st != SLUICE_OK) {
            break;
        }
        layout->columns[i].name = sli_strdup(schema->fields[i].name);
        layout->fields[i].name = layout->columns[i].name;
        layout->count++;
        st = layout->columns[i].name != NULL ? st : sli_fail(SLUICE_E_NO_MEMORY, "a schema");
    }
    if (st != SLUICE_OK) {
        mindrecord_layout_free(layout);
        return st;
    }
    sort_blobs(layout);
    choose_indexed(layout);
    return SLUICE_OK;
}

void mindrecord_layout_free(mindrecord_layout *layout)
{
    for (uint32_t i = 0; i < layout->count; i++) {
        sli_free(layout->columns[i].name);
    }
    *layout = (mindrecord_layout){0};
}

/* ---- the header ------------------------------------------------------------------------------ */

static void print_column(const mindrecord_column *column, sli_text *text)
{
    sli_text_add_json(text, column->name);
    sli_text_add(text, ":{");
    for (uint32_t i = 0; i < column->rank; i++) {
        sli_text_add(text, i == 0 ? "\"shape\":[" : ",");
        if (column->shape[i] == 0) {
            sli_text_add(text, "-1");
        } else {
            sli_text_add(text, "%llu", (unsigned long long)column->shape[i]);
        }
    }
    sli_text_add(text, "%s\"type\":\"%s\"}", column->rank > 0 ? "]," : "",
                 mindrecord_type_name(column->type));
}

void mindrecord_layout_print(const mindrecord_layout *layout, const char *description,
                             sli_text *text)
{
    sli_text_add(text, "\"index_fields\":[");
    for (uint32_t i = 0; i < layout->indexed_count; i++) {
        sli_text_add(text, "%s{\"index_field\":", i > 0 ? "," : "");
        sli_text_add_json(text, layout->columns[layout->indexed[i]].name);
        sli_text_add(text, ",\"schema_id\":0}");
    }
    sli_text_add(text, "],\"schema\":[{\"blob_fields\":[");
    for (uint32_t i = 0; i < layout->blob_count; i++) {
        sli_text_add(text, "%s", i > 0 ? "," : "");
        sli_text_add_json(text, layout->columns[layout->blobs[i]].name);
    }
    sli_text_add(text, "],\"desc\":");
    sli_text_add_json(text, description);
    sli_text_add(text, ",\"schema\":{");
    for (uint32_t i = 0; i < layout->count; i++) {
        sli_text_add(text, "%s", i > 0 ? "," : "");
        print_column(&layout->columns[i], text);
    }
    sli_text_add(text, "},\"schema_id\":0}]");
}
