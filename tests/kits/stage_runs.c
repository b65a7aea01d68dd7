/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset_kit.h"
#include "testing.h"

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

void check_same_pass(tape got, tape want, const char *what)
{
    T_STATUS(want.end, SLUICE_END_OF_DATA);
    check_equal_tapes(&got, &want, what);
    free(got.bytes);
    free(want.bytes);
}

static tape with_bad_samples(const char *stages, const run_options *options)
{
    sluice_dataset *dataset = NULL;
    tape all;

    script_reset(40, GOOD);
    for (uint32_t i = 0; i < 40; i += 3) {
        script.behaviours[i] = BAD;
    }
    T_OK(dataset_begin(&stage_script, "", &dataset));
    T_OK(sluice_dataset_add(dataset, stages));
    all = record(dataset, options);
    sluice_dataset_destroy(dataset);
    return all;
}

void check_bad_samples(const char *got, const char *want)
{
    static const sli_error_policy policies[] = {SLI_ON_ERROR_REPLACE, SLI_ON_ERROR_ZERO};

    for (int i = 0; i < 2; i++) {
        const run_options options = {.settings.on_error = policies[i], .workers = 2};

        check_same_pass(with_bad_samples(got, &options), with_bad_samples(want, &options), got);
    }
}

void check_pass(const char *source, const char *stages, uint64_t batches)
{
    tape all = run_stages_of(source, stages, &one_worker);

    T_STATUS(all.end, SLUICE_END_OF_DATA);
    T_EQ(all.batches, batches);
    free(all.bytes);
}
