/* SPDX-License-Identifier: Apache-2.0 */
/* The slowest samples of a run: found by name and stage, each once. */
#include <stdatomic.h>
#include <time.h>

#include <sluice/custom.h>

#include "slow_samples.h"
#include "testing.h"
#include "train_kit.h"

/* ---- lists ------------------------------------------------------------------------------------
 */

static void a_list_has_the_slowest_in_order(void)
{
    sli_slow_samples list = {0};

    for (uint64_t i = 0; i < 1000; i++) {
        const sli_slow_sample sample = {
            .sample = i % 500, .ticks = 1 + i * 7919 % 1000, .stage = i % 2 == 0 ? "read" : "map"};

        slow_samples_insert(&list, &sample);
    }
    T_EQ(list.count, SLI_SLOW_SAMPLES);
    for (uint32_t i = 0; i < list.count; i++) {
        T_EQ(list.of[i].ticks, 1000 - i);
    }
}

static void a_sample_is_listed_once_in_a_stage(void)
{
    static const sli_slow_sample samples[] = {{.sample = 3, .ticks = 10, .stage = "read"},
                                              {.sample = 3, .ticks = 30, .stage = "map"},
                                              {.sample = 4, .ticks = 20, .stage = "read"},
                                              {.sample = 3, .ticks = 25, .stage = "read"},
                                              {.sample = 4, .ticks = 5, .stage = "read"}};
    sli_slow_samples list = {0};

    for (size_t i = 0; i < COUNT(samples); i++) {
        slow_samples_insert(&list, &samples[i]);
    }
    T_EQ(list.count, 3);
    T_STR(list.of[0].stage, "map");
    T_TRUE(list.of[1].sample == 3 && list.of[1].ticks == 25);
    T_TRUE(list.of[2].sample == 4 && list.of[2].ticks == 20);
}

/* ---- runs -------------------------------------------------------------------------------------
 */

static _Atomic uint32_t calls;

/* Sleeps in one of all calls. */
static sluice_status sleep_once(sluice_sample *sample, void *user)
{
    const struct timespec nap = {0, 300000000};
    void *room;
    sluice_status st = sluice_sample_room(sample, "extra", NULL, &room);

    (void)user;
    if (st == SLUICE_OK) {
        *(float *)room = 0;
    }
    if (atomic_fetch_add(&calls, 1) == 50) {
        (void)nanosleep(&nap, NULL);
    }
    return st;
}

static void one_slow_sample_is_found_by_name(void)
{
    static const sluice_column_spec outputs[] = {{"extra", SLUICE_F32, 0, {0}, 0, 0, NULL}};
    const sluice_map map = {.struct_size = sizeof(map),
                            .name = "mymap",
                            .outputs = outputs,
                            .output_count = 1,
                            .column_size = sizeof(sluice_column_spec),
                            .map = sleep_once};
    sluice_dataset *dataset = NULL;
    char *text = NULL;
    char *json = NULL;
    kit k;

    atomic_store(&calls, 0);
    T_OK(sluice_dataset_parse("synthetic samples=200 shape=4,4,3", &dataset));
    T_OK(sluice_dataset_map(dataset, &map));
    T_OK(sluice_dataset_add(dataset, "batch 8"));
    kit_init(&k);
    k.dataset = dataset;
    T_OK(kit_run(&k));
    T_OK(sluice_report_text(k.report, &text));
    T_OK(sluice_report_json(k.report, &json));
    T_CONTAINS(text, "\nslow samples:\n  mymap: 3");
    T_CONTAINS(json, "\"slowest\":[{\"sample\":");
    T_CONTAINS(strstr(json, "\"slowest\":["), "\"stage\":\"mymap\",\"us\":3");
    sluice_string_free(text);
    sluice_string_free(json);
    kit_fini(&k);
    sluice_dataset_destroy(dataset);
}

const t_test slowest_tests[] = {
    T_TEST(a_list_has_the_slowest_in_order),
    T_TEST(a_sample_is_listed_once_in_a_stage),
    T_TEST(one_slow_sample_is_found_by_name),
    T_END,
};
