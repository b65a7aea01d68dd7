/* SPDX-License-Identifier: Apache-2.0 */
#include "group_source.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "error_int.h"
#include "point_pairs.h"
#include "rng_int.h"

const source_ops *group_choose(const dataset_parts *parts, const source_ops tables[2][2])
{
    bool plain = true;
    bool located = false;

    for (uint32_t k = 0; k < parts->count; k++) {
        const source_ops *ops = dataset_source(parts->items[k].dataset);

        plain = plain && ops->read_plain != NULL;
        located = located || ops->locate != NULL;
    }
    return &tables[plain][located];
}

sluice_status group_name_part(const group_source *group, uint32_t part, sluice_status status)
{
    sli_error error;
    char text[SLI_ERROR_SIZE];

    sli_error_take(status, &error);
    memcpy(text, error.text, sizeof(text));
    snprintf(error.text, sizeof(error.text), "%s: part %u: %.900s", group->name, part + 1, text);
    return sli_error_raise(&error);
}

static sluice_status add_member(group_source *group, const sluice_dataset *dataset)
{
    const stage_schema *schema = &dataset->schema;
    group_member *member = &group->parts[group->part_count++];
    sluice_status st;

    member->dataset = dataset;
    member->ops = dataset_source(dataset);
    member->source = dataset->source;
    member->column_count = schema->column_count;
    for (uint32_t i = 0; i < schema->column_count; i++) {
        member->columns[i] = schema->infos[i].buffer; /* a column of the source */
    }
    st = dataset_check_numbers(dataset);
    return st == SLUICE_OK ? st : group_name_part(group, group->part_count - 1, st);
}

sluice_status group_make(const dataset_parts *parts, group_source **group_out)
{
    group_source *group = sli_calloc(1, sizeof(*group));
    sluice_status st = SLUICE_OK;

    if (group == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%s", parts->group);
    }
    group->name = parts->group;
    for (uint32_t k = 0; k < parts->count && st == SLUICE_OK; k++) {
        st = add_member(group, parts->items[k].dataset);
    }
    if (st != SLUICE_OK) {
        group_close(group);
        return st;
    }
    *group_out = group;
    return SLUICE_OK;
}

/* Checks that part k is valid and unused, and not given twice. */
static sluice_status check_given(const stage_def *def, sluice_dataset *const *parts, uint32_t k)
{
    char call[60];
    sluice_status st;

    snprintf(call, sizeof(call), "sluice_dataset_%s: part %u", def->name, k + 1);
    st = dataset_status(parts[k], call);
    if (st == SLUICE_OK) {
        st = dataset_check_unused(parts[k], def->name);
    }
    for (uint32_t i = 0; i < k && st == SLUICE_OK; i++) {
        if (parts[i] == parts[k]) {
            st = sli_fail(SLUICE_E_INVALID, "%s is part %u, too; build it a second time", call,
                          i + 1);
        }
    }
    return st;
}

sluice_status group_begin(const stage_def *def, sluice_dataset *const *parts,
                          const uint64_t *weights, uint64_t ends, uint32_t count,
                          sluice_dataset **dataset_out)
{
    group_args args = {NULL};
    sluice_status st;

    if (parts == NULL || dataset_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_dataset_%s: %s must not be NULL", def->name,
                        parts == NULL ? "parts" : "dataset_out");
    }
    if (count == 0 || count > PARTS_MOST) {
        return sli_fail(SLUICE_E_INVALID, "sluice_dataset_%s: count is %u, and must be 1 to %d",
                        def->name, count, PARTS_MOST);
    }
    if (count < PARTS_MOST && ends >> count != 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "sluice_dataset_%s: ends must have bits of the %u parts only", def->name,
                        count);
    }
    st = dataset_parts_create(&args.parts);
    for (uint32_t k = 0; k < count && st == SLUICE_OK; k++) {
        const dataset_part part = {.dataset = parts[k],
                                   .weight = weights != NULL ? weights[k] : 1,
                                   .ends = (ends >> k & 1) != 0};

        st = check_given(def, parts, k);
        if (st == SLUICE_OK) {
            st = dataset_parts_add(def, args.parts, &part);
        }
    }
    if (st == SLUICE_OK) {
        st = dataset_begin(def, &args, dataset_out);
    }
    if (st == SLUICE_OK) {
        args.parts->owned = true;
    }
    dataset_parts_release(&args);
    return st;
}

void group_close(void *source)
{
    group_source *group = source;

    for (uint32_t k = 0; k < group->part_count; k++) {
        part_order_free(group->parts[k].order);
    }
    sli_free(group);
}

uint64_t group_count(const void *source)
{
    return ((const group_source *)source)->count;
}

uint64_t group_memory(const void *source)
{
    const group_source *group = source;
    uint64_t bytes = sizeof(*group) + sizeof(dataset_parts);

    for (uint32_t k = 0; k < group->part_count; k++) {
        const group_member *part = &group->parts[k];

        bytes += sizeof(*part->dataset) + part->ops->memory(part->source);
        for (uint32_t i = 0; i < part->dataset->stage_count; i++) {
            bytes += part->dataset->splits[i].count * sizeof(*part->dataset->splits[i].members);
            bytes += part->dataset->tables[i].bytes;
        }
        if (part->order != NULL) {
            bytes += sizeof(*part->order);
            bytes += part->order->group != NULL ? part->order->group->bytes : 0;
        }
    }
    return bytes;
}

void group_row(const group_member *part, void *const *row, void *part_row[SLUICE_MAX_COLUMNS])
{
    memset(part_row, 0, SLUICE_MAX_COLUMNS * sizeof(part_row[0]));
    for (uint32_t i = 0; i < part->column_count; i++) {
        part_row[part->columns[i]] = row[part->first_column + i];
    }
}

void group_lend(sample_io *io, const group_slot *slot, uint32_t part, group_loan *loan)
{
    *loan = (group_loan){{io->state, io->state_free}, io->draws_key};
    io->state = slot->state;
    io->state_free = slot->state_free;
    io->draws_key = sli_mix_in(io->draws_key, part);
}

void group_take_back(sample_io *io, group_slot *slot, const group_loan *loan)
{
    *slot = (group_slot){io->state, io->state_free};
    io->state = loan->outer.state;
    io->state_free = loan->outer.state_free;
    io->draws_key = loan->draws_key;
}

void group_slot_free(group_slot *slot)
{
    if (slot->state != NULL) {
        slot->state_free(slot->state);
        slot->state = NULL;
    }
}

/* Finds the column of the group that is column `own` of the source of a part. */
static bool find_column(const group_member *part, uint32_t own, uint32_t *column_out)
{
    for (uint32_t i = 0; i < part->column_count; i++) {
        if (part->columns[i] == own) {
            *column_out = part->first_column + i;
            return true;
        }
    }
    return false;
}

const point_pairs *group_flip_pairs(const void *source, uint32_t *column_out)
{
    static const point_pairs none = {.count = 0};
    const group_source *group = source;
    const point_pairs *found = NULL;

    for (uint32_t k = 0; k < group->part_count; k++) {
        const group_member *part = &group->parts[k];
        uint32_t own = 0;
        uint32_t column = 0;
        const point_pairs *pairs =
            part->ops->flip_pairs != NULL ? part->ops->flip_pairs(part->source, &own) : NULL;

        if (pairs == NULL || !find_column(part, own, &column)) {
            continue;
        }
        if (found == NULL) {
            found = pairs;
            *column_out = column;
        } else if (column != *column_out || memcmp(found, pairs, sizeof(none)) != 0) {
            found = &none;
        }
    }
    return found;
}
