/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_filters.h"

#include <string.h>

#include "loader_stage.h"
#include "operators/array/array_values.h"
#include "sample_cached.h"
#include "sample_steps.h"
#include "status_int.h"

/* Finds the length of the sample's document, and checks it. */
static sluice_status measure_document(sample_loader *loader)
{
    const plan_pack *pack = &loader->plan->details->pack;
    const plan_buffer *buffers = loader->plan->details->memory.buffers;
    uint64_t length = pack->most;

    loader->last.stage = "pack";
    if (pack->length >= 0) {
        int32_t given;

        memcpy(&given, loader->scratch + buffers[pack->length].offset, sizeof(given));
        if (given < 0 || (uint64_t)given > pack->most) {
            return sli_fail(SLUICE_E_CORRUPT, "%s_length is %d, and must be from 0 to %llu",
                            pack->type.name, given, (unsigned long long)pack->most);
        }
        length = (uint64_t)given;
    }
    if (!pack->split && length > pack->seq) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "a document of %llu tokens does not fit into a window of %u; use "
                        "split=true or a larger seq",
                        (unsigned long long)length, pack->seq);
    }
    loader->last.document_length = length;
    return SLUICE_OK;
}

int64_t sample_bucket_length(const sample_loader *loader, const sample_row *row)
{
    const plan_bucket *bucket = &loader->plan->details->bucket;
    const plan_buffer *buffer = &loader->plan->details->memory.buffers[bucket->length];
    const void *value =
        buffer->column >= 0 ? row->columns[buffer->column] : loader->scratch + buffer->offset;

    return array_integer(bucket->dtype, value, 0);
}

/* Finds the bucket of the sample by its length. */
static void find_bucket(sample_loader *loader, const sample_row *row)
{
    const plan_bucket *bucket = &loader->plan->details->bucket;
    const int64_t length = sample_bucket_length(loader, row);

    loader->last.bucket = 0;
    while (loader->last.bucket + 1 < bucket->count &&
           length > (int64_t)bucket->edges[loader->last.bucket]) {
        loader->last.bucket++;
    }
}

/* Finds the bucket, or the document's length, of a sample that the filters keep. */
static sluice_status measure(sample_loader *loader, const sample_row *row)
{
    if (loader->plan->details->bucket.count > 0) {
        find_bucket(loader, row);
    }
    return loader->plan->details->pack.seq > 0 ? measure_document(loader) : SLUICE_OK;
}

sluice_status sample_load_filtered(sample_loader *loader, uint64_t sample, uint64_t pass,
                                   const sample_row *row)
{
    sluice_status st;

    loader->filters = true;
    st = sample_load(loader, sample, pass, row);
    loader->filters = false;
    return st == SLUICE_OK && !loader->last.dropped ? measure(loader, row) : st;
}

sluice_status sample_test(sample_loader *loader, uint64_t sample, uint64_t pass,
                          const sample_row *row)
{
    const sluice_dataset *dataset = loader->plan->dataset;
    const source_ops *source = dataset_source(dataset);
    const uint64_t start = enter_stage(loader, PLAN_READ, 1);
    void *buffers[SCHEMA_MAX_BUFFERS];
    sample_data data = {0};
    sluice_status st;

    atomic_store_explicit(&loader->report.state.sample, sample, memory_order_relaxed);
    loader->last.dropped = false;
    loader->last.fault = SLI_FAULT_NONE;
    sample_find_buffers(loader, row, buffers);
    loader->io.pass = pass;
    loader->io.stored = loader->plan->details->images.stored_column >= 0
                            ? row->columns[loader->plan->details->images.stored_column]
                            : NULL;
    st = sample_cached_columns(&loader->cached, sample, buffers) ? SLUICE_OK
         : source->read_plain != NULL
             ? source->read_plain(dataset->source, sample, &loader->io, buffers)
             : source->read(dataset->source, sample, &loader->io, buffers, &data);
    sli_counter_add(&loader->report.counters[PLAN_READ]->busy_ticks, stage_ticks(loader) - start);
    if (st == SLUICE_OK) {
        st = sample_early_filters(loader, sample, pass, buffers);
        st = st == SLUICE_OK && !loader->last.dropped ? measure(loader, row) : st;
    } else {
        loader->last.fault = sli_fault_of_last(st);
    }
    leave_stage(loader);
    return st;
}
