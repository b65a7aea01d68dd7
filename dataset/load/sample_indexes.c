/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_indexes.h"

void sample_count_index(sample_loader *loader, uint64_t sample, const sample_data *data,
                        sluice_status st)
{
    const sluice_dataset *dataset = loader->plan->dataset;
    const image_index *index = data->index;
    worker_indexes *counts = &loader->report.indexes;
    bool kept = false;

    if (st == SLUICE_OK && !loader->cached.hit && (index->is_made || index->is_wrong)) {
        kept = dataset_source(dataset)->keep_index(dataset->source, sample, &loader->io, data);
    }
    sli_counter_add(&counts->asked, 1);
    sli_counter_add(&counts->used, index->is_used);
    sli_counter_add(&counts->made, kept);
    sli_counter_add(&counts->refused, index->is_refused || index->is_wrong);
}

void sample_add_indexes(const worker_indexes *indexes, sli_index_counts *counts)
{
    counts->asked += atomic_load_explicit(&indexes->asked, memory_order_relaxed);
    counts->used += atomic_load_explicit(&indexes->used, memory_order_relaxed);
    counts->made += atomic_load_explicit(&indexes->made, memory_order_relaxed);
    counts->refused += atomic_load_explicit(&indexes->refused, memory_order_relaxed);
    counts->lacking += atomic_load_explicit(&indexes->lacking, memory_order_relaxed);
    counts->above += atomic_load_explicit(&indexes->above, memory_order_relaxed);
    counts->needed += atomic_load_explicit(&indexes->needed, memory_order_relaxed);
}
