/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_order.h"

#include <stdio.h>
#include <string.h>

#include "dataset_parts.h"
#include "geometry_ops.h"
#include "source_stage_ops.h"
#include "stage_kinds.h"
#include "status_int.h"

#define ARRAY_COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

/* The kinds of stages that need an image as geometry and colours do. */
enum {
    IMAGE_KINDS = ORDER_KIND(STAGE_DECODE) | ORDER_KIND(STAGE_GEOMETRY) | ORDER_KIND(STAGE_COLOR)
};

/* ---- the tables ------------------------------------------------------------------------------ */

static const order_row rows[] = {
    /* the source, and stages of order */
    {.unless = STATE_SOURCE,
     .stages = ORDER_ANY,
     .except = ORDER_KIND(STAGE_SOURCE),
     .message = "{stage} must come after a source, such as image_folder DIR"},
    {.after = STATE_SOURCE,
     .stages = ORDER_KIND(STAGE_SOURCE),
     .message = "{stage} is a source; a pipeline has one source, at its start"},
    {.after = STATE_OWN_ORDER,
     .stages = ORDER_KIND(STAGE_INDEX),
     .message = "{stage} cannot follow {source} {by}, which is an order of its own, dealt to ranks "
                "already; leave {stage} out"},
    {.after = STATE_BUCKETED,
     .stages = ORDER_KIND(STAGE_INDEX),
     .message = "{stage} comes after bucket; put it before, where samples have an order"},
    {.after = STATE_FILTERED,
     .stages = ORDER_KIND(STAGE_INDEX),
     .message = "{stage} comes after a filter; put it before: stages of order choose samples by "
                "their numbers, which those that a filter keeps do not have"},
    {.unless = STATE_BATCHED,
     .stages = ORDER_KIND(STAGE_BATCH_MAP),
     .message = "{stage} works on whole batches; it must come after batch"},
    {.after = STATE_BATCHED,
     .stages = ORDER_ANY,
     .except = ORDER_KIND(STAGE_BATCH_MAP),
     .message = "{stage} must come before batch, which is the last stage"},
    {.after = STATE_ORDERED,
     .stages = ORDER_SUBSET,
     .message = "{stage} must come before {by}; put it after the source, whose samples it lists"},
    {.after = STATE_REORDERED,
     .stages = ORDER_READS_ALL,
     .message = "{stage} must come before {by}; put it after the source"},
    {.after = STATE_VARYING_PARTS,
     .stages = ORDER_READS_ALL,
     .message = "{stage} cannot come after {by}, whose samples differ between passes; put it into "
                "the parts"},
    {.after = STATE_CHOSEN_PARTS,
     .stages = ORDER_SUBSET,
     .message = "{stage} cannot come after {by}, whose parts choose samples already; put it into "
                "the parts"},
    {.after = STATE_PROCESSED,
     .stages = ORDER_DECLARES,
     .message = "{stage} comes after {by}; put it right after the source, where the columns are "
                "those of the source"},
    {.after = STATE_PACKED,
     .stages = ORDER_ANY,
     .except = ORDER_KIND(STAGE_COLUMNS) | ORDER_KIND(STAGE_BATCH) | ORDER_KIND(STAGE_BATCH_MAP),
     .message = "{stage} comes after pack; put it before, where samples are documents; only "
                "project, drop, rename and batch come after it"},

    /* maps, and a cache of what they give */
    {.after = STATE_CACHED_ROWS,
     .stages = IMAGE_KINDS,
     .message = "{stage} comes after cache, which keeps the image as map {by} leaves it; put "
                "{stage} before cache"},
    {.after = STATE_MAPS_BEFORE_GEOMETRY,
     .stages = ORDER_TILES,
     .message = "{stage} comes after {by}, a map or filter; put it before"},
};

/* The states that a stage sets. */
static const struct {
    stage_state state;
    stage_state with; /* only if this one is set */
    uint32_t stages;
    uint32_t except;
} changes[] = {
    {.state = STATE_SOURCE, .stages = ORDER_KIND(STAGE_SOURCE)},
    {.state = STATE_VARYING_PARTS, .stages = ORDER_VARYING_PARTS},
    {.state = STATE_CHOSEN_PARTS, .stages = ORDER_CHOSEN_PARTS},
    {.state = STATE_ORDERED, .stages = ORDER_KIND(STAGE_INDEX)},
    {.state = STATE_REORDERED, .stages = ORDER_REORDERS},
    {.state = STATE_PROCESSED,
     .stages = ORDER_ANY,
     .except = ORDER_KIND(STAGE_SOURCE) | ORDER_KIND(STAGE_INDEX) | ORDER_DECLARES},
    {.state = STATE_COLORED, .stages = ORDER_KIND(STAGE_COLOR)},
    {.state = STATE_WARPED, .stages = ORDER_WARP},
    {.state = STATE_CONVERTED, .stages = ORDER_KIND(STAGE_CONVERSION), .except = ORDER_FLIP},
    {.state = STATE_BATCHED, .stages = ORDER_KIND(STAGE_BATCH)},
};

const order_row *stage_order_rows(uint32_t *count_out)
{
    *count_out = ARRAY_COUNT(rows);
    return rows;
}

/* ---- kinds and properties -------------------------------------------------------------------- */

static uint32_t bits_of_order(const stage_def *def)
{
    const index_kind index = def->index;
    const bool draws = index == INDEX_WEIGHTS || index == INDEX_BALANCE;
    uint32_t bits = index == INDEX_SUBSET ? ORDER_SUBSET : 0U;

    if (draws || index == INDEX_SPLIT || index == INDEX_SUBSET) {
        bits |= ORDER_READS_ALL;
    }
    if (draws || index == INDEX_SHUFFLE || index == INDEX_SHARD || index == INDEX_REPEAT) {
        bits |= ORDER_REORDERS;
    }
    return bits;
}

static uint32_t bits_of_group(const dataset_stage *stage)
{
    const group_kind group = stage_group(stage->def);
    const dataset_parts *parts =
        group != GROUP_NONE ? ((const group_args *)(const void *)stage->args.bytes)->parts : NULL;
    uint32_t bits = 0;

    if (parts != NULL && (parts->varies || group == GROUP_MIX)) {
        bits |= ORDER_VARYING_PARTS;
    }
    if (parts != NULL && parts->is_ordered && group != GROUP_ZIP) {
        bits |= ORDER_CHOSEN_PARTS;
    }
    return bits;
}

static uint32_t bits_of_image(const dataset_stage *stage)
{
    const stage_def *def = stage->def;
    uint32_t bits = def->flip != NULL ? ORDER_FLIP : 0U;

    bits |= tile_ops_of(def) != NULL ? ORDER_TILES : 0U;
    bits |= stage_warps(def, stage->args.bytes) ? ORDER_WARP : 0U;
    return bits;
}

/* The kind and the properties of a stage. */
static uint32_t bits_of(const dataset_stage *stage)
{
    const stage_def *def = stage->def;
    uint32_t bits =
        ORDER_KIND(def->kind) | bits_of_order(def) | bits_of_group(stage) | bits_of_image(stage);

    bits |= def->declares ? ORDER_DECLARES : 0U;
    return bits;
}

/* True if a stage is one of these. */
static bool is_one_of(uint32_t bits, uint32_t stages, uint32_t except)
{
    return (bits & stages) != 0 && (bits & except) == 0;
}

/* True if a state is set, as STATE_NONE always is. */
static bool is_set(const stage_schema *schema, stage_state state)
{
    return state == STATE_NONE || schema_has(schema, state);
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* What a message has in place of a word in braces. */
static const char *find_word(const char *word, const order_row *row, const char *stage,
                             const stage_schema *schema)
{
    return strcmp(word, "by") == 0       ? schema->by[row->after]
           : strcmp(word, "source") == 0 ? schema->by[STATE_SOURCE]
                                         : stage;
}

static sluice_status refuse(const order_row *row, const char *stage, const stage_schema *schema)
{
    char text[600] = "";
    size_t used = 0;

    for (const char *at = row->message; *at != '\0' && used < sizeof(text);) {
        const size_t plain = strcspn(at, "{");
        char word[12] = "";

        used += (size_t)snprintf(text + used, sizeof(text) - used, "%.*s", (int)plain, at);
        at += plain;
        if (*at == '{' && sscanf(at, "{%11[a-z]}", word) == 1 && used < sizeof(text)) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s",
                                     find_word(word, row, stage, schema));
            at += strlen(word) + 2;
        }
    }
    return sli_fail(SLUICE_E_INVALID, "%s", text);
}

sluice_status stage_order_check(const dataset_stage *stage, const stage_schema *schema)
{
    const uint32_t bits = bits_of(stage);

    for (uint32_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const order_row *row = &rows[i];

        if (is_one_of(bits, row->stages, row->except) && is_set(schema, row->after) &&
            is_set(schema, row->with) &&
            (row->unless == STATE_NONE || !schema_has(schema, row->unless))) {
            return refuse(row, stage->def->name, schema);
        }
    }
    return SLUICE_OK;
}

void stage_order_note(const dataset_stage *stage, stage_schema *schema)
{
    const uint32_t bits = bits_of(stage);

    for (uint32_t i = 0; i < ARRAY_COUNT(changes); i++) {
        if (is_one_of(bits, changes[i].stages, changes[i].except) &&
            is_set(schema, changes[i].with)) {
            schema_set_state(schema, changes[i].state, stage->def->name);
        }
    }
}
