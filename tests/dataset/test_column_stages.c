/* SPDX-License-Identifier: Apache-2.0 */
/* project, drop and rename: the columns of a batch, and what else still happens. */
#include <string.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "testing.h"

/* "a,b,c": the columns that a step sees. */
static const char *columns_of(sluice_dataset *dataset)
{
    static char text[400];
    sluice_dataset_info info;

    sluice_dataset_info_init(&info);
    T_OK(sluice_dataset_inspect(dataset, &info));
    text[0] = '\0';
    for (uint32_t i = 0; i < info.column_count; i++) {
        strcat(strcat(text, i > 0 ? "," : ""), info.columns[i].name);
    }
    return text;
}

static void columns_are_chosen_ordered_and_named(void)
{
    static const struct {
        const char *stages;
        const char *columns;
    } cases[] = {
        {"| decode", "image,label,mask,boxes,boxes_length,c"},
        {"| decode | project c,image", "c,image"},
        {"| project label", "label"},
        {"| drop mask,boxes | decode", "image,label,boxes_length,c"},
        {"| rename image photo | decode | rename label y", "photo,y,mask,boxes,boxes_length,c"},
        {"| decode | rename label y | project y | rename y z", "z"},
        {"| decode | rename boxes b | rename c b_c", "image,label,mask,b,b_length,b_c"},
    };
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char stages[200];
        sluice_dataset *dataset;

        snprintf(stages, sizeof(stages), "%s | batch 1", cases[i].stages);
        dataset = list_dataset(folder, LIST_OF_BOXES, stages);
        T_STR(columns_of(dataset), cases[i].columns);
        sluice_dataset_destroy(dataset);
    }
}

/* The columns of one text have the bytes that those of the same names have in another. */
static void check_same_columns(const char *folder, const char *stages, const char *want_stages,
                               const sli_run_settings *settings, const char *device)
{
    const run_options options = {.workers = 1, .device = device, .settings = *settings};
    char text[300];
    engine_run got;
    engine_run want;
    sluice_dataset *got_dataset;
    sluice_dataset *want_dataset;

    snprintf(text, sizeof(text), "| decode | %s | batch 1", stages);
    got_dataset = list_dataset(folder, LIST_OF_BOXES, text);
    snprintf(text, sizeof(text), "| decode | %s | batch 1", want_stages);
    want_dataset = list_dataset(folder, LIST_OF_BOXES, text);
    open_run(&got, got_dataset, &options);
    open_run(&want, want_dataset, &options);
    T_OK(next_batch(&got));
    T_OK(next_batch(&want));
    for (uint32_t i = 0; i < got.layout.column_count; i++) {
        const int column = sli_layout_find(&want.layout, got.plan->seen[i].name);

        T_TRUE(column >= 0);
        T_EQ(row_bytes(&got, i), row_bytes(&want, (uint32_t)column));
        T_EQ(memcmp(row_of(&got, i, 0), row_of(&want, (uint32_t)column, 0), row_bytes(&got, i)), 0);
    }
    close_run(&got);
    close_run(&want);
    sluice_dataset_destroy(got_dataset);
    sluice_dataset_destroy(want_dataset);
}

static void columns_keep_their_bytes_whatever_is_dropped(void)
{
    static const char geometry[] = "random_resized_crop 20 | random_horizontal_flip 0.5";
    static const char *const selections[] = {
        "project image", "project mask",
        "project boxes", "project boxes_length",
        "project c",     "drop boxes",
        "drop image",    "project c,mask,label",
        "drop c,mask",   "project image | rename image image",
    };
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    for (size_t i = 0; i < sizeof(selections) / sizeof(selections[0]); i++) {
        for (uint64_t seed = 0; seed < 10; seed++) {
            const sli_run_settings settings = {
                .seed = seed, .prefer_device = seed % 2 == 1, .world = 1};
            char stages[200];
            char want[200];

            snprintf(want, sizeof(want), "%s | normalize imagenet | to_chw", geometry);
            snprintf(stages, sizeof(stages), "%s | %s", want, selections[i]);
            check_same_columns(folder, stages, want, &settings, devices[seed % 2]);
        }
    }
}

static void conversions_follow_a_renamed_image(void)
{
    const sli_run_settings settings = {.world = 1};
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    check_same_columns(folder,
                       "drop label | rename image photo | center_crop 20 | normalize 0.5 0.5 | "
                       "rename photo image",
                       "center_crop 20 | normalize 0.5 0.5", &settings, NULL);
}

static void an_image_that_is_dropped_is_not_decoded(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    char *text;
    engine_run run;

    t_write_file(t_path(folder, "a.ppm"), "no image", 8);
    dataset = list_dataset(folder, "image\tlabel\na.ppm\t7\n", "| project label | batch 1");
    open_run(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(*(const int32_t *)column_row(&run, "label", 0), 7);
    close_run(&run);
    T_OK(sluice_dataset_explain(dataset, &text));
    T_CONTAINS(text, "image: dropped, not written");
    T_TRUE(strstr(text, "pixels:") == NULL);
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
}

/* What follows the image needs it decoded, before it is dropped. */
static void followers_of_an_image_that_is_not_decoded_are_refused(void)
{
    static const char *const stages[] = {"project boxes,boxes_length", "project boxes_length",
                                         "project c", "drop image,mask"};
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    for (size_t i = 0; i < COUNT(stages); i++) {
        char text[100];
        sluice_dataset *dataset;
        sli_plan *plan = NULL;

        snprintf(text, sizeof(text), "| %s | batch 1", stages[i]);
        dataset = list_dataset(folder, LIST_OF_BOXES, text);
        T_STATUS(sli_plan_open(dataset, &(sli_run_settings){.world = 1}, &plan), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "column image: boxes, points, masks and what belongs to "
                                        "them follow it, and no stage decodes it; add decode");
        sluice_dataset_destroy(dataset);
        snprintf(text, sizeof(text), "| decode | %s | batch 1", stages[i]);
        dataset = list_dataset(folder, LIST_OF_BOXES, text);
        T_OK(sli_plan_open(dataset, &(sli_run_settings){.world = 1}, &plan));
        sli_plan_close(plan);
        sluice_dataset_destroy(dataset);
    }
}

/* A ragged column that was renamed still has its length: pad refuses fewer rows only without one.
 */
static void a_renamed_column_keeps_its_length(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    engine_run run;

    write_pair(folder, "a.ppm", "m.pgm");
    dataset =
        list_dataset(folder, "image\tv:i32[5]\na.ppm\t4,6\n",
                     "| decode | rename v w | truncate w to=1 | pad w to=3 value=9 | batch 1");
    T_STR(columns_of(dataset), "image,w,w_length");
    open_own(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(*(const int32_t *)column_row(&run, "w_length", 0), 1);
    T_EQ(((const int32_t *)column_row(&run, "w", 0))[0], 4);
    T_EQ(((const int32_t *)column_row(&run, "w", 0))[1], 9);
    close_run(&run);
}

static void lengths_that_cannot_be_renamed_are_refused(void)
{
    static const refused_case bad[] = {
        {"rename boxes a2345678901234567890123456", "the name must have at most 24 bytes"},
        {"rename c b_length | rename boxes b", "there is a column b_length already"},
    };

    check_refused_stages(decoded_list, bad, sizeof(bad) / sizeof(bad[0]));
}

static void bad_names_are_refused(void)
{
    static const refused_case bad[] = {
        {"project lable", "project: there is no column 'lable'; there are image, label"},
        {"project label,label", "project: column label is given twice"},
        {"project label,", "project: there is no column ''"},
        {"drop x", "drop: there is no column 'x'"},
        {"drop image,label", "drop: it would leave no column"},
        {"rename label image", "rename: there is a column image already"},
        {"rename x y", "rename: there is no column 'x'"},
        {"rename label 1st", "rename: the column name '1st' must be letters"},
        {"rename label a23456789012345678901234567890_1", "is longer than 31 bytes"},
        {"project label | decode", "decode: there is no image"},
        {"decode | drop image | resize 8", "resize: there is no image"},
        {"decode | drop image | to_chw", "to_chw: there is no image"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char text[200];

        snprintf(text, sizeof(text), "image_folder . | %s | batch 1", bad[i].text);
        check_refused(text, bad[i].words);
    }
}

static void masks_have_the_size_of_an_image_that_is_dropped(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    sluice_dataset_info info;

    write_pair(folder, "a.ppm", "m.pgm");
    dataset = list_dataset(folder, LIST_OF_BOXES, "| decode | drop image | batch 1");
    sluice_dataset_info_init(&info);
    T_OK(sluice_dataset_inspect(dataset, &info));
    T_STR(info.columns[1].name, "mask");
    T_TRUE(info.columns[1].shape[0] == LIST_HEIGHT && info.columns[1].shape[1] == LIST_WIDTH);
    sluice_dataset_destroy(dataset);
}

const t_test column_stages_tests[] = {
    T_TEST(columns_are_chosen_ordered_and_named),
    T_TEST(columns_keep_their_bytes_whatever_is_dropped),
    T_TEST(conversions_follow_a_renamed_image),
    T_TEST(a_renamed_column_keeps_its_length),
    T_TEST(lengths_that_cannot_be_renamed_are_refused),
    T_TEST(an_image_that_is_dropped_is_not_decoded),
    T_TEST(followers_of_an_image_that_is_not_decoded_are_refused),
    T_TEST(bad_names_are_refused),
    T_TEST(masks_have_the_size_of_an_image_that_is_dropped),
    T_END,
};
