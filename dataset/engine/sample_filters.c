/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_filters.h"

#include "loader_stage.h"
#include "sample_steps.h"

sluice_status sample_load_filtered(sample_loader *loader, uint64_t sample, uint64_t pass,
                                   const sample_row *row)
{
    sluice_status st;

    loader->filters = true;
    st = sample_load(loader, sample, pass, row);
    loader->filters = false;
    return st;
}

sluice_status sample_test(sample_loader *loader, uint64_t sample, uint64_t pass,
                          const sample_row *row)
{
    const sluice_dataset *dataset = loader->plan->dataset;
    const source_ops *source = dataset_source(dataset);
    const uint64_t start = enter_stage(loader, PLAN_READ);
    void *buffers[SCHEMA_MAX_BUFFERS];
    sample_data data = {0};
    sluice_status st;

    atomic_store_explicit(&loader->state.sample, sample, memory_order_relaxed);
    loader->dropped = false;
    loader->fault = SLI_FAULT_NONE;
    sample_find_buffers(loader, row, buffers);
    loader->io.pass = pass;
    loader->io.stored = loader->plan->details->stored_column >= 0
                            ? row->columns[loader->plan->details->stored_column]
                            : NULL;
    st = source->read_plain != NULL
             ? source->read_plain(dataset->source, sample, &loader->io, buffers)
             : source->read(dataset->source, sample, &loader->io, buffers, &data);
    sli_counter_add(&loader->counters[PLAN_READ]->busy_ticks, sli_ticks() - start);
    if (st == SLUICE_OK) {
        st = sample_early_filters(loader, sample, pass, buffers);
    } else {
        loader->fault = sli_fault_of_last(st);
    }
    leave_stage(loader);
    return st;
}
