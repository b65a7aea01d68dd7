/* SPDX-License-Identifier: Apache-2.0 */
/* What a report learns of a pipeline: which stages are functions of the user, which changes apply.
 */
#include "plan_kit.h"
#include "plan_traits_int.h"
#include "testing.h"
#include "train_kit.h"

static sli_plan_traits traits_of(const char *pipeline)
{
    sluice_dataset *dataset = NULL;
    sli_plan_traits traits;
    sli_plan *plan;

    T_OK(sluice_dataset_parse(pipeline, &dataset));
    plan = open_plan(dataset, &(sli_run_settings){.world = 1});
    sli_plan_traits_get(plan, &traits);
    close_plan(plan, dataset);
    return traits;
}

/* The traits of a folder of eight images of 40 lines in two classes, with these stages. */
static sli_plan_traits folder_with(const char *folder, const char *stages)
{
    char pipeline[600];

    snprintf(pipeline, sizeof(pipeline), "image_folder %s | %s | batch 2", folder, stages);
    return traits_of(pipeline);
}

static void a_cache_is_before_the_first_random_stage(void)
{
    const char *folder = t_folder();
    sli_plan_traits traits;

    kit_write_folder(folder, 4, 40);
    traits = folder_with(folder, "shuffle | decode | resize 20,30 | random_horizontal_flip");
    T_EQ(traits.cached_bytes, 20 * 30 * 3 + sizeof(int32_t));
    T_STR(traits.cached_after, "resize");
    T_EQ(traits.samples_per_pass, 8);
    T_EQ(folder_with(folder, "decode | random_resized_crop 20").cached_bytes, 0);
    T_EQ(folder_with(folder, "decode | resize 24 | random_crop 20,20").cached_bytes, 0);
    T_EQ(traits_of("synthetic samples=8 shape=4,4,3 | batch 2").cached_bytes, 0);
}

static void folders_of_images_can_be_packed(void)
{
    const char *folder = t_folder();

    kit_write_folder(folder, 4, 40);
    T_TRUE(folder_with(folder, "decode | resize 20,30").packs);
    T_TRUE(!traits_of("synthetic samples=8 shape=4,4,3 | batch 2").packs);
}

/* The device of these settings has no kernels, so that workers convert. */
static void conversions_of_workers_can_be_offloaded(void)
{
    static const char raw[] = "synthetic samples=8 shape=4,4,3";
    char pipeline[200];

    snprintf(pipeline, sizeof(pipeline), "%s | normalize imagenet | batch 2", raw);
    T_TRUE(traits_of(pipeline).converts_on_host);
    snprintf(pipeline, sizeof(pipeline), "%s | normalize imagenet offload=host | batch 2", raw);
    T_TRUE(!traits_of(pipeline).converts_on_host);
    snprintf(pipeline, sizeof(pipeline), "%s | batch 2", raw);
    T_TRUE(!traits_of(pipeline).converts_on_host);
}

static void stages_have_kinds(void)
{
    const sli_plan_traits traits = traits_of("synthetic samples=8 shape=4,4,3 | batch 2");

    T_EQ(traits.stages[0], SLI_STAGE_READ);
    T_EQ(traits.stages[1], SLI_STAGE_DECODE);
    T_EQ(traits.stages[2], SLI_STAGE_PIXELS);
    T_EQ(traits.stages[3], 0);
}

const t_test plan_traits_tests[] = {
    T_TEST(a_cache_is_before_the_first_random_stage),
    T_TEST(folders_of_images_can_be_packed),
    T_TEST(conversions_of_workers_can_be_offloaded),
    T_TEST(stages_have_kinds),
    T_END,
};
