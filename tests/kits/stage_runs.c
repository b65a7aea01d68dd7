/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset_kit.h"
#include "testing.h"

static const run_options one_worker = {.workers = 1};

tape run_stages_of(const char *source, const char *stages, const run_options *options)
{
    char text[600];
    sluice_dataset *dataset;
    tape all;

    snprintf(text, sizeof(text), "%s | %s | batch 4", source, stages);
    dataset = parsed(text);
    all = record(dataset, options);
    sluice_dataset_destroy(dataset);
    return all;
}

void check_workers_and_devices(const char *source, const char *stages)
{
    tape want = run_stages_of(source, stages, &one_worker);

    T_STATUS(want.end, SLUICE_END_OF_DATA);
    for (uint32_t w = 0; w < 3; w++) {
        for (int d = 0; d < 2; d++) {
            const run_options options = {.workers = worker_counts[w], .device = devices[d]};
            tape got = run_stages_of(source, stages, &options);

            check_equal_tapes(&got, &want, devices[d]);
            free(got.bytes);
        }
    }
    free(want.bytes);
}

void check_stages(const char *source, const char *one, const char *two, bool same)
{
    tape a = run_stages_of(source, one, &one_worker);
    tape b = run_stages_of(source, two, &one_worker);

    T_STATUS(a.end, SLUICE_END_OF_DATA);
    if (same) {
        check_equal_tapes(&a, &b, one);
    } else {
        T_TRUE(a.size == b.size && memcmp(a.bytes, b.bytes, a.size) != 0);
    }
    free(a.bytes);
    free(b.bytes);
}

void check_pass(const char *source, const char *stages, uint64_t batches)
{
    tape all = run_stages_of(source, stages, &one_worker);

    T_STATUS(all.end, SLUICE_END_OF_DATA);
    T_EQ(all.batches, batches);
    free(all.bytes);
}
