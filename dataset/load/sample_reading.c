/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_reading.h"

#include <stdio.h>

#include "loader_stage.h"
#include "page_cache.h"
#include "sample_boxes.h"
#include "sample_cached.h"
#include "status_int.h"

sluice_status sample_read(sample_loader *loader, uint64_t sample, void *const *buffers,
                          sample_data *data)
{
    const sluice_dataset *dataset = loader->plan->dataset;
    sluice_status st;

    if ((loader->cached.samples != NULL &&
         sample_cached_find(&loader->cached, sample, buffers, data)) ||
        (loader->cached.rows != NULL && sample_cached_find_row(&loader->cached, sample, buffers))) {
        return SLUICE_OK;
    }
    loader->io.drew = false;
    st = dataset_source(dataset)->read(dataset->source, sample, &loader->io, buffers, data);
    if (loader->cached.samples != NULL && st == SLUICE_OK &&
        loader->plan->details->images.first < 0) {
        st = sample_cached_keep(loader, sample, NULL, buffers);
    }
    return st;
}

sluice_status sample_read_other(sample_loader *loader, const sample_transform *transform,
                                uint64_t sample, uint32_t column, sample_data *data)
{
    const sluice_dataset *dataset = loader->plan->dataset;
    const bool whole = loader->io.whole;
    sluice_status st;

    *data = (sample_data){0};
    if (loader->cached.samples != NULL &&
        sample_cached_find_other(&loader->cached, sample, column, data)) {
        return SLUICE_OK;
    }
    loader->io.whole = loader->cached.samples != NULL;
    loader->io.image_width = transform->width;
    loader->io.image_height = transform->height;
    st = dataset_source(dataset)->read_other(dataset->source, sample, column, &loader->io, data);
    loader->io.whole = whole;
    return st;
}

sluice_status sample_follow_boxes(sample_loader *loader, const sample_transform *transform,
                                  uint64_t sample, void *const *buffers)
{
    return boxes_follow_all(loader->plan->dataset, transform, sample, &loader->io, buffers,
                            &loader->last.boxes_below);
}

void sample_drop_pages(const sample_loader *loader, uint64_t sample)
{
    const sluice_dataset *dataset = loader->plan->dataset;
    sample_location location = {0};

    if (dataset_source(dataset)->locate(dataset->source, sample, &location) && !location.keeps) {
        page_cache_drop(&location);
    }
}

void sample_name_column(const char *column, sluice_status status)
{
    sli_fail_quoting(status, "%s: %.900s", column, sluice_last_error());
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

void sample_note_slow(sample_loader *loader, uint32_t stage, uint64_t ticks)
{
    sli_slow_sample slow = {
        .sample = atomic_load_explicit(&loader->report.state.sample, memory_order_relaxed),
        .ticks = ticks,
        .stage = loader->plan->stage_names[stage]};

    sample_name(loader, slow.sample, slow.name, sizeof(slow.name));
    slow_samples_add(&loader->report.slow, &slow);
}
