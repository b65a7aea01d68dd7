/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "source_arguments.h"

/* ---- text ------------------------------------------------------------------------------------ */

/* Limit on a weight in a text, so that sums of weights in units of 1e-9 fit in 64 bits. */
static const uint64_t WEIGHT_MOST = 1000000;

bool dataset_parts_weight(const char *text, size_t length, uint64_t *weight_out)
{
    uint64_t whole = 0;
    uint64_t parts = 0;
    uint64_t unit = PARTS_WEIGHT_ONE;
    size_t i = 0;

    for (; i < length && text[i] >= '0' && text[i] <= '9' && whole <= WEIGHT_MOST; i++) {
        whole = 10 * whole + (uint64_t)(text[i] - '0');
    }
    if (i > 0 && i < length && text[i] == '.') {
        for (i++; i < length && text[i] >= '0' && text[i] <= '9' && unit > 1; i++) {
            unit /= 10;
            parts += unit * (uint64_t)(text[i] - '0');
        }
    }
    *weight_out = PARTS_WEIGHT_ONE * whole + parts;
    return i == length && length > 0 && whole <= WEIGHT_MOST;
}

/* True if an optional argument of type PARAM_TEXT was given. */
static bool is_given(const stage_param *param, const void *args)
{
    const char *const *value = (const void *)((const char *)args + param->offset);

    return param->default_text == NULL || strcmp(*value, param->default_text) != 0;
}

/* Returns what the text has of an argument: its value, "-" or nothing. */
static source_argument shown_argument(const stage_def *def, const stage_param *param,
                                      const void *args, source_form form)
{
    source_argument is = source_argument_of(def, param);

    if (form == SOURCE_OF_STAGES && !def->source->identifies) {
        is = param->default_text == NULL ? ARGUMENT_PLACE : ARGUMENT_NONE;
    }
    return is != ARGUMENT_PLACE || is_given(param, args) ? is : ARGUMENT_NONE;
}

/* Appends the value of an argument; of one that was left out, what it stands for. */
static void print_value(const sluice_dataset *dataset, const stage_param *param, sli_text *text)
{
    const source_ops *ops = dataset->source != NULL ? dataset_source(dataset) : NULL;
    const void *args = dataset->stages[0].args.bytes;
    sli_text implied = {0};

    if (param->type == PARAM_TEXT && !is_given(param, args) && ops != NULL &&
        ops->implied != NULL) {
        ops->implied(dataset->source, param->name, &implied);
    }
    if (implied.length > 0 && !implied.failed) {
        const char *value = implied.data;

        stage_arg_print(&(const stage_param){.type = PARAM_TEXT}, &value, text);
    } else {
        stage_arg_print(param, args, text);
    }
    text->failed = text->failed || implied.failed;
    sli_text_free(&implied);
}

void dataset_print_source(const sluice_dataset *dataset, source_form form, sli_text *text)
{
    const stage_def *def = dataset->stages[0].def;
    const void *args = dataset->stages[0].args.bytes;
    const dataset_parts *parts = dataset_group(dataset);

    sli_text_add(text, "%s", def->name);
    for (uint32_t i = 0; i < def->param_count; i++) {
        const stage_param *param = &def->params[i];

        if (param->type == PARAM_PARTS) {
            sli_text_add(text, " ");
            parts->print(parts, form, text);
            continue;
        }
        switch (shown_argument(def, param, args, form)) {
        case ARGUMENT_DATA:
            sli_text_add(text, " %s=", param->name);
            print_value(dataset, param, text);
            break;
        case ARGUMENT_PLACE:
            sli_text_add(text, " %s=-", param->name);
            break;
        case ARGUMENT_NONE:
            break;
        }
    }
}

static void print_part(const dataset_part *part, source_form form, sli_text *text)
{
    if (part->dataset == NULL) {
        sli_text_add(text, "%s", part->text);
    } else if (form == SOURCE_WRITTEN) {
        dataset_print(part->dataset, 0, part->dataset->stage_count, text);
    } else {
        dataset_print_source(part->dataset, form, text);
        sli_text_add(text, "%s", part->dataset->stage_count > 1 ? " | " : "");
        dataset_print(part->dataset, 1, part->dataset->stage_count, text);
    }
}

uint64_t dataset_parts_weight_unit(const dataset_parts *parts)
{
    uint64_t unit = 0;

    for (uint32_t i = 0; i < parts->count; i++) {
        uint64_t other = parts->items[i].weight;

        while (other != 0) { /* greatest common divisor, Euclid's algorithm */
            const uint64_t rest = unit % other;

            unit = other;
            other = rest;
        }
    }
    return unit;
}

static void print_parts(const dataset_parts *parts, source_form form, sli_text *text)
{
    const uint64_t unit = dataset_parts_weight_unit(parts);
    bool weighted = false;

    for (uint32_t i = 0; i < parts->count; i++) {
        weighted = weighted || parts->items[i].weight != unit;
    }
    for (uint32_t i = 0; i < parts->count; i++) {
        const dataset_part *part = &parts->items[i];

        sli_text_add(text, "%s", i > 0 ? " " : "");
        if (weighted) {
            sli_text_add(text, "%" PRIu64 ":", part->weight / unit);
        }
        sli_text_add(text, "%s(", part->ends ? "end:" : "");
        print_part(part, form, text);
        sli_text_add(text, ")");
    }
}

/* ---- lifetime -------------------------------------------------------------------------------- */

sluice_status dataset_parts_create(dataset_parts **parts_out)
{
    dataset_parts *parts = sli_calloc(1, sizeof(*parts));

    if (parts == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the parts of a group");
    }
    parts->references = 1;
    parts->depth = 1;
    parts->print = print_parts;
    *parts_out = parts;
    return SLUICE_OK;
}

void dataset_parts_retain(void *args)
{
    dataset_parts *parts = ((group_args *)args)->parts;

    if (parts != NULL) {
        parts->references++;
    }
}

void dataset_parts_release(void *args)
{
    dataset_parts *parts = ((group_args *)args)->parts;

    ((group_args *)args)->parts = NULL;
    if (parts == NULL || --parts->references > 0) {
        return;
    }
    for (uint32_t i = 0; i < parts->count; i++) {
        if (parts->owned) {
            sluice_dataset_destroy(parts->items[i].dataset);
        }
        sli_free(parts->items[i].text);
    }
    sli_free(parts);
}

/* ---- checks ---------------------------------------------------------------------------------- */

sluice_status dataset_parts_check(void *args)
{
    const dataset_parts *parts = ((const group_args *)args)->parts;

    return parts != NULL && parts->count > 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID, "a group without parts; it must have 1 to %d",
                          PARTS_MOST);
}

sluice_status dataset_parts_allow(const stage_def *stage)
{
    if (stage->kind != STAGE_SOURCE && stage->kind != STAGE_INDEX && stage->kind != STAGE_COLUMNS) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s must come after the group, where it works on the samples of all parts",
                        stage->name);
    }
    if (stage->declares) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s must come after the group, where it names columns of all parts",
                        stage->name);
    }
    if (stage->index == INDEX_SHARD) {
        return sli_fail(SLUICE_E_INVALID,
                        "shard must come after the group: its samples are dealt to the ranks");
    }
    return SLUICE_OK;
}

/* Checks the stages of a part, except for its columns. */
static sluice_status check_stages(const stage_def *def, const char *name,
                                  const sluice_dataset *dataset)
{
    const stage_schema *schema = &dataset->schema;

    for (uint32_t i = 0; i < dataset->stage_count; i++) {
        const sluice_status st = dataset_parts_allow(dataset->stages[i].def);

        if (st != SLUICE_OK) {
            return sli_fail_quoting(st, "%s: %.900s", name, sluice_last_error());
        }
    }
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (schema->infos[i].buffer >= dataset->source_schema.column_count) {
            return sli_fail(
                SLUICE_E_INVALID,
                "%s: column %s is not of the source; its stage must come after the group", name,
                schema->columns[i].name);
        }
    }
    return !schema_has(schema, STATE_OWN_ORDER)
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "%s: %s is an order of its own, bound to the batches and ranks of a run, "
                          "so it cannot be a part of %s; leave %s out",
                          name, schema->by[STATE_OWN_ORDER], def->name,
                          schema->by[STATE_OWN_ORDER]);
}

/* Checks that the columns of a part fit those of the parts before it. */
static sluice_status check_columns(const stage_def *def, const dataset_parts *parts,
                                   const char *name, const stage_schema *schema)
{
    stage_schema joined = {.image = -1};
    sluice_status st = SLUICE_OK;

    if (def->source->group != GROUP_ZIP && parts->count > 0) {
        return parts_schema_agree(name, schema, &parts->items[0].dataset->schema);
    }
    for (uint32_t i = 0; i < parts->count && st == SLUICE_OK; i++) {
        st = parts_schema_join("a part", &parts->items[i].dataset->schema, &joined);
    }
    return st == SLUICE_OK ? parts_schema_join(name, schema, &joined) : st;
}

/* True if the positions after this stage have other samples, or other draws, in each pass. */
static bool stage_varies(const stage_def *stage)
{
    return stage->index == INDEX_SHUFFLE || stage->index == INDEX_WEIGHTS ||
           stage->index == INDEX_BALANCE;
}

/* Updates depth, is_ordered and varies for a part. */
static sluice_status note_stages(const char *name, const dataset_part *part, dataset_parts *parts)
{
    const dataset_parts *inner = dataset_group(part->dataset);
    const uint32_t depth = inner != NULL ? inner->depth + 1 : 1;

    if (depth > PARTS_DEPTH) {
        return sli_fail(SLUICE_E_INVALID, "%s: more than %d groups inside one another", name,
                        PARTS_DEPTH);
    }
    parts->depth = depth > parts->depth ? depth : parts->depth;
    if (inner != NULL) {
        parts->is_ordered = parts->is_ordered || inner->is_ordered;
        parts->varies = parts->varies || inner->varies ||
                        stage_group(part->dataset->stages[0].def) == GROUP_MIX;
    }
    for (uint32_t i = 1; i < part->dataset->stage_count; i++) {
        const stage_def *stage = part->dataset->stages[i].def;

        parts->is_ordered = parts->is_ordered || stage->kind == STAGE_INDEX;
        parts->varies = parts->varies || stage_varies(stage);
    }
    return SLUICE_OK;
}

/* Checks that a part of zip has the same sample at each position in all passes. */
static sluice_status check_zipped(const char *name, const sluice_dataset *dataset)
{
    const dataset_parts *inner = dataset_group(dataset);

    for (uint32_t i = 1; i < dataset->stage_count; i++) {
        if (stage_varies(dataset->stages[i].def)) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: %s would give each sample another partner in each pass; put it "
                            "after the group, where it keeps the columns of a sample together",
                            name, dataset->stages[i].def->name);
        }
    }
    return inner == NULL || (!inner->varies && stage_group(dataset->stages[0].def) != GROUP_MIX)
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "%s: the order of %s differs between passes, so each sample would have "
                          "another partner",
                          name, dataset->stages[0].def->name);
}

sluice_status dataset_parts_add(const stage_def *def, dataset_parts *parts,
                                const dataset_part *part)
{
    char name[60];
    sluice_status st = SLUICE_OK;

    parts->group = def->name;
    snprintf(name, sizeof(name), "%s: part %u", def->name, parts->count + 1);
    if (parts->count == PARTS_MOST) {
        return sli_fail(SLUICE_E_INVALID, "%s: there must be at most %d; a part may be a group",
                        name, PARTS_MOST);
    }
    if (def->source->group != GROUP_MIX && (part->weight != 1 || part->ends)) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s has no weights and no end:; mix has", name,
                        def->name);
    }
    if (part->weight == 0) {
        return sli_fail(SLUICE_E_INVALID, "%s: its weight is 0, and must be above 0", name);
    }
    if (part->dataset != NULL) {
        st = check_stages(def, name, part->dataset);
        if (st == SLUICE_OK) {
            st = check_columns(def, parts, name, &part->dataset->schema);
        }
        if (st == SLUICE_OK && def->source->group == GROUP_ZIP) {
            st = check_zipped(name, part->dataset);
        }
        if (st == SLUICE_OK) {
            st = note_stages(name, part, parts);
        }
    }
    if (st == SLUICE_OK) {
        parts->items[parts->count++] = *part;
    }
    return st;
}
