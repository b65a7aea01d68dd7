/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner's column pass: determines which buffers are needed, and where each one is stored.
 * Buffers that neither a column of the batch nor a stage needs are not written.
 */
#include <stdio.h>
#include <string.h>

#include "image.h"
#include "plan.h"
#include "tensor_int.h"

/* Stores each buffer's type after the last stage that has it, and finds the buffer of the
 * ROLE_GEOMETRY column. */
static sluice_status find_types(sli_plan *plan)
{
    struct plan_details *details = plan->details;

    details->images.map = -1;
    for (uint32_t count = 1; count <= plan->dataset->stage_count; count++) {
        stage_schema schema;
        const sluice_status st = dataset_schema_after(plan->dataset, count, &schema);

        if (st != SLUICE_OK) {
            return st;
        }
        for (uint32_t i = 0; i < schema.column_count; i++) {
            details->memory.buffers[schema.infos[i].buffer].type = schema.columns[i];
            details->images.map = schema.infos[i].role == ROLE_GEOMETRY
                                      ? (int)schema.infos[i].buffer
                                      : details->images.map;
        }
        details->memory.buffer_count = schema.buffer_count;
    }
    return SLUICE_OK;
}

static void read_buffer(struct plan_details *details, uint32_t buffer)
{
    details->memory.buffers[buffer].needed = true;
    details->memory.buffers[buffer].read = true;
}

static void need_columns_of_batch(sli_plan *plan)
{
    const stage_schema *schema = &plan->dataset->opened_schema;

    for (uint32_t i = 0; i < plan->details->memory.buffer_count; i++) {
        plan->details->memory.buffers[i].column = -1;
    }
    for (uint32_t i = 0; i < schema->column_count; i++) {
        plan_buffer *buffer = &plan->details->memory.buffers[schema->infos[i].buffer];

        read_buffer(plan->details, schema->infos[i].buffer);
        buffer->column = (int)i;
    }
}

/* Marks the buffers that bucket and pack read as needed, and finds pack's columns in the batch. */
static void need_lengths(sli_plan *plan)
{
    plan_pack *pack = &plan->details->pack;
    const plan_bucket *bucket = &plan->details->bucket;
    int *const columns[] = {&pack->tokens, &pack->positions, &pack->documents};

    if (bucket->count > 0) {
        read_buffer(plan->details, bucket->length);
    }
    if (pack->seq == 0) {
        return;
    }
    read_buffer(plan->details, pack->document);
    if (pack->length >= 0) {
        read_buffer(plan->details, (uint32_t)pack->length);
    }
    for (uint32_t i = 0; i < 3; i++) {
        *columns[i] = plan->details->memory.buffers[pack->first_output + i].column;
    }
}

/* Finds the buffers that a cache after maps keeps: the columns there that later steps or the batch
 * need. */
static sluice_status find_kept(sli_plan *plan)
{
    plan_cache *cache = &plan->details->cache;
    stage_schema schema;
    const sluice_status st = dataset_schema_after(plan->dataset, cache->stage, &schema);

    for (uint32_t i = 0; st == SLUICE_OK && i < schema.column_count; i++) {
        if (plan->details->memory.buffers[schema.infos[i].buffer].needed) {
            cache->kept[cache->kept_count++] = schema.infos[i].buffer;
        }
    }
    return st;
}

/* Marks the inputs of an array stage as needed, if its outputs are. */
static void need_inputs_of_array(struct plan_details *details, const plan_step *step)
{
    plan_buffer *outputs = &details->memory.buffers[step->first_output];
    const bool gives_length =
        step->output_length >= 0 && details->memory.buffers[step->output_length].needed;
    bool is_needed = false;

    for (uint32_t i = 0; i < step->array_outputs; i++) {
        is_needed = is_needed || outputs[i].needed;
    }
    if (step->lengths[0] >= 0 && (is_needed || gives_length)) {
        read_buffer(details, (uint32_t)step->lengths[0]);
    }
    for (uint32_t i = 0; is_needed && i < step->array_outputs; i++) {
        outputs[i].needed = true; /* they are computed together */
    }
    for (uint32_t i = 0; is_needed && i < step->array_columns; i++) {
        read_buffer(details, step->inputs[i]);
    }
}

/*
 * Marks as needed the inputs of the steps [first, end): inputs of maps and array stages, and the
 * input images of later conversions.
 */
static void need_inputs_of_steps(sli_plan *plan, uint32_t first, uint32_t end)
{
    struct plan_details *details = plan->details;
    const uint32_t image = (uint32_t)plan->dataset->source_schema.image;

    for (uint32_t i = end; i-- > first;) {
        const plan_step *step = &details->work.steps[i];
        const plan_segment *segment = &details->work.segments[step->segment];

        for (uint32_t k = 0; step->map != NULL && k < step->map->input_count; k++) {
            if (step->is_image_map && step->inputs[k] == image) {
                continue; /* the map reads it before it is in the buffer */
            }
            read_buffer(details, step->inputs[k]);
            if (step->lengths[k] >= 0) {
                read_buffer(details, (uint32_t)step->lengths[k]);
            }
        }
        if (step->array != NULL) {
            need_inputs_of_array(details, step);
        } else if (step->map == NULL && details->memory.buffers[segment->to].needed) {
            read_buffer(details, segment->from);
        }
    }
}

/* Marks the boxes or points as needed that columns of this role belong to. */
static void need_owners(sli_plan *plan, column_role role)
{
    const stage_schema *source = &plan->dataset->source_schema;
    plan_buffer *buffers = plan->details->memory.buffers;

    for (uint32_t i = 0; i < source->column_count; i++) {
        const column_info *info = &source->infos[i];

        if (info->role == role && schema_is_tied(info) && buffers[i].needed) {
            buffers[info->tied_to].needed = true;
        }
    }
}

/*
 * Marks boxes and points and their number as needed if a column belongs to them, since its rows are
 * dropped with the boxes and exchanged with the points.
 */
static void need_boxes(sli_plan *plan)
{
    const stage_schema *source = &plan->dataset->source_schema;
    plan_buffer *buffers = plan->details->memory.buffers;

    need_owners(plan, ROLE_TIED);
    need_owners(plan, ROLE_POINTS);
    for (uint32_t i = 0; i < source->column_count; i++) {
        const column_role role = source->infos[i].role;
        const uint32_t length = source->infos[i].length;

        if ((role == ROLE_BOXES && (buffers[i].needed || buffers[length].needed)) ||
            (role == ROLE_POINTS && buffers[i].needed && length != SCHEMA_NO_LENGTH)) {
            buffers[i].needed = true;
            buffers[length].needed = true;
        }
    }
}

/*
 * Marks the first image as needed if masks, boxes, points or further images are, since the geometry
 * depends on its size.
 */
static void need_image_of_followers(sli_plan *plan)
{
    const stage_schema *source = &plan->dataset->source_schema;
    const bool limits_boxes = schema_limits_boxes(&plan->dataset->opened_schema);
    struct plan_details *details = plan->details;
    char note[200];

    for (uint32_t i = 0; i < source->column_count; i++) {
        const column_role role = source->infos[i].role;

        if (schema_follows(role) && details->memory.buffers[i].needed) {
            details->images.has_followers = true;
            details->images.has_points = details->images.has_points || role == ROLE_POINTS;
            snprintf(note, sizeof(note), "%s: follows %s, by the same draws%s",
                     source->columns[i].name,
                     role == ROLE_IMAGE ? source->columns[source->image].name : "the image",
                     role == ROLE_MASK ? ", by nearest neighbour"
                     : limits_boxes && role == ROLE_BOXES
                         ? "; boxes below the limits of sanitize_boxes are dropped"
                     : role == ROLE_IMAGE ? "; converted by the workers"
                                          : "");
            plan_note(plan, note);
        }
    }
    if (details->images.map >= 0 && details->memory.buffers[details->images.map].needed) {
        details->images.has_followers = true;
    }
    if (details->images.has_followers ||
        details->geometry.list.head < details->geometry.list.shared) {
        details->memory.buffers[source->image].needed = true;
    }
    if (details->geometry.boxes >= 0 && details->memory.buffers[source->image].needed) {
        details->memory.buffers[details->geometry.boxes].needed = true;
        details->memory.buffers[source->infos[details->geometry.boxes].length].needed = true;
    }
}

/* Assigns scratch memory to the needed buffers that are not columns of the batch. */
static sluice_status lay_out_scratch(struct plan_details *details)
{
    for (uint32_t i = 0; i < details->memory.buffer_count; i++) {
        plan_buffer *buffer = &details->memory.buffers[i];
        size_t bytes;

        if (!buffer->needed || buffer->column >= 0) {
            continue;
        }
        if (buffer->type.dtype == SLUICE_ENCODED) {
            return sli_fail(SLUICE_E_INVALID,
                            "column %s: boxes, points, masks and what belongs to them follow it, "
                            "and no stage decodes it; add decode before the stage that drops it",
                            buffer->type.name);
        }
        if (!sli_column_bytes(&buffer->type, &bytes)) {
            return sli_fail(SLUICE_E_INVALID, "column %s: a sample is larger than memory",
                            buffer->type.name);
        }
        buffer->offset = details->memory.scratch_bytes;
        details->memory.scratch_bytes += (bytes + IMAGE_SLACK + 63) / 64 * 64;
    }
    return SLUICE_OK;
}

/* True if every buffer is a column of the batch's row with the same index. */
static bool are_rows(const sli_plan *plan)
{
    const struct plan_details *details = plan->details;
    const uint32_t columns = plan->dataset->source_schema.column_count;

    for (uint32_t i = 0; i < details->memory.buffer_count; i++) {
        if (details->memory.buffers[i].column != (int)i) {
            return false;
        }
    }
    return details->memory.buffer_count == columns &&
           plan->dataset->opened_schema.column_count == columns;
}

/* Adds a note for the source's columns that neither the batch nor a stage needs. */
static void note_dropped(sli_plan *plan)
{
    const stage_schema *source = &plan->dataset->source_schema;

    for (uint32_t i = 0; i < source->column_count; i++) {
        if (!plan->details->memory.buffers[i].needed) {
            char note[100];

            snprintf(note, sizeof(note), "%s: dropped, not written", source->columns[i].name);
            plan_note(plan, note);
        }
    }
}

bool plan_maps_alone(const struct plan_details *details)
{
    const int image = details->images.first;

    return image >= 0 && !details->images.has_followers && !details->memory.buffers[image].read;
}

/* Says what happens to images of other sizes than the one that was read from a file. */
static void note_size(sli_plan *plan)
{
    const sluice_dataset *dataset = plan->dataset;
    char note[sizeof(dataset->sized_by) + 150];

    if (dataset->sized_by[0] == '\0' || plan->details->images.first < 0) {
        return;
    }
    snprintf(note, sizeof(note), "images are %ux%u, as %s is; %s", dataset->image_width,
             dataset->image_height, dataset->sized_by,
             plan_maps_alone(plan->details) ? "only maps and filters read the image, so others may "
                                              "have other sizes"
                                            : "others are errors");
    plan_note(plan, note);
}

sluice_status plan_buffers(sli_plan *plan)
{
    struct plan_details *details = plan->details;
    const int image = plan->dataset->source_schema.image;
    sluice_status st = find_types(plan);

    if (st != SLUICE_OK) {
        return st;
    }
    need_columns_of_batch(plan);
    need_lengths(plan);
    need_inputs_of_steps(plan, details->cache.is_rows ? details->cache.steps : 0,
                         details->work.step_count);
    if (details->cache.is_rows) {
        st = find_kept(plan);
        need_inputs_of_steps(plan, 0, details->cache.steps);
    }
    need_boxes(plan);
    need_image_of_followers(plan);
    details->images.first = image >= 0 && details->memory.buffers[image].needed ? image : -1;
    details->memory.rows_only = are_rows(plan) && !details->dealing.has_choices;
    note_size(plan);
    note_dropped(plan);
    return st == SLUICE_OK ? lay_out_scratch(details) : st;
}
