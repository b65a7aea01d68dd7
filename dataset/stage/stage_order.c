/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_order.h"

#include <stdio.h>
#include <string.h>

#include "dataset_parts.h"
#include "map_ops.h"
#include "source_stage_ops.h"
#include "stage_kinds.h"
#include "status_int.h"

#define ARRAY_COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

/* ---- kinds and properties of stages ---------------------------------------------------------- */

/* What the tables distinguish: the kinds of stages (stage_kind), and these properties. */
enum {
    ORDER_DECLARES = STAGE_BATCH_MAP + 1, /* stage_def.declares */
    ORDER_READS_ALL, /* processes all samples when the dataset is opened, so that these must be the
                        same in every pass */
    ORDER_SUBSET,    /* lists sample numbers of the source */
    ORDER_REORDERS,  /* shuffles, shards, repeats or draws samples */
    ORDER_VARYING_PARTS, /* a group whose samples differ between passes */
    ORDER_CHOSEN_PARTS,  /* a group, not zip, with parts that select or order samples */
    ORDER_ENDS_BOXES,    /* stage_def.ends_boxes */
    ORDER_ADDS_MAP,      /* stage_def.adds_map */
    ORDER_FILTER,
    ORDER_RANDOM, /* stage_def.draws */
    ORDER_FLIP,   /* also one that is a stage of geometry */
    ORDER_TILES,  /* mosaic */
    ORDER_VIEWS,
    ORDER_WARP,
    ORDER_WHOLE_IMAGE, /* a colour stage that GetNext cannot run */
    ORDER_MIX          /* mixup, cutmix, and stages that hold these */
};

#define BIT(kind_or_property) (UINT64_C(1) << (kind_or_property))
#define ANY_KIND              (BIT(ORDER_DECLARES) - 1)
#define IMAGE_KINDS           (BIT(STAGE_DECODE) | BIT(STAGE_GEOMETRY) | BIT(STAGE_COLOR))

static uint64_t bits_of_order(const stage_def *def)
{
    const index_kind index = def->index;
    const bool draws = index == INDEX_WEIGHTS || index == INDEX_BALANCE;
    uint64_t bits = index == INDEX_SUBSET ? BIT(ORDER_SUBSET) : 0;

    if (draws || index == INDEX_SPLIT || index == INDEX_SUBSET) {
        bits |= BIT(ORDER_READS_ALL);
    }
    if (draws || index == INDEX_SHUFFLE || index == INDEX_SHARD || index == INDEX_REPEAT) {
        bits |= BIT(ORDER_REORDERS);
    }
    return bits;
}

static uint64_t bits_of_group(const dataset_stage *stage)
{
    const group_kind group = stage_group(stage->def);
    const dataset_parts *parts =
        group != GROUP_NONE ? ((const group_args *)(const void *)stage->args.bytes)->parts : NULL;
    uint64_t bits = 0;

    if (parts != NULL && (parts->varies || group == GROUP_MIX)) {
        bits |= BIT(ORDER_VARYING_PARTS);
    }
    if (parts != NULL && parts->is_ordered && group != GROUP_ZIP) {
        bits |= BIT(ORDER_CHOSEN_PARTS);
    }
    return bits;
}

static uint64_t bits_of_image(const dataset_stage *stage)
{
    const stage_def *def = stage->def;
    const bool is_by_pixel = stage_is_by_pixel(def, stage->args.bytes);
    uint64_t bits = def->flip != NULL ? BIT(ORDER_FLIP) : 0;

    bits |= def->kind == STAGE_COLOR && !is_by_pixel ? BIT(ORDER_WHOLE_IMAGE) : 0;
    bits |= tile_ops_of(def) != NULL ? BIT(ORDER_TILES) : 0;
    bits |= view_ops_of(def) != NULL ? BIT(ORDER_VIEWS) : 0;
    bits |= stage_warps(def, stage->args.bytes) ? BIT(ORDER_WARP) : 0;
    return bits;
}

/* The kind and the properties of a stage. */
static uint64_t bits_of(const dataset_stage *stage)
{
    const stage_def *def = stage->def;
    uint64_t bits =
        BIT(def->kind) | bits_of_order(def) | bits_of_group(stage) | bits_of_image(stage);

    bits |= def->declares ? BIT(ORDER_DECLARES) : 0;
    bits |= def->map != NULL && def->map->is_filter ? BIT(ORDER_FILTER) : 0;
    bits |= def->draws ? BIT(ORDER_RANDOM) : 0;
    bits |= def->batch != NULL ? BIT(ORDER_MIX) : 0;
    bits |= def->ends_boxes ? BIT(ORDER_ENDS_BOXES) : 0;
    bits |= def->adds_map ? BIT(ORDER_ADDS_MAP) : 0;
    return bits;
}

/* ---- the tables ------------------------------------------------------------------------------ */

static const order_row rows[] = {
    /* the source, and stages of order */
    {.unless = STATE_SOURCE,
     .stages = ANY_KIND,
     .except = BIT(STAGE_SOURCE),
     .message = "{stage} must come after a source, such as image_folder DIR"},
    {.after = STATE_SOURCE,
     .stages = BIT(STAGE_SOURCE),
     .message = "{stage} is a source; a pipeline has one source, at its start"},
    {.after = STATE_OWN_ORDER,
     .stages = BIT(STAGE_INDEX),
     .message = "{stage} cannot follow {source} {by}, which is an order of its own, dealt to ranks "
                "already; leave {stage} out"},
    {.after = STATE_BUCKETED,
     .stages = BIT(STAGE_INDEX),
     .message = "{stage} comes after bucket; put it before, where samples have an order"},
    {.after = STATE_FILTERED,
     .stages = BIT(STAGE_INDEX),
     .message = "{stage} comes after a filter; put it before: stages of order choose samples by "
                "their numbers, which those that a filter keeps do not have"},
    {.unless = STATE_BATCHED,
     .stages = BIT(STAGE_BATCH_MAP),
     .message = "{stage} works on whole batches; it must come after batch"},
    {.after = STATE_BATCHED,
     .stages = ANY_KIND,
     .except = BIT(STAGE_BATCH_MAP),
     .message = "{stage} must come before batch, which is the last stage"},
    {.after = STATE_ORDERED,
     .stages = BIT(ORDER_SUBSET),
     .message = "{stage} must come before {by}; put it after the source, whose samples it lists"},
    {.after = STATE_REORDERED,
     .stages = BIT(ORDER_READS_ALL),
     .message = "{stage} must come before {by}; put it after the source"},
    {.after = STATE_VARYING_PARTS,
     .stages = BIT(ORDER_READS_ALL),
     .message = "{stage} cannot come after {by}, whose samples differ between passes; put it into "
                "the parts"},
    {.after = STATE_CHOSEN_PARTS,
     .stages = BIT(ORDER_SUBSET),
     .message = "{stage} cannot come after {by}, whose parts choose samples already; put it into "
                "the parts"},
    {.after = STATE_PROCESSED,
     .stages = BIT(ORDER_DECLARES),
     .message = "{stage} comes after {by}; put it right after the source, where the columns are "
                "those of the source"},
    {.after = STATE_PACKED,
     .stages = ANY_KIND,
     .except = BIT(STAGE_COLUMNS) | BIT(STAGE_BATCH) | BIT(STAGE_BATCH_MAP),
     .message = "{stage} comes after pack; put it before, where samples are documents; only "
                "project, drop, rename and batch come after it"},

    /* maps, and a cache of what they give */
    {.after = STATE_CACHED_ROWS,
     .stages = IMAGE_KINDS,
     .message = "{stage} comes after cache, which keeps the image as map {by} leaves it; put "
                "{stage} before cache"},
    {.after = STATE_MAPS_BEFORE_GEOMETRY,
     .stages = BIT(ORDER_TILES),
     .message = "{stage} comes after {by}, a map or filter; put it before"},

    /* geometry, warps and colours */
    {.after = STATE_CONVERTED,
     .stages = BIT(STAGE_GEOMETRY),
     .except = BIT(ORDER_FLIP),
     .message = "{stage} works on the decoded image; put it before normalize, to_dtype and to_chw"},
    {.after = STATE_MOSAIC,
     .stages = BIT(ORDER_TILES),
     .message = "{stage}: a pipeline has at most one; leave one of them out"},
    {.after = STATE_VIEWS,
     .stages = BIT(ORDER_TILES) | BIT(ORDER_MIX),
     .message = "{stage}: each sample has {views} views of an image, and must have one image; "
                "leave {stage} or the views out"},
    {.after = STATE_COLORED,
     .stages = BIT(ORDER_TILES),
     .message = "{stage} comes after a stage that changes colours or warps; put {stage} before it"},
    {.after = STATE_MOSAIC,
     .stages = BIT(ORDER_VIEWS),
     .message = "{stage}: a mosaic is made of one image of each of four samples, without views; "
                "leave one of them out"},
    {.after = STATE_VIEWS,
     .stages = BIT(ORDER_VIEWS),
     .message = "{stage}: the image has {views} views already; a pipeline has one of views, "
                "five_crop and ten_crop"},

    /* boxes after all geometry */
    {.after = STATE_BOXES_FINAL,
     .stages = BIT(STAGE_GEOMETRY) | BIT(ORDER_WARP),
     .except = BIT(ORDER_FLIP),
     .message =
         "{stage} comes after {by}, which works on the boxes of the final image; put {stage} "
         "before {by}"},
    {.after = STATE_BOXES_FINAL,
     .stages = BIT(ORDER_MIX),
     .message = "{stage} mixes images, and not the boxes of {by}; leave it out"},

    /* the column of the image's map */
    {.after = STATE_NONAFFINE,
     .stages = BIT(ORDER_ADDS_MAP),
     .message = "{stage}: the map of {by} is not affine; leave {stage} or {by} out"},
    {.after = STATE_MOSAIC,
     .stages = BIT(ORDER_ADDS_MAP),
     .message = "{stage}: after mosaic an image has several files, and no map to one of them; "
                "leave {stage} or mosaic out"},
    {.after = STATE_MAPPED,
     .stages = BIT(ORDER_ADDS_MAP),
     .message = "{stage} comes after a map; put it before, where the image is that of the source"},
    {.after = STATE_VIEWS,
     .stages = BIT(ORDER_ADDS_MAP),
     .message = "{stage}: the image has {views} views, each with a map of its own; leave {stage} "
                "or the views out"},

    /* device */
    {.after = STATE_ON_DEVICE,
     .stages = BIT(STAGE_DEVICE),
     .message = "{stage}: a pipeline has one device, this is the second"},
    {.after = STATE_VIEWS,
     .stages = BIT(STAGE_DEVICE),
     .message = "{stage}: the image has {views} views, which the workers make; leave {stage} out"},
    {.after = STATE_ON_DEVICE,
     .stages = BIT(STAGE_DECODE) | BIT(STAGE_GEOMETRY),
     .message = "{stage} comes after device; decoding, crops and resizes run on the workers, so "
                "put it before device"},
    {.after = STATE_ON_DEVICE,
     .stages = BIT(ORDER_WHOLE_IMAGE),
     .message =
         "{stage} comes after device, where each pixel of a result depends on one point of the "
         "image; contrast, autocontrast, equalize, blurring, sharpening and elastic need the "
         "whole image, others a matrix or a table, so put it before device"},
    {.after = STATE_WARPED,
     .with = STATE_ON_DEVICE,
     .unless = STATE_DEVICE_WARP,
     .stages = BIT(ORDER_WARP),
     .message = "{stage} comes after device, and another warp before device; put device before "
                "both, or after both"},
    {.after = STATE_DEVICE_WARP_ENDED,
     .stages = BIT(ORDER_WARP),
     .message = "{stage} is a second warp after device, which samples an image once; warps are one "
                "if they are adjacent; else put device after the warps"},

    /* cache */
    {.after = STATE_CACHED,
     .stages = BIT(STAGE_CACHE),
     .message = "{stage}: a pipeline has one cache, this is the second"},
    {.after = STATE_BUCKETED,
     .stages = BIT(STAGE_CACHE),
     .message = "{stage} comes after bucket; put it before bucket"},
    {.after = STATE_CHANGED,
     .unless = STATE_MAP,
     .stages = BIT(STAGE_CACHE),
     .message = "{stage} comes after {by}; put it before {by}: colours, warps, views and "
                "conversions run in each pass"},
    {.after = STATE_RANDOM,
     .stages = BIT(STAGE_CACHE),
     .message = "{stage} comes after {by}, which is random, so that each pass would repeat its "
                "results; put it before {by}"},
    {.after = STATE_MAP,
     .with = STATE_FILTERED,
     .stages = BIT(STAGE_CACHE),
     .message = "{stage} comes after a filter and a map, {by}; put the filter after {stage}"},
    {.after = STATE_UNVERSIONED,
     .stages = BIT(STAGE_CACHE),
     .message = "{stage} comes after map {by}, which has no version: a cache keeps what the map "
                "makes, and recognizes it by the version; set sluice_map.version if it makes the "
                "same of a sample in each pass, or put {stage} before {by}"},

    /* pack, bucket and filters: rows that are chosen when they are read */
    {.after = STATE_BUCKETED,
     .stages = BIT(STAGE_BUCKET),
     .message = "{stage}: a pipeline has at most one bucket; leave one of them out"},
    {.after = STATE_BUCKETED,
     .stages = BIT(STAGE_PACK),
     .message = "{stage} comes after bucket; leave bucket out: windows have one length"},
    {.after = STATE_OWN_ORDER,
     .stages = BIT(STAGE_PACK) | BIT(STAGE_BUCKET) | BIT(ORDER_FILTER),
     .message = "{stage}: the source has an order of its own ({by}), which is bound to whole "
                "batches; the order must be that of shuffle, or none"},
};

/* The states that a stage sets. */
static const struct {
    stage_state state;
    stage_state with;   /* only if this one is set, */
    stage_state unless; /* and this one is not */
    uint64_t stages;
    uint64_t except;
} changes[] = {
    {.state = STATE_SOURCE, .stages = BIT(STAGE_SOURCE)},
    {.state = STATE_VARYING_PARTS, .stages = BIT(ORDER_VARYING_PARTS)},
    {.state = STATE_CHOSEN_PARTS, .stages = BIT(ORDER_CHOSEN_PARTS)},
    {.state = STATE_ORDERED, .stages = BIT(STAGE_INDEX)},
    {.state = STATE_REORDERED, .stages = BIT(ORDER_REORDERS)},
    {.state = STATE_PROCESSED,
     .stages = ANY_KIND,
     .except = BIT(STAGE_SOURCE) | BIT(STAGE_INDEX) | BIT(ORDER_DECLARES)},
    {.state = STATE_RANDOM, .stages = BIT(ORDER_RANDOM)},
    {.state = STATE_CHANGED,
     .unless = STATE_RANDOM,
     .stages = BIT(STAGE_COLOR) | BIT(STAGE_CONVERSION) | BIT(ORDER_VIEWS),
     .except = BIT(ORDER_RANDOM)},
    {.state = STATE_CACHED, .stages = BIT(STAGE_CACHE)},
    {.state = STATE_MOSAIC, .stages = BIT(ORDER_TILES)},
    {.state = STATE_VIEWS, .stages = BIT(ORDER_VIEWS)},
    {.state = STATE_COLORED, .stages = BIT(STAGE_COLOR)},
    {.state = STATE_WARPED, .stages = BIT(ORDER_WARP)},
    {.state = STATE_BOXES_FINAL, .stages = BIT(ORDER_ENDS_BOXES)},
    {.state = STATE_CONVERTED, .stages = BIT(STAGE_CONVERSION), .except = BIT(ORDER_FLIP)},
    {.state = STATE_DEVICE_WARP_ENDED,
     .with = STATE_DEVICE_WARP,
     .stages = BIT(STAGE_COLOR),
     .except = BIT(ORDER_WARP)},
    {.state = STATE_DEVICE_WARP, .with = STATE_ON_DEVICE, .stages = BIT(ORDER_WARP)},
    {.state = STATE_ON_DEVICE, .stages = BIT(STAGE_DEVICE)},
    {.state = STATE_BUCKETED, .stages = BIT(STAGE_BUCKET)},
    {.state = STATE_PACKED, .stages = BIT(STAGE_PACK)},
    {.state = STATE_BATCHED, .stages = BIT(STAGE_BATCH)},
};

const order_row *stage_order_rows(uint32_t *count_out)
{
    *count_out = ARRAY_COUNT(rows);
    return rows;
}

/* ---- matching -------------------------------------------------------------------------------- */

/* True if a stage is one of these. */
static bool is_one_of(uint64_t bits, uint64_t stages, uint64_t except)
{
    return (bits & stages) != 0 && (bits & except) == 0;
}

/* True if a state is set and another one is not. STATE_NONE: it does not matter. */
static bool holds(const stage_schema *schema, stage_state with, stage_state unless)
{
    return (with == STATE_NONE || schema_has(schema, with)) &&
           (unless == STATE_NONE || !schema_has(schema, unless));
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* What a message has in place of a word in braces. */
static const char *find_word(const char *word, const order_row *row, const char *stage,
                             const stage_schema *schema, const char *views)
{
    return strcmp(word, "by") == 0       ? schema->by[row->after]
           : strcmp(word, "source") == 0 ? schema->by[STATE_SOURCE]
           : strcmp(word, "views") == 0  ? views
                                         : stage;
}

static sluice_status refuse(const order_row *row, const char *stage, const stage_schema *schema)
{
    char text[600] = "";
    char number[12];
    size_t used = 0;

    snprintf(number, sizeof(number), "%u", schema->view_count);
    for (const char *at = row->message; *at != '\0' && used < sizeof(text);) {
        const size_t plain = strcspn(at, "{");
        char word[12] = "";

        used += (size_t)snprintf(text + used, sizeof(text) - used, "%.*s", (int)plain, at);
        at += plain;
        if (*at == '{' && sscanf(at, "{%11[a-z]}", word) == 1 && used < sizeof(text)) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s",
                                     find_word(word, row, stage, schema, number));
            at += strlen(word) + 2;
        }
    }
    return sli_fail(SLUICE_E_INVALID, "%s", text);
}

sluice_status stage_order_check(const dataset_stage *stage, const stage_schema *schema)
{
    const uint64_t bits = bits_of(stage);

    for (uint32_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const order_row *row = &rows[i];

        if (is_one_of(bits, row->stages, row->except) && holds(schema, row->after, row->unless) &&
            holds(schema, row->with, STATE_NONE)) {
            return refuse(row, stage->def->name, schema);
        }
    }
    return SLUICE_OK;
}

void stage_order_note(const dataset_stage *stage, stage_schema *schema)
{
    const uint64_t bits = bits_of(stage);

    for (uint32_t i = 0; i < ARRAY_COUNT(changes); i++) {
        if (is_one_of(bits, changes[i].stages, changes[i].except) &&
            holds(schema, changes[i].with, changes[i].unless)) {
            schema_set_state(schema, changes[i].state, stage->def->name);
        }
    }
}
