/* SPDX-License-Identifier: Apache-2.0 */
#include "custom_batch.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "custom_sample.h"
#include "status_int.h"

const sli_struct custom_batch_struct = SLI_STRUCT(sluice_map_batch, user);

/* ---- making it ------------------------------------------------------------------------------- */

static sluice_status check_settings(const sluice_map_batch *map, const char *call)
{
    if (map->name == NULL || map->name[0] == '\0' || strlen(map->name) >= CUSTOM_NAME_SIZE) {
        return sli_fail(SLUICE_E_INVALID, "%s: name is NULL, empty or longer than %d bytes", call,
                        CUSTOM_NAME_SIZE - 1);
    }
    if (map->map == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s: map is NULL", call, map->name);
    }
    if ((map->input_count > 0 && map->inputs == NULL) ||
        (map->change_count > 0 && map->changes == NULL) ||
        (map->output_count > 0 && map->outputs == NULL)) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s: inputs, changes or outputs is NULL", call,
                        map->name);
    }
    if (map->input_count > SLUICE_MAX_COLUMNS || map->change_count > SLUICE_MAX_COLUMNS ||
        map->output_count > SLUICE_MAX_COLUMNS ||
        map->input_count + map->change_count + map->output_count > SLUICE_MAX_COLUMNS ||
        map->input_count + map->change_count + map->output_count == 0) {
        return sli_fail(
            SLUICE_E_INVALID,
            "%s: %s: %u inputs, %u changes and %u outputs; there must be 1 to %d in all", call,
            map->name, map->input_count, map->change_count, map->output_count, SLUICE_MAX_COLUMNS);
    }
    return SLUICE_OK;
}

static sluice_status add_column(custom_batch *made, const char *name, batch_access access)
{
    if (name == NULL || strlen(name) >= SLUICE_NAME_SIZE) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: the name of a column is NULL or longer than %d bytes", made->name,
                        SLUICE_NAME_SIZE - 1);
    }
    for (uint32_t i = 0; i < made->column_count; i++) {
        if (strcmp(made->columns[i].name, name) == 0) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: %s is listed twice; a column is one of inputs, changes or outputs",
                            made->name, name);
        }
    }
    snprintf(made->columns[made->column_count].name, SLUICE_NAME_SIZE, "%s", name);
    made->columns[made->column_count++].access = access;
    return SLUICE_OK;
}

/* Adds the new columns, which must be plain and not ragged. */
static sluice_status add_outputs(custom_batch *made, const sluice_map_batch *map)
{
    sluice_status st = SLUICE_OK;

    made->added.schema.image = -1;
    if (map->output_count > 0) {
        st = custom_columns_make(map->outputs, map->column_size, map->output_count, made->name,
                                 &made->added);
    }
    for (uint32_t i = 0; i < made->added.count && st == SLUICE_OK; i++) {
        const custom_column *column = &made->added.columns[i];

        if (column->role != SLUICE_ROLE_PLAIN || column->ragged) {
            st = sli_fail(SLUICE_E_INVALID,
                          "%s: %s: a column that a map of batches adds must have SLUICE_ROLE_PLAIN "
                          "and must not be ragged",
                          made->name, column->spec.name);
        } else {
            st = add_column(made, column->spec.name, BATCH_ADDS);
        }
    }
    return st;
}

static sluice_status copy_columns(custom_batch *made, const sluice_map_batch *map)
{
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < map->input_count && st == SLUICE_OK; i++) {
        st = add_column(made, map->inputs[i], BATCH_READS);
    }
    for (uint32_t i = 0; i < map->change_count && st == SLUICE_OK; i++) {
        st = add_column(made, map->changes[i], BATCH_CHANGES);
    }
    return st == SLUICE_OK ? add_outputs(made, map) : st;
}

sluice_status custom_batch_make(const sluice_map_batch *map, const char *call,
                                custom_batch **map_out)
{
    custom_batch *made;
    sluice_status st = check_settings(map, call);

    if (st != SLUICE_OK) {
        return st;
    }
    made = sli_calloc(1, sizeof(*made));
    if (made == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "map %s", map->name);
    }
    snprintf(made->name, sizeof(made->name), "%s", map->name);
    pthread_mutex_init(&made->lock, NULL);
    made->of = *map;
    made->guards = custom_sample_guards();
    st = copy_columns(made, map);
    if (st != SLUICE_OK) {
        custom_batch_free(made);
        return st;
    }
    *map_out = made;
    return SLUICE_OK;
}

void custom_batch_free(custom_batch *map)
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

void custom_batch_release(void *args)
{
    batch_map_args *own = args;

    if (own->map != NULL && own->map->is_added) {
        custom_batch_free(own->map);
        own->map = NULL;
    }
}

/* ---- columns --------------------------------------------------------------------------------- */

static sluice_status append_column(const custom_batch *map, const sluice_column *column,
                                   stage_schema *schema)
{
    if (schema_find(schema, column->name) >= 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: there is a column %s already; list it in changes, or give the output "
                        "another name",
                        map->name, column->name);
    }
    if (schema->column_count == SLUICE_MAX_COLUMNS) {
        return sli_fail(SLUICE_E_INVALID, "%s: with %s a batch has more than %d columns", map->name,
                        column->name, SLUICE_MAX_COLUMNS);
    }
    schema->columns[schema->column_count] = *column;
    schema->infos[schema->column_count++] = (column_info){.buffer = schema->buffer_count++};
    return SLUICE_OK;
}

sluice_status custom_batch_infer(const custom_batch *map, stage_schema *schema)
{
    sluice_status st = SLUICE_OK;

    if (schema->map_count == SCHEMA_MAX_MAPS ||
        schema->buffer_count + map->added.count + SCHEMA_MAX_MAPS > SCHEMA_MAX_BUFFERS) {
        return sli_fail(SLUICE_E_INVALID, "%s: a pipeline has at most %d maps and filters",
                        map->name, SCHEMA_MAX_MAPS);
    }
    for (uint32_t i = 0; i < map->column_count && st == SLUICE_OK; i++) {
        const int column = schema_find(schema, map->columns[i].name);

        if (map->columns[i].access == BATCH_ADDS) {
            continue;
        }
        if (column < 0) {
            return schema_no_column(schema, map->name, map->columns[i].name);
        }
        /* Workers must run all conversions of an image that the map uses. */
        schema->infos[column].is_fixed = true;
    }
    for (uint32_t i = 0; i < map->added.count && st == SLUICE_OK; i++) {
        st = append_column(map, &map->added.schema.columns[i], schema);
    }
    schema->map_count++;
    return st;
}
