/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of datasets by calls and as text: the same description, and batches of the same bytes. */
#include <stdlib.h>

#include <sluice/sampling.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "testing.h"

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

static sluice_status begin_concat(sluice_dataset **dataset_out)
{
    sluice_dataset *parts[2];
    const sluice_status st = begin_parts(false, parts);

    return st == SLUICE_OK ? sluice_dataset_concat(parts, 2, dataset_out) : st;
}

static sluice_status begin_mix(sluice_dataset **dataset_out)
{
    static const uint64_t weights[] = {70, 30};
    sluice_dataset *parts[2];
    const sluice_status st = begin_parts(false, parts);

    return st == SLUICE_OK ? sluice_dataset_mix(parts, weights, 2, 2, dataset_out) : st;
}

static sluice_status begin_mix_defaults(sluice_dataset **dataset_out)
{
    sluice_dataset *parts[2];
    const sluice_status st = begin_parts(false, parts);

    return st == SLUICE_OK ? sluice_dataset_mix(parts, NULL, 0, 2, dataset_out) : st;
}

static sluice_status begin_zip(sluice_dataset **dataset_out)
{
    sluice_dataset *parts[2];
    const sluice_status st = begin_parts(true, parts);

    return st == SLUICE_OK ? sluice_dataset_zip(parts, 2, dataset_out) : st;
}

/* ---- the checks ------------------------------------------------------------------------------ */

typedef struct group_case {
    const char *text;
    sluice_status (*begin)(sluice_dataset **dataset_out);
} group_case;

static const group_case cases[] = {
    {"concat (" PART_A " | shuffle) (" PART_B ")", begin_concat},
    {"mix 0.7:(" PART_A " | shuffle) 0.3:end:(" PART_B ")", begin_mix},
    {"mix (" PART_A " | shuffle) (" PART_B ")", begin_mix_defaults},
    {"zip (" PART_A ") (" PART_B " | rename label y | drop image | take 12)", begin_zip},
};

static void check_same_batches(sluice_dataset *text, sluice_dataset *call, const char *name)
{
    const run_options options = {.workers = 2, .settings = {.seed = 3}};
    tape want;
    tape got;

    T_OK(sluice_dataset_add(text, "batch 4"));
    T_OK(sluice_dataset_add(call, "batch 4"));
    want = record(text, &options);
    got = record(call, &options);
    T_TRUE(want.batches > 0 && want.size > 0);
    T_EQ(want.end, SLUICE_END_OF_DATA);
    check_equal_tapes(&got, &want, name);
    free(want.bytes);
    free(got.bytes);
}

static void calls_and_texts_give_the_same(void)
{
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        sluice_dataset *text = parsed(cases[k].text);
        sluice_dataset *call = NULL;

        T_OK(cases[k].begin(&call));
        T_STR(described(call), described(text));
        check_same_batches(text, call, cases[k].text);
        sluice_dataset_destroy(text);
        sluice_dataset_destroy(call);
    }
}

const t_test group_calls_tests[] = {
    T_TEST(calls_and_texts_give_the_same),
    T_END,
};
