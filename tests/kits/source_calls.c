/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_calls.h"

#include <sluice/sampling.h>

#define PART_A "synthetic 12 6,5,1 3"
#define PART_B "synthetic 20 6,5,1 3"

/* Two parts, of which the second one has no column of the first one if it is to be zipped. */
static sluice_status begin_parts(bool zips, sluice_dataset *parts[2])
{
    sluice_status st = sluice_dataset_parse(zips ? PART_A : PART_A " | shuffle", &parts[0]);

    if (st == SLUICE_OK) {
        st = sluice_dataset_parse(zips ? PART_B " | rename label y | drop image | take 12" : PART_B,
                                  &parts[1]);
    }
    return st;
}

static sluice_status begin_concat(const char *folder, sluice_dataset **dataset_out)
{
    sluice_dataset *parts[2];
    const sluice_status st = begin_parts(false, parts);

    (void)folder;
    return st == SLUICE_OK ? sluice_dataset_concat(parts, 2, dataset_out) : st;
}

static sluice_status begin_mix(const char *folder, sluice_dataset **dataset_out)
{
    static const uint64_t weights[] = {70, 30};
    sluice_dataset *parts[2];
    const sluice_status st = begin_parts(false, parts);

    (void)folder;
    return st == SLUICE_OK ? sluice_dataset_mix(parts, weights, 2, 2, dataset_out) : st;
}

static sluice_status begin_mix_defaults(const char *folder, sluice_dataset **dataset_out)
{
    sluice_dataset *parts[2];
    const sluice_status st = begin_parts(false, parts);

    (void)folder;
    return st == SLUICE_OK ? sluice_dataset_mix(parts, NULL, 0, 2, dataset_out) : st;
}

static sluice_status begin_zip(const char *folder, sluice_dataset **dataset_out)
{
    sluice_dataset *parts[2];
    const sluice_status st = begin_parts(true, parts);

    (void)folder;
    return st == SLUICE_OK ? sluice_dataset_zip(parts, 2, dataset_out) : st;
}

/* ---- the cases ------------------------------------------------------------------------------- */

const stage_call source_calls[] = {
    {NULL, "concat (" PART_A " | shuffle) (" PART_B ")", NULL, begin_concat, "batch 4"},
    {NULL, "mix 0.7:(" PART_A " | shuffle) 0.3:end:(" PART_B ")", NULL, begin_mix, "batch 4"},
    {NULL, "mix (" PART_A " | shuffle) (" PART_B ")", NULL, begin_mix_defaults, "batch 4"},
    {NULL, "zip (" PART_A ") (" PART_B " | rename label y | drop image | take 12)", NULL, begin_zip,
     "batch 4"},
    {NULL, NULL, NULL, NULL, NULL},
};
