/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_steps.h"

#include "array_ops.h"
#include "image_steps.h"
#include "loader_stage.h"
#include "opened_image.h"
#include "sample_cached.h"
#include "sample_erasing.h"
#include "sample_flips.h"
#include "sample_maps.h"

void sample_find_buffers(const sample_loader *loader, const sample_row *row, void **buffers)
{
    const struct plan_details *details = loader->plan->details;

    for (uint32_t i = 0; i < details->memory.buffer_count; i++) {
        const plan_buffer *buffer = &details->memory.buffers[i];

        buffers[i] = !buffer->needed       ? NULL
                     : buffer->column >= 0 ? row->columns[buffer->column]
                                           : loader->scratch + buffer->offset;
    }
}

/* Runs the conversion of a segment from its input buffer to its output buffer. */
static sluice_status convert_buffer(sample_loader *loader, const plan_step *step, uint64_t sample,
                                    uint64_t pass, uint8_t *flags, void *const *buffers)
{
    const sli_conversion *conversion = &step->conversion;
    const plan_segment *segment = &loader->plan->details->work.segments[step->segment];
    const uint64_t start = change_stage(loader, PLAN_PIXELS);
    float lost;
    uint8_t here;

    if (conversion->loses &&
        sli_conversion_loses(conversion, buffers[segment->from],
                             (size_t)conversion->height * conversion->width * conversion->channels,
                             &lost)) {
        return fail_lost_value(conversion, lost);
    }
    operation_enter(&loader->clock, step->operation);
    draw_flips(loader->plan->details, step->segment, sample, pass, &here, flags);
    sli_convert_image(conversion, buffers[segment->from], buffers[segment->to], here);
    if (loader->plan->details->erasing.is_used) {
        operation_enter(&loader->clock, OPERATION_ERASE);
        erase_converted(loader->plan, step->segment, &step->conversion, sample, pass,
                        buffers[segment->to]);
    }
    sli_counter_add(&loader->report.counters[PLAN_PIXELS]->busy_ticks, stage_ticks(loader) - start);
    return SLUICE_OK;
}

/* The number of real rows of the first input of an array stage. */
static uint64_t count_rows(const plan_step *step, void *const *buffers)
{
    const uint64_t most = step->input_types[0].shape[0];

    return step->lengths[0] >= 0 ? sample_length(*(const int32_t *)buffers[step->lengths[0]], most)
                                 : most;
}

/* Runs an array stage of several columns. */
static sluice_status compute_columns(const plan_step *step, void *const *buffers)
{
    array_sample sample = {
        .types = step->input_types,
        .rows = count_rows(step, buffers),
        .width = step->image_size[0],
        .height = step->image_size[1],
    };

    for (uint32_t i = 0; i < step->array_columns; i++) {
        sample.inputs[i] = buffers[step->inputs[i]];
    }
    for (uint32_t i = 0; i < step->array_outputs; i++) {
        sample.outputs[i] = buffers[step->first_output + i];
    }
    return step->array->def->array->compute_columns(step->array->args.bytes, &sample);
}

/* Runs an array stage that changes the number of rows. */
static sluice_status compute_rows(const plan_step *step, void *const *buffers)
{
    const sluice_column *type = &step->input_types[0];
    uint64_t rows = count_rows(step, buffers);
    const sluice_status st = step->array->def->array->compute_rows(
        step->array->args.bytes, type, buffers[step->inputs[0]], &step->output_type,
        buffers[step->first_output], &rows);
    if (st == SLUICE_OK && step->output_length >= 0 && buffers[step->output_length] != NULL) {
        *(int32_t *)buffers[step->output_length] = (int32_t)rows;
    }
    return st;
}

/* True if a column that an array stage writes is needed. */
static bool is_needed(const plan_step *step, void *const *buffers)
{
    return buffers[step->first_output] != NULL ||
           (step->output_length >= 0 && buffers[step->output_length] != NULL);
}

/* Runs an array stage: computes new values of a column. */
static sluice_status compute_array(sample_loader *loader, const plan_step *step,
                                   void *const *buffers)
{
    const stage_def *def = step->array->def;
    const uint64_t start = change_stage(loader, PLAN_PIXELS);
    sluice_status st;

    operation_enter(&loader->clock, step->operation);
    st = def->array->columns != NULL ? compute_columns(step, buffers)
         : def->array->compute_rows != NULL
             ? compute_rows(step, buffers)
             : def->array->compute(step->array->args.bytes, &step->input_types[0],
                                   buffers[step->inputs[0]], &step->output_type,
                                   buffers[step->first_output]);
    loader->last.stage = def->name;
    sli_counter_add(&loader->report.counters[PLAN_PIXELS]->busy_ticks, stage_ticks(loader) - start);
    return st;
}

/* Calls a map or filter. */
static sluice_status call_step(sample_loader *loader, uint32_t number, uint64_t sample,
                               uint64_t pass, void *const *buffers)
{
    const uint32_t stage = PLAN_MAPS + loader->plan->details->work.steps[number].profiled;
    const custom_map *map = loader->plan->details->work.steps[number].map;
    const uint64_t start = change_stage(loader, stage);
    bool keep = true;
    const sluice_status st = sample_map(loader, number, sample, pass, buffers, &keep);

    loader->last.dropped = !keep;
    if (!keep && st == SLUICE_OK && map->note > 0) {
        opened_image_note(loader, sample, (sli_image_note)(map->note - 1));
    }
    count_item(loader, stage, stage_ticks(loader) - start, 0);
    return st;
}

sluice_status sample_early_filters(sample_loader *loader, uint64_t sample, uint64_t pass,
                                   void *const *buffers)
{
    const struct plan_details *details = loader->plan->details;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < details->work.step_count && st == SLUICE_OK && !loader->last.dropped;
         i++) {
        if (details->work.steps[i].is_early) {
            st = call_step(loader, i, sample, pass, buffers);
        }
    }
    return st;
}

/* Runs the steps [first, end). */
static sluice_status run_steps(sample_loader *loader, uint32_t first, uint32_t end, uint64_t sample,
                               uint64_t pass, uint8_t *flags, void *const *buffers)
{
    const struct plan_details *details = loader->plan->details;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = first; i < end && st == SLUICE_OK && !loader->last.dropped; i++) {
        const plan_step *step = &details->work.steps[i];

        if (step->map != NULL) {
            if (!step->is_image_map &&
                (step->map->filter == NULL || (loader->filters && !step->is_early))) {
                st = call_step(loader, i, sample, pass, buffers);
            }
        } else if (step->array != NULL) {
            st = is_needed(step, buffers) ? compute_array(loader, step, buffers) : st;
        } else if (buffers[details->work.segments[step->segment].to] != NULL) {
            st = convert_buffer(loader, step, sample, pass, flags, buffers);
        }
    }
    return st;
}

sluice_status sample_steps(sample_loader *loader, uint64_t sample, uint64_t pass, uint8_t *flags,
                           void *const *buffers)
{
    const struct plan_details *details = loader->plan->details;
    const uint32_t cached = loader->cached.rows != NULL ? details->cache.steps : 0;
    sluice_status st = SLUICE_OK;

    if (loader->cached.rows != NULL && !loader->cached.hit) {
        st = run_steps(loader, 0, cached, sample, pass, flags, buffers);
        if (st == SLUICE_OK) {
            st = sample_cached_keep_row(loader, sample, buffers);
        }
    }
    return st == SLUICE_OK
               ? run_steps(loader, cached, details->work.step_count, sample, pass, flags, buffers)
               : st;
}
