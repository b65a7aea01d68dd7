/* SPDX-License-Identifier: Apache-2.0 */
/* The names of rows: a map whose name another row has gets a number. */
#include <stdlib.h>

#include "map_kit.h"
#include "plan_traits_int.h"
#include "testing.h"
#include "train_kit.h"

/* Writes the label that the sample has. */
static sluice_status keep_sample(sluice_sample *sample, void *user)
{
    sluice_sample_view label;
    void *room = NULL;
    sluice_status st = sluice_sample_get(sample, "label", &label);

    (void)user;
    st = st == SLUICE_OK ? sluice_sample_room(sample, "label", NULL, &room) : st;
    if (st == SLUICE_OK) {
        memcpy(room, label.data, sizeof(int32_t));
    }
    return st;
}

static sluice_status keep_batch(sluice_host_batch *batch, void *user)
{
    (void)batch;
    (void)user;
    return SLUICE_OK;
}

/* Runs a pipeline with maps of these names (NULL last) before its batches. `after`: the rest of the
 * pipeline, to which a batch map of the name `batch_map` is added, unless it is NULL. The dataset
 * and the plan have ended when this returns. */
static void run_named(kit *k, const char *stages, const char *const *maps, const char *after,
                      const char *batch_map)
{
    static const char *const inputs[] = {"label"};
    static const sluice_column_spec outputs[] = {{.name = "label", .dtype = SLUICE_I32}};
    sluice_dataset *dataset = NULL;
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_path(t_folder(), "images"));
    kit_init(k);
    kit_write_folder(folder, 6, 32);
    T_OK(sluice_dataset_parsef(&dataset, "image_folder %s", folder));
    T_OK(sluice_dataset_add(dataset, stages));
    for (; *maps != NULL; maps++) {
        add_map(dataset, *maps, keep_sample, inputs, 1, outputs, 1, NULL);
    }
    T_OK(sluice_dataset_add(dataset, after));
    if (batch_map != NULL) {
        sluice_map_batch map;

        sluice_map_batch_init(&map);
        map.name = batch_map;
        map.version = 1;
        map.inputs = inputs;
        map.input_count = 1;
        map.map = keep_batch;
        T_OK(sluice_dataset_map_batch(dataset, &map));
    }
    k->dataset = dataset;
    k->config.workers = 2;
    T_OK(kit_run(k));
    sluice_dataset_destroy(dataset);
}

/* The row of a name, which only one stage has; NULL: there is none. */
static const sli_stage_summary *find(const kit *k, const char *name)
{
    const sli_stage_summary *found = NULL;

    for (uint32_t i = 0; i < k->report->stage_count; i++) {
        if (strcmp(k->report->stages[i].name, name) == 0) {
            T_TRUE(found == NULL);
            found = &k->report->stages[i];
        }
    }
    return found;
}

/* Checks that the stages of the report have these names, in this order. */
static void check_names(const kit *k, const char *const *names)
{
    for (uint32_t i = 0; i < k->report->stage_count; i++) {
        if (names[i] == NULL) {
            T_FAIL_("the report has one more row, %s", k->report->stages[i].name);
        }
        T_STR(k->report->stages[i].name, names[i]);
    }
    T_TRUE(names[k->report->stage_count] == NULL);
}

static void maps_of_one_name_have_numbers(void)
{
    static const char *const maps[] = {"mine", "mine", "other_one", "mine", "mine#2", NULL};
    static const char *const names[] = {"read",   "decode",    "resize", "mine",
                                        "mine#2", "other_one", "mine#3", "mine#2#2",
                                        "batch",  "get_next",  "step",   NULL};
    char *json = NULL;
    kit k;

    run_named(&k, "decode | resize 16,16", maps, "batch 4", NULL);
    check_names(&k, names);
    T_EQ(find(&k, "mine")->samples, 12);
    T_EQ(find(&k, "mine#3")->samples, 12);
    T_OK(sluice_report_json(k.report, &json));
    T_CONTAINS(json, "{\"name\":\"mine#2#2\",");
    sluice_string_free(json);
    kit_fini(&k);
}

static void rows_of_the_library_keep_their_names(void)
{
    static const char *const maps[] = {"read",   "decode", "decode", "resize",
                                       "resize", "batch",  "step",   NULL};
    static const char *const names[] = {"read",     "decode",   "resize",   "read#2",  "decode#2",
                                        "decode#3", "resize#2", "resize#3", "batch#2", "step#2",
                                        "step#3",   "batch",    "get_next", "step",    NULL};
    kit k;

    run_named(&k, "decode | resize 16,16", maps, "batch 4", "step");
    check_names(&k, names);
    T_EQ(find(&k, "decode")->samples, 12);
    T_EQ(find(&k, "step")->samples, 3);
    T_EQ(find(&k, "step#2")->samples, 12);
    T_EQ(find(&k, "step#3")->samples, 12);
    kit_fini(&k);
}

/* The operations of a stage are rows, too, and verdicts name them. */
static void operations_keep_their_names(void)
{
    static const char *const maps[] = {"resize", "gaussian_blur", "mixup", "boxes", NULL};
    static const char *const names[] = {"read",
                                        "decode",
                                        "resize+color+convert",
                                        "resize#3",
                                        "gaussian_blur#2",
                                        "mixup#2",
                                        "boxes#2",
                                        "mixup",
                                        "batch",
                                        "get_next",
                                        "step",
                                        NULL};
    kit k;

    run_named(&k, "decode | resize 24,24 | gaussian_blur 3 | resize 16,16", maps,
              "normalize imagenet | one_hot label 2 | batch 4 | mixup", NULL);
    check_names(&k, names);
    kit_fini(&k);
}

/* Rows of the device and the host, and what a bottleneck may be called; a pipeline has 8 maps. */
static void rows_beside_the_plan_keep_their_names(void)
{
    static const char *const maps[2][7] = {
        {"copy", "get_next", "device_maps", "open", "launch", "hooks", NULL},
        {"checkpoint", "validation", "agree", "ranks", "none", "others", NULL}};
    char with_number[80];

    for (size_t run = 0; run < COUNT(maps); run++) {
        kit k;

        run_named(&k, "decode | resize 16,16", maps[run], "batch 4", NULL);
        for (size_t i = 0; maps[run][i] != NULL; i++) {
            snprintf(with_number, sizeof(with_number), "%s#2", maps[run][i]);
            T_TRUE(find(&k, with_number) != NULL);
            T_EQ(find(&k, maps[run][i]) != NULL, strcmp(maps[run][i], "get_next") == 0);
        }
        kit_fini(&k);
    }
}

/* What a verdict must know of a row is found by its name. */
static void a_row_is_known_as_that_of_a_map(void)
{
    static const char *const maps[] = {"decode", "copy", "mine", NULL};
    kit k;

    run_named(&k, "decode | resize 16,16", maps, "batch 4", NULL);
    for (uint32_t i = 0; i < k.report->stage_count; i++) {
        const sli_stage_summary *stage = &k.report->stages[i];
        const bool is_map = strcmp(stage->name, "decode#2") == 0 ||
                            strcmp(stage->name, "copy#2") == 0 || strcmp(stage->name, "mine") == 0;

        T_EQ((k.report->pipeline.kinds[i] & SLI_STAGE_USER) != 0, is_map);
        T_TRUE(!is_map || report_is_worker_stage(stage));
    }
    kit_fini(&k);
}

static void long_names_have_numbers(void)
{
    char name[64];
    char with_number[64];
    const char *const maps[] = {name, name, NULL};
    kit k;

    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    snprintf(with_number, sizeof(with_number), "%.52s#2", name);
    run_named(&k, "decode | resize 16,16", maps, "batch 4", NULL);
    T_TRUE(find(&k, name) != NULL);
    T_TRUE(find(&k, with_number) != NULL);
    kit_fini(&k);
}

const t_test report_names_tests[] = {
    T_TEST(maps_of_one_name_have_numbers),
    T_TEST(rows_of_the_library_keep_their_names),
    T_TEST(operations_keep_their_names),
    T_TEST(rows_beside_the_plan_keep_their_names),
    T_TEST(a_row_is_known_as_that_of_a_map),
    T_TEST(long_names_have_numbers),
    T_END,
};
