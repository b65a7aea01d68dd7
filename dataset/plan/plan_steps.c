/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner's pass over maps and array stages: what is done to a sample after geometry, in order.
 */
#include <string.h>

#include "alloc_int.h"
#include "array_ops.h"
#include "operators/batch/collected_args.h"
#include "plan.h"
#include "status_int.h"

/* Returns the key of a map's random numbers. kind: "map", or "map_batch"; occurrence: number of
 * earlier maps of the same name. */
static uint64_t map_key(const char *kind, const char *name, uint64_t seed, uint32_t occurrence)
{
    return sli_mix_in(sli_mix_in(sli_mix_in(sli_hash_text(kind), sli_hash_text(name)), seed),
                      occurrence);
}

/* The number of earlier steps with a map of the same name. */
static uint32_t map_occurrence(const struct plan_details *details, const custom_map *map)
{
    uint32_t occurrence = 0;

    for (uint32_t i = 0; i < details->work.step_count; i++) {
        const custom_map *before = details->work.steps[i].map;

        occurrence += before != NULL && strcmp(before->name, map->name) == 0;
    }
    return occurrence;
}

static void add_map(sli_plan *plan, custom_map *map, const stage_schema *before)
{
    struct plan_details *details = plan->details;
    plan_step *step = &details->work.steps[details->work.step_count];

    step->key = map_key(map->filter != NULL ? "filter" : "map", map->name, plan->settings.seed,
                        map_occurrence(details, map));
    step->map = map;
    step->profiled = before->map_count;
    if (map->filter != NULL) {
        step->is_early = custom_map_is_early(map, before);
        details->dealing.has_late_filters = details->dealing.has_late_filters || !step->is_early;
    }
    step->first_output = before->buffer_count;
    step->is_image_map = custom_map_is_image_map(map, before);
    custom_map_outputs(map, before, &step->outputs);
    for (uint32_t i = 0; i < step->outputs.count && step->is_image_map; i++) {
        step->outputs.columns[i].varies = map->outputs.columns[i].varies;
    }
    for (uint32_t i = 0; i < map->input_count; i++) {
        const int column = schema_find(before, map->inputs[i]);

        step->input_types[i] = before->columns[column];
        step->inputs[i] = before->infos[column].buffer;
        step->lengths[i] = schema_length_buffer(before, (uint32_t)column);
    }
    details->work.step_count++;
}

/* Adds an array stage of several columns. */
static sluice_status add_columns(plan_step *step, const dataset_stage *stage,
                                 const stage_schema *before)
{
    const uint32_t at = before->infos[before->image].is_chw ? 1 : (uint32_t)SCHEMA_H;
    const char *names[ARRAY_MOST_COLUMNS];

    step->array_outputs = stage->def->array->written;
    step->array_columns = stage->def->array->columns(stage->args.bytes, names);
    for (uint32_t i = 0; i < step->array_columns; i++) {
        const int column = schema_find(before, names[i]);

        step->input_types[i] = before->columns[column];
        step->inputs[i] = before->infos[column].buffer;
        step->lengths[i] = i == 0 ? schema_length_buffer(before, (uint32_t)column) : -1;
    }
    step->first_output = before->buffer_count;
    step->output_length = -1;
    step->image_size[0] = (uint32_t)before->columns[before->image].shape[at + 1];
    step->image_size[1] = (uint32_t)before->columns[before->image].shape[at];
    return !schema_lacks_size(before)
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "%s comes before the size of the image is known; put it after the stage "
                          "or map that sets the size",
                          stage->def->name);
}

static sluice_status add_array(struct plan_details *details, const dataset_stage *stage,
                               const stage_schema *before, const stage_schema *after)
{
    const array_ops *ops = stage->def->array;
    plan_step *step = &details->work.steps[details->work.step_count++];
    int column;

    step->array = stage;
    if (ops->columns != NULL) {
        return add_columns(step, stage, before);
    }
    column = schema_find(before, ops->column(stage->args.bytes));
    step->array_columns = 1;
    step->array_outputs = 1;
    step->input_types[0] = before->columns[column];
    step->inputs[0] = before->infos[column].buffer;
    step->output_type = after->columns[column];
    step->first_output = after->infos[column].buffer;
    step->lengths[0] = -1;
    step->output_length = -1;
    if (ops->compute_rows != NULL && step->input_types[0].rank > 0) {
        const int length = schema_length_buffer(before, (uint32_t)column);
        const int after_length = schema_length_buffer(after, (uint32_t)column);

        step->lengths[0] = length;
        step->output_length = after_length != length ? after_length : -1;
    }
    return SLUICE_OK;
}

static void add_pack(struct plan_details *details, const dataset_stage *stage,
                     const stage_schema *before)
{
    const pack_windows_args *args = (const void *)stage->args.bytes;
    const int column = schema_find(before, args->column);
    plan_pack *pack = &details->pack;

    pack->seq = (uint32_t)args->seq;
    pack->split = args->split;
    pack->type = before->columns[column];
    pack->element_bytes = sluice_dtype_size(pack->type.dtype);
    memcpy(pack->pad, &(uint64_t){args->pad}, sizeof(pack->pad)); /* little endian */
    pack->most = pack->type.shape[0];
    pack->first_output = before->buffer_count;
    pack->document = before->infos[column].buffer;
    pack->length = schema_length_buffer(before, (uint32_t)column);
}

static void add_bucket(struct plan_details *details, const dataset_stage *stage,
                       const stage_schema *before)
{
    const bucket_args *args = (const void *)stage->args.bytes;
    const int column = schema_find(before, args->length);
    plan_bucket *bucket = &details->bucket;

    bucket->count = args->edges.count + 1;
    memcpy(bucket->edges, args->edges.values, sizeof(bucket->edges));
    bucket->length = before->infos[column].buffer;
    bucket->dtype = before->columns[column].dtype;
    bucket->is_early = schema_is_early(before, (uint32_t)column);
}

/* An upper bound on the number of steps: a segment that begins after a map has a buffer. */
static size_t count_steps(const sluice_dataset *dataset)
{
    size_t count = dataset->opened_schema.buffer_count - dataset->source_schema.buffer_count;

    for (uint32_t i = 1; i < dataset->stage_count; i++) {
        const stage_kind kind = dataset->stages[i].def->kind;

        count += kind == STAGE_MAP || kind == STAGE_ARRAY;
    }
    return count;
}

/* Sets the user's map of whole batches. after: the schema after it. */
static void set_user_batch_map(const sli_plan *plan, custom_batch *map, const stage_schema *after,
                               plan_batch_map *added)
{
    uint32_t occurrence = 0;

    for (const plan_batch_map *before = plan->details->work.batch_maps; before < added; before++) {
        occurrence += strcmp(before->name, map->name) == 0;
    }
    added->name = map->name;
    added->map = map;
    added->key = map_key("map_batch", map->name, plan->settings.seed, occurrence);
    for (uint32_t i = 0; i < map->column_count; i++) {
        added->buffers[i] = after->infos[schema_find(after, map->columns[i].name)].buffer;
    }
}

/* Adds a batch map of the library, and the step that recomputes its column of each sample. */
static void set_batch_stage(sli_plan *plan, uint32_t number, const stage_schema *before,
                            const stage_schema *after, plan_batch_map *added)
{
    const dataset_stage *stage = &plan->dataset->stages[number];

    added->name = stage->def->name;
    added->stage = stage;
    added->key = sli_mix_in(plan_stage_key(plan->dataset, number, plan->settings.seed),
                            sli_hash_text("batch")); /* differs from the key of samples */
    if (after->buffer_count > before->buffer_count) {
        (void)add_array(plan->details, stage, before, after); /* of one column: no error */
    }
}

/* Adds stage `number`, a map of whole batches. before, after: the schema before and after it. */
static void add_batch_map(sli_plan *plan, uint32_t number, const stage_schema *before,
                          const stage_schema *after)
{
    const dataset_stage *stage = &plan->dataset->stages[number];
    plan_batch_map *added = &plan->details->work.batch_maps[plan->details->work.batch_map_count++];

    if (stage->def->batch != NULL) {
        set_batch_stage(plan, number, before, after, added);
    } else {
        set_user_batch_map(plan, ((const batch_map_args *)(const void *)stage->args.bytes)->map,
                           after, added);
    }
    added->profiled = before->map_count;
}

/* Adds the segment of an image that ends in buffer `to`. */
static plan_segment *add_segment(struct plan_details *details, uint32_t to, bool is_first,
                                 bool follows)
{
    plan_segment *segment = &details->work.segments[details->work.segment_count++];

    segment->to = to;
    segment->end = 1;
    segment->is_first = is_first;
    segment->follows = follows;
    return segment;
}

/* Adds the first segments: that of the first image, then those of further images. */
static void begin_segments(struct plan_details *details, const stage_schema *source)
{
    add_segment(details, source->image >= 0 ? (uint32_t)source->image : UINT32_MAX, true, false);
    for (uint32_t i = 0; i < source->column_count; i++) {
        if (source->infos[i].role == ROLE_IMAGE) {
            add_segment(details, i, true, true);
        }
    }
}

/* Adds a conversion to the segment of an image, or to a new one if a map is between them. */
static void add_conversion_of(struct plan_details *details, uint32_t stage, uint32_t from,
                              uint32_t to, bool follows)
{
    plan_segment *segment = NULL;

    for (uint32_t i = 0; i < details->work.segment_count && segment == NULL; i++) {
        segment = details->work.segments[i].to == to ? &details->work.segments[i] : NULL;
    }
    if (segment == NULL) {
        details->work.steps[details->work.step_count++].segment = details->work.segment_count;
        segment = add_segment(details, to, false, follows);
        segment->from = from;
    }
    segment->stages[segment->count++] = stage;
}

/* Adds a conversion to the segments of all images that it works on. */
static sluice_status add_conversion(struct plan_details *details, const dataset_stage *stage,
                                    uint32_t number, const stage_schema *before,
                                    const stage_schema *after)
{
    const conversion_args *args = (const void *)stage->args.bytes;
    column_set images = 0;
    const sluice_status st = schema_select_images(
        before, stage->def->name, stage->def->selects ? args->columns : "", &images);

    for (uint32_t i = 0; i < before->column_count && st == SLUICE_OK; i++) {
        if ((images >> i & 1) != 0) {
            add_conversion_of(details, number, before->infos[i].buffer, after->infos[i].buffer,
                              (int)i != before->image);
        }
    }
    return st;
}

/* Records that after `count` stages images are still in the buffers of their segments. */
static void extend_segments(struct plan_details *details, const stage_schema *schema,
                            uint32_t count)
{
    for (uint32_t i = 0; i < details->work.segment_count; i++) {
        for (uint32_t k = 0; k < schema->column_count; k++) {
            if (schema_is_image(schema, k) &&
                details->work.segments[i].to == schema->infos[k].buffer) {
                details->work.segments[i].end = count;
            }
        }
    }
}

sluice_status plan_steps(sli_plan *plan)
{
    const sluice_dataset *dataset = plan->dataset;
    struct plan_details *details = plan->details;
    stage_schema before;
    sluice_status st = dataset_schema_after(dataset, 1, &before);

    if (st == SLUICE_OK && count_steps(dataset) > 0) {
        details->work.steps = sli_calloc(count_steps(dataset), sizeof(*details->work.steps));
        if (details->work.steps == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "the steps of a plan");
        }
    }
    if (st == SLUICE_OK && dataset->stages[dataset->stage_count - 1].def->kind == STAGE_BATCH_MAP) {
        details->work.batch_maps = sli_calloc(SCHEMA_MAX_MAPS, sizeof(*details->work.batch_maps));
        if (details->work.batch_maps == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "the steps of a plan");
        }
    }
    begin_segments(details, &before);
    for (uint32_t i = 1; i < dataset->stage_count && st == SLUICE_OK; i++) {
        const dataset_stage *stage = &dataset->stages[i];
        stage_schema after;

        st = dataset_schema_after(dataset, i + 1, &after);
        if (st != SLUICE_OK) {
            break;
        }
        if (stage->def->kind == STAGE_MAP) {
            add_map(plan, ((const map_args *)(const void *)stage->args.bytes)->map, &before);
        } else if (stage->def->kind == STAGE_BATCH_MAP) {
            add_batch_map(plan, i, &before, &after);
        } else if (stage->def->kind == STAGE_ARRAY) {
            st = add_array(details, stage, &before, &after);
        } else if (stage->def->kind == STAGE_CONVERSION) {
            st = add_conversion(details, stage, i, &before, &after);
        } else if (stage->def->kind == STAGE_PACK) {
            add_pack(details, stage, &before);
        } else if (stage->def->kind == STAGE_BUCKET) {
            add_bucket(details, stage, &before);
        } else if (stage->def->kind == STAGE_CACHE) {
            details->cache.is_rows = schema_has(&after, STATE_CACHED_ROWS);
            details->cache.steps = details->work.step_count;
        }
        extend_segments(details, &after, i + 1);
        before = after;
    }
    return st;
}
