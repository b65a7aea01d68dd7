/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that meet errors: of samples, of copies, of memory. */
#include <unistd.h>

#include "alloc_int.h"
#include "testing.h"
#include "train_kit.h"

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

/* ---- samples --------------------------------------------------------------------------------- */

static void batches_before_a_bad_sample_are_trained_on_then_it_is_named(void)
{
    static const char *const devices[] = {"host:0", "host:0,copy=1", "host:0,spin_us=5"};
    static const uint32_t workers[] = {1, 2, 5};

    for (size_t i = 0; i < COUNT(modes) * COUNT(devices) * COUNT(workers); i++) {
        kit_source source;
        kit k;

        kit_source_init(&source, 400);
        source.fail_at = 2 * 77 + 1;
        kit_init(&k);
        k.dataset = kit_source_dataset(&source, 2);
        k.config.mode = modes[i % COUNT(modes)];
        k.device = devices[i / COUNT(modes) % COUNT(devices)];
        k.config.workers = workers[i / COUNT(modes) / COUNT(devices)];
        k.config.sink_size = 30;
        k.config.epochs = 100;
        T_STATUS(kit_run(&k), SLUICE_E_CORRUPT);
        T_CONTAINS(k.error, "read: sample 155, kit/155: told to fail; on_error ");
        kit_check(&k);
        T_EQ(k.count, 77);
        T_EQ(k.report->stats.epochs, 2);
        T_EQ(k.hook_calls[KIT_EPOCH_END], 2); /* not of the epoch that the error ended */
        T_EQ(k.report->failed, 1);
        T_EQ(k.report->error_count, 1);
        T_STR(k.report->errors[0].name, "kit/155");
        sluice_dataset_destroy(k.dataset);
        kit_fini(&k);
    }
}

/* Of several bad samples that workers meet in any order the first in the order of rows counts. */
static void the_first_bad_sample_is_the_error(void)
{
    for (int i = 0; i < 40; i++) {
        kit_source source;
        kit k;

        kit_source_init(&source, 64);
        kit_init(&k);
        k.dataset = kit_source_dataset(&source, 8);
        k.config.workers = 4;
        source.fail_at = 35;
        T_STATUS(kit_run(&k), SLUICE_E_CORRUPT);
        T_CONTAINS(k.error, "kit/35");
        T_EQ(k.count, 4);
        sluice_dataset_destroy(k.dataset);
        kit_fini(&k);
    }
}

static void damaged_and_missing_files_are_named(void)
{
    static const unsigned char cut[] = {0xFF, 0xD8, 0xFF, 0xE0, 0x00, 0x10};
    const char *folder = t_folder();
    char pipeline[400];

    kit_write_folder(folder, 6, 8);
    t_write_file(t_path(folder, "a/004.jpg"), cut, sizeof(cut));
    snprintf(pipeline, sizeof(pipeline), "image_folder %s | decode | batch 2", folder);
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        kit_init(&k);
        k.pipeline = pipeline;
        k.config.mode = modes[m];
        T_STATUS(kit_run(&k), SLUICE_E_CORRUPT);
        T_CONTAINS(k.error, "decode: sample 4, a/004.jpg: ");
        kit_check(&k);
        T_EQ(k.count, 2);
        k.config.on_error = SLUICE_ON_ERROR_REPLACE;
        T_OK(kit_run(&k));
        kit_check(&k);
        T_EQ(k.count, 6);
        T_EQ(k.report->stats.replaced, 1);
        T_STR(k.report->errors[0].name, "a/004.jpg");
        kit_fini(&k);
    }
}

/* It goes missing after the folder was read. */
static void remove_a_file(kit *k)
{
    unlink(k->user);
}

static void a_file_that_goes_missing_is_named(void)
{
    const char *folder = t_folder();
    char pipeline[400];
    char missing[400];

    snprintf(missing, sizeof(missing), "%s/b/005.jpg", folder);
    snprintf(pipeline, sizeof(pipeline), "image_folder %s | decode | batch 2", folder);
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        kit_write_folder(folder, 6, 8);
        kit_init(&k);
        k.pipeline = pipeline;
        k.config.mode = modes[m];
        k.config.slots = 3;
        k.act_in = KIT_TRAIN_BEGIN; /* the queue holds the first six samples at most */
        k.act = remove_a_file;
        k.user = missing;
        T_STATUS(kit_run(&k), SLUICE_E_IO);
        T_CONTAINS(k.error, "read: sample 11, b/005.jpg: cannot open: No such file or directory");
        kit_check(&k);
        T_EQ(k.count, 5);
        kit_fini(&k);
    }
}

static void a_dataset_in_which_nothing_is_readable_is_an_error_under_every_policy(void)
{
    static const sluice_on_error policies[] = {SLUICE_ON_ERROR_FAIL, SLUICE_ON_ERROR_REPLACE,
                                               SLUICE_ON_ERROR_ZERO};
    const char *folder = t_folder();
    char pipeline[400];

    for (int i = 0; i < 4; i++) {
        char name[20];

        snprintf(name, sizeof(name), "a/%d.jpg", i);
        t_write_file(t_path(folder, name), "no picture", 10);
    }
    snprintf(pipeline, sizeof(pipeline), "image_folder %s | decode | resize 4,4 | batch 2", folder);
    for (size_t i = 0; i < COUNT(policies); i++) {
        kit k;

        kit_init(&k);
        k.pipeline = pipeline;
        k.config.epochs = 1000;
        k.config.on_error = policies[i];
        k.model.reads_mask = true;
        T_TRUE(kit_run(&k) < 0);
        if (policies[i] != SLUICE_ON_ERROR_FAIL) {
            T_EQ(k.status, SLUICE_E_INVALID);
            T_CONTAINS(k.error, "no valid data in the dataset");
        }
        kit_check(&k);
        kit_fini(&k);
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void batches_before_a_failed_copy_are_trained_on(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        kit_init(&k);
        k.device = "host:0,copy=1,fail_after=33";
        k.config.mode = modes[m];
        k.config.sink_size = 10;
        k.config.epochs = 10;
        T_STATUS(kit_run(&k), SLUICE_E_DEVICE);
        T_CONTAINS(k.error, "fail_after");
        kit_check(&k);
        T_EQ(k.count, 33);
        kit_fini(&k);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Makes every allocation after the n-th fail, for n = 0, 1, ... until one run needs no more. */
static void run_out_of_memory(const char *device, sluice_mode mode, const char *pipeline)
{
    int64_t passes = 0;

    for (sluice_status st = SLUICE_E_NO_MEMORY; st != SLUICE_OK; passes++) {
        sluice_device *opened = NULL;
        sluice_dataset *dataset = NULL;
        sluice_report *report = NULL;
        char error[1024];
        kit k;

        kit_init(&k);
        k.config.mode = mode;
        k.config.max_steps = 6;
        k.config.workers = 2;
        T_OK(sluice_device_open(device, &opened));
        T_OK(sluice_dataset_parse(pipeline, &dataset));
        sli_alloc_fail_after(passes);
        st = sluice_train(opened, &k.model, dataset, &k.config, &report);
        sli_alloc_fail_after(-1);
        snprintf(error, sizeof(error), "%s", sluice_last_error());
        if (st != SLUICE_OK && st != SLUICE_E_NO_MEMORY) {
            T_FAIL_("after %lld allocations the run ends with %s: %s", (long long)passes,
                    sluice_status_name(st), error);
        }
        T_TRUE(st == SLUICE_OK || error[0] != '\0');
        if (report != NULL) {
            T_EQ(report->stats.status, st);
        }
        T_TRUE(st != SLUICE_OK || report != NULL);
        sluice_report_destroy(report);
        sluice_dataset_destroy(dataset);
        sluice_device_close(opened);
    }
    T_TRUE(passes > 20);
}

static void running_out_of_memory_anywhere_ends_the_run_with_that(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        run_out_of_memory(
            "host:0", modes[m],
            "synthetic samples=20 shape=5,5,3 | shuffle | normalize imagenet | batch 2");
        run_out_of_memory("host:0,copy=1", modes[m],
                          "synthetic samples=20 shape=5,5,3 | random_crop 4 | to_dtype f32 "
                          "offload=device | batch 2");
    }
}

static void running_out_of_memory_over_files_ends_the_run_with_that(void)
{
    const char *folder = t_folder();
    char pipeline[400];

    kit_write_folder(folder, 6, 8);
    snprintf(
        pipeline, sizeof(pipeline),
        "image_folder %s | split train 1 | decode | random_resized_crop 5 | normalize imagenet "
        "| to_chw | batch 2",
        folder);
    run_out_of_memory("host:0", SLUICE_MODE_LOOP, pipeline);
    run_out_of_memory("host:0,copy=1", SLUICE_MODE_DATA, pipeline);
}

/* The texts of a report, too. */
static void running_out_of_memory_in_a_report_is_said(void)
{
    sluice_status (*const texts[])(const sluice_report *, char **) = {sluice_report_text,
                                                                      sluice_report_json};
    kit k;

    kit_init(&k);
    T_OK(kit_run(&k));
    for (size_t i = 0; i < COUNT(texts); i++) {
        sluice_status st = SLUICE_E_NO_MEMORY;
        char *text = NULL;

        for (int64_t passes = 0; st != SLUICE_OK; passes++) {
            CU_ASSERT_PTR_NULL(text); /* outputs are set only on OK */
            sli_alloc_fail_after(passes);
            st = texts[i](k.report, &text);
            sli_alloc_fail_after(-1);
            T_TRUE(st == SLUICE_OK || st == SLUICE_E_NO_MEMORY);
        }
        sluice_string_free(text);
    }
    kit_fini(&k);
}

const t_test train_failures_tests[] = {
    T_TEST(batches_before_a_bad_sample_are_trained_on_then_it_is_named),
    T_TEST(the_first_bad_sample_is_the_error),
    T_TEST(damaged_and_missing_files_are_named),
    T_HOST_TEST(a_file_that_goes_missing_is_named),
    T_TEST(a_dataset_in_which_nothing_is_readable_is_an_error_under_every_policy),
    T_HOST_TEST(batches_before_a_failed_copy_are_trained_on),
    T_TEST(running_out_of_memory_anywhere_ends_the_run_with_that),
    T_TEST(running_out_of_memory_over_files_ends_the_run_with_that),
    T_TEST(running_out_of_memory_in_a_report_is_said),
    T_END,
};
