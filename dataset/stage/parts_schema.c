/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset_parts.h"

#include <stdio.h>
#include <string.h>

#include "status_int.h"

/* Finds the column whose bytes are in a buffer. */
static bool find_buffer(const stage_schema *schema, uint32_t buffer, uint32_t *column_out)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (schema->infos[i].buffer == buffer) {
            *column_out = i;
            return true;
        }
    }
    return false;
}

/*
 * Renumbers a buffer on which column `name` depends, for the group. base: number of columns of the
 * group before the part. `what`: what is in that buffer, for messages.
 */
static sluice_status renumber(const char *part, const stage_schema *columns, const char *name,
                              const char *what, uint32_t base, uint32_t *buffer)
{
    uint32_t column;

    if (!find_buffer(columns, *buffer, &column)) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: column %s lacks %s; keep it, and drop it after the group", part, name,
                        what);
    }
    *buffer = base + column;
    return SLUICE_OK;
}

/* The buffer of the number of rows of column i (column_info.rows), renumbered for the group. 0: the
 * part has no such column. */
static uint32_t renumber_rows(const stage_schema *columns, uint32_t i, uint32_t base)
{
    const uint32_t rows = columns->infos[i].rows;
    uint32_t column;

    return rows > 0 && find_buffer(columns, rows - 1, &column) ? base + column + 1 : 0;
}

/* Renumbers the buffers that a column refers to: those of the number of its rows, and that of the
 * boxes or points to which it belongs. */
static sluice_status follow(const char *part, const stage_schema *columns, uint32_t i,
                            uint32_t base, column_info *info)
{
    const char *name = columns->columns[i].name;
    sluice_status st = SLUICE_OK;

    if ((info->role == ROLE_BOXES || info->role == ROLE_POINTS) &&
        info->length != SCHEMA_NO_LENGTH) {
        st = renumber(part, columns, name, "the column of its length", base, &info->length);
    }
    info->rows = renumber_rows(columns, i, base);
    if (st == SLUICE_OK && info->counted > 0) {
        uint32_t length = info->counted - 1;

        st = renumber(part, columns, name, "the column of its length", base, &length);
        info->counted = length + 1;
    }
    return st == SLUICE_OK && schema_is_tied(info)
               ? renumber(part, columns, name, "its column of boxes or points", base,
                          &info->tied_to)
               : st;
}

/* Makes the image of a part the image of the group or, if that has one, a further image. */
static void place_image(stage_schema *group, uint32_t at)
{
    if (group->image < 0) {
        group->image = (int)at;
        return;
    }
    group->infos[at].role = ROLE_IMAGE;
}

sluice_status parts_schema_join(const char *part, const stage_schema *columns, stage_schema *group)
{
    const uint32_t base = group->column_count;

    if (base + columns->column_count > SLUICE_MAX_COLUMNS) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %u columns in all, and there must be at most %d; drop some", part,
                        base + columns->column_count, SLUICE_MAX_COLUMNS);
    }
    for (uint32_t i = 0; i < columns->column_count; i++) {
        const uint32_t at = base + i;
        sluice_status st;

        if (schema_find(group, columns->columns[i].name) >= 0) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: there is a column %s already; put `rename %s NAME` or `drop %s` "
                            "into the part",
                            part, columns->columns[i].name, columns->columns[i].name,
                            columns->columns[i].name);
        }
        group->columns[at] = columns->columns[i];
        group->infos[at] = columns->infos[i];
        st = follow(part, columns, i, base, &group->infos[at]);
        if (st != SLUICE_OK) {
            return st;
        }
        group->column_count++;
        if ((int)i == columns->image) {
            place_image(group, at);
        }
    }
    return SLUICE_OK;
}

void parts_schema_keep_rows(const stage_schema *columns, stage_schema *group)
{
    for (uint32_t i = 0; i < group->column_count && i < columns->column_count; i++) {
        if (group->infos[i].rows != renumber_rows(columns, i, 0)) {
            group->infos[i].rows = 0;
        }
    }
}

/* Describes a column for messages: "image u8 (32, 32, 3)". */
static void describe(const stage_schema *schema, uint32_t i, char *text, size_t size)
{
    static const char *const roles[] = {[ROLE_PLAIN] = "",
                                        [ROLE_MASK] = " (mask)",
                                        [ROLE_BOXES] = " (boxes)",
                                        [ROLE_TIED] = " (of boxes or points)",
                                        [ROLE_IMAGE] = " (further image)",
                                        [ROLE_GEOMETRY] = " (geometry)",
                                        [ROLE_POINTS] = " (points)"};
    const sluice_column *column = &schema->columns[i];
    size_t used = (size_t)snprintf(
        text, size, "%s %s", column->name,
        column->dtype == SLUICE_ENCODED ? "encoded" : sluice_dtype_name(column->dtype));

    for (uint32_t d = 0; d < column->rank && used < size; d++) {
        used += (size_t)snprintf(text + used, size - used, "%s%llu%s", d == 0 ? " (" : ", ",
                                 (unsigned long long)column->shape[d],
                                 d + 1 == column->rank ? ")" : "");
    }
    if (used < size) {
        snprintf(text + used, size - used, "%s%s%s", roles[schema->infos[i].role],
                 schema->infos[i].in_parts ? " (fractions of the image)" : "",
                 schema->infos[i].counted > 0 ? " (ragged)" : "");
    }
}

/* True if column i is the same in both schemas, each the columns of one part. */
static bool is_same(const stage_schema *a, const stage_schema *b, uint32_t i)
{
    const sluice_column *left = &a->columns[i];
    const sluice_column *right = &b->columns[i];
    const column_info *one = &a->infos[i];
    const column_info *other = &b->infos[i];

    return strcmp(left->name, right->name) == 0 && left->dtype == right->dtype &&
           left->rank == right->rank &&
           memcmp(left->shape, right->shape, left->rank * sizeof(left->shape[0])) == 0 &&
           one->role == other->role && one->tied_to == other->tied_to &&
           one->is_tied == other->is_tied && one->length == other->length &&
           one->counted == other->counted && one->in_parts == other->in_parts &&
           (a->image == (int)i) == (b->image == (int)i);
}

sluice_status parts_schema_agree(const char *part, const stage_schema *columns,
                                 const stage_schema *first)
{
    stage_schema want = {.image = -1};
    stage_schema have = {.image = -1};
    char wanted[200];
    char had[200];
    sluice_status st = parts_schema_join("part 1", first, &want);

    if (st == SLUICE_OK) {
        st = parts_schema_join(part, columns, &have);
    }
    for (uint32_t i = 0; st == SLUICE_OK && i < want.column_count; i++) {
        if (i >= have.column_count) {
            return sli_fail(SLUICE_E_INVALID, "%s: it lacks the column %s of part 1", part,
                            want.columns[i].name);
        }
        if (!is_same(&want, &have, i)) {
            describe(&want, i, wanted, sizeof(wanted));
            describe(&have, i, had, sizeof(had));
            return sli_fail(SLUICE_E_INVALID,
                            "%s: its column %u is %s, that of part 1 is %s; parts have the same "
                            "columns in the same order (rename, project and drop may stand in "
                            "parts)",
                            part, i + 1, had, wanted);
        }
    }
    return st == SLUICE_OK && have.column_count > want.column_count
               ? sli_fail(SLUICE_E_INVALID,
                          "%s: part 1 has no column %s; put `drop %s` into the part", part,
                          have.columns[want.column_count].name,
                          have.columns[want.column_count].name)
               : st;
}
