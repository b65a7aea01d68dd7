/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_dataset_add(): stages as text. */
#include <stdlib.h>

#include "alloc_int.h"
#include "dataset_kit.h"
#include "testing.h"

static sluice_dataset *synthetic(void)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parse("synthetic 100 40,50,3 7", &dataset));
    return dataset;
}

#define SYNTHETIC "synthetic samples=100 shape=40,50,3 classes=7"

static void added_texts_and_whole_texts_build_the_same(void)
{
    sluice_dataset *dataset = synthetic();
    sluice_dataset *whole = parsed(SYNTHETIC " | shuffle 3 | take 50 | resize 20 area | to_chw "
                                             "offload=device | normalize imagenet | batch 4");
    const char *want = described(whole);

    T_OK(sluice_dataset_add(dataset, "shuffle 3"));
    T_OK(sluice_dataset_addf(dataset, "take %d", 50));
    T_OK(sluice_dataset_add(dataset, " resize 20 filter=area # smaller\n| to_chw offload=device "));
    T_OK(sluice_dataset_add(dataset, "normalize imagenet|batch 4"));
    T_STR(described(dataset), want);
    sluice_dataset_destroy(dataset);
    sluice_dataset_destroy(whole);
}

static void added_texts_take_variables_of_the_environment(void)
{
    sluice_dataset *dataset = synthetic();

    setenv("SLUICE_TEST_N", "5", 1);
    T_OK(sluice_dataset_add(dataset, "take ${SLUICE_TEST_N} | skip ${SLUICE_TEST_NONE:-2}"));
    unsetenv("SLUICE_TEST_N");
    T_STR(described(dataset), SYNTHETIC " | take n=5 | skip n=2");
    sluice_dataset_destroy(dataset);
}

/* The same errors as of a whole text; the dataset keeps them. */
static void check_add_refused(const char *text, const char *words)
{
    sluice_dataset *dataset = synthetic();
    char *description = NULL;
    char first[1024];

    T_STATUS(sluice_dataset_add(dataset, text), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), words);
    snprintf(first, sizeof(first), "%s", sluice_last_error());
    T_STATUS(sluice_dataset_add(dataset, "take 3"), SLUICE_E_INVALID);
    T_STR(sluice_last_error(), first);
    T_STATUS(sluice_dataset_addf(dataset, "batch %d", 3), SLUICE_E_INVALID);
    T_STR(sluice_last_error(), first);
    T_STATUS(sluice_dataset_describe(dataset, &description), SLUICE_E_INVALID);
    T_STR(sluice_last_error(), first);
    sluice_dataset_destroy(dataset);
}

static void wrong_stages_are_refused_with_a_caret(void)
{
    check_add_refused("tkae 3",
                      "no stage 'tkae'; nearest is take; `sluice help stages` lists them\n"
                      "    tkae 3\n"
                      "    ^");
    check_add_refused("take 3 | skip", "skip: n is missing (number of samples to skip)\n"
                                       "    take 3 | skip\n"
                                       "                 ^");
    check_add_refused("take 3 | batch 0", "batch: n=0 must be from 1 to 1048576\n"
                                          "    take 3 | batch 0\n"
                                          "             ^");
    check_add_refused("", "the name of a stage must be here\n    \n    ^");
    check_add_refused("| take 3", "the name of a stage must be here");
    check_add_refused("batch 2 | take 3", "take must come before batch");
    check_add_refused(NULL, "sluice_dataset_add: text is NULL");
}

static void a_second_source_is_refused(void)
{
    check_add_refused("take 3 | image_folder x",
                      "image_folder is a source, and this dataset has one; begin another dataset "
                      "with sluice_dataset_parse()\n"
                      "    take 3 | image_folder x\n"
                      "             ^");
    T_STATUS(sluice_dataset_add(NULL, "take 3"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "sluice_dataset_add: dataset is NULL");
}

static void no_more_stages_than_a_dataset_has_room_for(void)
{
    sluice_dataset *dataset = synthetic();

    for (int i = 1; i < 64; i++) {
        T_OK(sluice_dataset_add(dataset, "take 3"));
    }
    T_STATUS(sluice_dataset_add(dataset, "take 3"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "more than 64 stages");
    sluice_dataset_destroy(dataset);
}

static void running_out_of_memory_is_kept(void)
{
    sluice_status st = SLUICE_E_NO_MEMORY;
    int64_t passes = 0;

    for (; st == SLUICE_E_NO_MEMORY && passes < 100; passes++) {
        sluice_dataset *dataset = NULL;

        T_OK(sluice_dataset_parse("image_folder x", &dataset));
        sli_alloc_fail_after(passes);
        st = sluice_dataset_add(dataset, "decode | normalize imagenet");
        sli_alloc_fail_after(-1);
        T_STATUS(sluice_dataset_add(dataset, "to_chw"), st);
        sluice_dataset_destroy(dataset);
    }
    T_OK(st);
    T_TRUE(passes > 1);
}

const t_test pipeline_add_tests[] = {
    T_TEST(added_texts_and_whole_texts_build_the_same),
    T_TEST(added_texts_take_variables_of_the_environment),
    T_TEST(wrong_stages_are_refused_with_a_caret),
    T_TEST(a_second_source_is_refused),
    T_TEST(no_more_stages_than_a_dataset_has_room_for),
    T_TEST(running_out_of_memory_is_kept),
    T_END,
};
