/* SPDX-License-Identifier: Apache-2.0 */
/* The planner's geometry: which stages are one resampling, and how large images become. */
#include "dataset_kit.h"
#include "plan_kit.h"
#include "testing.h"

/* ---- groups and draws ------------------------------------------------------------------------ */

static void neighbours_are_grouped_into_one_resampling(void)
{
    static const struct {
        const char *stages;
        const char *groups; /* stages of each, "" for a group of none */
    } cases[] = {
        {"", "0"},
        {"to_chw", "0"},
        {"resize 10", "1"},
        {"center_crop 10", "1"},
        {"center_crop 10 | center_crop 5", "2"},
        {"resize 10 | center_crop 5", "2"},
        {"resize 10 | center_crop 8 | random_crop 4", "3"},
        {"resize 10 | resize 5", "1 1"},
        {"resize 10 | center_crop 8 | resize 5 | center_crop 3", "2 2"},
        {"random_resized_crop 10 | center_crop 5", "2"},
        {"random_resized_crop 10 | random_resized_crop 5", "1 1"},
        {"random_resized_crop 10 | resize 5 | resize 6", "1 1 1"},
        {"center_crop 10 | resize 5", "2"},
        {"letterbox 10 | center_crop 5", "1 1"}, /* each with its padding */
        {"letterbox 10 fill=0 | center_crop 5", "2"},
        {"letterbox 10 fill=0 mask_fill=1 | center_crop 5", "1 1"},
        {"letterbox 10 | random_crop 5", "2"},
        {"center_crop 10 | letterbox 5", "2"}, /* one padding before the resize, one after it */
        {"resize 10 | letterbox 5", "1 1"},
        {"pad_image 3 | random_crop 9 | pad_image 1 | resize 10 | center_crop 5", "5"},
        {"pad_image 3 7 | pad_image 2 7 | center_crop 9", "2 1"},
        {"pad_image 0 7 | center_crop 9", "2"}, /* pads nothing */
        {"pad_image 1 7 | resize 9,9 | pad_image 1 8 | random_crop 5", "4"},
        {"resize 10 | random_crop 8 | center_crop 9", "2 1"}, /* zeros around the crop */
        {"center_crop 9 | pad_image 2 mode=edge | random_crop 9 | random_crop 8", "1 3"},
        {"random_crop 9 | pad_image 2 mode=edge | resize 9,9", "2 1"},
        {"resize 9 | pad_image 2 mode=reflect | pad_image 2 mode=reflect", "1 1 1"},
        {"letterbox 10", "1"},
        {"random_crop 10 padding=2 | random_resized_crop 5", "2"},
        {"pad_image 3 7 | random_crop 9 padding=2 fill=7", "2"},
        {"pad_image 3 7 | random_crop 9 padding=2", "1 1"},
        {"pad_image 3 7 | random_crop 9 pad_if_needed=true", "1 1"},
        {"random_crop 10 | center_crop 8 | resize 5 | random_crop 4", "4"},
        {"resize 20 | cache 1M | center_crop 15 | resize 9", "1 2"},
        {"shuffle | resize 10 | take 5 | center_crop 5 | repeat 2", "2"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset;
        sli_plan *plan = plan_stages(cases[i].stages, false, &dataset);
        const struct plan_details *details = plan->details;
        uint32_t next = 0;
        char got[200] = "";

        for (uint32_t g = 0; g < details->geometry.list.count; g++) {
            T_EQ(details->geometry.list.groups[g].first, next);
            next += details->geometry.list.groups[g].count;
            snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%u", g > 0 ? " " : "",
                     details->geometry.list.groups[g].count);
        }
        T_EQ(next, details->geometry.count);
        if (strcmp(got, cases[i].groups) != 0) {
            T_FAIL_("%s: groups %s, want %s", cases[i].stages, got, cases[i].groups);
        }
        CU_ASSERT_PTR_NULL(details->geometry.decode);
        close_plan(plan, dataset);
    }
}

/* Keys come from a stage's name and which of that name it is, so others can be edited. */
static void editing_one_stage_leaves_the_draws_of_others(void)
{
    sluice_dataset *one;
    sluice_dataset *two;
    sli_plan *a = plan_stages("random_crop 10 | random_horizontal_flip | random_horizontal_flip",
                              false, &one);
    sli_plan *b = plan_stages("shuffle | center_crop 15 | random_crop 9 | resize 10 | "
                              "random_crop 5 | to_chw | random_horizontal_flip 0.1 | "
                              "random_horizontal_flip",
                              true, &two);
    const struct plan_details *first = a->details;
    const struct plan_details *second = b->details;

    T_TRUE(first->geometry.stages[0].key == second->geometry.stages[1].key);
    T_TRUE(second->geometry.stages[1].key != second->geometry.stages[3].key);
    T_EQ(first->flips.count, 2);
    T_EQ(second->flips.count, 2);
    T_TRUE(first->flips.stages[0].key != first->flips.stages[1].key);
    T_TRUE(first->flips.stages[0].key == second->flips.stages[0].key);
    T_TRUE(first->flips.stages[1].key == second->flips.stages[1].key);
    T_TRUE(plan_stage_key(one, 2, 5) == first->flips.stages[0].key);
    T_TRUE(plan_stage_key(one, 2, 6) != first->flips.stages[0].key);
    close_plan(a, one);
    close_plan(b, two);
}

/* ---- sizes that only the files know ---------------------------------------------------------- */

static void the_size_of_images_is_taken_from_one(void)
{
    static const struct {
        const char *stages;
        uint32_t height;
        uint32_t width;
    } cases[] = {
        {"decode | batch 1", 24, 40},
        {"decode gray | to_chw | batch 1", 24, 40},
        {"decode | resize 12 | batch 1", 12, 20},
        {"decode | resize 12 max_size=15 | batch 1", 9, 15},
        {"decode | resize 12,13 | resize 6 | batch 1", 6, 6},
        {"decode | random_crop 50,60 padding=20 | resize 10 | batch 1", 10, 12},
        {"decode | resize 24 | normalize imagenet | to_chw | batch 1", 24, 40},
    };
    const char *folder = t_folder();

    make_jpeg(folder, "a/1.jpg", 40, 24, 0);
    make_jpeg(folder, "a/2.jpg", 41, 24, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const sli_run_settings settings = {.world = 1};
        sluice_dataset *dataset = folder_dataset(folder, cases[i].stages);
        sli_plan *plan = open_plan(dataset, &settings);
        const uint32_t first = strstr(cases[i].stages, "to_chw") != NULL ? 1 : 0;
        char *text = explained(plan);
        char note[100];

        T_EQ(plan->seen[0].shape[first], cases[i].height);
        T_EQ(plan->seen[0].shape[first + 1], cases[i].width);
        T_EQ(plan->host_conversion.height, cases[i].height);
        T_EQ(plan->host_conversion.width, cases[i].width);
        snprintf(note, sizeof(note), "images are %ux%u, as a/1.jpg is; others are errors\n",
                 cases[i].width, cases[i].height);
        if (strstr(cases[i].stages, "random_crop") == NULL && strstr(text, note) == NULL &&
            strstr(cases[i].stages, ",13") == NULL) {
            T_FAIL_("no \"%s\" in: %.900s", note, text);
        }
        sluice_string_free(text);
        close_plan(plan, dataset);
    }
}

static void a_size_that_the_stages_say_is_not_looked_for(void)
{
    const char *folder = t_folder();
    const sli_run_settings settings = {.world = 1};
    sluice_dataset *dataset;
    sli_plan *plan;

    t_write_file(t_path(folder, "a/1.jpg"), "no image", 8);
    dataset = folder_dataset(folder, "decode | random_resized_crop 8,9 | batch 1");
    plan = open_plan(dataset, &settings);
    T_EQ(plan->seen[0].shape[1], 9);
    T_STR(dataset->sized_by, "");
    close_plan(plan, dataset);
}

/* The tries are spread over the files: bad ones at the front do not hide good ones. */
static void files_that_cannot_be_read_do_not_hide_the_size(void)
{
    const char *folder = t_folder();
    const sli_run_settings settings = {.world = 1};
    sluice_dataset *dataset;
    sli_plan *plan;

    for (int i = 0; i < 300; i++) {
        char name[32];

        snprintf(name, sizeof(name), "a/%03d.jpg", i);
        t_write_file(t_path(folder, name), "no image", 8);
    }
    make_jpeg(folder, "b/1.jpg", 10, 20, 0);
    dataset = folder_dataset(folder, "skip 300 | decode | batch 1");
    for (int i = 2; i < 300; i++) {
        char name[32];

        snprintf(name, sizeof(name), "b/%d.jpg", i);
        make_jpeg(folder, name, 10, 20, 0);
    }
    plan = open_plan(dataset, &settings);
    T_EQ(plan->seen[0].shape[0], 20);
    close_plan(plan, dataset);
}

static void a_folder_of_nothing_readable_is_no_data(void)
{
    const char *folder = t_folder();
    const sli_run_settings settings = {.world = 1, .on_error = SLI_ON_ERROR_ZERO};
    sluice_dataset *dataset;
    sli_plan *plan = NULL;

    t_write_file(t_path(folder, "a/1.jpg"), "GIF89a", 6);
    t_write_file(t_path(folder, "a/2.jpg"), "no image", 8);
    dataset = folder_dataset(folder, "decode | batch 1");
    T_STATUS(sli_plan_open(dataset, &settings, &plan), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "no valid data in the dataset: of 2 samples 2 were tried");
    T_CONTAINS(sluice_last_error(), "not an image of a supported format");
    CU_ASSERT_PTR_NULL(plan);
    /* The reason may go away. */
    make_jpeg(folder, "a/2.jpg", 10, 20, 0);
    plan = open_plan(dataset, &settings);
    T_EQ(plan->seen[0].shape[1], 10);
    close_plan(plan, dataset);
}

/* A file of one line that shall be resized to a shorter side of thousands. */
static void sides_beyond_all_images_are_refused(void)
{
    const char *folder = t_folder();
    const sli_run_settings settings = {.world = 1};
    sluice_dataset *dataset;
    sli_plan *plan = NULL;

    make_jpeg(folder, "a/1.jpg", 1000, 1, 0);
    dataset = folder_dataset(folder, "decode | resize 5000 | batch 1");
    T_STATUS(sli_plan_open(dataset, &settings, &plan), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "resize: images would be 5000000x5000");
    sluice_dataset_destroy(dataset);
}

const t_test plan_geometry_tests[] = {
    T_TEST(neighbours_are_grouped_into_one_resampling),
    T_TEST(editing_one_stage_leaves_the_draws_of_others),
    T_TEST(the_size_of_images_is_taken_from_one),
    T_TEST(a_size_that_the_stages_say_is_not_looked_for),
    T_TEST(files_that_cannot_be_read_do_not_hide_the_size),
    T_TEST(a_folder_of_nothing_readable_is_no_data),
    T_TEST(sides_beyond_all_images_are_refused),
    T_END,
};
