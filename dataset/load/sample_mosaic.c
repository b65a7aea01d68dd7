/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_mosaic.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "error_int.h"
#include "error_samples.h"
#include "layout_int.h"
#include "loader_stage.h"
#include "opened_image.h"
#include "printable_int.h"
#include "sample_boxes.h"
#include "sample_cached.h"
#include "sample_indexes.h"
#include "sample_masks.h"
#include "sample_pixels.h"
#include "sample_points.h"
#include "sample_reading.h"
#include "tensor_int.h"
#include "thread_interrupt_int.h"

struct sample_mosaic {
    const sli_plan *plan;
    image_buffer canvases[SLUICE_MAX_COLUMNS]; /* of images and masks, by column of the source */
    uint8_t *memory;
    void *columns[SLUICE_MAX_COLUMNS]; /* other columns of a partner; NULL: not needed */
    image_box shown; /* the part of the canvases that the last tile was painted on */
};

/* ---- columns --------------------------------------------------------------------------------- */

/* True if a column of the source is composed on a canvas. */
static bool has_canvas(const sli_plan *plan, uint32_t column)
{
    const stage_schema *schema = &plan->dataset->source_schema;
    const column_role role = schema->infos[column].role;

    return plan->details->memory.buffers[column].needed &&
           ((int)column == plan->details->images.first || role == ROLE_MASK || role == ROLE_IMAGE);
}

static uint32_t channels_of(const sli_plan *plan, uint32_t column)
{
    if ((int)column == plan->details->images.first) {
        return plan->host_conversion.channels;
    }
    return plan->dataset->source_schema.infos[column].role == ROLE_MASK
               ? 1
               : plan_further_of(plan->details, column)->conversion.channels;
}

/* Bytes of a column of a partner. 0: it needs no memory here. */
static size_t column_bytes(const sli_plan *plan, uint32_t column)
{
    size_t bytes = 0;

    return plan->details->memory.buffers[column].needed && !has_canvas(plan, column) &&
                   sli_column_bytes(&plan->dataset->source_schema.columns[column], &bytes)
               ? (bytes + IMAGE_SLACK + 63) / 64 * 64
               : 0;
}

sluice_status sample_mosaic_create(const sli_plan *plan, sample_mosaic **mosaic_out)
{
    const uint32_t columns = plan->dataset->source_schema.column_count;
    sample_mosaic *mosaic = sli_calloc(1, sizeof(*mosaic));
    size_t bytes = 64;
    uint8_t *next;

    for (uint32_t i = 0; i < columns; i++) {
        bytes += column_bytes(plan, i);
    }
    if (mosaic != NULL) {
        mosaic->plan = plan;
        mosaic->memory = sli_aligned_alloc(64, bytes);
    }
    if (mosaic == NULL || mosaic->memory == NULL) {
        sample_mosaic_destroy(mosaic);
        return sli_fail(SLUICE_E_NO_MEMORY, "the columns of a mosaic");
    }
    memset(mosaic->memory, 0, bytes);
    next = mosaic->memory;
    for (uint32_t i = 0; i < columns; i++) {
        const size_t of_column = column_bytes(plan, i);

        mosaic->columns[i] = of_column > 0 ? next : NULL;
        next += of_column;
    }
    *mosaic_out = mosaic;
    return SLUICE_OK;
}

void sample_mosaic_destroy(sample_mosaic *mosaic)
{
    if (mosaic == NULL) {
        return;
    }
    for (uint32_t i = 0; i < SLUICE_MAX_COLUMNS; i++) {
        image_buffer_free(&mosaic->canvases[i]);
    }
    sli_free(mosaic->memory);
    sli_free(mosaic);
}

/* ---- canvases -------------------------------------------------------------------------------- */

/* Fills a line with pixels of one value. */
static void fill_line(uint8_t *line, size_t bytes, uint32_t channels, const uint8_t *fill)
{
    memcpy(line, fill, channels);
    for (size_t done = channels; done < bytes; done *= 2) {
        memcpy(line + done, line, done < bytes - done ? done : bytes - done);
    }
}

/* Sets a part of all canvases to the padding. */
static void clear(const sample_mosaic *mosaic, const image_box *part)
{
    const sli_plan *plan = mosaic->plan;
    const plan_mosaic *planned = &plan->details->geometry.mosaic;
    const stage_padding *padding = &planned->planned->padding;
    const uint32_t columns = plan->dataset->source_schema.column_count;

    for (uint32_t i = 0; i < columns; i++) {
        if (has_canvas(plan, i) && part->width > 0) {
            const uint32_t channels = channels_of(plan, i);
            const size_t stride = (size_t)planned->width * channels;
            const bool is_mask = plan->dataset->source_schema.infos[i].role == ROLE_MASK;
            uint8_t *at = mosaic->canvases[i].data + part->y * stride + (size_t)part->x * channels;

            for (uint32_t y = 0; y < part->height; y++) {
                fill_line(at + y * stride, (size_t)part->width * channels, channels,
                          is_mask ? &padding->mask_fill : padding->fill);
            }
        }
    }
}

static sluice_status reserve(sample_mosaic *mosaic)
{
    const sli_plan *plan = mosaic->plan;
    const image_box whole = {0, 0, plan->details->geometry.mosaic.width,
                             plan->details->geometry.mosaic.height};
    const uint32_t columns = plan->dataset->source_schema.column_count;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < columns && st == SLUICE_OK; i++) {
        if (has_canvas(plan, i)) {
            st = image_buffer_reserve(&mosaic->canvases[i],
                                      (size_t)whole.width * whole.height * channels_of(plan, i));
        }
    }
    if (st == SLUICE_OK) {
        clear(mosaic, &whole);
    }
    return st;
}

void sample_mosaic_other(const sample_mosaic *mosaic, uint32_t column, sample_data *data_out)
{
    const plan_mosaic *planned = &mosaic->plan->details->geometry.mosaic;
    const uint32_t channels = channels_of(mosaic->plan, column);

    *data_out =
        (sample_data){.image = {mosaic->canvases[column].data, (size_t)planned->width * channels,
                                planned->width, planned->height, channels, IMAGE_U8}};
}

/* ---- one tile -------------------------------------------------------------------------------- */

/* Paints the masks and further images of a tile. */
static sluice_status paint_others(sample_loader *loader, const tile_task *task,
                                  void *const *buffers)
{
    const sli_plan *plan = loader->plan;
    const stage_schema *schema = &plan->dataset->source_schema;
    const image_box *shown = &loader->mosaic->shown;
    const size_t stride = plan->details->geometry.mosaic.width;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < schema->column_count && st == SLUICE_OK; i++) {
        image_buffer *canvas = &loader->mosaic->canvases[i];
        sample_data data;

        if (!has_canvas(plan, i) || (int)i == plan->details->images.first) {
            continue;
        }
        st = sample_read_other(loader, &loader->drawn.tile, task->sample, i, &data);
        if (st == SLUICE_OK && schema->infos[i].role == ROLE_MASK) {
            st = mask_follow(loader, task->sample, &loader->drawn.tile, &data,
                             canvas->data + shown->y * stride + shown->x, stride);
        } else if (st == SLUICE_OK) {
            image_box same;

            st = sample_process_tile(loader, task, i, &data, buffers, canvas, &same);
        }
        if (st == SLUICE_OK && loader->cached.samples != NULL) {
            st = sample_cached_keep_other(loader, task->sample, i, &data);
        }
        if (st != SLUICE_OK) {
            sample_name_column(schema->columns[i].name, st);
        }
    }
    return st;
}

/* Moves the boxes of a tile, and the points that belong to them, to their place on the canvas. */
static sluice_status move_boxes(sample_loader *loader, uint64_t sample, void *const *buffers)
{
    const struct plan_details *details = loader->plan->details;
    const image_box *shown = &loader->mosaic->shown;
    fused_geometry *last = &loader->drawn.steps[loader->drawn.tile.step_count - 1].window;
    sluice_status st = SLUICE_OK;

    last->window_x -= shown->x;
    last->window_y -= shown->y;
    last->window_width = details->geometry.mosaic.width;
    last->window_height = details->geometry.mosaic.height;
    if (details->images.has_points) { /* before boxes are dropped */
        st = points_move(loader->plan, &loader->drawn.tile, buffers);
    }
    return st == SLUICE_OK ? sample_follow_boxes(loader, &loader->drawn.tile, sample, buffers) : st;
}

/* Paints a sample that was read, with its masks and further images, and moves its boxes. */
static sluice_status paint(sample_loader *loader, const tile_task *task, void *const *buffers,
                           sample_data *data)
{
    sample_mosaic *mosaic = loader->mosaic;
    const uint32_t image = (uint32_t)loader->plan->details->images.first;
    sluice_status st;

    mosaic->shown = (image_box){0, 0, 0, 0};
    st = sample_process_tile(loader, task, image, data, buffers, &mosaic->canvases[image],
                             &mosaic->shown);
    if (data->index != NULL) {
        sample_count_index(loader, task->sample, data, st);
    }
    if (st == SLUICE_OK && mosaic->shown.width > 0 && mosaic->shown.height > 0) {
        st = paint_others(loader, task, buffers);
    }
    return st == SLUICE_OK ? move_boxes(loader, task->sample, buffers) : st;
}

/* ---- partners -------------------------------------------------------------------------------- */

/* Reads a partner and paints it. */
static sluice_status load_partner(sample_loader *loader, const tile_task *task)
{
    void *const *columns = loader->mosaic->columns;
    const uint64_t before = loader->io.bytes_read;
    const uint64_t start = change_stage(loader, PLAN_READ);
    sample_data data = {0};
    sluice_status st;

    loader->io.pass = task->pass;
    st = sample_read(loader, task->sample, columns, &data);
    loader->last.fault = st == SLUICE_OK ? SLI_FAULT_NONE : sli_fault_of_last(st);
    sli_counter_add(&loader->report.counters[PLAN_READ]->busy_ticks, stage_ticks(loader) - start);
    if (st == SLUICE_OK) {
        st = paint(loader, task, columns, &data);
    }
    sli_counter_add(&loader->report.counters[PLAN_READ]->bytes, loader->io.bytes_read - before);
    if (loader->drops && !loader->cached.hit) {
        sample_drop_pages(loader, task->sample);
    }
    return st;
}

/* Adds a bad partner to the list of bad samples. */
static void note_partner(sample_loader *loader, const tile_task *task)
{
    if (loader->errors != NULL) {
        char name[256];

        sample_name(loader, task->sample, name, sizeof(name));
        error_samples_note(loader->errors, task->sample, name, loader->last.stage,
                           sluice_last_error());
        loader->last.is_noted = true;
    }
}

/* Replaces the last error by one that names the partner. */
static sluice_status partner_error(sample_loader *loader, const tile_task *task,
                                   sluice_status status)
{
    char raw[256];
    char name[256];
    sli_error error;

    sli_error_take(status, &error);
    sample_name(loader, task->sample, raw, sizeof(raw));
    sli_printable(raw, SLI_ONE_LINE, name, sizeof(name));
    return sli_fail_with(status, error.error_number, "a tile of its %s, sample %llu, %s: %.500s",
                         loader->plan->details->geometry.mosaic.planned->stage->def->name,
                         (unsigned long long)task->sample, name, error.text);
}

/* Draws and adds the partner of a tile. *left_out is increased by the boxes without room. */
static sluice_status add_partner(sample_loader *loader, tile_task *task, void *const *buffers,
                                 uint32_t *left_out)
{
    const sli_plan *plan = loader->plan;
    sluice_status st;

    for (uint32_t try = 0;; try++) {
        plan_draw_tile(plan, &task->draws, loader->run_pass, task->tile, try, &task->sample,
                       &task->pass);
        st = load_partner(loader, task);
        if (st == SLUICE_OK) {
            *left_out +=
                boxes_join(&plan->dataset->source_schema, loader->mosaic->columns, buffers);
            return SLUICE_OK;
        }
        if (sample_ends_run(loader, st) || sli_is_interrupted()) {
            break;
        }
        note_partner(loader, task);
        if (plan->settings.on_error != SLI_ON_ERROR_REPLACE || try + 1 == PLAN_TILE_TRIES) {
            break;
        }
        if (loader->errors != NULL) {
            atomic_fetch_add_explicit(&loader->errors->replaced, 1, memory_order_relaxed);
        }
        loader->last.is_noted = false;
        clear(loader->mosaic, &loader->mosaic->shown);
    }
    return partner_error(loader, task, st);
}

sluice_status sample_mosaic_compose(sample_loader *loader, uint64_t sample, uint64_t pass,
                                    void *const *buffers, sample_data *data)
{
    const sli_plan *plan = loader->plan;
    const plan_mosaic *planned = &plan->details->geometry.mosaic;
    const dataset_stage *stage = planned->planned->stage;
    const sli_draws draws = {planned->planned->key, sample, pass};
    const bool hit = loader->cached.hit;
    uint32_t left_out = 0;
    sluice_status st = reserve(loader->mosaic);

    for (uint32_t tile = 0; tile < planned->tiles && st == SLUICE_OK; tile++) {
        tile_task task = {tile, sample, pass, draws};

        if (!stage->def->geometry->tiles->shows(stage->args.bytes, &draws, tile)) {
            if (tile == 0) {
                boxes_drop_all(&plan->dataset->source_schema, buffers);
            }
            continue;
        }
        st = tile == 0 ? paint(loader, &task, buffers, data)
                       : add_partner(loader, &task, buffers, &left_out);
    }
    loader->cached.hit = hit;
    if (st == SLUICE_OK && left_out > 0) {
        opened_image_note(loader, sample, SLI_IMAGE_BOXES_LEFT_OUT);
    }
    sample_mosaic_other(loader->mosaic, (uint32_t)plan->details->images.first, data);
    return st;
}
