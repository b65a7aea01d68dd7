/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "alloc_int.h"
#include "jpeg_maker.h"
#include "plan.h"
#include "testing.h"

/* ---- helpers ------------------------------------------------------------------------------- */

static sluice_dataset *parsed(const char *text)
{
    sluice_dataset *dataset = NULL;
    sluice_status st = sluice_dataset_parse(text, &dataset);

    if (st != SLUICE_OK) {
        T_FAIL_("%s: %.900s", text, sluice_last_error());
    }
    return dataset;
}

static sli_plan *open_plan(sluice_dataset *dataset, const sli_run_settings *settings)
{
    sli_plan *plan = NULL;
    sluice_status st = sli_plan_open(dataset, settings, &plan);

    if (st != SLUICE_OK) {
        T_FAIL_("no plan: %.900s", sluice_last_error());
    }
    return plan;
}

/* The plan of "synthetic 100 20,30,3 | STAGES | batch 4", and its dataset. */
static sli_plan *plan_stages(const char *stages, bool prefer_device, sluice_dataset **dataset_out)
{
    const sli_run_settings settings = {.seed = 5, .world = 1, .prefer_device = prefer_device};
    char text[1000];

    snprintf(text, sizeof(text), "synthetic 100 20,30,3%s%s | batch 4",
             stages[0] != '\0' ? " | " : "", stages);
    *dataset_out = parsed(text);
    return open_plan(*dataset_out, &settings);
}

static void close_plan(sli_plan *plan, sluice_dataset *dataset)
{
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
}

/* For sluice_string_free(). */
static char *explained(const sli_plan *plan)
{
    sli_text text = {0};
    char *taken = NULL;

    sli_plan_explain(plan, &text);
    T_OK(sli_text_take(&text, &taken));
    return taken;
}

/* A JPEG file of a size. */
static void make_jpeg(const char *folder, const char *name, uint32_t width, uint32_t height)
{
    const jpeg_recipe recipe = {.width = width, .height = height};
    size_t size;
    uint8_t *bytes = jpeg_make(&recipe, &size);

    T_TRUE(bytes != NULL);
    t_write_file(t_path(folder, name), bytes, size);
    free(bytes);
}

static sluice_dataset *folder_dataset(const char *folder, const char *stages)
{
    char text[1000];

    snprintf(text, sizeof(text), "image_folder %s | %s", folder, stages);
    return parsed(text);
}

/* ---- geometry ------------------------------------------------------------------------------ */

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
        {"center_crop 10 | resize 5", "1 1"}, /* it may have padded: that is resized as it is */
        {"random_crop 10 padding=2 | random_resized_crop 5", "1 1"},
        {"random_crop 10 | center_crop 8 | resize 5 | random_crop 4", "2 2"},
        {"shuffle | resize 10 | take 5 | center_crop 5 | repeat 2", "2"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset;
        sli_plan *plan = plan_stages(cases[i].stages, false, &dataset);
        const struct plan_details *details = plan->details;
        uint32_t next = 0;
        char got[200] = "";

        for (uint32_t g = 0; g < details->group_count; g++) {
            T_EQ(details->groups[g].first, next);
            next += details->groups[g].count;
            snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%u", g > 0 ? " " : "",
                     details->groups[g].count);
        }
        T_EQ(next, details->geometry_count);
        if (strcmp(got, cases[i].groups) != 0) {
            T_FAIL_("%s: groups %s, want %s", cases[i].stages, got, cases[i].groups);
        }
        CU_ASSERT_PTR_NULL(details->decode);
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

    T_TRUE(first->geometry[0].key == second->geometry[1].key);
    T_TRUE(second->geometry[1].key != second->geometry[3].key);
    T_EQ(first->flip_count, 2);
    T_EQ(second->flip_count, 2);
    T_TRUE(first->flips[0].key != first->flips[1].key);
    T_TRUE(first->flips[0].key == second->flips[0].key);
    T_TRUE(first->flips[1].key == second->flips[1].key);
    T_TRUE(plan_stage_key(one, 2, 5) == first->flips[0].key);
    T_TRUE(plan_stage_key(one, 2, 6) != first->flips[0].key);
    close_plan(a, one);
    close_plan(b, two);
}

/* ---- where conversions are done -------------------------------------------------------------- */

static void conversions_go_where_they_are_asked_for(void)
{
    static const struct {
        const char *stages;
        bool prefer_device;
        sluice_dtype wire;
        bool wire_chw;
        sluice_dtype seen;
        bool seen_chw;
        bool device_converts;
    } cases[] = {
        {"", false, SLUICE_U8, false, SLUICE_U8, false, false},
        {"", true, SLUICE_U8, false, SLUICE_U8, false, false},
        {"to_chw", false, SLUICE_U8, true, SLUICE_U8, true, false},
        {"to_chw", true, SLUICE_U8, false, SLUICE_U8, true, true},
        {"to_chw host", true, SLUICE_U8, true, SLUICE_U8, true, false},
        {"to_chw device", false, SLUICE_U8, false, SLUICE_U8, true, true},
        {"normalize imagenet | to_chw", false, SLUICE_F32, true, SLUICE_F32, true, false},
        {"normalize imagenet | to_chw", true, SLUICE_U8, false, SLUICE_F32, true, true},
        {"normalize imagenet | to_chw device", false, SLUICE_F32, false, SLUICE_F32, true, true},
        {"normalize imagenet offload=host | to_chw", true, SLUICE_F32, false, SLUICE_F32, true,
         true},
        {"normalize imagenet offload=device | to_chw", false, SLUICE_U8, false, SLUICE_F32, true,
         true},
        {"to_chw | normalize imagenet dtype=f16 offload=device", false, SLUICE_U8, true, SLUICE_F16,
         true, true},
        {"to_dtype f32 offload=host | normalize imagenet dtype=bf16", true, SLUICE_F32, false,
         SLUICE_BF16, false, true},
        {"normalize imagenet | to_dtype f16 offload=device", false, SLUICE_F32, false, SLUICE_F16,
         false, true},
        {"to_dtype u8", true, SLUICE_U8, false, SLUICE_U8, false, false},
        {"random_horizontal_flip", false, SLUICE_U8, false, SLUICE_U8, false, false},
        {"random_horizontal_flip", true, SLUICE_U8, false, SLUICE_U8, false, true},
        /* Two that scale stay together, on the side that is preferred or asked for. */
        {"to_dtype f32 scale=true | normalize imagenet", true, SLUICE_U8, false, SLUICE_F32, false,
         true},
        {"to_dtype f32 scale=true | normalize imagenet", false, SLUICE_F32, false, SLUICE_F32,
         false, false},
        {"to_dtype f32 scale=true | normalize imagenet offload=device", false, SLUICE_U8, false,
         SLUICE_F32, false, true},
        {"to_dtype f32 scale=true offload=host | normalize imagenet", true, SLUICE_F32, false,
         SLUICE_F32, false, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset;
        sli_plan *plan = plan_stages(cases[i].stages, cases[i].prefer_device, &dataset);
        const sluice_column *wire = &plan->wire[plan->image_column];
        const sluice_column *seen = &plan->seen[plan->image_column];

        if (wire->dtype != cases[i].wire || seen->dtype != cases[i].seen ||
            plan->device_converts != cases[i].device_converts) {
            T_FAIL_("%s, device %d: %s on the wire, %s seen, converts %d", cases[i].stages,
                    cases[i].prefer_device, sluice_dtype_name(wire->dtype),
                    sluice_dtype_name(seen->dtype), plan->device_converts);
        }
        T_EQ(wire->rank, 3);
        T_EQ(wire->shape[0], cases[i].wire_chw ? 3 : 20);
        T_EQ(wire->shape[2], cases[i].wire_chw ? 30 : 3);
        T_EQ(seen->shape[0], cases[i].seen_chw ? 3 : 20);
        T_EQ(seen->shape[1], cases[i].seen_chw ? 20 : 30);
        T_EQ(seen->shape[2], cases[i].seen_chw ? 30 : 3);
        T_EQ(plan->host_conversion.from, SLUICE_U8);
        T_EQ(plan->host_conversion.to, cases[i].wire);
        T_EQ(plan->device_conversion.from, cases[i].wire);
        T_EQ(plan->device_conversion.to, cases[i].seen);
        T_EQ(plan->host_conversion.to_chw, cases[i].wire_chw);
        T_EQ(plan->device_conversion.from_chw, cases[i].wire_chw);
        T_EQ(plan->device_conversion.to_chw, cases[i].seen_chw);
        T_EQ(plan->host_conversion.width, 30);
        T_EQ(plan->device_conversion.width, 30);
        T_EQ(plan->device_conversion.height, 20);
        T_EQ(plan->device_conversion.channels, 3);
        close_plan(plan, dataset);
    }
}

static void impossible_places_are_refused(void)
{
    static const struct {
        const char *stages;
        const char *words;
    } cases[] = {
        {"to_chw device | random_horizontal_flip offload=host",
         "random_horizontal_flip offload=host stands after to_chw offload=device; what is on the "
         "device does not come back"},
        {"random_horizontal_flip offload=device | to_chw | normalize imagenet offload=host",
         "normalize offload=host stands after random_horizontal_flip offload=device"},
        {"to_dtype f32 scale=true offload=host | normalize imagenet offload=device",
         "two stages that scale are asked for on different sides"},
        {"normalize imagenet offload=host | to_chw | normalize 0 2 offload=device",
         "give them the same offload"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int prefer = 0; prefer < 2; prefer++) {
            const sli_run_settings settings = {.world = 1, .prefer_device = prefer};
            sluice_dataset *dataset = NULL;
            sli_plan *plan = NULL;
            char text[500];

            snprintf(text, sizeof(text), "synthetic | %s | batch 4", cases[i].stages);
            dataset = parsed(text);
            T_STATUS(sli_plan_open(dataset, &settings, &plan), SLUICE_E_INVALID);
            T_CONTAINS(sluice_last_error(), cases[i].words);
            CU_ASSERT_PTR_NULL(plan);
            sluice_dataset_destroy(dataset);
        }
    }
}

static void flips_are_done_by_rows_on_either_side(void)
{
    sluice_dataset *dataset;
    sli_plan *plan = plan_stages("random_horizontal_flip offload=host | to_chw device | "
                                 "random_horizontal_flip",
                                 false, &dataset);

    T_EQ(plan->details->flip_count, 2);
    T_TRUE(!plan->details->flips[0].on_device && plan->details->flips[1].on_device);
    T_TRUE(plan->host_conversion.flip && plan->device_conversion.flip);
    close_plan(plan, dataset);
    plan = plan_stages("random_horizontal_flip", false, &dataset);
    T_TRUE(!plan->details->flips[0].on_device);
    T_TRUE(plan->host_conversion.flip && !plan->device_conversion.flip);
    close_plan(plan, dataset);
}

/* ---- scale and bias -------------------------------------------------------------------------- */

/* The program that a plan folds its conversions into, wherever it runs. */
static void check_folded(const char *stages, const float *scale, const float *bias)
{
    for (int device = 0; device < 2; device++) {
        sluice_dataset *dataset;
        sli_plan *plan = plan_stages(stages, device == 1, &dataset);
        const sli_conversion *program =
            device == 1 ? &plan->device_conversion : &plan->host_conversion;

        T_TRUE(program->affine);
        for (int c = 0; c < 3; c++) {
            if (memcmp(&program->scale[c], &scale[c], sizeof(float)) != 0 ||
                memcmp(&program->bias[c], &bias[c], sizeof(float)) != 0) {
                T_FAIL_("%s, channel %d: %a * x + %a, want %a * x + %a", stages, c,
                        (double)program->scale[c], (double)program->bias[c], (double)scale[c],
                        (double)bias[c]);
            }
        }
        close_plan(plan, dataset);
    }
}

static void normalisation_is_one_scale_and_one_bias_rounded_once(void)
{
    const double mean[] = {0.485, 0.456, 0.406};
    const double std[] = {0.229, 0.224, 0.225};
    float scale[3];
    float bias[3];

    for (int c = 0; c < 3; c++) {
        scale[c] = (float)(1 / (255 * std[c]));
        bias[c] = (float)(-mean[c] / std[c]);
    }
    check_folded("normalize imagenet", scale, bias);
    check_folded("normalize 0.485,0.456,0.406 0.229,0.224,0.225 dtype=f16", scale, bias);
    check_folded("to_chw | normalize imagenet | random_horizontal_flip", scale, bias);
    check_folded("to_dtype f32 | normalize imagenet", scale, bias);
    for (int c = 0; c < 3; c++) {
        scale[c] = (float)(1.0 / 255 * (1 / std[c]));
    }
    check_folded("to_dtype f32 scale=true | normalize imagenet", scale, bias);
}

static void ranges_and_repeated_normalisations_fold(void)
{
    const float third = (float)(1.0 / 255);

    check_folded("to_dtype f32 scale=true", (const float[]){third, third, third},
                 (const float[]){0, 0, 0});
    check_folded("normalize 127.5 63.75 range=255",
                 (const float[]){1 / 63.75F, 1 / 63.75F, 1 / 63.75F}, (const float[]){-2, -2, -2});
    check_folded("normalize 10,20,30 4,8,16 range=255", (const float[]){0.25F, 0.125F, 0.0625F},
                 (const float[]){-2.5F, -2.5F, -1.875F});
    /* Scaled to 0..1 before: range=255 undoes that first. */
    check_folded("to_dtype f32 scale=true | normalize 128 64 range=255",
                 (const float[]){1 / 64.0F, 1 / 64.0F, 1 / 64.0F}, (const float[]){-2, -2, -2});
    /* What was normalised is taken as it is. */
    check_folded("normalize 128 64 range=255 | normalize -2 0.5",
                 (const float[]){1 / 32.0F, 1 / 32.0F, 1 / 32.0F}, (const float[]){0, 0, 0});
}

static void a_scale_that_is_no_float_is_refused(void)
{
    const sli_run_settings settings = {.world = 1};
    sluice_dataset *dataset = parsed("synthetic | normalize 0 1e-300 | batch 1");
    sli_plan *plan = NULL;

    T_STATUS(sli_plan_open(dataset, &settings, &plan), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "is a std too small?");
    sluice_dataset_destroy(dataset);
}

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

            T_OK(sluice_dataset_synthetic(cases[i].samples, 1, 1, 1, 1, &dataset));
            T_OK(sluice_dataset_batch(dataset, cases[i].batch, drop == 1));
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
    /* A program built with an older, shorter struct gets what that has. */
    memset(&info, 0x55, sizeof(info));
    info.struct_size = offsetof(sluice_dataset_info, batches);
    T_OK(sluice_dataset_inspect(dataset, &info));
    T_EQ(info.struct_size, offsetof(sluice_dataset_info, batches));
    T_EQ(info.samples, 180);
    T_EQ(info.batches, 0x5555555555555555);
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
        {"decode | resize 12,13 | resize 6 | batch 1", 6, 6},
        {"decode | random_crop 50,60 padding=20 | resize 10 | batch 1", 10, 12},
        {"decode | resize 24 | normalize imagenet | to_chw | batch 1", 24, 40},
    };
    const char *folder = t_folder();

    make_jpeg(folder, "a/1.jpg", 40, 24);
    make_jpeg(folder, "a/2.jpg", 41, 24);
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
        snprintf(note, sizeof(note), "images are %ux%u, as a/1.jpg is", cases[i].width,
                 cases[i].height);
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
    T_STR(dataset->shape_note, "");
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
    make_jpeg(folder, "b/1.jpg", 10, 20);
    dataset = folder_dataset(folder, "skip 300 | decode | batch 1");
    for (int i = 2; i < 300; i++) {
        char name[32];

        snprintf(name, sizeof(name), "b/%d.jpg", i);
        make_jpeg(folder, name, 10, 20);
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
    T_CONTAINS(sluice_last_error(), "this is no image");
    CU_ASSERT_PTR_NULL(plan);
    /* The reason may go away. */
    make_jpeg(folder, "a/2.jpg", 10, 20);
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

    make_jpeg(folder, "a/1.jpg", 1000, 1);
    dataset = folder_dataset(folder, "decode | resize 5000 | batch 1");
    T_STATUS(sli_plan_open(dataset, &settings, &plan), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "resize: images would be 5000000x5000");
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

        T_EQ(plan->stage_count, 4);
        T_STR(plan->stage_names[0], "read");
        T_STR(plan->stage_names[1], "decode");
        T_STR(plan->stage_names[2], cases[i].pixels);
        T_STR(plan->stage_names[3], "batch");
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

    make_jpeg(folder, "a/1.jpg", 40, 24);
    make_jpeg(folder, "a/2.jpg", 40, 24);
    dataset =
        folder_dataset(folder, "split train 1 | shuffle | decode | resize 20 | "
                               "center_crop 16 | resize 8 | random_horizontal_flip offload=host | "
                               "normalize imagenet | to_chw | batch 1");
    T_TRUE(dataset != NULL);
    plan = open_plan(dataset, &settings);
    text = explained(plan);
    T_CONTAINS(text, "order: 2 samples a pass, 1 for rank 1 of 3; a pure function");
    T_CONTAINS(text, "batches: 1 a pass of 1 rows, the last one padded");
    T_CONTAINS(text, "pixels: decode + resize + center_crop: fused: only the lines and columns");
    T_CONTAINS(text, "pixels: resize: one pass");
    T_CONTAINS(text, "random_horizontal_flip: in the workers' write to the row");
    T_CONTAINS(text, "normalize: in the device's GetNext");
    T_CONTAINS(text, "to_chw: in the device's GetNext");
    T_CONTAINS(text, "column image: f32 (1, 3, 8, 8)");
    T_CONTAINS(text, "column label: i32 (1)");
    T_CONTAINS(text, "assembly: direct");
    sluice_string_free(text);
    sli_plan_close(plan);
    T_OK(sluice_dataset_explain(dataset, &public_text));
    T_CONTAINS(public_text, "order: 2 samples a pass; a pure function");
    T_CONTAINS(public_text, "to_chw: in the workers' write to the row");
    sluice_string_free(public_text);
    sluice_dataset_destroy(dataset);
    dataset = folder_dataset(folder, "decode | batch 2 drop_remainder=true");
    T_OK(sluice_dataset_explain(dataset, &public_text));
    T_CONTAINS(public_text, "pixels: decode, whole images");
    T_CONTAINS(public_text, "the remainder dropped");
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
    T_TRUE(a->details->flips[0].key == c->details->flips[0].key);
    T_TRUE(a->details->flips[0].key != b->details->flips[0].key);
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

    make_jpeg(folder, "a/1.jpg", 40, 24);
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

const t_test plan_tests[] = {
    T_TEST(neighbours_are_grouped_into_one_resampling),
    T_TEST(editing_one_stage_leaves_the_draws_of_others),
    T_TEST(conversions_go_where_they_are_asked_for),
    T_TEST(impossible_places_are_refused),
    T_TEST(flips_are_done_by_rows_on_either_side),
    T_TEST(normalisation_is_one_scale_and_one_bias_rounded_once),
    T_TEST(ranges_and_repeated_normalisations_fold),
    T_TEST(a_scale_that_is_no_float_is_refused),
    T_TEST(policy_zero_adds_a_mask),
    T_TEST(passes_are_rounded_up_or_down_to_batches),
    T_TEST(inspect_tells_what_a_pass_holds),
    T_TEST(a_dataset_without_batch_is_no_run),
    T_TEST(the_size_of_images_is_taken_from_one),
    T_TEST(a_size_that_the_stages_say_is_not_looked_for),
    T_TEST(files_that_cannot_be_read_do_not_hide_the_size),
    T_TEST(a_folder_of_nothing_readable_is_no_data),
    T_TEST(sides_beyond_all_images_are_refused),
    T_TEST(stages_of_the_profile_are_named_for_what_runs),
    T_TEST(explain_says_what_is_fused_and_where_it_runs),
    T_TEST(memory_counts_splits),
    T_TEST(plans_of_one_dataset_do_not_touch_each_other),
    T_TEST(planning_survives_running_out_of_memory),
    T_END,
};
