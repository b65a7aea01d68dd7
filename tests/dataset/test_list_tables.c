/* SPDX-License-Identifier: Apache-2.0 */
/* image_list without images: tables of numbers and texts. */
#include <stdio.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "source_kit.h"
#include "testing.h"

static void a_table_of_numbers_is_a_dataset(void)
{
    const char *folder = t_folder();
    engine_run run;
    sluice_dataset *dataset =
        list_dataset(folder, "x:f32\ty:f32\tlabel\n1.5\t0\t3\n-2\t1\t4\n", "| batch 2");

    T_STR(name_of(dataset, 1), "1");
    open_own(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_TRUE(*(const float *)column_row(&run, "x", 0) == 1.5F);
    T_TRUE(*(const float *)column_row(&run, "x", 1) == -2.0F);
    T_TRUE(*(const float *)column_row(&run, "y", 1) == 1.0F);
    T_EQ(*(const int32_t *)column_row(&run, "label", 1), 4);
    close_run(&run);
}

/* A later field that declares a column makes the first line a header, too. */
static void the_first_column_may_be_the_label(void)
{
    const char *folder = t_folder();
    char text[800];
    engine_run run;

    write_list(folder, "list.csv", "label,x:f32[2],t:text[4]\n7,\"1,2\",ab\n8,,\n");
    snprintf(text, sizeof(text), "image_list %s/list.csv | batch 2", folder);
    open_own(&run, parsed(text), &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(*(const int32_t *)column_row(&run, "label", 0), 7);
    T_EQ(*(const int32_t *)column_row(&run, "label", 1), 8);
    T_EQ(*(const int32_t *)column_row(&run, "x_length", 0), 2);
    close_run(&run);
}

/* Extensions mean the same in any case. */
static void extensions_may_be_in_upper_case(void)
{
    static const struct {
        const char *name;
        const char *text;
    } lists[] = {
        {"a.CSV", "label,x:i32\n7,8\n"},
        {"a.Tsv", "label\tx:i32\n7\t8\n"},
#ifdef SLI_HAVE_JANSSON
        {"a.JSONL", " {\"label\": 7, \"x\": 8}\n"},
        {"a.NdJson", " {\"label\": 7, \"x\": 8}\n"},
#endif
    };
    const char *folder = t_folder();

    for (size_t i = 0; i < COUNT(lists); i++) {
        char text[800];
        engine_run run;

        write_list(folder, lists[i].name, lists[i].text);
        snprintf(text, sizeof(text), "image_list %s/%s%s | batch 1", folder, lists[i].name,
                 strstr(lists[i].text, "{") != NULL ? " fields=label,x:i32" : "");
        open_own(&run, parsed(text), &(run_options){.workers = 1});
        T_OK(next_batch(&run));
        T_EQ(*(const int32_t *)column_row(&run, "label", 0), 7);
        T_EQ(*(const int32_t *)column_row(&run, "x", 0), 8);
        close_run(&run);
    }
}

static void stages_of_images_say_that_there_is_none(void)
{
    static const refused_case bad[] = {
        {"decode", "decode: there is no image"},
        {"resize 4", "resize: there is no image"},
        {"normalize imagenet", "normalize: there is no"},
        {"random_horizontal_flip", "random_horizontal_flip: there is no image"},
        {"column x role=image", "it is f32 and must be u8"},
    };
    const char *folder = t_folder();

    write_list(folder, "list.tsv", "x:f32\tlabel\n1\t2\n");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sluice_dataset *dataset = NULL;

        T_OK(sluice_dataset_parsef(&dataset, "image_list %s", t_path(folder, "list.tsv")));
        T_STATUS(sluice_dataset_add(dataset, bad[i].text), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), bad[i].words);
        sluice_dataset_destroy(dataset);
    }
}

static void what_follows_an_image_needs_one(void)
{
    static const refused_case bad[] = {
        {"m:mask\tx:f32\nm.pgm\t1\n",
         "no column image, nor NAME:image, which the mask of column m"},
        {"x:f32\tb:boxes[2]\n1\t\n", "which the boxes of column b must follow"},
        {"p:points[2]\n1,2\n", "which the points of column p must follow"},
    };
    const char *folder = t_folder();

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sluice_dataset *dataset = NULL;

        write_list(folder, "list.tsv", bad[i].text);
        T_STATUS(sluice_dataset_parsef(&dataset, "image_list %s", t_path(folder, "list.tsv")),
                 SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), bad[i].words);
    }
}

static void bad_records_of_a_table_are_bad_samples(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = list_dataset(folder, "x:f32\tlabel\n1\t0\nabc\t1\n2\t2\n", "");

    T_EQ(label_of(dataset, 0), 0);
    check_read_fails(dataset, 1, SLUICE_E_CORRUPT, "3:1: 'abc' must be a number of type f32; if x");
    sluice_dataset_destroy(dataset);
}

const t_test list_tables_tests[] = {
    T_TEST(a_table_of_numbers_is_a_dataset),
    T_TEST(the_first_column_may_be_the_label),
    T_TEST(extensions_may_be_in_upper_case),
    T_TEST(stages_of_images_say_that_there_is_none),
    T_TEST(what_follows_an_image_needs_one),
    T_TEST(bad_records_of_a_table_are_bad_samples),
    T_END,
};
