/* SPDX-License-Identifier: Apache-2.0 */
/* mixup and cutmix in GetNext: the bits of the workers, where they run, and what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/custom.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "list_kit.h"
#include "plan_kit.h"
#include "stage_runs.h"
#include "testing.h"

#define SOURCE "synthetic 22 8,10,3 classes=6" /* a pass ends with a batch of 2 rows of 4 */

/* ---- batches --------------------------------------------------------------------------------- */

static tape tape_of(const char *text, const run_options *options)
{
    return record_own(parsed(text), options);
}

/* Checks that `early | device | late` has the batches of `early | late`, for a few seeds. */
static void check_device(const char *source, const char *early, const char *late)
{
    for (uint64_t seed = 0; seed < 3; seed++) {
        const run_options options = {.workers = 1, .settings = {.seed = seed}};
        char without[500];
        char with[500];

        snprintf(without, sizeof(without), "%s | %s | %s", source, early, late);
        snprintf(with, sizeof(with), "%s | %s | device | %s", source, early, late);
        check_same_pass(tape_of(with, &options), tape_of(without, &options), with);
    }
}

static void each_type_and_layout_has_the_bits_of_the_workers(void)
{
    static const char *const ends[] = {
        "random_invert",
        "to_chw",
        "normalize imagenet",
        "normalize imagenet | to_chw",
        "normalize imagenet dtype=f16",
        "normalize imagenet dtype=f16 | to_chw",
        "to_dtype bf16 scale=true",
        "normalize imagenet dtype=bf16 | to_chw",
    };
    static const char *const mixes[] = {"mixup 6", "cutmix 6"};

    for (size_t i = 0; i < 2 * sizeof(ends) / sizeof(ends[0]); i++) {
        char late[200];

        snprintf(late, sizeof(late), "%s | batch 4 | %s", ends[i / 2], mixes[i % 2]);
        check_device(SOURCE, "shuffle | random_horizontal_flip", late);
    }
    check_device("synthetic 9 7,5,1 6", "shuffle", "to_dtype f32 | batch 4 | mixup 6 0.4");
    check_device("synthetic 9 7,5,4 6", "shuffle", "to_chw | batch 4 | cutmix 6 0.4");
    check_device("synthetic 4 1,1,3 6", "shuffle", "to_chw | batch 4 | cutmix 6");
}

/* The program of the partner is applied to its image, and its own flip. */
static void programs_of_both_rows_are_applied(void)
{
    static const char stages[] =
        "random_affine 40 filter=bilinear fill=9 | color_jitter 0.5 saturation=0.5 hue=0.2 | "
        "random_erasing 0.7 value=200 | random_horizontal_flip | random_vertical_flip | normalize "
        "imagenet dtype=f16";
    static const char *const mixes[] = {
        "mixup 6",
        "cutmix 6",
        "random_choice (mixup 6 0.2) (cutmix 6)",
        "random_choice 3:(mixup 6) 1:(cutmix 6)",
        "random_apply 0.5 (cutmix 6)",
        "random_apply 0.5 (random_choice (mixup 6) (cutmix 6))",
    };

    for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++) {
        char late[400];

        snprintf(late, sizeof(late), "%s | batch 4 | %s", stages, mixes[i]);
        check_device(SOURCE, "shuffle", late);
    }
}

static void colours_may_stay_on_the_workers(void)
{
    check_device(SOURCE, "random_equalize 1 | gaussian_blur 3",
                 "normalize imagenet | batch 4 | mixup 6");
    check_device(SOURCE, "random_invert | random_vertical_flip", "batch 4 | mixup 6");
    check_device(SOURCE, "shuffle", "batch 4 | cutmix 6");
}

static void workers_devices_and_resumes_do_not_matter(void)
{
    static const char text[] = SOURCE " | shuffle 3 | device | random_affine 20 | to_dtype f16 | "
                                      "batch 4 | random_choice (mixup 6 0.4) (cutmix 6)";
    const run_options one = {.workers = 1, .batches = 12, .settings = {.seed = 4}};
    tape all = tape_of(text, &one);

    for (uint32_t i = 0; i < 6; i++) {
        run_options options = one;
        tape t;

        options.workers = worker_counts[i / 2];
        options.device = devices[i % 2];
        t = tape_of(text, &options);
        check_equal_tapes(&t, &all, devices[i % 2]);
        free(t.bytes);
        options.first_step = 4; /* as a run that is resumed */
        options.batches = 8;
        t = tape_of(text, &options);
        T_TRUE(t.size * 3 == all.size * 2 &&
               memcmp(t.bytes, all.bytes + all.size - t.size, t.size) == 0);
        free(t.bytes);
    }
    free(all.bytes);
}

/* Rows without a sample are no partners, and stay zero. */
static void bad_samples_are_no_partners(void)
{
    check_bad_samples("device | random_invert | to_dtype f32 | batch 3 | mixup 40",
                      "random_invert | to_dtype f32 | batch 3 | mixup 40");
}

/* Workers mix further images, which they convert. */
static void further_images_are_mixed_by_the_workers(void)
{
    static const char list[] = "left:image\tright:image\tlabel:i64\n"
                               "a.ppm\tb.ppm\t0\nb.ppm\ta.ppm\t1\na.ppm\ta.ppm\t2\n";
    static const char *const mixes[] = {"mixup 3", "cutmix 3"};
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    write_pair(folder, "b.ppm", "m.pgm");
    for (int i = 0; i < 2; i++) {
        tape tapes[2];

        for (int k = 0; k < 2; k++) {
            sluice_dataset *dataset;
            char text[300];

            snprintf(
                text, sizeof(text),
                "| decode | random_crop 20 | random_horizontal_flip %s| random_solarize 99 1 | "
                "to_dtype f32 | batch 3 | %s",
                k == 0 ? "| device " : "", mixes[i]);
            dataset = list_dataset(folder, list, text);
            tapes[k] = record(dataset, &(run_options){.workers = 1});
            sluice_dataset_destroy(dataset);
        }
        check_same_pass(tapes[0], tapes[1], mixes[i]);
    }
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* Plans a text as for a device that prefers to convert, or not. */
static sli_plan *plan_of(const char *text, bool prefer, sluice_dataset **dataset_out)
{
    *dataset_out = parsed(text);
    return open_plan(*dataset_out,
                     &(sli_run_settings){.seed = 5, .world = 1, .prefer_device = prefer});
}

/* Where conversions run on the device, so do mixes, if they can; else workers run both. */
static void mixes_follow_conversions_to_the_device(void)
{
    static const struct {
        const char *stages;
        bool mixes;
    } cases[] = {
        {"normalize imagenet | to_chw | batch 4 | mixup 6", true},
        {"random_equalize | to_dtype f16 | batch 4 | random_choice (mixup 6) (cutmix 6)", true},
        {"random_vertical_flip | batch 4 | cutmix 6", true},
        {"to_dtype f32 | batch 4 | mixup 6 | cutmix", false},
        {"to_dtype f32 | batch 4 | random_order (mixup 6) (cutmix 6)", false},
        {"to_dtype f32 | batch 4 | random_choice (mixup 6 | mixup 6) (cutmix 6)", false},
        {"to_dtype f32 offload=host | to_chw | batch 4 | mixup 6", false},
        {"to_dtype f32 scale=true | random_erasing 1 value=0.5 | batch 4 | mixup 6", false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const run_options prefer = {.workers = 2, .settings = {.prefer_device = true}};
        sluice_dataset *dataset;
        char text[300];
        sli_plan *plan;

        snprintf(text, sizeof(text), SOURCE " | %s", cases[i].stages);
        check_same_pass(tape_of(text, &prefer), tape_of(text, &(run_options){.workers = 1}), text);
        plan = plan_of(text, true, &dataset);
        T_EQ(plan->device_mixes, cases[i].mixes);
        T_EQ(plan->program_column, cases[i].mixes ? 2 : -1);
        T_EQ(sli_plan_programs(plan), cases[i].mixes ? SLI_PROGRAMS_MIX : SLI_PROGRAMS_NONE);
        T_TRUE(!cases[i].mixes || plan->wire[0].dtype == SLUICE_U8);
        close_plan(plan, dataset);
        plan = plan_of(text, false, &dataset);
        T_TRUE(!plan->device_mixes && !plan->device_converts);
        close_plan(plan, dataset);
    }
}

static void explain_says_where_the_image_is_mixed(void)
{
    static const char workers[] =
        "mixup: runs on whole batches, on the worker that writes the last row";
    sluice_dataset *dataset;
    sli_plan *plan = plan_of(SOURCE " | normalize 0.5 0.5 | batch 4 | mixup 6", true, &dataset);
    char *text = explained(plan);

    T_CONTAINS(text, workers);
    T_CONTAINS(text, "; the image in the device's GetNext, by a program of each row\n");
    T_CONTAINS(text, "normalize: in the device's GetNext\n");
    sluice_string_free(text);
    close_plan(plan, dataset);
    plan = plan_of(SOURCE " | normalize 0.5 0.5 | batch 4 | mixup 6", false, &dataset);
    text = explained(plan);
    T_CONTAINS(text, "on the worker that writes the last row\n");
    sluice_string_free(text);
    close_plan(plan, dataset);
}

/* A request for the device that GetNext cannot fulfil is an error, not a plan for the workers. */
static void what_getnext_cannot_mix_is_refused(void)
{
    static const char *const cases[][2] = {
        {"device | to_dtype f32 | batch 4 | mixup 6 | cutmix", "GetNext mixes it once; choose one"},
        {"device | batch 4 | random_order (mixup 6) (cutmix 6)", "random_choice (mixup ...)"},
        {"to_dtype f32 offload=host | device | batch 4 | mixup 6",
         "a conversion has offload=host; leave offload out"},
        {"to_dtype f32 offload=host | to_chw offload=device | batch 4 | mixup 6",
         "GetNext cannot mix the image on the device: a conversion has offload=host"},
        {"device | to_dtype f32 | random_erasing 1 value=0.5 | batch 4 | mixup 6",
         "random_erasing after a conversion runs on the workers"},
        {"device | normalize 0.5 0.000001 dtype=f16 | batch 4 | mixup 6",
         "normalize: a byte of 255 becomes 500000, which cannot be represented as f16"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *explanation = NULL;
        sluice_dataset *dataset;

        dataset = parsedf(SOURCE " | %s", cases[i][0]);
        T_STATUS(sluice_dataset_explain(dataset, &explanation), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), cases[i][1]);
        sluice_dataset_destroy(dataset);
    }
}

static sluice_status do_nothing(sluice_host_batch *batch, void *user)
{
    (void)batch;
    (void)user;
    return SLUICE_OK;
}

/* A map of the user's that uses the image wants it converted, and mixed as the map comes after. */
static void maps_of_the_image_keep_it_on_the_workers(void)
{
    static const char *const columns[] = {"image", "label"};

    for (int i = 0; i < 4; i++) {
        sluice_dataset *dataset = parsed(SOURCE);
        const sli_run_settings settings = {.world = 1, .prefer_device = true};
        sluice_map_batch map;
        sli_plan *plan;

        sluice_map_batch_init(&map);
        map.name = "own";
        map.version = 1;
        map.map = do_nothing;
        map.inputs = &columns[i % 2];
        map.input_count = 1;
        T_OK(sluice_dataset_add(dataset, i < 2 ? "to_dtype f32 | batch 4 | mixup 6"
                                               : "device | to_dtype f32 | batch 4 | mixup 6"));
        T_OK(sluice_dataset_map_batch(dataset, &map));
        if (i == 2) {
            T_STATUS(sli_plan_open(dataset, &settings, &plan), SLUICE_E_INVALID);
            T_CONTAINS(sluice_last_error(), "device comes before stages of an image that a map");
        } else {
            plan = open_plan(dataset, &settings);
            T_EQ(plan->device_mixes, i % 2 == 1);
            sli_plan_close(plan);
        }
        sluice_dataset_destroy(dataset);
    }
}

const t_test device_mixes_tests[] = {
    T_TEST(each_type_and_layout_has_the_bits_of_the_workers),
    T_TEST(programs_of_both_rows_are_applied),
    T_TEST(colours_may_stay_on_the_workers),
    T_TEST(workers_devices_and_resumes_do_not_matter),
    T_TEST(bad_samples_are_no_partners),
    T_TEST(further_images_are_mixed_by_the_workers),
    T_TEST(mixes_follow_conversions_to_the_device),
    T_TEST(explain_says_where_the_image_is_mixed),
    T_TEST(what_getnext_cannot_mix_is_refused),
    T_TEST(maps_of_the_image_keep_it_on_the_workers),
    T_END,
};
