/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of the calls for groups and of opening groups; those of texts: test_pipeline_errors.c. */
#include <sluice/sampling.h>

#include "dataset_kit.h"
#include "dataset_parts.h"
#include "list_kit.h"
#include "source_kit.h"
#include "tar_kit.h"
#include "testing.h"
#include "tokens_kit.h"

static sluice_dataset *numbers(uint64_t samples)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parsef(&dataset, "synthetic %llu 1,1,1 2", (unsigned long long)samples));
    return dataset;
}

/* The call fails with these words, and the caller still owns the parts. */
static void check_call(sluice_dataset *first, sluice_dataset *second, const uint64_t *weights,
                       uint64_t ends, const char *words)
{
    sluice_dataset *parts[2] = {first, second};
    sluice_dataset *dataset = NULL;

    T_STATUS(sluice_dataset_mix(parts, weights, ends, 2, &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), words);
    CU_ASSERT_PTR_NULL(dataset);
}

static void calls_refuse_what_is_no_part(void)
{
    static const uint64_t none[] = {1, 0};
    static const uint64_t many[] = {1, 1000000};
    sluice_dataset *one = numbers(4);
    sluice_dataset *two = numbers(4);
    sluice_dataset *batched = parsed("synthetic 4 1,1,1 | batch 2");
    sluice_dataset *wrong = numbers(4);
    sluice_dataset *used = numbers(4);
    sluice_dataset *other = parsed("synthetic 4 2,1,1");
    char *name = NULL;

    T_OK(sluice_dataset_add(one, "take 4"));
    T_STATUS(sluice_dataset_add(wrong, "random_crop 0"), SLUICE_E_INVALID);
    T_OK(sluice_dataset_sample_name(used, 0, &name));
    sluice_string_free(name);
    check_call(one, NULL, NULL, 0, "dataset is NULL");
    check_call(one, one, NULL, 0, "part 2 is part 1, too");
    check_call(one, two, NULL, 4, "ends must have bits of the 2 parts only");
    check_call(one, two, none, 0, "part 2: its weight is 0, and must be above 0");
    check_call(one, two, many, 0, "add up to more than 1000000");
    check_call(one, batched, NULL, 0, "batch must come after the group");
    check_call(one, wrong, NULL, 0, "random_crop");
    check_call(one, used, NULL, 0, "the dataset was used already");
    check_call(one, other, NULL, 0, "part 2: its column 1 is image u8 (2, 1, 1), that of part 1");
    T_STATUS(sluice_dataset_concat(NULL, 1, &(sluice_dataset *){NULL}), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_concat(&one, 1, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_concat(&one, 0, &(sluice_dataset *){NULL}), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_concat(&one, PARTS_MOST + 1, &(sluice_dataset *){NULL}),
             SLUICE_E_INVALID);
    sluice_dataset_destroy(one);
    sluice_dataset_destroy(two);
    sluice_dataset_destroy(batched);
    sluice_dataset_destroy(wrong);
    sluice_dataset_destroy(used);
    sluice_dataset_destroy(other);
}

static void there_are_limits_of_parts_and_depth(void)
{
    sluice_dataset *parts[PARTS_MOST];
    sluice_dataset *dataset = NULL;
    sluice_dataset *outer = NULL;
    char text[PARTS_MOST * 20 + 40] = "concat";

    for (uint32_t i = 0; i < PARTS_MOST; i++) {
        parts[i] = numbers(2);
    }
    T_OK(sluice_dataset_concat(parts, PARTS_MOST, &dataset));
    T_OK(sluice_dataset_add(dataset, "batch 2"));
    T_OK(dataset_open(dataset));
    T_EQ(dataset->source_count, 2 * PARTS_MOST);
    sluice_dataset_destroy(dataset);
    for (uint32_t i = 0; i <= PARTS_MOST; i++) {
        snprintf(text + strlen(text), sizeof(text) - strlen(text), " (synthetic 2)");
    }
    check_refused(text, "part 65: there must be at most 64");

    dataset = numbers(2);
    for (uint32_t i = 0; i < PARTS_DEPTH; i++) {
        T_OK(sluice_dataset_zip(&dataset, 1, &outer));
        dataset = outer;
    }
    T_STATUS(sluice_dataset_zip(&dataset, 1, &outer), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "more than 8 groups inside one another");
    sluice_dataset_destroy(dataset);
}

/* Opening the dataset of a text, in which ${D} is the folder, fails. */
static void check_opening(const char *text, const char *folder, sluice_status want,
                          const char *words)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parse_args(text, (const char *[]){"D"}, &folder,
                                   strstr(text, "${D}") != NULL, &dataset));
    for (int again = 0; again < 2; again++) {
        T_STATUS(dataset_open(dataset), want);
        if (want != SLUICE_OK) {
            T_CONTAINS(sluice_last_error(), words);
        }
    }
    sluice_dataset_destroy(dataset);
}

static void openings_refuse_parts_that_do_not_fit(void)
{
    char folder[400];
    tar_maker tar = {0};

    snprintf(folder, sizeof(folder), "%s", t_folder());
    tar_add_text(&tar, "1.ppm", "P6 1 1 255\nabc");
    tar_add_text(&tar, "1.cls", "1");
    tar_write(&tar, t_path(folder, "x.tar"));
    tar_free(&tar);
    check_opening("zip (synthetic 4) (synthetic 5 | project label | rename label y)", folder,
                  SLUICE_E_INVALID,
                  "part 2 has 5 samples and part 1 has 4; shorten the longer one "
                  "by `take 4`");
    check_opening("concat (webdataset ${D}/x.tar) (webdataset ${D}/x.tar access=stream)", folder,
                  SLUICE_E_UNSUPPORTED, "concat: part 2: webdataset is a stream here");
    check_opening("concat (image_folder ${D}/nowhere) (image_folder ${D}/nowhere)", folder,
                  SLUICE_E_IO, "concat: part 1: ");
}

/* A part of mix without samples has no turns. */
static void a_part_of_mix_has_samples(void)
{
    sluice_dataset *dataset = parsed("mix (synthetic 4) (concat (synthetic 4 | take 0)) | batch 2");

    T_STATUS(sluice_dataset_explain(dataset, &(char *){NULL}), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "no valid data in the dataset: part 2 of mix has no samples");
    sluice_dataset_destroy(dataset);
}

/* Classes are numbered in the order of their names, so with different names labels would clash. */
static void classes_of_parts_have_the_same_names(void)
{
    char folder[400];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    make_jpeg(folder, "a/cat/1.jpg", 8, 8, 1);
    make_jpeg(folder, "a/dog/1.jpg", 8, 8, 1);
    make_jpeg(folder, "b/cat/1.jpg", 8, 8, 1);
    make_jpeg(folder, "b/eel/1.jpg", 8, 8, 1);
    check_opening("concat (image_folder ${D}/a) (image_folder ${D}/b)", folder, SLUICE_E_INVALID,
                  "concat: part 2: label 1 is eel, and dog in part 1");
    check_opening("mix (image_folder ${D}/a) (image_folder ${D}/a)", folder, SLUICE_OK, "");
    /* Each part is compared with the one before it that names the most classes. */
    make_jpeg(folder, "c/cat/1.jpg", 8, 8, 1);
    check_opening("concat (image_folder ${D}/c) (image_folder ${D}/a) (image_folder ${D}/b)",
                  folder, SLUICE_E_INVALID, "concat: part 3: label 1 is eel, and dog in part 2");
    check_opening("mix (image_folder ${D}/a) (image_folder ${D}/c) (image_folder ${D}/b)", folder,
                  SLUICE_E_INVALID, "mix: part 3: label 1 is eel, and dog in part 1");
    check_opening("concat (image_folder ${D}/c) (image_folder ${D}/b) (image_folder ${D}/c)",
                  folder, SLUICE_OK, "");
    check_opening("concat (image_folder ${D}/a | drop label) (image_folder ${D}/b | drop label)",
                  folder, SLUICE_OK, "");
}

#ifdef SLI_HAVE_JANSSON
static const char ONLY_ANT[] =
    "{\"images\": [{\"id\": 1, \"file_name\": \"a.ppm\"}], \"annotations\": [], "
    "\"categories\": [{\"id\": 3, \"name\": \"ant\"}]}";

/* COCO's classes are numbered in the order of their ids; all parts have all of them. */
static void categories_of_parts_are_the_same(void)
{
    static const char *const names[] = {"cat", "dog", "cat"};
    char folder[400];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    for (int i = 0; i < 3; i++) {
        char json[300];
        char file[10];

        snprintf(file, sizeof(file), "%c.json", 'a' + i);
        snprintf(json, sizeof(json),
                 "{\"images\": [{\"id\": 1, \"file_name\": \"a.ppm\"}], \"annotations\": [], "
                 "\"categories\": [{\"id\": 3, \"name\": \"ant\"}, {\"id\": %d, \"name\": "
                 "\"%s\"}]}",
                 7 + i, names[i]);
        t_write_file(t_path(folder, file), json, strlen(json));
    }
    check_opening("concat (coco ${D}/a.json) (coco ${D}/b.json)", folder, SLUICE_E_INVALID,
                  "concat: part 2: class 1 is dog, and cat in part 1: classes are numbered in the "
                  "order of their ids");
    check_opening("mix (coco ${D}/b.json) (coco ${D}/c.json)", folder, SLUICE_E_INVALID,
                  "mix: part 2: class 1 is cat, and dog in part 1");
    check_opening("concat (coco ${D}/a.json) (coco ${D}/c.json)", folder, SLUICE_OK, "");
    check_opening("concat (coco ${D}/a.json | drop classes) (coco ${D}/b.json | drop classes)",
                  folder, SLUICE_OK, "");
    t_write_file(t_path(folder, "d.json"), ONLY_ANT, strlen(ONLY_ANT));
    check_opening("concat (coco ${D}/a.json) (coco ${D}/d.json)", folder, SLUICE_E_INVALID,
                  "concat: part 2: it has 1 classes, and part 1 has 2: it lacks class 1, cat");
    check_opening("mix (coco ${D}/d.json) (coco ${D}/b.json)", folder, SLUICE_E_INVALID,
                  "mix: part 2: it has 2 classes, and part 1 has 1: part 1 lacks class 1, dog");
}
#else
static void categories_of_parts_are_the_same(void)
{
    T_SKIP("built without jansson");
}
#endif

const t_test group_errors_tests[] = {
    T_TEST(calls_refuse_what_is_no_part),
    T_TEST(there_are_limits_of_parts_and_depth),
    T_TEST(openings_refuse_parts_that_do_not_fit),
    T_TEST(a_part_of_mix_has_samples),
    T_TEST(classes_of_parts_have_the_same_names),
    T_TEST(categories_of_parts_are_the_same),
    T_END,
};
