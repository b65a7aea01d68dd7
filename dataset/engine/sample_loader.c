/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_loader.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "batch_maps.h"
#include "error_int.h"
#include "layout_int.h"
#include "loader_stage.h"
#include "page_cache.h"
#include "printable_int.h"
#include "sample_flips.h"
#include "sample_indexes.h"
#include "sample_maps.h"
#include "sample_steps.h"

sluice_status sample_loader_init(sample_loader *loader, const sli_plan *plan)
{
    const source_ops *source = dataset_source(plan->dataset);

    memset(loader, 0, sizeof(*loader));
    loader->plan = plan;
    loader->stage = "";
    loader->io.draws_key = plan_stage_key(plan->dataset, 0, plan->settings.seed);
    loader->drops = source->drops != NULL && source->drops(plan->dataset->source);
    sli_ranges_start();
    atomic_store_explicit(&loader->state.stage, "", memory_order_relaxed);
    if (plan->details->scratch_bytes > 0) {
        loader->scratch = sli_aligned_alloc(64, plan->details->scratch_bytes);
        if (loader->scratch == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "the columns of a sample");
        }
        memset(loader->scratch, 0, plan->details->scratch_bytes);
    }
    if (plan->details->own_rows > 0) {
        const size_t bytes = plan->details->own_rows * plan->details->own_row_bytes;

        loader->own_rows = sli_aligned_alloc(64, bytes);
        if (loader->own_rows == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "the samples that a filter looks at");
        }
        memset(loader->own_rows, 0, bytes);
    }
    return plan->details->decode != NULL ? image_decoder_create(&loader->decoder) : SLUICE_OK;
}

void sample_loader_end(sample_loader *loader)
{
    sample_io_end(&loader->io);
    sample_maps_end(loader);
    batch_maps_end(loader);
}

void sample_loader_fini(sample_loader *loader)
{
    image_decoder_destroy(loader->decoder);
    sample_maps_end(loader);
    batch_maps_end(loader);
    sli_free(loader->scratch);
    sli_free(loader->own_rows);
    resampler_free(&loader->resampler);
    colors_free(&loader->colors);
    sample_io_free(&loader->io);
    image_buffer_free(&loader->between[0]);
    image_buffer_free(&loader->between[1]);
}

/* The destination of the last geometry group: lines are converted and stored in the row. */
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

/*
 * The current image between two geometry groups: pixels, or an encoded image whose header was read.
 */
typedef struct current_image {
    bool encoded;
    bool from_pack;
    bool follows;     /* true for a further image of a sample: the profile does not count it */
    image_view image; /* while encoded, only the size and the channels are valid */
} current_image;

static sluice_status open_image(sample_loader *loader, const sample_data *data,
                                current_image *current)
{
    const dataset_stage *decode = loader->plan->details->decode;
    const decode_args *args;
    sluice_status st;

    current->encoded = data->bytes != NULL;
    current->from_pack = data->from_pack;
    current->image = data->image;
    if (!current->encoded) {
        return SLUICE_OK;
    }
    args = (const decode_args *)(const void *)decode->args.bytes;
    current->image.channels = args->mode == DECODE_RGB ? 3 : 1;
    st = image_decoder_open_head(loader->decoder, data->bytes, data->size, &data->rest,
                                 args->max_pixels, args->mode != DECODE_RGB, &current->image.width,
                                 &current->image.height);
    if (st == SLUICE_OK && args->mode == DECODE_INDEX) {
        st = image_decoder_want_indices(loader->decoder);
    }
    if (st == SLUICE_OK && data->index != NULL) {
        image_decoder_use_index(loader->decoder, data->index);
    }
    return st;
}

static bool scales_fast(const struct plan_details *details)
{
    return ((const decode_args *)(const void *)details->decode->args.bytes)->fast_scale;
}

/* Converts one axis of a box to scaled-image pixels, rounded to the nearest pixel. */
static void scale_axis(int64_t *at, uint32_t *length, uint32_t divisor, uint32_t extent)
{
    *length = (*length + divisor / 2) / divisor;
    *at = (*at + divisor / 2) / divisor;
    *at = *at + *length > extent ? extent - *length : *at;
}

/*
 * Makes the decoder scale the image down, as long as the crop remains at least as large as the
 * resize's target size.
 */
static void scale_down(const sample_loader *loader, fused_geometry *window, current_image *current)
{
    uint32_t divisor = 1;

    while (divisor < 8 && window->width / (divisor * 2) >= window->new_width &&
           window->height / (divisor * 2) >= window->new_height) {
        divisor *= 2;
    }
    if (divisor > 1 && image_decoder_scale(loader->decoder, divisor, &current->image.width,
                                           &current->image.height)) {
        scale_axis(&window->x, &window->width, divisor, current->image.width);
        scale_axis(&window->y, &window->height, divisor, current->image.height);
    }
}

/* Decodes a box of the image, and counts the pixels that an index would have avoided decoding. */
static sluice_status decode_box(sample_loader *loader, const current_image *current,
                                const image_box *box, image_view *pixels_out)
{
    worker_indexes *counts = &loader->indexes;
    sluice_status st = image_decoder_region(loader->decoder, box, pixels_out);

    if (st == SLUICE_OK && !current->from_pack && !current->follows &&
        image_decoder_lacks_index(loader->decoder)) {
        sli_counter_add(&counts->lacking, 1);
        sli_counter_add(&counts->above, (uint64_t)current->image.width * (box->y + box->height));
        sli_counter_add(&counts->needed, (uint64_t)box->width * box->height);
    }
    return st;
}

/* Returns the pixels of a box, and decodes them if the image is still encoded. */
static sluice_status find_pixels(sample_loader *loader, const current_image *current,
                                 const image_box *box, image_view *pixels_out)
{
    if (box->width == 0 || box->height == 0) {
        *pixels_out = (image_view){NULL, 0, 0, 0, current->image.channels};
        return SLUICE_OK;
    }
    if (current->encoded) {
        return decode_box(loader, current, box, pixels_out);
    }
    *pixels_out = current->image;
    pixels_out->pixels += box->y * current->image.stride + (size_t)box->x * current->image.channels;
    pixels_out->width = box->width;
    pixels_out->height = box->height;
    return SLUICE_OK;
}

static sluice_status size_mismatch(const sli_plan *plan, const sli_conversion *want,
                                   const fused_geometry *window, uint32_t channels)
{
    char advice[200];

    dataset_advise_size(plan->dataset, advice, sizeof(advice));
    return sli_fail(SLUICE_E_INVALID, "the image is %ux%ux%u where the batch has %ux%ux%u; %s",
                    window->window_width, window->window_height, channels, want->width,
                    want->height, want->channels, advice);
}

/* Determines the destination of group `number`: the row, or the image for the next group. */
static sluice_status choose_sink(sample_loader *loader, uint32_t number,
                                 const fused_geometry *window, uint32_t channels, row_sink *row,
                                 line_sink *sink)
{
    const sli_plan *plan = loader->plan;
    const sli_conversion *conversion = row->conversion;
    image_buffer *between = &loader->between[number % 2];
    sluice_status st;

    if (number + 1 == plan->details->group_count) {
        if (window->window_width != conversion->width ||
            window->window_height != conversion->height || channels != conversion->channels) {
            return size_mismatch(plan, conversion, window, channels);
        }
        *sink = (line_sink){convert_line, row, NULL};
        if (plan->details->color_count > 0) {
            return colors_start(&loader->colors, conversion, sink);
        }
        if (sli_conversion_is_identity(conversion) ||
            (conversion->to == SLUICE_U8 && !conversion->to_chw && row->flags == 0)) {
            sink->direct = row->row;
        }
        return SLUICE_OK;
    }
    st = image_buffer_reserve(between,
                              (size_t)window->window_width * window->window_height * channels);
    *sink = (line_sink){NULL, NULL, between->data};
    return st;
}

/* Counts the work on an image. A further image of a sample is not counted as a sample. */
static inline void count_image(sli_counters *counters, const current_image *current, uint64_t ticks,
                               uint64_t bytes)
{
    if (!current->follows) {
        sli_counters_item(counters, ticks, bytes);
        return;
    }
    sli_counter_add(&counters->busy_ticks, ticks);
    sli_counter_add(&counters->bytes, bytes);
}

/* Runs one geometry group: from the current image to the next image or the row. */
static sluice_status process_group(sample_loader *loader, uint32_t number, uint64_t sample,
                                   uint64_t pass, row_sink *row, current_image *current,
                                   uint64_t *ticks)
{
    const struct plan_details *details = loader->plan->details;
    const uint32_t channels = current->image.channels;
    fused_geometry window;
    image_box needed;
    line_sink sink;
    image_view pixels;
    sluice_status st =
        plan_fuse_geometry(details, &details->groups[number], sample, pass, current->image.width,
                           current->image.height, &window, &loader->stage);

    if (st == SLUICE_OK) {
        loader->groups[number] = window;
    }
    if (st == SLUICE_OK && current->encoded && scales_fast(details)) {
        scale_down(loader, &window, current);
    }
    if (st == SLUICE_OK) {
        const resample_job job = {channels,         window.width,        window.height,
                                  window.new_width, window.new_height,   window.window_x,
                                  window.window_y,  window.window_width, window.window_height,
                                  window.filter,    window.fill};

        st = resample_prepare(&loader->resampler, &job, &needed);
    }
    if (st == SLUICE_OK) {
        needed.x += (uint32_t)window.x;
        needed.y += (uint32_t)window.y;
        st = find_pixels(loader, current, &needed, &pixels);
    }
    if (st == SLUICE_OK && current->encoded) {
        uint64_t now = change_stage(loader, PLAN_PIXELS);

        count_image(loader->counters[PLAN_DECODE], current, now - *ticks,
                    pixels.stride * pixels.height);
        *ticks = now;
    }
    if (st == SLUICE_OK) {
        st = choose_sink(loader, number, &window, channels, row, &sink);
    }
    if (st == SLUICE_OK) {
        st = resample_run(&loader->resampler, &pixels, &sink);
    }
    if (st == SLUICE_OK && details->color_count > 0 && number + 1 == details->group_count) {
        colors_finish(&loader->colors);
    }
    current->encoded = false;
    current->image =
        (image_view){loader->between[number % 2].data, (size_t)window.window_width * channels,
                     window.window_width, window.window_height, channels};
    return st;
}

/* Checks that a further image has the size of the first one. With the same draws it then gets the
 * same geometry. */
static sluice_status check_size(const image_way *way, const image_view *image)
{
    return image->width == way->width && image->height == way->height
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "the image is %ux%u, the first one of its sample %ux%u",
                          image->width, image->height, way->width, way->height);
}

/*
 * Processes an image of a sample. For the first image (partner NULL), stores its geometry and flip
 * in loader->way; a further image gets the same geometry and flip.
 */
static sluice_status process_image(sample_loader *loader, uint64_t sample, uint64_t pass,
                                   const sample_data *data, const plan_partner *partner,
                                   void *image, uint8_t *flags, uint64_t ticks)
{
    const sli_plan *plan = loader->plan;
    image_way *way = &loader->way;
    row_sink sink = {&plan->host_conversion, image, 0};
    current_image current;
    sluice_status st;

    current.follows = partner != NULL;
    if (partner != NULL) {
        sink.conversion = &partner->conversion;
        sink.flags = way->flipped ? SLI_ROW_FLIP : 0;
    } else {
        draw_flips(plan->details, 0, sample, pass, &sink.flags, flags);
    }
    if (plan->details->color_count > 0) {
        colors_draw(&loader->colors, plan, sample, pass,
                    partner != NULL ? partner->column : (uint32_t)plan->details->image);
    }
    st = open_image(loader, data, &current);
    if (partner == NULL) {
        *way = (image_way){current.image.width,
                           current.image.height,
                           loader->groups,
                           plan->details->group_count,
                           plan->details->warps ? &loader->colors.chain : NULL,
                           ((sink.flags ^ *flags) & SLI_ROW_FLIP) != 0};
    } else if (st == SLUICE_OK) {
        st = check_size(way, &current.image);
    }
    for (uint32_t i = 0; i < plan->details->group_count && st == SLUICE_OK; i++) {
        st = process_group(loader, i, sample, pass, &sink, &current, &ticks);
    }
    if (st == SLUICE_OK) {
        count_image(loader->counters[PLAN_PIXELS], &current, sli_ticks() - ticks,
                    sli_conversion_out_bytes(sink.conversion));
    }
    return st;
}

/* Prepends the name of a column to the last error. */
static void name_column_of_error(const char *column, sluice_status status)
{
    sli_error error;

    sli_error_take(status, &error);
    sli_fail(status, "%s: %.900s", column, error.text);
}

/* Reads a mask or further image of a sample, by its column. */
static sluice_status read_other(sample_loader *loader, uint64_t sample, uint32_t column,
                                sample_data *data)
{
    const sluice_dataset *dataset = loader->plan->dataset;

    *data = (sample_data){0};
    return dataset_source(dataset)->read_other(dataset->source, sample, column, &loader->io, data);
}

/* Processes the masks from *column on, up to the next further image. Reads that image's bytes, and
 * sets *column to it, or to the number of columns if there is no further image. */
static sluice_status follow_to_next(sample_loader *loader, uint64_t sample, void *const *buffers,
                                    uint32_t *column, sample_data *data)
{
    const stage_schema *schema = &loader->plan->dataset->source_schema;
    const mask_tools tools = {loader->decoder, &loader->resampler, loader->between};

    for (; *column < schema->column_count; ++*column) {
        const column_role role = schema->infos[*column].role;
        sluice_status st;

        if ((role != ROLE_MASK && role != ROLE_IMAGE) || buffers[*column] == NULL) {
            continue;
        }
        st = read_other(loader, sample, *column, data);
        if (st == SLUICE_OK && role == ROLE_MASK) {
            st = mask_follow(loader->plan, &loader->way, data, &tools, buffers[*column]);
        }
        if (st != SLUICE_OK) {
            name_column_of_error(schema->columns[*column].name, st);
        }
        if (st != SLUICE_OK || role == ROLE_IMAGE) {
            return st;
        }
    }
    return SLUICE_OK;
}

/*
 * Continues a sample after one of its images. After the first image, transforms the boxes and
 * writes the geometry column. Then processes masks up to the next further image, and reads that
 * image's bytes. *partner: in, the image just processed, NULL for the first one; out, the next
 * image, NULL if there is none.
 */
static sluice_status follow_image(sample_loader *loader, uint64_t sample, void *const *buffers,
                                  const plan_partner **partner, sample_data *data)
{
    const stage_schema *schema = &loader->plan->dataset->source_schema;
    const uint64_t start = change_stage(loader, PLAN_DECODE);
    uint32_t column = *partner != NULL ? (*partner)->column + 1 : 0;
    const int map = loader->plan->details->map;
    sluice_status st = *partner == NULL ? boxes_follow(schema, &loader->way, buffers) : SLUICE_OK;

    if (*partner == NULL && map >= 0 && buffers[map] != NULL) {
        way_back(&loader->way, buffers[map]);
    }

    if (st == SLUICE_OK) {
        st = follow_to_next(loader, sample, buffers, &column, data);
    }
    *partner = st == SLUICE_OK && column < schema->column_count
                   ? plan_partner_of(loader->plan->details, column)
                   : NULL;
    sli_counter_add(&loader->counters[PLAN_DECODE]->busy_ticks, sli_ticks() - start);
    return st;
}

/* Processes the first image of a sample, whose bytes are already read, then its boxes, masks and
 * further images. */
static sluice_status process_images(sample_loader *loader, uint64_t sample, uint64_t pass,
                                    sample_data *data, uint8_t *flags, void *const *buffers,
                                    uint64_t ticks)
{
    const struct plan_details *details = loader->plan->details;
    const uint64_t before = loader->io.bytes_read;
    const plan_partner *partner = NULL;
    uint32_t column = (uint32_t)details->image;
    sluice_status st;

    for (;;) {
        st = process_image(loader, sample, pass, data, partner, buffers[column], flags, ticks);
        if (data->index != NULL) {
            sample_count_index(loader, sample, data, st);
        }
        if (partner != NULL && st != SLUICE_OK) {
            name_column_of_error(loader->plan->dataset->source_schema.columns[column].name, st);
        }
        if (st == SLUICE_OK && details->has_followers) {
            st = follow_image(loader, sample, buffers, &partner, data);
            if (st == SLUICE_OK && partner != NULL) {
                column = partner->column;
                ticks = change_stage(loader, PLAN_DECODE);
                continue;
            }
        }
        break;
    }
    /* Decoding a region may have read more bytes of the file. */
    sli_counter_add(&loader->counters[PLAN_READ]->bytes, loader->io.bytes_read - before);
    return st;
}

/* Reads a sample, and writes its image, its masks and boxes, and its plain columns. */
static sluice_status read_and_process(sample_loader *loader, uint64_t sample, uint64_t pass,
                                      const sample_row *row, void *const *buffers)
{
    const sli_plan *plan = loader->plan;
    const source_ops *source = dataset_source(plan->dataset);
    const uint64_t before = loader->io.bytes_read;
    const uint64_t start = enter_stage(loader, PLAN_READ);
    sample_data data = {0};
    uint64_t now;
    sluice_status st;

    loader->io.pass = pass;
    loader->io.stored =
        plan->details->stored_column >= 0 ? row->columns[plan->details->stored_column] : NULL;
    st = source->read(plan->dataset->source, sample, &loader->io, buffers, &data);
    loader->read_ticks = 0;
    loader->fault = SLI_FAULT_NONE;
    if (st != SLUICE_OK) {
        loader->fault = sli_fault_of_last(st);
        return st;
    }
    now = change_stage(loader, data.bytes != NULL ? PLAN_DECODE : PLAN_PIXELS);
    loader->read_ticks = now - start;
    loader->read_bytes = loader->io.bytes_read - before;
    sli_counters_item(loader->counters[PLAN_READ], loader->read_ticks, loader->read_bytes);
    if (plan->mask_column >= 0) {
        *(uint8_t *)row->columns[plan->mask_column] = 1;
    }
    *row->flags = 0;
    if (loader->filters) {
        st = sample_early_filters(loader, sample, pass, buffers);
        if (st != SLUICE_OK || loader->dropped) {
            return st;
        }
        now = change_stage(loader, data.bytes != NULL ? PLAN_DECODE : PLAN_PIXELS);
    }
    if (plan->details->image < 0) {
        return SLUICE_OK;
    }
    return process_images(loader, sample, pass, &data, row->flags, buffers, now);
}

/* Drops the sample's pages from the page cache, even if decoding has failed. */
static void drop_pages(const sample_loader *loader, uint64_t sample)
{
    const sluice_dataset *dataset = loader->plan->dataset;
    sample_location location = {0};

    if (dataset_source(dataset)->locate(dataset->source, sample, &location) && !location.keeps) {
        page_cache_drop(&location);
    }
}

sluice_status sample_load(sample_loader *loader, uint64_t sample, uint64_t pass,
                          const sample_row *row)
{
    void *buffers[SCHEMA_MAX_BUFFERS];
    sluice_status st;

    atomic_store_explicit(&loader->state.sample, sample, memory_order_relaxed);
    loader->dropped = false;
    if (loader->plan->details->rows_only) {
        st = read_and_process(loader, sample, pass, row, row->columns);
    } else {
        sample_find_buffers(loader, row, buffers);
        st = read_and_process(loader, sample, pass, row, buffers);
        if (st == SLUICE_OK && !loader->dropped) {
            st = sample_steps(loader, sample, pass, row->flags, buffers);
        }
    }
    if (loader->drops) {
        drop_pages(loader, sample);
    }
    leave_stage(loader);
    return st;
}

void sample_name(sample_loader *loader, uint64_t sample, char *text, size_t size)
{
    const sluice_dataset *dataset = loader->plan->dataset;

    if (dataset_is_stream(dataset)) {
        snprintf(text, size, "%s",
                 source_item_name(dataset_source(dataset), dataset->source, &loader->io.item));
    } else {
        dataset_source(dataset)->name(dataset->source, sample, text, size);
    }
}

void sample_failure_text(sample_loader *loader, uint64_t sample, char *text, size_t size)
{
    char raw[256];
    char name[256];

    sample_name(loader, sample, raw, sizeof(raw));
    sli_printable(raw, SLI_ONE_LINE, name, sizeof(name));
    snprintf(text, size, "%s: sample %llu, %s: %.600s", loader->stage, (unsigned long long)sample,
             name, sluice_last_error());
}

void sample_claim(sample_loader *loader, sample_stream *stream, stream_claim *claim_out)
{
    const uint64_t start = enter_stage(loader, PLAN_READ);
    uint64_t busy;

    atomic_store_explicit(&loader->state.sample, 0, memory_order_relaxed);
    sample_stream_take(stream, &loader->io.item, claim_out);
    busy = sli_ticks() - start - claim_out->waited_ticks;
    sli_counter_add(&loader->counters[PLAN_READ]->busy_ticks, busy);
    sli_counter_add(&loader->counters[PLAN_READ]->wait_input_ticks, claim_out->waited_ticks);
    leave_stage(loader);
}
