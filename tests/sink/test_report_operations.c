/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the operations of a stage: their names, their shares, what they add up to. */
#include <math.h>
#include <stdlib.h>

#include "load_kit.h"
#include "report_operations.h"
#include "stage_clock_int.h"
#include "testing.h"
#include "train_kit.h"

enum { IMAGES = 24, SIDE = 96 };

/* Runs, and measures each sample in `gap`; 0: as many as without a test. */
static void run_with_gap(kit *k, uint32_t gap)
{
    sli_stage_clock_replace_gap(gap);
    (void)kit_run(k);
    sli_stage_clock_replace_gap(0); /* also for the tests behind one that fails here */
    T_OK(k->status);
}

/* Runs stages on a folder of images, of which each sample in `gap` is measured. */
static void run_measured(kit *k, const char *stages, uint32_t gap, int64_t passes)
{
    static char pipeline[3000];
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_path(t_folder(), "images"));
    kit_init(k);
    kit_write_folder(folder, IMAGES / 2, SIDE);
    snprintf(pipeline, sizeof(pipeline), "image_folder %s | %s | batch 4", folder, stages);
    k->pipeline = pipeline;
    k->config.epochs = passes;
    k->config.workers = 2;
    run_with_gap(k, gap);
}

/* The row of a name; NULL: there is none. */
static const report_operation *find(const kit *k, const char *name)
{
    for (uint32_t i = 0; i < k->report->operation_count; i++) {
        if (strcmp(k->report->operations[i].name, name) == 0) {
            return &k->report->operations[i];
        }
    }
    return NULL;
}

/* The share of a row in its stage; 0: there is no such row. */
static double share(const kit *k, const char *name)
{
    const report_operation *operation = find(k, name);

    return operation != NULL ? operation->busy_ns / k->report->stages[operation->stage].busy_ns : 0;
}

static void check_has(const kit *k, const char *name)
{
    if (find(k, name) == NULL) {
        T_FAIL_("the report has no row %s", name);
    }
}

/* The rows of a stage add up to its time, within 2 %. */
static void check_sums(const kit *k)
{
    const sluice_report *report = k->report;
    double sums[REPORT_STAGES] = {0};

    for (uint32_t i = 0; i < report->operation_count; i++) {
        T_TRUE(report->operations[i].stage < report->stage_count);
        T_TRUE(report->operations[i].measured > 0 && report->operations[i].busy_ns > 0);
        sums[report->operations[i].stage] += report->operations[i].busy_ns;
    }
    for (uint32_t i = 0; i < report->stage_count; i++) {
        T_TRUE(sums[i] == 0 || fabs(sums[i] / report->stages[i].busy_ns - 1) <= 0.02);
    }
}

/* Measures each sample, and checks that the rows have these names, NULL last, and add up. */
static void run_rows(kit *k, const char *stages, int64_t passes, const char *const *names)
{
    run_measured(k, stages, 1, passes);
    check_sums(k);
    for (; *names != NULL; names++) {
        check_has(k, *names);
    }
}

static bool blur_is_the_largest_row(void *arg)
{
    static const char *const names[] = {"decode", "resize", "gaussian_blur",
                                        "random_vertical_flip+random_horizontal_flip+to_chw", NULL};
    bool is_right;
    kit k;

    (void)arg;
    run_rows(&k,
             "decode | resize 64,64 | gaussian_blur 23 | random_vertical_flip | "
             "random_horizontal_flip | to_chw",
             4, names);
    T_EQ(find(&k, "gaussian_blur")->measured, 4 * IMAGES);
    is_right = share(&k, "gaussian_blur") > 0.5;
    kit_fini(&k);
    return is_right;
}

static void a_heavy_blur_is_the_largest_row(void)
{
    load_kit_needs_right(blur_is_the_largest_row);
}

static void a_second_one_of_a_name_has_its_number(void)
{
    static const char *const names[] = {"resize+center_crop", "resize", "resize#2", NULL};
    kit k;

    run_rows(&k, "decode | resize 80,80 | center_crop 64 | resize 32,32 | resize 48,48", 1, names);
    CU_ASSERT_PTR_NULL(find(&k, "resize#3"));
    kit_fini(&k);
}

/* Line by line before and after operations that need the whole image. */
static void each_stage_of_a_colour_chain_has_a_row(void)
{
    static const char *const names[] = {"color_jitter",
                                        "gaussian_blur",
                                        "random_solarize",
                                        "random_autocontrast",
                                        "random_apply(gaussian_blur)",
                                        "random_affine",
                                        "normalize",
                                        NULL};
    kit k;

    run_rows(&k,
             "decode | resize 64,64 | color_jitter brightness=0.4 saturation=0.4 | "
             "gaussian_blur 5 | random_solarize 100 p=1 | random_autocontrast p=1 | "
             "random_apply 0.9 (gaussian_blur 3) | random_affine 20 | normalize imagenet",
             2, names);
    T_TRUE(find(&k, "random_apply(gaussian_blur)")->measured < 2 * IMAGES);
    kit_fini(&k);
}

static void array_stages_have_rows(void)
{
    static const char *const names[] = {"one_hot", "cast", "random_erasing", NULL};
    kit k;

    run_rows(&k,
             "decode | resize 32,32 | one_hot label 20000 | random_erasing p=1 | cast label f16", 1,
             names);
    T_EQ(find(&k, "one_hot")->measured, IMAGES);
    kit_fini(&k);
}

static void stages_in_parentheses_have_rows(void)
{
    static const char *const names[] = {"resize", "random_crop+resize", "center_crop+resize", NULL};
    kit k;

    run_rows(&k,
             "decode | resize 64,64 | random_choice (random_crop 48 | resize 64,64) "
             "(center_crop 32 | resize 64,64)",
             4, names);
    T_EQ(find(&k, "random_crop+resize")->measured + find(&k, "center_crop+resize")->measured,
         4 * IMAGES);
    kit_fini(&k);
}

static void operations_before_the_cache_count_its_misses(void)
{
    static const char *const names[] = {"resize", "resize#2", NULL};
    kit k;

    run_rows(&k, "decode | resize 64,64 | cache 10M | gaussian_blur 5 | resize 32,32", 4, names);
    T_EQ(find(&k, "resize")->measured, k.report->cache.misses);
    T_TRUE(k.report->cache.misses < 4 * IMAGES);
    T_EQ(find(&k, "resize#2")->measured, 4 * IMAGES);
    kit_fini(&k);
}

/* A list of images with masks and boxes. */
static void write_list(const char *folder)
{
    FILE *list = fopen(t_path(folder, "list.tsv"), "w");
    FILE *mask = fopen(t_path(folder, "mask.pgm"), "wb");

    CU_ASSERT_FATAL(list != NULL && mask != NULL);
    fprintf(list, "image\tlabel\tm:mask\tb:boxes[4]\n");
    for (int i = 0; i < IMAGES; i++) {
        fprintf(list, "images/%c/%03d.jpg\t0\tmask.pgm\t1,1,40,40\n", i % 2 == 0 ? 'a' : 'b',
                i / 2);
    }
    fprintf(mask, "P5\n%d %d\n255\n", SIDE, SIDE);
    for (int i = 0; i < SIDE * SIDE; i++) {
        putc(i % 7, mask);
    }
    fclose(list);
    fclose(mask);
}

static bool masks_have_a_share(void *arg)
{
    const char *folder = t_folder();
    char images[300];
    char pipeline[600];
    bool is_right;
    kit k;

    (void)arg;
    kit_init(&k);
    snprintf(images, sizeof(images), "%s", t_path(folder, "images"));
    kit_write_folder(images, IMAGES / 2, SIDE);
    write_list(folder);
    snprintf(pipeline, sizeof(pipeline),
             "image_list %s/list.tsv | decode | random_resized_crop 64 | batch 4", folder);
    k.pipeline = pipeline;
    run_with_gap(&k, 1);
    check_sums(&k);
    check_has(&k, "masks");
    check_has(&k, "decode");
    is_right = share(&k, "masks") > 0.02 && share(&k, "masks") < 0.9;
    kit_fini(&k);
    return is_right;
}

static void masks_that_follow_have_a_row(void)
{
    load_kit_needs_right(masks_have_a_share);
}

/* More operations than rows. */
static void operations_beyond_the_rows_are_others(void)
{
    char stages[2000] = "decode";
    sluice_dataset *dataset = NULL;
    char *text = NULL;
    uint32_t rows = 0;
    kit k;

    for (int i = 0; i < 58; i++) {
        const size_t used = strlen(stages);

        snprintf(stages + used, sizeof(stages) - used, " | resize %d,%d", 16 + i % 2, 16);
    }
    run_measured(&k, stages, 1, 1);
    check_sums(&k);
    for (uint32_t i = 0; i < k.report->operation_count; i++) {
        rows += strcmp(k.report->operations[i].name, "others") == 0;
    }
    T_EQ(rows, 1);
    T_TRUE(k.report->operation_count <= REPORT_OPERATIONS);
    check_has(&k, "resize#54");
    CU_ASSERT_PTR_NULL(find(&k, "resize#55"));
    T_OK(sluice_dataset_parse(k.pipeline, &dataset));
    T_OK(sluice_dataset_explain(dataset, &text));
    T_CONTAINS(text, "report: 5 operations share the row others; 54 have rows of their own");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
    kit_fini(&k);
}

static void batches_are_the_same_whether_measured_or_not(void)
{
    static const char *const stages[] = {
        ("decode | random_resized_crop 64 | color_jitter brightness=0.4 contrast=0.4 | "
         "gaussian_blur 5 | random_solarize 100 p=0.5 | random_horizontal_flip | "
         "normalize imagenet | to_chw"),
        ("decode | resize 64,64 | random_autocontrast p=0.5 | jpeg_quality 50 | random_affine 20 | "
         "random_vertical_flip"),
        "decode | resize 64,64",
        "decode | resize 64,64 | auto_augment | random_erasing | to_dtype f16",
    };
    static const uint32_t gaps[] = {UINT32_MAX, 1, 3, 0};

    for (size_t i = 0; i < COUNT(stages); i++) {
        uint64_t digest = 0;

        for (size_t gap = 0; gap < COUNT(gaps); gap++) {
            kit k;

            run_measured(&k, stages[i], gaps[gap], 2);
            T_TRUE(gap == 0 || k.report->stats.digest == digest);
            T_TRUE(gap > 0 || k.report->operation_count == 0);
            T_TRUE(gaps[gap] != 1 || k.report->operation_count > 1);
            digest = k.report->stats.digest;
            kit_fini(&k);
        }
    }
}

static void the_text_has_indented_rows(void)
{
    char *text = NULL;
    const char *line;
    kit k;

    run_measured(&k, "decode | resize 64,64 | gaussian_blur 9 | normalize imagenet", 1, 1);
    T_OK(sluice_report_text(k.report, &text));
    line = strstr(text, "\n  gaussian_blur ");
    CU_ASSERT_FATAL(line != NULL);
    T_TRUE(strstr(line, " us a sample\n") != NULL);
    T_TRUE(strstr(text, "\n  decode ") == NULL); /* it is the whole stage */
    kit_check_columns(text);
    sluice_string_free(text);
    kit_fini(&k);
}

static void the_json_has_names_and_shares(void)
{
    char *json = NULL;
    kit k;

    run_measured(&k, "decode | resize 64,64", 1, 1);
    T_OK(sluice_report_json(k.report, &json));
    T_CONTAINS(json, "\"operations\":[{\"name\":\"decode\",\"us_per_sample\":");
    T_CONTAINS(json, "{\"name\":\"resize\",\"us_per_sample\":");
    T_CONTAINS(json, "\"operations\":[],"); /* of step */
    sluice_string_free(json);
    kit_fini(&k);
}

/* By counts, not clocks. */
static void the_rest_has_a_row_from_1_percent_on(void)
{
    static sli_operation_counts counts = {.count = 4,
                                          .of = {{"decode", "decode", false, 5, 500},
                                                 {"resize", "pixels", false, 5, 980},
                                                 {"cache", "pixels", true, 5, 9},
                                                 {"other", "pixels", true, 5, 11}}};
    static sluice_report report = {.stage_count = 2,
                                   .stages = {{.name = "decode", .samples = 10, .busy_ns = 3e6},
                                              {.name = "pixels", .samples = 10, .busy_ns = 1e6}}};

    report_set_operations(&counts, &report);
    T_EQ(report.operation_count, 3);
    T_STR(report.operations[0].name, "decode");
    T_EQ(report.operations[0].stage, 0);
    T_TRUE(report.operations[0].busy_ns == 3e6);
    T_STR(report.operations[1].name, "resize");
    T_EQ(report.operations[1].stage, 1);
    T_TRUE(fabs(report.operations[1].busy_ns - 0.98e6) < 1);
    T_STR(report.operations[2].name, "other");
    counts.of[3].ticks = 9;
    report_set_operations(&counts, &report);
    T_EQ(report.operation_count, 2);
}

const t_test report_operations_tests[] = {
    T_TEST(a_heavy_blur_is_the_largest_row),
    T_TEST(a_second_one_of_a_name_has_its_number),
    T_TEST(each_stage_of_a_colour_chain_has_a_row),
    T_TEST(array_stages_have_rows),
    T_TEST(stages_in_parentheses_have_rows),
    T_TEST(operations_before_the_cache_count_its_misses),
    T_TEST(masks_that_follow_have_a_row),
    T_TEST(operations_beyond_the_rows_are_others),
    T_TEST(batches_are_the_same_whether_measured_or_not),
    T_TEST(the_text_has_indented_rows),
    T_TEST(the_json_has_names_and_shares),
    T_TEST(the_rest_has_a_row_from_1_percent_on),
    T_END,
};
