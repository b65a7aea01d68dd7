/* SPDX-License-Identifier: Apache-2.0 */
/* Computes one sample without a run: the row that a batch would hold, on the caller's thread. */
#include <inttypes.h>
#include <string.h>

#include "alloc_int.h"
#include "dataset_state.h"
#include "plan.h"
#include "sample_loader.h"

/* The row of one sample, as workers write it. */
typedef struct row_buffers {
    sli_layout layout; /* layout of a batch of one sample */
    uint8_t *row;
    uint8_t flags;
} row_buffers;

static void copy_out(const sli_plan *plan, const row_buffers *buffers, void *const *columns)
{
    for (uint32_t i = 0; i < plan->column_count; i++) {
        const uint32_t column = plan->device_widens ? plan->outputs[i].column : i;
        const uint8_t *from = buffers->row + buffers->layout.offsets[column];

        if (columns[i] == NULL) {
            continue;
        }
        if (plan->device_widens) {
            sli_output_make(&plan->outputs[i], &buffers->layout, from, columns[i]);
        } else if (plan->device_converts && (int)i == plan->image_column) {
            sli_convert_image(&plan->device_conversion, from, columns[i], buffers->flags);
        } else {
            memcpy(columns[i], from, buffers->layout.row_bytes[i]);
        }
    }
}

/* Runs one sample through the pipeline, into the row. */
static sluice_status run_one(const sli_plan *plan, uint64_t sample, uint64_t pass,
                             row_buffers *buffers)
{
    sli_counters *counters = sli_calloc(PLAN_PROFILED, sizeof(*counters));
    sample_loader loader;
    sample_row row = {.flags = &buffers->flags};
    sluice_status st = SLUICE_E_NO_MEMORY;
    char text[SLI_ERROR_SIZE];

    if (counters == NULL || plan_cache_open(plan) != SLUICE_OK ||
        sample_loader_init(&loader, plan) != SLUICE_OK) {
        sli_free(counters);
        return sli_fail(st, "a sample");
    }
    for (uint32_t i = 0; i < PLAN_PROFILED; i++) {
        loader.counters[i] = &counters[i];
    }
    for (uint32_t i = 0; i < plan->wire_count; i++) {
        row.columns[i] = buffers->row + buffers->layout.offsets[i];
    }
    st = sample_load(&loader, sample, pass, &row);
    if (st != SLUICE_OK) {
        sample_failure_text(&loader, sample, text, sizeof(text));
        sli_fail(st, "%s", text);
    }
    sample_loader_fini(&loader);
    sli_free(counters);
    return st;
}

static sluice_status get_sample(const sli_plan *plan, uint64_t pass, uint64_t index,
                                void *const *columns, uint64_t *sample_out)
{
    const sample_order *order = &plan->details->order;
    row_buffers buffers = {.flags = 0};
    uint64_t sample;
    uint64_t sample_pass;
    sluice_status st;

    if (plan->details->is_stream) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "sluice_dataset_get: the samples of a stream come in sequence only");
    }
    if (plan->details->is_collected) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "sluice_dataset_get: the samples that a filter keeps come in sequence "
                        "only; read them by a run or a channel, or leave the filter out");
    }
    if (plan->details->batch_map_count > 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "sluice_dataset_get: %s works on whole batches; read them by a run or a "
                        "channel, or leave it out",
                        plan->details->batch_maps[0].map->name);
    }
    if (index >= order->length) {
        return sli_fail(SLUICE_E_INVALID,
                        "sluice_dataset_get: index %" PRIu64 " of a pass of %" PRIu64 " samples",
                        index, order->length);
    }
    order_at(order, pass, index, &sample, &sample_pass);
    if (sample_out != NULL) {
        *sample_out = sample;
    }
    if (columns == NULL) {
        return SLUICE_OK;
    }
    st = sli_layout_make(plan->wire, plan->wire_count, 1, &buffers.layout);
    if (st != SLUICE_OK) {
        return st;
    }
    buffers.row = sli_aligned_alloc(64, buffers.layout.slot_bytes);
    if (buffers.row == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a sample of %zu bytes", buffers.layout.slot_bytes);
    }
    memset(buffers.row, 0, buffers.layout.slot_bytes);
    st = run_one(plan, sample, sample_pass, &buffers);
    if (st == SLUICE_OK) {
        copy_out(plan, &buffers, columns);
    }
    sli_free(buffers.row);
    return st;
}

sluice_status sluice_dataset_get(sluice_dataset *dataset, uint64_t seed, uint64_t pass,
                                 uint64_t index, void *const *columns, uint64_t *sample_out)
{
    const sli_run_settings settings = {.seed = seed, .world = 1};
    sluice_status st = dataset_status(dataset, "sluice_dataset_get");
    sli_plan *plan;

    if (st == SLUICE_OK) {
        st = sli_plan_open(dataset, &settings, &plan);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    st = get_sample(plan, pass, index, columns, sample_out);
    sli_plan_close(plan);
    return st;
}
