/* SPDX-License-Identifier: Apache-2.0 */
#include "custom_map.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "custom_sample.h"
#include "status_int.h"
#include "tensor_int.h"

const sli_struct custom_map_struct = SLI_STRUCT(sluice_map, user);
const sli_struct custom_filter_struct = SLI_STRUCT(sluice_filter, user);

/* ---- making it ------------------------------------------------------------------------------- */

static sluice_status check_settings(const sluice_map *map, bool has_function, const char *call,
                                    const char *function)
{
    if (map->name == NULL || map->name[0] == '\0' || strlen(map->name) >= CUSTOM_NAME_SIZE) {
        return sli_fail(SLUICE_E_INVALID, "%s: name is NULL, empty or longer than %d bytes", call,
                        CUSTOM_NAME_SIZE - 1);
    }
    if (!has_function) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s: %s is NULL", call, map->name, function);
    }
    if (map->input_count > SLUICE_MAX_COLUMNS) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s: input_count is %u, and must be at most %d", call,
                        map->name, map->input_count, SLUICE_MAX_COLUMNS);
    }
    if (map->input_count > 0 && map->inputs == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s: inputs is NULL, and input_count is %u", call,
                        map->name, map->input_count);
    }
    return SLUICE_OK;
}

static sluice_status copy_inputs(custom_map *made, const sluice_map *map)
{
    for (uint32_t i = 0; i < map->input_count; i++) {
        const char *name = map->inputs[i];

        if (name == NULL || strlen(name) >= SLUICE_NAME_SIZE) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: the name of input %u is NULL or longer than %d "
                            "bytes",
                            made->name, i, SLUICE_NAME_SIZE - 1);
        }
        snprintf(made->inputs[i], SLUICE_NAME_SIZE, "%s", name);
    }
    made->input_count = map->input_count;
    return SLUICE_OK;
}

/* Refuses encoded outputs, which would need a decode after the map. */
static sluice_status check_outputs(const custom_map *made)
{
    for (uint32_t i = 0; i < made->outputs.count; i++) {
        if (made->outputs.columns[i].spec.dtype == SLUICE_ENCODED) {
            return sli_fail(SLUICE_E_UNSUPPORTED,
                            "%s: %s: a map cannot write an encoded image; a source can", made->name,
                            made->outputs.columns[i].spec.name);
        }
    }
    return SLUICE_OK;
}

static sluice_status make_without_outputs(const sluice_map *map, custom_map **map_out)
{
    custom_map *made = sli_calloc(1, sizeof(*made));
    sluice_status st;

    if (made == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "map %s", map->name);
    }
    snprintf(made->name, sizeof(made->name), "%s", map->name);
    pthread_mutex_init(&made->lock, NULL);
    made->of = *map;
    made->guards = custom_sample_guards();
    st = copy_inputs(made, map);
    if (st != SLUICE_OK) {
        custom_map_free(made);
        return st;
    }
    *map_out = made;
    return SLUICE_OK;
}

sluice_status custom_map_make(const sluice_map *map, const char *call, custom_map **map_out)
{
    custom_map *made = NULL;
    sluice_status st = check_settings(map, map->map != NULL, call, "map");

    if (st == SLUICE_OK) {
        st = make_without_outputs(map, &made);
    }
    if (st == SLUICE_OK) {
        st = custom_columns_make(map->outputs, map->column_size, map->output_count, made->name,
                                 &made->outputs);
    }
    if (st == SLUICE_OK) {
        st = check_outputs(made);
    }
    if (st != SLUICE_OK) {
        custom_map_free(made);
        return st;
    }
    *map_out = made;
    return SLUICE_OK;
}

sluice_status custom_filter_make(const sluice_filter *filter, const char *call,
                                 custom_map **map_out)
{
    const sluice_map map = {.name = filter->name,
                            .version = filter->version,
                            .serial = filter->serial,
                            .inputs = filter->inputs,
                            .input_count = filter->input_count,
                            .begin = filter->begin,
                            .end = filter->end,
                            .close = filter->close,
                            .user = filter->user};
    sluice_status st = check_settings(&map, filter->filter != NULL, call, "filter");

    if (st == SLUICE_OK) {
        st = make_without_outputs(&map, map_out);
    }
    if (st == SLUICE_OK) {
        (*map_out)->filter = filter->filter;
        (*map_out)->outputs.schema.image = -1;
    }
    return st;
}

sluice_status custom_map_add(sluice_dataset *dataset, const stage_def *def, const map_args *args)
{
    const sluice_status st = dataset_append(dataset, def, args);

    if (st != SLUICE_OK) {
        custom_map_free(args->map);
        return st;
    }
    args->map->is_added = true;
    return SLUICE_OK;
}

void custom_map_free(custom_map *map)
{
    if (map == NULL) {
        return;
    }
    if (map->is_added && map->of.close != NULL) {
        map->of.close(map->of.user);
    }
    pthread_mutex_destroy(&map->lock);
    sli_free(map);
}

void custom_map_release(void *args)
{
    map_args *own = args;

    if (own->map != NULL && own->map->is_added) {
        custom_map_free(own->map);
        own->map = NULL;
    }
}

/* ---- columns --------------------------------------------------------------------------------- */

/*
 * Replaces an undeclared height and width (0) of an image or mask by those of the current image,
 * which are 0 if not known yet.
 */
static void size_like_image(const stage_schema *before, uint64_t *shape)
{
    const uint32_t at = before->image >= 0 && before->infos[before->image].is_chw ? 1 : 0;

    if (before->image >= 0 && shape[SCHEMA_H] == 0) {
        memcpy(shape, &before->columns[before->image].shape[at], 2 * sizeof(*shape));
    }
}

void custom_map_outputs(const custom_map *map, const stage_schema *before, custom_columns *outputs)
{
    *outputs = map->outputs;
    for (uint32_t i = 0; i < outputs->count; i++) {
        custom_column *column = &outputs->columns[i];

        if (column->varies) {
            size_like_image(before, column->spec.shape);
            memcpy(outputs->schema.columns[column->column].shape, column->spec.shape,
                   sizeof(column->spec.shape));
            (void)sli_column_bytes(&column->spec, &column->bytes);
            column->varies = false;
        }
    }
}

/*
 * Checks that the inputs exist. If an image is an input, later conversions must write to another
 * buffer.
 */
static sluice_status find_inputs(const custom_map *map, bool is_image_map, stage_schema *schema)
{
    for (uint32_t i = 0; i < map->input_count; i++) {
        const int column = schema_find(schema, map->inputs[i]);

        if (column < 0) {
            return schema_no_column(schema, map->name, map->inputs[i]);
        }
        if (schema->columns[column].dtype == SLUICE_ENCODED) {
            return sli_fail(SLUICE_E_INVALID, "%s: %s is still encoded; put decode before it",
                            map->name, map->inputs[i]);
        }
        if (column == schema->image && schema->view_count > 0 && schema->batch_size == 0) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: column %s has %u views, which are together in the batch only; "
                            "use a map of whole batches",
                            map->name, map->inputs[i], schema->view_count);
        }
        if (!is_image_map) {
            schema->infos[column].is_fixed = true;
            if (schema->infos[column].role != ROLE_PLAIN) {
                schema_set_state(schema, STATE_MAPS_FOLLOWERS, map->name);
            }
        }
    }
    return SLUICE_OK;
}

/* Adds an output: replaces the column of the same name, or appends it. */
static sluice_status put_column(const custom_map *map, bool is_image_map, const stage_schema *own,
                                uint32_t i, uint32_t buffer, stage_schema *schema)
{
    int column = schema_find(schema, own->columns[i].name);

    if (is_image_map && column == schema->image) { /* it goes through geometry, in no buffer */
        schema->columns[column] = own->columns[i];
        schema->infos[column].white = 255;
        return SLUICE_OK;
    }
    if (column < 0) {
        if (schema->column_count == SLUICE_MAX_COLUMNS) {
            return sli_fail(SLUICE_E_INVALID, "%s: with %s a sample has more than %d columns",
                            map->name, own->columns[i].name, SLUICE_MAX_COLUMNS);
        }
        column = (int)schema->column_count++;
    } else if (column == schema->image) {
        schema->image = -1;
        schema->view_count = 0;
        schema->by[STATE_VIEWS] = NULL;
    }
    schema->columns[column] = own->columns[i];
    /* later stages do not move it */
    schema->infos[column] = (column_info){.buffer = buffer, .is_ready = is_image_map};
    if (own->infos[i].rows > 0) { /* the buffers of outputs are consecutive */
        schema->infos[column].rows = buffer - i + own->infos[i].rows;
    }
    if (schema_is_image(own, i)) {
        schema->infos[column].is_fixed = true;
        schema->infos[column].white = 255;
        if (schema->image < 0) {
            schema->image = column;
        } else {
            schema->infos[column].role = ROLE_IMAGE;
        }
    }
    return SLUICE_OK;
}

bool custom_map_is_early(const custom_map *map, const stage_schema *schema)
{
    for (uint32_t i = 0; i < map->input_count; i++) {
        const int column = schema_find(schema, map->inputs[i]);

        if (column < 0 || !schema_is_early(schema, (uint32_t)column)) {
            return false;
        }
    }
    return true;
}

/* Records that maps read or write masks, boxes, points or further images. */
static void note_followers(const custom_map *map, const custom_columns *outputs,
                           stage_schema *schema)
{
    for (uint32_t i = 0; i < outputs->count; i++) {
        const sluice_column_role role = outputs->columns[i].role;

        if (role == SLUICE_ROLE_MASK || role == SLUICE_ROLE_BOXES || role == SLUICE_ROLE_POINTS) {
            schema_set_state(schema, STATE_MAPS_FOLLOWERS, map->name);
        }
    }
}

sluice_status custom_map_infer(const custom_map *map, stage_schema *schema)
{
    const bool is_early = map->filter != NULL && custom_map_is_early(map, schema);
    const bool is_image_map = custom_map_is_image_map(map, schema);
    custom_columns outputs;
    const stage_schema *own = &outputs.schema;
    const uint32_t first = schema->buffer_count;
    sluice_status st;

    custom_map_outputs(map, schema, &outputs);
    if (schema->map_count == SCHEMA_MAX_MAPS ||
        first + own->column_count + SCHEMA_MAX_MAPS > SCHEMA_MAX_BUFFERS) {
        return sli_fail(SLUICE_E_INVALID, "%s: a pipeline has at most %d maps and filters",
                        map->name, SCHEMA_MAX_MAPS);
    }
    st = map->before_geometry && !is_image_map ? custom_map_check_before_geometry(map, schema)
                                               : SLUICE_OK;
    if (st == SLUICE_OK) {
        st = find_inputs(map, is_image_map, schema);
    }
    note_followers(map, &outputs, schema);
    for (uint32_t i = 0; i < own->column_count && st == SLUICE_OK; i++) {
        st = put_column(map, is_image_map, own, i, first + i, schema);
    }
    schema->buffer_count += own->column_count;
    schema->map_count++;
    schema->map_name = map->name;
    if (map->filter != NULL) {
        schema_set_state(schema, STATE_FILTERED, map->name);
    } else if (map->of.version == 0) {
        schema_set_state(schema, STATE_UNVERSIONED, map->name);
    }
    if (!is_early) {
        schema_set_state(schema, STATE_MAP, map->name);
        schema_set_state(schema, map->before_geometry ? STATE_MAPS_BEFORE_GEOMETRY : STATE_MAPPED,
                         map->name);
    }
    return st;
}
