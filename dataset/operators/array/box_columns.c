/* SPDX-License-Identifier: Apache-2.0 */
#include "box_columns.h"

#include "array_values.h"
#include "status_int.h"

sluice_status box_columns_boxes(const stage_schema *schema, const char *stage, const char *name,
                                uint32_t *boxes_out)
{
    const int at = schema_find(schema, name);

    if (at < 0) {
        return schema_no_column(schema, stage, name);
    }
    if (schema->infos[at].role != ROLE_BOXES) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s is %s, and must be a column of boxes", stage,
                        name, schema_role_words(schema, (uint32_t)at));
    }
    *boxes_out = (uint32_t)at;
    return SLUICE_OK;
}

sluice_status box_columns_classes(const stage_schema *schema, const char *stage, const char *name,
                                  uint32_t boxes)
{
    const int at = schema_find(schema, name);

    if (at < 0) {
        return schema_no_column(schema, stage, name);
    }
    if (schema->infos[at].role != ROLE_TIED || schema_owner(schema, (uint32_t)at) != (int)boxes ||
        schema->columns[at].rank != 1 || !array_is_integer(schema->columns[at].dtype)) {
        char type[80];

        return sli_fail(SLUICE_E_INVALID,
                        "%s: classes=%s is %s, %s, and must have one integer for each box of %s",
                        stage, name, schema_role_words(schema, (uint32_t)at),
                        column_type_text(&schema->columns[at], type, sizeof(type)),
                        schema->columns[boxes].name);
    }
    return SLUICE_OK;
}
