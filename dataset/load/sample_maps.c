/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_maps.h"

#include "alloc_int.h"
#include "custom_sample.h"
#include "serial_lock.h"
#include "tensor_int.h"

/* Creates the state of one map; on failure state->owner is NULL. */
static sluice_status begin_map(const plan_step *step, sluice_sample *state)
{
    const sluice_map *of = &step->map->of;
    sluice_status st = SLUICE_OK;

    custom_sample_init(state, step->map->name, &step->outputs, step->map->guards);
    state->has_checked_boxes = true;
    if (of->begin != NULL) {
        const uint64_t before = sli_fail_count();

        st = custom_status(step->map->name, "begin", before, of->begin(of->user, &state->worker));
    }
    if (st != SLUICE_OK) {
        custom_sample_fini(state);
        state->owner = NULL;
    }
    return st;
}

/* Creates the states of all maps, in order. */
static sluice_status begin_maps(sample_loader *loader)
{
    const struct plan_details *details = loader->plan->details;
    sluice_status st = SLUICE_OK;

    loader->maps.samples = sli_calloc(details->work.step_count, sizeof(*loader->maps.samples));
    if (loader->maps.samples == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the maps of a worker");
    }
    for (uint32_t i = 0; i < details->work.step_count && st == SLUICE_OK; i++) {
        if (details->work.steps[i].map != NULL) {
            st = begin_map(&details->work.steps[i], &loader->maps.samples[i]);
        }
    }
    return st;
}

void sample_maps_end(sample_loader *loader)
{
    const uint32_t count =
        loader->maps.samples != NULL ? loader->plan->details->work.step_count : 0;

    for (uint32_t i = 0; i < count; i++) {
        sluice_sample *state = &loader->maps.samples[i];

        if (state->owner != NULL) {
            const sluice_map *of = &loader->plan->details->work.steps[i].map->of;

            if (of->end != NULL) {
                of->end(state->worker, of->user);
            }
            custom_sample_fini(state);
        }
    }
    sli_free(loader->maps.samples);
    loader->maps.samples = NULL;
}

uint64_t sample_length(int32_t length, uint64_t most)
{
    return length < 0 ? 0 : (uint64_t)length < most ? (uint64_t)length : most;
}

/* Sets the inputs of a map. A ragged column gets its actual length. */
static void set_inputs(const plan_step *step, void *const *buffers, sluice_sample *state)
{
    state->input_count = step->map->input_count;
    for (uint32_t i = 0; i < step->map->input_count; i++) {
        const sluice_column *type = &step->input_types[i];
        sluice_sample_view *view = &state->inputs[i].view;

        state->inputs[i].name = step->map->inputs[i];
        *view = (sluice_sample_view){
            .data = buffers[step->inputs[i]], .dtype = type->dtype, .rank = type->rank};
        for (uint32_t d = 0; d < type->rank; d++) {
            view->shape[d] = type->shape[d];
        }
        if (step->lengths[i] >= 0) {
            view->shape[0] =
                sample_length(*(const int32_t *)buffers[step->lengths[i]], type->shape[0]);
        }
        view->bytes = sluice_dtype_size(type->dtype);
        for (uint32_t d = 0; d < type->rank; d++) {
            view->bytes *= (size_t)view->shape[d];
        }
    }
}

static void set_outputs(const plan_step *step, void *const *buffers, sluice_sample *state)
{
    for (uint32_t i = 0; i < step->outputs.count; i++) {
        const custom_column *column = &step->outputs.columns[i];

        state->outputs[i].row = buffers[step->first_output + column->column];
        if (column->length >= 0) {
            state->outputs[i].length_row = buffers[step->first_output + (uint32_t)column->length];
        }
    }
}

/* Two values of *keep_out before a filter is called. A filter that leaves both did not set it. */
static const uint32_t NOT_SET[] = {0x6B656570, 0xF117E4ED};

/* Calls a filter, usually once. *is_set_out: it set *keep_out, or has failed. */
static sluice_status call_filter(const custom_map *map, sluice_sample *state, uint32_t *keep_out,
                                 bool *is_set_out)
{
    sluice_status st = SLUICE_OK;

    *is_set_out = false;
    for (uint32_t i = 0; i < 2 && !*is_set_out; i++) {
        *keep_out = NOT_SET[i];
        st = map->filter(state, keep_out, map->of.user);
        *is_set_out = st < SLUICE_OK || *keep_out != NOT_SET[i];
    }
    return st;
}

/* Calls the map or filter of a step. A filter must set *keep_out. */
static sluice_status call_map(sample_loader *loader, const plan_step *step, sluice_sample *state,
                              uint32_t *keep_out)
{
    custom_map *map = step->map;
    const uint64_t before = sli_fail_count();
    bool is_set = true;
    sluice_status st;

    if (map->of.serial != 0) {
        serial_lock(&map->lock, loader->report.counters[PLAN_MAPS + step->profiled]);
    }
    st = map->filter != NULL ? call_filter(map, state, keep_out, &is_set)
                             : map->of.map(state, map->of.user);
    if (map->of.serial != 0) {
        pthread_mutex_unlock(&map->lock);
    }
    st = custom_sample_end(state, map->filter != NULL ? "filter" : "map", before, st);
    return st == SLUICE_OK && !is_set
               ? sli_fail(SLUICE_E_CALLBACK,
                          "%s: filter() returned OK and did not set *keep_out; it must be 0 to "
                          "drop the sample, any other number to keep it",
                          map->name)
               : st;
}

/* Begins a call of the map of a step: sets its inputs and outputs. The first one of a worker makes
 * its states. */
static sluice_status begin_call(sample_loader *loader, uint32_t step, uint64_t sample,
                                uint64_t pass, void *const *buffers, sluice_sample **state_out)
{
    const plan_step *of = &loader->plan->details->work.steps[step];
    const sli_draws draws = {of->key, sample, pass};
    sluice_sample *state;

    if (loader->maps.samples == NULL) {
        const sluice_status st = begin_maps(loader);

        if (st != SLUICE_OK) {
            sample_maps_end(loader);
            loader->io.ends_run = true;
            return st;
        }
    }
    state = &loader->maps.samples[step];
    custom_sample_begin(state, sample, &draws);
    set_inputs(of, buffers, state);
    set_outputs(of, buffers, state);
    *state_out = state;
    return SLUICE_OK;
}

sluice_status sample_map(sample_loader *loader, uint32_t step, uint64_t sample, uint64_t pass,
                         void *const *buffers, bool *keep_out)
{
    uint32_t keep = 1;
    sluice_sample *state = NULL;
    sluice_status st = begin_call(loader, step, sample, pass, buffers, &state);

    if (st != SLUICE_OK) {
        return st;
    }
    st = call_map(loader, &loader->plan->details->work.steps[step], state, &keep);
    *keep_out = keep != 0;
    loader->io.ends_run = state->overran;
    return st;
}

uint32_t sample_map_step(const struct plan_details *details, const custom_map *map)
{
    uint32_t step = 0;

    while (details->work.steps[step].map != map) {
        step++;
    }
    return step;
}

/* Makes the image an input and output of a call. Returns the number of the output; -1: none. */
static int set_image(const plan_step *step, uint32_t buffer, const image_view *image,
                     sluice_sample *state)
{
    int output = -1;

    for (uint32_t i = 0; i < step->map->input_count; i++) {
        sluice_sample_view *view = &state->inputs[i].view;

        if (step->inputs[i] == buffer) {
            view->data = image->pixels;
            view->shape[SCHEMA_H] = image->height;
            view->shape[SCHEMA_W] = image->width;
            view->shape[SCHEMA_C] = image->channels;
            view->bytes = (size_t)image->height * image->width * image->channels;
        }
    }
    for (uint32_t i = 0; i < step->outputs.count; i++) {
        if ((int)step->outputs.columns[i].column == step->outputs.schema.image) {
            state->outputs[i].row = NULL;
            state->image_width = image->width;
            state->image_height = image->height;
            output = (int)i;
        }
    }
    return output;
}

sluice_status sample_map_image(sample_loader *loader, uint32_t step, const image_draws *draws,
                               void *const *buffers, map_image *image, bool *keep_out)
{
    const struct plan_details *details = loader->plan->details;
    const plan_step *of = &details->work.steps[step];
    uint32_t keep = 1;
    int output;
    sluice_sample *state = NULL;
    sluice_status st = begin_call(loader, step, draws->sample, draws->pass, buffers, &state);

    if (st != SLUICE_OK) {
        return st;
    }
    output = set_image(of, (uint32_t)details->images.first, &image->image, state);
    st = call_map(loader, of, state, &keep);
    *keep_out = keep != 0;
    loader->io.ends_run = state->overran;
    image->is_written = output >= 0;
    image->is_warped = state->is_warped;
    image->warp = state->warp;
    return st == SLUICE_OK && output >= 0
               ? custom_sample_pixels(state, (uint32_t)output, &image->image)
               : st;
}
