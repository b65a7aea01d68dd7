/* SPDX-License-Identifier: Apache-2.0 */
#include "box_rows.h"

#include <string.h>

#include "box_rule.h"

size_t box_rows_bytes(const sluice_column *column)
{
    size_t size = sluice_dtype_size(column->dtype);

    for (uint32_t i = 1; i < column->rank; i++) {
        size *= (size_t)column->shape[i];
    }
    return size;
}

bool box_rows_belong(const stage_schema *schema, uint32_t i, uint32_t boxes)
{
    const column_info *info = &schema->infos[i];

    if (!schema_is_tied(info)) {
        return false;
    }
    return info->tied_to == boxes ||
           (info->role == ROLE_TIED && schema_is_tied(&schema->infos[info->tied_to]) &&
            schema->infos[info->tied_to].tied_to == boxes);
}

void box_rows_move(const stage_schema *schema, uint32_t boxes, void *const *rows, uint32_t from,
                   uint32_t to, bool with_box)
{
    for (uint32_t i = 0; i < schema->column_count && from != to; i++) {
        const size_t size = box_rows_bytes(&schema->columns[i]);
        uint8_t *row = rows[i];

        if (row != NULL && (i == boxes ? with_box : box_rows_belong(schema, i, boxes))) {
            memmove(row + to * size, row + from * size, size);
        }
    }
}

void box_rows_end(const stage_schema *schema, uint32_t boxes, void *const *rows, uint32_t count)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const sluice_column *column = &schema->columns[i];
        const size_t size = box_rows_bytes(column);

        if (rows[i] != NULL && (i == boxes || box_rows_belong(schema, i, boxes))) {
            memset((uint8_t *)rows[i] + count * size, 0, ((size_t)column->shape[0] - count) * size);
        }
    }
    *(int32_t *)rows[schema->infos[boxes].length] = (int32_t)count;
}

void box_rows_note(changed_boxes *changed, uint32_t column, uint32_t i, const float *box)
{
    if (changed->count++ == 0) {
        changed->column = column;
        changed->number = i + 1;
        memcpy(changed->box, box, sizeof(changed->box));
    }
}

sluice_status box_rows_judge(const stage_schema *schema, uint32_t boxes, void *const *rows,
                             uint32_t count, changed_boxes *clipped_out, changed_boxes *dropped_out)
{
    const float size = schema->infos[boxes].in_parts ? 1 : 0;
    float(*listed)[4] = rows[boxes];
    uint32_t kept = 0;

    clipped_out->count = 0;
    dropped_out->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        float box[4];
        box_verdict verdict;

        memcpy(box, listed[i], sizeof(box));
        verdict = box_judge(box, size, size);
        if (verdict == BOX_OUTSIDE || verdict == BOX_INVALID) {
            return box_fail(verdict, schema->columns[boxes].name, i + 1, listed[i], size, size);
        }
        if (verdict != BOX_INSIDE) {
            box_rows_note(verdict == BOX_EMPTY ? dropped_out : clipped_out, boxes, i, listed[i]);
        }
        if (verdict != BOX_EMPTY) {
            memcpy(listed[kept], box, sizeof(box));
            box_rows_move(schema, boxes, rows, i, kept++, false);
        }
    }
    if (dropped_out->count > 0) {
        box_rows_end(schema, boxes, rows, kept);
    }
    return SLUICE_OK;
}
