/* SPDX-License-Identifier: Apache-2.0 */
/* geometry: adds a column with the affine map from pixels of the batch's image to the file's. */
#include <stdio.h>
#include <string.h>

#include "stage.h"
#include "status_int.h"

typedef struct geometry_args {
    const char *column;
} geometry_args;

static sluice_status check_place(const stage_schema *schema)
{
    if (schema->image < 0 || schema->columns[schema->image].dtype == SLUICE_ENCODED) {
        return fail_missing_image(schema, "geometry");
    }
    if (schema->buffer_count + SCHEMA_MAX_MAPS >= SCHEMA_MAX_BUFFERS) {
        return sli_fail(SLUICE_E_INVALID, "geometry: too many stages that compute columns");
    }
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (schema->infos[i].role == ROLE_GEOMETRY) {
            return sli_fail(SLUICE_E_INVALID, "geometry: column %s has it already",
                            schema->columns[i].name);
        }
    }
    return SLUICE_OK;
}

static sluice_status geometry_infer(const void *opaque, stage_schema *schema)
{
    const char *name = ((const geometry_args *)opaque)->column;
    sluice_status st = check_place(schema);
    sluice_column *column;

    if (st == SLUICE_OK) {
        st = schema_check_name(name, "geometry");
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (schema_find(schema, name) >= 0 || schema->column_count == SLUICE_MAX_COLUMNS) {
        return sli_fail(SLUICE_E_INVALID,
                        "geometry: there is a column %s already, or there are %d columns", name,
                        SLUICE_MAX_COLUMNS);
    }
    schema->infos[schema->column_count] =
        (column_info){.role = ROLE_GEOMETRY, .buffer = schema->buffer_count++};
    column = &schema->columns[schema->column_count++];
    *column = (sluice_column){.dtype = SLUICE_F32, .rank = 2, .shape = {2, 3}};
    snprintf(column->name, sizeof(column->name), "%s", name);
    return SLUICE_OK;
}

static const stage_param geometry_params[] = {
    PARAM_(geometry_args, column, PARAM_TEXT, "geometry", 0, 0, NULL, "name of the new column"),
};

const stage_def stage_geometry = {
    .name = "geometry",
    .summary = "Adds a column: the affine map from the image of the batch to that of the file.",
    .gives = "geometry f32 (2, 3): (x, y) of the file = geometry times (x, y, 1) of the batch",
    .details = "For coordinates that the program handles itself. A point (X, Y) of the batch's "
               "image, before to_chw, is at (x, y) of the file's image; m is the map:\n"
               "  x = m[0][0] * X + m[0][1] * Y + m[0][2]\n"
               "  y = m[1][0] * X + m[1][1] * Y + m[1][2]\n"
               "All images of a sample have the same map. It includes all crops, resizes, "
               "paddings and flips of the pipeline, also those after this stage. Coordinates "
               "are as for boxes: pixel i of a line covers [i, i + 1), and its centre is i + "
               "0.5. For pixel indices i, whose centres are integers as in OpenCV, use X = i + "
               "0.5 and subtract 0.5 from the result. The map is computed in f64 and rounded "
               "once to f32.\n"
               "It is refused before decode, after a map, if another column has this name, and "
               "a second time in a pipeline.",
    .kind = STAGE_COLUMNS,
    STAGE_PARAMS(geometry_params),
    .args_size = sizeof(geometry_args),
    .adds_map = true,
    .infer = geometry_infer,
};
