/* SPDX-License-Identifier: Apache-2.0 */
/* The planner's conversions: on which side they are done, and the scale and bias they become. */
#include "dataset_kit.h"
#include "plan_kit.h"
#include "testing.h"

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
    static const refused_case cases[] = {
        {"to_chw device | random_horizontal_flip offload=host",
         "random_horizontal_flip offload=host comes after to_chw offload=device; what is on the "
         "device does not come back"},
        {"random_horizontal_flip offload=device | to_chw | normalize imagenet offload=host",
         "normalize offload=host comes after random_horizontal_flip offload=device"},
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

            dataset = parsedf("synthetic | %s | batch 4", cases[i].text);
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

    T_EQ(plan->details->flips.count, 2);
    T_TRUE(!plan->details->flips.stages[0].on_device && plan->details->flips.stages[1].on_device);
    T_TRUE(plan->host_conversion.flip && plan->device_conversion.flip);
    close_plan(plan, dataset);
    plan = plan_stages("random_horizontal_flip", false, &dataset);
    T_TRUE(!plan->details->flips.stages[0].on_device);
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

const t_test plan_conversions_tests[] = {
    T_TEST(conversions_go_where_they_are_asked_for),
    T_TEST(impossible_places_are_refused),
    T_TEST(flips_are_done_by_rows_on_either_side),
    T_TEST(normalisation_is_one_scale_and_one_bias_rounded_once),
    T_TEST(ranges_and_repeated_normalisations_fold),
    T_TEST(a_scale_that_is_no_float_is_refused),
    T_END,
};
