/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_maps.h"

#include <string.h>

#include "alloc_int.h"
#include "batch_view.h"
#include "loader_stage.h"

/* Returns the index in the batch of column k of a map. */
static uint32_t column_of(const struct plan_details *details, const plan_batch_map *map, uint32_t k)
{
    return (uint32_t)details->memory.buffers[map->buffers[k]].column;
}

/* The padding of a column of the batch: of pack's columns that of packed_rows_pad(), else zeros. */
static row_padding padding_of(const plan_pack *pack, int column)
{
    const int32_t no_document = -1;
    row_padding padding = {.bytes = 0};

    if (pack->seq > 0 && column == pack->tokens) {
        padding.bytes = pack->element_bytes;
        memcpy(padding.value, pack->pad, sizeof(padding.value));
    } else if (pack->seq > 0 && column == pack->documents) {
        padding.bytes = sizeof(no_document);
        memcpy(padding.value, &no_document, sizeof(no_document));
    }
    return padding;
}

/* Creates the worker's state of a map of user code. */
static sluice_status begin_user_map(sample_loader *loader, const sli_layout *layout,
                                    uint32_t number)
{
    const struct plan_details *details = loader->plan->details;
    const plan_batch_map *map = &details->work.batch_maps[number];
    sluice_column types[SLUICE_MAX_COLUMNS];
    row_padding paddings[SLUICE_MAX_COLUMNS];

    for (uint32_t k = 0; k < map->map->column_count; k++) {
        const uint32_t column = column_of(details, map, k);

        types[k] = layout->columns[column];
        paddings[k] = padding_of(&details->pack, (int)column);
    }
    return host_batch_begin(map->map, types, paddings, layout->batch_size,
                            &loader->maps.batches[number]);
}

/* Reserves the worker's memory for the library's maps, once. */
static sluice_status begin_library_map(sample_loader *loader, const sli_layout *layout)
{
    size_t most = 1;

    for (uint32_t i = 0; i < layout->column_count; i++) {
        most = layout->row_bytes[i] > most ? layout->row_bytes[i] : most;
    }
    if (loader->maps.rows == NULL) {
        loader->maps.rows = sli_calloc(layout->batch_size, sizeof(*loader->maps.rows));
        loader->maps.saved_row = sli_aligned_alloc(64, most);
    }
    return loader->maps.rows != NULL && loader->maps.saved_row != NULL
               ? SLUICE_OK
               : sli_fail(SLUICE_E_NO_MEMORY, "a row of a batch");
}

/* Creates the worker's states of all maps, in order. */
static sluice_status begin_maps(sample_loader *loader, const sli_layout *layout)
{
    const struct plan_details *details = loader->plan->details;
    sluice_status st = SLUICE_OK;

    loader->maps.batches = sli_calloc(details->work.batch_map_count, sizeof(*loader->maps.batches));
    if (loader->maps.batches == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the maps of a worker");
    }
    for (uint32_t i = 0; i < details->work.batch_map_count && st == SLUICE_OK; i++) {
        loader->last.stage =
            loader->plan->stage_names[PLAN_MAPS + details->work.batch_maps[i].profiled];
        st = details->work.batch_maps[i].map != NULL ? begin_user_map(loader, layout, i)
                                                     : begin_library_map(loader, layout);
    }
    if (st != SLUICE_OK) {
        batch_maps_end(loader); /* this worker may yet complete another batch */
    }
    return st;
}

void batch_maps_end(sample_loader *loader)
{
    for (uint32_t i = 0;
         loader->maps.batches != NULL && i < loader->plan->details->work.batch_map_count; i++) {
        host_batch_end(&loader->maps.batches[i]);
    }
    sli_free(loader->maps.batches);
    sli_free(loader->maps.rows);
    sli_free(loader->maps.saved_row);
    loader->maps.batches = NULL;
    loader->maps.rows = NULL;
    loader->maps.saved_row = NULL;
}

/* Calls a map of user code. */
static sluice_status run_user_map(sample_loader *loader, uint32_t number, const sli_layout *layout,
                                  const sli_batch *batch, const sli_draws *draws)
{
    const struct plan_details *details = loader->plan->details;
    const plan_batch_map *map = &details->work.batch_maps[number];
    uint8_t *columns[SLUICE_MAX_COLUMNS];

    for (uint32_t k = 0; k < map->map->column_count; k++) {
        columns[k] = batch->data + layout->offsets[column_of(details, map, k)];
    }
    loader->maps.batches[number].counters = loader->report.counters[PLAN_MAPS + map->profiled];
    return host_batch_call(&loader->maps.batches[number], columns, batch->row_flags, batch->samples,
                           batch->header->valid_rows, draws);
}

/* Calls a map of the library on the rows with a sample, if there are any. */
static void run_library_map(sample_loader *loader, const dataset_stage *stage,
                            const sli_layout *layout, const sli_batch *batch,
                            const sli_draws *draws)
{
    uint8_t *columns[SLUICE_MAX_COLUMNS];
    batch_view view = {.schema = &loader->plan->dataset->opened_schema,
                       .columns = columns,
                       .rows = loader->maps.rows,
                       .saved = loader->maps.saved_row,
                       .draws = *draws};

    for (uint32_t i = 0; i < layout->column_count; i++) {
        columns[i] = batch->data + layout->offsets[i];
    }
    if (loader->plan->device_mixes) {
        view.programs = (void *)columns[loader->plan->program_column];
    }
    for (uint32_t row = 0; row < layout->batch_size; row++) {
        if ((batch->row_flags[row] & SLI_ROW_ZERO) == 0) {
            loader->maps.rows[view.count++] = row;
        }
    }
    if (view.count > 0) {
        stage->def->batch(stage->args.bytes, &view);
    }
}

/* Calls one map. */
static sluice_status run_map(sample_loader *loader, uint32_t number, const sli_layout *layout,
                             const sli_batch *batch)
{
    const struct plan_details *details = loader->plan->details;
    const plan_batch_map *map = &details->work.batch_maps[number];
    const sli_batch_header *header = batch->header;
    /* Position of this rank's first row over all ranks, so that ranks draw different numbers. */
    const sli_draws draws = {map->key, header->position + loader->plan->settings.rank,
                             header->pass};
    sli_counters *counters = loader->report.counters[PLAN_MAPS + map->profiled];
    const uint64_t start = enter_stage(loader, PLAN_MAPS + map->profiled, header->valid_rows);
    sluice_status st = SLUICE_OK;

    if (map->map != NULL) {
        st = run_user_map(loader, number, layout, batch, &draws);
    } else {
        run_library_map(loader, map->stage, layout, batch, &draws);
    }
    leave_stage(loader);
    sli_counters_item(counters, stage_ticks(loader) - start, 0);
    sli_counter_add(&counters->samples, header->valid_rows - 1); /* one was counted above */
    return st;
}

sluice_status batch_maps_run(sample_loader *loader, const sli_layout *layout,
                             const sli_batch *batch)
{
    sluice_status st = loader->maps.batches == NULL ? begin_maps(loader, layout) : SLUICE_OK;

    for (uint32_t i = 0; i < loader->plan->details->work.batch_map_count && st == SLUICE_OK; i++) {
        st = run_map(loader, i, layout, batch);
    }
    return st;
}
