/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan tells of a run: columns, counts, names, words; and several plans of one dataset. */
#include "alloc_int.h"
#include "dataset_kit.h"
#include "plan_kit.h"
#include "testing.h"

/* ---- columns and counts ---------------------------------------------------------------------- */

static void policy_zero_adds_a_mask(void)
{
    for (int policy = 0; policy < 3; policy++) {
        const sli_run_settings settings = {.world = 1, .on_error = (sli_error_policy)policy};
        sluice_dataset *dataset = parsed("synthetic 10 4,4,3 | batch 2");
        sli_plan *plan = open_plan(dataset, &settings);
        char *text = explained(plan);

        T_EQ(plan->image_column, 0);
        T_EQ(plan->label_column, 1);
        T_EQ(plan->seen[1].dtype, SLUICE_I32);
        T_EQ(plan->seen[1].rank, 0);
        T_EQ(plan->column_count, policy == SLI_ON_ERROR_ZERO ? 3 : 2);
        T_EQ(plan->mask_column, policy == SLI_ON_ERROR_ZERO ? 2 : -1);
        if (policy == SLI_ON_ERROR_ZERO) {
            T_STR(plan->seen[2].name, "mask");
            T_STR(plan->wire[2].name, "mask");
            T_EQ(plan->seen[2].dtype, SLUICE_U8);
            T_EQ(plan->seen[2].rank, 0);
            T_CONTAINS(text, "column mask: u8 (2)");
            T_CONTAINS(text, "policy zero");
        }
        sluice_string_free(text);
        close_plan(plan, dataset);
    }
}

static void passes_are_rounded_up_or_down_to_batches(void)
{
    static const struct {
        uint32_t samples;
        uint32_t batch;
        uint32_t world;
        uint32_t padded;
        uint32_t dropped; /* 0: none is left, which is an error */
    } cases[] = {
        {100, 10, 1, 10, 10}, {101, 10, 1, 11, 10},  {99, 10, 1, 10, 9}, {9, 10, 1, 1, 0},
        {10, 10, 1, 1, 1},    {100, 10, 2, 5, 5},    {101, 10, 2, 6, 5}, {100, 10, 3, 4, 3},
        {90, 10, 3, 3, 3},    {1, 1, 1, 1, 1},       {1, 1, 2, 1, 0},    {7, 1, 7, 1, 1},
        {8, 1, 7, 2, 1},      {1, 1048576, 1, 1, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int drop = 0; drop < 2; drop++) {
            const sli_run_settings settings = {.rank = cases[i].world - 1, .world = cases[i].world};
            const uint32_t want = drop == 1 ? cases[i].dropped : cases[i].padded;
            sluice_dataset *dataset = NULL;
            sli_plan *plan = NULL;
            sluice_status st;

            T_OK(sluice_dataset_parsef(&dataset,
                                       "synthetic %llu 1,1,1 1 | batch %u drop_remainder=%s",
                                       (unsigned long long)cases[i].samples, cases[i].batch,
                                       drop == 1 ? "true" : "false"));
            st = sli_plan_open(dataset, &settings, &plan);
            T_EQ(st, want > 0 ? SLUICE_OK : SLUICE_E_INVALID);
            if (st == SLUICE_OK) {
                T_EQ(plan->batches_per_pass, want);
                T_EQ(plan->samples_per_pass, cases[i].samples);
                T_EQ(plan->batch_size, cases[i].batch);
                T_EQ(plan->drop_remainder, drop);
            }
            close_plan(plan, dataset);
        }
    }
}

static void inspect_tells_what_a_pass_holds(void)
{
    sluice_dataset *dataset = parsed("synthetic 100 20,30,3 7 | skip 10 | repeat 2 | "
                                     "center_crop 8 | normalize imagenet | to_chw | batch 32");
    sluice_dataset_info info = {.struct_size = sizeof(info)};

    T_OK(sluice_dataset_inspect(dataset, &info));
    T_EQ(info.struct_size, sizeof(info));
    T_EQ(info.source_samples, 100);
    T_EQ(info.samples, 180);
    T_EQ(info.batches, 6);
    T_EQ(info.batch_size, 32);
    T_EQ(info.column_count, 2);
    T_STR(info.columns[0].name, "image");
    T_EQ(info.columns[0].dtype, SLUICE_F32);
    T_TRUE(info.columns[0].shape[0] == 3 && info.columns[0].shape[2] == 8);
    sluice_dataset_destroy(dataset);
}

static void a_dataset_without_batch_is_no_run(void)
{
    const sli_run_settings settings = {.world = 1};
    sluice_dataset *dataset = parsed("synthetic | shuffle");
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    sli_plan *plan = NULL;
    char *text = NULL;

    T_STATUS(sli_plan_open(dataset, &settings, &plan), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "the dataset has no batch stage; add `| batch N`");
    T_STATUS(sli_plan_open(NULL, &settings, &plan), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_inspect(dataset, &info), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_explain(dataset, &text), SLUICE_E_INVALID);
    CU_ASSERT_PTR_NULL(text);
    CU_ASSERT_PTR_NULL(plan);
    sli_plan_close(NULL);
    sluice_dataset_destroy(dataset);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void stages_of_the_profile_are_named_for_what_runs(void)
{
    static const struct {
        const char *stages;
        const char *pixels;
    } cases[] = {
        {"", "convert"},
        {"to_chw", "convert"},
        {"to_chw device", "convert"},
        {"resize 8", "resize"},
        {"resize 8 | to_chw device", "resize"},
        {"resize 8 | to_chw", "resize+convert"},
        {"center_crop 9 | random_resized_crop 8 | normalize imagenet",
         "random_resized_crop+convert"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset;
        sli_plan *plan = plan_stages(cases[i].stages, false, &dataset);

        T_EQ(plan->stage_count, PLAN_PROFILED);
        T_STR(plan->stage_names[PLAN_READ], "read");
        T_STR(plan->stage_names[PLAN_DECODE], "decode");
        T_STR(plan->stage_names[PLAN_PIXELS], cases[i].pixels);
        T_STR(plan->stage_names[PLAN_MAPS], "");
        T_STR(plan->stage_names[PLAN_BATCH], "batch");
        close_plan(plan, dataset);
    }
}

static void explain_says_what_is_fused_and_where_it_runs(void)
{
    const char *folder = t_folder();
    const sli_run_settings settings = {.world = 3, .rank = 1, .prefer_device = true};
    sluice_dataset *dataset;
    sli_plan *plan;
    char *public_text = NULL;
    char *text;

    make_jpeg(folder, "a/1.jpg", 40, 24, 0);
    make_jpeg(folder, "a/2.jpg", 40, 24, 0);
    dataset =
        folder_dataset(folder, "split train 1 | shuffle | decode | resize 20 | "
                               "center_crop 16 | resize 8 | random_horizontal_flip offload=host | "
                               "normalize imagenet | to_chw | batch 1");
    T_TRUE(dataset != NULL);
    plan = open_plan(dataset, &settings);
    text = explained(plan);
    T_CONTAINS(text, "order: 2 samples a pass, 1 for rank 1 of 3; a pure function");
    T_CONTAINS(text, "batches: 1 a pass of 1 rows, all of them full");
    T_CONTAINS(text, "pixels: decode + resize + center_crop: fused: decoded down to the lower");
    T_CONTAINS(text, "(JPEG only; with restart");
    T_CONTAINS(text, "pixels: resize: one pass");
    T_CONTAINS(text, "random_horizontal_flip: in the workers' write to the row");
    T_CONTAINS(text, "normalize: in the device's GetNext");
    T_CONTAINS(text, "to_chw: in the device's GetNext");
    T_CONTAINS(text, "column image: f32 (1, 3, 8, 8)");
    T_CONTAINS(text, "column label: i32 (1)");
    T_CONTAINS(text, "assembly: direct");
    T_TRUE(strstr(text, "gray") == NULL);
    sluice_string_free(text);
    sli_plan_close(plan);
    T_OK(sluice_dataset_explain(dataset, &public_text));
    T_CONTAINS(public_text, "order: 2 samples a pass; a pure function");
    T_CONTAINS(public_text, "to_chw: in the workers' write to the row");
    sluice_string_free(public_text);
    sluice_dataset_destroy(dataset);
    dataset = folder_dataset(folder, "repeat 2 | take 3 | decode | batch 2 drop_remainder=true");
    T_OK(sluice_dataset_explain(dataset, &public_text));
    T_CONTAINS(public_text, "pixels: decode, whole images");
    T_CONTAINS(public_text, "batches: 1 a pass of 2 rows, the remainder dropped");
    sluice_string_free(public_text);
    sluice_dataset_destroy(dataset);
    dataset = folder_dataset(folder, "take 1 | decode mode=gray | batch 2");
    T_OK(sluice_dataset_explain(dataset, &public_text));
    T_CONTAINS(public_text, "batches: 1 a pass of 2 rows, the last one padded");
    T_CONTAINS(public_text,
               "gray: of a JPEG file the luma that it stores; of PNG and PPM, and so of "
               "what `pack --raw` made of a JPEG file, the luma of RGB");
    sluice_string_free(public_text);
    sluice_dataset_destroy(dataset);
}

/* What is kept for the list of samples counts the members of splits, too. */
static void memory_counts_splits(void)
{
    const sli_run_settings settings = {.world = 1};
    sluice_dataset *plain = parsed("synthetic 1000 1,1,1 | batch 1");
    sluice_dataset *split = parsed("synthetic 1000 1,1,1 | split train 0.5 | batch 1");
    sli_plan *a = open_plan(plain, &settings);
    sli_plan *b = open_plan(split, &settings);

    T_EQ(sli_plan_source_memory(b) - sli_plan_source_memory(a), 8 * b->samples_per_pass);
    close_plan(a, plain);
    close_plan(b, split);
}

/* ---- several, and none ----------------------------------------------------------------------- */

static void plans_of_one_dataset_do_not_touch_each_other(void)
{
    sluice_dataset *dataset = parsed("synthetic 100 8,8,3 | shuffle | normalize imagenet | "
                                     "random_horizontal_flip | batch 3");
    sli_plan *a = open_plan(dataset, &(sli_run_settings){.world = 1, .seed = 1});
    sli_plan *b = open_plan(dataset, &(sli_run_settings){.world = 4,
                                                         .rank = 3,
                                                         .seed = 2,
                                                         .on_error = SLI_ON_ERROR_ZERO,
                                                         .prefer_device = true});
    sli_plan *c = open_plan(dataset, &(sli_run_settings){.world = 1, .seed = 1});

    T_EQ(a->batches_per_pass, 34);
    T_EQ(b->batches_per_pass, 9);
    T_TRUE(!a->device_converts && b->device_converts);
    T_EQ(a->column_count, 2);
    T_TRUE(a->details->flips.stages[0].key == c->details->flips.stages[0].key);
    T_TRUE(a->details->flips.stages[0].key != b->details->flips.stages[0].key);
    T_EQ(c->batches_per_pass, 34);
    sli_plan_close(b);
    sli_plan_close(a);
    close_plan(c, dataset);
}

static void planning_survives_running_out_of_memory(void)
{
    const char *folder = t_folder();
    const sli_run_settings settings = {.world = 1};
    sluice_status st = SLUICE_E_NO_MEMORY;
    int64_t passes = 0;

    make_jpeg(folder, "a/1.jpg", 40, 24, 0);
    for (; st != SLUICE_OK; passes++) {
        sluice_dataset *dataset = folder_dataset(folder, "decode | resize 10 | to_chw | batch 1");
        sli_plan *plan = NULL;
        char *text = NULL;

        sli_alloc_fail_after(passes);
        st = sli_plan_open(dataset, &settings, &plan);
        if (st == SLUICE_OK) {
            st = sluice_dataset_explain(dataset, &text);
        }
        sli_alloc_fail_after(-1);
        T_TRUE(st == SLUICE_OK || st == SLUICE_E_NO_MEMORY);
        sluice_string_free(text);
        close_plan(plan, dataset);
    }
    T_TRUE(passes > 8);
}

const t_test plan_summary_tests[] = {
    T_TEST(policy_zero_adds_a_mask),
    T_TEST(passes_are_rounded_up_or_down_to_batches),
    T_TEST(inspect_tells_what_a_pass_holds),
    T_TEST(a_dataset_without_batch_is_no_run),
    T_TEST(stages_of_the_profile_are_named_for_what_runs),
    T_TEST(explain_says_what_is_fused_and_where_it_runs),
    T_TEST(memory_counts_splits),
    T_TEST(plans_of_one_dataset_do_not_touch_each_other),
    T_TEST(planning_survives_running_out_of_memory),
    T_END,
};
