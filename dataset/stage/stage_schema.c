/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of sources, and the checks that stages make on columns. */
#include <stdio.h>
#include <string.h>

#include "color_chain.h"
#include "conversion_int.h"
#include "stage.h"
#include "status_int.h"

enum { IMAGE_RANK = 3 };

void schema_of_files(stage_schema *schema, bool labelled)
{
    schema->column_count = labelled ? 2 : 1;
    schema->columns[0] = (sluice_column){.name = "image", .dtype = SLUICE_ENCODED};
    schema->columns[1] = (sluice_column){.name = "label", .dtype = SLUICE_I32};
    schema->image = 0;
}

/* Refuses a further image that is still encoded: it gets the geometry of the first one. */
static sluice_status check_further(const stage_schema *schema, const char *stage)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (schema->infos[i].role == ROLE_IMAGE && schema->columns[i].dtype == SLUICE_ENCODED) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: %s is still encoded, and all images of a sample get the same "
                            "geometry; put its decode before it",
                            stage, schema->columns[i].name);
        }
    }
    return SLUICE_OK;
}

sluice_status schema_check_pixels(const stage_schema *schema, const char *stage)
{
    if (schema->image < 0) {
        return fail_missing_image(schema, stage);
    }
    if (schema->columns[schema->image].dtype == SLUICE_ENCODED) {
        return sli_fail(SLUICE_E_INVALID, "%s: the image is still encoded; put decode before it",
                        stage);
    }
    return check_further(schema, stage);
}

bool schema_is_converted(const stage_schema *schema, uint32_t i)
{
    return schema->infos[i].is_converted || schema->infos[i].is_chw;
}

bool schema_is_wide(const stage_schema *schema, uint32_t i)
{
    const sluice_dtype dtype = schema->columns[i].dtype;

    return schema_is_image(schema, i) &&
           (dtype == SLUICE_U16 || (dtype == SLUICE_F32 && !schema_is_converted(schema, i)));
}

static sluice_status check_bytes(const stage_schema *schema, uint32_t i, const char *stage,
                                 bool gray_or_rgb)
{
    const sluice_column *column = &schema->columns[i];
    const uint64_t channels = column->shape[SCHEMA_C];

    if (column->dtype == SLUICE_ENCODED) {
        return sli_fail(SLUICE_E_INVALID, "%s: the image is still encoded; put decode before it",
                        stage);
    }
    if (schema_is_converted(schema, i)) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s changes the values of bytes; put it before normalize, to_dtype and "
                        "to_chw",
                        stage);
    }
    if (column->dtype != SLUICE_U8) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: column %s is %s; colours, warps, mosaics and mixes work on bytes; "
                        "leave %s out",
                        stage, column->name, sluice_dtype_name(column->dtype), stage);
    }
    if (gray_or_rgb && channels != 1 && channels != COLOR_CHANNELS) {
        return sli_fail(
            SLUICE_E_INVALID,
            "%s: column %s has %llu channels, and must have 1 (gray) or 3 (RGB); change the "
            "channels in the source",
            stage, column->name, (unsigned long long)channels);
    }
    return SLUICE_OK;
}

bool schema_are_converted(const stage_schema *schema, column_set images)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if ((images >> i & 1) != 0 && schema_is_converted(schema, i)) {
            return true;
        }
    }
    return false;
}

sluice_status schema_check_bytes(const stage_schema *schema, const char *stage, column_set images,
                                 bool gray_or_rgb)
{
    sluice_status st = SLUICE_OK;

    if (images == 0) {
        return fail_missing_image(schema, stage);
    }
    for (uint32_t i = 0; i < schema->column_count && st == SLUICE_OK; i++) {
        st = (images >> i & 1) != 0 ? check_bytes(schema, i, stage, gray_or_rgb) : SLUICE_OK;
    }
    return st;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

color_counts color_counts_most(const color_counts *a, const color_counts *b)
{
    return (color_counts){larger(a->operations, b->operations), larger(a->mixes, b->mixes),
                          larger(a->fields, b->fields)};
}

sluice_status schema_add_operations(stage_schema *schema, const char *stage, uint32_t operations)
{
    schema->colors.operations += operations;
    return schema->colors.operations <= COLOR_MAX_OPERATIONS
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "%s: the colour stages and warps have more than %d operations; a "
                          "color_jitter has 4, a rand_augment num_ops, the others 1",
                          stage, COLOR_MAX_OPERATIONS);
}

sluice_status schema_add_colors(stage_schema *schema, const char *stage, const char *columns,
                                bool gray_or_rgb, uint32_t operations)
{
    column_set images;
    sluice_status st = schema_select_images(schema, stage, columns, &images);

    if (st == SLUICE_OK) {
        st = schema_check_bytes(schema, stage, images, gray_or_rgb);
    }
    return st == SLUICE_OK ? schema_add_operations(schema, stage, operations) : st;
}

bool schema_follows(column_role role)
{
    return role == ROLE_MASK || role == ROLE_BOXES || role == ROLE_POINTS || role == ROLE_IMAGE;
}

int schema_find_boxes(const stage_schema *schema)
{
    int found = -1;

    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (schema->infos[i].role == ROLE_BOXES) {
            found = found == -1 ? (int)i : -2;
        }
    }
    return found;
}

const char *schema_role_words(const stage_schema *schema, uint32_t i)
{
    static const char *const words[] = {[ROLE_PLAIN] = "a plain column",
                                        [ROLE_MASK] = "a mask",
                                        [ROLE_BOXES] = "a column of boxes",
                                        [ROLE_TIED] = "a column that belongs to boxes or points",
                                        [ROLE_IMAGE] = "a further image",
                                        [ROLE_GEOMETRY] = "the map of geometry",
                                        [ROLE_POINTS] = "a column of points"};

    return (int)i == schema->image ? "the image" : words[schema->infos[i].role];
}

bool schema_is_image(const stage_schema *schema, uint32_t i)
{
    return (int)i == schema->image || schema->infos[i].role == ROLE_IMAGE;
}

sluice_status schema_next_column(const char **list, const stage_schema *schema, const char *stage,
                                 uint32_t *column_out)
{
    const size_t length = strcspn(*list, ",");
    char name[SLUICE_NAME_SIZE] = "";
    int column;

    if (length >= sizeof(name)) {
        return schema_no_column(schema, stage, *list);
    }
    memcpy(name, *list, length);
    *list = (*list)[length] == ',' ? *list + length + 1 : NULL;
    column = schema_find(schema, name);
    *column_out = (uint32_t)column;
    return column >= 0 ? SLUICE_OK : schema_no_column(schema, stage, name);
}

/* Adds column i to the images that a stage was given. */
static sluice_status select_image(const stage_schema *schema, const char *stage, uint32_t i,
                                  column_set *images)
{
    if (!schema_is_image(schema, i)) {
        const bool is_plain = schema->infos[i].role == ROLE_PLAIN;

        return sli_fail(SLUICE_E_INVALID, "%s: columns=%s must name images; %s is %s%s", stage,
                        schema->columns[i].name, schema->columns[i].name,
                        schema_role_words(schema, i),
                        is_plain ? "; cast, or a map, converts it" : "");
    }
    if ((*images >> i & 1) != 0) {
        return sli_fail(SLUICE_E_INVALID, "%s: columns: %s is named twice", stage,
                        schema->columns[i].name);
    }
    *images |= (column_set)1 << i;
    return SLUICE_OK;
}

sluice_status schema_select_images(const stage_schema *schema, const char *stage, const char *names,
                                   column_set *images_out)
{
    const char *list = names[0] != '\0' ? names : NULL;
    column_set images = 0;

    for (uint32_t i = 0; i < schema->column_count && list == NULL; i++) {
        images |= (column_set)schema_is_image(schema, i) << i;
    }
    while (list != NULL) {
        uint32_t column = 0;
        sluice_status st = schema_next_column(&list, schema, stage, &column);

        if (st == SLUICE_OK) {
            st = select_image(schema, stage, column, &images);
        }
        if (st != SLUICE_OK) {
            return st;
        }
    }
    *images_out = images;
    return SLUICE_OK;
}

void schema_size_followers(stage_schema *schema)
{
    const sluice_column *image = schema->image >= 0 ? &schema->columns[schema->image] : NULL;

    for (uint32_t i = 0; i < schema->column_count && image != NULL; i++) {
        const bool is_mask = schema->infos[i].role == ROLE_MASK;
        sluice_column *column = &schema->columns[i];

        if ((is_mask && column->dtype == SLUICE_U8) ||
            (schema->infos[i].role == ROLE_IMAGE && column->dtype != SLUICE_ENCODED)) {
            memcpy(&column->shape[schema->infos[i].is_chw ? 1 : 0],
                   &image->shape[schema->infos[schema->image].is_chw ? 1 : 0],
                   2 * sizeof(uint64_t));
        }
    }
}

void schema_number_buffers(stage_schema *schema)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        schema->infos[i].buffer = i;
        schema->infos[i].white = schema_white(schema->columns[i].dtype);
    }
    schema->buffer_count = schema->column_count;
    schema->source_buffers = schema->column_count;
    for (uint32_t i = 0; i < schema->column_count; i++) {
        schema_note_count(schema, i);
    }
}

void schema_note_count(stage_schema *schema, uint32_t boxes)
{
    const int length = schema->infos[boxes].role == ROLE_BOXES
                           ? schema_find_buffer(schema, schema->infos[boxes].length)
                           : -1;

    if (length >= 0) {
        schema->infos[length].counts_boxes = true;
    }
}

bool schema_is_early(const stage_schema *schema, uint32_t column)
{
    const column_info *info = &schema->infos[column];

    return (int)column != schema->image && info->role == ROLE_PLAIN &&
           info->buffer < schema->source_buffers &&
           !(info->counts_boxes && schema_has(schema, STATE_BOXES_FINAL));
}

int schema_find(const stage_schema *schema, const char *name)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (strcmp(schema->columns[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

int schema_find_buffer(const stage_schema *schema, uint32_t buffer)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (schema->infos[i].buffer == buffer) {
            return (int)i;
        }
    }
    return -1;
}

bool schema_is_tied(const column_info *info)
{
    return info->role == ROLE_TIED || (info->role == ROLE_POINTS && info->is_tied);
}

int schema_owner(const stage_schema *schema, uint32_t column)
{
    const column_info *info = &schema->infos[column];

    for (uint32_t i = 0; i < schema->column_count && schema_is_tied(info); i++) {
        const column_role role = schema->infos[i].role;

        if ((role == ROLE_BOXES || role == ROLE_POINTS) &&
            schema->infos[i].buffer == info->tied_to) {
            return (int)i;
        }
    }
    return -1;
}

int schema_length_buffer(const stage_schema *schema, uint32_t column)
{
    const int owner =
        schema->infos[column].role == ROLE_TIED ? schema_owner(schema, column) : (int)column;
    const column_info *info = &schema->infos[owner >= 0 ? (uint32_t)owner : column];
    char name[SLUICE_NAME_SIZE + 8];
    int length;

    if (info->role == ROLE_BOXES || info->role == ROLE_POINTS) {
        return info->length != SCHEMA_NO_LENGTH ? (int)info->length : -1;
    }
    if (info->counted > 0) {
        return (int)info->counted - 1;
    }
    snprintf(name, sizeof(name), "%s_length", schema->columns[column].name);
    length = schema_find(schema, name);
    return length >= 0 && schema->columns[length].dtype == SLUICE_I32 &&
                   schema->columns[length].rank == 0 && schema->columns[column].rank > 0
               ? (int)schema->infos[length].buffer
               : -1;
}

void schema_keep_length(stage_schema *schema, uint32_t length)
{
    const uint32_t buffer = schema->infos[length].buffer;

    for (uint32_t i = 0; i < schema->column_count; i++) {
        column_info *info = &schema->infos[i];

        if (i != length && info->role == ROLE_PLAIN &&
            schema_length_buffer(schema, i) == (int)buffer) {
            info->counted = buffer + 1;
        }
    }
}

sluice_status schema_no_column(const stage_schema *schema, const char *stage, const char *name)
{
    char names[SLUICE_MAX_COLUMNS * (SLUICE_NAME_SIZE + 2)] = "";
    size_t used = 0;

    for (uint32_t i = 0; i < schema->column_count; i++) {
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? ", " : "",
                                 schema->columns[i].name);
    }
    return sli_fail(SLUICE_E_INVALID, "%s: there is no column '%.100s'; there are %s", stage, name,
                    names);
}

bool schema_lacks_size(const stage_schema *schema)
{
    const uint32_t at = schema->image >= 0 && schema->infos[schema->image].is_chw ? 1 : 0;
    const sluice_column *column = schema->image >= 0 ? &schema->columns[schema->image] : NULL;

    return column != NULL && column->dtype != SLUICE_ENCODED && column->rank == IMAGE_RANK &&
           (column->shape[at] == 0 || column->shape[at + 1] == 0);
}

void schema_unset_size(stage_schema *schema, const char *stage)
{
    schema->columns[schema->image].shape[SCHEMA_H] = 0;
    schema->columns[schema->image].shape[SCHEMA_W] = 0;
    schema->random_size = stage;
}

void schema_add_views(const stage_schema *schema, sluice_column *column)
{
    if (schema->view_count > 0 && column->rank == IMAGE_RANK) {
        memmove(&column->shape[1], &column->shape[0], IMAGE_RANK * sizeof(column->shape[0]));
        column->shape[0] = schema->view_count;
        column->rank = IMAGE_RANK + 1;
    }
}

void schema_set_size(stage_schema *schema, uint32_t width, uint32_t height)
{
    if (schema_lacks_size(schema)) {
        uint64_t *shape =
            &schema->columns[schema->image].shape[schema->infos[schema->image].is_chw ? 1 : 0];

        shape[0] = height;
        shape[1] = width;
        schema_size_followers(schema);
    }
}

/* True if the name is a C identifier, which every file format and language can use. */
static bool is_column_name(const char *name)
{
    for (const char *c = name; *c != '\0'; c++) {
        const bool is_letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';

        if (!is_letter && (c == name || *c < '0' || *c > '9')) {
            return false;
        }
    }
    return name[0] != '\0';
}

sluice_status schema_array_column(stage_schema *schema, const char *stage, const char *name,
                                  sluice_column **column_out)
{
    const int column = schema_find(schema, name);

    if (column < 0) {
        return schema_no_column(schema, stage, name);
    }
    if (column == schema->image || schema_follows(schema->infos[column].role)) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s is an image, or follows it; the stage is for plain columns", stage,
                        name);
    }
    if (schema->buffer_count + SCHEMA_MAX_MAPS >= SCHEMA_MAX_BUFFERS) {
        return sli_fail(SLUICE_E_INVALID, "%s: too many stages that compute columns", stage);
    }
    schema_keep_length(schema, (uint32_t)column);
    schema->infos[column].buffer = schema->buffer_count++; /* of boxes: it still has their length */
    schema->infos[column].rows = 0; /* the stage decides what the rows after the last one are */
    *column_out = &schema->columns[column];
    return SLUICE_OK;
}

sluice_status schema_check_name(const char *name, const char *stage)
{
    if (strlen(name) >= SLUICE_NAME_SIZE) {
        return sli_fail(SLUICE_E_INVALID, "%s: the column name '%.100s' is longer than %d bytes",
                        stage, name, SLUICE_NAME_SIZE - 1);
    }
    return is_column_name(name)
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "%s: the column name '%s' must be letters, digits and _, without a digit "
                          "first",
                          stage, name);
}

/* True if the column is an array of images that transforms can process. */
bool schema_is_raw_image(const sluice_column *column)
{
    const uint64_t *shape = column->shape;

    return strcmp(column->name, "image") == 0 && column->dtype == SLUICE_U8 && column->rank == 3 &&
           shape[SCHEMA_H] <= 65535 && shape[SCHEMA_W] <= 65535 &&
           shape[SCHEMA_C] <= SLI_MAX_CHANNELS;
}

sluice_status schema_check_names(const stage_schema *schema, const char *stage)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const char *name = schema->columns[i].name;
        const sluice_status st = schema_check_name(name, stage);

        if (st != SLUICE_OK) {
            return st;
        }
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(schema->columns[k].name, name) == 0) {
                return sli_fail(SLUICE_E_INVALID, "%s: two columns have the name %s", stage, name);
            }
        }
    }
    return SLUICE_OK;
}

sluice_status schema_of_arrays(const sluice_column *columns, uint32_t count, const char *stage,
                               stage_schema *schema)
{
    for (uint32_t i = 0; i < count; i++) {
        schema->columns[i] = columns[i];
        schema->image = schema_is_raw_image(&columns[i]) ? (int)i : schema->image;
    }
    schema->column_count = count;
    return schema_check_names(schema, stage);
}
