/* SPDX-License-Identifier: Apache-2.0 */
/* The project and drop stages: select and order the columns of a batch. */
#include <string.h>

#include "stage.h"
#include "status_int.h"

typedef struct project_args {
    const char *columns; /* comma-separated names */
} project_args;

/* Reduces the schema to these `count` columns, given by index in their new order. */
static void keep_columns(stage_schema *schema, const uint32_t *kept, uint32_t count)
{
    const stage_schema before = *schema;

    schema->image = -1;
    schema->column_count = count;
    for (uint32_t i = 0; i < count; i++) {
        schema->columns[i] = before.columns[kept[i]];
        schema->infos[i] = before.infos[kept[i]];
        schema->image = (int)kept[i] == before.image ? (int)i : schema->image;
    }
}

static sluice_status project_infer(const void *opaque, stage_schema *schema)
{
    const char *list = ((const project_args *)opaque)->columns;
    uint32_t kept[SLUICE_MAX_COLUMNS];
    bool taken[SLUICE_MAX_COLUMNS] = {false};
    uint32_t count = 0;

    do {
        uint32_t column = 0;
        const sluice_status st = schema_next_column(&list, schema, "project", &column);

        if (st != SLUICE_OK) {
            return st;
        }
        if (taken[column]) {
            return sli_fail(SLUICE_E_INVALID, "project: column %s is given twice",
                            schema->columns[column].name);
        }
        taken[column] = true;
        kept[count++] = column;
    } while (list != NULL);
    keep_columns(schema, kept, count);
    return SLUICE_OK;
}

static sluice_status drop_infer(const void *opaque, stage_schema *schema)
{
    const char *list = ((const project_args *)opaque)->columns;
    uint32_t kept[SLUICE_MAX_COLUMNS];
    bool dropped[SLUICE_MAX_COLUMNS] = {false};
    uint32_t count = 0;

    do {
        uint32_t column = 0;
        const sluice_status st = schema_next_column(&list, schema, "drop", &column);

        if (st != SLUICE_OK) {
            return st;
        }
        dropped[column] = true;
    } while (list != NULL);
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (!dropped[i]) {
            kept[count++] = i;
        }
    }
    if (count == 0) {
        return sli_fail(SLUICE_E_INVALID, "drop: it would leave no column");
    }
    keep_columns(schema, kept, count);
    return SLUICE_OK;
}

static const stage_param project_params[] = {
    PARAM_(project_args, columns, PARAM_TEXT, NULL, 0, 0, NULL, "names, with commas"),
};

const stage_def stage_project = {
    .name = "project",
    .summary = "Keeps these columns, in this order, and drops the others.",
    .gives = "the columns named",
    .details = "Selecting, ordering and renaming columns costs nothing: no bytes are copied, "
               "and a column that no later stage needs is not written. An image that is "
               "dropped before decode is not decoded, unless masks, boxes, points or further "
               "images follow it. Each name is there at most once.",
    .kind = STAGE_COLUMNS,
    STAGE_PARAMS(project_params),
    .args_size = sizeof(project_args),
    .infer = project_infer,
};

const stage_def stage_drop = {
    .name = "drop",
    .summary = "Drops columns.",
    .gives = "the other columns",
    .details = "At least one column must remain. An image that is dropped before decode is not "
               "decoded, unless masks, boxes, points or further images follow it. No bytes are "
               "copied.",
    .kind = STAGE_COLUMNS,
    STAGE_PARAMS(project_params),
    .args_size = sizeof(project_args),
    .infer = drop_infer,
};
