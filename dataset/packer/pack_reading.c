/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "error_int.h"
#include "pack_worker.h"

/* How long reading is retried after memory or storage faults. Opening files has its own limit. */
static const int64_t RETRY_NS = INT64_C(2000000000);

void pack_name_sample(pack_worker *worker, uint64_t index, char *name, size_t size)
{
    const sluice_dataset *dataset = worker->settings->dataset;

    if (dataset_is_stream(dataset)) {
        snprintf(name, size, "%s",
                 source_item_name(dataset_source(dataset), dataset->source, &worker->io.item));
    } else {
        dataset_source(dataset)->name(dataset->source, index, name, size);
    }
}

static sluice_status read_once(pack_worker *worker, uint64_t index, int column, void *const *row,
                               sample_data *data_out, sli_fault *fault_out)
{
    const sluice_dataset *dataset = worker->settings->dataset;
    const source_ops *source = dataset_source(dataset);
    const sluice_status st =
        column == PACK_SAMPLE
            ? source->read(dataset->source, index, &worker->io, row, data_out)
            : source->read_other(dataset->source, index, (uint32_t)column, &worker->io, data_out);

    *fault_out = st == SLUICE_OK ? SLI_FAULT_NONE : sli_fault_of_last(st);
    return st;
}

sluice_status pack_read(pack_worker *worker, uint64_t index, int column, void *const *row,
                        sample_data *data_out, sli_fault *fault_out)
{
    sli_backoff backoff = {.limit_ns = RETRY_NS};
    sluice_status st;

    do {
        *data_out = (sample_data){.bytes = NULL};
        st = read_once(worker, index, column, row, data_out, fault_out);
    } while ((*fault_out == SLI_FAULT_MEMORY || *fault_out == SLI_FAULT_STORAGE) &&
             sli_backoff_pause(&backoff, worker->settings->interrupt));
    return st;
}

sluice_status pack_fail_read(pack_worker *worker, uint64_t index, sli_fault fault,
                             sluice_status status)
{
    const char *way_out =
        fault == SLI_FAULT_STORAGE ? ", or leave out such files (leave_out_unreadable)" : "";
    char name[PACK_NAME_SIZE];
    sli_error error;

    sli_error_take(status, &error);
    pack_name_sample(worker, index, name, sizeof(name));
    return sli_fail_with(status, error.error_number,
                         "cannot pack %.500s: %.*s; run the same command again to continue%s", name,
                         PACK_WHY_SIZE - 1, error.text, way_out);
}

/* Reads the images and masks of a sample, without retries. */
static sluice_status try_files(pack_worker *worker, uint64_t index, sli_fault *fault_out)
{
    const kept_columns *kept = worker->settings->kept;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < kept->count && st == SLUICE_OK; i++) {
        sample_data data = {.bytes = NULL};

        if (kept_is_image(&kept->columns[i]) && (int)i != kept->image) {
            st = read_once(worker, index, (int)kept->columns[i].column, NULL, &data, fault_out);
        }
    }
    return st;
}

sluice_status pack_try_to_read(pack_worker *worker, uint64_t index)
{
    void *row[SLUICE_MAX_COLUMNS] = {NULL};
    sample_data data = {.bytes = NULL};
    sli_fault fault;
    sluice_status st = read_once(worker, index, PACK_SAMPLE, row, &data, &fault);

    if (st == SLUICE_OK) {
        st = try_files(worker, index, &fault);
    }
    return fault == SLI_FAULT_NONE ? SLUICE_OK : pack_fail_read(worker, index, fault, st);
}
