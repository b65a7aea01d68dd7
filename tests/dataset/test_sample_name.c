/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_dataset_sample_name() and sluice_dataset_class_name(). */
#include <stdlib.h>

#include "alloc_int.h"
#include "dataset_kit.h"
#include "shard_kit.h"
#include "source_kit.h"
#include "testing.h"
#include "train_kit.h"

static void check_sample(sluice_dataset *dataset, uint64_t sample, const char *want)
{
    char *name = NULL;

    T_OK(sluice_dataset_sample_name(dataset, sample, &name));
    T_STR(name, want);
    sluice_string_free(name);
}

static void check_no_class(sluice_dataset *dataset, int32_t label, sluice_status want,
                           const char *words)
{
    char *name = NULL;

    T_STATUS(sluice_dataset_class_name(dataset, label, &name), want);
    T_CONTAINS(sluice_last_error(), words);
    CU_ASSERT_PTR_NULL(name);
}

/* What order and stages follow makes no difference: indices are the source's. */
static void files_of_a_folder_have_their_paths_and_classes(void)
{
    char folder[300];
    sluice_dataset *dataset;
    char *name = NULL;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    kit_write_folder(folder, 3, 8);
    dataset = folder_dataset(folder, "skip 2 | shuffle");
    check_sample(dataset, 0, "a/000.jpg");
    check_sample(dataset, 5, "b/002.jpg");
    check_class(dataset, 0, "a");
    check_class(dataset, 1, "b");
    T_STATUS(sluice_dataset_sample_name(dataset, 6, &name), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "sample 6 must be less than 6");
    T_STATUS(sluice_dataset_sample_name(dataset, UINT64_MAX, &name), SLUICE_E_INVALID);
    CU_ASSERT_PTR_NULL(name);
    check_no_class(dataset, 2, SLUICE_E_INVALID, "label 2 must be from 0 to 1");
    check_no_class(dataset, -1, SLUICE_E_INVALID, "label -1 must be from 0 to 1");
    sluice_dataset_destroy(dataset);
}

/* Each entry of `samples` names the file whose label the batch has in that row. */
static sluice_status name_records(sluice_hook *hook, void *user)
{
    sluice_dataset *dataset = user;

    for (uint64_t i = 0; i < hook->record_count; i++) {
        char *class = NULL;
        char *name = NULL;

        T_OK(sluice_dataset_sample_name(dataset, sluice_hook_record(hook, i)->samples[0], &name));
        T_OK(sluice_dataset_class_name(dataset, (int32_t)sluice_hook_record(hook, i)->outputs[1],
                                       &class));
        T_EQ(strncmp(name, class, strlen(class)), 0);
        T_EQ(name[strlen(class)], '/');
        sluice_string_free(name);
        sluice_string_free(class);
    }
    return SLUICE_OK;
}

static void samples_of_a_record_are_named(void)
{
    sluice_callback callback = {.records = name_records};
    char folder[300];
    kit k;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    kit_write_folder(folder, 5, 8);
    kit_init(&k);
    k.dataset = folder_dataset(folder, "shuffle | decode | batch 2");
    callback.user = k.dataset;
    k.callbacks = &callback;
    k.callback_count = 1;
    k.config.record_samples = true;
    T_OK(kit_run(&k));
    T_EQ(k.report->stats.steps, 5);
    sluice_dataset_destroy(k.dataset);
    kit_fini(&k);
}

static void members_of_shards_have_their_shard_and_name(void)
{
    char folder[300];
    sluice_dataset *dataset;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    make_web_shard(t_path(folder, "some.tar"), "some", 3);
    dataset = web_dataset("webdataset @/some.tar", folder);
    check_sample(dataset, 2, "some.tar/002.jpg");
    check_no_class(dataset, 0, SLUICE_E_UNSUPPORTED, "webdataset has no names of classes");
    sluice_dataset_destroy(dataset);
}

static void a_stream_keeps_no_names(void)
{
    char folder[300];
    sluice_dataset *dataset;
    char *name = NULL;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    make_web_shard(t_path(folder, "some.tar"), "some", 3);
    dataset = web_dataset("webdataset @/some.tar access=stream", folder);
    T_STATUS(sluice_dataset_sample_name(dataset, 0, &name), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "without access=stream");
    sluice_dataset_destroy(dataset);
}

/* Adds a member whose name a pax header gives. */
static void add_long(tar_maker *tar, const char *name, const char *text)
{
    char *record = malloc(strlen(name) + 16);

    T_TRUE(record != NULL);
    sprintf(record, "path=%s", name);
    tar_add_pax(tar, 'x', (const char *const *)&record, 1);
    tar_add_text(tar, "short", text);
    free(record);
}

static void a_long_name_is_whole(void)
{
    enum { LENGTH = 5000 };
    char member[LENGTH + 1];
    char folder[300];
    sluice_dataset *dataset;
    tar_maker tar = {0};
    char *name = NULL;

    memset(member, 'k', LENGTH);
    strcpy(member + LENGTH - 4, ".jpg");
    add_long(&tar, member, "x");
    strcpy(member + LENGTH - 4, ".cls");
    add_long(&tar, member, "1");
    snprintf(folder, sizeof(folder), "%s", t_folder());
    tar_write(&tar, t_path(folder, "long.tar"));
    dataset = web_dataset("webdataset @/long.tar", folder);
    T_OK(sluice_dataset_sample_name(dataset, 0, &name));
    T_EQ(strlen(name), strlen("long.tar/") + LENGTH);
    sluice_string_free(name);
    sluice_dataset_destroy(dataset);
}

static void made_up_samples_have_names_and_no_classes(void)
{
    sluice_dataset *dataset = parsed("synthetic samples=12 classes=5 shape=2,2,3");

    check_sample(dataset, 11, "synthetic/11");
    check_no_class(dataset, 0, SLUICE_E_UNSUPPORTED, "synthetic has no names of classes");
    sluice_dataset_destroy(dataset);
}

static void wrong_arguments_are_refused(void)
{
    sluice_dataset *dataset = parsed("synthetic samples=12 shape=2,2,3");
    char *name = NULL;

    T_STATUS(sluice_dataset_sample_name(NULL, 0, &name), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_class_name(NULL, 0, &name), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_sample_name(dataset, 0, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "name_out is NULL");
    T_STATUS(sluice_dataset_class_name(dataset, 0, NULL), SLUICE_E_INVALID);
    sluice_dataset_destroy(dataset);
    dataset = parsed("image_folder /nowhere/at/all");
    T_STATUS(sluice_dataset_sample_name(dataset, 0, &name), SLUICE_E_IO);
    T_STATUS(sluice_dataset_class_name(dataset, 0, &name), SLUICE_E_IO);
    CU_ASSERT_PTR_NULL(name);
    sluice_dataset_destroy(dataset);
}

static void running_out_of_memory_is_an_error(void)
{
    sluice_dataset *dataset = parsed("synthetic samples=12 shape=2,2,3");
    sluice_status st = SLUICE_E_NO_MEMORY;
    char *name = NULL;
    int64_t passes = 0;

    for (; st == SLUICE_E_NO_MEMORY && passes < 100; passes++) {
        sli_alloc_fail_after(passes);
        st = sluice_dataset_sample_name(dataset, 1, &name);
        sli_alloc_fail_after(-1);
    }
    T_OK(st);
    T_TRUE(passes > 1);
    sluice_string_free(name);
    sluice_dataset_destroy(dataset);
}

const t_test sample_name_tests[] = {
    T_TEST(files_of_a_folder_have_their_paths_and_classes),
    T_TEST(samples_of_a_record_are_named),
    T_TEST(members_of_shards_have_their_shard_and_name),
    T_TEST(a_stream_keeps_no_names),
    T_TEST(a_long_name_is_whole),
    T_TEST(made_up_samples_have_names_and_no_classes),
    T_TEST(wrong_arguments_are_refused),
    T_TEST(running_out_of_memory_is_an_error),
    T_END,
};
