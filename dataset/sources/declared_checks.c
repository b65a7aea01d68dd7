/* SPDX-License-Identifier: Apache-2.0 */
#include "declared_checks.h"

#include <stdio.h>
#include <string.h>

#include "box_rows.h"
#include "declared_source.h"
#include "point_range.h"
#include "status_int.h"

/* The number of rows up to the last one that is not zero: rows of zeros at the end are padding. */
static uint64_t count_rows(const uint8_t *rows, uint64_t most, size_t size)
{
    for (uint64_t count = most; count > 0; count--) {
        for (size_t i = 0; i < size; i++) {
            if (rows[(count - 1) * size + i] != 0) {
                return count;
            }
        }
    }
    return 0;
}

static sluice_status check_points(const declared_column *c, const uint8_t *rows, size_t bytes)
{
    for (size_t i = 0; i < bytes / (2 * sizeof(float)); i++) {
        float point[2];

        memcpy(point, rows + i * sizeof(point), sizeof(point));
        if (!point_is_valid(point)) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "%s: point %zu, %g,%g, must be x,y with numbers from -1e6 to 1e6",
                            c->type.name, i + 1, (double)point[0], (double)point[1]);
        }
    }
    return SLUICE_OK;
}

/* Determines the number of boxes or points of a column, writes or checks its length, and sets the
 * rows after it to zero. Checks points. */
static sluice_status check_rows(const declared_column *c, void *const *row, uint8_t *rows,
                                const int32_t *given, uint64_t *count_out)
{
    const uint64_t most = c->type.shape[0];
    const size_t size = c->bytes / most;
    uint64_t count = c->counts ? count_rows(rows, most, size) : most;

    if (given != NULL && (*given < 0 || (uint64_t)*given > most)) {
        return sli_fail(SLUICE_E_CORRUPT, "%s_length is %d, and must be 0 to %llu", c->type.name,
                        *given, (unsigned long long)most);
    }
    count = given != NULL ? (uint64_t)*given : count;
    *count_out = count;
    if (!c->is_declared) {
        return SLUICE_OK;
    }
    memset(rows + count * size, 0, (size_t)(most - count) * size);
    if (c->counts && row[c->length] != NULL) {
        *(int32_t *)row[c->length] = (int32_t)count;
    }
    return c->checks == ROLE_POINTS ? check_points(c, rows, (size_t)count * size) : SLUICE_OK;
}

/* Counts changed boxes of a column, and logs the first ones of the dataset. */
static void tell_change(const declared_source *d, uint64_t sample, sample_io *io, box_change change,
                        const changed_boxes *changed)
{
    char name[1024];

    if (changed->count == 0 ||
        !box_tally_add((box_tally *)(uintptr_t)&d->tally, sample, io,
                       d->columns[changed->column].boxes, change, changed->count)) {
        return;
    }
    if (d->of->next != NULL) {
        snprintf(name, sizeof(name), "%s", source_item_name(d->of, d->source, &io->item));
    } else {
        d->of->name(d->source, sample, name, sizeof(name));
    }
    box_tally_say(change, sample, name, d->schema->columns[changed->column].name, changed->number,
                  changed->box);
}

void declared_source_clipped(const sluice_dataset *dataset, uint64_t sample, sample_io *io,
                             const changed_boxes *clipped)
{
    tell_change(dataset->source, sample, io, BOX_CHANGE_CLIPPED, clipped);
}

sluice_status declared_check(const declared_source *d, uint64_t sample, sample_io *io,
                             void *const *row, void *const *rows)
{
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < d->count && st == SLUICE_OK; i++) {
        const declared_column *c = &d->columns[i];
        void *all[SLUICE_MAX_COLUMNS];
        changed_boxes clipped;
        changed_boxes dropped;
        uint64_t count = 0;

        if (!declared_is_checked(c) || rows[i] == NULL) {
            continue;
        }
        st = check_rows(c, row, rows[i], c->length >= 0 && !c->counts ? rows[c->length] : NULL,
                        &count);
        if (st != SLUICE_OK || c->checks != ROLE_BOXES) {
            continue;
        }
        memcpy(all, row, d->schema->column_count * sizeof(all[0]));
        all[i] = rows[i];
        all[c->length] =
            row[c->length] != NULL ? row[c->length] : io->declared.bytes.data + c->length_at;
        st = box_rows_judge(d->schema, i, all, (uint32_t)count, &clipped, &dropped);
        if (st == SLUICE_OK) {
            tell_change(d, sample, io, BOX_CHANGE_CLIPPED, &clipped);
            tell_change(d, sample, io, BOX_CHANGE_DROPPED, &dropped);
        }
    }
    return st;
}
