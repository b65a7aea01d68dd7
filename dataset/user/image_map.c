/* SPDX-License-Identifier: Apache-2.0 */
/* Image maps: maps and filters that are called with the whole image, before geometry. Which maps
 * these are, and what they read and write. */
#include "custom_map.h"
#include "status_int.h"

/* True if a column is an image, or follows one. */
static bool is_of_image(const stage_schema *schema, int column)
{
    return column >= 0 && (column == schema->image || schema->infos[column].role != ROLE_PLAIN);
}

/* The first column of the image, or of what follows it, that a map reads or writes; NULL: none. */
static const char *column_of_image(const custom_map *map, const stage_schema *schema)
{
    const stage_schema *own = &map->outputs.schema;

    for (uint32_t i = 0; i < map->input_count; i++) {
        if (is_of_image(schema, schema_find(schema, map->inputs[i]))) {
            return map->inputs[i];
        }
    }
    for (uint32_t i = 0; i < own->column_count; i++) {
        if (is_of_image(own, (int)i) ||
            is_of_image(schema, schema_find(schema, own->columns[i].name))) {
            return own->columns[i].name;
        }
    }
    return NULL;
}

/* True if the image is as geometry needs it: decoded, of bytes, (H, W, C), on the host, and not
 * written by a map after geometry. */
static bool is_before_geometry(const stage_schema *schema)
{
    return schema->image >= 0 && !schema_has(schema, STATE_MAPPED) &&
           !schema_has(schema, STATE_ON_DEVICE) && schema->view_count == 0 &&
           !schema_has(schema, STATE_CONVERTED) &&
           schema->columns[schema->image].dtype == SLUICE_U8;
}

/* True if a buffer has its value as soon as the source has read a sample, or an image map has
 * been called. */
static bool is_ready(const stage_schema *schema, uint32_t buffer)
{
    const int column = schema_find_buffer(schema, buffer);

    return column >= 0 && schema->infos[column].role == ROLE_PLAIN
               ? schema_is_early(schema, (uint32_t)column) || schema->infos[column].is_ready
               : buffer < schema->source_buffers;
}

/* True if an image map can read the column. */
static bool can_read(const stage_schema *schema, int column)
{
    int length;

    if (column < 0 || column == schema->image) {
        return true; /* find_inputs() refuses one that does not exist */
    }
    length = schema_length_buffer(schema, (uint32_t)column);
    return schema->infos[column].role == ROLE_PLAIN &&
           is_ready(schema, schema->infos[column].buffer) &&
           (length < 0 || is_ready(schema, (uint32_t)length));
}

/* True if an image map can write column i of its own: the first image, or a plain one. */
static bool can_write(const stage_schema *schema, const stage_schema *own, uint32_t i)
{
    const int column = schema_find(schema, own->columns[i].name);

    return (int)i == own->image ? column == schema->image
                                : own->infos[i].role == ROLE_PLAIN && !is_of_image(schema, column);
}

/* The first column that an image map cannot read or write; NULL: none. */
static const char *refused_column(const custom_map *map, const stage_schema *schema)
{
    const stage_schema *own = &map->outputs.schema;

    for (uint32_t i = 0; i < map->input_count; i++) {
        if (!can_read(schema, schema_find(schema, map->inputs[i]))) {
            return map->inputs[i];
        }
    }
    for (uint32_t i = 0; i < own->column_count; i++) {
        if (!can_write(schema, own, i)) {
            return own->columns[i].name;
        }
    }
    return NULL;
}

static bool can_be_image_map(const custom_map *map, const stage_schema *schema)
{
    return column_of_image(map, schema) != NULL && is_before_geometry(schema) &&
           refused_column(map, schema) == NULL;
}

bool custom_map_is_image_map(const custom_map *map, const stage_schema *before)
{
    return map->before_geometry && can_be_image_map(map, before);
}

sluice_status custom_map_check_before_geometry(const custom_map *map, const stage_schema *schema)
{
    const char *name = column_of_image(map, schema);
    const char *refused = refused_column(map, schema);

    if (name == NULL) {
        return SLUICE_OK;
    }
    if (!is_before_geometry(schema)) {
        return sli_fail(
            SLUICE_E_INVALID,
            "%s: it works on %s, before a crop, resize, flip or colour stage, where the "
            "image must be decoded, uint8 (height, width, channels) and one view; put "
            "%s after those stages",
            map->name, name, map->name);
    }
    return sli_fail(SLUICE_E_INVALID,
                    "%s: it works on %s, and comes before a crop, resize, flip or colour stage, "
                    "where a map reads %s and plain columns of the source, and writes %s and plain "
                    "columns; put %s after those stages",
                    map->name, refused, schema->columns[schema->image].name,
                    schema->columns[schema->image].name, map->name);
}

bool custom_map_goes_before_geometry(void *args, const stage_schema *before, bool follows)
{
    custom_map *map = ((map_args *)args)->map;

    if (map != NULL && !map->before_geometry) {
        map->before_geometry =
            follows || (schema_lacks_size(before) && can_be_image_map(map, before));
    }
    return map != NULL && map->before_geometry;
}

/* The declared column of the image; NULL: the map writes none. */
static const custom_column *image_output(const custom_map *map)
{
    for (uint32_t i = 0; i < map->outputs.count; i++) {
        if (map->outputs.schema.image == (int)map->outputs.columns[i].column) {
            return &map->outputs.columns[i];
        }
    }
    return NULL;
}

bool custom_map_declares_size(const void *args)
{
    const custom_map *map = ((const map_args *)args)->map;
    const custom_column *image = map != NULL && map->before_geometry ? image_output(map) : NULL;

    return image != NULL && !image->varies;
}
