/* SPDX-License-Identifier: Apache-2.0 */
/* The planner's pass over conversions: makes one program for the workers and one for GetNext. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "layout_int.h"
#include "log_int.h"
#include "plan.h"
#include "stage_kinds.h"

static bool is_affine(const sluice_dataset *dataset, uint32_t i, const stage_schema *before)
{
    conversion_state state = {.scale = {1, 1, 1, 1}};

    dataset->stages[i].def->conversion->convert(dataset->stages[i].args.bytes,
                                                &before->infos[before->image], &state);
    return state.affine;
}

/*
 * True if conversions on both sides of the split scale values: rounding twice gives other results
 * than rounding once.
 */
static bool splits_affine(const sluice_dataset *dataset, const plan_segment *c, uint32_t split)
{
    bool affine[2] = {false, false};

    for (uint32_t k = 0; k < c->count; k++) {
        stage_schema before;

        if (dataset_schema_after(dataset, c->stages[k], &before) == SLUICE_OK) {
            affine[k >= split] = affine[k >= split] || is_affine(dataset, c->stages[k], &before);
        }
    }
    return affine[0] && affine[1];
}

/* Returns E_INVALID: conversion k is requested on the host, after `before`, which is on the device.
 */
static sluice_status comes_back(const sli_plan *plan, const plan_segment *c, uint32_t k,
                                const char *before)
{
    const char *name = plan->dataset->stages[c->stages[k]].def->name;

    if (plan->device_colors && c->stages[k] < plan->details->colors.device) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s offload=host comes before device, but colour stages run on the device, "
                        "and conversions after them; leave offload out",
                        name);
    }
    return sli_fail(SLUICE_E_INVALID,
                    "%s offload=host comes after %s; what is on the device does not come back",
                    name, before);
}

/* Returns E_INVALID: a stage erases converted values, after `before`, which is on the device. */
static sluice_status erases_late(const stage_def *def, const char *before)
{
    return sli_fail(SLUICE_E_INVALID,
                    "%s comes after conversions, so it runs on the workers, and after %s; put it "
                    "before normalize, to_dtype and to_chw, where the device can run it",
                    def->name, before);
}

/*
 * Determines how many conversions the workers run; the device runs the others. The stage device and
 * the argument `offload` of the stages take precedence over the preferred side.
 */
static sluice_status choose_split(const sli_plan *plan, const plan_segment *c, uint32_t *split_out)
{
    const uint32_t device = plan->details->colors.device;
    uint32_t least = 0;
    uint32_t most = plan->device_colors || plan->device_mixes ? 0 : c->count;
    char on_device[64] = "device";

    for (uint32_t k = 0; k < c->count; k++) {
        const dataset_stage *stage = &plan->dataset->stages[c->stages[k]];
        const uint32_t target = plan_offload_of(stage);

        if (device > 0 && c->stages[k] > device && k < most) {
            most = k;
        }
        if (target == OFFLOAD_HOST || stage_erases(stage->def)) {
            least = k + 1;
            if (least > most) {
                return stage_erases(stage->def) ? erases_late(stage->def, on_device)
                                                : comes_back(plan, c, k, on_device);
            }
        } else if (target == OFFLOAD_DEVICE && k < most) {
            most = k;
            snprintf(on_device, sizeof(on_device), "%s offload=device", stage->def->name);
        }
    }
    for (uint32_t k = 0; k <= most - least; k++) {
        uint32_t split = plan->settings.prefer_device ? least + k : most - k;

        if (!splits_affine(plan->dataset, c, split)) {
            *split_out = split;
            return SLUICE_OK;
        }
    }
    return sli_fail(SLUICE_E_INVALID,
                    "two stages that scale are asked for on different sides; give them the same "
                    "offload, so that they are one multiplication with one rounding");
}

/* Finds the image of a segment among columns: before its first conversion it is in the buffer
 * `from` unless the segment is a first one, then in `to`. */
static uint32_t find_image(const stage_schema *schema, const plan_segment *c)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (schema->infos[i].buffer == c->to) {
            return i;
        }
        found = !c->is_first && schema->infos[i].buffer == c->from ? i : found;
    }
    return found;
}

/* Combines conversions [from, to) into one program. */
static sluice_status fold_conversions(sli_plan *plan, const plan_segment *c, uint32_t from,
                                      uint32_t to, sli_conversion *out)
{
    const sluice_dataset *dataset = plan->dataset;
    conversion_state state = {.scale = {1, 1, 1, 1}};
    const uint64_t *shape;
    stage_schema before;
    uint32_t image;
    bool is_chw;
    sluice_status st;

    st = dataset_schema_after(dataset, from < c->count ? c->stages[from] : c->end, &before);
    if (st != SLUICE_OK) {
        return st;
    }
    memset(out, 0, sizeof(*out));
    image = find_image(&before, c);
    is_chw = before.infos[image].is_chw;
    state.dtype = before.columns[image].dtype;
    state.chw = is_chw;
    shape = &before.columns[image].shape[before.columns[image].rank - 3]; /* without views */
    out->from = state.dtype;
    out->from_chw = state.chw;
    out->height = (uint32_t)shape[is_chw ? 1 : SCHEMA_H];
    out->width = (uint32_t)shape[is_chw ? 2 : SCHEMA_W];
    out->channels = (uint32_t)shape[is_chw ? 0 : SCHEMA_C];
    for (uint32_t k = from; k < to && st == SLUICE_OK; k++) {
        const dataset_stage *stage = &dataset->stages[c->stages[k]];

        st = dataset_schema_after(dataset, c->stages[k], &before);
        stage->def->conversion->convert(stage->args.bytes, &before.infos[find_image(&before, c)],
                                        &state);
    }
    out->to = state.dtype;
    out->to_chw = state.chw;
    out->flip = state.flip;
    out->affine = state.affine;
    for (uint32_t i = 0; i < SLI_MAX_CHANNELS; i++) {
        out->scale[i] = (float)state.scale[i];
        out->bias[i] = (float)state.bias[i];
    }
    return st == SLUICE_OK ? sli_conversion_prepare(out) : st;
}

/* The pairs of key points that the source says. NULL: it has no key points, or the flip does not
 * get them. */
static const point_pairs *find_source_pairs(const sluice_dataset *dataset, const char *flip,
                                            const stage_schema *before, column_set *points_out)
{
    const source_ops *ops = dataset_source(dataset);
    uint32_t column = 0;
    const point_pairs *pairs =
        ops->flip_pairs != NULL ? ops->flip_pairs(dataset->source, &column) : NULL;

    for (uint32_t i = 0; i < before->column_count && pairs != NULL; i++) {
        if (before->infos[i].buffer == column && before->infos[i].role == ROLE_POINTS) {
            *points_out = (column_set)1 << column;
            if (pairs->count == 0) {
                sli_log(SLUICE_LOG_WARN,
                        "%s: the source does not say which points of %s a flip exchanges, so left "
                        "ones stay left ones; swap=1:2,3:4 exchanges points 1 and 2, 3 and 4; "
                        "swap=none says that there are none",
                        flip, before->columns[i].name);
            }
            return pairs;
        }
    }
    return NULL;
}

const point_pairs *plan_flip_pairs(const sluice_dataset *dataset, const dataset_stage *stage,
                                   const stage_schema *before, column_set *points_out)
{
    column_set columns = 0;
    const flip_ops *flip = stage->def->flip;
    const point_pairs *pairs = flip != NULL && flip->pairs != NULL
                                   ? flip->pairs(stage->args.bytes, before, &columns)
                                   : NULL;

    *points_out = 0;
    for (uint32_t i = 0; i < before->column_count; i++) {
        if ((columns >> i & 1) != 0) {
            *points_out |= (column_set)1 << before->infos[i].buffer;
        }
    }
    if (pairs == NULL && flip != NULL && flip->pairs != NULL) {
        pairs = find_source_pairs(dataset, stage->def->name, before, points_out);
    }
    return pairs;
}

/* Finds the points that a flip exchanges. */
static void find_pairs(const sluice_dataset *dataset, uint32_t stage, plan_flip *flip)
{
    stage_schema before;

    if (dataset_schema_after(dataset, stage, &before) == SLUICE_OK) {
        flip->pairs = plan_flip_pairs(dataset, flip->stage, &before, &flip->points);
    }
}

/* True if GetNext can run a conversion. Lines are flipped by row programs, because these have
 * positions in the image before the flip. */
static bool is_on_device(const sli_plan *plan, const stage_def *def)
{
    return def->flip == NULL || def->flip->row_flag != SLI_ROW_FLIP_LINES || plan->device_colors;
}

static void find_flips(sli_plan *plan, const plan_segment *c, uint32_t split)
{
    struct plan_details *details = plan->details;

    for (uint32_t k = 0; k < c->count; k++) {
        const dataset_stage *stage = &plan->dataset->stages[c->stages[k]];

        if (stage->def->flip != NULL) {
            plan_flip *flip = &details->flips.stages[details->flips.count++];

            flip->stage = stage;
            flip->segment = (uint32_t)(c - details->work.segments);
            flip->key = plan_stage_key(plan->dataset, c->stages[k], plan->settings.seed);
            flip->on_device = k >= split && is_on_device(plan, stage->def);
            find_pairs(plan->dataset, c->stages[k], flip);
        }
    }
}

/*
 * Plans an image that neither the batch nor a map reads: it is loaded, without conversions, because
 * masks or boxes follow it.
 */
static sluice_status plan_hidden_image(sli_plan *plan, plan_segment *segment)
{
    find_flips(plan, segment, segment->count);
    plan->details->colors.host_count = plan->details->colors.count;
    plan->details->colors.device_warps = false;
    segment->end = segment->count > 0 ? segment->stages[0] : segment->end;
    segment->count = 0;
    return fold_conversions(plan, segment, 0, 0, &plan->host_conversion);
}

/* Checks that no colour stage or conversion before a map is requested on the device: all of them
 * run on the workers. */
static sluice_status check_on_host(const sli_plan *plan, const plan_segment *segment)
{
    const struct plan_details *details = plan->details;
    const uint32_t device = details->colors.device;
    bool is_after =
        segment == &details->work.segments[0] && details->colors.host_count < details->colors.count;

    for (uint32_t k = 0; k < segment->count; k++) {
        is_after = is_after || (device > 0 && segment->stages[k] > device);
    }
    if (is_after) {
        return sli_fail(SLUICE_E_INVALID,
                        "device comes before stages of an image that a map uses, which runs on "
                        "the host; put device after the map, or leave it out");
    }
    for (uint32_t k = 0; k < segment->count; k++) {
        const dataset_stage *stage = &plan->dataset->stages[segment->stages[k]];

        if (plan_offload_of(stage) == OFFLOAD_DEVICE) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s offload=device comes before a map, which runs on the host; put it "
                            "after the map, or leave offload out",
                            stage->def->name);
        }
    }
    return SLUICE_OK;
}

/* Makes the program of a segment whose result a map reads: it runs on the workers. */
static sluice_status plan_host_segment(sli_plan *plan, const plan_segment *segment,
                                       sli_conversion *program)
{
    sluice_status st = check_on_host(plan, segment);

    if (st == SLUICE_OK) {
        st = fold_conversions(plan, segment, 0, segment->count, program);
    }
    find_flips(plan, segment, segment->count);
    return st;
}

static void note_conversions(sli_plan *plan, const plan_segment *segment, uint32_t split)
{
    for (uint32_t k = 0; k < segment->count; k++) {
        const stage_def *def = plan->dataset->stages[segment->stages[k]].def;
        char text[200];

        snprintf(text, sizeof(text), "%s: in the %s", def->name,
                 k < split || !is_on_device(plan, def) ? "workers' write to the row"
                                                       : "device's GetNext");
        plan_note(plan, text);
    }
}

/* True if the workers convert the image of a segment, since it has 16 bits or floats. */
static bool is_wide(const sli_plan *plan, const plan_segment *segment)
{
    stage_schema before;

    return segment->count > 0 &&
           dataset_schema_after(plan->dataset, segment->stages[0], &before) == SLUICE_OK &&
           schema_is_wide(&before, (uint32_t)find_image(&before, segment));
}

/* Lets the workers run all conversions of images of this kind. E_INVALID: a stage is requested on
 * the device. */
static sluice_status convert_on_workers(const sli_plan *plan, const plan_segment *segment,
                                        const char *images, uint32_t *split_out)
{
    const uint32_t device = plan->details->colors.device;

    for (uint32_t k = 0; k < segment->count; k++) {
        const dataset_stage *stage = &plan->dataset->stages[segment->stages[k]];

        if (plan_offload_of(stage) == OFFLOAD_DEVICE) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s offload=device: the workers convert the %s; leave offload out",
                            stage->def->name, images);
        }
        if (device > 0 && segment->stages[k] > device) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s comes after device: the workers convert the %s; leave device out",
                            stage->def->name, images);
        }
    }
    *split_out = segment->count;
    return SLUICE_OK;
}

/* Chooses the conversions of the workers: those before *split_out. */
static sluice_status split_conversions(const sli_plan *plan, const plan_segment *segment,
                                       uint32_t *split_out)
{
    char views[40];

    if (plan->details->geometry.view_count > 1) {
        snprintf(views, sizeof(views), "%u views of an image", plan->details->geometry.view_count);
        return convert_on_workers(plan, segment, views, split_out);
    }
    if (plan->details->geometry.part_fill != NULL && segment == plan->details->work.segments) {
        return convert_on_workers(plan, segment, "padding, whose fill has a fraction", split_out);
    }
    return is_wide(plan, segment)
               ? convert_on_workers(plan, segment, "images of 16 bits or floats", split_out)
               : choose_split(plan, segment, split_out);
}

/* Plans the last conversions of the image, some for the workers, the others for the device. */
static sluice_status plan_last_segment(sli_plan *plan, plan_segment *segment,
                                       sli_conversion *program)
{
    sluice_column *column = &plan->wire[plan->image_column];
    uint32_t split = 0;
    stage_schema wire;
    sluice_status st;

    plan->device_colors = segment == &plan->details->work.segments[0] &&
                          plan->details->colors.host_count < plan->details->colors.count;
    st = split_conversions(plan, segment, &split);
    if (st == SLUICE_OK) {
        st = fold_conversions(plan, segment, 0, split, program);
    }
    if (st == SLUICE_OK) {
        st = fold_conversions(plan, segment, split, segment->count, &plan->device_conversion);
    }
    if (st == SLUICE_OK) {
        st = dataset_schema_after(
            plan->dataset, split < segment->count ? segment->stages[split] : segment->end, &wire);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    *column = wire.columns[wire.image];
    schema_add_views(&wire, column);
    memcpy(column->name, plan->seen[plan->image_column].name, sizeof(column->name));
    plan->device_converts = plan->device_colors || plan->device_mixes ||
                            !sli_conversion_is_identity(&plan->device_conversion);
    segment->device_count = segment->count - split;
    find_flips(plan, segment, split);
    note_conversions(plan, segment, split);
    return SLUICE_OK;
}

/* True if the segment's result is the batch's image, which no map reads or writes. */
static bool is_last(const sli_plan *plan, const plan_segment *segment)
{
    const stage_schema *schema = &plan->dataset->opened_schema;

    return plan->image_column >= 0 && !schema->infos[plan->image_column].is_fixed &&
           schema->infos[plan->image_column].buffer == segment->to;
}

/* Plans the conversions of the image of the batch, and where it is mixed. Workers can mix it only
 * if they run all its conversions. */
static sluice_status plan_image_of_batch(sli_plan *plan, plan_segment *segment,
                                         sli_conversion *program)
{
    const bool is_mixed = plan->dataset->opened_schema.infos[plan->image_column].is_mixed;
    sluice_status st = SLUICE_OK;

    if (is_mixed) {
        st = fold_conversions(plan, segment, 0, segment->count, program);
        st = st == SLUICE_OK ? plan_mixes(plan, segment, program) : st;
    }
    if (st != SLUICE_OK) {
        return st;
    }
    return is_mixed && !plan->device_mixes ? plan_host_segment(plan, segment, program)
                                           : plan_last_segment(plan, segment, program);
}

/* Checks that the type of the converted image can represent the values of all bytes, or of all
 * values of 16 bits, wherever the conversions run. A converted value is a linear function, so the
 * largest ones are those of 0 and white. */
static sluice_status check_values(sli_plan *plan, const plan_segment *segment)
{
    sli_conversion whole;
    const sluice_status st = fold_conversions(plan, segment, 0, segment->count, &whole);
    const int white = whole.from == SLUICE_U16 ? 65535 : 255;

    if (st != SLUICE_OK || (whole.from != SLUICE_U8 && whole.from != SLUICE_U16) ||
        sli_conversion_is_finite(&whole)) {
        return st;
    }
    for (uint32_t i = 0; i < 2 * whole.channels; i++) {
        const int from = i % 2 == 0 ? white : 0;
        const double value = (double)from * (double)whole.scale[i / 2] + (double)whole.bias[i / 2];

        if (fabs(value) >= (whole.to == SLUICE_F16 ? 65520.0 : (double)FLT_MAX)) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: a %s of %d becomes %g, which cannot be represented as %s; %s",
                            plan->dataset->stages[segment->stages[segment->count - 1]].def->name,
                            white == 255 ? "byte" : "value", from, value,
                            sluice_dtype_name(whole.to),
                            whole.affine ? "is a std too small?" : "to_dtype scale=true scales it");
        }
    }
    return sli_fail(SLUICE_E_INVALID, "the converted values of the image are not finite");
}

/* Makes the program of a segment whose image is read. */
static sluice_status plan_read_segment(sli_plan *plan, plan_segment *segment, bool last,
                                       sli_conversion *program)
{
    if (last) {
        return plan_image_of_batch(plan, segment, program);
    }
    return segment->follows ? fold_conversions(plan, segment, 0, segment->count, program)
                            : plan_host_segment(plan, segment, program);
}

static sluice_status plan_segment_program(sli_plan *plan, plan_segment *segment,
                                          sli_conversion *program)
{
    const bool last = is_last(plan, segment);
    sluice_status st;

    if (!last && !segment->follows && !plan->details->memory.buffers[segment->to].read) {
        return plan_hidden_image(plan, segment);
    }
    st = check_values(plan, segment);
    if (st == SLUICE_OK) {
        st = plan_read_segment(plan, segment, last, program);
    }
    return st == SLUICE_OK && segment->is_first
               ? plan_fill_check(plan, program,
                                 plan->dataset->source_schema.columns[segment->to].name)
               : st;
}

/* Finds the first segment of an image of the source, which must exist. */
static plan_segment *plan_first_segment(struct plan_details *details, uint32_t column)
{
    plan_segment *segment = details->work.segments;

    while (!segment->is_first || segment->to != column) {
        segment++;
    }
    return segment;
}

/* Finds the keys of the stages that erase converted values. */
static void find_erasings(sli_plan *plan)
{
    const sluice_dataset *dataset = plan->dataset;

    for (uint32_t i = 0; i < dataset->stage_count; i++) {
        if (stage_erases(dataset->stages[i].def)) {
            plan->details->erasing.keys[i] = plan_stage_key(dataset, i, plan->settings.seed);
            plan->details->erasing.is_used = true;
        }
    }
}

sluice_status plan_conversions(sli_plan *plan)
{
    struct plan_details *details = plan->details;
    sluice_status st = SLUICE_OK;

    find_erasings(plan);
    st = plan_fills(plan);
    if (st == SLUICE_OK && details->images.first >= 0) {
        st = plan_segment_program(plan, &details->work.segments[0], &plan->host_conversion);
        if (details->geometry.view != NULL &&
            details->geometry.view->def->geometry->views->flips != NULL) {
            plan->host_conversion.flip = true;
        }
    }
    for (uint32_t i = 0; i < details->images.further_count && st == SLUICE_OK; i++) {
        plan_further_image *further = &details->images.further[i];

        further->segment =
            (uint32_t)(plan_first_segment(details, further->column) - details->work.segments);
        st = plan_segment_program(plan, plan_first_segment(details, further->column),
                                  &further->conversion);
    }
    for (uint32_t i = 0; i < details->work.step_count && st == SLUICE_OK; i++) {
        plan_step *step = &details->work.steps[i];

        if (step->map == NULL && step->array == NULL) {
            st = plan_segment_program(plan, &details->work.segments[step->segment],
                                      &step->conversion);
        }
    }
    return st;
}
