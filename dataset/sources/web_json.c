/* SPDX-License-Identifier: Apache-2.0 */
#include "web_json.h"

#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

sluice_status web_json_create(web_json **json_out)
{
    const sluice_status st = json_fields_check();

    if (st != SLUICE_OK) {
        return st;
    }
    *json_out = sli_calloc(1, sizeof(**json_out));
    if (*json_out == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the columns of a JSON member");
    }
    (*json_out)->columns.schema.image = -1;
    return SLUICE_OK;
}

void web_json_free(web_json *json)
{
    if (json != NULL) {
        list_columns_free(&json->columns);
        sli_free(json);
    }
}

sluice_status web_json_add(web_json *json, const char *declaration, const char *path, uint32_t at,
                           uint32_t *count_out)
{
    const uint32_t first = json->columns.schema.column_count;
    sluice_status st = json_fields_add_column(&json->columns, declaration, path, &json->paths);
    list_kind kind;

    if (st != SLUICE_OK) {
        return st;
    }
    kind = json->columns.fields[json->columns.count - 1].kind;
    if (kind == LIST_IMAGE || kind == LIST_MASK) {
        return sli_fail(SLUICE_E_INVALID,
                        "%.60s: images and masks must be members of the sample, such as image:jpg "
                        "or seg:png@mask",
                        declaration);
    }
    *count_out = json->columns.schema.column_count - first;
    for (uint32_t i = 0; i < *count_out; i++) {
        json->at[first + i] = at + i;
    }
    return SLUICE_OK;
}

void web_json_schema(const web_json *json, stage_schema *schema)
{
    const stage_schema *own = &json->columns.schema;

    for (uint32_t i = 0; i < own->column_count; i++) {
        const column_info *from = &own->infos[i];
        column_info *info = &schema->infos[json->at[i]];

        schema->columns[json->at[i]] = own->columns[i];
        info->role = from->role;
        info->in_parts = from->in_parts;
        if (from->role == ROLE_BOXES || from->role == ROLE_POINTS) {
            info->length = json->at[from->length];
        }
        info->is_text = from->is_text;
        info->rows = from->rows > 0 ? json->at[from->rows - 1] + 1 : 0;
        info->tied_to = from->role == ROLE_TIED ? json->at[from->tied_to] : info->tied_to;
    }
}

bool web_json_is_in(const web_json *json, void *const *row)
{
    for (uint32_t i = 0; i < json->columns.schema.column_count; i++) {
        if (row[json->at[i]] != NULL) {
            return true;
        }
    }
    return false;
}

/* Adds the path of a value to the text of an error. */
static sluice_status value_error(const web_json *json, uint32_t i, sluice_status status)
{
    return sli_fail_quoting(status, "%s: %.600s", json->paths.paths[i], sluice_last_error());
}

/* Writes the fields of a record into a row of the member's own columns. fields: is set to them. */
static sluice_status write_record(const web_json *json, const sli_text *record, void *const *row,
                                  list_field *fields)
{
    list_cursor cursor = {record->data, record->data + record->length, '\t'};
    uint32_t counts[SLUICE_MAX_COLUMNS];
    bool last;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < json->columns.count && st == SLUICE_OK; i++) {
        st = list_next_field(&cursor, &fields[i], &last);
        if (st == SLUICE_OK) {
            st = list_write_counted(&json->columns, i, &fields[i], row, counts);
        }
        st = st == SLUICE_OK ? st : value_error(json, i, st);
    }
    return st;
}

/* Converts the text into a record, whose fields are set. The caller frees it. */
static sluice_status read_record(const web_json *json, const char *text, size_t size,
                                 void *const *row, sli_text *record, list_field *fields)
{
    const sluice_status st =
        json_fields_convert(text, size, "it", &json->columns, &json->paths, record);

    if (st != SLUICE_OK) {
        return st;
    }
    return record->failed ? sli_fail(SLUICE_E_NO_MEMORY, "a record of %zu bytes", size)
                          : write_record(json, record, row, fields);
}

sluice_status web_json_write(const web_json *json, const char *text, size_t size, void *const *row)
{
    void *own[SLUICE_MAX_COLUMNS];
    list_field fields[SLUICE_MAX_COLUMNS];
    sli_text record = {0};
    sluice_status st;

    for (uint32_t i = 0; i < json->columns.schema.column_count; i++) {
        own[i] = row[json->at[i]];
    }
    st = read_record(json, text, size, own, &record, fields);
    sli_text_free(&record);
    return st;
}

sluice_status web_json_learn(const web_json *json, const char *text, size_t size)
{
    static void *const nowhere[SLUICE_MAX_COLUMNS] = {NULL};
    list_field fields[SLUICE_MAX_COLUMNS];
    sli_text record = {0};
    sluice_status st = read_record(json, text, size, nowhere, &record, fields);

    for (uint32_t i = 0; st == SLUICE_OK && i < json->columns.count; i++) {
        st = list_learn_field(&json->columns, i, &fields[i]);
    }
    sli_text_free(&record);
    return st;
}
