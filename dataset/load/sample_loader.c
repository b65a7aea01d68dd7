/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_loader.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "batch_maps.h"
#include "error_int.h"
#include "layout_int.h"
#include "loader_stage.h"
#include "opened_image.h"
#include "printable_int.h"
#include "sample_cached.h"
#include "sample_draw.h"
#include "sample_indexes.h"
#include "sample_maps.h"
#include "sample_masks.h"
#include "sample_mosaic.h"
#include "sample_pixels.h"
#include "sample_points.h"
#include "sample_programs.h"
#include "sample_reading.h"
#include "sample_steps.h"

sluice_status sample_loader_init(sample_loader *loader, const sli_plan *plan)
{
    const source_ops *source = dataset_source(plan->dataset);
    sluice_status st;

    memset(loader, 0, sizeof(*loader));
    loader->plan = plan;
    loader->last.stage = "";
    sli_stage_clock_init(&loader->report.clock);
    slow_samples_init(&loader->report.slow);
    loader->io.draws_key = plan_stage_key(plan->dataset, 0, plan->settings.seed);
    loader->tools.colors.clock = &loader->clock;
    cached_samples_init(&loader->cached, plan);
    loader->io.whole = loader->cached.samples != NULL && !plan->details->cache.is_decoded;
    loader->drops = source->drops != NULL && source->drops(plan->dataset->source);
    sli_ranges_start();
    atomic_store_explicit(&loader->report.state.stage, "", memory_order_relaxed);
    if (plan->details->memory.scratch_bytes > 0) {
        loader->scratch = sli_aligned_alloc(64, plan->details->memory.scratch_bytes);
        if (loader->scratch == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "the columns of a sample");
        }
        memset(loader->scratch, 0, plan->details->memory.scratch_bytes);
    }
    if (plan->details->dealing.own_rows > 0) {
        const size_t bytes = plan->details->dealing.own_rows * plan->details->dealing.own_row_bytes;

        loader->own_rows = sli_aligned_alloc(64, bytes);
        if (loader->own_rows == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "the samples that a filter looks at");
        }
        memset(loader->own_rows, 0, bytes);
    }
    if (plan->details->geometry.mosaic.tiles > 0 && plan->details->images.first >= 0) {
        st = sample_mosaic_create(plan, &loader->mosaic);
        if (st != SLUICE_OK) {
            return st;
        }
    }
    st = transforms_init(&loader->drawn, plan, &loader->tools.colors.device);
    return st == SLUICE_OK ? image_tools_init(&loader->tools, plan) : st;
}

void sample_loader_end(sample_loader *loader)
{
    sample_io_end(&loader->io);
    sample_maps_end(loader);
    batch_maps_end(loader);
}

void sample_loader_fini(sample_loader *loader)
{
    image_tools_free(&loader->tools);
    sample_maps_end(loader);
    batch_maps_end(loader);
    sli_free(loader->scratch);
    sli_free(loader->own_rows);
    transforms_free(&loader->drawn);
    sample_mosaic_destroy(loader->mosaic);
    sample_io_free(&loader->io);
    sli_stage_clock_fini(&loader->report.clock);
    slow_samples_fini(&loader->report.slow);
}

/* Finds a mask or further image: that of the sample, or of the mosaic that it is in. */
static sluice_status read_other(sample_loader *loader, uint64_t sample, uint32_t column,
                                sample_data *data)
{
    if (loader->mosaic != NULL) {
        sample_mosaic_other(loader->mosaic, column, data);
        return SLUICE_OK;
    }
    return sample_read_other(loader, &loader->drawn.image, sample, column, data);
}

/* Adds a mask or further image to the cache, if there is one. That of a mosaic is not kept. */
static sluice_status keep_other(sample_loader *loader, uint64_t sample, uint32_t column,
                                const sample_data *data)
{
    return loader->cached.samples != NULL && loader->mosaic == NULL
               ? sample_cached_keep_other(loader, sample, column, data)
               : SLUICE_OK;
}

/* Processes the masks from *column on, up to the next further image. Reads that image's bytes, and
 * sets *column to it, or to the number of columns if there is no further image. */
static sluice_status follow_to_next(sample_loader *loader, uint64_t sample, void *const *buffers,
                                    uint32_t *column, sample_data *data)
{
    const stage_schema *schema = &loader->plan->dataset->source_schema;

    for (; *column < schema->column_count; ++*column) {
        const column_role role = schema->infos[*column].role;
        sluice_status st;

        if ((role != ROLE_MASK && role != ROLE_IMAGE) || buffers[*column] == NULL) {
            continue;
        }
        operation_enter(&loader->clock, role == ROLE_MASK ? OPERATION_MASKS : OPERATION_DECODE);
        st = read_other(loader, sample, *column, data);
        if (st == SLUICE_OK && role == ROLE_MASK) {
            st = mask_follow(loader, sample, &loader->drawn.image, data, buffers[*column],
                             loader->plan->host_conversion.width);
            if (st == SLUICE_OK) {
                st = keep_other(loader, sample, *column, data);
            }
        }
        if (st != SLUICE_OK) {
            sample_name_column(schema->columns[*column].name, st);
        }
        if (st != SLUICE_OK || role == ROLE_IMAGE) {
            return st;
        }
    }
    return SLUICE_OK;
}

/*
 * Continues a sample after one of its images. After the first image, transforms points and boxes
 * and writes the geometry column. Then processes masks up to the next further image, and reads that
 * image's bytes. *further: in, the image just processed, NULL for the first one; out, the next
 * image, NULL if there is none.
 */
static sluice_status follow_image(sample_loader *loader, uint64_t sample, uint64_t pass,
                                  void *const *buffers, const plan_further_image **further,
                                  sample_data *data)
{
    const stage_schema *schema = &loader->plan->dataset->source_schema;
    const uint64_t start = change_stage(loader, PLAN_DECODE);
    uint32_t column = *further != NULL ? (*further)->column + 1 : 0;
    const int map = loader->plan->details->images.map;
    sluice_status st = SLUICE_OK;

    if (*further == NULL &&
        loader->plan->details->images.has_points) { /* before boxes are dropped */
        operation_enter(&loader->clock, OPERATION_POINTS);
        st = points_follow(loader->plan, &loader->drawn.image, sample, pass, buffers);
    }
    if (*further == NULL && st == SLUICE_OK) {
        operation_enter(&loader->clock, OPERATION_BOXES);
        st = sample_follow_boxes(loader, &loader->drawn.image, sample, buffers);
        if (st == SLUICE_OK && loader->last.boxes_below > 0) {
            opened_image_note(loader, sample, SLI_IMAGE_BOXES_BELOW);
        }
    }
    operation_enter(&loader->clock, OPERATION_DECODE);
    if (*further == NULL && map >= 0 && buffers[map] != NULL) {
        transform_invert(&loader->drawn.image, buffers[map]);
    }

    if (st == SLUICE_OK) {
        st = follow_to_next(loader, sample, buffers, &column, data);
    }
    *further = st == SLUICE_OK && column < schema->column_count
                   ? plan_further_of(loader->plan->details, column)
                   : NULL;
    sli_counter_add(&loader->report.counters[PLAN_DECODE]->busy_ticks, stage_ticks(loader) - start);
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
    const plan_further_image *further = NULL;
    uint32_t column = (uint32_t)details->images.first;
    sluice_status st;

    for (;;) {
        st = sample_process_image(loader, sample, pass, data, further, buffers, flags, ticks);
        if (data->index != NULL) {
            sample_count_index(loader, sample, data, st);
        }
        if (further != NULL && st == SLUICE_OK) {
            st = keep_other(loader, sample, column, data);
        }
        if (further != NULL && st != SLUICE_OK) {
            sample_name_column(loader->plan->dataset->source_schema.columns[column].name, st);
        }
        if (st == SLUICE_OK && details->images.has_followers && !loader->last.dropped) {
            st = follow_image(loader, sample, pass, buffers, &further, data);
            if (st == SLUICE_OK && further != NULL) {
                column = further->column;
                ticks = change_stage(loader, PLAN_DECODE);
                continue;
            }
        }
        break;
    }
    /* Decoding a region may have read more bytes of the file. */
    sli_counter_add(&loader->report.counters[PLAN_READ]->bytes, loader->io.bytes_read - before);
    return st;
}

/* Reads a sample, and writes its image, its masks and boxes, and its plain columns. */
static sluice_status read_and_process(sample_loader *loader, uint64_t sample, uint64_t pass,
                                      const sample_row *row, void *const *buffers)
{
    const sli_plan *plan = loader->plan;
    const uint64_t before = loader->io.bytes_read;
    const uint64_t start = enter_stage(loader, PLAN_READ, 1);
    sample_data data = {0};
    uint64_t now;
    sluice_status st;

    operation_clock_begin(&loader->clock, &loader->report.clock);
    loader->io.pass = pass;
    loader->io.stored = plan->details->images.stored_column >= 0
                            ? row->columns[plan->details->images.stored_column]
                            : NULL;
    st = sample_read(loader, sample, buffers, &data);
    loader->last.read_ticks = 0;
    loader->last.fault = SLI_FAULT_NONE;
    if (st != SLUICE_OK) {
        loader->last.fault = sli_fault_of_last(st);
        return st;
    }
    now = change_stage(loader, data.bytes != NULL ? PLAN_DECODE : PLAN_PIXELS);
    loader->last.read_ticks = now - start;
    loader->last.read_bytes = loader->io.bytes_read - before;
    count_item(loader, PLAN_READ, loader->last.read_ticks, loader->last.read_bytes);
    if (plan->mask_column >= 0) {
        *(uint8_t *)row->columns[plan->mask_column] = 1;
    }
    *row->flags = 0;
    if (loader->filters) {
        st = sample_early_filters(loader, sample, pass, buffers);
        if (st != SLUICE_OK || loader->last.dropped) {
            return st;
        }
        now = change_stage(loader, data.bytes != NULL ? PLAN_DECODE : PLAN_PIXELS);
    }
    if (plan->details->images.first < 0 || (loader->cached.rows != NULL && loader->cached.hit)) {
        return SLUICE_OK;
    }
    if (loader->mosaic != NULL) {
        st = sample_mosaic_compose(loader, sample, pass, buffers, &data);
        if (st != SLUICE_OK) {
            return st;
        }
        now = change_stage(loader, PLAN_PIXELS);
    }
    st = process_images(loader, sample, pass, &data, row->flags, buffers, now);
    if (plan->program_column >= 0 && st == SLUICE_OK) {
        program_of_chain(&loader->tools.colors.device, row->columns[plan->program_column]);
    }
    return st;
}

sluice_status sample_load(sample_loader *loader, uint64_t sample, uint64_t pass,
                          const sample_row *row)
{
    void *buffers[SCHEMA_MAX_BUFFERS];
    sluice_status st;

    atomic_store_explicit(&loader->report.state.sample, sample, memory_order_relaxed);
    loader->last.dropped = false;
    loader->io.ends_run = false;
    if (loader->plan->details->memory.rows_only) {
        st = read_and_process(loader, sample, pass, row, row->columns);
    } else {
        sample_find_buffers(loader, row, buffers);
        st = read_and_process(loader, sample, pass, row, buffers);
        if (st == SLUICE_OK && !loader->last.dropped) {
            st = sample_steps(loader, sample, pass, row->flags, buffers);
        }
    }
    if (loader->drops && !loader->cached.hit) {
        sample_drop_pages(loader, sample);
    }
    leave_stage(loader);
    operation_clock_end(&loader->clock, st == SLUICE_OK);
    return st;
}

void sample_failure_text(sample_loader *loader, uint64_t sample, char *text, size_t size)
{
    char raw[256];
    char name[256];

    sample_name(loader, sample, raw, sizeof(raw));
    sli_printable(raw, SLI_ONE_LINE, name, sizeof(name));
    snprintf(text, size, "%s: sample %llu, %s: %.600s", loader->last.stage,
             (unsigned long long)sample, name, sluice_last_error());
}
