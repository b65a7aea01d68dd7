/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_run.h"

#include <stdio.h>
#include <string.h>

#include "layout_int.h"
#include "page_cache.h"
#include "range_int.h"

sluice_status sample_runner_init(sample_runner *runner, const sli_plan *plan)
{
    const source_ops *source = dataset_source(plan->dataset);

    memset(runner, 0, sizeof(*runner));
    runner->plan = plan;
    runner->stage = "";
    runner->drops = source->drops != NULL && source->drops(plan->dataset->source);
    sli_ranges_start();
    atomic_store_explicit(&runner->state.stage, "", memory_order_relaxed);
    return plan->details->decode != NULL ? image_decoder_create(&runner->decoder) : SLUICE_OK;
}

void sample_runner_fini(sample_runner *runner)
{
    image_decoder_destroy(runner->decoder);
    resampler_free(&runner->resampler);
    sample_io_free(&runner->io);
    image_buffer_free(&runner->between[0]);
    image_buffer_free(&runner->between[1]);
}

/* Enters a stage of the profile; returns the time. What has entered one leaves the last. */
static uint64_t enter(sample_runner *runner, uint32_t stage)
{
    uint64_t now = sli_ticks();

    sli_range_begin(runner->plan->stage_names[stage]);
    runner->stage = runner->plan->stage_names[stage];
    atomic_store_explicit(&runner->state.stage, runner->stage, memory_order_relaxed);
    atomic_store_explicit(&runner->state.since_ticks, now, memory_order_relaxed);
    return now;
}

static void leave(sample_runner *runner)
{
    sli_range_end();
    /* runner->stage stays: it says where a failure was. */
    atomic_store_explicit(&runner->state.stage, "", memory_order_relaxed);
}

/* From one stage to the next. */
static uint64_t change(sample_runner *runner, uint32_t stage)
{
    sli_range_end();
    return enter(runner, stage);
}

/* The lines of the last group go through the conversion into the row. */
typedef struct row_sink {
    const sli_conversion *conversion;
    void *row;
    uint8_t flags;
} row_sink;

static void convert_line(void *arg, uint32_t y, const uint8_t *pixels)
{
    const row_sink *sink = arg;

    sli_convert_line(sink->conversion, y, pixels, sink->row, sink->flags);
}

/* Mirrored by the worker, or by the device: each an odd number of times or not at all. */
static void draw_flips(const struct plan_details *details, uint64_t sample, uint64_t pass,
                       uint8_t *here, uint8_t *on_device)
{
    *here = 0;
    *on_device = 0;
    for (uint32_t i = 0; i < details->flip_count; i++) {
        const plan_flip *flip = &details->flips[i];
        const sli_draws draws = {flip->key, sample, pass};

        if (flip->stage->def->flips(flip->stage->args.bytes, &draws)) {
            *(flip->on_device ? on_device : here) ^= SLI_ROW_FLIP;
        }
    }
}

/* An image on its way: pixels, or a file whose header was read. */
typedef struct current_image {
    bool encoded;
    image_view image; /* only width and height while encoded */
} current_image;

static sluice_status open_image(sample_runner *runner, const sample_data *data,
                                current_image *current)
{
    const dataset_stage *decode = runner->plan->details->decode;
    const decode_args *args;
    sluice_status st;

    current->encoded = data->bytes != NULL;
    current->image = data->image;
    if (!current->encoded) {
        return SLUICE_OK;
    }
    args = (const decode_args *)(const void *)decode->args.bytes;
    current->image.channels = args->mode == 0 ? 3 : 1;
    st = image_decoder_open_head(runner->decoder, data->bytes, data->size, &data->rest,
                                 args->max_pixels, args->mode == 1, &current->image.width,
                                 &current->image.height);
    if (st == SLUICE_OK && data->index != NULL) {
        image_decoder_use_index(runner->decoder, data->index);
    }
    return st;
}

static bool scales_fast(const struct plan_details *details)
{
    return ((const decode_args *)(const void *)details->decode->args.bytes)->fast_scale;
}

/* One axis of a part of an image that was made smaller: to the nearest pixels. */
static void scale_axis(int64_t *at, uint32_t *length, uint32_t divisor, uint32_t extent)
{
    *length = (*length + divisor / 2) / divisor;
    *at = (*at + divisor / 2) / divisor;
    *at = *at + *length > extent ? extent - *length : *at;
}

/* Has the decoder make the image smaller, as far as what is resized stays larger than what it is
 * resized to. */
static void scale_down(const sample_runner *runner, plan_window *window, current_image *current)
{
    uint32_t divisor = 1;

    while (divisor < 8 && window->width / (divisor * 2) >= window->new_width &&
           window->height / (divisor * 2) >= window->new_height) {
        divisor *= 2;
    }
    if (divisor > 1 && image_decoder_scale(runner->decoder, divisor, &current->image.width,
                                           &current->image.height)) {
        scale_axis(&window->x, &window->width, divisor, current->image.width);
        scale_axis(&window->y, &window->height, divisor, current->image.height);
    }
}

/* The pixels of a box of the image; decodes them when it is a file still. */
static sluice_status pixels_of(sample_runner *runner, const current_image *current,
                               const image_box *box, image_view *pixels_out)
{
    if (box->width == 0 || box->height == 0) {
        *pixels_out = (image_view){NULL, 0, 0, 0, current->image.channels};
        return SLUICE_OK;
    }
    if (current->encoded) {
        return image_decoder_region(runner->decoder, box, pixels_out);
    }
    *pixels_out = current->image;
    pixels_out->pixels += box->y * current->image.stride + (size_t)box->x * current->image.channels;
    pixels_out->width = box->width;
    pixels_out->height = box->height;
    return SLUICE_OK;
}

/* Where the lines of group `number` go: into the row, or into an image for the next group. */
static sluice_status choose_sink(sample_runner *runner, uint32_t number, const plan_window *window,
                                 uint32_t channels, row_sink *row, line_sink *sink)
{
    const sli_plan *plan = runner->plan;
    image_buffer *between = &runner->between[number % 2];
    sluice_status st;

    if (number + 1 == plan->details->group_count) {
        if (window->window_width != plan->host_conversion.width ||
            window->window_height != plan->host_conversion.height ||
            channels != plan->host_conversion.channels) {
            return sli_fail(SLUICE_E_INVALID,
                            "the image is %ux%ux%u where the batch has %ux%ux%u; add resize or a "
                            "crop, so that all have one size",
                            window->window_width, window->window_height, channels,
                            plan->host_conversion.width, plan->host_conversion.height,
                            plan->host_conversion.channels);
        }
        *sink = (line_sink){convert_line, row, NULL};
        if (sli_conversion_is_identity(row->conversion) ||
            (plan->host_conversion.to == SLUICE_U8 && !plan->host_conversion.to_chw &&
             row->flags == 0)) {
            sink->direct = row->row;
        }
        return SLUICE_OK;
    }
    st = image_buffer_reserve(between,
                              (size_t)window->window_width * window->window_height * channels);
    *sink = (line_sink){NULL, NULL, between->data};
    return st;
}

/* One group of geometry: from the image as it is to the one after it, or into the row. */
static sluice_status run_group(sample_runner *runner, uint32_t number, uint64_t sample,
                               uint64_t pass, row_sink *row, current_image *current,
                               uint64_t *ticks)
{
    const struct plan_details *details = runner->plan->details;
    const uint32_t channels = current->image.channels;
    plan_window window;
    image_box needed;
    line_sink sink;
    image_view pixels;
    sluice_status st =
        plan_compose(details, &details->groups[number], sample, pass, current->image.width,
                     current->image.height, &window, &runner->stage);

    if (st == SLUICE_OK && current->encoded && scales_fast(details)) {
        scale_down(runner, &window, current);
    }
    if (st == SLUICE_OK) {
        const resample_job job = {channels,         window.width,        window.height,
                                  window.new_width, window.new_height,   window.window_x,
                                  window.window_y,  window.window_width, window.window_height,
                                  window.filter};

        st = resample_prepare(&runner->resampler, &job, &needed);
    }
    if (st == SLUICE_OK) {
        needed.x += (uint32_t)window.x;
        needed.y += (uint32_t)window.y;
        st = pixels_of(runner, current, &needed, &pixels);
    }
    if (st == SLUICE_OK && current->encoded) {
        uint64_t now = change(runner, PLAN_PIXELS);

        sli_counters_item(runner->counters[PLAN_DECODE], now - *ticks,
                          pixels.stride * pixels.height);
        *ticks = now;
    }
    if (st == SLUICE_OK) {
        st = choose_sink(runner, number, &window, channels, row, &sink);
    }
    if (st == SLUICE_OK) {
        st = resample_run(&runner->resampler, &pixels, &sink);
    }
    current->encoded = false;
    current->image =
        (image_view){runner->between[number % 2].data, (size_t)window.window_width * channels,
                     window.window_width, window.window_height, channels};
    return st;
}

static sluice_status run_image(sample_runner *runner, uint64_t sample, uint64_t pass,
                               const sample_data *data, const sample_row *row, uint64_t ticks)
{
    const sli_plan *plan = runner->plan;
    row_sink sink = {&plan->host_conversion, row->columns[plan->image_column], 0};
    current_image current;
    sluice_status st;

    draw_flips(plan->details, sample, pass, &sink.flags, row->flags);
    st = open_image(runner, data, &current);
    for (uint32_t i = 0; i < plan->details->group_count && st == SLUICE_OK; i++) {
        st = run_group(runner, i, sample, pass, &sink, &current, &ticks);
    }
    if (st == SLUICE_OK) {
        sli_counters_item(runner->counters[PLAN_PIXELS], sli_ticks() - ticks,
                          sli_conversion_out_bytes(&plan->host_conversion));
    }
    return st;
}

/* The sample was decoded, or could not be: what came of its index is kept and counted. */
static void end_index(sample_runner *runner, uint64_t sample, const sample_data *data,
                      sluice_status st)
{
    const sluice_dataset *dataset = runner->plan->dataset;
    const image_index *index = data->index;
    worker_indexes *counts = &runner->indexes;
    bool kept = false;

    if (st == SLUICE_OK && (index->is_made || index->is_wrong)) {
        kept = dataset_source(dataset)->keep_index(dataset->source, sample, &runner->io, data);
    }
    sli_counter_add(&counts->asked, 1);
    sli_counter_add(&counts->used, index->is_used);
    sli_counter_add(&counts->made, kept);
    sli_counter_add(&counts->refused, index->is_refused || index->is_wrong);
}

void sample_add_indexes(const sample_runner *runner, sli_index_counts *counts)
{
    const worker_indexes *indexes = &runner->indexes;

    counts->asked += atomic_load_explicit(&indexes->asked, memory_order_relaxed);
    counts->used += atomic_load_explicit(&indexes->used, memory_order_relaxed);
    counts->made += atomic_load_explicit(&indexes->made, memory_order_relaxed);
    counts->refused += atomic_load_explicit(&indexes->refused, memory_order_relaxed);
}

/* Reads the sample and takes its image to the row. */
static sluice_status read_and_run(sample_runner *runner, uint64_t sample, uint64_t pass,
                                  const sample_row *row)
{
    const sli_plan *plan = runner->plan;
    const source_ops *source = dataset_source(plan->dataset);
    const uint64_t before = runner->io.bytes_read;
    const uint64_t start = enter(runner, PLAN_READ);
    sample_data data = {0};
    uint64_t counted;
    uint64_t now;
    sluice_status st =
        source->read(plan->dataset->source, sample, &runner->io, row->columns, &data);

    runner->read_ticks = 0;
    if (st != SLUICE_OK) {
        return st;
    }
    now = change(runner, data.bytes != NULL ? PLAN_DECODE : PLAN_PIXELS);
    runner->read_ticks = now - start;
    runner->read_bytes = runner->io.bytes_read - before;
    sli_counters_item(runner->counters[PLAN_READ], runner->read_ticks, runner->read_bytes);
    if (plan->mask_column >= 0) {
        *(uint8_t *)row->columns[plan->mask_column] = 1;
    }
    *row->flags = 0;
    if (plan->image_column < 0) {
        return SLUICE_OK;
    }
    counted = runner->io.bytes_read;
    st = run_image(runner, sample, pass, &data, row, now);
    /* What decoding has read itself was read all the same. */
    sli_counter_add(&runner->counters[PLAN_READ]->bytes, runner->io.bytes_read - counted);
    if (data.index != NULL) {
        end_index(runner, sample, &data, st);
    }
    return st;
}

/* Nobody wants the sample's bytes any more, also where they could not be used. */
static void drop(const sample_runner *runner, uint64_t sample)
{
    const sluice_dataset *dataset = runner->plan->dataset;
    sample_location location = {0};

    if (dataset_source(dataset)->locate(dataset->source, sample, &location)) {
        page_cache_drop(&location);
    }
}

sluice_status sample_run(sample_runner *runner, uint64_t sample, uint64_t pass,
                         const sample_row *row)
{
    sluice_status st;

    atomic_store_explicit(&runner->state.sample, sample, memory_order_relaxed);
    st = read_and_run(runner, sample, pass, row);
    if (runner->drops) {
        drop(runner, sample);
    }
    leave(runner);
    return st;
}

void sample_name(const sample_runner *runner, uint64_t sample, char *text, size_t size)
{
    const sluice_dataset *dataset = runner->plan->dataset;

    if (dataset_is_stream(dataset)) {
        snprintf(text, size, "%s", runner->io.item.name);
    } else {
        dataset_source(dataset)->name(dataset->source, sample, text, size);
    }
}

void sample_describe_failure(const sample_runner *runner, uint64_t sample, char *text, size_t size)
{
    char name[256];

    sample_name(runner, sample, name, sizeof(name));
    snprintf(text, size, "%s: sample %llu, %s: %.600s", runner->stage, (unsigned long long)sample,
             name, sluice_last_error());
}

void sample_take(sample_runner *runner, sample_stream *stream, stream_claim *claim_out)
{
    const uint64_t start = enter(runner, PLAN_READ);
    uint64_t busy;

    atomic_store_explicit(&runner->state.sample, 0, memory_order_relaxed);
    sample_stream_take(stream, &runner->io.item, claim_out);
    busy = sli_ticks() - start - claim_out->waited_ticks;
    sli_counter_add(&runner->counters[PLAN_READ]->busy_ticks, busy);
    sli_counter_add(&runner->counters[PLAN_READ]->wait_input_ticks, claim_out->waited_ticks);
    leave(runner);
}
