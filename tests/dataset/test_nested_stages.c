/* SPDX-License-Identifier: Apache-2.0 */
/* random_apply, random_choice and random_order: what they apply, their texts and errors. */
#include <stdlib.h>

#include <sluice/arrays.h>

#include "color_ops.h"
#include "dataset_kit.h"
#include "dataset_state.h"
#include "engine_kit.h"
#include "list_kit.h"
#include "map_kit.h"
#include "nested_stages.h"
#include "plan_int.h"
#include "stage_runs.h"
#include "testing.h"

#define SOURCE "synthetic 20 12,12,3"

/* ---- what is drawn --------------------------------------------------------------------------- */

enum { DRAWN = 6000 };

/* Draws the operations of a stage for each of many samples, and counts each sequence of gray (1),
 * autocontrast (2) and equalize (3), as digits. */
static void count_sequences(const char *stages, uint32_t counts[1000])
{
    sluice_dataset *dataset;
    const dataset_stage *stage;
    static color_chain chain;

    dataset = parsedf("%s | %s | batch 4", SOURCE, stages);
    stage = &dataset->stages[1];
    memset(counts, 0, 1000 * sizeof(*counts));
    for (uint64_t sample = 0; sample < DRAWN; sample++) {
        const sli_draws draws = {.key = 77, .sample = sample};
        uint32_t number = 0;

        chain.count = 0;
        stage->def->color->add(stage->args.bytes, &draws, &chain);
        for (uint32_t i = 0; i < chain.count; i++) {
            const color_kind kind = chain.operations[i].kind;

            number = 10 * number + (kind == COLOR_GRAY ? 1 : kind == COLOR_AUTOCONTRAST ? 2 : 3);
        }
        T_TRUE(number < 1000);
        counts[number]++;
    }
    sluice_dataset_destroy(dataset);
}

/* Checks a count within five standard deviations. */
static void check_share(uint32_t count, double share)
{
    T_NEAR(count, share * DRAWN, 5 * sqrt(share * (1 - share) * DRAWN));
}

static void random_apply_applies_all_or_none(void)
{
    uint32_t counts[1000];

    count_sequences("random_apply 0.3 (random_grayscale 1 | random_equalize 1)", counts);
    check_share(counts[13], 0.3);
    T_EQ(counts[0] + counts[13], DRAWN);
    count_sequences("random_apply (random_grayscale 0.5 | random_equalize 0.5)", counts);
    check_share(counts[13], 0.125);
    check_share(counts[1], 0.125);
    check_share(counts[3], 0.125);
}

static void random_choice_applies_one_by_weight(void)
{
    uint32_t counts[1000];

    count_sequences("random_choice (random_grayscale 1) (random_autocontrast 1) "
                    "(random_equalize 1 | random_grayscale 1)",
                    counts);
    check_share(counts[1], 1.0 / 3);
    check_share(counts[2], 1.0 / 3);
    T_EQ(counts[1] + counts[2] + counts[31], DRAWN);
    count_sequences("random_choice 0.6:(random_grayscale 1) 0.3:(random_autocontrast 1) "
                    "0.1:(random_equalize 1)",
                    counts);
    check_share(counts[1], 0.6);
    check_share(counts[2], 0.3);
    T_EQ(counts[1] + counts[2] + counts[3], DRAWN);
}

static void random_order_applies_all_in_every_order(void)
{
    static const uint32_t orders[] = {123, 132, 213, 231, 312, 321};
    uint32_t counts[1000];
    uint32_t sum = 0;

    count_sequences("random_order (random_grayscale 1) (random_autocontrast 1) (random_equalize 1)",
                    counts);
    for (uint32_t i = 0; i < 6; i++) {
        check_share(counts[orders[i]], 1.0 / 6);
        sum += counts[orders[i]];
    }
    T_EQ(sum, DRAWN);
}

static void they_hold_each_other(void)
{
    uint32_t counts[1000];

    count_sequences("random_apply 0.5 (random_choice (random_grayscale 1) "
                    "(random_order (random_autocontrast 1) (random_equalize 1)))",
                    counts);
    check_share(counts[0], 0.5);
    check_share(counts[1], 0.25);
    check_share(counts[23], 0.125);
    T_EQ(counts[0] + counts[1] + counts[23] + counts[32], DRAWN);
}

/* ---- in pipelines ---------------------------------------------------------------------------- */

static void workers_and_devices_do_not_matter(void)
{
    check_workers_and_devices(
        SOURCE, "shuffle | random_crop 10 | random_apply 0.8 (color_jitter 0.4 0.4 0.4 0.1 | "
                "random_rotation 30) | random_horizontal_flip | random_order (random_solarize 100) "
                "(gaussian_blur 3) | random_choice (random_erasing 1) (random_invert) | "
                "normalize 0.5 0.5");
}

static void what_is_applied_is_as_without_parentheses(void)
{
    check_stages(SOURCE, "random_apply 1 (rotate 30 | random_invert 1)",
                 "rotate 30 | random_invert 1", true);
    check_stages(SOURCE, "random_apply 0 (rotate 30)", "take 20", true);
    check_stages(SOURCE, "random_horizontal_flip 1 | random_apply 1 (rotate 30)",
                 "random_horizontal_flip 1 | rotate 30", true);
    check_stages(SOURCE, "random_apply 0.5 (random_invert 1)", "random_invert 1", false);
    check_stages(SOURCE, "random_choice (random_posterize 3 1)", "random_posterize 3 1", true);
}

static void the_device_runs_them_by_pixel(void)
{
    static const char stages[] =
        "random_apply 0.7 (random_invert 0.5 | random_choice (random_solarize 90 1) "
        "(color_jitter saturation=0.5)) | normalize 0.5 0.5";
    char text[300];

    snprintf(text, sizeof(text), "device | %s", stages);
    check_stages(SOURCE, text, stages, true);
    check_refused(SOURCE " | device | random_order (random_invert) (rotate 3)",
                  "random_order comes after device, where each pixel of a result");
}

/* The tape of images and masks under these stages. */
static tape masks_of(const char *stages)
{
    const char *folder = t_folder();
    char text[300];
    tape t;

    write_pair(folder, "a.ppm", "a.pgm");
    snprintf(text, sizeof(text), "| decode | %s | batch 1", stages);
    t = record_own(list_dataset(folder, "image:image\tarea:mask\na.ppm\ta.pgm\n", text),
                   &(run_options){.workers = 1});
    T_STATUS(t.end, SLUICE_END_OF_DATA);
    return t;
}

static void masks_follow_warps_in_parentheses(void)
{
    tape want = masks_of("rotate 30");
    tape got = masks_of("random_choice (rotate 30)");
    tape plain = masks_of("rotate 0");

    check_equal_tapes(&got, &want, "a mask");
    T_TRUE(want.size == plain.size && memcmp(want.bytes, plain.bytes, want.size) != 0);
    free(want.bytes);
    free(got.bytes);
    free(plain.bytes);
}

static void operations_in_parentheses_count(void)
{
    sluice_dataset *dataset;

    check_refused(SOURCE " | random_order (rand_augment 16) (rand_augment 16 | rotate 3)",
                  "more than 32 operations");
    check_refused(SOURCE " | random_apply (rand_augment 16 | rand_augment 16) | rotate 3",
                  "more than 32 operations");
    check_refused(SOURCE
                  " | random_choice (rand_augment 16 | rotate 3) (rotate 3) | rand_augment 16",
                  "more than 32 operations");
    dataset =
        parsed(SOURCE " | random_order (aug_mix | resize 9,9) (aug_mix | rotate 3) (aug_mix) | "
                      "aug_mix | resize 12,12 | batch 4"); /* each once, of at most 4 */
    sluice_dataset_destroy(dataset);
    dataset = parsed(SOURCE " | batch 4 | random_choice (mixup 10 | cutmix 10) (mixup 10)");
    T_EQ(dataset->schema.mixes, 2);
    T_EQ(dataset->schema.map_count, 1);
    sluice_dataset_destroy(dataset);
    /* More than 8 maps: they are one. */
    dataset = parsed(SOURCE " | batch 4 | random_choice (mixup 10 | mixup 10 | mixup 10) "
                            "(mixup 10 | mixup 10 | mixup 10) (mixup 10 | mixup 10 | mixup 10)");
    T_EQ(dataset->schema.map_count, 1);
    sluice_dataset_destroy(dataset);
    dataset = parsed(SOURCE " | random_choice (rand_augment 16) (rand_augment 16 | rotate 3) | "
                            "rand_augment 15 | batch 4"); /* the larger one counts */
    sluice_dataset_destroy(dataset);
}

/* ---- batch maps ------------------------------------------------------------------------------ */

/* True if every byte of the image is of the row or of the row before it, as cutmix makes it. */
static bool is_cut(const engine_run *mixed, const engine_run *plain)
{
    for (uint32_t row = 0; row < 4; row++) {
        const uint8_t *got = column_row(mixed, "image", row);
        const uint8_t *own = column_row(plain, "image", row);
        const uint8_t *other = column_row(plain, "image", (row + 3) % 4);

        for (uint32_t i = 0; i < PIXELS; i++) {
            if (got[i] != own[i] && got[i] != other[i]) {
                return false;
            }
        }
    }
    return true;
}

static void a_batch_is_mixed_by_one_of_both(void)
{
    sluice_dataset *plain;
    sluice_dataset *mixed;
    engine_run a;
    engine_run b;
    uint32_t cut = 0;
    uint32_t batches = 0;

    fill_arrays();
    plain = arrays_of(plain_images);
    mixed = arrays_of(plain_images);
    T_OK(sluice_dataset_add(plain, "repeat 20 | batch 4"));
    T_OK(sluice_dataset_add(mixed, "repeat 20 | batch 4 | random_choice "
                                   "(mixup 122 4 number) (cutmix 122 4 number)"));
    open_run(&a, mixed, &(run_options){.workers = 2});
    open_run(&b, plain, &(run_options){.workers = 1});
    while (next_batch(&a) == SLUICE_OK) {
        T_OK(next_batch(&b));
        T_EQ(row_bytes(&a, 1), 122 * sizeof(float));
        cut += is_cut(&a, &b);
        batches++;
        done_with_batch(&a);
        done_with_batch(&b);
    }
    T_EQ(batches, 60);
    T_TRUE(cut > 15 && cut < 45);
    close_run(&a);
    close_run(&b);
    sluice_dataset_destroy(plain);
    sluice_dataset_destroy(mixed);
}

static void a_batch_that_is_not_mixed_has_vectors(void)
{
    engine_run run;

    open_own(&run, parsed("synthetic 8 4,4,3 3 | batch 4 | random_apply 0 (mixup 3)"),
             &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    for (uint32_t row = 0; row < 4; row++) {
        const float *label = column_row(&run, "label", row);

        T_TRUE(label[0] + label[1] + label[2] == 1 && label[row % 3] == 1);
    }
    close_run(&run);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void texts_are_parsed_back(void)
{
    static const char text[] =
        "synthetic 8 12,12,3 # words\n| random_choice 0.25:( rotate 20|gaussian_blur 3 # (\n) "
        "2:(random_order(random_invert)(random_apply 0.5 (random_equalize 1)))|batch 4 "
        "| random_choice (mixup 10)(cutmix 10)";
    sluice_dataset *first = parsed(text);
    sluice_dataset *second = parsed(described(first));

    T_STR(described(second), described(first));
    T_CONTAINS(described(first), "random_choice 0.25:(rotate degrees=20");
    T_CONTAINS(described(first),
               " | gaussian_blur kernel_size=3 sigma=0.1,2) 2:(random_order "
               "(random_invert p=0.5) (random_apply (random_equalize p=1) p=0.5)");
    sluice_dataset_destroy(first);
    sluice_dataset_destroy(second);
}

static void differences_are_found(void)
{
    static const char kept[] = "batch n=4 | random_choice (mixup) (cutmix) | mixup";

    T_OK(sli_stages_compare("random_apply (rotate 3)", "random_apply p=0.5 ( rotate 3 )"));
    T_STATUS(sli_stages_compare("random_apply (rotate 3)", "random_apply (rotate 4)"),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "random_apply: stages was (rotate degrees=3 ");
    T_OK(sli_stages_compare(kept, "batch n=4 | random_choice (mixup alpha=1) (cutmix) | mixup"));
    T_STATUS(sli_stages_compare(kept, "batch n=4 | mixup | random_choice (mixup) (cutmix)"),
             SLUICE_E_INVALID);
}

static void wrong_texts_are_refused(void)
{
    static const refused_case cases[] = {
        {"random_apply 0.3", "random_apply: stages is missing (in parentheses:"},
        {"random_apply 0.3 rotate", "random_apply: stages is missing (in parentheses:"},
        {"random_apply stages=rotate", "random_apply: stages=rotate must be in parentheses"},
        {"random_apply (rotate 3) 0.3 columns=image x", "a positional argument after a named one"},
        {"random_apply 2 (rotate 3)", "random_apply: p=2 must be from 0 to 1"},
        {"random_apply nan (rotate 3)", "random_apply: p=nan must be a number, from 0 to 1"},
        {"random_choice (views 2)", "put it before or after random_choice, which takes crops, "},
        {"random_choice (mosaic 8,8)", "mosaic cannot be in its parentheses"},
        {"random_choice (normalize 1 1)", "normalize cannot be in its parentheses"},
        {"random_apply 0.3 (random_horizontal_flip offload=device)",
         "random_apply: random_horizontal_flip offload=device: what is in parentheses runs on the "
         "workers; leave offload out"},
        {"random_choice (synthetic)", "synthetic cannot be in its parentheses"},
        {"random_choice (one_hot label 3)", "one_hot cannot be in its parentheses"},
        {"random_choice (random_invert 3)", "random_invert: p=3 must be from 0 to 1"},
        {"random_choice (rotate 3 | )", "the name of a stage must be here"},
        {"random_choice ()", "the name of a stage must be here"},
        {"random_choice (rotate 3", "this parenthesis has no end"},
        {"random_choice (rotate 3))", "parentheses are reserved"},
        {"random_choice 2:(rotate 3) (rotate 4)", "1 of 2 pairs of parentheses have a weight"},
        {"random_choice 0:(rotate 3)", "with a weight above 0"},
        {"random_choice 1000001:(rotate 3)", "at most 1000000 and with at most 9 digits"},
        {"random_choice 0.1234567891:(rotate 3)", "at most 1000000 and with at most 9 digits"},
        {"random_choice x:(rotate 3)", "a word before a parenthesis must be WEIGHT:, such"},
        {"random_choice :(rotate 3)", "a word before a parenthesis must be WEIGHT:, such"},
        {"random_order 2:(rotate 3)",
         "random_order: weights are not allowed here; remove them, or use random_choice"},
        {"random_choice (rotate 3) columns=image", "rotate works on all images; leave columns out"},
        {"random_choice (resize 3) columns=image", "resize works on all images; leave columns out"},
        {"normalize 0.5 0.5 | random_choice (resize 3)",
         "random_choice works on the decoded image"},
        {"device | random_choice (resize 3)", "random_choice comes after device"},
        {"random_apply (random_crop 4) | cache 1M", "put it before random_apply"},
        {"random_choice (random_invert columns=image)", "write columns= of random_choice instead"},
        {"random_choice (random_invert) columns=y", "random_invert: there is no column 'y'"},
        {"random_choice (mixup 7)", "works on whole batches; it must come after batch"},
        {"random_choice (mixup 7) (rotate 3)", "mixup and rotate cannot be in the same"},
        {"random_apply(random_apply(random_apply(random_apply(random_apply(random_apply(random_"
         "apply"
         "(random_apply(random_apply(rotate 3)))))))))",
         "parentheses inside one another must be at most 8; leave out those that change "
         "nothing, such as random_apply 1 (...)"},
        {"batch 4 | random_choice (rotate 3)", "random_choice must come before batch"},
        {"batch 4 | random_choice (mixup 10) columns=image", "mixup works on all images"},
        {"batch 4 | random_choice (mixup 10) (cutmix 10 label=image)",
         "cutmix: label image is u8 with 3 dimensions"},
        {"one_hot label 10 | batch 4 | random_choice (mixup 9) (cutmix)", "mixup: classes=9"},
        {"normalize 0.5 0.5 | random_choice (random_invert)", "random_invert"},
        {"RandomApply (rotate 3)", "RandomApply is called random_apply (STAGES) here"},
        {"RandomChoice", "RandomChoice is called random_choice (STAGES) here"},
    };

    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[400];

        snprintf(text, sizeof(text), "synthetic 8 12,12,3 | %s", cases[i].text);
        check_refused(text, cases[i].words);
    }
}

static void parentheses_have_at_most_32_stages(void)
{
    static const struct {
        const char *first;
        const char *next;
        uint32_t more;
    } cases[] = {
        {"random_apply 1 (random_vertical_flip", " | random_vertical_flip", 31},
        {"random_order (random_vertical_flip", ") (random_vertical_flip", 31},
        {"random_order (random_invert", ") (random_vertical_flip | random_invert", 15},
    };

    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[2000];
        size_t length =
            (size_t)snprintf(text, sizeof(text), "synthetic 8 12,12,3 | %s", cases[i].first);
        sluice_dataset *dataset;

        for (uint32_t k = 0; k < cases[i].more; k++) {
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s", cases[i].next);
        }
        snprintf(text + length, sizeof(text) - length, ") | batch 4");
        dataset = parsed(text);
        sluice_dataset_destroy(dataset);
        snprintf(text + length, sizeof(text) - length, "%s) | batch 4", cases[i].next);
        check_refused(text,
                      "the stages in its parentheses must be at most 32; put some of them into "
                      "a random_apply 1 (...) there, which is one of them");
    }
}

static void labels_of_nested_stages_are_the_same(void)
{
    const sluice_array arrays[] = {
        {"image", plain_images, SLUICE_U8, 4, {SAMPLES, H, W, 3}},
        {"a", numbers, SLUICE_I64, 1, {SAMPLES}},
        {"b", numbers, SLUICE_I64, 1, {SAMPLES}},
    };
    sluice_dataset *dataset;

    T_OK(sluice_dataset_memory(arrays, 3, &dataset));
    T_STATUS(sluice_dataset_add(dataset, "batch 4 | random_choice (mixup 122 label=a) "
                                         "(cutmix 122 label=b)"),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(),
               "mixup has label=a and cutmix label=b, and all must have the same");
    sluice_dataset_destroy(dataset);
}

static void comments_in_parentheses_end_with_the_line(void)
{
    sluice_dataset *dataset = parsed(SOURCE);

    T_OK(sluice_dataset_add(dataset, "random_apply 1 (rotate 3 # about the centre\n) | batch 4"));
    sluice_dataset_destroy(dataset);
}

const t_test nested_stages_tests[] = {
    T_TEST(random_apply_applies_all_or_none),
    T_TEST(random_choice_applies_one_by_weight),
    T_TEST(random_order_applies_all_in_every_order),
    T_TEST(they_hold_each_other),
    T_TEST(workers_and_devices_do_not_matter),
    T_TEST(what_is_applied_is_as_without_parentheses),
    T_TEST(the_device_runs_them_by_pixel),
    T_TEST(masks_follow_warps_in_parentheses),
    T_TEST(operations_in_parentheses_count),
    T_TEST(a_batch_is_mixed_by_one_of_both),
    T_TEST(a_batch_that_is_not_mixed_has_vectors),
    T_TEST(texts_are_parsed_back),
    T_TEST(differences_are_found),
    T_TEST(wrong_texts_are_refused),
    T_TEST(parentheses_have_at_most_32_stages),
    T_TEST(labels_of_nested_stages_are_the_same),
    T_TEST(comments_in_parentheses_end_with_the_line),
    T_END,
};
