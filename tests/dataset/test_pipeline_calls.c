/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that build a dataset: the first error of building stays; what is refused. */
#include <sluice/custom.h>

#include "dataset_kit.h"
#include "status_int.h"
#include "testing.h"

static sluice_status map_nothing(sluice_sample *sample, void *user)
{
    (void)sample;
    (void)user;
    return SLUICE_OK;
}

static sluice_status keep_all(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    (void)sample;
    (void)user;
    *keep_out = 1;
    return SLUICE_OK;
}

static sluice_status map_no_batch(sluice_host_batch *batch, void *user)
{
    (void)batch;
    (void)user;
    return SLUICE_OK;
}

static sluice_status add_map(sluice_dataset *dataset)
{
    sluice_map map;

    sluice_map_init(&map);
    map.name = "nothing";
    map.map = map_nothing;
    return sluice_dataset_map(dataset, &map);
}

static sluice_status add_filter(sluice_dataset *dataset)
{
    sluice_filter filter;

    sluice_filter_init(&filter);
    filter.name = "all";
    filter.filter = keep_all;
    return sluice_dataset_filter(dataset, &filter);
}

static sluice_status add_map_batch(sluice_dataset *dataset)
{
    static const char *const inputs[] = {"label"};
    sluice_map_batch map;

    sluice_map_batch_init(&map);
    map.name = "no_batch";
    map.inputs = inputs;
    map.input_count = 1;
    map.map = map_no_batch;
    return sluice_dataset_map_batch(dataset, &map);
}

static sluice_status add_text(sluice_dataset *dataset)
{
    return sluice_dataset_add(dataset, "take 3");
}

static sluice_status add_format(sluice_dataset *dataset)
{
    return sluice_dataset_addf(dataset, "take %d", 3);
}

static sluice_status add_values(sluice_dataset *dataset)
{
    const sluice_value value = {.type = SLUICE_VALUE_UINT, .count = 3};

    return sluice_dataset_add_values(dataset, "take {}", &value, 1);
}

/* Every call that adds stages. */
static sluice_status (*const adders[])(sluice_dataset *dataset) = {
    add_text, add_format, add_values, add_map, add_filter, add_map_batch};

static void check_adding_refused(sluice_dataset *dataset, const char *words)
{
    for (size_t i = 0; i < sizeof(adders) / sizeof(adders[0]); i++) {
        sli_fail(SLUICE_E_IO, "another error in between");
        T_STATUS(adders[i](dataset), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), words);
    }
}

/* ---- errors of calls ------------------------------------------------------------------------- */

static sluice_status add_wrong_text(sluice_dataset *dataset)
{
    return sluice_dataset_add(dataset, "to_chw offload=moon");
}

static sluice_status add_map_without_name(sluice_dataset *dataset)
{
    sluice_map map;

    sluice_map_init(&map);
    map.map = map_nothing;
    return sluice_dataset_map(dataset, &map);
}

static const struct {
    sluice_status (*build)(sluice_dataset *dataset);
    const char *words;
} bad_calls[] = {
    {add_wrong_text, "to_chw: offload=moon must be one of auto host device"},
    {add_map_without_name, "sluice_dataset_map: name is NULL"},
    {add_map_batch, "map_batch works on whole batches"},
};

/* The first error stays, whatever is called after it, and nothing is added any more. */
static void the_first_error_of_building_is_kept(void)
{
    for (size_t i = 0; i < sizeof(bad_calls) / sizeof(bad_calls[0]); i++) {
        sluice_dataset *dataset = NULL;
        sluice_dataset_info info = {.struct_size = sizeof(info)};
        char *text = NULL;

        T_OK(sluice_dataset_parse("synthetic 10 4,4,3 2", &dataset));
        T_STATUS(bad_calls[i].build(dataset), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), bad_calls[i].words);
        check_adding_refused(dataset, bad_calls[i].words);
        for (size_t k = 0; k < sizeof(bad_calls) / sizeof(bad_calls[0]); k++) {
            T_STATUS(bad_calls[k].build(dataset), SLUICE_E_INVALID);
            T_CONTAINS(sluice_last_error(), bad_calls[i].words);
        }
        T_STATUS(sluice_dataset_describe(dataset, &text), SLUICE_E_INVALID);
        T_STATUS(sluice_dataset_explain(dataset, &text), SLUICE_E_INVALID);
        T_STATUS(sluice_dataset_inspect(dataset, &info), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), bad_calls[i].words);
        CU_ASSERT_PTR_NULL(text);
        sluice_dataset_destroy(dataset);
    }
}

/* A run that goes on sees the stages it began with, and no error of a call after that. */
static void a_dataset_that_was_used_takes_no_stages(void)
{
    sluice_dataset *dataset = parsed("synthetic 10 4,4,3 | to_chw | batch 2");
    sluice_dataset_info info = {.struct_size = sizeof(info)};

    T_OK(sluice_dataset_inspect(dataset, &info));
    check_adding_refused(dataset, "the dataset was used already; add all stages before");
    T_STATUS(add_wrong_text(dataset), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_add(dataset, "take 3"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "sluice_dataset_add: the dataset was used already");
    T_OK(sluice_dataset_inspect(dataset, &info));
    T_EQ(info.batches, 5);
    sluice_dataset_destroy(dataset);
}

static void null_arguments_are_refused(void)
{
    sluice_dataset *dataset = NULL;
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    char *text = NULL;

    T_STATUS(sluice_dataset_parse(NULL, &dataset), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_parse("synthetic", NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_describe(NULL, &text), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_explain(NULL, &text), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_inspect(NULL, &info), SLUICE_E_INVALID);
    T_STATUS(sluice_stage_help(NULL, NULL), SLUICE_E_INVALID);
    check_adding_refused(NULL, "dataset is NULL");
    CU_ASSERT_PTR_NULL(dataset);
    CU_ASSERT_PTR_NULL(text);
    sluice_dataset_destroy(NULL);
    dataset = parsed("synthetic | batch 1");
    T_STATUS(sluice_dataset_describe(dataset, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_explain(dataset, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_inspect(dataset, NULL), SLUICE_E_INVALID);
    info.struct_size = 0;
    T_STATUS(sluice_dataset_inspect(dataset, &info), SLUICE_E_INVALID);
    sluice_dataset_destroy(dataset);
}

const t_test pipeline_calls_tests[] = {
    T_TEST(the_first_error_of_building_is_kept),
    T_TEST(a_dataset_that_was_used_takes_no_stages),
    T_TEST(null_arguments_are_refused),
    T_END,
};
